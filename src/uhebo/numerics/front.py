"""Pareto fronts, their hypervolume, and the region beyond them as boxes. All objectives are maximised."""

import math

import numpy as np
from numpy.typing import NDArray

from uhebo.types import Array

BLOCK = 1024
"""Rows that are compared with each other at once; all pairs of many would not fit into memory."""


def non_dominated(Y: Array) -> NDArray[np.bool_]:
    """Which rows no other row dominates (at least as large everywhere and larger somewhere), (n,)."""
    if len(Y) <= BLOCK:
        return ~_dominated(Y, Y)
    # In lexicographic order, the largest first, no row dominates one before it.
    order = np.lexsort(Y.T[::-1])[::-1]
    front = np.empty(0, dtype=np.intp)
    for start in range(0, len(order), BLOCK):
        left = order[start : start + BLOCK]
        for at in range(0, len(front), BLOCK):
            left = left[~_dominated(Y[left], Y[front[at : at + BLOCK]])]
        front = np.concatenate([front, left[~_dominated(Y[left], Y[left])]])
    return np.asarray(np.isin(np.arange(len(Y)), front))


def _dominated(Y: Array, by: Array) -> NDArray[np.bool_]:
    """Which rows of Y some row of `by` dominates."""
    at_least = (by[:, None, :] >= Y[None, :, :]).all(axis=2)
    larger = (by[:, None, :] > Y[None, :, :]).any(axis=2)
    return np.asarray((at_least & larger).any(axis=0))


def front_above(Y: Array, reference: Array) -> Array:
    """The distinct non-dominated rows that lie above the reference in every objective, (k, m)."""
    above = Y[(reference < Y).all(axis=1)]
    return np.unique(above[non_dominated(above)], axis=0) if len(above) else above


def hypervolume(Y: Array, reference: Array) -> float:
    """Volume between the reference and the front of the rows of Y."""
    if len(reference) == 2:
        return _area(Y[(reference < Y).all(axis=1)], reference)
    front = front_above(Y, reference)
    if not len(front):
        return 0.0
    ideal = front.max(axis=0)
    lower, upper = boxes(front, reference)
    free = np.maximum(np.minimum(upper, ideal) - lower, 0.0).prod(axis=1).sum()
    return float(max((ideal - reference).prod() - free, 0.0))


def _area(Y: Array, reference: Array) -> float:
    """Area below the staircase of rows that lie above the reference."""
    x, y = Y[np.argsort(-Y[:, 0])].T
    return float(-np.diff(x, append=reference[0]) @ (np.maximum.accumulate(y) - reference[1]))


def added_hypervolume(point: Array, front: Array, reference: Array) -> float:
    """By how much a point enlarges the hypervolume of a front: what is below it, less what the front has of that.

    The front's part is that of its points cut down to this one (While, Bradstreet & Barone 2012, "A fast way of
    calculating exact hypervolumes"); most of them are then dominated.
    """
    if (point <= reference).any():
        return 0.0
    return float(max((point - reference).prod() - hypervolume(np.minimum(front, point), reference), 0.0))


def boxes(front: Array, reference: Array) -> tuple[Array, Array]:
    """Disjoint boxes whose union is what the front does not dominate above the reference: lower and upper corners, both
    (k, m). Upper corners may be infinite.

    Twice the algorithm of Lacour, Klamroth & Fonseca (2017, "A box decomposition algorithm to compute the hypervolume
    indicator"): the free region is the union of the cones above its corners (the local bounds of the front), and the
    region above these corners is cut into the boxes that belong to their own local bounds.
    """
    corners = -local_upper_bounds(-front, -reference)[0]
    infinity = np.full(front.shape[1], math.inf)
    bounds, defining = local_upper_bounds(corners, infinity)
    lower, upper = bounds.copy(), bounds.copy()
    upper[:, 0] = math.inf
    for j in range(1, front.shape[1]):
        lower[:, j] = defining[:, :j, j].max(axis=1)
    filled = (lower < upper).all(axis=1)
    return lower[filled], upper[filled]


def local_upper_bounds(points: Array, reference: Array) -> tuple[Array, Array]:
    """Corners u of the region {y < reference: no point <= y}, which is the union of all {y < u}: corners (k, m), and
    the points that define each, (k, m, m): the j-th of them has its j-th entry equal to u_j.

    A point z below a corner replaces it by up to m others, u with u_j = z_j, for those j in which z lies above the
    other points that define u (Klamroth, Lacour & Vanderpooten 2015). At first the reference is the only corner.
    """
    m = len(reference)
    bounds = reference[None].astype(np.float64)
    dummies = np.full((m, m), -math.inf)
    dummies[np.arange(m), np.arange(m)] = reference
    defining = dummies[None]
    for z in points:
        cut = (z < bounds).all(axis=1)
        if not cut.any():
            continue
        kept_bounds, kept_defining = [bounds[~cut]], [defining[~cut]]
        for j in range(m):
            others = np.delete(defining[cut], j, axis=1)[:, :, j].max(axis=1)
            valid = z[j] >= others
            new_bounds, new_defining = bounds[cut][valid], defining[cut][valid]
            new_bounds[:, j] = z[j]
            new_defining[:, j] = z
            kept_bounds.append(new_bounds)
            kept_defining.append(new_defining)
        bounds, defining = np.concatenate(kept_bounds), np.concatenate(kept_defining)
    return bounds, defining
