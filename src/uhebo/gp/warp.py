"""Targets made more Gaussian by the transform of Yeo & Johnson (2000), its parameter by maximum likelihood.

A long tail of bad values makes a stationary GP spend its variance on them; a monotone warp pulls the tail in and leaves
the order, and so the optimum, where it is.
"""

from __future__ import annotations

import math

import numpy as np

from uhebo.gp.data import Data
from uhebo.types import Array

FEWEST = 5
"""With fewer values the parameter is guesswork and nothing is warped."""
GRID = np.linspace(-2.0, 4.0, 25)
"""Of the parameter; 1 leaves the values as they are, and 2 - λ does to negative values what λ does to the others."""


def yeo_johnson(y: Array, parameter: float) -> Array:
    """((y + 1)^λ - 1)/λ for y ≥ 0 and -((1 - y)^(2-λ) - 1)/(2 - λ) for y < 0, logarithms where an exponent vanishes."""
    return np.where(y >= 0.0, _power(np.maximum(y, 0.0), parameter), -_power(np.maximum(-y, 0.0), 2.0 - parameter))


def _power(size: Array, exponent: float) -> Array:
    if abs(exponent) < 1e-8:
        return np.log1p(size)
    return np.asarray(np.expm1(exponent * np.log1p(size)) / exponent)


def log_likelihood(y: Array, parameter: float) -> float:
    """-n/2 log var(y_λ) + (λ - 1) Σ sign(y) log(1 + |y|), the normal likelihood of the transformed values."""
    variance = float(yeo_johnson(y, parameter).var())
    slope = float((np.sign(y) * np.log1p(np.abs(y))).sum())
    return -0.5 * len(y) * math.log(max(variance, 1e-300)) + (parameter - 1.0) * slope


def best_parameter(y: Array) -> float:
    """λ of the largest likelihood: the best of a grid, then the top of the parabola through it and its neighbours."""
    values = np.array([log_likelihood(y, parameter) for parameter in GRID])
    best = int(np.clip(np.argmax(values), 1, len(GRID) - 2))
    left, middle, right = values[best - 1 : best + 2]
    bend = left - 2.0 * middle + right
    shift = 0.5 * (left - right) / bend if bend < 0.0 else 0.0
    return float(GRID[best] + np.clip(shift, -1.0, 1.0) * (GRID[1] - GRID[0]))


def warped(data: Data) -> Data:
    """The same points with warped targets, standardised anew; location and scale are those of the warped values."""
    if len(data) < FEWEST or not data.y.any():
        return data
    return Data.of(data.X, yeo_johnson(data.y, best_parameter(data.y)), data.domain)
