"""Gaussian-process regression: kernels, priors, likelihood with gradient, posterior."""

from uhebo.gp.data import Data, Domain, Theta
from uhebo.gp.kernels import KERNELS, Kernel
from uhebo.gp.likelihood import LogMarginalLikelihood, LogPosterior
from uhebo.gp.posterior import Posterior
from uhebo.gp.priors import PRIORS, Prior, named_prior

__all__ = [
    "KERNELS",
    "PRIORS",
    "Data",
    "Domain",
    "Kernel",
    "LogMarginalLikelihood",
    "LogPosterior",
    "Posterior",
    "Prior",
    "Theta",
    "named_prior",
]
