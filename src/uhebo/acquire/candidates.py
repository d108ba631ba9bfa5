"""Points at which an acquisition is scored before the best of them are improved: uniform ones, clouds, lines.

Where a model has nothing left to offer near its best point, the rest of the space is too large to be searched blindly;
the axis-parallel lines through that point are not, and a better place that shares all but one coordinate with it lies
on one of them.
"""

from __future__ import annotations

import numpy as np

from uhebo.gp.data import Domain
from uhebo.gp.kernels import squared_distance
from uhebo.space import SearchSpace
from uhebo.types import Array, Rng

CANDIDATES = 384
CANDIDATES_PER_DIMENSION = 32
CLOUD = 64
POSITIONS = 128
"""Positions on a line."""


def all_points(space: SearchSpace) -> Array:
    """Every point of a discrete space, (size, d)."""
    grids = np.meshgrid(*(space.grid(column) for column in range(len(space.values))), indexing="ij")
    return np.stack([grid.ravel() for grid in grids], axis=1)


def uniform(domain: Domain, rng: Rng) -> Array:
    return domain.uniform(rng, CANDIDATES + CANDIDATES_PER_DIMENSION * domain.dimension)


def uniform_and_corners(domain: Domain, rng: Rng) -> Array:
    """Uniform points, of every eighth about half the numeric columns moved to the nearer bound.

    Far from all data the deviation is largest in the corners, and a uniform point is hardly ever near one.
    """
    points = uniform(domain, rng)
    moved = points[::8, domain.numeric]
    points[::8, domain.numeric] = np.where(rng.random(moved.shape) < 0.5, np.rint(moved), moved)
    return points


def around(centres: Array, ell: Array, domain: Domain, rng: Rng, *, count: int, decades: tuple[float, float]) -> Array:
    """`count` points around the centres in turn, at scales from 10^a to 10^b lengthscales; categories stay."""
    points = centres[np.arange(count) % len(centres)]
    reach = np.minimum(ell, 1.0) * 10.0 ** rng.uniform(*decades, (count, 1))
    moved = np.clip(points + reach * rng.standard_normal(points.shape), 0.0, 1.0)
    points[:, domain.numeric] = moved[:, domain.numeric]
    return points


def cloud(leaders: Array, ell: Array, domain: Domain, rng: Rng) -> Array:
    """Points around the leaders, from a hundredth of a lengthscale to a whole one away, some columns unchanged."""
    if not len(leaders):
        return np.empty((0, domain.dimension))
    points = around(leaders, ell, domain, rng, count=CLOUD, decades=(-2.0, 0.0))
    points[:, domain.categorical] = domain.uniform(rng, CLOUD)[:, domain.categorical]
    kept = rng.random(points.shape) < 0.5
    kept[:, domain.numeric] &= domain.dimension > 1
    return np.where(kept, leaders[np.arange(CLOUD) % len(leaders)], points)


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
