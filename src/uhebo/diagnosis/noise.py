"""How much a value would change if a trial were repeated: by the model, and by repeats where there are any."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from uhebo.belief import Belief
from uhebo.estimate import mle_estimate
from uhebo.types import Array, Rng

MUCH_NOISE = 0.3
"""Noise deviation on standardised values from which on noise hides much of what there is to see."""
MOST_POINTS = 150
"""Number of trials, drawn at random where there are more, on which much noise is weighed against little."""
INTERVAL = (0.05, 0.95)


@dataclass(frozen=True)
class Noise:
    """Deviations are in the units of the value. Where values are warped, noise differs from place to place in these
    units, and the figure is the median over the trials."""

    deviation: float
    low: float | None
    high: float | None
    value_range: float
    share_of_range: float
    share_of_deviation: float
    """Noise deviation over the standard deviation of the values, as the model sees them."""
    against_noise: float
    """Log likelihood of the best theta minus that of the best with noise of at least `MUCH_NOISE`; near 0 it may all be
    noise."""
    measured: float | None
    """Deviation among repeated points, pooled; None where no point was repeated."""
    repeats: int
    """Degrees of freedom of `measured`."""


def measure_noise(belief: Belief, draws: Array | None, rng: Rng) -> Noise:
    """The fitted noise against the spread of the values, and the deviation among repeated points.

    pooled deviation² = Σ_groups Σ_i (y_i - mean of its group)² / Σ_groups (size - 1)
    """
    objective = belief.objective
    data, units = objective.data, objective.units

    def told(deviation: float) -> float:
        ends = units.told(objective.smoothed[:, None] + [-deviation, deviation])
        return 0.5 * float(np.median(np.abs(ends[:, 1] - ends[:, 0])))

    fitted = math.sqrt(float(np.mean([theta.s2 for theta in objective.fit.thetas])))
    low, high = (None, None) if draws is None else np.exp(0.5 * np.quantile(draws[:, -1], INTERVAL)).tolist()
    values = units.told(data.y)
    width = float(values.max() - values.min())
    groups: dict[bytes, list[float]] = {}
    for row, value in zip(np.round(data.X, 6) + 0.0, values / width, strict=True):
        groups.setdefault(row.tobytes(), []).append(float(value))
    freedom = sum(len(group) - 1 for group in groups.values())
    squares = sum(float(np.var(group)) * len(group) for group in groups.values())
    return Noise(
        deviation=told(fitted),
        low=None if low is None else told(low),
        high=None if high is None else told(high),
        value_range=width,
        share_of_range=told(fitted) / width,
        share_of_deviation=fitted / float(data.y.std()),
        against_noise=against_noise(belief, rng),
        measured=math.sqrt(squares / freedom) * width if freedom else None,
        repeats=freedom,
    )


def against_noise(belief: Belief, rng: Rng) -> float:
    """max L over all thetas - max L over those with s2 >= MUCH_NOISE²; prior and estimator have no say in it."""
    data, prior, kernel = belief.objective.data, belief.prior, belief.model.kernel
    if len(data) > MOST_POINTS:
        data = data.subset(np.sort(rng.choice(len(data), MOST_POINTS, replace=False)))
    much = replace(prior, noise_bounds=(MUCH_NOISE**2, max(prior.noise_bounds[1], 1.0)))
    free, noisy = (
        mle_estimate(data, kernel=kernel, prior=box, rng=rng, warm=belief.theta).log_posterior for box in (prior, much)
    )
    return free - noisy
