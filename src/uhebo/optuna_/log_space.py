"""The search space that a study's log has shown."""

from collections.abc import Sequence

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from uhebo.errors import InvalidInputError
from uhebo.space import SearchSpace
from uhebo.space.infer import Record, infer_conditions
from uhebo.space.rules import GivenRule, names_read

ENDED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)


MOST_OBJECTIVES = 4
"""Objectives of a study. With more, nearly every trial is on the front, and a hypervolume says little."""


def refuse_several_objectives(study: Study) -> None:
    if len(study.directions) > 1:
        raise InvalidInputError(
            f"this takes one objective, and the study has {len(study.directions)}; combine them into one value"
        )


def refuse_too_many_objectives(study: Study) -> None:
    if len(study.directions) > MOST_OBJECTIVES:
        raise InvalidInputError(
            f"uhebo optimises up to {MOST_OBJECTIVES} objectives and this study has {len(study.directions)}; "
            "combine some of them into one value, or use optuna.samplers.NSGAIIISampler"
        )


def space_of_log(
    study: Study, trials: Sequence[FrozenTrial] | None = None, subject_to: Sequence[GivenRule] = ()
) -> SearchSpace:
    """All parameters that trials had, each with its latest distribution (ranges may have changed), and the conditions
    under which trials have them; empty while no trial has finished.

    `trials` are all of the study's, if they have been read already. A trial that failed or was pruned shows what there
    is; what it lacks, it may not have come to. Of the rules `subject_to`, those apply whose parameters are all known.
    """
    refuse_too_many_objectives(study)
    trials = study.get_trials(deepcopy=False) if trials is None else trials
    finished = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    if not finished:
        return SearchSpace.of({})
    latest: dict[str, BaseDistribution] = {}
    ended = [trial for trial in trials if trial.state in ENDED]
    # A finished trial's word on a range counts more than a failed one's.
    for trial in sorted(ended, key=lambda trial: (trial.state == TrialState.COMPLETE, trial.number)):
        latest.update(trial.distributions)
    varying = {name: latest[name] for name in sorted(latest) if not latest[name].single()}
    conditions = {}
    if any(len(trial.distributions) != len(latest) for trial in finished):
        records = [Record(trial.params, trial.state == TrialState.COMPLETE) for trial in ended]
        conditions = infer_conditions(records, varying)
    rules = [rule for rule in subject_to if names_read(rule) <= latest.keys()]
    return SearchSpace.of(varying, conditions, rules, others=latest.keys() - varying.keys())
