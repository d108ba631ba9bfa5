"""uhebo: Bayesian optimisation that does not trust its own hyperparameters."""

from uhebo._version import __version__

__all__ = ["__version__"]
