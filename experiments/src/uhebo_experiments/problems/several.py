"""Nine problems with several objectives, all minimised, and the reference points their hypervolume is measured from.

Sources: Zitzler, Deb & Thiele (2000) for `zdt1` to `zdt3`; Deb et al. (2005) for `dtlz2`; Deb & Jain (2014) for
`c2-dtlz2`; Belakaria, Deshwal & Doppa (2019) for `branin-currin`; Liao et al. (2008) for `vehicle-safety`. Reference
points and largest hypervolumes are those of `botorch.test_functions`, and so are the formulas, but for ZDT3, whose
second objective lacks the factor g there. `trees` is ours: a forest on scikit-learn's digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution

from uhebo.numerics.front import hypervolume
from uhebo.space import Float, Int
from uhebo.types import Array
from uhebo_experiments.problems.practical import Params, along
from uhebo_experiments.problems.synthetic import branin_rows

SEED = 1
REMEMBERED = 4096
"""Forests whose score is kept: searches repeat points."""


@dataclass(frozen=True)
class Outcome:
    """Values of the objectives and of the constraints (at most 0 is feasible)."""

    values: tuple[float, ...]
    constraints: tuple[float, ...] = ()

    @property
    def feasible(self) -> bool:
        return all(c <= 0.0 for c in self.constraints)


@dataclass(frozen=True)
class Several:
    """Objectives to be minimised over a space."""

    name: str
    space: Mapping[str, BaseDistribution]
    evaluate: Callable[[Params], Outcome]
    """Without noise."""
    reference: tuple[float, ...]
    """From which the hypervolume is measured; no library is told."""
    about: str
    largest: float | None = None
    """Hypervolume of the true front, where it is known; else that of all that any library has found counts as it."""
    noise: tuple[float, ...] = ()
    """Standard deviation of what an observation adds to each objective."""

    @property
    def objectives(self) -> int:
        return len(self.reference)

    def decode(self, row: Array) -> dict[str, Any]:
        """A point of the unit cube as parameters."""
        return {name: along(d, float(share)) for (name, d), share in zip(self.space.items(), row, strict=True)}

    def hypervolume(self, values: Array) -> float:
        """Of the front among rows of values."""
        return hypervolume(
            -np.asarray(values, dtype=np.float64).reshape(-1, self.objectives), -np.array(self.reference)
        )


def row(p: Params) -> Array:
    return np.array(list(p.values()), dtype=np.float64)


def zdt(p: Params, shape: Callable[[float, float], float]) -> Outcome:
    """f1 = x1, f2 = g h(x1, x1/g), g = 1 + 9 mean(x2, …, xd)."""
    x = row(p)
    g = 1.0 + 9.0 * float(x[1:].mean())
    return Outcome((float(x[0]), g * shape(float(x[0]), float(x[0]) / g)))


def zdt1_shape(_: float, ratio: float) -> float:
    """1 - √(x1/g): convex."""
    return 1.0 - math.sqrt(ratio)


def zdt2_shape(_: float, ratio: float) -> float:
    """1 - (x1/g)²: concave."""
    return 1.0 - ratio**2


def zdt3_shape(first: float, ratio: float) -> float:
    """1 - √(x1/g) - (x1/g) sin(10π x1): five pieces."""
    return 1.0 - math.sqrt(ratio) - ratio * math.sin(10.0 * math.pi * first)


def dtlz2(p: Params, objectives: int) -> Outcome:
    """f_i = (1 + g) Π_{j < m - i} cos(π x_j/2) · sin(π x_{m-i}/2) (no sine in f_0), g = Σ over the last d - m + 1 of
    (x - ½)²: an eighth of a sphere, or a quarter of a circle."""
    x = row(p)
    size = 1.0 + float(((x[objectives - 1 :] - 0.5) ** 2).sum())
    angles = 0.5 * math.pi * x[: objectives - 1]
    values = []
    for i in range(objectives):
        last = objectives - 1 - i
        value = size * float(np.cos(angles[:last]).prod())
        values.append(value * math.sin(angles[last]) if i else value)
    return Outcome(tuple(values))


RADIUS = 0.2


def c2_dtlz2(p: Params) -> Outcome:
    """DTLZ2 where f lies within RADIUS of an end of the front or of its middle:
    min(min_i (f_i - 1)² + Σ_{j≠i} (f_j² - r²), Σ_i ((f_i - 1/√m)² - r²)) ≤ 0."""
    values = dtlz2(p, 2).values
    f, m = np.array(values), len(values)
    ends = (f - 1.0) ** 2 + (f**2).sum() - f**2 - (m - 1) * RADIUS**2
    middle = float(((f - 1.0 / math.sqrt(m)) ** 2 - RADIUS**2).sum())
    return Outcome(values, (min(float(ends.min()), middle),))


def branin_currin(p: Params) -> Outcome:
    """Branin on the unit square, and (1 - e^(-1/(2y))) (2300x³ + 1900x² + 2092x + 60) / (100x³ + 500x² + 4x + 20)."""
    x, y = p["x"], p["y"]
    branin = -float(branin_rows(np.array([[15.0 * x - 5.0, 15.0 * y]]))[0])
    factor = 1.0 - math.exp(-1.0 / (2.0 * y)) if y > 0.0 else 1.0
    above, below = 2300 * x**3 + 1900 * x**2 + 2092 * x + 60, 100 * x**3 + 500 * x**2 + 4 * x + 20
    return Outcome((branin, factor * above / below))


def vehicle_safety(p: Params) -> Outcome:
    """Mass, acceleration and intrusion in a crash, from the thickness of five parts."""
    a, b, c, d, e = row(p)
    mass = 1640.2823 + 2.3573285 * a + 2.3220035 * b + 4.5688768 * c + 7.7213633 * d + 4.4559504 * e
    acceleration = 6.5856 + 1.15 * a - 1.0427 * b + 0.9738 * c + 0.8364 * d - 0.3695 * a * d + 0.0861 * a * e
    acceleration += 0.3628 * b * d - 0.1106 * a**2 - 0.3437 * c**2 + 0.1764 * d**2
    intrusion = -0.0551 + 0.0181 * a + 0.1024 * b + 0.0421 * c - 0.0073 * a * b + 0.024 * b * c - 0.0118 * b * d
    intrusion += -0.0204 * c * d - 0.008 * c * e - 0.0241 * b**2 + 0.0109 * d**2
    return Outcome((float(mass), float(acceleration), float(intrusion)))


def trees(p: Params) -> Outcome:
    """Share of digits that extremely randomised trees get wrong, and comparisons for one prediction."""
    return _trees(p["trees"], p["depth"], p["features"], p["leaf"])


@lru_cache(maxsize=REMEMBERED)
def _trees(count: int, depth: int, features: int, leaf: int) -> Outcome:
    """Half of the digits is learnt from and the other half told. A prediction compares once for each inner node on its
    way through each tree."""
    from sklearn.ensemble import ExtraTreesClassifier

    X_train, X_test, y_train, y_test = _digits()
    model = ExtraTreesClassifier(
        count, max_depth=depth, max_features=features, min_samples_leaf=leaf, random_state=SEED
    ).fit(X_train, y_train)
    visited, _ = model.decision_path(X_test)
    comparisons = visited.nnz / len(y_test) - count
    return Outcome((1.0 - float(model.score(X_test, y_test)), float(comparisons)))


@cache
def _digits() -> tuple[Array, Array, Array, Array]:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    made: tuple[Array, Array, Array, Array] = tuple(
        train_test_split(X, y, test_size=0.5, stratify=y, random_state=SEED)
    )
    return made


def cube(dimension: int) -> dict[str, BaseDistribution]:
    return {f"x{i}": Float(0.0, 1.0) for i in range(1, dimension + 1)}


SQUARE = {"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}
FAR = (11.0, 11.0)
SEVERAL: dict[str, Several] = {
    case.name: case
    for case in (
        Several("zdt1", cube(6), partial(zdt, shape=zdt1_shape), FAR, "a convex front", 120.0 + 2.0 / 3.0),
        Several("zdt2", cube(6), partial(zdt, shape=zdt2_shape), FAR, "a concave front", 120.0 + 1.0 / 3.0),
        Several("zdt3", cube(6), partial(zdt, shape=zdt3_shape), FAR, "a front in five pieces", 128.77811613069076),
        Several(
            "dtlz2",
            cube(6),
            partial(dtlz2, objectives=3),
            (1.1,) * 3,
            "three objectives, an eighth of a sphere",
            1.1**3 - math.pi / 6.0,
        ),
        Several("branin-currin", SQUARE, branin_currin, (18.0, 6.0), "two test functions at once", 59.36011874867746),
        Several(
            "vehicle-safety",
            {f"x{i}": Float(1.0, 3.0) for i in range(1, 6)},
            vehicle_safety,
            (1864.72022, 11.81993945, 0.2903999384),
            "mass, acceleration and intrusion in a crash",
            246.81607081187002,
        ),
        Several(
            "c2-dtlz2", cube(6), c2_dtlz2, (1.1,) * 2, "constrained: three pieces of the front", 0.3996406303723544
        ),
        Several(
            "branin-currin-noisy",
            SQUARE,
            branin_currin,
            (18.0, 6.0),
            "the same with noise, about 5 % of each range",
            59.36011874867746,
            noise=(15.19, 0.63),
        ),
        Several(
            "trees",
            {"trees": Int(1, 40, log=True), "depth": Int(1, 14), "features": Int(1, 64, log=True), "leaf": Int(1, 20)},
            trees,
            (0.9, 200.0),
            "a forest: share of digits wrong, comparisons per prediction",
        ),
    )
}
"""Name -> problem."""
