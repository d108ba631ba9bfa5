"""`auto`: our own recipe, precise where MAP is right and curious where it is stuck.

Values are warped towards a normal distribution, the acquisition is LogEI, the prior bounds lengthscales and lets noise
be tiny. Steps exploit (the point of LogEI under the MAP theta) while that leads somewhere. When the last six
evaluations have brought nothing, whatever the model promised, every second step explores instead, in turn:

    opinion   LogEI under the consistent theta, which has shorter lengthscales and so sees less as settled
    gap       the emptiest place on the axis-parallel lines through the best point (no model: none can be wrong)
    line      an optimistic point on these lines (UCB with a large multiplier) under the consistent theta

The last part of a known budget exploits alone: what is found too late to be refined is not worth looking for. Random
points come at iterations 16, 32, 64, …: infinitely often, as a consistent estimate needs, and ever more rarely,
because each one costs an evaluation.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from uhebo.acquire.limits import Limits, log_chance
from uhebo.acquire.maximise import Explored, distance_to_nearest, first_free, is_free, line_points
from uhebo.estimate import Fit, Model
from uhebo.gp import Posterior
from uhebo.methods.pareto import LEAST_MARGINS, pareto
from uhebo.methods.step import Proposal, Step
from uhebo.types import Array

NOTHING = 1e-3
"""Improvement, in standard deviations of the warped values, that does not count as one."""
CURIOUS_BETA = 4.0
EVEN_CHANCE = math.log(0.5)
"""Log of the chance of being feasible from which a gap is worth a look."""
MODEL = Model(estimator="map", prior="auto", warped=True, reading="drawn")
"""The consistent theta of the second opinion is by the reading `drawn`: on the tuning problems `observed` is level with
it, and `distinct` a little behind."""


@dataclass(frozen=True)
class Recipe:
    """The ingredients of `auto`, so that each can be left out and its worth be measured."""

    model: Model = MODEL
    acquisition: str = "log-ei"
    turns: tuple[str, ...] = ("opinion", "gap", "line", "gap")
    """Ways of exploring, in turn; none: only exploit."""
    patience: int = 6
    """So many evaluations without an improvement, and exploring begins."""
    endgame: float = 0.15
    """Share of a known budget at its end in which nothing is explored."""
    gate: Callable[[Step, Fit, int], bool] | None = None
    """Another rule than `is_stuck` that says when to explore: step, fit, patience -> whether."""
    margins: tuple[float, ...] = LEAST_MARGINS
    """With several objectives: how far the reference point lies below the front at least, in turn."""
    first_random: int | None = 16
    """The first random point, then at every power of 2; None: there is none."""


RECIPE = Recipe()


def auto(step: Step, recipe: Recipe = RECIPE) -> Proposal:
    """The default: LogEI by MAP on warped values; second opinions and unexplored lines once that leads nowhere."""
    step = step.under(recipe.model, recipe.acquisition)
    t = step.slot.t
    if recipe.first_random is not None and t >= recipe.first_random and t & (t - 1) == 0:
        return step.random()
    if not step.history.finished:
        return step.no_data()
    if step.history.objectives > 1:
        curious = bool(recipe.turns) and t % 2 == 0 and not is_endgame(step, recipe)
        return pareto(step, recipe.patience if curious else None, recipe.margins)
    fit = step.fit(step.model_used.estimator)
    stuck = (recipe.gate or no_improvement)(step, fit, recipe.patience)
    if t % 2 or not recipe.turns or not stuck or is_endgame(step, recipe):
        return step.model_from(fit)
    turn = recipe.turns[sum("move" in trial.tags for trial in step.history.trials) % len(recipe.turns)]
    if turn == "opinion":
        return step.model("consistent", move="opinion")
    centre = step.best_observed(fit.posterior)
    explore = gap(step, centre) if turn == "gap" else line(step, centre)
    # The lines of a discrete space may hold nothing new.
    return explore if is_free(explore.x[None], step.explored())[0] else step.model_from(fit)


def no_improvement(step: Step, _: Fit, patience: int) -> bool:
    """Whether the last few evaluations brought nothing: a counter that knows nothing of the model."""
    return is_stuck(step.history.in_order(step.data.y), patience)


def is_stuck(y: Array, patience: int) -> bool:
    """Whether the last few values, in order of their trials, brought no improvement worth the name. (Failures, -inf,
    bring none; while there is nothing feasible at all, the search for it goes on.)"""
    before = len(y) - patience
    return before > 0 and bool(np.isfinite(y.max())) and float(y.max() - y[:before].max()) <= NOTHING


def is_endgame(step: Step, recipe: Recipe) -> bool:
    """Whether so little of the budget is left that a new place could not be refined any more."""
    horizon = step.settings.horizon
    return horizon is not None and step.slot.t > (1.0 - recipe.endgame) * horizon


def gap(step: Step, centre: Array) -> Proposal:
    """The place on the lines through `centre` that is farthest from every point evaluated or under way.

    Under constraints, among those that are feasible with a chance of a half, or with the largest there is.
    """
    space, explored, pending = step.history.space, step.explored(), step.pending
    points = line_points(space, centre, step.rng("maximise"))
    chance = log_chance(step.limits, points)
    points = points[chance >= min(float(chance.max()), EVEN_CHANCE)]

    def farthest(occupied: Array) -> Array:
        return first_free(points, distance_to_nearest(space, points, occupied), explored)

    occupied = np.concatenate([step.history.data.X, pending.points])
    point = pending.in_turn(occupied, farthest, lambda occupied, point: np.concatenate([occupied, point[None]]))
    return Proposal(point, {"role": "model", "move": "gap"})


def line(step: Step, centre: Array) -> Proposal:
    """The largest upper confidence bound on the lines through `centre`, under the consistent theta."""
    fit = step.fit("consistent")
    points = line_points(step.history.space, centre, step.rng("maximise"))

    def highest(posteriors: tuple[Posterior, ...], explored: Explored, limits: Limits) -> Array:
        return first_free(points, step.surface(posteriors, limits, "ucb", CURIOUS_BETA)(points), explored)

    point = step.pending.next_point(fit.posteriors, step.explored(), highest, limits=step.limits)
    return Proposal(point, {"role": "model", "move": "line", **step.record(fit)})
