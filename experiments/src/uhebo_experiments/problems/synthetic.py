"""Test problems as frozen records: a space, a function to be maximised, and what is known of its maximum.

The paper's four synthetic problems, and sample paths of a GP with known hyperparameters, because only there can an
estimate be compared with the truth. The real problems are in `real`; `uhebo_experiments.problem` gives any of them by
name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

from uhebo.errors import InvalidInputError
from uhebo.numerics.bfgs import minimise
from uhebo.space import Float
from uhebo.types import Array, Rng

RANGE_POINTS = 10_000
Rows = Callable[[Array], Array]
"""Points (n, d) in the problem's own units -> values (n,)."""


@dataclass(frozen=True)
class Problem:
    """A function to be maximised over a space."""

    name: str
    space: Mapping[str, BaseDistribution]
    function: Callable[..., float]
    """Called with one keyword argument per parameter."""
    optimum: float | None = None
    """The largest value, where it is known."""
    maximisers: tuple[Mapping[str, float], ...] = ()
    fidelity: int | None = None
    """Number of trees or iterations, where there is such a thing."""
    noise: float = 0.0
    """Standard deviation of what an observation adds to the value; calling the problem gives the value itself."""
    rows: Rows | None = field(default=None, repr=False)
    """The same function of many points at once, where that is possible (for dense grids)."""
    about: str = ""

    @property
    def dimension(self) -> int:
        return len(self.space)

    def __call__(self, **params: Any) -> float:
        return float(self.function(**params))

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper ends of the parameters, each (d,), where all of them are numbers."""
        numbers = [d for d in self.space.values() if isinstance(d, (FloatDistribution, IntDistribution))]
        if len(numbers) < self.dimension:
            raise InvalidInputError(f"{self.name} has a parameter that is not a number, so it has no bounds")
        return np.array([float(d.low) for d in numbers]), np.array([float(d.high) for d in numbers])

    def noisy(self, share: float) -> Problem:
        """The same with noise whose deviation is this share of the function's range (over uniform points)."""
        if self.rows is None:
            raise InvalidInputError(f"{self.name} cannot be made noisy: its range is not known")
        low, high = self.bounds
        values = self.rows(low + np.random.default_rng(0).random((RANGE_POINTS, len(low))) * (high - low))
        deviation = share * float(values.max() - values.min())
        about = f"{self.about}; noise of {share:.0%} of its range"
        return replace(self, name=f"{self.name}~{share:g}", noise=deviation, about=about)


def box(
    name: str,
    rows: Rows,
    bounds: list[tuple[float, float]],
    optimum: float,
    maximisers: list[list[float]],
    about: str,
) -> Problem:
    """A problem over a box from a function of rows; parameters are called x1, x2, …"""
    names = [f"x{i + 1}" for i in range(len(bounds))]

    def function(**params: float) -> float:
        return float(rows(np.array([[params[name] for name in names]], dtype=np.float64))[0])

    return Problem(
        name=name,
        space={name: Float(low, high) for name, (low, high) in zip(names, bounds, strict=True)},
        function=function,
        optimum=optimum,
        maximisers=tuple(dict(zip(names, point, strict=True)) for point in maximisers),
        rows=rows,
        about=about,
    )


def branin_rows(X: Array) -> Array:
    """-(x2 - 5.1 x1²/(4π²) + 5 x1/π - 6)² - 10 (1 - 1/(8π)) cos x1 - 10."""
    x1, x2 = X.T
    valley = x2 - 5.1 / (4 * math.pi**2) * x1**2 + 5 / math.pi * x1 - 6
    return np.asarray(-(valley**2) - 10 * (1 - 1 / (8 * math.pi)) * np.cos(x1) - 10)


HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN3_A = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
HARTMANN3_P = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])


def hartmann3_rows(X: Array) -> Array:
    """Σ_i α_i exp(-Σ_j A_ij (x_j - P_ij)²). The paper's source breaks the number P_33 = 5547 over a line."""
    squares = (X[:, None, :] - HARTMANN3_P) ** 2
    return np.asarray(np.exp(-(squares * HARTMANN3_A).sum(axis=-1)) @ HARTMANN_ALPHA)


def deceptive_rows(X: Array) -> Array:
    """(mean_i g_i(x_i))², g_i piecewise linear through (0, 0.8), (0.8 α, 0), (α, 1), ((1 + 4α)/5, 0), (1, 0.8).

    α_i = i/(n + 1). As the paper prints it the third and fourth pieces lack +1 and +4/5 and g is discontinuous; these
    are the values of the function it cites.
    """
    d = X.shape[1]
    total = np.zeros(len(X))
    for i in range(d):
        alpha = (i + 1) / (d + 1)
        total += np.interp(X[:, i], [0.0, 0.8 * alpha, alpha, (1 + 4 * alpha) / 5, 1.0], [0.8, 0.0, 1.0, 0.0, 0.8])
    return np.asarray((total / d) ** 2)


def h1_rows(X: Array, *, outside: bool = False) -> Array:
    """(sin²(x1 - x2/8) + sin²(x2 + x1/8)) / √(|x - c|² + 1), c = (8.6998, 6.7665).

    The paper has the 1 inside the root; DEAP, where the function is usually taken from, adds it outside (`outside`).
    """
    x1, x2 = X.T
    waves = np.sin(x1 - x2 / 8) ** 2 + np.sin(x2 + x1 / 8) ** 2
    squared = (x1 - 8.6998) ** 2 + (x2 - 6.7665) ** 2
    return np.asarray(waves / (np.sqrt(squared) + 1 if outside else np.sqrt(squared + 1)))


def branin() -> Problem:
    best = [[-math.pi, 12.275], [math.pi, 2.275], [3 * math.pi, 2.475]]
    return box("branin", branin_rows, [(-5, 10), (0, 15)], -0.39788735772973816, best, "three equal, smooth maxima")


def hartmann3() -> Problem:
    best = [[0.114588875, 0.555648894, 0.852546985]]
    return box("hartmann3", hartmann3_rows, [(0, 1)] * 3, 3.862779787332663, best, "smooth, four local maxima")


def deceptive(dimension: int = 2) -> Problem:
    best = [[(i + 1) / (dimension + 1) for i in range(dimension)]]
    name = "deceptive" if dimension == 2 else f"deceptive-{dimension}d"
    about = "a narrow peak among slopes that lead to the corners"
    return box(name, deceptive_rows, [(0, 1)] * dimension, 1.0, best, about)


def h1(half_width: float = 25.0, *, outside: bool = False) -> Problem:
    name = "h1" + ("" if half_width == 25.0 else f"-{half_width:g}") + ("-outside" if outside else "")
    bounds = [(-half_width, half_width)] * 2
    # The waves are not exactly at their top in c, so the maximum of the rounded form lies a hair beside it.
    best, value = [[8.6997975, 6.7665037]], 1.999999999961
    if outside:
        best, value = [[8.6998, 6.7665]], 1.999999999921
    about = "one high, narrow peak among waves" + (", as DEAP has it" if outside else "")
    return box(name, lambda X: h1_rows(X, outside=outside), bounds, value, best, about)


FEATURES = 2000


@dataclass(frozen=True)
class Path:
    """A function drawn from a Matérn-5/2 GP with variance 1, by random Fourier features.

    The spectral density of the kernel is a multivariate t with 5 degrees of freedom and scale 1/ell.
    """

    frequencies: Array
    phases: Array
    weights: Array

    @classmethod
    def draw(cls, dimension: int, lengthscale: float | Array, rng: Rng) -> Path:
        frequencies = rng.standard_normal((FEATURES, dimension)) / lengthscale
        frequencies *= np.sqrt(5 / rng.chisquare(5, (FEATURES, 1)))
        weights = rng.standard_normal(FEATURES) * math.sqrt(2 / FEATURES)
        return cls(frequencies, rng.uniform(0, 2 * np.pi, FEATURES), weights)

    def __call__(self, X: Array) -> Array:
        parts = np.array_split(X, max(1, len(X) // 2000))
        return np.concatenate([np.cos(part @ self.frequencies.T + self.phases) @ self.weights for part in parts])

    def descent(self, X: Array) -> tuple[Array, Array]:
        """Negative values and their gradients, for a minimiser."""
        angles = X @ self.frequencies.T + self.phases
        return -(np.cos(angles) @ self.weights), (np.sin(angles) * self.weights) @ self.frequencies


@cache
def gp_path(dimension: int = 2, lengthscale: float | tuple[float, ...] = 0.2, *, seed: int = 0) -> Problem:
    """A sample path on the unit cube, with one lengthscale or one along each axis.

    Its maximum is climbed to from the best of many random points, so it is a lower bound (and exact for all practical
    purposes in few dimensions).
    """
    scales = lengthscale if isinstance(lengthscale, tuple) else (lengthscale,)
    if len(scales) not in (1, dimension):
        raise InvalidInputError(f"{len(scales)} lengthscales for {dimension} dimensions; expected one, or one for each")
    rng = np.random.default_rng([seed, dimension, *(round(scale * 1e6) for scale in scales)])
    path = Path.draw(dimension, np.array(scales), rng)
    candidates = rng.random((1000 * dimension, dimension))
    starts = candidates[np.argsort(-path(candidates))[:20]]
    found = minimise(path.descent, starts, np.zeros(dimension), np.ones(dimension), first_step=0.02, max_step=0.1)
    best = int(np.argmin(found.value))
    words = " and ".join(f"{scale:g}" for scale in scales)
    about = f"sample path {seed} of a Matérn-5/2 GP with lengthscale {words}"
    bounds = [(0.0, 1.0)] * dimension
    maximum = -float(found.value[best])
    name = f"gp-{dimension}d-{'x'.join(f'{scale:g}' for scale in scales)}"
    return box(name, path, bounds, maximum, [found.x[best].tolist()], about)


WARP = 3
"""Power of the warp of inputs: the path varies three times as fast at 0, and not at all at 1."""


@cache
def warped_path(dimension: int = 2, lengthscale: float = 0.3, *, seed: int = 0) -> Problem:
    """A sample path of 1 - (1 - x_i)^WARP along each axis: fast near 0 and flat near 1, as no stationary GP is."""
    path = gp_path(dimension, lengthscale, seed=seed)
    assert path.rows is not None
    assert path.optimum is not None
    rows = path.rows
    best = [[1.0 - (1.0 - u) ** (1.0 / WARP) for u in path.maximisers[0].values()]]
    about = f"{path.about}, squeezed towards 0"
    bounds = [(0.0, 1.0)] * dimension
    name = f"warped-{dimension}d-{lengthscale:g}"
    return box(name, lambda X: rows(1.0 - (1.0 - X) ** WARP), bounds, path.optimum, best, about)
