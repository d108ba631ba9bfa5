"""Points that were repeated, and what they say of noise."""

from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from uhebo.types import Array

DECIMALS = 12
"""Of a row, to which points are the same: a parameter that went to the user and back may differ in its last digit."""
SAME_PLACE = 1e-6
"""Share of every parameter's range within which measurements count as replicates: values go through files and hands,
and six digits are more than most experiments are set to. (To prove that there is no noise
it takes the same point, to `DECIMALS`: a search that closes in on an optimum comes nearer than this.)"""
CHANCE = 0.01
"""Probability of equal values by chance below which repeats count as free of noise."""


def point_key(x: Array) -> bytes:
    """Equal for rows of the same point."""
    return (np.round(x, DECIMALS) + 0.0).tobytes()


def replicates(X: Array) -> NDArray[np.intp]:
    """A number for each row, equal for rows that are replicates of one point: within `SAME_PLACE` of each other in
    every column, directly or from one to the next."""
    from scipy.sparse import coo_array  # here, with the tree, because importing them takes longer than all of uhebo
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    if not X.size:
        return np.zeros(len(X), dtype=np.intp)
    pairs = cKDTree(X).query_pairs(SAME_PLACE, p=np.inf, output_type="ndarray")
    edges = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(X), len(X)))
    return np.asarray(connected_components(edges, directed=False)[1], dtype=np.intp)


def show_no_noise(observations: Iterable[tuple[Array, tuple[float, ...]]]) -> bool:
    """Whether repeats, k of them, all had the values of the first one, and not by chance.

    By chance two values are equal as often as those of different points are, a share q of all pairs, so k repeats agree
    with probability q^k. Where values are real numbers q is 0 and one repeat says it all; where they are few
    (a share of a hundred examples, say) it takes several.
    """
    first: dict[bytes, tuple[float, ...]] = {}
    repeats = 0
    for x, y in observations:
        known = first.setdefault(point_key(x), y)
        if known != y:
            return False
        repeats += 1
    repeats -= len(first)
    if not repeats or len(first) < 2:
        return False
    pairs = sum(count * (count - 1) for count in Counter(first.values()).values())
    return bool((pairs / (len(first) * (len(first) - 1))) ** repeats <= CHANCE)
