"""Log marginal likelihood with analytic gradient in log theta, for a batch of thetas and for blocks of data.

    L = -½ yᵀ α - ½ log|K| - (n/2) log 2π,     K = v·value(r2) + s2·I,   α = K⁻¹ y          (the paper's appendix)
    ∂L/∂log ell_i = -Σ_jk W_jk v·slope(r2_jk) (Δ_i,jk/ell_i)²,             W = α αᵀ - K⁻¹
    ∂L/∂log s2    = ½ s2 tr W
    ∂L/∂log v     = ½ (yᵀα - n) - ½ s2 tr W            (because tr(W K) = yᵀα - n: no matrix of its own is needed)

Two ways to the same numbers. Up to `BATCH_SIZE` points the cost is Python's overhead, so all thetas go through each
NumPy call together on precomputed squared differences. Above it the cost is memory traffic, so the lower triangle is
worked in row strips that stay in cache and nothing of size n²·d is ever stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.linalg import lapack

from uhebo.gp.domain import Domain
from uhebo.gp.kernels import Kernel, named_kernel, squared_distance
from uhebo.gp.priors import Prior
from uhebo.types import Array

BATCH_SIZE = 64
"""Points up to which all thetas go through each NumPy call together."""
STRIP = 100
"""Rows of the matrix that stay in cache."""


class LogMarginalLikelihood:
    """L and its gradient for a batch of log thetas (R, d + 2); several blocks (X, y) add up (composite likelihood).

    Where a covariance matrix has no Cholesky factor L is -inf with gradient 0, and counted in `failures`.
    """

    def __init__(self, blocks: Sequence[tuple[Array, Array]], kernel: str | Kernel, domain: Domain) -> None:
        kernel = named_kernel(kernel)
        self.evaluations = 0
        self.failures = 0
        self._terms = [
            (_SmallBlock if len(y) <= BATCH_SIZE else _LargeBlock)(np.ascontiguousarray(X), y, kernel, domain)
            for X, y in blocks
        ]

    def __call__(self, log_theta: Array) -> tuple[Array, Array]:
        value = np.zeros(len(log_theta))
        gradient = np.zeros(log_theta.shape)
        for term in self._terms:
            term.add(log_theta, value, gradient)
        self.evaluations += len(log_theta)
        finite = np.isfinite(value) & np.isfinite(gradient).all(axis=1)
        if not finite.all():
            value[~finite] = -np.inf
            gradient[~finite] = 0.0
            self.failures += int((~finite).sum())
        return value, gradient

    def fisher(self, log_theta: Array) -> Array:
        """Expected Hessian of -L, (R, p, p): a first guess of the curvature for a quasi-Newton search.

        ½ tr(K⁻¹ ∂_i K K⁻¹ ∂_j K); O(p n³), so only blocks of at most `BATCH_SIZE` points are counted.
        """
        total = np.zeros((len(log_theta), log_theta.shape[1], log_theta.shape[1]))
        for term in self._terms:
            if isinstance(term, _SmallBlock):
                total += [term.fisher(row) for row in log_theta]
        return np.where(np.isfinite(total), total, 0.0)


class LogPosterior:
    """Log marginal likelihood plus log prior; a failed likelihood stays failed."""

    def __init__(self, likelihood: LogMarginalLikelihood, prior: Prior) -> None:
        self.likelihood = likelihood
        self.prior = prior

    def __call__(self, log_theta: Array) -> tuple[Array, Array]:
        value, gradient = self.likelihood(log_theta)
        if self.prior.is_flat:
            return value, gradient
        log_prior, prior_gradient = self.prior(log_theta)
        prior_gradient[np.isneginf(value)] = 0.0
        return value + log_prior, gradient + prior_gradient


class _SmallBlock:
    """All thetas in one batch on precomputed squared differences (d, n²)."""

    def __init__(self, X: Array, y: Array, kernel: Kernel, domain: Domain) -> None:
        n, d = X.shape
        self.y, self.kernel = y, kernel
        difference = X.T[:, :, None] - X.T[:, None, :]
        for column in domain.categorical:
            difference[column] = difference[column] != 0.0
        self.squared = (difference * difference).reshape(d, n * n)

    def add(self, log_theta: Array, value: Array, gradient: Array) -> None:
        n, rows = len(self.y), len(log_theta)
        d = log_theta.shape[1] - 2
        theta = np.exp(log_theta)
        inverse_squares, signal, noise = theta[:, :d] ** -2.0, theta[:, d], theta[:, d + 1]
        matrices, slopes = self.kernel.value_and_slope(inverse_squares @ self.squared)
        matrices *= signal[:, None]
        matrices[:, :: n + 1] += noise[:, None]
        cube = matrices.reshape(rows, n, n)
        alphas, pivots = np.empty((rows, n)), np.empty((rows, n))
        for row in range(rows):
            if not _factor_solve_invert(cube[row], self.y, alphas[row], pivots[row]):
                value[row] = np.nan
                cube[row] = alphas[row] = 0.0
                pivots[row] = 1.0
        fits = alphas @ self.y
        value -= 0.5 * fits + np.log(pivots).sum(axis=1) + 0.5 * n * math.log(2 * math.pi)
        trace_w = (alphas * alphas).sum(axis=1) - matrices[:, :: n + 1].sum(axis=1)
        # The lower triangle of W∘slope, doubled: pairs (j, k) and (k, j) are equal and the diagonal has Δ = 0.
        weights = alphas[:, :, None] * alphas[:, None, :]
        weights -= 2.0 * cube
        weights = weights.reshape(rows, n * n)
        weights *= slopes
        gradient[:, :d] -= signal[:, None] * inverse_squares * (weights @ self.squared.T)
        noise *= trace_w
        gradient[:, d] += 0.5 * (fits - n - noise)
        gradient[:, d + 1] += 0.5 * noise

    def fisher(self, log_theta: Array) -> Array:
        n, d = len(self.y), len(log_theta) - 2
        inverse_squares, signal, noise = (
            np.exp(-2.0 * log_theta[:d]),
            math.exp(log_theta[d]),
            math.exp(log_theta[d + 1]),
        )
        values, slopes = self.kernel.value_and_slope(inverse_squares @ self.squared)
        derivatives = np.empty((d + 2, n * n))
        np.multiply(self.squared, (-2.0 * signal * inverse_squares)[:, None], out=derivatives[:d])
        derivatives[:d] *= slopes
        derivatives[d] = signal * values
        derivatives[d + 1] = noise * np.eye(n).ravel()
        matrix = (derivatives[d] + derivatives[d + 1]).reshape(n, n)
        if not _factor_solve_invert(matrix, self.y, np.empty(n), np.empty(n)):
            return np.zeros((d + 2, d + 2))
        inverse = np.tril(matrix) + np.tril(matrix, -1).T
        solved = inverse @ derivatives.reshape(-1, n, n)
        crossed = solved.transpose(0, 2, 1).reshape(d + 2, n * n)
        return np.asarray(0.5 * solved.reshape(d + 2, n * n) @ crossed.T)


class _LargeBlock:
    """One theta at a time, lower triangle in row strips."""

    def __init__(self, X: Array, y: Array, kernel: Kernel, domain: Domain) -> None:
        self.X, self.y, self.kernel, self.domain = X, y, kernel, domain
        self.centred = X - X.mean(axis=0)
        self._matrix = np.zeros((len(y), len(y)))
        self._slopes = np.empty((len(y), len(y)))

    def add(self, log_theta: Array, value: Array, gradient: Array) -> None:
        for row in range(len(log_theta)):
            added, slope = self._one(log_theta[row])
            value[row] += added
            gradient[row] += slope

    def _one(self, log_theta: Array) -> tuple[float, Array]:
        n, d = self.X.shape
        ell, signal, noise = np.exp(log_theta[:d]), math.exp(log_theta[d]), math.exp(log_theta[d + 1])
        matrix, slopes = self._matrix, self._slopes
        gradient = np.zeros(d + 2)
        for start in range(0, n, STRIP):
            stop = min(start + STRIP, n)
            r2 = squared_distance(self.X[start:stop], self.X[:stop], ell, self.domain)
            values, slope = self.kernel.value_and_slope(r2)
            np.multiply(values, signal, out=matrix[start:stop, :stop])
            slope[:, start:] *= np.tri(stop - start, k=-1)
            slopes[start:stop, :stop] = slope
        matrix.flat[:: n + 1] += noise
        alpha, pivots = np.empty(n), np.empty(n)
        if not _factor_solve_invert(matrix, self.y, alpha, pivots):
            return math.nan, gradient
        for start in range(0, n, STRIP):
            stop = min(start + STRIP, n)
            weights = alpha[start:stop, None] * alpha[None, :stop]
            weights -= matrix[start:stop, :stop]
            weights *= slopes[start:stop, :stop]
            gradient[:d] += self._weighted_squares(weights, start, stop)
        gradient[:d] *= -2.0 * signal / ell**2
        trace_w = float(alpha @ alpha) - float(matrix.trace())
        fit = float(self.y @ alpha)
        gradient[d] = 0.5 * (fit - n - noise * trace_w)
        gradient[d + 1] = 0.5 * noise * trace_w
        return -0.5 * fit - float(np.log(pivots).sum()) - 0.5 * n * math.log(2 * math.pi), gradient

    def _weighted_squares(self, weights: Array, start: int, stop: int) -> Array:
        """Σ_jk weights_jk Δ²_jk in every column, for rows start..stop against rows 0..stop.

        Numeric columns by (a - b)² = a² + b² - 2ab on centred inputs, which turns it into one matrix product.
        """
        a, b = self.centred[start:stop], self.centred[:stop]
        result = weights.sum(axis=1) @ (a * a) + weights.sum(axis=0) @ (b * b) - 2.0 * np.sum(a * (weights @ b), axis=0)
        for column in self.domain.categorical:
            differs = self.X[start:stop, column, None] != self.X[None, :stop, column]
            result[column] = np.sum(weights, where=differs)
        return np.asarray(result)


def _factor_solve_invert(matrix: Array, y: Array, alpha: Array, pivots: Array) -> bool:
    """Write α and the diagonal of the Cholesky factor, and K⁻¹ over K in the lower triangle; False without a factor."""
    # The transposed view is Fortran-ordered, so LAPACK works in place; clean=1 keeps the other triangle at zero.
    upper = matrix.T
    factor, info = lapack.dpotrf(upper, lower=0, clean=1, overwrite_a=1)
    if info != 0:
        return False
    pivots[:] = factor.diagonal()
    alpha[:] = lapack.dpotrs(factor, y, lower=0)[0]
    return bool(lapack.dpotri(factor, lower=0, overwrite_c=1)[1] == 0)
