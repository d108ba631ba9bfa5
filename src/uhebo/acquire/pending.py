"""Points under way: what a proposal must know of them, so that workers do not evaluate the same place twice.

A pending point is observed at its own predicted mean ("hallucinated", Desautels et al. 2014): the mean stays, the
variance shrinks, so that no trial proposes the same place again. Trials that are about to propose a point too go first:
for each, the point it will choose is taken as pending, so that workers who look at the same log at the same moment do
not arrive at the same point.

An acquisition that measures against the best value so far goes on preferring a place whose mean is above it, however
certain. If nothing has been learnt since that place was proposed, it would be proposed again; so there a pending point
counts as no better than the best, its ceiling. (With a value in between the model is another one, and the expected
values of points under way are better left as they are: on smooth functions the regret with eight under way is ten times
smaller.)

An acquisition that asks where posteriors disagree would find them as far apart as before, each having seen what it
expected. For it they see the same value, the mean of what they expect.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from uhebo.acquire.limits import Limits
from uhebo.acquire.maximise import Explored
from uhebo.gp.posterior import Posterior
from uhebo.types import Array

MOST_UNDECIDED = 8
"""Trials without a point yet that are allowed for; more of them are workers that died, not workers that think."""

Posteriors = tuple[Posterior, ...]
S = TypeVar("S")


@dataclass(frozen=True)
class Pending:
    """Evaluations that have no value yet, beside one that is to be proposed."""

    points: Array
    """Points under evaluation, and points that failed, (m, d): no values, but not places to look at next either.
    Without the failed ones a search sticks at the edge of a region where the objective has no value."""
    nothing_learnt: NDArray[np.bool_]
    """Which of them failed, or were proposed from the very data there are now, (m,)."""
    undecided: int
    """Trials before this one that are about to propose a point too."""

    def in_turn(self, state: S, choose: Callable[[S], Array], take: Callable[[S, Array], S]) -> Array:
        """The point chosen after the undecided trials have chosen theirs by the same rule: choose, take, repeat."""
        for _ in range(min(self.undecided, MOST_UNDECIDED)):
            state = take(state, choose(state))
        return choose(state)

    def next_point(
        self,
        posteriors: Posteriors,
        explored: Explored,
        choose: Callable[[Posteriors, Explored, Limits], Array],
        ceiling: float = math.inf,
        limits: Limits = (),
        agreed: bool = False,
    ) -> Array:
        """The same where a point is chosen by posteriors and limits that know of all pending ones.

        `agreed`: the posteriors see the same values there.
        """

        def take(state: tuple[Posteriors, Explored, Limits], point: Array) -> tuple[Posteriors, Explored, Limits]:
            known = with_pending(state[0], point[None], ceiling, agreed)
            return known, state[1].with_taken(point), limits_with_pending(state[2], point[None])

        ceilings = np.where(self.nothing_learnt, ceiling, math.inf)
        known = with_pending(posteriors, self.points, ceilings, agreed)
        state = (known, explored, limits_with_pending(limits, self.points))
        return self.in_turn(state, lambda at: choose(*at), take)


def with_pending(
    posteriors: Sequence[Posterior], points: Array, ceiling: Array | float = math.inf, agreed: bool = False
) -> Posteriors:
    """Posteriors that also know of pending points, each observed at its predicted mean or at the ceiling if lower.

    The mean is each posterior's own, or where they are to agree, that of all.
    """
    if not len(points):
        return tuple(posteriors)
    means = [posterior.predict(points)[0] for posterior in posteriors]
    if agreed:
        means = [np.mean(means, axis=0)] * len(means)
    return tuple(p.grow(points, np.minimum(mean, ceiling)) for p, mean in zip(posteriors, means, strict=True))


def limits_with_pending(limits: Limits, points: Array) -> Limits:
    """Limits that also know of pending points: they are as likely to be kept there, and more surely so."""
    return tuple(limit.under(with_pending(limit.posteriors, points)) for limit in limits)
