"""Is it worth going on? Trials since the last improvement, and the chance that ten more bring one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uhebo.acquire.limits import Limits, log_chance
from uhebo.acquire.maximise import around
from uhebo.belief import Belief, Units
from uhebo.errors import NumericalError
from uhebo.gp import Posterior, Theta
from uhebo.types import Array, Rng

TRIALS = 10
EPSILON_SHARE, LEAST_SHARE = 0.01, 0.001
CANDIDATES, CANDIDATES_PER_DIMENSION, MOST_CANDIDATES = 192, 32, 448
SCORED = 2048
CLOUD = 96
LEADERS = 4
UNLIKELY = 0.1
"""Chance to keep the constraints below which a point is promising only if there is no other."""
DRAWS = 1024
THETAS = 8
MOST_POINTS = 800
"""Number of trials above which theta is as good as known, and the model's own is the only one."""


@dataclass(frozen=True)
class Prospects:
    """The best so far, how old it is, and what ten more trials may bring."""

    best_value: float | None
    best_number: int | None
    """Of the best feasible trial; None where no trial is feasible."""
    since_improvement: int
    """Finished trials after the best one was found; all of them where there is none."""
    epsilon: float
    """Improvement that counts, in the units of the value."""
    chance: float | None
    """Probability, by the surrogate, that ten more trials improve the best by more than epsilon; where no trial is
    feasible, that one of them is."""
    trials: int = TRIALS
    of_several: bool = False
    """Whether this is about one of several objectives, as if it were the only one."""


def look_ahead(belief: Belief, draws: Array | None, epsilon: float | None, rng: Rng) -> Prospects:
    """Stagnation from the log, the chance from the surrogate, averaged over draws of theta where there are any.

    epsilon is in the user's units. Its default is 1 % of the interquartile range of the values, which a few very bad
    trials do not blow up, and at least 0.1 % of their range, because the quartiles meet when the search has converged.
    """
    objective = belief.objective
    data, units = objective.data, objective.units
    values = units.told(data.y)
    limits = tuple(found.limit for found in belief.constraints.values())
    feasible = belief.history.feasible
    best = int(np.argmax(np.where(feasible, data.y, -np.inf))) if feasible.any() else None
    epsilon = worthwhile(values) if epsilon is None else epsilon
    posteriors = list(objective.posteriors)
    if draws is not None and len(data) <= MOST_POINTS:
        chosen = np.linspace(0, len(draws) - 1, THETAS).round().astype(int)
        posteriors = [Posterior.of(data, Theta.from_log(draws[i]), belief.model.kernel) for i in chosen]
    incumbent = None if best is None else data.X[int(np.argmax(np.where(feasible, objective.smoothed, -np.inf)))]
    points = candidates(belief, limits, rng)
    chance = chance_of_improvement(posteriors, incumbent, points, epsilon, rng, units=units, limits=limits)
    return Prospects(
        best_value=None if best is None else float(values[best]),
        best_number=None if best is None else int(belief.numbers[best]),
        since_improvement=len(data) - 1 - (-1 if best is None else best),
        epsilon=epsilon,
        chance=chance,
    )


def worthwhile(values: Array) -> float:
    """The improvement that counts where nobody has said which does."""
    low, high = np.quantile(values, (0.25, 0.75))
    return max(EPSILON_SHARE * float(high - low), LEAST_SHARE * float(np.ptp(values)))


def chance_of_improvement(
    posteriors: Sequence[Posterior],
    incumbent: Array | None,
    points: Array,
    epsilon: float,
    rng: Rng,
    *,
    units: Units | None = None,
    limits: Limits = (),
    trials: int = TRIALS,
    draws: int = DRAWS,
) -> float | None:
    """P(max over ten Thompson points of f - f(incumbent) > epsilon), f drawn from the posterior and brought to `units`.

    Joint samples of f over `points` and the incumbent: one is the truth, the maximisers of ten others are the next ten
    trials. They are chosen at once and do not learn from each other, so the figure errs on the low side. f is without
    noise and the incumbent is where the surrogate's mean is highest: a lucky measurement is not to be beaten, a better
    place is to be found. Averaged over `posteriors`; None if none of them could be sampled.

    `limits` are sampled in the same way: the next ten trials keep them in their own samples if any point does, and what
    they reach counts where it keeps them in the truth. Without an incumbent it is the chance that one of them does.
    """
    rows = points if incumbent is None else np.concatenate([incumbent[None], points])
    each = max(draws // len(posteriors), 2 * trials)
    better = []
    for index, posterior in enumerate(posteriors):
        try:
            truths, guesses = np.split(posterior.sample(rows, rng, 2 * each), 2)
            missed, believed = np.split(_missed(limits, rows, index, rng, 2 * each), 2)
        except NumericalError:
            continue
        low = guesses.min(axis=1, keepdims=True)
        guesses = np.where(believed > 0.0, low - 1.0 - believed, guesses)
        picks = guesses.argmax(axis=1)[rng.integers(0, each, (each, trials))]
        keeps = np.take_along_axis(missed, picks, axis=1) <= 0.0
        if incumbent is None:
            better.append(float(np.mean(keeps.any(axis=1))))
            continue
        held = truths[:, 0]
        reached = np.where(keeps, np.take_along_axis(truths, picks, axis=1), held[:, None]).max(axis=1)
        gains = reached - held if units is None else units.sign * (units.told(reached) - units.told(held))
        better.append(float(np.mean(gains > epsilon)))
    return float(np.mean(better)) if better else None


def _missed(limits: Limits, rows: Array, index: int, rng: Rng, draws: int) -> Array:
    """By how much each draw of the limits misses them in all, at each of the rows: 0 where it keeps them."""
    missed = np.zeros((draws, len(rows)))
    for limit in limits:
        posterior = limit.posteriors[index % len(limit.posteriors)]
        missed += np.maximum(limit.threshold - posterior.sample(rows, rng, draws), 0.0)
    return missed


def candidates(belief: Belief, limits: Limits, rng: Rng) -> Array:
    """Uniform points, and a cloud around the best ones at scales from a thousandth to a third of a lengthscale.

    The best ones are the best observed (the feasible first) and, among many uniform points, those with the highest
    mean + 2 deviations (those first that may well keep the limits).
    """
    posterior, data = belief.objective.posterior, belief.objective.data
    domain = data.domain
    count = min(CANDIDATES + CANDIDATES_PER_DIMENSION * domain.dimension, MOST_CANDIDATES)
    uniform = domain.uniform(rng, SCORED)
    mean, deviation = belief.objective.moments(uniform)
    unlikely = log_chance(limits, uniform) < np.log(UNLIKELY)
    promising = uniform[np.lexsort((-(mean + 2.0 * deviation), unlikely))[:LEADERS]]
    leaders = np.concatenate([data.X[np.lexsort((-data.y, ~belief.history.feasible))[:LEADERS]], promising])
    cloud = around(leaders, posterior.theta.ell, domain, rng, count=CLOUD, decades=(-3.0, -0.5))
    rows = belief.space.snap(np.concatenate([uniform[:count], promising, cloud]))
    rows = rows[belief.space.allowed(rows)]
    return np.asarray(np.unique(rows, axis=0))
