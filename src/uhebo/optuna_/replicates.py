"""Trials that are replicates of one point."""

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from uhebo.belief.repeats import replicates
from uhebo.optuna_.extensions import current_space
from uhebo.space import SearchSpace


def measured_again(study: Study, trial: FrozenTrial) -> list[FrozenTrial]:
    """Every finished trial at the settings of this one, itself included; numbers that went through a file or hands
    may differ in their last digits."""
    finished = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    alike = [each for each in finished if each.params.keys() == trial.params.keys()]
    space = SearchSpace.of({name: d for name, d in current_space(study).items() if name in trial.params})
    rows = [(each, space.encode(each.params)) for each in alike if space.names and space.contains(each.params)]
    if trial.number not in [each.number for each, _ in rows]:
        return [each for each in finished if each.params == trial.params]
    places = replicates(np.array([row for _, row in rows]))
    own = next(place for (each, _), place in zip(rows, places, strict=True) if each.number == trial.number)
    return [each for (each, _), place in zip(rows, places, strict=True) if place == own]
