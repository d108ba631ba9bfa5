"""A parameter as an axis of a picture: linear, logarithmic, integer or categorical, with labels that fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from uhebo.report.text import in_figure
from uhebo.space import SearchSpace
from uhebo.space.columns import Choices, Continuous
from uhebo.types import Array

CURVE = 121
"""Places along a continuous parameter at which a curve is drawn."""
SURFACE = 41
"""Places along each side of a contour plot."""


@dataclass(frozen=True)
class ParameterAxis:
    """Where the values of one parameter lie on its axis: categories by their index, all others by their value."""

    name: str
    distribution: BaseDistribution

    @property
    def categorical(self) -> bool:
        return isinstance(self.distribution, CategoricalDistribution)

    @property
    def discrete(self) -> bool:
        return self.categorical or getattr(self.distribution, "step", None) is not None

    @property
    def log(self) -> bool:
        return bool(getattr(self.distribution, "log", False))

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last position."""
        if isinstance(self.distribution, CategoricalDistribution):
            return 0.0, len(self.distribution.choices) - 1.0
        assert isinstance(self.distribution, (FloatDistribution, IntDistribution))
        return float(self.distribution.low), float(self.distribution.high)

    def positions(self, values: Sequence[Any]) -> list[float]:
        if isinstance(self.distribution, CategoricalDistribution):
            values = list(Choices(self.distribution.choices).encode(values))
        return [float(value) for value in values]

    def unit(self, position: float) -> float:
        """A position as a share of the axis, 0 at its lower end and 1 at its upper."""
        low, high = self.ends
        if self.log:
            position, low, high = math.log(position), math.log(low), math.log(high)
        if high == low:
            return 0.0
        return position / (high - low) - low / (high - low)  # each term is finite where the difference overflows

    def ticks(self, most: int, label: int) -> tuple[list[float], list[str]]:
        """Places along the axis, and what stands there in at most `label` characters."""
        low, high = self.ends
        if isinstance(self.distribution, CategoricalDistribution):
            choices = self.distribution.choices
            at = range(0, len(choices), math.ceil(len(choices) / most))
            return [float(i) for i in at], [in_figure(choices[i], label) for i in at]
        places = log_places(low, high) if self.log else np.linspace(low, high, 5).tolist()
        if isinstance(self.distribution, IntDistribution):
            places = sorted({float(round(place)) for place in places})
        return places, [f"{p:.0f}" if 100 <= abs(p) < 1e6 else f"{p:.3g}" for p in places]

    def layout(self) -> dict[str, Any]:
        """Settings of a Plotly axis."""
        low, high = self.ends
        axis: dict[str, Any] = {"title": {"text": in_figure(self.name)}}
        if self.categorical or self.log:
            places, texts = self.ticks(20, 16)
            axis |= {"tickmode": "array", "tickvals": places, "ticktext": texts}
        if self.categorical:
            return axis | {"range": [low - 0.6, high + 0.6], "showgrid": False}
        if self.log:
            margin = 0.03 * (math.log10(high) - math.log10(low))
            return axis | {"type": "log", "range": [math.log10(low) - margin, math.log10(high) + margin]}
        axis["range"] = [low - 0.03 * (high - low), high + 0.03 * (high - low)]
        if isinstance(self.distribution, IntDistribution):
            axis |= {"tickformat": ",d"} | ({"dtick": 1, "tick0": low} if high - low <= 12 else {})
        return axis


def log_places(low: float, high: float, most: int = 7) -> list[float]:
    """Round numbers from low to high for a log axis: 1, 2, 5 times the powers of ten if they are few, else powers."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits, step in (((1, 2, 5), 1), ((1,), 1), ((1,), max(1, math.ceil((last - first) / most)))):
        places = [float(f"{digit}e{power}") for power in range(first, last + 1, step) for digit in digits]
        inside = [place for place in places if low * (1 - 1e-9) <= place <= high * (1 + 1e-9)]
        if len(inside) <= most:
            break
    return inside if len(inside) >= 2 else [float(f"{place:.3g}") for place in np.geomspace(low, high, 3)]


def entries(space: SearchSpace, name: str, count: int) -> Array:
    """Row entries of one parameter to draw at: all its values if they are few, else an even spread of `count`."""
    column = space.columns[name]
    if isinstance(column, Continuous):
        return np.linspace(0.0, 1.0, count)
    if isinstance(column, Choices) or column.count <= count:
        return np.asarray(column.place(np.arange(column.count, dtype=np.float64)))
    return np.asarray(column.place(np.unique(np.rint(np.linspace(0, column.count - 1, count)))))
