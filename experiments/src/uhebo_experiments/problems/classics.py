"""Classic test functions, negated so that they are maximised; formulas as in Jamil & Yang (2013).

Each is a function of rows in the units of its box. Used for the comparison with other libraries; the paper's own four
are in `uhebo_experiments.problems.synthetic`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from uhebo.types import Array
from uhebo_experiments.problems.synthetic import HARTMANN_ALPHA, Problem, Rows, box

HARTMANN6_A = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
HARTMANN6_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
SHEKEL_C = np.array(
    [[4, 4, 4, 4], [1, 1, 1, 1], [8, 8, 8, 8], [6, 6, 6, 6], [3, 7, 3, 7], [2, 9, 2, 9], [5, 5, 3, 3], [8, 1, 8, 1],
     [6, 2, 6, 2], [7, 3.6, 7, 3.6]]
)  # fmt: skip
SHEKEL_BETA = 0.1 * np.array([1, 2, 2, 4, 4, 6, 3, 7, 5, 5])


def hartmann6_rows(X: Array) -> Array:
    """Σ_i α_i exp(-Σ_j A_ij (x_j - P_ij)²)."""
    squares = (X[:, None, :] - HARTMANN6_P) ** 2
    return np.asarray(np.exp(-(squares * HARTMANN6_A).sum(axis=-1)) @ HARTMANN_ALPHA)


def ackley_rows(X: Array) -> Array:
    """20 exp(-0.2 √(mean x²)) + exp(mean cos 2πx) - 20 - e."""
    first = 20.0 * np.exp(-0.2 * np.sqrt((X**2).mean(axis=1)))
    return np.asarray(first + np.exp(np.cos(2 * np.pi * X).mean(axis=1)) - 20.0 - math.e)


def levy_rows(X: Array) -> Array:
    """-sin²πw₁ - Σ (w_i - 1)² (1 + 10 sin²(πw_i + 1)) - (w_d - 1)² (1 + sin² 2πw_d),  w = 1 + (x - 1)/4."""
    w = 1.0 + (X - 1.0) / 4.0
    head, last = w[:, :-1], w[:, -1]
    middle = ((head - 1) ** 2 * (1 + 10 * np.sin(np.pi * head + 1) ** 2)).sum(axis=1)
    end = (last - 1) ** 2 * (1 + np.sin(2 * np.pi * last) ** 2)
    return np.asarray(-(np.sin(np.pi * w[:, 0]) ** 2) - middle - end)


def rosenbrock_rows(X: Array) -> Array:
    """-Σ 100 (x_{i+1} - x_i²)² + (1 - x_i)²."""
    return np.asarray(-(100 * (X[:, 1:] - X[:, :-1] ** 2) ** 2 + (1 - X[:, :-1]) ** 2).sum(axis=1))


def rastrigin_rows(X: Array) -> Array:
    """-Σ x² - 10 cos 2πx + 10."""
    return np.asarray(-(X**2 - 10 * np.cos(2 * np.pi * X) + 10).sum(axis=1))


def styblinski_tang_rows(X: Array) -> Array:
    """-½ Σ x⁴ - 16x² + 5x."""
    return np.asarray(-0.5 * (X**4 - 16 * X**2 + 5 * X).sum(axis=1))


def dixon_price_rows(X: Array) -> Array:
    """-(x₁ - 1)² - Σ i (2x_i² - x_{i-1})²."""
    index = np.arange(2, X.shape[1] + 1)
    return np.asarray(-((X[:, 0] - 1) ** 2) - (index * (2 * X[:, 1:] ** 2 - X[:, :-1]) ** 2).sum(axis=1))


def shekel_rows(X: Array) -> Array:
    """Σ_i 1/(β_i + |x - C_i|²), ten terms."""
    squares = ((X[:, None, :] - SHEKEL_C) ** 2).sum(axis=-1)
    return np.asarray((1.0 / (SHEKEL_BETA + squares)).sum(axis=1))


def camel_rows(X: Array) -> Array:
    """-(4 - 2.1x² + x⁴/3) x² - xy - (4y² - 4) y²: six humps, two of them highest."""
    x, y = X.T
    return np.asarray(-(4 - 2.1 * x**2 + x**4 / 3) * x**2 - x * y - (4 * y**2 - 4) * y**2)


def goldstein_price_rows(X: Array) -> Array:
    """Goldstein & Price (1971), negated: its values span six orders of magnitude."""
    x, y = X.T
    first = 1 + (x + y + 1) ** 2 * (19 - 14 * x + 3 * x**2 - 14 * y + 6 * x * y + 3 * y**2)
    second = 30 + (2 * x - 3 * y) ** 2 * (18 - 32 * x + 12 * x**2 + 48 * y - 36 * x * y + 27 * y**2)
    return np.asarray(-(first * second))


@dataclass(frozen=True)
class Family:
    """A function of any dimension, or of one only (`dimension`), with its box and where its maximum is."""

    rows: Rows
    low: float
    high: float
    best: Callable[[int], list[list[float]]]
    about: str
    dimension: int | None = None
    second_low: float | None = None
    """Low and high of the second coordinate, where they differ."""
    second_high: float | None = None

    def problem(self, name: str, dimension: int) -> Problem:
        bounds = [(self.low, self.high)] * dimension
        if self.second_low is not None and self.second_high is not None:
            bounds[1] = (self.second_low, self.second_high)
        best = self.best(dimension)
        return box(name, self.rows, bounds, float(self.rows(np.array(best[:1]))[0]), best, self.about)


def _dixon_price_best(d: int) -> list[list[float]]:
    return [[2.0 ** -((2.0**i - 2) / 2.0**i) for i in range(1, d + 1)]]


FAMILIES: dict[str, Family] = {
    "ackley": Family(ackley_rows, -15, 30, lambda d: [[0.0] * d], "one funnel under many small waves"),
    "levy": Family(levy_rows, -10, 10, lambda d: [[1.0] * d], "a bowl with waves"),
    "rosenbrock": Family(rosenbrock_rows, -5, 10, lambda d: [[1.0] * d], "a long curved valley"),
    "rastrigin": Family(rastrigin_rows, -5.12, 5.12, lambda d: [[0.0] * d], "a bowl with deep regular waves"),
    "styblinski-tang": Family(
        styblinski_tang_rows, -5, 5, lambda d: [[-2.903534018185960] * d], "additive, 2^d local maxima"
    ),
    "dixon-price": Family(dixon_price_rows, -10, 10, _dixon_price_best, "a valley, badly scaled"),
    "hartmann6": Family(
        hartmann6_rows,
        0,
        1,
        lambda _: [[0.20168951, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730053]],
        "smooth, six local maxima",
        dimension=6,
    ),
    "shekel": Family(
        shekel_rows,
        0,
        10,
        lambda _: [[4.00074653, 4.00059294, 3.99966340, 3.99950981]],
        "ten narrow peaks",
        dimension=4,
    ),
    "camel": Family(
        camel_rows,
        -3,
        3,
        lambda _: [[0.08984201, -0.71265640], [-0.08984201, 0.71265640]],
        "six humps",
        dimension=2,
        second_low=-2,
        second_high=2,
    ),
    "goldstein-price": Family(goldstein_price_rows, -2, 2, lambda _: [[0.0, -1.0]], "six orders of magnitude", 2),
}
"""Name -> family; a problem is `<family>` where there is one dimension only, else `<family>-<d>d`."""


def classic(name: str) -> Problem | None:
    """A classic by name, None if there is none of that name."""
    family, _, size = name.rpartition("-")
    if name in FAMILIES and (dimension := FAMILIES[name].dimension) is not None:
        return FAMILIES[name].problem(name, dimension)
    if family in FAMILIES and FAMILIES[family].dimension is None and size[:-1].isdigit() and size.endswith("d"):
        return FAMILIES[family].problem(name, int(size[:-1])) if int(size[:-1]) > 1 else None
    return None
