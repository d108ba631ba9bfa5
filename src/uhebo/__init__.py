"""uhebo: Bayesian optimisation that does not trust its own hyperparameters."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uhebo._version import __version__
    from uhebo.api import Result, maximize, minimize
    from uhebo.diagnosis import diagnose
    from uhebo.integrations.regressor import UHERegressor
    from uhebo.integrations.search_cv import UHESearchCV
    from uhebo.methods import METHODS, register
    from uhebo.optuna_.sampler import UHESampler
    from uhebo.space import Categorical, Float, Int
    from uhebo.workers import work

# Loaded when first used: `import uhebo` and `uhebo --help` then take no longer than their own few files.
_HOME = {
    "METHODS": "uhebo.methods",
    "Categorical": "uhebo.space",
    "Float": "uhebo.space",
    "Int": "uhebo.space",
    "Result": "uhebo.api",
    "UHERegressor": "uhebo.integrations.regressor",
    "UHESampler": "uhebo.optuna_.sampler",
    "UHESearchCV": "uhebo.integrations.search_cv",
    "__version__": "uhebo._version",
    "diagnose": "uhebo.diagnosis",
    "maximize": "uhebo.api",
    "minimize": "uhebo.api",
    "register": "uhebo.methods",
    "work": "uhebo.workers",
}

__all__ = [
    "METHODS",
    "Categorical",
    "Float",
    "Int",
    "Result",
    "UHERegressor",
    "UHESampler",
    "UHESearchCV",
    "__version__",
    "diagnose",
    "maximize",
    "minimize",
    "register",
    "work",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'uhebo' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
