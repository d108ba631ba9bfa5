"""A posterior seen through warped inputs and a linear trend, for candidates of the default.

    f(x) = g(w(x)) + β·(x - ½),   w_k(x) = 1 - (1 - x_k^a_k)^b_k

g is a GP. a and b (Kumaraswamy's distribution function; Snoek et al. 2014) are climbed to under a log-normal prior, in
turn with theta; β is the slope of a ridge regression. Categorical columns stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from uhebo.estimate import Fit
from uhebo.gp.data import Data, Domain, Theta
from uhebo.gp.kernels import Kernel, squared_distance
from uhebo.gp.posterior import Posterior
from uhebo.methods import Step
from uhebo.numerics.bfgs import minimise
from uhebo.types import Array

EDGE = 1e-6
"""How near to 0 and 1 inputs count: powers below 1 have no slope there."""
BEND, FARTHEST = 0.75, 1.5
"""Standard deviation of log a and log b, and the most they may be away from 0."""
TURNS, ROUNDS = 2, 20
"""Times that the warp and theta are fitted in turn, and rounds of a climb of the warp."""
RIDGE = 1.0
"""Noise variance over that of slopes, in standardised units."""


@dataclass(frozen=True)
class Lens:
    """Exponents of the warp, (d,) each, and slopes of the trend, (d,)."""

    a: Array
    b: Array
    slopes: Array

    @classmethod
    def clear(cls, dimension: int) -> Lens:
        """One that changes nothing."""
        return cls(np.ones(dimension), np.ones(dimension), np.zeros(dimension))

    def inputs(self, X: Array) -> Array:
        """w(x); columns whose exponents are 1 are as they were."""
        bent = (self.a != 1.0) | (self.b != 1.0)
        x = np.clip(X, EDGE, 1.0 - EDGE)
        return np.where(bent, 1.0 - (1.0 - x**self.a) ** self.b, X)

    def stretch(self, X: Array) -> Array:
        """∂w/∂x."""
        bent = (self.a != 1.0) | (self.b != 1.0)
        x = np.clip(X, EDGE, 1.0 - EDGE)
        return np.where(bent, self.a * self.b * x ** (self.a - 1.0) * (1.0 - x**self.a) ** (self.b - 1.0), 1.0)

    def trend(self, X: Array) -> Array:
        return np.asarray((X - 0.5) @ self.slopes)


@dataclass(frozen=True)
class Through(Posterior):
    """A posterior in the user's inputs, of what `inner` knows in warped ones and less the trend."""

    inner: Posterior = field(kw_only=True)
    lens: Lens = field(kw_only=True)

    @classmethod
    def seen(cls, data: Data, inner: Posterior, lens: Lens) -> Through:
        i = inner
        return cls(data, i.theta, i.kernel, i.factor, i.whitened, i.alpha, i.jitter, inner=inner, lens=lens)

    def cross(self, X: Array) -> Array:
        return self.inner.cross(self.lens.inputs(X))

    def predict(self, X: Array) -> tuple[Array, Array]:
        mean, variance = self.inner.predict(self.lens.inputs(X))
        return mean + self.lens.trend(X), variance

    def mean(self, X: Array) -> Array:
        return self.inner.mean(self.lens.inputs(X)) + self.lens.trend(X)

    def predict_with_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        mean, variance, of_mean, of_variance = self.inner.predict_with_gradient(self.lens.inputs(X))
        stretch = self.lens.stretch(X)
        return mean + self.lens.trend(X), variance, of_mean * stretch + self.lens.slopes, of_variance * stretch

    def covariance(self, X: Array) -> Array:
        return self.inner.covariance(self.lens.inputs(X))

    def grow(self, X: Array, y: Array) -> Posterior:
        inner = self.inner.grow(self.lens.inputs(X), y - self.lens.trend(X))
        return Through.seen(self.data.with_values(X, y), inner, self.lens)


@dataclass(frozen=True)
class LensFit(Fit):
    """A fit whose posteriors are seen through a lens."""

    lens: Lens = field(kw_only=True)

    @cached_property
    def posteriors(self) -> tuple[Posterior, ...]:
        data = through(self.data, self.lens)
        inner = (Posterior.of(data, theta, self.kernel, self.variances) for theta in self.thetas)
        return tuple(Through.seen(self.data, posterior, self.lens) for posterior in inner)


def through(data: Data, lens: Lens) -> Data:
    """The data that the GP behind a lens is conditioned on."""
    return replace(data, X=lens.inputs(data.X), y=data.y - lens.trend(data.X))


def with_lens(fit: Fit, lens: Lens, data: Data, thetas: tuple[Theta, ...]) -> LensFit:
    kept = {name: getattr(fit, name) for name in ("estimator", "prior", "kernel", "converged", "fallback", "variances")}
    return LensFit(**kept, data=data, thetas=thetas, lens=lens)


def warp_loss(data: Data, theta: Theta, kernel: Kernel, exponents: Array) -> tuple[Array, Array]:
    """Negative log posterior of log a and log b, (m, 2 numeric columns), and its gradient; theta stays.

    ∂L/∂w_ik = Σ_j W_ij v slope_ij 2 (w_ik - w_jk)/ell_k²,  W = α αᵀ - K⁻¹;  ∂w/∂a = b (1 - x^a)^(b-1) x^a log x,
    ∂w/∂b = -(1 - x^a)^b log(1 - x^a).
    """
    numeric = data.domain.numeric
    x, ell = np.clip(data.X[:, numeric], EDGE, 1.0 - EDGE), theta.ell[numeric]
    values, gradients = [], []
    for row in exponents:
        a, b = np.exp(row.reshape(2, -1))
        power, X = x**a, data.X.copy()
        rest = 1.0 - power
        X[:, numeric] = w = 1.0 - rest**b
        k, slope = kernel.value_and_slope(squared_distance(X, X, theta.ell, data.domain))
        covariance = theta.v * k
        covariance.flat[:: len(data) + 1] += np.maximum(data.noise_under(theta.s2), 1e-9)
        factor = cho_factor(covariance, lower=True)
        alpha = cho_solve(factor, data.y)
        weights = (np.outer(alpha, alpha) - cho_solve(factor, np.eye(len(data)))) * theta.v * slope
        by_w = 2.0 * (weights.sum(axis=1)[:, None] * w - weights @ w) / ell**2
        by_a = (by_w * b * rest ** (b - 1.0) * power * np.log(x)).sum(axis=0) * a
        by_b = (by_w * -(rest**b) * np.log(rest)).sum(axis=0) * b
        loss = 0.5 * data.y @ alpha + np.log(np.diag(factor[0])).sum() + 0.5 * (row**2).sum() / BEND**2
        values.append(float(loss))
        gradients.append(row / BEND**2 - np.concatenate([by_a, by_b]))
    return np.array(values), np.array(gradients)


def slopes_of(data: Data) -> Array:
    """Ridge regression of the values on the numeric columns."""
    numeric = data.domain.numeric
    Z = data.X[:, numeric] - 0.5
    found = np.zeros(data.dimension)
    found[numeric] = np.linalg.solve(Z.T @ Z + RIDGE * np.eye(len(numeric)), Z.T @ data.y)
    return found


class LinearTerm(Step):
    """A step whose MAP model has a linear trend beside the GP."""

    def fit(self, estimator: str) -> Fit:
        fit = super().fit(estimator)
        if estimator != "map" or fit.fallback is not None:
            return fit
        lens = replace(Lens.clear(fit.data.dimension), slopes=slopes_of(fit.data))
        return with_lens(fit, lens, fit.data, refitted(self, fit, through(fit.data, lens), fit.theta))


class WarpedInputs(Step):
    """A step whose MAP model has warped inputs."""

    def fit(self, estimator: str) -> Fit:
        fit = super().fit(estimator)
        domain: Domain = fit.data.domain
        if estimator != "map" or fit.fallback is not None or not len(domain.numeric):
            return fit
        lens, thetas = Lens.clear(domain.dimension), fit.thetas
        log_exponents = np.zeros((1, 2 * len(domain.numeric)))
        for _ in range(TURNS):
            theta = thetas[0]
            log_exponents = minimise(
                lambda rows, theta=theta: warp_loss(fit.data, theta, fit.kernel, rows),  # type: ignore[misc]
                log_exponents,
                np.full(log_exponents.shape[1], -FARTHEST),
                np.full(log_exponents.shape[1], FARTHEST),
                max_rounds=ROUNDS,
                value_tolerance=1e-3,
            ).x
            a, b = lens.a.copy(), lens.b.copy()
            a[domain.numeric], b[domain.numeric] = np.exp(log_exponents[0].reshape(2, -1))
            lens = replace(lens, a=a, b=b)
            thetas = refitted(self, fit, through(fit.data, lens), theta)
        return with_lens(fit, lens, fit.data, thetas)


def refitted(step: Step, fit: Fit, data: Data, warm: Theta) -> tuple[Theta, ...]:
    """The MAP theta of other data than those of a fit, from its theta on."""
    from uhebo.estimate.fit import map_estimate

    prior = step.model_used.prior_for(data.dimension)
    found = map_estimate(data, kernel=fit.kernel, prior=prior, rng=step.rng("fit"), warm=warm, starts=0, tolerance=3e-2)
    return found.thetas
