"""Figure 4: how far the surrogate of each method is from the truth, on a dense grid, as the search goes on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from uhebo.errors import InvalidInputError
from uhebo.estimate import ESTIMATORS
from uhebo.gp import Data, Posterior, named_prior
from uhebo.space import SearchSpace
from uhebo.types import Array
from uhebo_experiments.cells import Cell
from uhebo_experiments.problems import problem
from uhebo_experiments.table import Record

SIDE = {2: 500, 3: 60}
"""Points of the dense grid along each axis, by dimension: 250,000 and 216,000 in all, as in the paper."""
BELIEF = {"uhe": "consistent", "ra": "consistent", "consistent-only": "consistent", "hmc": "hmc"}
"""Estimator of each method; the others go by MAP, also those that only ever take random points."""


@dataclass(frozen=True)
class ErrorCell:
    """The surrogate of a cell at some iterations, against the truth."""

    cell: Cell
    checkpoints: tuple[int, ...]
    thinning: int


def surrogate_error(task: ErrorCell, records: list[Record]) -> list[Record]:
    """Mean squared error over the grid, in units of the objective, after each checkpoint's iteration."""
    case = problem(task.cell.problem, seed=task.cell.seed)
    if case.rows is None or case.dimension not in SIDE:
        raise InvalidInputError(f"{case.name} has no dense grid; figure 4 is about functions of 2 or 3 variables")
    space = SearchSpace.of(dict(case.space))
    unit = unit_grid(case.dimension, SIDE[case.dimension] // task.thinning)
    low, high = case.bounds
    truth = case.rows(low + unit * (high - low))
    rows = space.encode_many([record["params"] for record in records])
    values = np.array([record["value"] for record in records])
    errors: list[Record] = []
    for t in task.checkpoints:
        seen = [i for i, record in enumerate(records) if record["t"] <= t]
        data = Data.of(rows[seen], values[seen], space.domain)
        mean = data.location + data.scale * np.mean(
            [posterior.mean(unit) for posterior in beliefs(task.cell, data, records, t)], axis=0
        )
        errors.append({"t": t, "mse": float(np.mean((mean - truth) ** 2))})
    return errors


def beliefs(cell: Cell, data: Data, records: list[Record], t: int) -> list[Posterior]:
    """What the method believes after iteration t: its estimator on the data so far, lengthscales scaled as it does."""
    estimator = BELIEF.get(cell.method, "map")
    options, rng = cell.sampler_options, np.random.default_rng([cell.seed, t])
    prior = named_prior(options.get("prior", "paper"), data.dimension)
    fit = ESTIMATORS[estimator](data, kernel="matern52", prior=prior, rng=rng, reading=options["reading"])
    scalings = [record["g"] for record in records if "g" in record and record["t"] <= t]
    if scalings:
        return [Posterior.of(data, fit.theta.shrunk(scalings[-1]))]
    return list(fit.posteriors)


def unit_grid(dimension: int, side: int) -> Array:
    """All points of a regular grid on the unit cube."""
    axis = np.linspace(0.0, 1.0, max(side, 2))
    return np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)


def grid_points(dimension: int, thinning: int) -> int:
    """How many points the comparison takes."""
    return int(math.pow(max(SIDE[dimension] // thinning, 2), dimension))
