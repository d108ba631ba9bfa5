"""Limits: other outcomes that must not fall below a threshold. Constraints are, and success where trials have failed.

The chance that a point keeps all of them is added to what it is worth, in logarithms (Gardner et al. 2014, "Bayesian
optimization with inequality constraints"; the outcomes are taken as independent):

    acquisition(x) + Σ_i log Φ((μ_i(x) - threshold_i)/σ_i(x))

For log-ei and pi that is the logarithm of expected improvement, or of its probability, times the chance. ucb is in
standard deviations of the objective: there a point that is feasible with a chance of one half loses log 2 = 0.7 of
them. Thompson sampling draws the limits too and takes the best candidate that keeps all of them in the draw, or the one
that misses them by the least (Eriksson & Poloczek 2021, "Scalable constrained Bayesian optimization").
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_ndtr

from uhebo.acquire.functions import CAUTION, Scalar, Surface, log_pi, log_spread, log_success
from uhebo.gp.posterior import Posterior
from uhebo.types import Array, Rng

FAIR = 0.8
"""Share of the best chance of success seen anywhere below which a point is next to out of the question."""
SPREAD = 1e-2
"""Weight of the objective's log σ while nothing is feasible: where the chance saturates, the unknown is preferred."""


@dataclass(frozen=True)
class Limit:
    """An outcome, larger is better, that must reach a threshold; both in its GP's units, or where it is not drawn, what
    the limit adds to an acquisition and a threshold of that."""

    posteriors: tuple[Posterior, ...]
    threshold: float
    scalar: Scalar
    """The log of the chance that it does, by mean and deviation."""
    drawn: bool = True
    """Whether Thompson sampling draws it. A draw of where trials fail would fail every second time at the edge."""

    @property
    def surface(self) -> Surface:
        """What the limit adds to an acquisition."""
        return Surface(self.posteriors, self.scalar, logarithmic=True)

    def under(self, posteriors: tuple[Posterior, ...]) -> "Limit":
        """The same limit when more is known."""
        return replace(self, posteriors=posteriors)


Limits = tuple[Limit, ...]


def at_least(posteriors: tuple[Posterior, ...], threshold: float) -> Limit:
    """A constraint: log P(outcome > threshold)."""
    return Limit(posteriors, threshold, log_pi(threshold))


def success(classifier: Posterior) -> Limit:
    """Not to fail, by a GP of which the signs are labels: with at least a fair share of the best chance seen."""
    log_fair = math.log(FAIR) + float(log_success_chance(classifier, classifier.data.X).max())
    scalar = log_success(classifier.data.location, classifier.theta.s2, log_fair)
    return Limit((classifier,), CAUTION * log_fair, scalar, drawn=False)


def log_success_chance(classifier: Posterior, X: Array) -> Array:
    """log of the chance that an evaluation does not fail, at the rows of X."""
    mean, variance = classifier.predict(X)
    return np.asarray(log_ndtr((classifier.data.location + mean) / np.sqrt(variance + classifier.theta.s2)))


def weights(limits: Limits) -> tuple[Surface, ...]:
    """What the limits add to an acquisition."""
    return tuple(limit.surface for limit in limits)


def log_chance(limits: Limits, X: Array) -> Array:
    """log of the chance that all limits are kept, at the rows of X."""
    return sum((weight(X) for weight in weights(limits)), np.zeros(len(X)))


def feasibility_surface(posteriors: Sequence[Posterior], limits: Limits) -> Surface:
    """What is maximised while nothing is feasible: the chance to be, and a little of what is not known."""
    return Surface(posteriors, log_spread(SPREAD), False, weights(limits))


def sampled_within(values: Array, limits: Limits, X: Array, rng: Rng) -> Array:
    """Values of one draw (m,), those of points that miss a limit in a draw of it made worse than all others."""
    missed = np.zeros(len(X))
    for limit in limits:
        posterior = limit.posteriors[int(rng.integers(len(limit.posteriors)))]
        drawn = posterior.sample(X, rng)[0] if limit.drawn else limit.surface(X)
        missed += np.maximum(limit.threshold - drawn, 0.0)
    return np.where(missed > 0.0, values.min() - 1.0 - missed, values)
