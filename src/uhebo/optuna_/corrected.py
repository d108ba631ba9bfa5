"""A study as it is after all changes, for tools that ask the study: Optuna's own, its dashboard, our reports.

It is the same study: what is written goes to where the study is kept. Only its trials are read otherwise; and where the
space was changed, a parameter may be written that Optuna would refuse (`uhebo.optuna_.extensions`).
"""

import copy
from collections.abc import Container, Mapping
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from uhebo.optuna_.beside import first_known, is_accepted
from uhebo.optuna_.corrections import as_read, is_changed
from uhebo.optuna_.delegating import DelegatingStorage
from uhebo.optuna_.extensions import BESIDE, extended_trials, holds, latest, read_extensions
from uhebo.optuna_.gaps import check_study, is_view, storage_of, study_id_of


class CorrectedStorage(DelegatingStorage):
    """A storage whose trials are read with every change applied; of one study, if trials are to be written too."""

    def __init__(self, backend: BaseStorage, study_id: int | None = None) -> None:
        super().__init__(backend)
        self._study_id = study_id

    def get_all_trials(
        self, study_id: int, deepcopy: bool = True, states: Container[TrialState] | None = None
    ) -> list[FrozenTrial]:
        attributes = self.backend.get_study_user_attrs(study_id)
        if not is_changed(attributes):
            return self.backend.get_all_trials(study_id, deepcopy, states)
        trials = as_read(attributes, self.backend.get_all_trials(study_id, deepcopy=False))
        chosen = trials if states is None else [trial for trial in trials if trial.state in states]
        return copy.deepcopy(chosen) if deepcopy else chosen

    def get_trial(self, trial_id: int) -> FrozenTrial:
        trial = self.backend.get_trial(trial_id)
        made = [] if self._study_id is None else read_extensions(self.backend.get_study_user_attrs(self._study_id))
        return extended_trials(made, [trial])[0]

    def set_trial_param(
        self, trial_id: int, param_name: str, param_value_internal: float, distribution: BaseDistribution
    ) -> None:
        value = distribution.to_external_repr(param_value_internal)
        held = self._held(self._study_id, {param_name: distribution}, {param_name: value})
        if param_name in held:
            internal = held[param_name].to_internal_repr(value)
            self.backend.set_trial_param(trial_id, param_name, internal, held[param_name])
        else:
            beside = self.backend.get_trial(trial_id).user_attrs.get(BESIDE, {})
            self.backend.set_trial_user_attr(trial_id, BESIDE, {**beside, param_name: value})

    def create_new_trial(self, study_id: int, template_trial: FrozenTrial | None = None) -> int:
        if template_trial is None:
            return self.backend.create_new_trial(study_id)
        held = self._held(study_id, template_trial.distributions, template_trial.params)
        beside = {name: value for name, value in template_trial.params.items() if name not in held}
        new = copy.copy(template_trial)
        new.params = {name: value for name, value in template_trial.params.items() if name in held}
        new.distributions = held
        new.user_attrs = {**template_trial.user_attrs, **({BESIDE: beside} if beside else {})}
        return self.backend.create_new_trial(study_id, new)

    def _held(
        self, study_id: int | None, wanted: Mapping[str, BaseDistribution], params: Mapping[str, Any]
    ) -> dict[str, BaseDistribution]:
        """Distributions under which the storage can hold these parameters; those that it cannot hold are missing."""
        now = {} if study_id is None else latest(read_extensions(self.backend.get_study_user_attrs(study_id)))
        changed = {name for name, distribution in wanted.items() if now.get(name) == distribution}
        if study_id is None or not changed:
            return dict(wanted)
        known = first_known(self.backend.get_all_trials(study_id, deepcopy=False))
        held = dict(wanted)
        for name in changed:
            if not is_accepted(known.get(name), wanted[name]):
                if holds(known[name], params[name]):
                    held[name] = known[name]
                else:
                    del held[name]
        return held


def corrected(study: Study) -> Study:
    """The study with every change applied, for Optuna's own tools: `corrected(study).best_trial`, its pictures.

    Optuna itself shows what was told: `study.best_trial` knows nothing of `uhebo.amend`.
    """
    check_study(study)
    if is_view(study):
        return study
    storage = CorrectedStorage(storage_of(study), study_id_of(study))
    return optuna.load_study(study_name=study.study_name, storage=storage, sampler=study.sampler, pruner=study.pruner)
