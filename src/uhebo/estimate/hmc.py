"""Hamiltonian Monte Carlo over log theta (Neal 2011), started at the MAP.

The sampler works in the box of the prior: a trajectory that meets a wall is reflected, which keeps it reversible and
volume-preserving. During burn-in the step size is tuned by dual averaging (Hoffman & Gelman 2014, §3.2) towards an
acceptance rate of 0.8, and half-way the mass matrix is set to the inverse variances seen so far.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from uhebo.estimate.fit import Fit, log_posterior, map_estimate
from uhebo.gp.data import Data
from uhebo.gp.domain import Array, Rng
from uhebo.gp.kernels import KernelName
from uhebo.gp.likelihood import Objective
from uhebo.gp.posterior import Posterior
from uhebo.gp.priors import Prior, named_prior
from uhebo.gp.theta import Theta
from uhebo.threads import single_threaded

TARGET_ACCEPTANCE = 0.8
MAX_LEAPFROG = 12
"""A trajectory has 1 to this many steps, drawn uniformly, so that no period of the posterior is resonated with."""


@dataclass(frozen=True)
class Chain:
    """Draws after burn-in (before thinning), and how the sampler fared."""

    draws: Array
    values: Array
    acceptance: float
    step_size: float

    def effective_sample_size(self) -> float:
        """The smallest over the coordinates."""
        return min(effective_sample_size(column) for column in self.draws.T)


@single_threaded
def hmc_estimate(
    data: Data,
    *,
    kernel: KernelName = "matern52",
    prior: Prior | str = "paper",
    rng: Rng,
    warm: Theta | None = None,
    burn_in: int = 200,
    kept: int = 10,
    thin: int = 5,
) -> Fit:
    """`kept` thinned samples of theta after `burn_in` steps; posteriors under each, to average an acquisition over."""
    prior = named_prior(prior, data.dimension)
    start = map_estimate(data, kernel=kernel, prior=prior, rng=rng, warm=warm)
    target = log_posterior(data, kernel, prior)
    low, high = prior.bounds(data.dimension)
    chain = sample_chain(target, start.theta.to_log(), low, high, rng=rng, burn_in=burn_in, draws=kept * thin)
    chosen = slice(thin - 1, None, thin)
    posteriors = tuple(Posterior.of(data, Theta.from_log(draw), kernel) for draw in chain.draws[chosen])
    return Fit(
        estimator="hmc",
        prior=prior.name,
        posteriors=posteriors,
        log_posterior=float(chain.values[chosen].max()),
        converged=start.converged,
        starts=start.starts,
        evaluations=start.evaluations + target.likelihood.evaluations,
        failures=start.failures + target.likelihood.failures,
        fallback=start.fallback,
        extra={
            "acceptance": chain.acceptance,
            "effective_sample_size": chain.effective_sample_size(),
            "step_size": chain.step_size,
        },
    )


def sample_chain(
    target: Objective, start: Array, low: Array, high: Array, *, rng: Rng, burn_in: int, draws: int
) -> Chain:
    """`draws` successive states of a chain on the log density `target` restricted to the box."""
    position = np.clip(start, low, high)
    values, gradients = target(position[None])
    value, gradient = float(values[0]), gradients[0]
    scale = np.ones_like(position)
    tuner = _DualAveraging(0.1)
    history = np.empty((burn_in, len(position)))
    out, out_values = np.empty((draws, len(position))), np.empty(draws)
    accepted = 0.0
    for step in range(burn_in + draws):
        size = tuner.step if step < burn_in else tuner.final
        momentum = rng.standard_normal(len(position))
        proposal, end_value, end_gradient, end_momentum = _trajectory(
            target, position, value, gradient, momentum, size * scale, int(rng.integers(1, MAX_LEAPFROG + 1)), low, high
        )
        change = end_value - value + 0.5 * float(momentum @ momentum - end_momentum @ end_momentum)
        probability = math.exp(min(0.0, change)) if math.isfinite(change) else 0.0
        if rng.random() < probability:
            position, value, gradient = proposal, end_value, end_gradient
        if step < burn_in:
            tuner.update(probability)
            history[step] = position
            if step + 1 == burn_in // 2:
                seen = history[burn_in // 8 : step + 1]
                scale = np.clip(seen.std(axis=0), 1e-3, 1e3) if len(seen) > 4 else scale
                tuner = _DualAveraging(tuner.step / float(np.exp(np.log(scale).mean())))
        else:
            accepted += probability
            out[step - burn_in], out_values[step - burn_in] = position, value
    return Chain(out, out_values, accepted / max(draws, 1), tuner.final)


def _trajectory(
    target: Objective,
    position: Array,
    value: float,
    gradient: Array,
    momentum: Array,
    step: Array,
    leaps: int,
    low: Array,
    high: Array,
) -> tuple[Array, float, Array, Array]:
    """Leapfrog with unit momenta: `step` carries the square root of the inverse mass of each coordinate."""
    momentum = momentum + 0.5 * step * gradient
    for leap in range(leaps):
        position, momentum = _reflect(position + step * momentum, momentum, low, high)
        values, gradients = target(position[None])
        value, gradient = float(values[0]), gradients[0]
        momentum = momentum + (1.0 if leap + 1 < leaps else 0.5) * step * gradient
    return position, value, gradient, momentum


def _reflect(position: Array, momentum: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Fold the position back into the box; each fold turns that coordinate's momentum round."""
    width = high - low
    folded = np.mod(position - low, 2.0 * width)
    back = folded > width
    return low + np.where(back, 2.0 * width - folded, folded), np.where(back, -momentum, momentum)


class _DualAveraging:
    """Step size tuned to the target acceptance rate; constants as in Hoffman & Gelman (2014)."""

    def __init__(self, first: float) -> None:
        self._shrink_to = math.log(10.0 * first)
        self._log_step = math.log(first)
        self._log_mean = math.log(first)
        self._error = 0.0
        self._count = 0

    @property
    def step(self) -> float:
        return math.exp(self._log_step)

    @property
    def final(self) -> float:
        return math.exp(self._log_mean)

    def update(self, acceptance: float) -> None:
        self._count += 1
        weight = 1.0 / (self._count + 10.0)
        self._error += weight * (TARGET_ACCEPTANCE - acceptance - self._error)
        self._log_step = self._shrink_to - math.sqrt(self._count) / 0.05 * self._error
        decay = self._count**-0.75
        self._log_mean += decay * (self._log_step - self._log_mean)


def effective_sample_size(draws: Array) -> float:
    """n / (1 + 2 Σ ρ_k), the sum cut at the first pair of autocorrelations that is not positive (Geyer 1992)."""
    count = len(draws)
    centred = draws - draws.mean()
    variance = float(centred @ centred) / max(count, 1)
    if count < 4 or variance == 0.0:
        return float(min(count, 1))
    spectrum = np.fft.rfft(centred, 2 * count)
    correlation = np.fft.irfft(spectrum * spectrum.conj())[:count] / (count * variance)
    pairs = correlation[0 : count - count % 2 : 2] + correlation[1:count:2]
    positive = int(np.argmax(pairs <= 0.0)) if (pairs <= 0.0).any() else len(pairs)
    time = max(2.0 * float(pairs[:positive].sum()) - 1.0, 1.0 / count)
    return float(min(count / time, count))
