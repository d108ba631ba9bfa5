"""Problems of the neutral report: none is one that a default was chosen or reported on before.

    bbob-noisy   COCO's noisy functions (`uhebo_experiments.problems.coco`)
    bbob-mixint  COCO's functions of integers and numbers
    models       scikit-learn models by bayesmark's protocol (`uhebo_experiments.problems.bayesmark`)
    many         classics of 20 to 30 parameters
    noisy        classics of 2 to 8 parameters, whose values have noise of 5 to 30 % of their median height

Values are to be minimised. The seed of a run picks the instance: of COCO its own, of a classic where its minimum lies,
so that none is found by looking at the centre of the box.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from uhebo.errors import InvalidInputError
from uhebo.space import Float
from uhebo.types import Array, Rng
from uhebo_experiments.problems import bayesmark, coco
from uhebo_experiments.problems.neutral_task import Params, Task

SHIFT_STREAM = 2_236_067
"""First number of the seeds of shifts."""
REACH = 0.3
"""Of the width of the box, how far from its place the minimum is moved at most, along each axis."""
HEIGHT_POINTS = 4096
Rows = Callable[[Array], Array]


def zakharov(X: Array) -> Array:
    """Σ x² + s² + s⁴,  s = ½ Σ i x_i."""
    slope = 0.5 * X @ np.arange(1.0, X.shape[1] + 1.0)
    return np.asarray((X**2).sum(axis=1) + slope**2 + slope**4)


def griewank(X: Array) -> Array:
    """1 + Σ x²/4000 - Π cos(x_i/√i)."""
    index = np.sqrt(np.arange(1.0, X.shape[1] + 1.0))
    return np.asarray(1.0 + (X**2).sum(axis=1) / 4000.0 - np.cos(X / index).prod(axis=1))


def powell(X: Array) -> Array:
    """Powell's singular function: Σ over fours (a + 10b)² + 5 (c - d)² + (b - 2c)⁴ + 10 (a - d)⁴."""
    a, b, c, d = (X[:, start::4] for start in range(4))
    each = (a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4
    return np.asarray(each.sum(axis=1))


def salomon(X: Array) -> Array:
    """1 - cos 2πr + r/10,  r = |x|."""
    radius = np.sqrt((X**2).sum(axis=1))
    return np.asarray(1.0 - np.cos(2 * np.pi * radius) + 0.1 * radius)


def alpine(X: Array) -> Array:
    """Σ |x sin x + x/10|."""
    return np.asarray(np.abs(X * np.sin(X) + 0.1 * X).sum(axis=1))


def qing(X: Array) -> Array:
    """Σ (x_i² - i)²: 2^d minima, all equal."""
    return np.asarray(((X**2 - np.arange(1.0, X.shape[1] + 1.0)) ** 2).sum(axis=1))


def drop_wave(X: Array) -> Array:
    """-(1 + cos 12r) / (r²/2 + 2)."""
    squared = (X**2).sum(axis=1)
    return np.asarray(-(1.0 + np.cos(12.0 * np.sqrt(squared))) / (0.5 * squared + 2.0))


def bohachevsky(X: Array) -> Array:
    """x² + 2y² - 0.3 cos 3πx - 0.4 cos 4πy + 0.7."""
    x, y = X.T
    return np.asarray(x**2 + 2 * y**2 - 0.3 * np.cos(3 * np.pi * x) - 0.4 * np.cos(4 * np.pi * y) + 0.7)


@dataclass(frozen=True)
class Classic:
    """A function on a box [low, high]^d with its minimum."""

    rows: Rows
    dimension: int
    low: float
    high: float
    optimum: float = 0.0
    noise: float = 0.0
    """Standard deviation, as a share of the median height of uniform points above the minimum: ranges of functions
    that grow fast say nothing of most of the box."""


CLASSICS: dict[str, dict[str, Classic]] = {
    "many": {
        "zakharov-20d": Classic(zakharov, 20, -5.0, 10.0),
        "griewank-20d": Classic(griewank, 20, -50.0, 50.0),
        "powell-24d": Classic(powell, 24, -4.0, 5.0),
        "qing-20d": Classic(qing, 20, -5.0, 5.0),
        "salomon-25d": Classic(salomon, 25, -10.0, 10.0),
        "alpine-30d": Classic(alpine, 30, -10.0, 10.0),
        "griewank-30d": Classic(griewank, 30, -50.0, 50.0),
        "zakharov-30d": Classic(zakharov, 30, -5.0, 10.0),
    },
    "noisy": {
        "bohachevsky-2d": Classic(bohachevsky, 2, -3.0, 3.0, 0.0, 0.3),
        "drop-wave-2d": Classic(drop_wave, 2, -2.0, 2.0, -1.0, 0.1),
        "griewank-3d": Classic(griewank, 3, -8.0, 8.0, 0.0, 0.2),
        "zakharov-4d": Classic(zakharov, 4, -5.0, 10.0, 0.0, 0.05),
        "alpine-4d": Classic(alpine, 4, -10.0, 10.0, 0.0, 0.1),
        "salomon-5d": Classic(salomon, 5, -10.0, 10.0, 0.0, 0.2),
        "qing-6d": Classic(qing, 6, -5.0, 5.0, 0.0, 0.1),
        "powell-8d": Classic(powell, 8, -4.0, 5.0, 0.0, 0.05),
    },
}


def classic(family: str, name: str, seed: int) -> Task:
    """A classic moved by a shift that the seed draws."""
    case = CLASSICS[family][name]
    d, width = case.dimension, case.high - case.low
    # Not by its place in a dictionary: another classic more must not move the others.
    rng = np.random.default_rng([SHIFT_STREAM, seed, *name.encode()])
    shift = REACH * width * (2.0 * rng.random(d) - 1.0)
    if case.rows is qing:
        shift /= 3.0  # its minima lie nearer to the edge
    deviation = 0.0
    if case.noise:
        values = case.rows(case.low + width * np.random.default_rng(0).random((HEIGHT_POINTS, d)) - shift)
        deviation = case.noise * float(np.median(values) - case.optimum)
    names = [f"x{i:02d}" for i in range(d)]

    def evaluate(params: Params, noise: Rng) -> tuple[float, float]:
        true = float(case.rows(np.array([[params[name] for name in names]]) - shift)[0])
        return true + deviation * float(noise.standard_normal()), true

    space = {name: Float(case.low, case.high) for name in names}
    return Task(name, family, space, evaluate, case.optimum, deviation > 0.0)


MAKERS: dict[str, tuple[tuple[str, ...], Callable[[str, int], Task]]] = {
    "bbob-noisy": (coco.NOISY, coco.noisy),
    "bbob-mixint": (coco.MIXINT, coco.mixint),
    "models": (bayesmark.IN_TURN, bayesmark.task),
    "many": (tuple(CLASSICS["many"]), partial(classic, "many")),
    "noisy": (tuple(CLASSICS["noisy"]), partial(classic, "noisy")),
}
"""Family -> names of its problems, and their maker: name, seed -> task."""


def neutral(family: str, name: str, seed: int) -> Task:
    """A problem of the report. All of bayesmark's are problems of `models`, beside those that are run by themselves."""
    if family not in MAKERS:
        raise InvalidInputError(f"unknown family {family!r}; choose among {', '.join(MAKERS)}")
    names, make = MAKERS[family]
    if name not in (bayesmark.TASKS if family == "models" else names):
        raise InvalidInputError(f"unknown problem {name!r} of {family}; choose among {', '.join(names)}")
    return make(name, seed)
