"""A study as it is after all changes, for tools that ask the study: Optuna's own, its dashboard, our reports.

It is the same study: what is written goes to where the study is kept. Only the list of its trials is another.
"""

import copy
from collections.abc import Container

import optuna
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from uhebo.optuna_.corrections import applied, read_changes
from uhebo.optuna_.delegating import DelegatingStorage
from uhebo.optuna_.gaps import check_study, is_view, storage_of


class CorrectedStorage(DelegatingStorage):
    """A storage whose trials are read with every change applied."""

    def get_all_trials(
        self, study_id: int, deepcopy: bool = True, states: Container[TrialState] | None = None
    ) -> list[FrozenTrial]:
        changes = read_changes(self.backend.get_study_user_attrs(study_id))
        if not changes:
            return self.backend.get_all_trials(study_id, deepcopy, states)
        trials = applied(changes, self.backend.get_all_trials(study_id, deepcopy=False))
        chosen = trials if states is None else [trial for trial in trials if trial.state in states]
        return copy.deepcopy(chosen) if deepcopy else chosen


def corrected(study: Study) -> Study:
    """The study with every change applied, for Optuna's own tools: `corrected(study).best_trial`, its pictures.

    Optuna itself shows what was told: `study.best_trial` knows nothing of `uhebo.amend`.
    """
    check_study(study)
    if is_view(study):
        return study
    storage = CorrectedStorage(storage_of(study))
    return optuna.load_study(study_name=study.study_name, storage=storage, sampler=study.sampler, pruner=study.pruner)
