"""The expected improvement of the hypervolume. All objectives are maximised.

The region that a front does not dominate, above a reference point, is cut into disjoint boxes [l, u]
(`uhebo.numerics.front`). A new value y improves the hypervolume by the part of each box below it, and for independent
objectives the expectation is a sum of products (Yang et al. 2019, "Efficient computation of expected hypervolume
improvement", eq. 11):

    EHVI = Σ_k Π_i D_ki,   D_ki = E[(min(Y_i, u_ki) - l_ki)⁺] = EI_i(l_ki) - EI_i(u_ki)

It is exact for any number of objectives; the number of boxes is that of the front plus one for two objectives, about
twice that for three, and grows faster from four on. Everything is computed under the logarithm, as in LogEI, so that it
has a slope where the improvement underflows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, logsumexp

from uhebo.acquire.functions import SMALLEST_DEVIATION, Surface, log_h
from uhebo.gp.posterior import Posterior
from uhebo.types import Array

NARROW = 1e-3
"""Difference of log EI(l) and log EI(u) below which a box is narrow: the difference of both would cancel, and
(u - l) Φ((μ - middle)/σ) is accurate to the square of this."""
LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)


def log_ehvi(means: Array, deviations: Array, lower: Array, upper: Array) -> tuple[Array, Array, Array]:
    """log EHVI at p points, and its derivatives in the means and in the deviations.

    `means` and `deviations` are (m, p), the boxes (k, m); the value is (p,), the derivatives (m, p).
    """
    logs, by_mean, by_deviation = [], [], []
    for mean, deviation, low, high in zip(means, deviations, lower.T, upper.T, strict=True):
        log_part, up, spread = log_partial_improvement(mean, deviation, low[:, None], high[:, None])
        logs.append(log_part)
        by_mean.append(up)
        by_deviation.append(spread)
    terms = np.sum(logs, axis=0)
    total = logsumexp(terms, axis=0)
    shares = np.exp(terms - total)
    return total, np.einsum("kp,mkp->mp", shares, by_mean), np.einsum("kp,mkp->mp", shares, by_deviation)


@dataclass(frozen=True)
class HypervolumeSurface:
    """log EHVI over x under one posterior per objective, and what limits on other outcomes add to it."""

    posteriors: Sequence[Posterior]
    lower: Array
    upper: Array
    weights: tuple[Surface, ...] = ()

    def __call__(self, X: Array) -> Array:
        """Values at the rows of X."""
        means, variances = zip(*(posterior.predict(X) for posterior in self.posteriors), strict=True)
        deviations = np.maximum(np.sqrt(np.array(variances)), SMALLEST_DEVIATION)
        value = log_ehvi(np.array(means), deviations, self.lower, self.upper)[0]
        return sum((weight(X) for weight in self.weights), value)

    def with_gradient(self, X: Array) -> tuple[Array, Array]:
        """Values (p,) and gradients (p, d)."""
        found = [posterior.predict_with_gradient(X) for posterior in self.posteriors]
        means, variances, mean_gradients, variance_gradients = (np.array(part) for part in zip(*found, strict=True))
        deviations = np.maximum(np.sqrt(variances), SMALLEST_DEVIATION)
        value, by_mean, by_deviation = log_ehvi(means, deviations, self.lower, self.upper)
        # dσ = dσ²/(2σ); on the floor σ is constant.
        by_variance = np.where(deviations > SMALLEST_DEVIATION, by_deviation / (2.0 * deviations), 0.0)
        gradient = np.einsum("mp,mpd->pd", by_mean, mean_gradients)
        gradient += np.einsum("mp,mpd->pd", by_variance, variance_gradients)
        for weight in self.weights:
            more, slope = weight.with_gradient(X)
            value, gradient = value + more, gradient + slope
        return value, gradient


def log_partial_improvement(mean: Array, deviation: Array, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """log D = log(EI(low) - EI(high)) with its derivatives in mean and deviation; `high` may be infinite.

    With a = (μ - l)/σ, b = (μ - u)/σ:  ∂D/∂μ = Φ(a) - Φ(b),  ∂D/∂σ = φ(a) - φ(b).
    """
    a, b = (mean - low) / deviation, (mean - high) / deviation
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        log_all, log_beyond = log_h(a)[0], np.where(np.isfinite(b), log_h(np.where(np.isfinite(b), b, 0.0))[0], -np.inf)
        narrow = log_all - log_beyond < NARROW
        wide_log = log_all + _log1mexp(log_beyond - log_all) + np.log(deviation)
        wide_up = np.exp(_log_normal_between(a, b) - wide_log)
        wide_spread = np.exp(_log_density(a) - wide_log) - np.exp(_log_density(b) - wide_log)
        middle = np.where(narrow, (mean - 0.5 * (low + high)) / deviation, 0.0)
        log_below = log_ndtr(middle)
        narrow_log = np.log(np.where(narrow, high - low, 1.0)) + log_below
        hazard = np.exp(_log_density(middle) - log_below) / deviation
    return (
        np.where(narrow, narrow_log, wide_log),
        np.where(narrow, hazard, wide_up),
        np.where(narrow, -middle * hazard, wide_spread),
    )


def _log1mexp(x: Array) -> Array:
    """log(1 - eˣ) for x <= 0."""
    return np.where(x > -math.log(2.0), np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def _log_density(z: Array) -> Array:
    return np.asarray(-0.5 * z * z - LOG_ROOT_2PI)


def _log_normal_between(a: Array, b: Array) -> Array:
    """log(Φ(a) - Φ(b)) for a >= b; by the tails in which it does not cancel."""
    flip = b > 0.0
    larger, smaller = np.where(flip, -b, a), np.where(flip, -a, b)
    top = log_ndtr(larger)
    return np.asarray(top + _log1mexp(log_ndtr(smaller) - top))
