"""A frozen, checked, standardised data set: what every fit and every posterior starts from."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from uhebo.errors import InvalidInputError
from uhebo.gp.domain import Domain
from uhebo.types import Array

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""Share of the largest |y| below which a spread is rounding, not signal."""
TINY = 1e-305
"""Spread that could not be multiplied back without leaving the normal range of doubles."""
FARTHEST = 1e100
"""Largest input accepted. Inputs belong in the unit cube; squared distances of larger ones would overflow."""


@dataclass(frozen=True)
class Data:
    """Inputs and standardised targets: `y_original = location + scale * y`."""

    X: Array
    y: Array
    domain: Domain
    location: float
    scale: float

    @classmethod
    def of(cls, X: ArrayLike, y: ArrayLike, domain: Domain | None = None) -> Data:
        """Check the shapes and values and standardise `y`; larger y is better everywhere in the engine."""
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
        return cls(inputs, standardised, domain, location, scale)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def dimension(self) -> int:
        return self.domain.dimension

    def subset(self, rows: ArrayLike) -> Data:
        """Some of the rows under the same standardisation."""
        index = np.asarray(rows)
        return Data(self.X[index], self.y[index], self.domain, self.location, self.scale)


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
