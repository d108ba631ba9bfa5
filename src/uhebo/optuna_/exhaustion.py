"""The end of a finite space: the objective has no noise, and every point has been tried or is under way."""

import copy
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from uhebo.errors import SpaceExhausted
from uhebo.optuna_.corrections import trials_of
from uhebo.optuna_.endings import FAILURE
from uhebo.optuna_.gaps import storage_of
from uhebo.optuna_.trial_log import warn_once
from uhebo.space import SearchSpace

if TYPE_CHECKING:
    from uhebo.optuna_.sampler import UHESampler


def is_exhausted(sampler: "UHESampler", study: Study, trials: Sequence[FrozenTrial]) -> bool:
    """Whether there is nothing left to suggest in a study with these trials."""
    return _used_up(sampler, study, trials) is not None


def _used_up(sampler: "UHESampler", study: Study, trials: Sequence[FrozenTrial]) -> SearchSpace | None:
    """The space, where every point of it has been tried; None where one is left, or points wait in the queue.

    Branches count as the trials have shown them, or as they were declared: a choice that was not tried is a point left.
    """
    if sampler.when_exhausted != "stop":
        return None
    if not trials or any(trial.state == TrialState.WAITING for trial in trials):
        return None
    # The latest ranges of each branch. One that is not finite is known before anything is worked out.
    branches = {frozenset(trial.distributions): trial.distributions for trial in trials if trial.distributions}
    if not branches or not all(map(_is_finite, branches.values())):
        return None
    space = sampler.search_space(study, trials)
    used_up = bool(space.names) and sampler.step(study, trials[-1].number + 1, space, trials).used_up
    return space if used_up else None


def stop_if_last(
    sampler: "UHESampler", study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
) -> None:
    """End `study.optimize` with a trial after which nothing is left; `study.ask` is another's to end."""
    if not _is_finite(trial.distributions) or sampler.when_exhausted != "stop":
        return
    ended = copy.copy(trial)  # Optuna stores the result after the sampler has had its say
    ended.state, ended.values = state, None if values is None else list(values)
    trials = [ended if t.number == trial.number else t for t in trials_of(study)]
    space = _used_up(sampler, study, trials)
    if space is not None and _stop(study):
        _say(study, space)


def end(study: Study, trial: FrozenTrial, space: SearchSpace) -> None:
    """Nothing is left for this trial. In `study.optimize` it is the last, a repeat; elsewhere it ends in an error."""
    if "fixed_params" in trial.system_attrs:
        return
    if _stop(study):
        _say(study, space)
        return
    reason = _reason(space)
    # FrozenTrial._trial_id: for the reason given in `trial_log.write_tags`.
    storage, trial_id = storage_of(study), trial._trial_id
    storage.set_trial_user_attr(trial_id, FAILURE, reason)
    storage.set_trial_state_values(trial_id, TrialState.FAIL)
    raise SpaceExhausted(f"{reason}; when_exhausted='repeat' goes on")


def _is_finite(distributions: dict[str, BaseDistribution]) -> bool:
    return bool(distributions) and SearchSpace.of(distributions).size < math.inf


def _stop(study: Study) -> bool:
    """Whether there is a `study.optimize` that could be told to stop."""
    try:
        study.stop()
    except (AttributeError, RuntimeError):  # a part of a study, as Hyperband's; a study that is asked and told
        return False
    return True


def _say(study: Study, space: SearchSpace) -> None:
    warn_once(study, "exhausted", f"{_reason(space)}: the search ends here; when_exhausted='repeat' goes on")


def _reason(space: SearchSpace) -> str:
    return f"all {space.size:.0f} points of the space have been tried, and repeats have no noise"
