"""uhebo: Bayesian optimisation that does not trust its own hyperparameters."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from uhebo._version import __version__

if TYPE_CHECKING:
    from uhebo.api import Result, maximize, minimize
    from uhebo.diagnosis import diagnose
    from uhebo.sampler import UHESampler
    from uhebo.space import Categorical, Float, Int
    from uhebo.strategy import METHODS, register

# Loaded when first used: `import uhebo` and `uhebo --help` then take no longer than their own few files.
_HOME = {
    "METHODS": "uhebo.strategy",
    "Categorical": "uhebo.space",
    "Float": "uhebo.space",
    "Int": "uhebo.space",
    "Result": "uhebo.api",
    "UHESampler": "uhebo.sampler",
    "diagnose": "uhebo.diagnosis",
    "maximize": "uhebo.api",
    "minimize": "uhebo.api",
    "register": "uhebo.strategy",
}

__all__ = [
    "METHODS",
    "Categorical",
    "Float",
    "Int",
    "Result",
    "UHESampler",
    "__version__",
    "diagnose",
    "maximize",
    "minimize",
    "register",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'uhebo' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
