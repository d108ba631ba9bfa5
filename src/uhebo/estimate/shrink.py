"""The two methods that make the MAP lengthscales shorter until the search explores enough.

Both look at the point a UCB search would take under ell / g, so the maximiser of UCB is an argument: this layer knows
nothing of acquisition functions.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from uhebo.gp.posterior import Posterior
from uhebo.types import Array

MaximiseUcb = Callable[[Posterior], Array]
"""Posterior -> the point (d,) that maximises its upper confidence bound."""

KAPPA = 0.1
"""Deviation, in standard deviations of y, that the UCB point of Wang & de Freitas must have."""
GROWTH_PER_STEP = 2.0
LARGEST_SCALING = 100.0
FACTORS = 12
"""Factors tried in a step of A-GP-UCB; twice as many by Wang & de Freitas."""


@dataclass(frozen=True)
class Scaling:
    """The factor the lengthscales are divided by, the posterior under it, its UCB point and latent deviation there."""

    factor: float
    posterior: Posterior
    point: Array
    deviation: float


def reference_regret(t: int) -> float:
    """p(t) = t^0.9, the sub-linear reference of Berkenkamp et al. as the paper ran it."""
    return float(t**0.9)


def a_gp_ucb_scaling(
    base: Posterior,
    maximise_ucb: MaximiseUcb,
    *,
    t: int,
    beta: float,
    previous: float,
    spent: float,
    unit: float = 1.0,
) -> Scaling:
    """A-GP-UCB (Berkenkamp, Schoellig & Krause 2019, eq. 16, one-step prediction on a grid).

    The largest g' ≥ g(t-1) with  S + 2 β σ(x(g')) ≤ p(t),  x(g') the UCB maximiser under ell/g' and
    S = `spent` = Σ 2 β σ_j(x_{j+1}) over past steps; if there is none, g stays. Growth is capped per step and in all.
    σ, S and p(t) are in standard deviations of y, or in another `unit` (one standard deviation is so many of it).
    """
    top = max(previous, min(previous * GROWTH_PER_STEP, LARGEST_SCALING))
    budget = reference_regret(t) - spent
    for factor in np.geomspace(top, previous, FACTORS):
        scaling = _at(base, float(factor), maximise_ucb, unit)
        if 2.0 * beta * scaling.deviation <= budget:
            return scaling
    # The loop's last candidate was g(t-1) itself: nothing fits the budget, so g stays.
    return scaling


def wang_de_freitas_scaling(
    base: Posterior, maximise_ucb: MaximiseUcb, *, kappa: float = KAPPA, unit: float = 1.0
) -> Scaling:
    """Wang & de Freitas (2014) as run by Berkenkamp et al.: the smallest s ≥ 1 whose UCB point has σ ≥ κ.

    Not cumulative: each step starts from s = 1. If no scaling reaches κ the largest is taken. σ and κ are in `unit`s.
    """
    for factor in np.geomspace(1.0, LARGEST_SCALING, 2 * FACTORS):
        scaling = _at(base, float(factor), maximise_ucb, unit)
        if scaling.deviation >= kappa:
            break
    return scaling


def _at(base: Posterior, factor: float, maximise_ucb: MaximiseUcb, unit: float) -> Scaling:
    posterior = base if factor == 1.0 else Posterior.of(base.data, base.theta.shrunk(factor), base.kernel)
    point = maximise_ucb(posterior)
    _, variance = posterior.predict(point[None])
    return Scaling(factor, posterior, point, unit * float(np.sqrt(variance[0])))
