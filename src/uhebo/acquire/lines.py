"""Points on the axis-parallel lines through one point.

Where a model has nothing left to offer near its best point, the rest of the space is too large to be searched blindly;
the lines through that point are not, and a better place that shares all but one coordinate with it lies on one of them.
"""

from __future__ import annotations

import numpy as np

from uhebo.gp.kernels import squared_distance
from uhebo.space import SearchSpace
from uhebo.types import Array, Rng

POSITIONS = 128


def line_points(space: SearchSpace, centre: Array, rng: Rng) -> Array:
    """Rows like `centre` in all columns but one: evenly spaced positions of a number, every choice of a category."""
    rows = []
    for column, choices in enumerate(space.domain.categories):
        values = np.arange(choices, dtype=np.float64) if choices else (np.arange(POSITIONS) + rng.random()) / POSITIONS
        line = np.tile(centre, (len(values), 1))
        line[:, column] = values
        rows.append(line)
    return space.snap(np.concatenate(rows))


def distance_to_nearest(space: SearchSpace, points: Array, occupied: Array) -> Array:
    """Squared distance of each point to the nearest occupied one, in the unit cube; another category counts as 1."""
    if not len(occupied):
        return np.full(len(points), np.inf)
    return np.asarray(squared_distance(points, occupied, np.ones(points.shape[1]), space.domain).min(axis=1))
