"""Log marginal likelihood with analytic gradient in log theta, for a batch of thetas and for blocks of data.

    L = -½ yᵀ α - ½ log|K| - (n/2) log 2π,     K = v·value(r2) + s2·I,   α = K⁻¹ y          (the paper's appendix)
    ∂L/∂log ell_i = -Σ_jk W_jk v·slope(r2_jk) (Δ_i,jk/ell_i)²,             W = α αᵀ - K⁻¹
    ∂L/∂log s2    = ½ s2 tr W
    ∂L/∂log v     = ½ (yᵀα - n) - ½ s2 tr W            (because tr(W K) = yᵀα - n: no matrix of its own is needed)

A row observed k times with the same value (x, y) is one row with noise s2/k: with copies k_1 .. k_n

    L = L(noise s2/k_i) - ½ Σ (k_i - 1) log(2π s2) - ½ Σ log k_i

exactly, because the mean of k copies has the noise s2/k and their spread, 0, the density of k - 1 normal deviations. So
2n rows of which n are distinct cost what n rows cost. In the derivatives s2 tr W becomes s2 Σ W_ii/k_i, and
∂L/∂log s2 loses ½ Σ (k_i - 1).

Where the noise of single values was told (`uhebo.gp.data.Noise`), that of the i-th is ν_i = known_i + shares_i s2
instead of s2. Then ∂L/∂log s2 has s2 shares_i in its place, and ∂L/∂log v loses ½ Σ W_ii ν_i/k_i.

Two ways to the same numbers. Up to `BATCH_SIZE` points the cost is Python's overhead, so all thetas go through each
NumPy call together on precomputed squared differences. Above it the cost is memory traffic, so the lower triangle is
worked in row strips that stay in cache and nothing of size n²·d is ever stored.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from uhebo.gp.data import Domain, Noise
from uhebo.gp.kernels import Kernel, named_kernel, squared_distance
from uhebo.gp.priors import Prior
from uhebo.types import Array

BATCH_SIZE = 64
"""Points up to which all thetas go through each NumPy call together."""
STRIP = 100
"""Rows of the matrix that stay in cache."""


class LogMarginalLikelihood:
    """L and its gradient for a batch of log thetas (R, d + 2); several blocks (X, y) add up (composite likelihood).

    `copies`, one array per block, says how many times each row was observed; without it, once. `noises`, one per block,
    are what was told of the noise of single values. Where a covariance matrix has no Cholesky factor L is -inf with
    gradient 0, and counted in `failures`.
    """

    def __init__(
        self,
        blocks: Sequence[tuple[Array, Array]],
        kernel: str | Kernel,
        domain: Domain,
        copies: Sequence[Array] | None = None,
        noises: Sequence[Noise | None] | None = None,
    ) -> None:
        kernel = named_kernel(kernel)
        self.evaluations = 0
        self.failures = 0
        counts = [np.ones(len(y)) for _, y in blocks] if copies is None else copies
        self._blocks = [
            (_SmallBlock if len(y) <= BATCH_SIZE else _LargeBlock)(
                np.ascontiguousarray(X), y, _Diagonal.of(k, noise), kernel, domain
            )
            for (X, y), k, noise in zip(blocks, counts, noises or [None] * len(blocks), strict=True)
        ]

    def __call__(self, log_theta: Array) -> tuple[Array, Array]:
        value = np.zeros(len(log_theta))
        gradient = np.zeros(log_theta.shape)
        theta = np.exp(log_theta)
        for block in self._blocks:
            n = len(block.y)
            alphas, pivots, inverses, slopes = block.parts(theta)
            fits, noise = alphas @ block.y, block.noise
            half_noise = 0.5 * theta[:, -1] * _weighted_trace(alphas, inverses, noise.shares)
            value -= 0.5 * fits + np.log(pivots).sum(axis=1) + 0.5 * n * math.log(2 * math.pi)
            gradient[:, :-2] += slopes
            gradient[:, -2] += 0.5 * (fits - n) - half_noise
            gradient[:, -1] += half_noise
            if noise.known is not None:
                gradient[:, -2] -= 0.5 * _weighted_trace(alphas, inverses, noise.known)
            if noise.repeats.any():
                each = noise.under(theta[:, -1:]) * noise.copies
                value -= 0.5 * (np.log(2 * math.pi * each) @ noise.repeats + np.log(noise.copies).sum())
                gradient[:, -1] -= 0.5 * theta[:, -1] * ((noise.shares * noise.copies / each) @ noise.repeats)
        self.evaluations += len(log_theta)
        finite = np.isfinite(value) & np.isfinite(gradient).all(axis=1)
        if not finite.all():
            value[~finite] = -np.inf
            gradient[~finite] = 0.0
            self.failures += int((~finite).sum())
        return value, gradient

    def fisher(self, log_theta: Array) -> Array:
        """Expected Hessian of -L, (R, p, p): a first guess of the curvature for a quasi-Newton search.

        ½ tr(K⁻¹ ∂_i K K⁻¹ ∂_j K); O(p n³), so only blocks of at most `BATCH_SIZE` points are counted. What copies
        add to L is linear in log s2, without curvature.
        """
        total = np.zeros((len(log_theta), log_theta.shape[1], log_theta.shape[1]))
        for block in self._blocks:
            if isinstance(block, _SmallBlock):
                total += [block.fisher(row) for row in log_theta]
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


@dataclass(frozen=True)
class _Diagonal:
    """What noise adds to the diagonal of K: known + s2 shares, already divided by the copies of each row."""

    shares: Array
    known: Array | None
    copies: Array

    @classmethod
    def of(cls, copies: Array, noise: Noise | None) -> "_Diagonal":
        if noise is None:
            return cls(1.0 / copies, None, copies)
        return cls(noise.shares / copies, noise.known / copies, copies)

    @property
    def repeats(self) -> Array:
        return self.copies - 1.0

    def under(self, s2: Array | float) -> Array:
        """For a column of s2, (R, n)."""
        return s2 * self.shares if self.known is None else self.known + s2 * self.shares


def _weighted_trace(alphas: Array, inverses: Array, weights: Array) -> Array:
    """Σ W_ii weights_i for each theta, (R,)."""
    return np.asarray((alphas * alphas * weights).sum(axis=1) - (inverses * weights).sum(axis=1))


Parts = tuple[Array, Array, Array, Array]
"""For each theta: α (R, n), the diagonals of the Cholesky factor and of K⁻¹ (R, n), and ∂L/∂log ell (R, d)."""


class _SmallBlock:
    """All thetas in one batch on precomputed squared differences (d, n²)."""

    def __init__(self, X: Array, y: Array, noise: _Diagonal, kernel: Kernel, domain: Domain) -> None:
        n, d = X.shape
        self.y, self.noise, self.kernel = y, noise, kernel
        difference = X.T[:, :, None] - X.T[:, None, :]
        for column in domain.categorical:
            difference[column] = difference[column] != 0.0
        self.squared = (difference * difference).reshape(d, n * n)

    def parts(self, theta: Array) -> Parts:
        n, rows = len(self.y), len(theta)
        inverse_squares, signal = theta[:, :-2] ** -2.0, theta[:, -2, None]
        matrices, slopes = self.kernel.value_and_slope(inverse_squares @ self.squared)
        matrices *= signal
        matrices[:, :: n + 1] += self.noise.under(theta[:, -1, None])
        cube = matrices.reshape(rows, n, n)
        alphas, pivots = np.empty((rows, n)), np.empty((rows, n))
        for row in range(rows):
            alphas[row], pivots[row] = _factor_solve_invert(cube[row], self.y)
        # The lower triangle of W∘slope, doubled: pairs (j, k) and (k, j) are equal and the diagonal has Δ = 0.
        weights = alphas[:, :, None] * alphas[:, None, :]
        weights -= 2.0 * cube
        weights = weights.reshape(rows, n * n)
        weights *= slopes
        by_ell = -signal * inverse_squares * (weights @ self.squared.T)
        return alphas, pivots, matrices[:, :: n + 1], by_ell

    def fisher(self, log_theta: Array) -> Array:
        n, p = len(self.y), len(log_theta)
        inverse_squares, (signal, noise) = np.exp(-2.0 * log_theta[:-2]), np.exp(log_theta[-2:])
        values, slopes = self.kernel.value_and_slope(inverse_squares @ self.squared)
        derivatives = np.empty((p, n * n))
        np.multiply(self.squared, (-2.0 * signal * inverse_squares)[:, None], out=derivatives[:-2])
        derivatives[:-2] *= slopes
        derivatives[-2] = signal * values
        derivatives[-1] = noise * np.diag(self.noise.shares).ravel()
        matrix = (derivatives[-2] + derivatives[-1]).reshape(n, n)
        if self.noise.known is not None:
            matrix.flat[:: n + 1] += self.noise.known
        _factor_solve_invert(matrix, self.y)
        inverse = np.tril(matrix) + np.tril(matrix, -1).T
        solved = inverse @ derivatives.reshape(p, n, n)
        crossed = solved.transpose(0, 2, 1).reshape(p, n * n)
        return np.asarray(0.5 * solved.reshape(p, n * n) @ crossed.T)


class _LargeBlock:
    """One theta at a time, lower triangle in row strips."""

    def __init__(self, X: Array, y: Array, noise: _Diagonal, kernel: Kernel, domain: Domain) -> None:
        self.X, self.y, self.noise, self.kernel, self.domain = X, y, noise, kernel, domain
        self.centred = X - X.mean(axis=0)
        self._matrix = np.zeros((len(y), len(y)))
        self._slopes = np.empty((len(y), len(y)))
        self._strips = [(start, min(start + STRIP, len(y))) for start in range(0, len(y), STRIP)]

    def parts(self, theta: Array) -> Parts:
        alphas, pivots, inverses, by_ell = zip(*map(self._one, theta), strict=True)
        return np.array(alphas), np.array(pivots), np.array(inverses), np.array(by_ell)

    def _one(self, theta: Array) -> tuple[Array, Array, Array, Array]:
        ell, signal, noise = theta[:-2], theta[-2], theta[-1]
        matrix, slopes = self._matrix, self._slopes
        for start, stop in self._strips:
            r2 = squared_distance(self.X[start:stop], self.X[:stop], ell, self.domain)
            values, slope = self.kernel.value_and_slope(r2)
            np.multiply(values, signal, out=matrix[start:stop, :stop])
            slope[:, start:] *= np.tri(stop - start, k=-1)
            slopes[start:stop, :stop] = slope
        matrix.flat[:: len(matrix) + 1] += self.noise.under(noise)
        alpha, pivots = _factor_solve_invert(matrix, self.y)
        by_ell = np.zeros(len(ell))
        for start, stop in self._strips:
            weights = alpha[start:stop, None] * alpha[None, :stop]
            weights -= matrix[start:stop, :stop]
            weights *= slopes[start:stop, :stop]
            by_ell += self._weighted_squares(weights, start, stop)
        return alpha, pivots, matrix.diagonal().copy(), -2.0 * signal / ell**2 * by_ell

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


def _factor_solve_invert(matrix: Array, y: Array) -> tuple[Array, Array]:
    """α and the diagonal of the Cholesky factor, with K⁻¹ written over K in the lower triangle.

    Without a factor α and K⁻¹ are 0 and the diagonal is NaN.
    """
    # The transposed view is Fortran-ordered, so LAPACK works in place; clean=1 keeps the other triangle at zero.
    factor, info = lapack.dpotrf(matrix.T, lower=0, clean=1, overwrite_a=1)
    if info == 0:
        pivots, alpha = factor.diagonal().copy(), lapack.dpotrs(factor, y, lower=0)[0]
        if lapack.dpotri(factor, lower=0, overwrite_c=1)[1] == 0:
            return alpha, pivots
    matrix[:] = 0.0
    return np.zeros_like(y), np.full_like(y, np.nan)
