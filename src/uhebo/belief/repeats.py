"""What repeated points say of noise."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from uhebo.types import Array

DECIMALS = 12
"""Of a row, to which points are the same: a parameter that went to the user and back may differ in its last digit."""
CHANCE = 0.01
"""Probability of equal values by chance below which repeats count as free of noise."""


def point_key(x: Array) -> bytes:
    """Equal for rows of the same point."""
    return (np.round(x, DECIMALS) + 0.0).tobytes()


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
