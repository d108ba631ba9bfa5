"""Points of a person's choosing: at random, the best once more, near a trial, with some parameters fixed.

A trial at such a point is data like any other, and no step of the method's own schedule.
"""

import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import TrialState, create_trial

from uhebo.acquire.functions import log_ei
from uhebo.acquire.hypervolume import HypervolumeSurface
from uhebo.acquire.limits import log_chance
from uhebo.belief import Belief
from uhebo.errors import InvalidInputError
from uhebo.gp.posterior import Posterior
from uhebo.methods import Proposal, Step
from uhebo.methods.pareto import inferred_reference
from uhebo.numerics.front import boxes, front_above
from uhebo.optuna_.gaps import own_storage_of, study_id_of
from uhebo.space import SearchSpace
from uhebo.space.sampling import uniform
from uhebo.types import Array, Rng

ORIGIN, REPEATS = "uhebo:origin", "uhebo:repeats"
"""User attributes of a trial: where its point comes from, in words, and the trial whose point it has once more."""
NEAR = 0.1
"""Share of each range on either side of a trial that counts as near it."""
DRAWN, REFINED = 2048, 256
"""Points drawn over the whole part of the space, and in each round around the best of them."""
ROUNDS = (0.1, 0.03, 0.01)
"""Deviations of these rounds, as shares of the part."""
LEADERS = 8


def point_rng(seed: int, number: int, purpose: str) -> Rng:
    """Random numbers of one suggestion: same seed and trial number, same point."""
    return np.random.default_rng([seed, number, zlib.crc32(purpose.encode())])


def random_point(space: SearchSpace, rng: Rng) -> dict[str, Any]:
    """A point drawn uniformly from what the rules allow."""
    return space.decode(uniform(space, rng, 1)[0])


def promising_point(
    space: SearchSpace,
    belief: Belief | None,
    pending: Array,
    rng: Rng,
    *,
    near: Mapping[str, Any] | None = None,
    fixed: Mapping[str, Any] | None = None,
    apart: float = 0.0,
    reference: Sequence[float] | None = None,
) -> dict[str, Any]:
    """The point of the largest expected improvement in a part of the space, of several objectives that of their
    hypervolume; at random there while there is no model.

    Args:
        space: with the columns of the belief.
        belief: of all objectives.
        pending: rows under way: each counts as if it had given what is predicted for it.
        rng: of this suggestion.
        near: parameters within `NEAR` of which the point must lie; choices are the same.
        fixed: parameters that are given.
        apart: share of each range within which no pending point may lie, as long as there are others.
        reference: the point that the hypervolume is measured from, where one was given, as values are told.
    """
    low, high, columns = _part(space, near, fixed or {})
    rows = _allowed(space, _drawn(space, low, high, rng, DRAWN), columns)
    clear = ~_beside(space, rows, pending, apart)
    rows = rows[clear] if clear.any() else rows
    if not len(rows):
        raise InvalidInputError("no point is allowed there: the rules or conditions leave none; loosen what is fixed")
    if belief is None:
        return space.decode(rows[0])
    worth = _worth(belief, pending, reference)
    scores = worth(rows)
    numeric = space.domain.numeric
    for deviation in ROUNDS:
        leaders = rows[np.argsort(-scores, kind="stable")[:LEADERS]]
        moved = leaders[rng.integers(len(leaders), size=REFINED)]
        step = deviation * (high - low)[numeric] * rng.standard_normal((REFINED, len(numeric)))
        moved[:, numeric] = np.clip(moved[:, numeric] + step, low[numeric], high[numeric])
        moved = _allowed(space, space.snap(moved), columns)
        moved = moved[~_beside(space, moved, pending, apart)]
        rows, scores = np.vstack([leaders, moved]), np.concatenate([worth(leaders), worth(moved)])
    return space.decode(rows[int(np.argmax(scores))])


def _worth(belief: Belief, pending: Array, reference: Sequence[float] | None) -> Callable[[Array], Array]:
    """The logarithm of the expected improvement, of the hypervolume where there are several objectives, and of the
    chance that the limits are kept."""
    posteriors = [found.posterior for found in belief.objectives]
    if len(pending):
        posteriors = [posterior.grow(pending, posterior.predict(pending)[0]) for posterior in posteriors]
    kept = np.array([trial.feasible for trial in belief.history.finished])
    values = np.array([found.smoothed for found in belief.objectives]).T[kept if kept.any() else slice(None)]
    limits = tuple(found.limit for found in belief.outcomes[len(posteriors) :])
    improvement: Callable[[Array], Array]
    if len(posteriors) > 1:
        worst = inferred_reference(values)
        if reference is not None:
            told = zip(belief.objectives, reference, strict=True)
            worst = np.array([found.units.modelled(each) for found, each in told])
        predicted = [posterior.predict(pending)[0] for posterior in posteriors] if len(pending) else []
        front = np.concatenate([values, np.array(predicted).T]) if predicted else values
        improvement = HypervolumeSurface(posteriors, *boxes(front_above(front, worst), worst))
    else:
        improvement = _Improvement(posteriors[0], float(values.max()))
    return lambda rows: np.asarray(improvement(rows) + (log_chance(limits, rows) if limits else 0.0))


@dataclass(frozen=True)
class _Improvement:
    """log EI of one objective over a value."""

    posterior: Posterior
    over: float

    def __call__(self, rows: Array) -> Array:
        mean, variance = self.posterior.predict(rows)
        return np.asarray(log_ei(self.over)(mean, np.sqrt(np.maximum(variance, 1e-18)))[0])


def kept_apart(step: Step, proposal: Proposal, apart: float) -> Proposal:
    """The proposal, or the most promising point beside it where a point under way is nearly the same: in one batch, to
    people who make the experiments, two such points are one."""
    history = step.history
    under_way = [trial.x for trial in history.trials if trial.state == "running" and trial.x is not None]
    pending = np.array(under_way).reshape(-1, len(history.space.names))
    if (
        history.objectives > 1
        or not history.finished
        or not _beside(history.space, np.asarray(proposal.x)[None], pending, apart).any()
    ):
        return proposal
    rng = point_rng(step.settings.seed, step.slot.number, "apart")
    return replace(
        proposal, x=history.space.encode(promising_point(history.space, step.believe(), pending, rng, apart=apart))
    )


def shared_by_model(step: Step, proposal: Proposal, names: Collection[str]) -> Proposal:
    """The proposal; an exploration point takes these parameters, which a whole batch is to share, from the point that
    the model finds the most promising."""
    history = step.history
    space, y = history.space, history.data.y if history.finished else np.empty(0)
    if proposal.tags.get("role") != "random" or history.objectives > 1 or len(y) < 2 or not y.any():
        return proposal
    if space.conditions or space.rules:  # what is allowed beside the others need not be allowed here
        return proposal
    under_way = [trial.x for trial in history.trials if trial.state == "running" and trial.x is not None]
    rng = point_rng(step.settings.seed, step.slot.number, "same")
    best = promising_point(space, step.believe(), np.array(under_way).reshape(-1, len(space.names)), rng)
    here = space.decode(proposal.x) | {name: best[name] for name in names if name in best}
    return replace(proposal, x=space.encode(here))


def _beside(space: SearchSpace, rows: Array, pending: Array, apart: float) -> NDArray[np.bool_]:
    """Which rows have a pending one within `apart` of each range, with the same choices."""
    if not len(pending) or not apart:
        return np.zeros(len(rows), dtype=np.bool_)
    gaps = np.abs(rows[:, None] - pending[None])
    near = np.asarray((gaps[:, :, space.domain.numeric] <= apart).all(axis=2))
    return np.asarray((near & (gaps[:, :, space.domain.categorical] == 0.0).all(axis=2)).any(axis=1))


def _part(
    space: SearchSpace, near: Mapping[str, Any] | None, fixed: Mapping[str, Any]
) -> tuple[Array, Array, dict[int, float]]:
    """Ends of the part in each column, and the columns that are given with their values."""
    low, high = np.zeros(len(space.names)), np.ones(len(space.names))
    low[space.domain.categorical], high[space.domain.categorical] = np.nan, np.nan
    given: dict[int, float] = {}
    centre = None if near is None else space.encode(near)
    for column, name in enumerate(space.names):
        if centre is not None and column in space.domain.categorical:
            given[column] = float(centre[column])
        elif centre is not None:
            low[column], high[column] = max(0.0, centre[column] - NEAR), min(1.0, centre[column] + NEAR)
        if name in fixed:
            given[column] = float(SearchSpace.of({name: space.distributions[name]}).encode({name: fixed[name]})[0])
    for column, value in given.items():
        low[column] = high[column] = value
    return low, high, given


def _drawn(space: SearchSpace, low: Array, high: Array, rng: Rng, count: int) -> Array:
    rows = space.domain.uniform(rng, count)
    known = ~np.isnan(low)
    rows[:, known] = low[known] + (high - low)[known] * rng.random((count, int(known.sum())))
    return space.snap(rows)


def _allowed(space: SearchSpace, rows: Array, given: Mapping[int, float]) -> Array:
    """Rows that keep the rules and have what is given."""
    kept = space.allowed(rows) if space.rules else np.ones(len(rows), dtype=np.bool_)
    for column, value in given.items():
        kept &= np.abs(rows[:, column] - value) < 1e-9
    return rows[kept]


def start_trial(
    study: Study, params: Mapping[str, Any], space: Mapping[str, BaseDistribution], attributes: Mapping[str, Any]
) -> int:
    """Begin a trial at this point, which waits for its value as one that was asked for; its number."""
    template = create_trial(
        state=TrialState.RUNNING,
        params=dict(params),
        distributions={name: space[name] for name in params},
        user_attrs=dict(attributes),
        system_attrs={"fixed_params": dict(params)},  # as Optuna marks a point that was enqueued
    )
    storage = own_storage_of(study)
    return storage.get_trial_number_from_id(storage.create_new_trial(study_id_of(study), template))
