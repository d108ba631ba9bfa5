"""A frozen, checked, standardised data set: what every fit and every posterior starts from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from uhebo.errors import InvalidInputError
from uhebo.gp.domain import Array, Domain

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""A spread below this share of the largest |y| is rounding, not signal."""
TINY = 1e-290
"""A spread below this cannot be divided by without leaving the normal floating-point range."""


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
        inputs = np.array(X, dtype=np.float64, order="C", ndmin=2)
        targets = np.array(y, dtype=np.float64).reshape(-1)
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

    Neither sums nor squares of the raw values are formed: they overflow near 1e300. The first value is
    subtracted before anything else, which is exact for a small signal on a large offset. Targets without spread
    (constant, or apart by rounding only) get scale 1, so they stay where they are and the model explores.
    """
    if len(y) == 0:
        return y.copy(), 0.0, 1.0
    size = float(np.abs(y).max())
    # Powers of two, so that both divisions are exact.
    shrink = 2.0 ** max(0, int(np.ceil(np.log2(size))) - 1000) if size > 1.0 else 1.0
    origin = float(y[0]) / shrink
    offset = y / shrink - origin
    spread = float(offset.max() - offset.min())
    if spread <= max(ROUNDING * size / shrink, TINY):
        location = float(np.clip(origin + offset.mean(), (y / shrink).min(), (y / shrink).max())) * shrink
        return np.zeros_like(y), location, 1.0
    relative = offset / spread
    mean, deviation = float(relative.mean()), float(relative.std())
    return (relative - mean) / deviation, (origin + mean * spread) * shrink, deviation * spread * shrink
