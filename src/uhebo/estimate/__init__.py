"""Data -> theta: every way of estimating the GP's hyperparameters, under one calling convention."""

from collections.abc import Callable

from uhebo.checks import choice
from uhebo.errors import InvalidInputError
from uhebo.estimate.consistent import READINGS, consistent_estimate, default_block_size
from uhebo.estimate.estimator import DEFAULT_READING, Estimator, EstimatorName, Failure, Fit, Model, Reading
from uhebo.estimate.fit import map_estimate, mle_estimate
from uhebo.estimate.hmc import hmc_estimate

ESTIMATORS: dict[str, Estimator] = {}
"""Name -> estimator. The two shrinking methods start from `map` and are scalings of it."""


def register(name: str, run: Callable[..., Fit]) -> None:
    """Make an estimator known under a name; an existing name is not overwritten.

    `run(data, *, kernel, prior, rng, warm) -> Fit`; `starts`, `tolerance`, `block_size` and `reading` it gets if it
    takes them.
    """
    if name in ESTIMATORS:
        raise InvalidInputError(f"there is an estimator {name!r} already; choose another name")
    ESTIMATORS[name] = Estimator.of(name, run)


def named_estimator(name: str) -> Estimator:
    """The estimator of that name, or a typed error."""
    return ESTIMATORS[choice("estimator", name, ESTIMATORS, also=", or uhebo.estimate.register yours")]


register("mle", mle_estimate)
register("map", map_estimate)
register("consistent", consistent_estimate)
register("hmc", hmc_estimate)

__all__ = [
    "DEFAULT_READING",
    "ESTIMATORS",
    "READINGS",
    "Estimator",
    "EstimatorName",
    "Failure",
    "Fit",
    "Model",
    "Reading",
    "consistent_estimate",
    "default_block_size",
    "hmc_estimate",
    "map_estimate",
    "mle_estimate",
    "named_estimator",
    "register",
]
