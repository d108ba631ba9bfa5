"""What became of a trial: finished, failed, pruned, or abandoned; and to skip one.

A failure tells something of its place. A trial that was skipped, interrupted or lost with its worker tells nothing, and
Optuna has one state for all of these. What sets them apart is kept in user attributes:

    uhebo:skipped   of a trial that was skipped; of the study, numbers of trials that were skipped after they had ended
    uhebo:failure   why a trial failed, in words; two of them stand for a trial that was given up
    retry_history   (Optuna's) trials whose worker died, in the trial that tries again
"""

from collections.abc import Sequence
from contextlib import suppress

from optuna.exceptions import UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from uhebo.belief.history import State
from uhebo.errors import InvalidInputError
from uhebo.optuna_.gaps import storage_of, study_id_of

FAILURE = "uhebo:failure"
"""User attribute of a failed trial: why."""
SKIPPED = "uhebo:skipped"
INTERRUPTED = "interrupted"
"""How the reason begins where a trial was interrupted: by Ctrl-C, a signal, or the end of its run."""
DIED = "workers died with this trial"
"""How the reason ends where nobody is left to evaluate a trial."""


def abandoned(study: Study, trials: Sequence[FrozenTrial]) -> set[int]:
    """Numbers of the failed trials that say nothing of their place."""
    failed = [trial for trial in trials if trial.state == TrialState.FAIL]
    if not failed:
        return set()
    found = {trial.number for trial in failed if SKIPPED in trial.user_attrs or _given_up(trial)}
    for trial in trials:
        found.update(number for number in trial.system_attrs.get("retry_history", ()) if isinstance(number, int))
    # Through the storage: a bracket of Hyperband's stands for the study here, and has no user attributes.
    later = storage_of(study).get_study_user_attrs(study_id_of(study)).get(SKIPPED, ())
    found.update(number for number in later if isinstance(number, int))
    return found & {trial.number for trial in failed}


def _given_up(trial: FrozenTrial) -> bool:
    reason = trial.user_attrs.get(FAILURE)
    return isinstance(reason, str) and (reason.startswith(INTERRUPTED) or reason.endswith(DIED))


def state_of(trial: FrozenTrial, value: float | None, abandoned: set[int]) -> State:
    """What became of a trial whose value, if it can be used, is `value`."""
    if trial.state == TrialState.RUNNING:
        return "running"
    if trial.state == TrialState.PRUNED:
        return "pruned"
    if trial.number in abandoned:
        return "abandoned"
    if value is not None:
        return "finished"
    # Infinite values, while none is finite, are not failures: they will be the worst or the best of values.
    return "failed" if trial.state == TrialState.FAIL else "pruned"


def interrupt(study: Study, trial: FrozenTrial) -> None:
    """End a running trial that nobody will finish; one that has ended meanwhile stays as it is."""
    with suppress(UpdateFinishedTrialError):
        _end(study, trial, FAILURE, INTERRUPTED)


def skip(study: Study, number: int, reason: str = "") -> None:
    """Leave a trial out: it will not be evaluated, and its place is as good as if it had never been proposed.

    A trial under way or in the queue is ended; one that was told as failed counts as skipped from now on. One that has
    a value keeps it: there is nothing to skip.
    """
    by_number = {trial.number: trial for trial in study.get_trials(deepcopy=False)}
    if number not in by_number:
        raise InvalidInputError(f"there is no trial {number!r}; the study has {len(by_number)} trials, from 0")
    trial = by_number[number]
    if trial.state in (TrialState.RUNNING, TrialState.WAITING):
        _end(study, trial, SKIPPED, reason or True)
    elif trial.state == TrialState.FAIL:
        if SKIPPED not in trial.user_attrs:
            # Optuna lets nobody write into a trial that has ended.
            study.set_user_attr(SKIPPED, sorted({*study.user_attrs.get(SKIPPED, ()), int(number)}))
    else:
        raise InvalidInputError(
            f"trial {number} is {trial.state.name.lower()}, with a value of {trial.value!r}; only a trial without a "
            "value can be skipped"
        )


def _end(study: Study, trial: FrozenTrial, attribute: str, why: str | bool) -> None:
    storage = storage_of(study)
    # FrozenTrial._trial_id: the storage's methods, which are public, want the id, and a trial shows its number only.
    trial_id = trial._trial_id
    storage.set_trial_user_attr(trial_id, attribute, why)
    storage.set_trial_state_values(trial_id, TrialState.FAIL)
