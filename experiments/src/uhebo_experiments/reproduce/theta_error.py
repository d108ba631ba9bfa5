"""Figure 6: error of the estimated lengthscales against n, on sample paths whose lengthscale is known.

The data are the first n points of a search (MAP), of RA-BO, or i.i.d. ones. The error is the root mean square over
dimensions of log(ell-hat / ell*). On paths with noise of known size, estimates of all hyperparameters as shares of the
truth.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from scipy.stats import gmean

from uhebo.errors import InvalidInputError
from uhebo.estimate import ESTIMATORS, Reading
from uhebo.gp import Data, named_prior
from uhebo.space import SearchSpace
from uhebo.types import Array
from uhebo_experiments.cells import Cell
from uhebo_experiments.problems import problem
from uhebo_experiments.table import Record

READ_AS: dict[str, Reading] = {"consistent": "drawn", "thinned": "distinct", "observed": "observed"}
"""Names in the records of the readings of the consistent loss -> reading."""
NAME_OF = {reading: name for name, reading in READ_AS.items()}
COMPARED = ("mle", "map", *READ_AS, "hmc")


@dataclass(frozen=True)
class ThetaCell:
    """One estimator on growing parts of one cell's data."""

    cell: Cell
    estimator: str
    sizes: tuple[int, ...]


def theta_error(task: ThetaCell, records: list[Record]) -> list[Record]:
    """Error, and the estimate itself in units of the objective, at each size."""
    named = re.fullmatch(r"gp-\d+d-([0-9.]+)(~[0-9.]+)?", task.cell.problem)
    if named is None:
        raise InvalidInputError(f"the true theta of {task.cell.problem} is not known; expected gp-<d>d-<lengthscale>")
    truth = float(named[1])
    space = SearchSpace.of(dict(problem(task.cell.problem, seed=task.cell.seed).space))
    rows = space.encode_many([record["params"] for record in records])
    values = np.array([record["value"] for record in records])
    errors: list[Record] = []
    for n in task.sizes:
        data = Data.of(rows[:n], values[:n], space.domain)
        rng = np.random.default_rng([task.cell.seed, n])
        # Flat for the likelihood alone, the paper's prior for the rest: what each method of the paper would report.
        prior = "flat" if task.estimator == "mle" else "paper"
        reading = READ_AS.get(task.estimator)
        estimate = ESTIMATORS["consistent" if reading else task.estimator]
        fit = estimate(data, kernel="matern52", prior=named_prior(prior, data.dimension), rng=rng, reading=reading)
        # Of several thetas (HMC) the mean of the logarithms.
        log_theta = np.mean([theta.to_log() for theta in fit.thetas], axis=0)
        error = float(np.sqrt(np.mean((log_theta[: data.dimension] - np.log(truth)) ** 2)))
        natural = np.exp(log_theta)
        errors.append(
            {
                "n": n,
                "error": error,
                "ell": [float(v) for v in natural[: data.dimension]],
                "v": float(natural[-2] * data.scale**2),
                "s2": float(natural[-1] * data.scale**2),
            }
        )
    return errors


def shares_of_truth(task: ThetaCell, records: list[Record]) -> Array:
    """Estimate / truth of the lengthscale (geometric mean over axes), signal and noise variance; (sizes, 3)."""
    case = problem(task.cell.problem, seed=task.cell.seed)
    truth = float(case.name.partition("~")[0].rpartition("-")[2])
    return np.array([[gmean(r["ell"]) / truth, r["v"], r["s2"] / case.noise**2] for r in records])
