"""Hamiltonian Monte Carlo over log theta (Neal 2011), started at the MAP.

The sampler works in the box of the prior: a trajectory that meets a wall is reflected, which keeps it reversible and
volume-preserving. During burn-in the step size is tuned towards an acceptance rate of 0.8, and after a quarter and a
half of it the mass matrix is set to the inverse variances seen so far.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from uhebo.errors import InvalidInputError
from uhebo.estimate.estimator import Fit
from uhebo.estimate.fit import log_posterior, map_estimate
from uhebo.gp.data import Data, Theta
from uhebo.gp.kernels import MATERN52, Kernel
from uhebo.gp.priors import Prior, named_prior
from uhebo.numerics.bfgs import BatchFunction
from uhebo.numerics.threads import single_threaded
from uhebo.types import Array, Rng

TARGET_ACCEPTANCE = 0.8
GAIN = 2.0
"""Change of the log step size by the first trajectories; it falls from there."""
MAX_LEAPFROG = 16
"""Most steps of a trajectory; their number is drawn uniformly, which avoids resonance with the posterior."""


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
    kernel: str | Kernel = MATERN52,
    prior: Prior | str = "paper",
    rng: Rng,
    warm: Theta | None = None,
    burn_in: int = 200,
    kept: int = 10,
    thin: int = 10,
) -> Fit:
    """Sample theta by HMC: `kept` thinned draws after `burn_in` steps; an acquisition is averaged over them."""
    if burn_in < 0 or kept < 1 or thin < 1:
        raise InvalidInputError(f"burn_in={burn_in}, kept={kept}, thin={thin}: expected burn_in >= 0, kept, thin >= 1")
    prior = named_prior(prior, data.dimension)
    start = map_estimate(data, kernel=kernel, prior=prior, rng=rng, warm=warm)
    if not len(data):
        return replace(start, estimator="hmc")
    target = log_posterior(data, kernel, prior)
    low, high = prior.bounds(data.dimension)
    chain = sample_chain(target, start.theta.to_log(), low, high, rng=rng, burn_in=burn_in, draws=kept * thin)
    chosen = slice(thin - 1, None, thin)
    return replace(
        start,
        estimator="hmc",
        thetas=tuple(Theta.from_log(draw) for draw in chain.draws[chosen]),
        log_posterior=float(chain.values[chosen].max()),
        evaluations=start.evaluations + target.likelihood.evaluations,
        failures=start.failures + target.likelihood.failures,
        extra={
            "acceptance": chain.acceptance,
            "effective_sample_size": chain.effective_sample_size(),
            "step_size": chain.step_size,
        },
    )


def sample_chain(
    target: BatchFunction, start: Array, low: Array, high: Array, *, rng: Rng, burn_in: int, draws: int
) -> Chain:
    """`draws` successive states of a chain on the log density `target` restricted to the box.

    The step size is tuned to the target acceptance rate by stochastic approximation (Robbins & Monro 1951), with a gain
    that falls slowly. Dual averaging with its customary constants moves the step by factors of ten from one trajectory
    to the next; its mean in logarithms is then too short, and chains of 200 steps had an acceptance rate near 0.95.
    """
    position = np.clip(start, low, high)
    value, gradient = _at(target, position)
    scale = np.ones_like(position)
    log_steps = [math.log(0.1)]
    renewals = {burn_in // 4, burn_in // 2}
    history = np.empty((burn_in, len(position)))
    out, out_values = np.empty((draws, len(position))), np.empty(draws)
    accepted = 0.0
    for step in range(burn_in + draws):
        size = math.exp(log_steps[-1]) if step < burn_in else _settled(log_steps)
        momentum = rng.standard_normal(len(position))
        leaps = int(rng.integers(1, MAX_LEAPFROG + 1))
        proposal, end_value, end_gradient, end_momentum = _trajectory(
            target, position, gradient, momentum, size * scale, leaps, low, high
        )
        change = end_value - value + 0.5 * float(momentum @ momentum - end_momentum @ end_momentum)
        probability = math.exp(min(0.0, change)) if math.isfinite(change) else 0.0
        if value == -math.inf:  # a start without a likelihood: any other place is as good
            probability = 1.0
        if rng.random() < probability:
            position, value, gradient = proposal, end_value, end_gradient
        if step < burn_in:
            gain = GAIN / len(log_steps) ** 0.6
            log_steps.append(log_steps[-1] + gain * (probability - TARGET_ACCEPTANCE))
            history[step] = position
            if step + 1 in renewals and step >= 8:
                seen = history[(step + 1) // 4 : step + 1]
                renewed = np.clip(seen.std(axis=0), 1e-3, 1e3)
                # The same stride on average in the new units.
                log_steps = [math.log(_settled(log_steps) * float(np.exp(np.log(scale / renewed).mean())))]
                scale = renewed
        else:
            accepted += probability
            out[step - burn_in], out_values[step - burn_in] = position, value
    return Chain(out, out_values, accepted / max(draws, 1), _settled(log_steps))


def _settled(log_steps: list[float]) -> float:
    """Geometric mean of the second half of the step sizes, so that one unlucky trajectory does not decide it."""
    return math.exp(float(np.mean(log_steps[len(log_steps) // 2 :])))


def _at(target: BatchFunction, position: Array) -> tuple[float, Array]:
    values, gradients = target(position[None])
    return float(values[0]), gradients[0]


def _trajectory(
    target: BatchFunction, x: Array, gradient: Array, momentum: Array, step: Array, leaps: int, low: Array, high: Array
) -> tuple[Array, float, Array, Array]:
    """Leapfrog with unit momenta: `step` carries the square root of the inverse mass of each coordinate."""
    momentum = momentum + 0.5 * step * gradient
    for leap in range(leaps):
        x, momentum = _reflect(x + step * momentum, momentum, low, high)
        value, gradient = _at(target, x)
        momentum = momentum + (1.0 if leap + 1 < leaps else 0.5) * step * gradient
    return x, value, gradient, momentum


def _reflect(position: Array, momentum: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Fold the position back into the box; each fold turns that coordinate's momentum round."""
    width = high - low
    folded = np.mod(position - low, 2.0 * width)
    back = folded > width
    return low + np.where(back, 2.0 * width - folded, folded), np.where(back, -momentum, momentum)


def effective_sample_size(draws: Array) -> float:
    """n / (1 + 2 Σ ρ_k), the sum cut at the first pair of autocorrelations that is not positive (Geyer 1992)."""
    count = len(draws)
    if count < 4:
        return float(min(count, 1))
    centred = draws - draws.mean()
    variance = float(centred @ centred) / count
    if variance == 0.0:
        return 1.0
    spectrum = np.fft.rfft(centred, 2 * count)
    correlation = np.fft.irfft(spectrum * spectrum.conj())[:count] / (count * variance)
    pairs = correlation[0 : count - count % 2 : 2] + correlation[1:count:2]
    positive = int(np.argmax(pairs <= 0.0)) if (pairs <= 0.0).any() else len(pairs)
    time = max(2.0 * float(pairs[:positive].sum()) - 1.0, 1.0 / count)
    return float(min(count / time, count))
