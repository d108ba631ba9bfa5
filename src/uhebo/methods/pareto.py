"""Several objectives: the point with the largest expected gain of hypervolume, one GP per objective.

`auto` works so on a study with two to four objectives. Each objective is standardised by itself, and all of it happens
in these units: the front, the reference point, the hypervolume. The reference point is what the user gave, or the worst
value of each objective on the front and some way further down:

    reference_i = min_front y_i - max(0.1 (max_front y_i - min_front y_i), margin)

Two things change from pair to pair of suggestions, because neither choice is right everywhere: with a large margin
values are as they are, and an early, short front grows at its ends; with a small one they are warped, and its middle is
filled. Where objectives have a bound that many points reach, a warp alone promises something beyond it, m times over;
where they have long tails, none is as bad (`uhebo_experiments.benchmarks.front_recipe`). Points under way count as
part of the front at their predicted means. When the last six evaluations have not enlarged the hypervolume, every
second step asks for a second opinion: the same under the consistent thetas. Under constraints the front is that of
the feasible trials, and the chance to be feasible is added in logarithms; while nothing is feasible, it is all that
counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from uhebo.acquire.hypervolume import HypervolumeSurface
from uhebo.acquire.limits import Limits, feasibility_surface, weights
from uhebo.acquire.maximise import Explored, maximise
from uhebo.acquire.pending import limits_with_pending, with_pending
from uhebo.belief.belief import OutcomeBelief
from uhebo.gp import Posterior
from uhebo.methods.step import Proposal, Step
from uhebo.numerics.front import boxes, front_above, hypervolume, non_dominated
from uhebo.types import Array

MARGIN = 0.1
LEAST_MARGINS = (0.5, 0.05)
"""How far the reference point lies below the worst values of the front: as a share of its extent, and at least, in
standard deviations of the values, in turn."""
NOTHING = 1e-3
"""Share of the hypervolume by which it has to grow for an evaluation to count as an improvement."""


@dataclass(frozen=True)
class _State:
    """What a proposal is made from, once points under way are known."""

    posteriors: tuple[Posterior, ...]
    limits: Limits
    front: Array
    explored: Explored

    def with_pending(self, points: Array) -> "_State":
        if not len(points):
            return self
        predicted = np.array([posterior.predict(points)[0] for posterior in self.posteriors]).T
        return replace(
            self,
            posteriors=with_pending(self.posteriors, points),
            limits=limits_with_pending(self.limits, points),
            front=np.concatenate([self.front, predicted]),
        )


def pareto(step: Step, patience: int | None = None, margins: Sequence[float] = LEAST_MARGINS) -> Proposal:
    """The maximiser of the expected hypervolume improvement; once it has led nowhere for `patience` evaluations, under
    the consistent thetas."""
    objectives, tags = step.believe().objectives, {}
    values = cleaned(step, objectives)
    if patience is not None and is_stuck(step, values, patience, given_reference(step, objectives)):
        objectives, tags = step.believe("consistent").objectives, {"move": "opinion"}
        values = cleaned(step, objectives)
    counted = values[step.feasible] if step.feasible.any() else values[:0]
    margin = margins[step.slot.pair % len(margins)]
    reference = reference_point(step, objectives, counted if len(counted) else values, margin)
    pending, rng = step.pending, step.rng("maximise")

    def choose(state: _State) -> Array:
        if not len(counted):
            return maximise(feasibility_surface(state.posteriors, state.limits), state.explored, rng)
        lower, upper = boxes(front_above(state.front, reference), reference)
        surface = HypervolumeSurface(state.posteriors, lower, upper, weights(state.limits))
        return maximise(surface, state.explored, rng)

    def take(state: _State, point: Array) -> _State:
        return replace(state.with_pending(point[None]), explored=state.explored.with_taken(point))

    start = _State(tuple(found.posterior for found in objectives), step.limits, counted, explored(step, values))
    point = pending.in_turn(start.with_pending(pending.points), choose, take)
    return Proposal(point, {"role": "model", **step.record(*(found.fit for found in objectives)), **tags})


def cleaned(step: Step, objectives: Sequence[OutcomeBelief]) -> Array:
    """Values of the finished trials in the GPs' units, (n, m); with noise, what the models take them for."""
    if step.model_used.noise == "none":
        return np.array([found.data.y for found in objectives]).T
    return np.array([found.smoothed for found in objectives]).T


def reference_point(step: Step, objectives: Sequence[OutcomeBelief], values: Array, margin: float) -> Array:
    """The user's reference point in the GPs' units, or the one inferred from the front."""
    given = given_reference(step, objectives)
    return inferred_reference(values, margin) if given is None else given


def given_reference(step: Step, objectives: Sequence[OutcomeBelief]) -> Array | None:
    """The user's reference point in the GPs' units; None where there is none."""
    given = step.settings.reference_point
    if given is None:
        return None
    return np.array([found.units.modelled(told) for found, told in zip(objectives, given, strict=True)])


def inferred_reference(values: Array, margin: float = LEAST_MARGINS[0]) -> Array:
    """The worst values of the front, and the margin below."""
    front = values[non_dominated(values)]
    return np.asarray(front.min(axis=0) - np.maximum(MARGIN * np.ptp(front, axis=0), margin))


def explored(step: Step, values: Array) -> Explored:
    """What the maximiser needs to know: the front's points are the leaders."""
    if not step.feasible.any():
        return step.explored()
    counted = np.flatnonzero(step.feasible)
    front = counted[non_dominated(values[counted])]
    return step.explored_around(step.data.X[front])


def is_stuck(step: Step, values: Array, patience: int, given: Array | None = None) -> bool:
    """Whether the last few evaluations have not enlarged the hypervolume, measured from the reference point given, or
    from the inferred one while no trial is beyond that."""
    numbers = np.array([trial.number for trial in step.history.finished])
    ended = sorted(trial.number for trial in step.history.trials if trial.state != "running")
    if len(ended) <= patience or not step.feasible.any():
        return False
    before = step.feasible & (numbers < ended[-patience])
    feasible = values[step.feasible]
    reached = given is not None and (feasible > given).all(axis=1).any()
    reference = given if given is not None and reached else inferred_reference(feasible)
    now = hypervolume(feasible, reference)
    return bool(before.any()) and now - hypervolume(values[before], reference) <= NOTHING * now
