"""What a problem of the neutral report is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from optuna.distributions import BaseDistribution

from uhebo.types import Rng

Params = Mapping[str, Any]


@dataclass(frozen=True)
class Task:
    """A function to be minimised."""

    name: str
    family: str
    space: Mapping[str, BaseDistribution]
    evaluate: Callable[[Params, Rng], tuple[float, float]]
    """Parameters, noise -> the value told, and that without noise; twice the first where the second is not known."""
    optimum: float | None
    """The smallest value without noise, where it is known."""
    noisy: bool
    """Whether the same parameters may give another value."""
