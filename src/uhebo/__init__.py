"""uhebo: Bayesian optimisation that does not trust its own hyperparameters."""

from uhebo._version import __version__
from uhebo.api import Result, maximize, minimize
from uhebo.sampler import UHESampler
from uhebo.space import Categorical, Float, Int
from uhebo.strategy import METHODS, register

__all__ = [
    "METHODS",
    "Categorical",
    "Float",
    "Int",
    "Result",
    "UHESampler",
    "__version__",
    "maximize",
    "minimize",
    "register",
]
