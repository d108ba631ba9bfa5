"""The best point of an acquisition surface, in any mix of continuous, integer, step, log and categorical columns.

Uniform candidates and a cloud around the best observations are scored; the best few climb together by batched
BFGS steps in the numeric columns; discrete columns are snapped and improved one at a time; and a point that was
evaluated already is passed over when the objective is deterministic and another point exists.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from uhebo.acquire.edge import climbed_within
from uhebo.acquire.functions import AnySurface
from uhebo.acquire.limits import Limits, sampled_within
from uhebo.gp.data import Domain
from uhebo.gp.kernels import squared_distance
from uhebo.gp.posterior import Posterior
from uhebo.numerics.bfgs import minimise
from uhebo.space import SearchSpace
from uhebo.space.moves import switched
from uhebo.space.sampling import pulled
from uhebo.types import Array, Rng

CANDIDATES = 384
CANDIDATES_PER_DIMENSION = 32
CLOUD = 64
POSITIONS = 128
"""Positions on a line."""
CLIMBERS = 6
CLIMB_ROUNDS = 40
SWEEPS = 3
ENUMERATED = 2000
"""Points of a discrete space up to which it is scored in full."""
THOMPSON_CANDIDATES = 512
Closer = Callable[[Array], AnySurface]
"""Points -> a surface that knows more of their surroundings."""


@dataclass(frozen=True)
class Explored:
    """What the maximiser needs to know of the search so far."""

    space: SearchSpace
    leaders: Array
    """The best observed points, best first: the cloud is drawn around them."""
    taken: Array
    """Points evaluated or under way, not to be proposed again; empty where repeats are welcome."""

    def with_taken(self, point: Array) -> "Explored":
        """The same with one more point taken, where repeats are not welcome."""
        return replace(self, taken=np.concatenate([self.taken, point[None]])) if len(self.taken) else self


def maximise(surface: AnySurface, explored: Explored, rng: Rng, closer: Closer | None = None) -> Array:
    """The point (d,) of the space with the largest acquisition value found.

    With `closer` the points that were climbed to are judged, and climbed from, on another surface, which knows more of
    their surroundings; the others are a last resort, where all of these are taken.
    """
    space = explored.space
    if space.size <= ENUMERATED:
        points = all_points(space)
        return first_free(points, surface(points), explored)
    ell = surface.posteriors[0].theta.ell
    scattered = uniform_and_corners(space, rng)
    candidates = space.snap(np.concatenate([scattered, cloud(explored.leaders, ell, space, rng)]))
    values = surface(candidates)
    climbers = candidates[_spread_best(candidates, values, ell)]
    climbed = _improve(surface, explored, climbers)
    if closer is not None:
        better = closer(climbed)
        points = np.concatenate([climbed, _climb_on(better, explored, climbed)])
        order = np.argsort(-values, kind="stable")
        lowest = np.full(len(candidates), -np.inf)
        return first_free(
            np.concatenate([points, candidates[order]]), np.concatenate([better(points), lowest]), explored
        )
    points = np.concatenate([climbed, candidates])
    return first_free(points, np.concatenate([surface(climbed), values]), explored)


def maximise_sample(posterior: Posterior, explored: Explored, rng: Rng, limits: Limits = ()) -> Array:
    """Thompson sampling: the maximiser of one joint sample of the posterior over candidates, within sampled limits."""
    space = explored.space
    if space.size <= ENUMERATED:
        points = _free(all_points(space), explored)
        points = points[rng.permutation(len(points))[:THOMPSON_CANDIDATES]]
    else:
        near = cloud(explored.leaders, posterior.theta.ell, space, rng)
        points = space.snap(np.concatenate([uniform(space.domain, rng)[: THOMPSON_CANDIDATES - len(near)], near]))
    return first_free(points, sampled_within(posterior.sample(points, rng)[0], limits, points, rng), explored)


def random_point(explored: Explored, rng: Rng) -> Array:
    """A uniform point, one that is not taken if there is any."""
    space = explored.space
    point = space.snap(space.domain.uniform(rng, 1))
    if not len(explored.taken):
        return np.asarray(point[0])
    others = rng.permutation(all_points(space)) if space.size <= ENUMERATED else space.snap(uniform(space.domain, rng))
    return np.asarray(_free(np.concatenate([point, others]), explored)[0])


def _spread_best(points: Array, values: Array, ell: Array) -> NDArray[np.intp]:
    """Indices of the `CLIMBERS` best points that are not near each other: they should not all climb one hill."""
    near = np.minimum(0.1, 0.25 * ell)
    chosen: list[int] = []
    for index in np.argsort(-values, kind="stable")[: 16 * CLIMBERS]:
        if all((np.abs(points[index] - points[other]) > near).any() for other in chosen):
            chosen.append(int(index))
            if len(chosen) == CLIMBERS:
                break
    return np.array(chosen, dtype=np.intp)


def _improve(surface: AnySurface, explored: Explored, points: Array) -> Array:
    """Climb in the numeric columns, then move the discrete ones, then climb once more in the continuous ones.

    Numbers on which it depends which others are active do not climb: a step would change the columns that move.
    """
    space = explored.space
    values = np.asarray(space.values)
    numeric = (np.asarray(space.domain.categories) == 0) & ~space.parents
    if numeric.any():
        points = _climb(surface, space, points, numeric)
    if not values.any():
        return points
    points = space.snap(points)
    points = np.array([_sweep(surface, explored, point) for point in points])
    continuous = (values == 0) & numeric
    return space.snap(_climb(surface, space, points, continuous)) if continuous.any() else points


def _climb_on(surface: AnySurface, explored: Explored, points: Array) -> Array:
    """Climb in the continuous columns alone."""
    space = explored.space
    numeric = (np.asarray(space.domain.categories) == 0) & ~space.parents
    continuous = (np.asarray(space.values) == 0) & numeric
    return space.snap(_climb(surface, space, points, continuous)) if continuous.any() else points


def _climb(surface: AnySurface, space: SearchSpace, points: Array, moving: NDArray[np.bool_]) -> Array:
    """BFGS ascent in the `moving` columns of every point at once, as far as they are active.

    The others stay because their gradient is zero: neither a step nor a BFGS update can then couple to them.
    """

    def descent(rows: Array) -> tuple[Array, Array]:
        value, gradient = surface.with_gradient(rows)
        moved = moving & space.active(rows) if space.conditions else moving
        return -value, np.where(moved, -gradient, 0.0)

    ends = minimise(
        descent,
        points,
        np.zeros(space.domain.dimension),
        np.maximum(np.asarray(space.domain.categories) - 1.0, 1.0),
        max_rounds=CLIMB_ROUNDS,
        gradient_tolerance=1e-6,
        value_tolerance=1e-7,
        race_tolerance=1e-2,
        first_step=0.05,
        max_step=0.3,
    ).x
    return climbed_within(surface, space, points, ends, moving) if space.rules else ends


def _sweep(surface: AnySurface, explored: Explored, point: Array) -> Array:
    """Coordinate search over the discrete columns: each takes its best value in turn, until nothing improves."""
    space = explored.space
    value = float(surface(point[None])[0])
    for _ in range(SWEEPS):
        before = value
        for column in np.flatnonzero(space.values):
            if space.conditions and not space.active(point[None])[0, column]:
                continue
            neighbours = switched(space, space.neighbours(point, int(column)), point[None], explored.leaders)
            values = np.where(space.allowed(neighbours), surface(neighbours), -np.inf)
            best = int(np.argmax(values))
            if values[best] > value:
                point, value = neighbours[best], float(values[best])
        if value <= before:
            break
    return point


def is_free(points: Array, explored: Explored) -> NDArray[np.bool_]:
    """Which points are not taken."""
    # Rounded: a parameter that went to the user and back may return with another last digit.
    taken = {row.tobytes() for row in np.round(explored.taken, 12) + 0.0}
    return np.array([row.tobytes() not in taken for row in np.round(points, 12) + 0.0], dtype=bool)


def nothing_free(explored: Explored) -> bool:
    """Whether every point of the space is taken; never so where repeats are welcome or a column is continuous."""
    space, taken = explored.space, explored.taken
    if not len(taken) or math.isinf(space.size):
        return False
    if space.size > ENUMERATED:
        return len(taken) >= space.size and len(np.unique(np.round(taken, 12), axis=0)) >= space.size
    return not is_free(all_points(space), explored).any()


def _free(points: Array, explored: Explored) -> Array:
    """The points that are not taken, in order; all of them where every one is (a repeat cannot be avoided)."""
    if not len(explored.taken):
        return points
    free = is_free(points, explored)
    return points[free] if free.any() else points


def first_free(points: Array, values: Array, explored: Explored) -> Array:
    """The best point that is not taken."""
    return np.asarray(_free(points[np.argsort(-values, kind="stable")], explored)[0])


def all_points(space: SearchSpace) -> Array:
    """Every point of a discrete space, (size, d)."""
    if (space.conditions or space.rules) and space.listed is not None:
        return space.listed
    grids = np.meshgrid(*(space.grid(column) for column in range(len(space.values))), indexing="ij")
    return np.stack([grid.ravel() for grid in grids], axis=1)


def uniform(domain: Domain, rng: Rng) -> Array:
    return domain.uniform(rng, CANDIDATES + CANDIDATES_PER_DIMENSION * domain.dimension)


def uniform_and_corners(space: SearchSpace, rng: Rng) -> Array:
    """Uniform points, of every eighth about half the numeric columns moved to the nearer bound, as far as rules let it.

    Far from all data the deviation is largest in the corners, and a uniform point is hardly ever near one.
    """
    domain = space.domain
    points = uniform(domain, rng)
    inside = points[::8].copy()
    moved = points[::8, domain.numeric]
    points[::8, domain.numeric] = np.where(rng.random(moved.shape) < 0.5, np.rint(moved), moved)
    if space.rules:
        points[::8] = pulled(space, inside, space.snap(points[::8]))
    return points


def around(centres: Array, ell: Array, domain: Domain, rng: Rng, *, count: int, decades: tuple[float, float]) -> Array:
    """`count` points around the centres in turn, at scales from 10^a to 10^b lengthscales; categories stay."""
    points = centres[np.arange(count) % len(centres)]
    reach = np.minimum(ell, 1.0) * 10.0 ** rng.uniform(*decades, (count, 1))
    moved = np.clip(points + reach * rng.standard_normal(points.shape), 0.0, 1.0)
    points[:, domain.numeric] = moved[:, domain.numeric]
    return points


def cloud(leaders: Array, ell: Array, space: SearchSpace, rng: Rng) -> Array:
    """Points around the leaders, from a hundredth of a lengthscale to a whole one away, some columns unchanged."""
    domain = space.domain
    if not len(leaders):
        return np.empty((0, domain.dimension))
    points = around(leaders, ell, domain, rng, count=CLOUD, decades=(-2.0, 0.0))
    points[:, domain.categorical] = domain.rows(rng, CLOUD)[:, domain.categorical]
    kept = rng.random(points.shape) < 0.5
    kept[:, domain.numeric] &= domain.dimension > 1
    centres = leaders[np.arange(CLOUD) % len(leaders)]
    near = switched(space, np.where(kept, centres, points), centres, leaders)
    if not space.rules:
        return near
    inside = space.allowed(centres)  # a leader of the user's own may lie outside
    return pulled(space, centres[inside], space.snap(near[inside]))


def line_points(space: SearchSpace, centre: Array, rng: Rng) -> Array:
    """Rows like `centre` in all columns but one: evenly spaced positions of a number, every choice of a category.

    Where a model has nothing left to offer near its best point, the rest of the space is too large to be searched
    blindly; the axis-parallel lines through that point are not, and a better place that shares all but one coordinate
    with it lies on one of them.
    """
    rows = []
    for column, choices in enumerate(space.domain.categories):
        values = np.arange(choices, dtype=np.float64) if choices else (np.arange(POSITIONS) + rng.random()) / POSITIONS
        line = np.tile(centre, (len(values), 1))
        line[:, column] = values
        rows.append(line)
    points = space.snap(np.concatenate(rows))
    if not space.rules:
        return points
    allowed = points[space.allowed(points)]
    return allowed if len(allowed) else space.snap(uniform(space.domain, rng))


def distance_to_nearest(space: SearchSpace, points: Array, occupied: Array) -> Array:
    """Squared distance of each point to the nearest occupied one, in the unit cube; another category counts as 1."""
    if not len(occupied):
        return np.full(len(points), np.inf)
    return np.asarray(squared_distance(points, occupied, np.ones(points.shape[1]), space.domain).min(axis=1))
