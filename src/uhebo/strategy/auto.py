"""`auto`: our own recipe, precise where MAP is right and curious where it may not be.

Values are warped towards a normal distribution, the acquisition is LogEI, the prior bounds lengthscales and lets noise
be tiny. Most steps exploit: the point of LogEI under the MAP theta. Every third step explores instead, and every second
one once exploiting promises next to nothing, because then it costs next to nothing to look elsewhere. Exploring takes
turns:

    opinion   LogEI under the consistent theta, which has shorter lengthscales and so sees less as settled
    gap       the emptiest place on the axis-parallel lines through the best point (no model: none can be wrong)
    line      an optimistic point on these lines (UCB with a large multiplier) under the consistent theta

Random points come at iterations 16, 32, 64, …: infinitely often, as a consistent estimate needs, and ever more rarely,
because each one costs an evaluation.
"""

from __future__ import annotations

import numpy as np

from uhebo.acquire import distance_to_nearest, first_free, is_free, line_points, with_pending
from uhebo.gp import Posterior
from uhebo.gp.domain import Array
from uhebo.strategy.step import Proposal, Step, fit_record

FIRST_RANDOM = 16
NEXT_TO_NOTHING = -9.0
"""Of the logarithm of the expected improvement, in standard deviations of the warped values: about 1/10,000 of one."""
SELDOM, OFTEN = 3, 2
CURIOUS_BETA = 4.0
TURNS = ("opinion", "gap", "line", "gap")


def auto(step: Step) -> Proposal:
    """LogEI by MAP on warped values; second opinions and unexplored lines the more, the less MAP has to offer."""
    step = step.with_defaults(acquisition="log-ei", prior="precise", warped=True)
    t = step.slot.t
    if t >= FIRST_RANDOM and t & (t - 1) == 0:
        return step.random()
    if not step.history.finished:
        return step.no_data()
    fit = step.fit("map")
    posteriors = tuple(with_pending(fit.posteriors, step.history.pending))
    point = step.best_point(posteriors)
    promising = step.acquisition != "log-ei" or float(step.surface(posteriors)(point[None])[0]) > NEXT_TO_NOTHING
    period = SELDOM if promising else OFTEN
    exploit = Proposal(point, {"role": "model", **fit_record(fit)})
    if t % period:
        return exploit
    turn = TURNS[t // period % len(TURNS)]
    if turn == "opinion":
        return step.model("consistent")
    centre = best_observed(fit.posterior)
    explore = gap(step, centre) if turn == "gap" else line(step, centre)
    # The lines of a discrete space may hold nothing new.
    return explore if is_free(explore.x[None], step.search())[0] else exploit


def best_observed(posterior: Posterior) -> Array:
    """The observed point with the largest posterior mean, y - s2 α: noise may have made another one look better."""
    data = posterior.data
    return np.asarray(data.X[int(np.argmax(data.y - posterior.theta.s2 * posterior.alpha))])


def gap(step: Step, centre: Array) -> Proposal:
    """The place on the lines through `centre` that is farthest from every point evaluated or under way."""
    space = step.history.space
    points = line_points(space, centre, step.rng("maximise"))
    occupied = np.concatenate([step.history.data.X, step.history.pending])
    for _ in range(step.undecided):
        far = int(np.argmax(distance_to_nearest(space, points, occupied)))
        occupied = np.concatenate([occupied, points[far : far + 1]])
    far_first = distance_to_nearest(space, points, occupied)
    return Proposal(first_free(points, far_first, step.search()), {"role": "model", "move": "gap"})


def line(step: Step, centre: Array) -> Proposal:
    """The largest upper confidence bound on the lines through `centre`, under the consistent theta."""
    fit = step.fit("consistent")
    points = line_points(step.history.space, centre, step.rng("maximise"))
    posteriors = tuple(with_pending(fit.posteriors, step.history.pending))
    for _ in range(step.undecided):
        best = int(np.argmax(step.surface(posteriors, "ucb", CURIOUS_BETA)(points)))
        posteriors = tuple(with_pending(posteriors, points[best : best + 1]))
    values = step.surface(posteriors, "ucb", CURIOUS_BETA)(points)
    return Proposal(first_free(points, values, step.search()), {"role": "model", "move": "line", **fit_record(fit)})
