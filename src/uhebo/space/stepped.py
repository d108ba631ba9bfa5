"""Floats with a step: which double stands for low + i · step.

Optuna takes a value for one of its grid when (value - low)/step is within 1e-8 of an integer. With 5 · 10^7 values and
more, roundings alone go beyond that for some of them, or for all between two powers of two, and Optuna would replace
what it is given there by a random point, silently.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterator
from decimal import Decimal

from optuna.distributions import FloatDistribution

_DECIMALS = decimal.Context(prec=40)
_NEAREST_FIRST = (0, *(sign * away for away in (*range(1, 16), *(2**i for i in range(4, 21))) for sign in (1, -1)))
"""Shifts of an index to try."""
_FINEST, _FINE = 2**24, 2**28
"""Doubles a step must span: below the first Optuna takes most values for off the grid, above the second none."""
_PROBES = 256


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


def grid_value(distribution: FloatDistribution, index: int) -> float:
    """The value with this index in decimals, as the user wrote them (0.3, not 0.30000000000000004), or the nearest that
    Optuna takes."""
    low, high, step = distribution.low, distribution.high, distribution.step
    assert step is not None
    found = _on_grid(low, high, step, index)
    return _decimal(low, high, step, index) if found is None else found


def _on_grid(low: float, high: float, step: float, index: int) -> float | None:
    last = grid_size(low, high, step) - 1
    near = (min(max(index + shift, 0), last) for shift in _NEAREST_FIRST)
    doubles = (x for i in near for x in _doubles(low, high, step, i))
    return next((x for x in doubles if low <= x <= high and _is_taken((x - low) / step)), None)


def _is_taken(position: float) -> bool:
    """Optuna's rule."""
    return abs(position - round(position)) < 1e-8


def _doubles(low: float, high: float, step: float, index: int) -> Iterator[float]:
    """Doubles that stand for the value with this index, the one to be preferred first."""
    yield _decimal(low, high, step, index)
    summed = low + index * step
    yield from (summed, math.nextafter(summed, math.inf), math.nextafter(summed, -math.inf))


def _decimal(low: float, high: float, step: float, index: int) -> float:
    exact = _DECIMALS.fma(Decimal(index), Decimal(str(step)), Decimal(str(low)))
    return min(max(float(exact), low), high)
