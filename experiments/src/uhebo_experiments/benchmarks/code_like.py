"""Functions as programs compute them: no noise, kinks, powers, exponentials, products, integers, narrow valleys.

Nobody types their values, so each value that is called mistyped is a false accusation. Constants are drawn, the ranges
are as people give them, and the trials are those that `uhebo.minimize` made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from optuna.study import Study

import uhebo
from uhebo.space import SearchSpace
from uhebo.types import Rng

Function = Callable[..., float]
Family = Callable[[Rng], tuple[Function, Mapping[str, Any]]]
FEWEST, MOST = 15, 40
"""Trials of a study."""


def _log(low: float, high: float) -> Any:
    return uhebo.Float(low, high, log=True)


def powers(rng: Rng) -> tuple[Function, Mapping[str, Any]]:
    """A rate on a logarithmic range, squared, and an integer: it grows a thousandfold within a tenth of the range."""
    best, steep, depth = 10.0 ** rng.uniform(-3.5, -1.5), 10.0 ** rng.uniform(2.0, 5.0), int(rng.integers(3, 11))
    return lambda lr, n: (lr - best) ** 2 * steep + abs(n - depth), {"lr": _log(1e-5, 1e-1), "n": (2, 12)}


def kinks(rng: Rng) -> tuple[Function, Mapping[str, Any]]:
    """Distances along two to four axes, one of them squared."""
    d = int(rng.integers(2, 5))
    at, weight = rng.random(d), 10.0 ** rng.uniform(-1.0, 1.0, d)

    def value(**x: float) -> float:
        away = [abs(x[f"x{i}"] - at[i]) for i in range(d)]
        return float(weight @ [away[0] ** 2, *away[1:]])

    return value, {f"x{i}": (0.0, 1.0) for i in range(d)}


def exponentials(rng: Rng) -> tuple[Function, Mapping[str, Any]]:
    """Growth towards one edge, decay towards another, and a bowl."""
    up, down, at = rng.uniform(2.0, 8.0), rng.uniform(1.0, 5.0), rng.random()
    return (
        lambda x, y, z: math.exp(up * x) + math.exp(-down * y) + 10.0 * (z - at) ** 2,
        {"x": (0.0, 1.0), "y": (0.0, 1.0), "z": (0.0, 1.0)},
    )


def products(rng: Rng) -> tuple[Function, Mapping[str, Any]]:
    """A product of two quantities on logarithmic ranges is to have a value, or costs as much as its parts."""
    target, power, count = 10.0 ** rng.uniform(-1.0, 2.0), rng.uniform(0.5, 1.5), int(rng.integers(2, 9))
    return (
        lambda a, b, k: abs(a * b**power - target) + a * k / count,
        {"a": _log(0.01, 100.0), "b": _log(0.1, 100.0), "k": (1, 10)},
    )


def integers(rng: Rng) -> tuple[Function, Mapping[str, Any]]:
    """Three integers, multiplied and squared."""
    n, m, tall = (int(each) for each in rng.integers(2, 20, 3))
    return (
        lambda a, b, c: float((a - n) ** 2 * b + abs(b - m) + (c - tall) ** 2 / 2),
        {"a": (1, 20), "b": (1, 20), "c": uhebo.Int(1, 64, log=True)},
    )


def valleys(rng: Rng) -> tuple[Function, Mapping[str, Any]]:
    """Rosenbrock's: steep sides, and a floor that bends."""
    steep, bend = 10.0 ** rng.uniform(1.0, 2.5), rng.uniform(0.5, 1.5)
    return lambda x, y: steep * (y - bend * x**2) ** 2 + (1.0 - x) ** 2, {"x": (-2.0, 2.0), "y": (-1.0, 3.0)}


def wells(rng: Rng) -> tuple[Function, Mapping[str, Any]]:
    """A plain with one narrow well."""
    at, width, deep = rng.uniform(0.1, 0.9, 2), rng.uniform(0.1, 0.3), 10.0 ** rng.uniform(0.0, 2.0)
    return (
        lambda x, y: 1.0 - deep * math.exp(-((x - at[0]) ** 2 + (y - at[1]) ** 2) / width**2) + 0.1 * x,
        {"x": (0.0, 1.0), "y": (0.0, 1.0)},
    )


def choices(rng: Rng) -> tuple[Function, Mapping[str, Any]]:
    """A bowl, which another choice makes several times as high."""
    at, factor = rng.random(2), dict(zip("abc", [1.0, *rng.uniform(1.0, 12.0, 2)], strict=True))
    return (
        lambda x, y, kind: factor[kind] * (0.2 + (x - at[0]) ** 2 + abs(y - at[1])),
        {"x": (0.0, 1.0), "y": (0.0, 1.0), "kind": ["a", "b", "c"]},
    )


def poles(rng: Rng) -> tuple[Function, Mapping[str, Any]]:
    """One over a distance from an edge."""
    near, cost = 10.0 ** rng.uniform(-2.0, -0.5), rng.uniform(1.0, 20.0)
    return lambda x, y: 1.0 / (x + near) + cost * x + (y - 0.4) ** 2, {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def training(rng: Rng) -> tuple[Function, Mapping[str, Any]]:
    """A loss that falls slowly with the rate, and is lost beyond one; wider layers help little."""
    at, hard = rng.uniform(-2.5, -1.5), rng.uniform(3.0, 8.0)

    def value(lr: float, width: int, drop: float) -> float:
        u = math.log10(lr)
        return 0.1 * (u - at) ** 2 + math.exp(hard * (u - at - 0.5)) + 2.0 / width + (drop - 0.2) ** 2

    return value, {"lr": _log(1e-5, 1e-1), "width": uhebo.Int(8, 512, log=True), "drop": (0.0, 0.8)}


NOT_CHOSEN_ON = ("poles", "training")
"""Families that nobody looked at when limits were chosen."""
FAMILIES: dict[str, Family] = {
    each.__name__: each
    for each in (powers, kinks, exponentials, products, integers, valleys, wells, choices, poles, training)
}


def space_of(family: str, seed: int, series: int) -> SearchSpace:
    """The space of a search."""
    return SearchSpace.of(_drawn(family, seed, series)[1])


def searched(family: str, seed: int, series: int) -> Study:
    """A search by the default, as a user makes it."""
    function, space, trials = _drawn(family, seed, series)
    return uhebo.minimize(function, space, trials, seed=1000 * series + seed).study


def _drawn(family: str, seed: int, series: int) -> tuple[Function, Mapping[str, Any], int]:
    """A function, its space, and a number of trials."""
    rng = np.random.default_rng([series, seed])
    function, space = FAMILIES[family](rng)
    return function, space, int(rng.integers(FEWEST, MOST + 1))
