"""Pareto fronts, their hypervolume, and the expected improvement of it. All objectives are maximised.

The region that a front does not dominate, above a reference point, is cut into disjoint boxes [l, u] (`boxes`). A new
value y improves the hypervolume by the part of each box below it, and for independent objectives the expectation is a
sum of products (Yang et al. 2019, "Efficient computation of expected hypervolume improvement", eq. 11):

    EHVI = Σ_k Π_i D_ki,   D_ki = E[(min(Y_i, u_ki) - l_ki)⁺] = EI_i(l_ki) - EI_i(u_ki)

It is exact for any number of objectives; the number of boxes is that of the front plus one for two objectives, about
twice that for three, and grows faster from four on. Everything is computed under the logarithm, as in LogEI, so that it
has a slope where the improvement underflows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp

from uhebo.acquire.functions import SMALLEST_DEVIATION, Surface, log_h
from uhebo.gp.posterior import Posterior
from uhebo.types import Array

NARROW = 1e-3
"""Difference of log EI(l) and log EI(u) below which a box is narrow: the difference of both would cancel, and
(u - l) Φ((μ - middle)/σ) is accurate to the square of this."""
LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)


def non_dominated(Y: Array) -> NDArray[np.bool_]:
    """Which rows no other row dominates (at least as large everywhere and larger somewhere), (n,)."""
    at_least = (Y[:, None, :] >= Y[None, :, :]).all(axis=2)
    larger = (Y[:, None, :] > Y[None, :, :]).any(axis=2)
    return np.asarray(~(at_least & larger).any(axis=0))


def front_above(Y: Array, reference: Array) -> Array:
    """The distinct non-dominated rows that lie above the reference in every objective, (k, m)."""
    above = Y[(reference < Y).all(axis=1)]
    return np.unique(above[non_dominated(above)], axis=0) if len(above) else above


def hypervolume(Y: Array, reference: Array) -> float:
    """Volume between the reference and the front of the rows of Y."""
    front = front_above(Y, reference)
    if not len(front):
        return 0.0
    ideal = front.max(axis=0)
    lower, upper = boxes(front, reference)
    free = np.maximum(np.minimum(upper, ideal) - lower, 0.0).prod(axis=1).sum()
    return float(max((ideal - reference).prod() - free, 0.0))


def boxes(front: Array, reference: Array) -> tuple[Array, Array]:
    """Disjoint boxes whose union is what the front does not dominate above the reference: lower and upper corners, both
    (k, m). Upper corners may be infinite.

    Twice the algorithm of Lacour, Klamroth & Fonseca (2017, "A box decomposition algorithm to compute the hypervolume
    indicator"): the free region is the union of the cones above its corners (the local bounds of the front), and the
    region above these corners is cut into the boxes that belong to their own local bounds.
    """
    corners = -local_upper_bounds(-front, -reference)[0]
    infinity = np.full(front.shape[1], math.inf)
    bounds, defining = local_upper_bounds(corners, infinity)
    lower, upper = bounds.copy(), bounds.copy()
    upper[:, 0] = math.inf
    for j in range(1, front.shape[1]):
        lower[:, j] = defining[:, :j, j].max(axis=1)
    filled = (lower < upper).all(axis=1)
    return lower[filled], upper[filled]


def local_upper_bounds(points: Array, reference: Array) -> tuple[Array, Array]:
    """Corners u of the region {y < reference: no point <= y}, which is the union of all {y < u}: corners (k, m), and
    the points that define each, (k, m, m): the j-th of them has its j-th entry equal to u_j.

    A point z below a corner replaces it by up to m others, u with u_j = z_j, for those j in which z lies above the
    other points that define u (Klamroth, Lacour & Vanderpooten 2015). At first the reference is the only corner.
    """
    m = len(reference)
    bounds = reference[None].astype(np.float64)
    dummies = np.full((m, m), -math.inf)
    dummies[np.arange(m), np.arange(m)] = reference
    defining = dummies[None]
    for z in points:
        cut = (z < bounds).all(axis=1)
        if not cut.any():
            continue
        kept_bounds, kept_defining = [bounds[~cut]], [defining[~cut]]
        for j in range(m):
            others = np.delete(defining[cut], j, axis=1)[:, :, j].max(axis=1)
            valid = z[j] >= others
            new_bounds, new_defining = bounds[cut][valid], defining[cut][valid]
            new_bounds[:, j] = z[j]
            new_defining[:, j] = z
            kept_bounds.append(new_bounds)
            kept_defining.append(new_defining)
        bounds, defining = np.concatenate(kept_bounds), np.concatenate(kept_defining)
    return bounds, defining


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
