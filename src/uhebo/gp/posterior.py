"""The posterior of a GP at one theta: predict, differentiate, sample, and grow by new observations."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from uhebo.errors import InvalidInputError
from uhebo.gp.data import Data, Domain, Theta
from uhebo.gp.kernels import MATERN52, Kernel, named_kernel, squared_distance
from uhebo.numerics.linalg import inverse_diagonal, safe_cholesky, solve
from uhebo.types import Array, Rng

PIECE = 500_000
"""Entries of a cross-covariance matrix computed at a time by `mean`: a few megabytes, which stay in the cache."""
FEATURES = 512
"""Number F of random Fourier features of a sampled function."""

Paths = Callable[[Array], Array]
"""Rows (m, d) -> values of each function there, (count, m)."""


@dataclass(frozen=True)
class Posterior:
    """Zero-mean GP conditioned on `data`, in standardised units of y. All variances are of the latent function."""

    data: Data
    theta: Theta
    kernel: Kernel
    factor: Array
    """Lower Cholesky factor L of K + s2 I, or with the noise that was told of single values."""
    whitened: Array
    """L⁻¹ y."""
    alpha: Array
    """(K + s2 I)⁻¹ y."""
    jitter: float

    @classmethod
    def of(cls, data: Data, theta: Theta, kernel: str | Kernel = MATERN52, variances: Array | None = None) -> Posterior:
        """Condition on `data`; jitter is added where the factorisation needs it, and recorded.

        `variances` are noise of each value beside theta's.
        """
        if len(theta.ell) != data.dimension:
            raise InvalidInputError(f"theta has {len(theta.ell)} lengthscales, the data have {data.dimension} columns")
        kernel = named_kernel(kernel)
        covariance = _prior(kernel, theta, data.domain, data.X, data.X)
        noise = data.noise_under(theta.s2)
        covariance.flat[:: len(data) + 1] += noise if variances is None else noise + variances
        factor, jitter = safe_cholesky(covariance)
        whitened = solve(factor, data.y)
        return cls(data, theta, kernel, factor, whitened, solve(factor, whitened, transposed=True), jitter)

    @property
    def smoothed(self) -> Array:
        """Posterior mean at the data, y - noise α: the values without their noise."""
        return np.asarray(self.data.y - self.data.noise_under(self.theta.s2) * self.alpha)

    def cross(self, X: Array) -> Array:
        """Prior covariance between the data and the rows of X, (n, m)."""
        return _prior(self.kernel, self.theta, self.data.domain, self.data.X, X)

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and latent variance at each row of X; the variance is clamped at 0."""
        cross = self.cross(X)
        half = solve(self.factor, cross)
        variance = self.theta.v - np.einsum("ij,ij->j", half, half)
        return self.alpha @ cross, np.maximum(variance, 0.0)

    def mean(self, X: Array) -> Array:
        """Mean alone, in pieces: O(n) per point, for dense grids."""
        pieces = np.array_split(X, max(1, len(X) * len(self.data) // PIECE))
        return np.concatenate([self.alpha @ self.cross(piece) for piece in pieces])

    def predict_with_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """Mean (m,), variance (m,), and their gradients (m, d) in the numeric columns (0 in categorical ones)."""
        theta, domain = self.theta, self.data.domain
        values, slopes = self.kernel.value_and_slope(squared_distance(X, self.data.X, theta.ell, domain))
        cross = theta.v * values
        half = solve(self.factor, cross.T)
        solved = solve(self.factor, half, transposed=True)
        variance = theta.v - np.einsum("ij,ij->j", half, half)
        slopes *= 2.0 * theta.v
        # ∂k(x, X_j)/∂x = 2 v slope (x - X_j)/ell², summed over j with weights α_j, and -2 (K⁻¹k)_j for the variance.
        inverse_squares = np.zeros(domain.dimension)
        inverse_squares[domain.numeric] = theta.ell[domain.numeric] ** -2.0
        gradients = []
        for weights in (slopes * self.alpha, -2.0 * slopes * solved.T):
            total = weights.sum(axis=1, keepdims=True)
            gradients.append((total * X - weights @ self.data.X) * inverse_squares)
        clamped = variance <= 0.0
        gradients[1][clamped] = 0.0
        return cross @ self.alpha, np.maximum(variance, 0.0), gradients[0], gradients[1]

    def covariance(self, X: Array) -> Array:
        """Joint latent posterior covariance of the rows of X."""
        half = solve(self.factor, self.cross(X))
        return np.asarray(_prior(self.kernel, self.theta, self.data.domain, X, X) - half.T @ half)

    def between(self, a: Array, b: Array) -> Array:
        """Latent posterior covariance of the rows of a with those of b."""
        left, right = (solve(self.factor, self.cross(rows)) for rows in (a, b))
        return np.asarray(_prior(self.kernel, self.theta, self.data.domain, a, b) - left.T @ right)

    def sample(self, X: Array, rng: Rng, count: int = 1) -> Array:
        """`count` joint samples of the latent function at the rows of X, (count, m)."""
        mean, _ = self.predict(X)
        covariance = self.covariance(X)
        # The posterior covariance is singular where data were observed without noise; this floor is far below any
        # variance that matters and keeps the factorisation from reporting it.
        covariance.flat[:: len(X) + 1] += 1e-10 * self.theta.v
        factor, _ = safe_cholesky(covariance, scale=self.theta.v)
        return np.asarray(mean + rng.standard_normal((count, len(X))) @ factor.T)

    def leave_one_out(self) -> tuple[Array, Array, Array]:
        """Mean, variance (noise included) and log density of each observation predicted from the others.

        mean_i = y_i - α_i / (K⁻¹)_ii,  variance_i = 1 / (K⁻¹)_ii   (Rasmussen & Williams 2006, eq. 5.12)
        """
        precision = inverse_diagonal(self.factor)
        variance = 1.0 / precision
        residual = self.alpha * variance
        density = -0.5 * (np.log(2 * math.pi * variance) + residual * residual * precision)
        return self.data.y - residual, variance, density

    def grow(self, X: Array, y: Array) -> Posterior:
        """A new posterior with the rows (X, y) added, y already standardised: O(n²) each instead of O(n³).

        L_new = [[L, 0], [Bᵀ, C]]  with  B = L⁻¹ k(X_old, X),  C Cᵀ = k(X, X) + s2 I - Bᵀ B.
        """
        count, old = len(X), len(self.data)
        data = self.data.with_values(X, y)
        block = self.covariance(X)
        noise = data.noise_under(self.theta.s2)
        block.flat[:: count + 1] += (noise if isinstance(noise, float) else noise[old:]) + self.jitter
        corner, extra = safe_cholesky(block, scale=self.theta.v + self.theta.s2)
        below = solve(self.factor, self.cross(X))
        factor = np.zeros((old + count, old + count))
        factor[:old, :old] = self.factor
        factor[old:, :old] = below.T
        factor[old:, old:] = corner
        added = solve(corner, y - below.T @ self.whitened)
        whitened = np.concatenate([self.whitened, added])
        alpha = solve(factor, whitened, transposed=True)
        return Posterior(data, self.theta, self.kernel, factor, whitened, alpha, max(self.jitter, extra))


def _prior(kernel: Kernel, theta: Theta, domain: Domain, a: Array, b: Array) -> Array:
    """Prior covariance between the rows of a and of b, without noise."""
    covariance = kernel.value(squared_distance(a, b, theta.ell, domain))
    covariance *= theta.v
    return covariance


def sample_paths(posterior: Posterior, rng: Rng, count: int) -> Paths:
    """`count` whole functions of the posterior, in standardised units and without noise.

    A prior function by random Fourier features (Rahimi & Recht 2007), corrected by what the data say (Matheron's rule;
    Wilson et al. 2020, "Efficiently sampling functions from Gaussian process posteriors"):

        f(x) = φ(x)ᵀw + k(x, X) (K + s2 I)⁻¹ (y - φ(X)ᵀw - ε),   w ~ N(0, I),  ε ~ N(0, s2 I)
        φ_j(x) = √(2v/F) cos(ω_jᵀ x + b_j)

    ω is Student-t with 2ν degrees of freedom over ell for a Matérn kernel of smoothness ν, normal for the squared
    exponential. A categorical column is one-hot with entries 1/√2: two categories differ by 1, as in the kernel.
    """
    theta, data = posterior.theta, posterior.data
    features = _features(posterior, rng)
    weights = rng.standard_normal((FEATURES, count))
    noise = (np.sqrt(data.noise_under(theta.s2)) * rng.standard_normal((len(data), count)).T).T
    misfit = data.y[:, None] - features(data.X) @ weights - noise
    correction = solve(posterior.factor, solve(posterior.factor, misfit), transposed=True)

    def paths(rows: Array) -> Array:
        return np.asarray((features(rows) @ weights + posterior.cross(rows).T @ correction).T)

    return paths


def _features(posterior: Posterior, rng: Rng) -> Callable[[Array], Array]:
    """φ: rows (m, d) -> (m, FEATURES)."""
    theta, domain = posterior.theta, posterior.data.domain
    width = sum(categories or 1 for categories in domain.categories)
    frequencies = rng.standard_normal((width, FEATURES))
    smoothness = posterior.kernel.smoothness
    if math.isfinite(smoothness):
        frequencies /= np.sqrt(rng.chisquare(2.0 * smoothness, FEATURES) / (2.0 * smoothness))
    phases = rng.uniform(0.0, 2.0 * math.pi, FEATURES)
    amplitude = math.sqrt(2.0 * theta.v / FEATURES)
    return lambda rows: amplitude * np.cos(_embedded(rows, theta.ell, domain) @ frequencies + phases)


def _embedded(rows: Array, ell: Array, domain: Domain) -> Array:
    """Points in scaled units, where the Euclidean distance is that of the kernel."""
    columns = []
    for j, categories in enumerate(domain.categories):
        if categories:
            columns.append((rows[:, j, None] == np.arange(categories)) / (math.sqrt(2.0) * ell[j]))
        else:
            columns.append(rows[:, j, None] / ell[j])
    return np.concatenate(columns, axis=1)
