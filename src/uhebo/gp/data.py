"""What a GP works on: the `Domain` of its inputs, standardised `Data` with the `Noise` told of its values, and
hyperparameters `Theta`; all frozen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uhebo.errors import InvalidInputError
from uhebo.types import Array, Rng

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""Share of the largest |y| below which a spread is rounding, not signal."""
TINY = 1e-305
"""Spread that could not be multiplied back without leaving the normal range of doubles."""
LEAST_NOISE, MOST_NOISE = 1e-10, 1e10
"""Smallest and largest noise variance that can be told of a standardised value. A smaller one leaves a covariance
matrix without a Cholesky factor where a point was repeated; with the largest, the value says nothing any more."""
FARTHEST = 1e100
"""Largest input accepted. Inputs belong in the unit cube; squared distances of larger ones would overflow."""


@dataclass(frozen=True)
class Domain:
    """One entry per column: 0 for a numeric column in [0, 1], k for a categorical one with codes 0 .. k-1."""

    categories: tuple[int, ...]
    draw: Callable[[Rng, int], Array] | None = field(default=None, compare=False, repr=False)
    """How uniform points are drawn where not every row is a point of the space; None where every one is."""

    def __post_init__(self) -> None:
        if any(count < 0 for count in self.categories):
            raise InvalidInputError(f"categories={self.categories}: expected 0 (numeric) or a number of categories")

    @classmethod
    def cube(cls, dimension: int) -> Domain:
        """The unit cube: every column numeric."""
        return cls((0,) * dimension)

    @property
    def dimension(self) -> int:
        return len(self.categories)

    @cached_property
    def numeric(self) -> NDArray[np.intp]:
        """Indices of the numeric columns."""
        return np.flatnonzero(np.asarray(self.categories) == 0)

    @cached_property
    def categorical(self) -> NDArray[np.intp]:
        """Indices of the categorical columns."""
        return np.flatnonzero(np.asarray(self.categories) > 0)

    def uniform(self, rng: Rng, count: int) -> Array:
        """`count` i.i.d. uniform points, shape (count, d)."""
        return self.rows(rng, count) if self.draw is None else self.draw(rng, count)

    def rows(self, rng: Rng, count: int) -> Array:
        """`count` i.i.d. uniform rows, points of the space or not."""
        points = rng.random((count, self.dimension))
        for column in self.categorical:
            points[:, column] = np.floor(points[:, column] * self.categories[column])
        return points


@dataclass(frozen=True)
class Noise:
    """Noise of each value where that of some was told: the variance of the i-th is known_i + shares_i s2, with theta's
    s2, all in standardised units.

    A value whose noise was told has that noise, and the others have s2. Where all were told, s2 comes on top for all of
    them: what was told may be too little.
    """

    known: Array
    """Variances told; 0 where none was."""
    shares: Array

    @classmethod
    def of(cls, deviations: Array) -> Noise | None:
        """From standard deviations, NaN where none was told; None where none was told at all."""
        told = ~np.isnan(deviations)
        if not told.any():
            return None
        with np.errstate(over="ignore"):
            known = np.where(told, np.clip(deviations**2, LEAST_NOISE, MOST_NOISE), 0.0)
        return cls(known, np.ones(len(told)) if told.all() else np.where(told, 0.0, 1.0))

    @property
    def deviations(self) -> Array:
        """What was told, NaN where nothing was."""
        return np.where(self.known > 0.0, np.sqrt(self.known), np.nan)

    def under(self, s2: float) -> Array:
        """Variance of each value's noise."""
        return np.asarray(self.known + s2 * self.shares)

    def at(self, rows: NDArray[np.intp] | slice) -> Noise:
        return Noise(self.known[rows], self.shares[rows])

    def grown(self, count: int) -> Noise:
        """With so many values more, of noise such as the others have: s2 and, if all were told theirs, the median."""
        expected = float(np.median(self.known)) if (self.known > 0.0).all() else 0.0
        return Noise(
            np.concatenate([self.known, np.full(count, expected)]), np.concatenate([self.shares, np.ones(count)])
        )


@dataclass(frozen=True)
class Data:
    """Inputs and standardised targets: `y_original = location + scale * y`."""

    X: Array
    y: Array
    domain: Domain
    location: float
    scale: float
    noise: Noise | None = None
    """What was told of the noise of single values; None where nothing was."""

    @classmethod
    def of(cls, X: ArrayLike, y: ArrayLike, domain: Domain | None = None, deviations: ArrayLike | None = None) -> Data:
        """Check the shapes and values and standardise `y`; larger y is better everywhere in the engine.

        `deviations` are standard deviations of the noise of each value, in units of y, NaN where it is not known.
        """
        try:
            inputs = np.array(X, dtype=np.float64, order="C", ndmin=2)
            targets = np.array(y, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"X and y must be arrays of numbers: {error}") from error
        if inputs.ndim != 2 or len(inputs) != len(targets):
            raise InvalidInputError(
                f"X has shape {inputs.shape} and y has {len(targets)} values; expected (n, d) and n"
            )
        if domain is None:
            domain = Domain.cube(inputs.shape[1])
        if inputs.shape[1] != domain.dimension:
            raise InvalidInputError(f"X has {inputs.shape[1]} columns, the domain has {domain.dimension}")
        for name, values in (("X", inputs), ("y", targets)):
            bad = np.argwhere(~np.isfinite(values))
            if len(bad):
                raise InvalidInputError(
                    f"{name} has a NaN or infinite entry, the first in row {bad[0][0]}; leave such observations out"
                )
        if inputs.size and np.abs(inputs).max() > FARTHEST:
            raise InvalidInputError(f"X has an entry beyond {FARTHEST}; inputs are expected in the unit cube")
        standardised, location, scale = standardise(targets)
        noise = None if deviations is None else Noise.of(_checked_deviations(deviations, len(targets)) / scale)
        return cls(inputs, standardised, domain, location, scale, noise)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def dimension(self) -> int:
        return self.domain.dimension

    def subset(self, rows: ArrayLike) -> Data:
        """Some of the rows under the same standardisation."""
        index = np.asarray(rows)
        return replace(self, X=self.X[index], y=self.y[index], noise=self.noise and self.noise.at(index))

    def noise_under(self, s2: float) -> Array | float:
        """Variance of the noise: of each value where some was told, else s2, of all."""
        return s2 if self.noise is None else self.noise.under(s2)

    def with_values(self, X: Array, y: Array) -> Data:
        """With rows added whose targets are standardised already, and whose noise is such as the others have."""
        noise = self.noise and self.noise.grown(len(y))
        return replace(self, X=np.concatenate([self.X, X]), y=np.concatenate([self.y, y]), noise=noise)


def _checked_deviations(deviations: ArrayLike, count: int) -> Array:
    try:
        told = np.array(deviations, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"noise must be an array of numbers: {error}") from error
    if len(told) != count:
        raise InvalidInputError(f"noise has {len(told)} entries for {count} values; expected one for each")
    if np.isinf(told).any() or (told < 0.0).any():
        raise InvalidInputError("noise has a negative or infinite entry; expected standard deviations, NaN if unknown")
    return told


def standardise(y: Array) -> tuple[Array, float, float]:
    """(y - location) / scale with mean 0 and standard deviation 1, whatever the magnitude of y.

    The values are first brought to size 1 by a power of two, which is exact: sums and squares overflow near 1e300 and
    vanish near 1e-300. Then the first value is subtracted, exact too for a small signal on a large offset. Targets
    without spread (constant, or apart by rounding only) get scale 1 and become 0, so the model explores.
    """
    if len(y) == 0:
        return y.copy(), 0.0, 1.0
    size, exponent = math.frexp(float(np.abs(y).max()))
    sized = np.ldexp(y, -exponent)
    origin = float(sized[0])
    offset = sized - origin
    spread = float(offset.max() - offset.min())
    if spread <= ROUNDING * size or spread <= math.ldexp(TINY, -exponent):
        location = float(np.clip(origin + offset.mean(), sized.min(), sized.max()))
        return np.zeros_like(y), math.ldexp(location, exponent), 1.0
    relative = offset / spread
    mean, deviation = float(relative.mean()), float(relative.std())
    location, scale = math.ldexp(origin + mean * spread, exponent), math.ldexp(deviation * spread, exponent)
    return (relative - mean) / deviation, location, scale


@dataclass(frozen=True)
class Theta:
    """Hyperparameters in natural units (unit cube, standardised y)."""

    ell: Array
    v: float
    s2: float

    @classmethod
    def of(cls, ell: ArrayLike, v: float, s2: float) -> Theta:
        """Checked construction: everything positive and finite (the noise may be 0)."""
        lengthscales = np.atleast_1d(np.array(ell, dtype=np.float64))
        positive = np.concatenate([lengthscales, [v]])
        if not (np.isfinite(positive).all() and (positive > 0).all() and np.isfinite(s2) and s2 >= 0):
            raise InvalidInputError(f"theta must be positive and finite; got ell={lengthscales}, v={v}, s2={s2}")
        return cls(lengthscales, float(v), float(s2))

    @classmethod
    def from_log(cls, log_theta: Array) -> Theta:
        natural = np.exp(log_theta)
        return cls(natural[:-2], float(natural[-2]), float(natural[-1]))

    def to_log(self) -> Array:
        """(log ell_1 .. log ell_d, log v, log s2), the space all fits work in."""
        with np.errstate(divide="ignore"):  # no noise is -inf here, and the bounds of a fit lift it to their floor
            return np.asarray(np.log(np.concatenate([self.ell, [self.v, self.s2]])))

    def shrunk(self, factor: float) -> Theta:
        """The same with every lengthscale divided by `factor`."""
        return Theta(self.ell / factor, self.v, self.s2)
