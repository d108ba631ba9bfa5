"""Is it worth going on? Trials since the last improvement, and the chance that ten more bring one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
DRAWS = 1024
THETAS = 8
MOST_POINTS = 800
"""Number of trials above which theta is as good as known, and the model's own is the only one."""


@dataclass(frozen=True)
class Prospects:
    """The best so far, how old it is, and what ten more trials may bring."""

    best_value: float
    best_number: int
    since_improvement: int
    """Finished trials after the best one was found."""
    epsilon: float
    """Improvement that counts, in the units of the value."""
    chance: float | None
    """Probability, by the surrogate, that ten more trials improve the best by more than epsilon."""
    trials: int = TRIALS


def look_ahead(belief: Belief, draws: Array | None, epsilon: float | None, rng: Rng) -> Prospects:
    """Stagnation from the log, the chance from the surrogate, averaged over draws of theta where there are any.

    epsilon is in the user's units. Its default is 1 % of the interquartile range of the values, which a few very bad
    trials do not blow up, and at least 0.1 % of their range, because the quartiles meet when the search has converged.
    """
    objective = belief.objective
    data, units = objective.data, objective.units
    values = units.told(data.y)
    best = int(np.argmax(data.y))
    if epsilon is None:
        low, high = np.quantile(values, (0.25, 0.75))
        epsilon = max(EPSILON_SHARE * float(high - low), LEAST_SHARE * float(np.ptp(values)))
    posteriors = list(objective.posteriors)
    if draws is not None and len(data) <= MOST_POINTS:
        chosen = np.linspace(0, len(draws) - 1, THETAS).round().astype(int)
        posteriors = [Posterior.of(data, Theta.from_log(draws[i]), belief.model.kernel) for i in chosen]
    incumbent = data.X[int(np.argmax(objective.smoothed))]
    chance = chance_of_improvement(posteriors, incumbent, candidates(belief, rng), epsilon, rng, units=units)
    return Prospects(
        best_value=float(values[best]),
        best_number=int(belief.numbers[best]),
        since_improvement=len(data) - 1 - best,
        epsilon=epsilon,
        chance=chance,
    )


def chance_of_improvement(
    posteriors: Sequence[Posterior],
    incumbent: Array,
    points: Array,
    epsilon: float,
    rng: Rng,
    *,
    units: Units | None = None,
    trials: int = TRIALS,
    draws: int = DRAWS,
) -> float | None:
    """P(max over ten Thompson points of f - f(incumbent) > epsilon), f drawn from the posterior and brought to `units`.

    Joint samples of f over `points` and the incumbent: one is the truth, the maximisers of ten others are the next ten
    trials. They are chosen at once and do not learn from each other, so the figure errs on the low side. f is without
    noise and the incumbent is where the surrogate's mean is highest: a lucky measurement is not to be beaten, a better
    place is to be found. Averaged over `posteriors`; None if none of them could be sampled.
    """
    rows = np.concatenate([incumbent[None], points])
    each = max(draws // len(posteriors), 2 * trials)
    better = []
    for posterior in posteriors:
        try:
            truths, guesses = np.split(posterior.sample(rows, rng, 2 * each), 2)
        except NumericalError:
            continue
        picks = guesses.argmax(axis=1)[rng.integers(0, each, (each, trials))]
        reached, held = np.take_along_axis(truths, picks, axis=1).max(axis=1), truths[:, 0]
        gains = reached - held if units is None else units.sign * (units.told(reached) - units.told(held))
        better.append(float(np.mean(gains > epsilon)))
    return float(np.mean(better)) if better else None


def candidates(belief: Belief, rng: Rng) -> Array:
    """Uniform points, and a cloud around the best ones at scales from a thousandth to a third of a lengthscale.

    The best ones are the best observed and, among many uniform points, those with the highest mean + 2 deviations.
    """
    posterior, data = belief.objective.posterior, belief.objective.data
    domain = data.domain
    count = min(CANDIDATES + CANDIDATES_PER_DIMENSION * domain.dimension, MOST_CANDIDATES)
    uniform = domain.uniform(rng, SCORED)
    mean, deviation = belief.objective.moments(uniform)
    promising = uniform[np.argsort(-(mean + 2.0 * deviation), kind="stable")[:LEADERS]]
    leaders = np.concatenate([data.X[np.argsort(-data.y, kind="stable")[:LEADERS]], promising])
    cloud = around(leaders, posterior.theta.ell, domain, rng, count=CLOUD, decades=(-3.0, -0.5))
    rows = belief.space.snap(np.concatenate([uniform[:count], promising, cloud]))
    rows = rows[belief.space.allowed(rows)]
    return np.asarray(np.unique(rows, axis=0))
