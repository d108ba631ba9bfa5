"""What became of a trial: finished, failed, pruned, or abandoned.

A failure tells something of its place. A trial that was skipped, interrupted or lost with its worker tells nothing, and
Optuna has one state for all of these. What sets them apart is kept in user attributes:

    uhebo:skipped   of a trial that was skipped, or is read as such (`uhebo.optuna_.corrections`)
    uhebo:dropped   of a trial that is read as dropped
    uhebo:failure   why a trial failed, in words; two of them stand for a trial that was given up
    retry_history   (Optuna's) trials whose worker died, in the trial that tries again
"""

from collections.abc import Sequence
from contextlib import suppress

from optuna.exceptions import UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from uhebo.belief.history import State
from uhebo.optuna_.gaps import storage_of

FAILURE = "uhebo:failure"
"""User attribute of a failed trial: why."""
SKIPPED = "uhebo:skipped"
DROPPED = "uhebo:dropped"
"""User attributes of trials that were skipped, or dropped: the reason, or True."""
INTERRUPTED = "interrupted"
"""How the reason begins where a trial was interrupted: by Ctrl-C, a signal, or the end of its run."""
DIED = "workers died with this trial"
"""How the reason ends where nobody is left to evaluate a trial."""


def abandoned(trials: Sequence[FrozenTrial]) -> set[int]:
    """Numbers of the failed trials that say nothing of their place."""
    failed = [trial for trial in trials if trial.state == TrialState.FAIL]
    if not failed:
        return set()
    found = {trial.number for trial in failed if is_left_out(trial) or _given_up(trial)}
    for trial in trials:
        found.update(number for number in trial.system_attrs.get("retry_history", ()) if isinstance(number, int))
    return found & {trial.number for trial in failed}


def is_left_out(trial: FrozenTrial) -> bool:
    """Whether a person said that the trial was not run, or is not to count."""
    return SKIPPED in trial.user_attrs or DROPPED in trial.user_attrs


def state_name(trial: FrozenTrial) -> str:
    """Optuna's name of a trial's state in small letters; "skipped" and "dropped" where a person said so."""
    if trial.state == TrialState.FAIL and is_left_out(trial):
        return "dropped" if DROPPED in trial.user_attrs else "skipped"
    return trial.state.name.lower()


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
        end_without_value(study, trial, FAILURE, INTERRUPTED)


def end_without_value(study: Study, trial: FrozenTrial, attribute: str, why: str | bool) -> None:
    """End a trial that is under way or in the queue, and keep why in a user attribute."""
    storage = storage_of(study)
    # FrozenTrial._trial_id: the storage's methods, which are public, want the id, and a trial shows its number only.
    trial_id = trial._trial_id
    storage.set_trial_user_attr(trial_id, attribute, why)
    storage.set_trial_state_values(trial_id, TrialState.FAIL)
