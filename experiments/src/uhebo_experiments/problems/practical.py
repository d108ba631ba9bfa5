"""Problems as they come in practice: outcome constraints, failures, penalties, parameters that are not always there.

A practical problem is minimised. An evaluation has a value and the values of its constraints (at most 0 is feasible),
or it fails and has neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.stats import qmc

from uhebo.types import Array

Params = Mapping[str, Any]
LOG2_POINTS = 14


@dataclass(frozen=True)
class Evaluation:
    """What came back: a value and constraints, or nothing."""

    value: float | None
    constraints: tuple[float, ...] = ()

    @property
    def feasible(self) -> bool:
        return self.value is not None and all(c <= 0.0 for c in self.constraints)


FAILED = Evaluation(None)


@dataclass(frozen=True)
class Condition:
    """A parameter is there only where its parent is, with one of these values."""

    parent: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Practical:
    """A function to be minimised over a space whose parameters may depend on one another."""

    name: str
    space: Mapping[str, BaseDistribution]
    """Every parameter, parents before their children."""
    evaluate: Callable[[Params], Evaluation]
    """Called with the active parameters."""
    optimum: float
    """The smallest feasible value."""
    best: Params
    """Where it is."""
    about: str
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    trials: int = 60

    def active(self, name: str, params: Params) -> bool:
        """Whether a parameter is there, given the ones before it."""
        condition = self.conditions.get(name)
        return condition is None or params.get(condition.parent) in condition.values

    def decode(self, row: Array) -> dict[str, Any]:
        """A point of the unit cube as active parameters: numbers along their range or its logarithm, choices in equal
        shares."""
        params: dict[str, Any] = {}
        for (name, distribution), share in zip(self.space.items(), row, strict=True):
            if self.active(name, params):
                params[name] = along(distribution, float(share))
        return params

    def feasible_share(self, log2_points: int = LOG2_POINTS) -> float:
        """Of the space, by Sobol points."""
        points = qmc.Sobol(len(self.space), seed=0).random_base2(log2_points)
        return float(np.mean([self.evaluate(self.decode(row)).feasible for row in points]))


def along(distribution: BaseDistribution, share: float) -> Any:
    """The value at a share (0 to 1) of a parameter's range."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[min(int(share * len(distribution.choices)), len(distribution.choices) - 1)]
    assert isinstance(distribution, (FloatDistribution, IntDistribution))  # all that Optuna has
    low, high = float(distribution.low), float(distribution.high)
    if isinstance(distribution, IntDistribution):
        low, high = low - 0.5, high + 0.5  # equal shares for all integers
    if distribution.log:
        value = float(np.exp(np.log(low) + share * (np.log(high) - np.log(low))))
    else:
        value = low + share * (high - low)
    if isinstance(distribution, IntDistribution):
        return min(max(round(value), distribution.low), distribution.high)
    return min(max(value, low), high)
