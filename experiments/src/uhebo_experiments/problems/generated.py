"""Problems drawn at random, in families: to choose a default on, and others to report on.

`generated("tuning", 17)` is always the same problem, and nothing that `generated("reporting", …)` gives has a random
number or a table of trained models in common with it. Problems 0, 1, 2, … take the families in turn, so that any first
so many are a balanced sample.

    path       sample paths of a GP: drawn kernel, lengthscales along each axis, often with warped inputs
    pieces     two paths, one on each side of a plane, or blended: what no stationary model is right for
    peak       a narrow peak, the global one, on rough or smooth ground
    valley     a long curved ridge, rotated, with axes up to 100 times as long as others
    plateau    a path in steps, or flat over most of the space
    tail       a path with long-tailed values, mostly towards the bad end
    many       10 to 30 parameters of which 1 to 6 matter: a path or a valley
    mixed      integers, grids, categories and numbers
    trained    part of a table of trained models (`uhebo_experiments.problems.trained`)

The others have 1 to 6 parameters that matter and up to three that do not. Two in five problems, and all of `trained`,
are observed with noise; its deviation is 2 to 50 % of the range of values, and in two of five cases another one in
another place. Values are to be maximised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution

from uhebo.space import Categorical, Float, Int
from uhebo.types import Array, Rng
from uhebo_experiments.problems.synthetic import Rows
from uhebo_experiments.problems.trained import Purpose, tables

STREAMS: dict[Purpose, int] = {"tuning": 2026_11_18, "reporting": 1_000_003}
"""First number of every seed. It is never the same for two purposes, so that no two seeds are."""
FAMILIES = ("path", "pieces", "peak", "valley", "plateau", "tail", "many", "mixed", "trained")
BUDGETS, SHARES = (20, 30, 40, 60, 100, 200), (0.22, 0.26, 0.24, 0.18, 0.08, 0.02)
"""Trials, and how often a problem has so many."""
FEATURES = 400
SAMPLE = 4096
"""Uniform points from which the range of a problem and the result of random search are known."""
SMOOTHNESS = (1.5, 2.5, 2.5, math.inf)


@dataclass(frozen=True)
class Generated:
    """A problem to be maximised within so many trials."""

    name: str
    family: str
    space: Mapping[str, BaseDistribution]
    value: Callable[[Mapping[str, Any]], float]
    """Of a point, without noise."""
    observe: Callable[[Mapping[str, Any], Rng], float]
    """What a trial there gives."""
    noisy: bool
    optimum: float
    """The largest value that a search for it found."""
    reference: float
    """Median regret of random search with the same number of trials; of a table at least the deviation of the noise."""
    trials: int


@cache
def generated(purpose: Purpose, index: int) -> Generated:
    """Problem number `index` of a purpose."""
    rng = np.random.default_rng([STREAMS[purpose], index])
    family, name = FAMILIES[index % len(FAMILIES)], f"{purpose}-{index}"
    trials = int(rng.choice(BUDGETS, p=SHARES))
    if family == "trained":
        return from_table(name, purpose, trials, rng)
    relevant = int(rng.integers(1, 7))
    extra = int(rng.integers(max(0, 10 - relevant), 31 - relevant)) if family == "many" else _few(rng)
    make = MAKERS[family if family in MAKERS else str(rng.choice(["path", "valley"]))]
    rows, hints = make(relevant, rng)
    columns = rng.permutation(relevant + extra)[:relevant]
    kinds = [_kind(rng) if family == "mixed" else FLOAT for _ in range(relevant + extra)]
    codes = [rng.permutation(kind.levels) for kind in kinds]  # of categories, whose order says nothing
    space = {f"x{i}": kind.distribution for i, kind in enumerate(kinds)}

    def row(params: Mapping[str, Any]) -> Array:
        return np.array([kind.position(params[f"x{i}"], codes[i]) for i, kind in enumerate(kinds)])

    def snapped(X: Array) -> Array:
        """Rows of the cube, each at the nearest that the parameters allow; only the columns that matter."""
        return np.stack([kinds[j].snapped(X[:, j]) for j in columns], axis=1)

    def rows_at(X: Array) -> Array:
        return rows(snapped(X))

    X = rng.random((SAMPLE, relevant + extra))
    values = rows_at(X)
    full = np.full((len(hints), relevant + extra), 0.5)
    full[:, columns] = hints
    top = climbed(rows_at, np.concatenate([full, X[np.argsort(-values)[:8]]]), rng)
    deviation = _noise(relevant, rng, float(top - np.quantile(values, 0.02)))

    def value(params: Mapping[str, Any]) -> float:
        return float(rows_at(row(params)[None])[0])

    def observe(params: Mapping[str, Any], noise: Rng) -> float:
        spread = 0.0 if deviation is None else float(deviation(snapped(row(params)[None]))[0])
        return value(params) + spread * float(noise.standard_normal())

    by_luck = random_regret(values, top, trials)
    return Generated(name, family, space, value, observe, deviation is not None, top, by_luck, trials)


def from_table(name: str, purpose: Purpose, trials: int, rng: Rng) -> Generated:
    """Part of a table: of each parameter a drawn choice of its values."""
    known = tables(purpose)
    table = known[int(rng.integers(len(known)))]
    kept = {
        axis: np.sort(rng.permutation(len(values))[: max(2, int(rng.integers(len(values) // 2, len(values) + 1)))])
        for axis, values in table.axes.items()
    }
    scores = table.scores[np.ix_(*kept.values(), np.arange(table.scores.shape[-1]))]
    texts = {axis: [str(table.axes[axis][i]) for i in rows] for axis, rows in kept.items()}
    space: dict[str, BaseDistribution] = {
        axis: Categorical(texts[axis]) if isinstance(table.axes[axis][0], str) else Int(0, len(rows) - 1)
        for axis, rows in kept.items()
    }

    def at(params: Mapping[str, Any]) -> Array:
        at_axis = [texts[n].index(v) if isinstance(v := params[n], str) else int(v) for n in kept]
        return np.asarray(scores[tuple(at_axis)])

    def observe(params: Mapping[str, Any], noise: Rng) -> float:
        return float(noise.choice(at(params)))

    means = scores.mean(axis=-1).ravel()
    top = float(means.max())
    sample = means[rng.integers(len(means), size=SAMPLE)]
    # Many settings of a table are as good as the best: less than the scatter of an observation is hardly regret.
    luck = max(random_regret(sample, top, trials), float(scores.std(axis=-1).mean()))
    return Generated(name, "trained", space, lambda p: float(at(p).mean()), observe, True, top, luck, trials)


def random_regret(values: Array, top: float, trials: int) -> float:
    """Median of top - max of so many of these values, drawn at random; never 0."""
    return max(float(top - np.quantile(values, 0.5 ** (1.0 / trials))), 1e-3 * float(np.ptp(values)), 1e-9)


def climbed(rows: Rows, starts: Array, rng: Rng) -> float:
    """The largest value that ever smaller random steps from these points lead to."""
    points, best = starts.copy(), rows(starts)
    width = starts.shape[1]
    for halving in range(18):
        steps = 0.3 * 0.5**halving * rng.standard_normal((len(points), 24 + 8 * width, width))
        # Half of the steps go along one axis.
        steps[:, ::2] *= rng.integers(width, size=(*steps[:, ::2].shape[:2], 1)) == np.arange(width)
        near = np.clip(points[:, None] + steps, 0.0, 1.0)
        values = rows(near.reshape(-1, width)).reshape(near.shape[:2])
        chosen = values.argmax(axis=1)
        better = values.max(axis=1) > best
        points[better], best = near[better, chosen[better]], np.maximum(best, values.max(axis=1))
    return float(best.max())


def path(d: int, rng: Rng, scale: tuple[float, float] = (0.12, 1.2), *, warps: bool = True) -> Rows:
    """A sample path by random Fourier features, of variance 1, perhaps with inputs warped by Kumaraswamy's distribution
    function 1 - (1 - x^a)^b."""
    ell = math.exp(rng.uniform(*np.log(scale))) * math.sqrt(d) ** 0.5 * np.exp(0.5 * rng.standard_normal(d))
    smoothness = float(rng.choice(SMOOTHNESS))
    frequencies = rng.standard_normal((FEATURES, d)) / ell
    if math.isfinite(smoothness):
        frequencies *= np.sqrt(2 * smoothness / rng.chisquare(2 * smoothness, (FEATURES, 1)))
    phases, weights = rng.uniform(0, 2 * np.pi, FEATURES), rng.standard_normal(FEATURES) * math.sqrt(2 / FEATURES)
    a, b = np.exp(0.6 * rng.standard_normal((2, d))) if warps and rng.random() < 0.5 else np.ones((2, d))

    def rows(X: Array) -> Array:
        inner = 1.0 - (1.0 - np.clip(X, 0.0, 1.0) ** a) ** b
        return np.asarray(np.cos(inner @ frequencies.T + phases) @ weights)

    return rows


Made = tuple[Rows, Array]
"""A function of rows of the unit cube, and points near which its maximum may be."""


def make_path(d: int, rng: Rng) -> Made:
    return path(d, rng), np.empty((0, d))


def make_pieces(d: int, rng: Rng) -> Made:
    first, second = path(d, rng, (0.4, 1.2)), path(d, rng, (0.08, 0.4))
    normal, centre, jump = rng.standard_normal(d), 0.2 + 0.6 * rng.random(d), rng.standard_normal()
    steep = float(rng.choice([5.0, 1e6]))
    normal /= np.linalg.norm(normal)

    def rows(X: Array) -> Array:
        gate = 0.5 + 0.5 * np.tanh(steep * ((X - centre) @ normal))
        return np.asarray((1.0 - gate) * first(X) + gate * (second(X) + jump))

    return rows, np.empty((0, d))


def make_peak(d: int, rng: Rng) -> Made:
    ground = path(d, rng, (0.1, 0.3) if rng.random() < 0.5 else (0.5, 1.5))
    centre, width = 0.1 + 0.8 * rng.random(d), math.exp(rng.uniform(math.log(0.04), math.log(0.25))) * d**0.25
    height = rng.uniform(2.0, 5.0)

    def rows(X: Array) -> Array:
        return np.asarray(ground(X) + height * np.exp(-0.5 * (((X - centre) / width) ** 2).sum(axis=1)))

    return rows, centre[None]


def make_valley(d: int, rng: Rng) -> Made:
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0]
    lengths = 10.0 ** np.linspace(0.0, rng.uniform(0.5, 2.0), d) if d > 1 else np.ones(1)
    centre, bend, power = 0.2 + 0.6 * rng.random(d), rng.uniform(0.0, 3.0) * (d > 1), float(rng.choice([0.5, 1.0, 1.0]))

    def rows(X: Array) -> Array:
        turned = (X - centre) @ axes.T
        turned[:, -1] += bend * (turned[:, 0] ** 2)
        return np.asarray(-(((turned * lengths) ** 2).sum(axis=1) ** power))

    return rows, centre[None]


def make_plateau(d: int, rng: Rng) -> Made:
    ground, levels, floor = path(d, rng), float(rng.uniform(2.0, 8.0)), rng.uniform(-0.3, 1.0)
    if rng.random() < 0.5:
        return lambda X: np.round(levels * ground(X)) / levels, np.empty((0, d))
    return lambda X: np.maximum(ground(X), floor), np.empty((0, d))


def make_tail(d: int, rng: Rng) -> Made:
    ground, size, sign = path(d, rng), rng.uniform(1.0, 3.0), float(rng.choice([-1.0, -1.0, -1.0, 1.0]))
    return lambda X: sign * np.exp(sign * size * ground(X)), np.empty((0, d))


MAKERS: dict[str, Callable[[int, Rng], Made]] = {
    "path": make_path, "pieces": make_pieces, "peak": make_peak, "valley": make_valley, "plateau": make_plateau,
    "tail": make_tail, "mixed": make_path,
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A parameter on [0, 1]: any number, or one of `levels` places at equal distances, with names or without."""

    levels: int = 0
    choices: bool = False
    low: int = 0

    @property
    def distribution(self) -> BaseDistribution:
        if self.choices:
            return Categorical([f"c{i}" for i in range(self.levels)])
        return Int(self.low, self.low + self.levels - 1) if self.levels else Float(0.0, 1.0)

    def position(self, told: Any, codes: NDArray[np.int64]) -> float:
        if not self.levels:
            return float(told)
        level = codes[int(told[1:])] if self.choices else int(told) - self.low
        return float(level) / (self.levels - 1)

    def snapped(self, x: Array) -> Array:
        return np.round(x * (self.levels - 1)) / (self.levels - 1) if self.levels else x


FLOAT = Kind()


def _kind(rng: Rng) -> Kind:
    drawn = rng.random()
    if drawn < 0.35:
        return FLOAT
    if drawn < 0.7:
        return Kind(int(rng.integers(2, 21)), low=int(rng.integers(0, 3)))
    return Kind(int(rng.integers(2, 7)), choices=True)


def _few(rng: Rng) -> int:
    return int(rng.choice(4, p=(0.7, 0.15, 0.1, 0.05)))


def _noise(d: int, rng: Rng, width: float) -> Rows | None:
    """Deviation of the noise at rows; None where there is none."""
    if rng.random() < 0.6:
        return None
    share = math.exp(rng.uniform(math.log(0.02), math.log(0.5)))
    if rng.random() < 0.6:
        return lambda X: np.full(len(X), share * width)
    uneven = path(d, rng, (0.3, 1.0), warps=False)
    return lambda X: share * width * np.exp(np.clip(0.7 * uneven(X), -1.5, 1.0))
