"""Data -> theta: every way of estimating the GP's hyperparameters, under one calling convention."""

from uhebo.errors import InvalidInputError
from uhebo.estimate.consistent import BLOCK_SIZE, consistent_estimate, pseudo_data, thinned_estimate
from uhebo.estimate.fit import Estimator, Fit, kept_theta, map_estimate, mle_estimate
from uhebo.estimate.hmc import hmc_estimate
from uhebo.estimate.shrink import Scaling, a_gp_ucb_scaling, wang_de_freitas_scaling

ESTIMATORS: dict[str, Estimator] = {
    "mle": mle_estimate,
    "map": map_estimate,
    "consistent": consistent_estimate,
    "thinned": thinned_estimate,
    "hmc": hmc_estimate,
}
"""Name -> estimator. The two shrinking methods start from `map` and are scalings of it."""


def register(name: str, estimator: Estimator) -> None:
    """Make an estimator known under a name; an existing name is not overwritten."""
    if name in ESTIMATORS:
        raise InvalidInputError(f"there is an estimator {name!r} already; choose another name")
    ESTIMATORS[name] = estimator


def named_estimator(name: str) -> Estimator:
    """The estimator of that name, or a typed error."""
    if name not in ESTIMATORS:
        raise InvalidInputError(
            f"unknown estimator {name!r}; choose one of {', '.join(ESTIMATORS)}, or uhebo.estimate.register yours"
        )
    return ESTIMATORS[name]


__all__ = [
    "BLOCK_SIZE",
    "ESTIMATORS",
    "Estimator",
    "Fit",
    "Scaling",
    "a_gp_ucb_scaling",
    "consistent_estimate",
    "hmc_estimate",
    "kept_theta",
    "map_estimate",
    "mle_estimate",
    "named_estimator",
    "pseudo_data",
    "register",
    "thinned_estimate",
    "wang_de_freitas_scaling",
]
