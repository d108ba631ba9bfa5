"""The initial design of the default: each point where the space is emptiest, whatever is there already.

Points come one at a time and each sees all before it: the user's own, imported ones, those under way. So a design needs
no number of points in advance, and goes on where others left off.
"""

import numpy as np

from uhebo.acquire.maximise import ENUMERATED, Explored, all_points, first_free
from uhebo.space import SearchSpace
from uhebo.types import Array, Rng

CANDIDATES = 512
"""Uniform points among which the next one is chosen."""
SAME, MEAN = 1.5, 4.0 / 3.0
"""Factor of the discrepancy's kernel for equal entries, and its mean over uniform ones."""
ANOTHER = 1.25
"""Factor for different categories, and for numbers half a range apart: the smallest there is."""


def emptiest_point(explored: Explored, occupied: Array, rng: Rng) -> Array:
    """The one of some uniform points that, added to the occupied ones, makes the wrap-around discrepancy smallest.

    A taken point is passed over if there is another.

    The wrap-around L2 discrepancy (Hickernell 1998), squared, of points x_1 .. x_n in the cube is

        -(4/3)^d + n^-2 Σ_i Σ_j Π_k (3/2 - |x_ik - x_jk| (1 - |x_ik - x_jk|)),

    so the next point x is to make Σ_i Π_k (3/2 - |x_k - x_ik| (1 - |x_k - x_ik|)) small. Every projection counts, and
    no place is favoured because of the bounds: the sides of the cube are glued together.
    """
    space = explored.space
    points = space.snap(space.domain.uniform(rng, CANDIDATES))
    if len(explored.taken) and space.size <= ENUMERATED:
        points = rng.permutation(all_points(space))
    return first_free(points, -crowding(space, points, occupied), explored)


def crowding(space: SearchSpace, points: Array, occupied: Array) -> Array:
    """The sum over the occupied points, for each of `points`; each factor over its mean, lest it overflows.

    Where a parameter is not active in both, the factor is its mean: a branch that nothing has visited is not crowded.
    """
    product = np.ones((len(points), len(occupied)))
    shared = None
    if space.conditions:
        shared = space.active(points)[:, None] & space.active(occupied)[None]
    for column, choices in enumerate(space.domain.categories):
        apart = np.abs(points[:, column, None] - occupied[:, column])
        # A number that is missing lies outside the cube, and is as far from the others as can be.
        nearness = apart == 0.0 if choices else np.where(apart > 1.0, 0.0, 1.0 - 4.0 * apart * (1.0 - apart))
        factor = ANOTHER + (SAME - ANOTHER) * nearness
        product *= factor / MEAN if shared is None else np.where(shared[:, :, column], factor / MEAN, 1.0)
    return np.asarray(product.sum(axis=1))
