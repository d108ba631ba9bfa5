"""One parameter as a column of the unit cube, and back.

A float x in [low, high] becomes (x - low)/(high - low), after the log where log=True. An integer or stepped float with
N values gives each a cell of width 1/N and lies at its centre, (i + 1/2)/N, so that uniform rows are uniform values. A
log integer i lies at log i in [log(low - 1/2), log(high + 1/2)] and owns the rows that round to it, as in Optuna. A
categorical value is its index. What can take one value only is a constant and has no column. Value and row determine
each other exactly up to 2^51 values in a linear column and 10^13 in a log one; past that rows of neighbouring integers
may coincide, but whatever row is decoded, the value is one of the space.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from uhebo.checks import plain
from uhebo.space.declare import key
from uhebo.space.stepped import grid_value, spacing
from uhebo.types import Array


def _numbers(values: Sequence[Any], low: float, high: float) -> Array:
    """The values as doubles; NaN for what is not a number in [low, high]."""
    if set(map(type, values)) == {float}:  # nearly always, and ten times faster
        numbers = np.array(values)
        return np.where((low <= numbers) & (numbers <= high), numbers, math.nan)
    inside = (float(v) if isinstance(v, (int, float)) and low <= v <= high else math.nan for v in map(plain, values))
    return np.fromiter(inside, dtype=np.float64, count=len(values))


@dataclass(frozen=True)
class Continuous:
    """u = (x - low)/(high - low), or the same of log x."""

    low: float
    high: float
    log: bool
    count: int = 0

    @cached_property
    def line(self) -> tuple[bool, float, float, float]:
        """(by the log or not, scale, start, width) with u = (scale · x - start)/width, log x for x if by the log."""
        if self.log and self.high > self.low * (1 + 1e-6):  # closer together, the logs cancel and the log is straight
            return True, 1.0, math.log(self.low), math.log(self.high) - math.log(self.low)
        scale = 1.0 if math.isfinite(self.high - self.low) else 0.5  # exact, and keeps the width from overflowing
        return False, scale, scale * self.low, scale * self.high - scale * self.low

    def encode(self, values: Sequence[Any]) -> Array:
        by_log, scale, start, width = self.line
        numbers = _numbers(values, self.low, self.high)
        return np.clip(((np.log(numbers) if by_log else scale * numbers) - start) / width, 0.0, 1.0)

    def decode(self, unit: float) -> float:
        by_log, scale, start, width = self.line
        x = start + unit * width
        if by_log:
            x = math.exp(x / 2)
            return min(max(x * x, self.low), self.high)  # the product may be inf, where exp(x) would raise
        return min(max(x, scale * self.low), scale * self.high) / scale


@dataclass(frozen=True)
class Grid:
    """Integers and stepped floats, by the index i of the value low + i · step."""

    distribution: FloatDistribution | IntDistribution

    @cached_property
    def count(self) -> int:
        return round((self.distribution.high - self.distribution.low) / (self.distribution.step or 1)) + 1

    @cached_property
    def logs(self) -> tuple[float, float]:
        """Start and width of the log range, which reaches half an integer beyond both ends."""
        start, end = math.log(self.distribution.low - 0.5), math.log(self.distribution.high + 0.5)
        return start, end - start

    def place(self, index: Array) -> Array:
        """Row entry of the value with this index."""
        if not self.distribution.log:
            return (index + 0.5) / self.count
        start, width = self.logs
        return (np.log(self.distribution.low + index) - start) / width

    def index(self, unit: Array) -> Array:
        """Index of the value that owns this row entry."""
        if self.distribution.log:
            start, width = self.logs
            index = np.rint(np.exp(start + unit * width)) - self.distribution.low
        else:
            index = np.floor(unit * self.count)
        return np.clip(index, 0, self.count - 1)

    def encode(self, values: Sequence[Any]) -> Array:
        low, high, step = self.distribution.low, self.distribution.high, self.distribution.step or 1
        position = (_numbers(values, low, high) - low) / step
        index = np.rint(position)
        slack = 1e-8 + 4 * spacing(low, high) / step if isinstance(self.distribution, FloatDistribution) else 0.0
        return np.where(np.abs(position - index) <= slack, self.place(index), np.nan)

    def decode(self, unit: float) -> int | float:
        index = int(self.index(np.array(unit)))
        if isinstance(self.distribution, IntDistribution):
            return self.distribution.low + index * self.distribution.step
        return grid_value(self.distribution, index)


@dataclass(frozen=True)
class Choices:
    """Categories, by their index."""

    choices: tuple[Any, ...]

    @cached_property
    def count(self) -> int:
        return len(self.choices)

    @cached_property
    def codes(self) -> dict[Any, int]:
        return {key(choice): code for code, choice in enumerate(self.choices)}

    def place(self, index: Array) -> Array:
        return index

    def index(self, unit: Array) -> Array:
        return np.clip(np.rint(unit), 0, self.count - 1)

    def encode(self, values: Sequence[Any]) -> Array:
        return np.array([self._code(value) for value in values], dtype=np.float64)

    def _code(self, value: Any) -> float:
        try:
            return self.codes.get(key(plain(value)), math.nan)
        except TypeError:  # not hashable, so none of the choices
            return math.nan

    def decode(self, unit: float) -> Any:
        return self.choices[int(self.index(np.array(unit)))]


Column = Continuous | Grid | Choices


def column_of(distribution: BaseDistribution) -> Column:
    if isinstance(distribution, CategoricalDistribution):
        return Choices(distribution.choices)
    assert isinstance(distribution, (FloatDistribution, IntDistribution))  # what _as_distribution lets through
    if distribution.step is None:
        return Continuous(distribution.low, distribution.high, distribution.log)
    return Grid(distribution)
