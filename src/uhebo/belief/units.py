"""From a value as the user told it to the number a GP models, and back.

    told --sign--> larger is better --standardise--> --warp--> --standardise again--> modelled

Every step is monotone, so order, best point and quantiles carry over exactly. A mean does not when values are warped:
it is integrated over the predictive distribution.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from uhebo.gp.data import Data
from uhebo.gp.warp import Warp
from uhebo.types import Array

LARGEST = float(np.finfo(np.float64).max)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
"""Gauss–Hermite rule: E[g(z)] = Σ w g(node) for a standard normal z, once the weights sum to 1."""
SHARES = WEIGHTS / WEIGHTS.sum()


@dataclass(frozen=True)
class Units:
    """The transformation of one outcome's values."""

    sign: float
    """1 where larger values are better, -1 where smaller ones are."""
    location: float
    scale: float
    warp: Warp = Warp.identity
    warped_location: float = 0.0
    warped_scale: float = 1.0

    @classmethod
    def of(cls, plain: Data, sign: float, warped: bool) -> tuple["Units", Data]:
        """The units of standardised data, and the data in them."""
        warp = Warp.fit(plain.y) if warped else Warp.identity
        if warp is Warp.identity:
            return cls(sign, plain.location, plain.scale), plain
        deviations = None
        if plain.noise is not None:
            # Half the width that y ± deviation has there.
            told = plain.noise.deviations
            deviations = 0.5 * (warp.forward(plain.y + told) - warp.forward(plain.y - told))
        data = Data.of(plain.X, warp.forward(plain.y), plain.domain, deviations)
        return cls(sign, plain.location, plain.scale, warp, data.location, data.scale), data

    @property
    def linear(self) -> bool:
        return self.warp is Warp.identity

    def modelled(self, told: ArrayLike) -> Array:
        """The numbers that the GP sees where the user reads these."""
        plain = (self.sign * np.asarray(told, dtype=np.float64) - self.location) / self.scale
        return plain if self.linear else (self.warp.forward(plain) - self.warped_location) / self.warped_scale

    def told(self, modelled: ArrayLike) -> Array:
        """What the user would read where the GP sees these numbers."""
        plain = np.asarray(modelled, dtype=np.float64)
        if not self.linear:
            plain = self.warp.inverse(self.warped_location + self.warped_scale * plain)
        return self._unscaled(plain)

    def _unscaled(self, plain: Array) -> Array:
        with np.errstate(over="ignore"):  # values near the largest double have predictions beyond it
            return np.clip(self.sign * (self.location + self.scale * plain), -LARGEST, LARGEST)

    def moments(self, mean: Array, deviation: Array) -> tuple[Array, Array]:
        """Mean and standard deviation, in the user's units, of a normal distribution in the GP's."""
        if not self.linear:
            # In standardised units, so that no square overflows.
            nodes = mean[..., None] + deviation[..., None] * NODES
            plain = self.warp.inverse(self.warped_location + self.warped_scale * nodes)
            mean = plain @ SHARES
            deviation = np.sqrt((plain - mean[..., None]) ** 2 @ SHARES)
        with np.errstate(over="ignore"):
            return self._unscaled(mean), np.minimum(self.scale * deviation, LARGEST)
