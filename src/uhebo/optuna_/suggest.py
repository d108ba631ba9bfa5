"""Parameters asked of a trial by their distributions, in objectives and workers."""

from __future__ import annotations

import copy
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import Trial


def suggest(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    """The value of one parameter, through the public method for its kind."""
    if isinstance(distribution, FloatDistribution):
        return trial.suggest_float(
            name, distribution.low, distribution.high, log=distribution.log, step=distribution.step
        )
    if isinstance(distribution, IntDistribution):
        return trial.suggest_int(
            name, distribution.low, distribution.high, log=distribution.log, step=distribution.step
        )
    assert isinstance(distribution, CategoricalDistribution)  # Optuna has no other kind
    return trial.suggest_categorical(name, distribution.choices)


def running_trial(study: Study, trial_id: int) -> Trial:
    """A running trial to suggest for, as `study.ask` would return it.

    Optuna's samplers read the log once per trial, from a cache that `ask` empties; a copied study starts with none.
    """
    return Trial(copy.copy(study), trial_id)
