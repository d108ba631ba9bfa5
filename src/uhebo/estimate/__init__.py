"""Data -> theta: every way of estimating the GP's hyperparameters, under one calling convention."""

from uhebo.estimate.consistent import BLOCK_SIZE, consistent_estimate, pseudo_data, thinned_estimate
from uhebo.estimate.fit import Estimator, Fit, map_estimate, mle_estimate
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

__all__ = [
    "BLOCK_SIZE",
    "ESTIMATORS",
    "Estimator",
    "Fit",
    "Scaling",
    "a_gp_ucb_scaling",
    "consistent_estimate",
    "hmc_estimate",
    "map_estimate",
    "mle_estimate",
    "pseudo_data",
    "thinned_estimate",
    "wang_de_freitas_scaling",
]
