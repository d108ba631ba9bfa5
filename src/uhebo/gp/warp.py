"""Targets made more Gaussian by the transform of Yeo & Johnson (2000), its parameter by maximum likelihood.

A long tail of bad values makes a stationary GP spend its variance on them; a monotone warp pulls the tail in and leaves
the order, and so the optimum, where it is.

By hand rather than `scipy.stats.yeojohnson`: importing scipy.stats takes several times as long as importing all of
uhebo, and its search for the parameter nine times as long as this one.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import boxcox1p

from uhebo.types import Array

FEWEST_VALUES = 5
"""Values below which the parameter would be guesswork and nothing is warped."""
PARAMETERS = np.linspace(-2.0, 4.0, 25)
"""Parameters tried; 1 leaves the values as they are, and 2 - λ does to negative values what λ does to the others."""


@dataclass(frozen=True)
class Warp:
    """A monotone bijection of the real line: Yeo & Johnson's transform on [low, high], its tangents beyond.

    The transform alone has a finite limit for λ < 0 or λ > 2, beyond which it has no inverse. A tangent goes on to
    infinity, so that any prediction in warped units has a value in the units of the targets.
    """

    parameter: float
    low: float
    high: float
    identity: ClassVar["Warp"]

    @classmethod
    def fit(cls, y: Array) -> "Warp":
        """The warp of the largest likelihood for these standardised targets; the identity where there is no choice."""
        if len(y) < FEWEST_VALUES or not y.any():
            return cls.identity
        return cls(best_parameter(y), float(y.min()), float(y.max()))

    def forward(self, y: Array) -> Array:
        """Targets in warped units."""
        inner = np.clip(y, self.low, self.high)
        return yeo_johnson(inner, self.parameter) + _slope(inner, self.parameter) * (y - inner)

    def inverse(self, w: Array) -> Array:
        """Targets in their own units."""
        low, high = yeo_johnson(np.array([self.low, self.high]), self.parameter)
        inner = np.clip(w, low, high)
        # Rounding may leave the range near the transform's limit.
        y = np.clip(inverse_yeo_johnson(inner, self.parameter), self.low, self.high)
        return np.asarray(y + (w - inner) / _slope(y, self.parameter))

    def slope(self, y: Array) -> Array:
        """Derivative of `forward`: a density of warped targets times this is one of the targets."""
        return _slope(np.clip(y, self.low, self.high), self.parameter)


Warp.identity = Warp(1.0, 0.0, 0.0)


def yeo_johnson(y: Array, parameter: float) -> Array:
    """((y + 1)^λ - 1)/λ for y ≥ 0 and -((1 - y)^(2-λ) - 1)/(2 - λ) for y < 0, logarithms where an exponent vanishes."""
    size = np.abs(y)
    return np.asarray(np.where(y >= 0.0, boxcox1p(size, parameter), -boxcox1p(size, 2.0 - parameter)))


def inverse_yeo_johnson(w: Array, parameter: float) -> Array:
    """(λ w + 1)^(1/λ) - 1 for w ≥ 0 and 1 - (1 - (2 - λ) w)^(1/(2-λ)) for w < 0; infinite beyond the limits."""
    return np.where(w >= 0.0, _root(np.abs(w), parameter), -_root(np.abs(w), 2.0 - parameter))


def _root(size: Array, exponent: float) -> Array:
    """Inverse of `boxcox1p`; SciPy's own is wrong for exponents below 1e-154."""
    if abs(exponent) < 1e-8:
        return np.expm1(size)
    with np.errstate(divide="ignore"):
        return np.asarray(np.expm1(np.log1p(np.maximum(exponent * size, -1.0)) / exponent))


def _slope(y: Array, parameter: float) -> Array:
    """d yeo_johnson / dy = (1 + |y|)^(±(λ - 1)), + for y ≥ 0."""
    return np.asarray(np.exp((parameter - 1.0) * np.sign(y) * np.log1p(np.abs(y))))


def log_likelihood(y: Array, parameter: float) -> float:
    """-n/2 log var(y_λ) + (λ - 1) Σ sign(y) log(1 + |y|), the normal likelihood of the transformed values."""
    variance = float(yeo_johnson(y, parameter).var())
    log_slope = float((np.sign(y) * np.log1p(np.abs(y))).sum())
    return -0.5 * len(y) * math.log(max(variance, 1e-300)) + (parameter - 1.0) * log_slope


def best_parameter(y: Array) -> float:
    """λ of the largest likelihood: the best of a grid, then the top of the parabola through it and its neighbours."""
    values = np.array([log_likelihood(y, parameter) for parameter in PARAMETERS])
    best = int(np.clip(np.argmax(values), 1, len(PARAMETERS) - 2))
    left, middle, right = values[best - 1 : best + 2]
    curvature = left - 2.0 * middle + right
    shift = 0.5 * (left - right) / curvature if curvature < 0.0 else 0.0
    return float(PARAMETERS[best] + np.clip(shift, -1.0, 1.0) * (PARAMETERS[1] - PARAMETERS[0]))
