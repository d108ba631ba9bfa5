"""A space as a unit cube, for optimisers that know real numbers alone and for drawing the same design for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from uhebo.types import Array

Space = Mapping[str, BaseDistribution]
Params = dict[str, Any]


class Relaxed:
    """A space as a unit cube: an axis a number (on its logarithm where it is logarithmic), an axis a choice."""

    def __init__(self, space: Space) -> None:
        self._space = dict(space)
        self.width = sum(_axes(d) for d in self._space.values())

    def encode(self, params: Params) -> Array:
        parts: list[float] = []
        for name, distribution in self._space.items():
            if isinstance(distribution, CategoricalDistribution):
                parts += [float(choice == params[name]) for choice in distribution.choices]
            else:
                low, high, value = _scaled(distribution, params[name])
                parts.append((value - low) / (high - low))
        return np.array(parts, dtype=np.float64)

    def decode(self, row: Array) -> Params:
        params: Params = {}
        at = 0
        for name, distribution in self._space.items():
            axes = _axes(distribution)
            part = np.clip(row[at : at + axes], 0.0, 1.0)
            at += axes
            if isinstance(distribution, CategoricalDistribution):
                params[name] = distribution.choices[int(np.argmax(part))]
                continue
            assert isinstance(distribution, (FloatDistribution, IntDistribution))  # all that Optuna has
            low, high, _ = _scaled(distribution, distribution.low)
            value = low + float(part[0]) * (high - low)
            value = float(np.exp(value)) if distribution.log else value
            value = min(max(value, distribution.low), distribution.high)
            params[name] = round(value) if isinstance(distribution, IntDistribution) else value
        return params


def _axes(distribution: BaseDistribution) -> int:
    return len(distribution.choices) if isinstance(distribution, CategoricalDistribution) else 1


def _scaled(distribution: Any, value: float) -> tuple[float, float, float]:
    """Low, high and value on the scale the axis is linear in."""
    triple = np.array([distribution.low, distribution.high, value], dtype=np.float64)
    low, high, at = np.log(triple) if distribution.log else triple
    return float(low), float(high), float(at)
