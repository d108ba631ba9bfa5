"""Limits: other outcomes that must not fall below a threshold. Constraints are, and success where trials have failed.

The chance that a point keeps all of them is added to what it is worth, in logarithms (Gardner et al. 2014, "Bayesian
optimization with inequality constraints"; the outcomes are taken as independent):

    acquisition(x) + Σ_i log Φ((μ_i(x) - threshold_i)/σ_i(x))

For log-ei and pi that is the logarithm of expected improvement, or of its probability, times the chance. ucb is in
standard deviations of the objective: there a point that is feasible with a chance of one half loses log 2 = 0.7 of
them. Thompson sampling draws the limits too and takes the best candidate that keeps all of them in the draw, or the one
that misses them by the least (Eriksson & Poloczek 2021, "Scalable constrained Bayesian optimization").
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from uhebo.acquire.functions import Surface, log_pi, log_spread
from uhebo.gp.posterior import Posterior
from uhebo.types import Array, Rng

SPREAD = 1e-2
"""Weight of the objective's log σ while nothing is feasible: where the chance saturates, the unknown is preferred."""


@dataclass(frozen=True)
class Limit:
    """An outcome, larger is better, that must reach a threshold; both in its GP's units."""

    posteriors: tuple[Posterior, ...]
    threshold: float

    @property
    def surface(self) -> Surface:
        """log P(outcome > threshold)."""
        return Surface(self.posteriors, log_pi(self.threshold), logarithmic=True)

    def under(self, posteriors: tuple[Posterior, ...]) -> "Limit":
        """The same limit when more is known."""
        return replace(self, posteriors=posteriors)


Limits = tuple[Limit, ...]


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
        missed += np.maximum(limit.threshold - posterior.sample(X, rng)[0], 0.0)
    return np.where(missed > 0.0, values.min() - 1.0 - missed, values)
