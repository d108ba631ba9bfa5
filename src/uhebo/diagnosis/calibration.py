"""Leave-one-out calibration: each trial predicted from all the others, at the theta fitted to all of them.

Whether a value lies inside an interval does not depend on the units, so coverage is counted in the model's own; what is
shown is in the user's.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

from uhebo.belief import Belief
from uhebo.belief.mixture import mixture_scores
from uhebo.types import Array

LEVELS = (0.5, 0.8, 0.95)
BAND = 0.95
OVERCONFIDENT = 0.005
"""Probability that an honest surrogate has coverage as low as this, below which coverage counts as too low."""


@dataclass(frozen=True)
class Coverage:
    """How many observations fell inside the surrogate's central intervals of one level."""

    level: float
    inside: int
    share: float
    band_low: float
    band_high: float
    """The shares that chance allows an honest surrogate: the central 95 % of Binomial(n, level) / n."""
    too_low: bool


@dataclass(frozen=True, eq=False)
class Calibration:
    """Observations, what the others predict for each (noise included), and how the two agree."""

    numbers: NDArray[np.intp]
    y: Array
    loo_mean: Array
    loo_sd: Array
    low: Array
    high: Array
    """Ends of the central 95 % interval."""
    residuals: Array
    """z_i with Φ(z_i) = P(Y_i <= y_i) under the prediction; about standard normal if the surrogate is honest."""
    residual_sd: float
    largest_residual: float
    largest_residual_trial: int
    r2: float
    """1 - Σ (y_i - mean_i)² / Σ (y_i - ȳ)² of the values as the model sees them: 1 is perfect, 0 no better than the
    average value, below 0 worse."""
    coverage: tuple[Coverage, ...]

    @property
    def overconfident(self) -> bool:
        """Fewer values inside the 80 % or the 95 % intervals than chance allows."""
        return any(item.too_low for item in self.coverage if item.level > 0.5)


def calibrate(belief: Belief) -> Calibration:
    """Leave-one-out by the closed form (Rasmussen & Williams 2006, eq. 5.12)."""
    objective = belief.objective
    y, units = objective.data.y, objective.units
    means, deviations = objective.leave_one_out()
    centre = means.mean(axis=0)
    spread = np.sqrt((deviations**2).mean(axis=0) + means.var(axis=0))
    z = units.sign * mixture_scores(y, means, deviations)
    low, high = objective.told_quantiles(means, deviations, (0.025, 0.975))
    loo_mean, loo_sd = units.moments(centre, spread)
    worst = int(np.argmax(np.abs(z)))
    return Calibration(
        numbers=belief.numbers,
        y=units.told(y),
        loo_mean=loo_mean,
        loo_sd=loo_sd,
        low=low,
        high=high,
        residuals=z,
        residual_sd=float(np.sqrt(np.mean(z * z))),
        largest_residual=float(z[worst]),
        largest_residual_trial=int(belief.numbers[worst]),
        r2=1.0 - float(np.sum((y - centre) ** 2) / np.sum((y - y.mean()) ** 2)),
        coverage=tuple(cover(z, level) for level in LEVELS),
    )


def cover(z: Array, level: float) -> Coverage:
    """Share of |z| below the normal quantile of (1 + level)/2, with the band that chance allows."""
    count = len(z)
    inside = int(np.sum(np.abs(z) <= norm.ppf(0.5 + 0.5 * level)))
    low, high = binom.interval(BAND, count, level)
    return Coverage(
        level=level,
        inside=inside,
        share=inside / count,
        band_low=float(low) / count,
        band_high=float(high) / count,
        too_low=bool(binom.cdf(inside, count, level) < OVERCONFIDENT),
    )
