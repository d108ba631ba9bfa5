"""Parameters as axes: where their values lie, how they are labelled, and at which of them something is drawn."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from uhebo.report.chart import Axis
from uhebo.report.text import in_figure
from uhebo.space import SearchSpace
from uhebo.space.columns import Choices, Continuous
from uhebo.types import Array

CURVE = 121
"""Places along a continuous parameter at which a curve is drawn."""
SURFACE = 41
"""Places along each side of a map."""


@dataclass(frozen=True)
class ParameterAxis:
    """Where the values of one parameter lie on its axis: categories by their index, all others by their value."""

    name: str
    distribution: BaseDistribution
    measured_in: str = ""

    @property
    def categorical(self) -> bool:
        return isinstance(self.distribution, CategoricalDistribution)

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

    def end_texts(self) -> tuple[str, str]:
        """What stands at the two ends."""
        if isinstance(self.distribution, CategoricalDistribution):
            return in_figure(self.distribution.choices[0], 16), in_figure(self.distribution.choices[-1], 16)
        low, high = self.ends
        return f"{low:.4g}", f"{high:.4g}"

    @property
    def title(self) -> str:
        """Its name and its unit."""
        return in_figure(self.name) + (f" [{in_figure(self.measured_in, 12)}]" if self.measured_in else "")

    def axis(self) -> Axis:
        """With its name, its range and some room on both sides."""
        (low, high), name = self.ends, self.title
        if isinstance(self.distribution, CategoricalDistribution):
            ticks = tuple((float(i), in_figure(choice, 16)) for i, choice in enumerate(self.distribution.choices))
            return Axis(low - 0.6, high + 0.6, name, ticks=ticks, grid=False)
        if self.log:
            room = (high / low) ** 0.03
            return Axis(low / room, high * room, name, log=True)
        whole = isinstance(self.distribution, IntDistribution)
        room = 0.03 * (high / 2 - low / 2) * 2 or 0.5
        return Axis(low - room, high + room, name, whole=whole)


def entries(space: SearchSpace, name: str, count: int) -> Array:
    """Row entries of one parameter to draw at: all its values if they are few, else an even spread of `count`."""
    column = space.columns[name]
    if isinstance(column, Continuous):
        return np.linspace(0.0, 1.0, count)
    drawn = column.count if isinstance(column, Choices) else min(column.count, count)
    return np.asarray(column.place(np.unique(np.rint(np.linspace(0, column.count - 1, drawn)))))
