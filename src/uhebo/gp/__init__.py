"""Gaussian-process regression: kernels, priors, likelihood with gradient, posterior."""

from uhebo.gp.data import Data
from uhebo.gp.domain import Domain
from uhebo.gp.kernels import KERNELS, KernelName
from uhebo.gp.likelihood import LogMarginalLikelihood, LogPosterior
from uhebo.gp.posterior import Posterior
from uhebo.gp.priors import PRIORS, Prior, named_prior
from uhebo.gp.theta import Theta
from uhebo.gp.warp import Warp

__all__ = [
    "KERNELS",
    "PRIORS",
    "Data",
    "Domain",
    "KernelName",
    "LogMarginalLikelihood",
    "LogPosterior",
    "Posterior",
    "Prior",
    "Theta",
    "Warp",
    "named_prior",
]
