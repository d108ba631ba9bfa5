"""One parameter as a column of the unit cube, and back.

A float x in [low, high] becomes (x - low)/(high - low), after the log where log=True. An integer or stepped float with
N values gives each a cell of width 1/N and lies at its centre, (i + 1/2)/N, so that uniform rows are uniform values. A
log integer i lies at log i in [log(low - 1/2), log(high + 1/2)] and owns the rows that round to it, as in Optuna. A
categorical value is its index. What can take one value only is a constant and has no column. Value and row determine
each other exactly up to 2^51 values in a linear column and 10^13 in a log one; past that rows of neighbouring integers
may coincide, but whatever row is decoded, the value is one of the space.
"""

import decimal
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from uhebo.checks import plain
from uhebo.types import Array

_DECIMALS = decimal.Context(prec=40)
_NEAREST_FIRST = (0, *(sign * away for away in (*range(1, 16), *(2**i for i in range(4, 21))) for sign in (1, -1)))
"""Shifts of an index to try."""
_FINEST, _FINE = 2**24, 2**28
"""Doubles a step must span: below the first Optuna takes most values for off the grid, above the second none."""
_PROBES = 256
_NAN = object()


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

    def numbers(self, units: Array) -> Array:
        """`decode` of many entries, to the last bit: a rule must hold for the very values that are proposed."""
        by_log, scale, start, width = self.line
        if by_log:  # NumPy's exp may differ from Python's in the last bit
            return np.array([self.decode(unit) for unit in units.tolist()])
        return np.clip(start + units * width, scale * self.low, scale * self.high) / scale


@dataclass(frozen=True)
class Grid:
    """Integers and stepped floats, by the index i of the value low + i · step."""

    distribution: FloatDistribution | IntDistribution

    @cached_property
    def count(self) -> int:
        return grid_size(self.distribution.low, self.distribution.high, self.distribution.step or 1)

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
        low, high, step = self.distribution.low, self.distribution.high, self.distribution.step or 1
        if isinstance(self.distribution, IntDistribution):
            return low + index * step
        return grid_value(low, high, step, index)

    def numbers(self, units: Array) -> Array:
        """`decode` of many entries."""
        index = self.index(units)
        if isinstance(self.distribution, IntDistribution):
            return self.distribution.low + index * self.distribution.step
        few, where = np.unique(index, return_inverse=True)
        values = [self.decode(unit) for unit in self.place(few).tolist()]
        return np.array(values, dtype=np.float64)[where.reshape(index.shape)]


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

    def numbers(self, units: Array) -> Array:
        """Choices that are numbers, of many entries."""
        return np.array(self.choices, dtype=np.float64)[self.index(units).astype(np.intp)]


Column = Continuous | Grid | Choices


def column_of(distribution: BaseDistribution) -> Column:
    if isinstance(distribution, CategoricalDistribution):
        return Choices(distribution.choices)
    assert isinstance(distribution, (FloatDistribution, IntDistribution))  # what _as_distribution lets through
    if distribution.step is None:
        return Continuous(distribution.low, distribution.high, distribution.log)
    return Grid(distribution)


def key(choice: Any) -> Any:
    """What finds a choice in a dict: itself, but NaN, which is not equal to itself, by a stand-in."""
    return _NAN if isinstance(choice, float) and choice != choice else choice


def spacing(low: float, high: float) -> float:
    """Distance of neighbouring doubles at the larger end of [low, high]."""
    return math.ulp(max(abs(low), abs(high)))


def grid_size(low: float, high: float, step: float) -> int:
    """How many values there are."""
    return round((high - low) / step) + 1


def is_too_fine(low: float, high: float, step: float) -> bool:
    """Whether some part of the grid has no doubles that Optuna takes for it."""
    if math.isinf(high - low):
        return True
    doubles = step / spacing(low, high)
    if low == high or doubles >= _FINE:
        return False
    count = grid_size(low, high, step)
    probes = (count * i // _PROBES for i in range(_PROBES + 1))
    return doubles < _FINEST or any(_on_grid(low, high, step, index) is None for index in probes)


def grid_value(low: float, high: float, step: float, index: int) -> float:
    """Value with this index of a float with a step: in decimals, as the user wrote them (0.3, not
    0.30000000000000004), or the nearest that Optuna takes.

    Optuna takes a value for one of its grid when (value - low)/step is within 1e-8 of an integer. With 5 · 10^7 values
    and more, roundings alone go beyond that for some of them, or for all between two powers of two, and Optuna would
    replace what it is given there by a random point, silently.
    """
    found = _on_grid(low, high, step, index)
    return _decimal(low, high, step, index) if found is None else found


def _on_grid(low: float, high: float, step: float, index: int) -> float | None:
    last = grid_size(low, high, step) - 1
    near = (min(max(index + shift, 0), last) for shift in _NEAREST_FIRST)
    doubles = (x for i in near for x in _doubles(low, high, step, i))
    positions = ((x, (x - low) / step) for x in doubles if low <= x <= high)
    return next((x for x, position in positions if abs(position - round(position)) < 1e-8), None)


def _doubles(low: float, high: float, step: float, index: int) -> Iterator[float]:
    """Doubles that stand for the value with this index, the one to be preferred first."""
    yield _decimal(low, high, step, index)
    summed = low + index * step
    yield from (summed, math.nextafter(summed, math.inf), math.nextafter(summed, -math.inf))


def _decimal(low: float, high: float, step: float, index: int) -> float:
    exact = _DECIMALS.fma(Decimal(index), Decimal(str(step)), Decimal(str(low)))
    return min(max(float(exact), low), high)
