"""What became of the trials of a study."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from optuna.study import Study
from optuna.trial import TrialState

from uhebo.optuna_.trial_log import infinite_values


@dataclass(frozen=True)
class Trials:
    """How many trials there are and what became of them."""

    total: int
    finished: int
    failed: int
    """Failed or pruned."""
    running: int
    usable: int
    """Finished, with a finite value, and inside the current ranges: what the model is fitted to."""
    infinite: int
    """Of the usable ones, how many have an infinite value, taken as the worst or best finite one."""


def count_trials(study: Study, usable: int) -> Trials:
    """What became of the trials of a study of which so many are usable."""
    trials = study.get_trials(deepcopy=False)
    states = Counter(trial.state for trial in trials)
    return Trials(
        total=len(trials),
        finished=states[TrialState.COMPLETE],
        failed=states[TrialState.FAIL] + states[TrialState.PRUNED],
        running=states[TrialState.RUNNING] + states[TrialState.WAITING],
        usable=usable,
        infinite=infinite_values(trials)[0] if usable else 0,
    )
