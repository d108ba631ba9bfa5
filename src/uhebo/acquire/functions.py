"""Acquisition functions: what a posterior mean and deviation are worth, with derivatives in both.

The scalar maths are pure functions of (mean, deviation). `Surface` applies one of them to one posterior or averages it
over several (HMC), and turns the derivatives into gradients in x.

    ucb      μ + β σ                                    (σ of the latent function)
    log-ei   log E[max(f - best, 0)] = log σ + log h(u),  h(u) = φ(u) + u Φ(u),  u = (μ - best)/σ
    log-pi   log P(f > best) = log Φ(u)

A limit on another outcome (`uhebo.acquire.limits`) adds the log of the chance that it is kept.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np
from scipy.special import erfcx, log_ndtr, logsumexp

from uhebo.checks import choice
from uhebo.errors import InvalidInputError
from uhebo.gp.posterior import Posterior
from uhebo.gp.signs import inverse_mills
from uhebo.types import Array

AcquisitionName = Literal["ucb", "log-ei", "pi", "thompson"]
ACQUISITIONS: tuple[AcquisitionName, ...] = get_args(AcquisitionName)
PREDICTIVE_UCB = "ucb-predictive"
"""An acquisition for methods that are defined with it: another reading of the paper, not an option of the sampler."""
AGAINST_THE_BEST = ("log-ei", "pi")
"""Acquisitions that measure against the best value so far."""
SMALLEST_DEVIATION = 1e-9
"""Floor of deviations (y is standardised): a noiseless data point is then a finite, very bad choice."""
CAUTION, STEEPNESS = 3.0, 100.0
"""Exponent of the chance of success, and of its part below a fair one."""
ROOT_2PI = math.sqrt(2.0 * math.pi)

Scalar = Callable[[Array, Array], tuple[Array, Array, Array]]
"""(mean, deviation) -> value, ∂value/∂mean, ∂value/∂deviation."""


def check_acquisition(name: str) -> str:
    """`name` if there is such an acquisition function, else a typed error."""
    return choice("acquisition", name, ACQUISITIONS)


def ucb(beta: float) -> Scalar:
    """μ + β σ."""

    def value(mean: Array, deviation: Array) -> tuple[Array, Array, Array]:
        return mean + beta * deviation, np.ones_like(mean), np.full_like(mean, beta)

    return value


def predictive_ucb(beta: float, noise: float) -> Scalar:
    """μ + β √(σ² + s2): the deviation of an observation, as GPy predicts it, in place of the latent function's."""

    def value(mean: Array, deviation: Array) -> tuple[Array, Array, Array]:
        whole = np.sqrt(deviation * deviation + noise)
        return mean + beta * whole, np.ones_like(mean), beta * deviation / whole

    return value


def log_h(u: Array) -> tuple[Array, Array, Array]:
    """log h(u), Φ(u)/h(u) and φ(u)/h(u) without cancellation (Ament et al. 2023, with erfcx for the left tail).

    Left of -1 everything is taken relative to φ:  Φ/φ = √(π/2) erfcx(-u/√2),  h/φ = 1 + u Φ/φ. The last sum cancels
    down to 1/u², which double precision resolves to about u = -1e5; beyond, h/φ = 1/u² to full accuracy.
    """
    left = u < -1.0
    # Both branches are evaluated everywhere on arguments made harmless for them.
    right_u = np.where(left, 0.0, u)
    density = np.exp(-0.5 * right_u * right_u) / ROOT_2PI
    distribution = np.exp(log_ndtr(right_u))
    h = density + right_u * distribution
    left_u = np.where(left, u, -1.0)
    mills = math.sqrt(math.pi / 2.0) * erfcx(-left_u / math.sqrt(2.0))
    ratio = np.where(left_u > -1e5, 1.0 + left_u * mills, left_u**-2.0)
    log_left = -0.5 * left_u * left_u - math.log(ROOT_2PI) + np.log(ratio)
    return (
        np.where(left, log_left, np.log(h)),
        np.where(left, mills / ratio, distribution / h),
        np.where(left, 1.0 / ratio, density / h),
    )


def log_ei(best: float) -> Scalar:
    """log expected improvement over `best`; ∂/∂μ = Φ/(σ h), ∂/∂σ = φ/(σ h)."""

    def value(mean: Array, deviation: Array) -> tuple[Array, Array, Array]:
        log_value, up, spread = log_h((mean - best) / deviation)
        return log_value + np.log(deviation), up / deviation, spread / deviation

    return value


def log_pi(best: float) -> Scalar:
    """log probability of improvement over `best`; with q = φ/Φ: ∂/∂μ = q/σ, ∂/∂σ = -u q/σ."""

    def value(mean: Array, deviation: Array) -> tuple[Array, Array, Array]:
        u = (mean - best) / deviation
        q = inverse_mills(u)
        return log_ndtr(u), q / deviation, -u * q / deviation

    return value


def log_success(centre: float, noise: float, log_fair: float) -> Scalar:
    """CAUTION log P + STEEPNESS min(log P - log_fair, 0) for the chance P = Φ((centre + μ)/√(σ² + noise)) of success.

    Expected improvement times the chance goes half the way to an edge that fails, and fails every second time; the
    exponent makes steps smaller than halves, which fail less often for each digit they gain. Where the chance is less
    than fair, a point is next to out of the question: expected improvement may differ by many orders of magnitude,
    and a failure is the same waste everywhere.
    """

    def value(mean: Array, deviation: Array) -> tuple[Array, Array, Array]:
        whole = np.sqrt(deviation * deviation + noise)
        u = (centre + mean) / whole
        log_chance = log_ndtr(u)
        below = np.minimum(log_chance - log_fair, 0.0)
        slope = np.where(below < 0.0, CAUTION + STEEPNESS, CAUTION) * inverse_mills(u) / whole
        return CAUTION * log_chance + STEEPNESS * below, slope, -slope * u * deviation / whole

    return value


def log_spread(share: float) -> Scalar:
    """`share` times log σ: prefers what is unknown where nothing else tells points apart."""

    def value(mean: Array, deviation: Array) -> tuple[Array, Array, Array]:
        return share * np.log(deviation), np.zeros_like(mean), share / deviation

    return value


class AnySurface(Protocol):
    """What can be maximised over x."""

    @property
    def posteriors(self) -> Sequence[Posterior]: ...

    def __call__(self, X: Array) -> Array: ...

    def with_gradient(self, X: Array) -> tuple[Array, Array]: ...


@dataclass(frozen=True)
class Surface:
    """An acquisition function over x, averaged over the posteriors: a mean of values, or of what is under the log."""

    posteriors: Sequence[Posterior]
    scalar: Scalar
    logarithmic: bool
    weights: tuple["Surface", ...] = ()
    """Logarithms of probabilities, of other outcomes, that are added to the value."""

    def __call__(self, X: Array) -> Array:
        """Values at the rows of X."""
        return sum((weight(X) for weight in self.weights), self._own(X))

    def with_gradient(self, X: Array) -> tuple[Array, Array]:
        """Values (m,) and gradients (m, d)."""
        value, gradient = self._own_with_gradient(X)
        for weight in self.weights:
            more, slope = weight.with_gradient(X)
            value, gradient = value + more, gradient + slope
        return value, gradient

    def _own(self, X: Array) -> Array:
        values = []
        for posterior in self.posteriors:
            mean, variance = posterior.predict(X)
            values.append(self.scalar(mean, np.maximum(np.sqrt(variance), SMALLEST_DEVIATION))[0])
        return self._averaged(values)[0]

    def _own_with_gradient(self, X: Array) -> tuple[Array, Array]:
        values, gradients = [], []
        for posterior in self.posteriors:
            mean, variance, mean_gradient, variance_gradient = posterior.predict_with_gradient(X)
            deviation = np.maximum(np.sqrt(variance), SMALLEST_DEVIATION)
            value, by_mean, by_deviation = self.scalar(mean, deviation)
            values.append(value)
            # dσ = dσ²/(2σ); on the floor σ is constant.
            by_variance = np.where(deviation > SMALLEST_DEVIATION, by_deviation / (2.0 * deviation), 0.0)
            gradients.append(by_mean[:, None] * mean_gradient + by_variance[:, None] * variance_gradient)
        averaged, weights = self._averaged(values)
        return averaged, np.einsum("si,sij->ij", weights, np.array(gradients))

    def _averaged(self, values: Sequence[Array]) -> tuple[Array, Array]:
        """The average over posteriors, and the weight of each in its gradient."""
        if len(values) == 1:
            return values[0], np.ones((1, len(values[0])))
        table = np.array(values)
        if not self.logarithmic:
            return table.mean(axis=0), np.full_like(table, 1.0 / len(table))
        total = logsumexp(table, axis=0)
        return total - math.log(len(table)), np.exp(table - total)


def surface(
    name: str, posteriors: Sequence[Posterior], *, beta: float, best: float, weights: tuple[Surface, ...] = ()
) -> Surface:
    """The named acquisition over these posteriors; Thompson sampling has no surface (`maximise_sample`)."""
    if name == "ucb":
        return Surface(posteriors, ucb(beta), False, weights)
    if name == PREDICTIVE_UCB:
        noise = float(np.mean([posterior.theta.s2 for posterior in posteriors]))
        return Surface(posteriors, predictive_ucb(beta, noise), False, weights)
    if name == "log-ei":
        return Surface(posteriors, log_ei(best), True, weights)
    if name == "pi":
        return Surface(posteriors, log_pi(best), True, weights)
    raise InvalidInputError(f"{check_acquisition(name)!r} has no surface; maximise_sample draws one")
