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
    """Where the values of one parameter lie on its axis."""

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

    def positions(self, values: Sequence[Any]) -> list[float]:
        """Categories by their index, everything else by its value."""
        if isinstance(self.distribution, CategoricalDistribution):
            column = Choices(self.distribution.choices)
            return [float(code) for code in column.encode(values)]
        return [float(value) for value in values]

    def unit(self, position: float) -> float:
        """A position as a share of the axis, 0 at its lower end and 1 at its upper."""
        if isinstance(self.distribution, CategoricalDistribution):
            return position / max(len(self.distribution.choices) - 1, 1)
        assert isinstance(self.distribution, (FloatDistribution, IntDistribution))
        low, high = float(self.distribution.low), float(self.distribution.high)
        if self.log:
            return (math.log(position) - math.log(low)) / (math.log(high) - math.log(low))
        return position / (high - low) - low / (high - low)  # each term is finite where the difference overflows

    def few_ticks(self) -> list[tuple[float, str]]:
        """Up to six places along the axis, with their labels."""
        if isinstance(self.distribution, CategoricalDistribution):
            choices = self.distribution.choices
            return [(float(i), in_figure(choices[i], 12)) for i in range(0, len(choices), math.ceil(len(choices) / 12))]
        assert isinstance(self.distribution, (FloatDistribution, IntDistribution))
        low, high = float(self.distribution.low), float(self.distribution.high)
        if self.log:
            places = [float(p) for p in np.geomspace(low, high, 5)]
        elif isinstance(self.distribution, IntDistribution):
            places = sorted({float(round(p)) for p in np.linspace(low, high, min(5, int(high - low) + 1))})
        else:
            places = [float(p) for p in np.linspace(low, high, 5)]
        return [(place, f"{place:.3g}" if abs(place) < 1e5 else f"{place:.2e}") for place in places]

    def layout(self) -> dict[str, Any]:
        """Settings of a Plotly axis."""
        axis: dict[str, Any] = {"title": {"text": in_figure(self.name)}}
        if isinstance(self.distribution, CategoricalDistribution):
            choices = self.distribution.choices
            shown = range(0, len(choices), max(1, math.ceil(len(choices) / 20)))
            axis |= {
                "tickmode": "array",
                "tickvals": list(shown),
                "ticktext": [in_figure(choices[i], 16) for i in shown],
                "range": [-0.6, len(choices) - 0.4],
                "showgrid": False,
            }
        elif isinstance(self.distribution, (FloatDistribution, IntDistribution)):
            low, high = float(self.distribution.low), float(self.distribution.high)
            if self.log:
                margin = 0.03 * (math.log10(high) - math.log10(low))
                axis |= {"type": "log", "range": [math.log10(low) - margin, math.log10(high) + margin]}
                places = log_places(low, high)
                axis |= {"tickmode": "array", "tickvals": places, "ticktext": [f"{place:g}" for place in places]}
            else:
                axis["range"] = [low - 0.03 * (high - low), high + 0.03 * (high - low)]
                if isinstance(self.distribution, IntDistribution) and high - low <= 12:
                    axis |= {"dtick": max(1, math.ceil((high - low) / 12)), "tick0": low}
            if isinstance(self.distribution, IntDistribution) and not self.log:
                axis["tickformat"] = ",d"
        return axis


def log_places(low: float, high: float) -> list[float]:
    """Round numbers from low to high for a log axis, seven at most: powers of ten, or 1, 2, 5 times them."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    step = max(1, math.ceil((last - first) / 7))
    digits = (1,) if math.log10(high) - math.log10(low) >= 2.5 else (1, 2, 5)
    places = [float(f"{digit}e{power}") for power in range(first, last + 1, step) for digit in digits]
    inside = [place for place in places if low * (1 - 1e-9) <= place <= high * (1 + 1e-9)]
    return inside if len(inside) >= 2 else [float(f"{place:.3g}") for place in np.geomspace(low, high, 3)]


def axes_of(space: SearchSpace) -> dict[str, ParameterAxis]:
    return {name: ParameterAxis(name, space.distributions[name]) for name in space.names}


def entries(space: SearchSpace, name: str, count: int) -> Array:
    """Row entries of one parameter to draw at: all its values if they are few, else an even spread of `count`."""
    column = space.columns[name]
    if isinstance(column, Continuous):
        return np.linspace(0.0, 1.0, count)
    if isinstance(column, Choices) or column.count <= count:
        return np.asarray(column.place(np.arange(column.count, dtype=np.float64)))
    return np.asarray(column.place(np.unique(np.rint(np.linspace(0, column.count - 1, count)))))
