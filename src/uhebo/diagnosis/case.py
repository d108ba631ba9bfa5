"""What a diagnosis starts from: what became of the trials, and the belief in what they say."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from optuna.study import Study
from optuna.trial import TrialState

from uhebo.belief import Belief, History
from uhebo.optuna_.believe import StudyModel, model_of
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


@dataclass(frozen=True)
class Case:
    """A study as the diagnosis sees it."""

    trials: Trials
    history: History
    conditional: tuple[str, ...]
    model: StudyModel
    """Whose model is judged."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.history.space.names

    def believe(self) -> Belief:
        return self.model.believe()


def read_case(study: Study) -> Case:
    """Read the study; nothing is fitted yet."""
    model = model_of(study)
    usable = len(model.history.finished)
    all_trials = study.get_trials(deepcopy=False)
    states = Counter(trial.state for trial in all_trials)
    trials = Trials(
        total=sum(states.values()),
        finished=states[TrialState.COMPLETE],
        failed=states[TrialState.FAIL] + states[TrialState.PRUNED],
        running=states[TrialState.RUNNING] + states[TrialState.WAITING],
        usable=usable,
        infinite=infinite_values(all_trials)[0] if usable else 0,
    )
    return Case(trials, model.history, model.conditional, model)
