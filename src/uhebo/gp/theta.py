"""theta = (ell_1 .. ell_d, v, s2): lengthscales, signal variance, noise variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from uhebo.errors import InvalidInputError
from uhebo.types import Array


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
