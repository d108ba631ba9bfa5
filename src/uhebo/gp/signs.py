"""A GP of which signs alone were seen, by expectation propagation.

A latent h ~ GP(mean, k + s2) is above 0 where the sign is 1 and below 0 where it is -1. Given the signs it is not
normal; expectation propagation (Minka 2001; Rasmussen & Williams 2006, section 3.6) puts one normal "site" in place of
each sign, a value with a variance of its own, such that mean and variance at every point are those under all other
sites and the sign itself. With sites in place of signs everything is a GP again:

    Posterior.of(Data(X, values, domain, mean, 1), theta, kernel, variances)

With cavity mean m and variance c (all other sites, without the i-th), z = sign (mean + m)/√c and q = φ(z)/Φ(z):

    P(sign | the others) = Φ(z),   slope β = sign q/√c,   curvature γ = q (z + q)/c
    precision of the site τ = γ/(1 - γ c),   its value m + β/γ

    log evidence = Σ [log Φ(z) + ½ log(1 + τ c) + ½ τ (m - value)²/(1 + τ c)]
                   - ½ log |I + √τ K √τ| - ½ valueᵀ C⁻¹ value
    its gradient = ½ tr((C⁻¹ value valueᵀ C⁻¹ - C⁻¹) ∂K),   K = k + s2 I,  C = K + 1/τ

(their equations 3.73 and 5.27).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, log_ndtr

from uhebo.gp.data import Domain
from uhebo.gp.kernels import Kernel, squared_distance
from uhebo.numerics.bfgs import BatchFunction
from uhebo.numerics.linalg import safe_cholesky, solve
from uhebo.types import Array

SWEEPS = 60
DAMPING = 0.7
"""Share of the way to its new parameters that each site goes: all go at once, and without it they may overshoot."""
SETTLED = 1e-4
"""Nats by which the evidence changes in a sweep that is the last one."""
PRECISIONS = (1e-10, 1e12)
"""Smallest and largest precision of a site."""


@dataclass(frozen=True)
class Sites:
    """What stands in place of the signs."""

    values: Array
    """Values less the mean, (n,)."""
    variances: Array
    log_evidence: float


def inverse_mills(z: Array) -> Array:
    """φ(z)/Φ(z), without cancellation."""
    return np.asarray(math.sqrt(2.0 / math.pi) / erfcx(-z / math.sqrt(2.0)))


def sites(covariance: Array, signs: Array, mean: float) -> Sites:
    """The sites of signs 1 and -1 under a prior covariance, noise included."""
    diagonal = np.diagonal(covariance)
    precision = 1.0 / diagonal
    shift = precision * (signs * np.sqrt(diagonal) - mean)
    evidence = -math.inf
    for _ in range(SWEEPS):
        root, before = np.sqrt(precision), evidence
        scaled = root[:, None] * covariance
        factor, _ = safe_cholesky(scaled * root + np.eye(len(signs)))
        half = solve(factor, scaled)
        variance = np.maximum(diagonal - np.einsum("ij,ij->j", half, half), 1e-14)
        centre = covariance @ shift - half.T @ (half @ shift)
        cavity = 1.0 / np.maximum(1.0 / variance - precision, 1e-12)
        without = (centre / variance - shift) * cavity
        z = signs * (mean + without) / np.sqrt(cavity)
        q = inverse_mills(z)
        misfit = precision * (without - shift / precision) ** 2 / (1.0 + precision * cavity)
        own = log_ndtr(z) + 0.5 * np.log1p(precision * cavity) + 0.5 * misfit
        whitened = solve(factor, shift / root)
        evidence = float(own.sum() - np.log(np.diagonal(factor)).sum() - 0.5 * whitened @ whitened)
        if abs(evidence - before) < SETTLED:
            break
        slope, curvature = signs * q / np.sqrt(cavity), q * (z + q) / cavity
        rest = np.maximum(1.0 - curvature * cavity, 1e-10)
        precision = precision + DAMPING * (np.clip(curvature / rest, *PRECISIONS) - precision)
        shift = shift + DAMPING * ((slope + without * curvature) / rest - shift)
    return Sites(shift / precision, 1.0 / precision, evidence)


def sign_evidence(X: Array, signs: Array, mean: float, domain: Domain, kernel: Kernel) -> BatchFunction:
    """Log evidence of the signs and its gradient, at rows (log lengthscales, log s2); the signal variance is 1.

    (Signs know no unit: only the ratio of signal and noise counts.)
    """
    columns = [(X[:, [j]], Domain((count,))) for j, count in enumerate(domain.categories)]
    differences = np.array([squared_distance(x, x, np.ones(1), alone) for x, alone in columns])

    def evidence(log_theta: Array) -> tuple[Array, Array]:
        values, gradients = zip(*map(one, log_theta), strict=True)
        return np.array(values), np.array(gradients)

    def one(log_theta: Array) -> tuple[float, Array]:
        inverse, s2 = np.exp(-2.0 * log_theta[:-1]), math.exp(log_theta[-1])
        covariance, slopes = kernel.value_and_slope(np.tensordot(inverse, differences, 1))
        covariance.flat[:: len(signs) + 1] += s2
        found = sites(covariance, signs, mean)
        covariance.flat[:: len(signs) + 1] += found.variances
        factor, _ = safe_cholesky(covariance)
        inverted = solve(factor, np.eye(len(signs)))
        alpha = inverted.T @ (inverted @ found.values)
        weights = np.outer(alpha, alpha) - inverted.T @ inverted
        by_ell = -inverse * np.einsum("ij,kij->k", weights * slopes, differences)
        return found.log_evidence, np.append(by_ell, 0.5 * s2 * np.trace(weights))

    return evidence
