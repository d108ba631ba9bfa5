"""The search space that a study's log has shown."""

from collections.abc import Sequence
from dataclasses import dataclass

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from uhebo.errors import InvalidInputError


@dataclass(frozen=True)
class SharedSpace:
    """Parameters that every finished trial has, and those that only some have."""

    distributions: dict[str, BaseDistribution]
    conditional: tuple[str, ...]


def refuse_several_objectives(study: Study) -> None:
    if len(study.directions) > 1:
        raise InvalidInputError(
            f"uhebo optimises one objective and this study has {len(study.directions)}; "
            "combine them into one value, or use optuna.samplers.NSGAIISampler"
        )


def shared_space(study: Study, trials: Sequence[FrozenTrial] | None = None) -> SharedSpace:
    """The space all finished trials share, each parameter with its latest distribution: ranges may have changed.

    `trials` are all of the study's, if they have been read already.
    """
    refuse_several_objectives(study)
    trials = study.get_trials(deepcopy=False) if trials is None else trials
    finished = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    if not finished:
        return SharedSpace({}, ())
    every: set[str] = set().union(*(trial.distributions for trial in finished))
    shared = every.intersection(*(trial.distributions for trial in finished))
    latest = max(finished, key=lambda trial: trial.number).distributions
    varying = {name: latest[name] for name in sorted(shared) if not latest[name].single()}
    return SharedSpace(varying, tuple(sorted(every - shared)))
