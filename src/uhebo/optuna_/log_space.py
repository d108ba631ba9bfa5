"""The search space of a study: what its log has shown, and what was declared."""

from collections.abc import Sequence, Set

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from uhebo.errors import InvalidInputError
from uhebo.optuna_.corrections import trials_of
from uhebo.optuna_.extensions import Extension, extended_space, extensions_of
from uhebo.space import Rule, SearchSpace
from uhebo.space.infer import Record, infer_conditions
from uhebo.space.rules import GivenRule, names_read

GIVEN_UP = 8
"""Trials in a row without a parameter after which the objective is taken to ask for it no more."""
ENDED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)


MOST_OBJECTIVES = 4
"""Objectives of a study. With more, nearly every trial is on the front, and a hypervolume says little."""

FOR_MORE = "combine some of them into one value, or use optuna.samplers.NSGAIIISampler"


def refuse_several_objectives(study: Study) -> None:
    if len(study.directions) > 1:
        raise InvalidInputError(
            f"this takes one objective, and the study has {len(study.directions)}; uhebo.optimize takes several, or "
            "combine them into one value"
        )


def refuse_too_many_objectives(study: Study) -> None:
    if len(study.directions) > MOST_OBJECTIVES:
        raise InvalidInputError(
            f"uhebo optimises up to {MOST_OBJECTIVES} objectives and this study has {len(study.directions)}; {FOR_MORE}"
        )


def _given_up(finished: Sequence[FrozenTrial], names: Set[str]) -> set[str]:
    """Parameters that none of the latest trials has, and no condition explains it: the objective asks no more."""
    latest = sorted(finished, key=lambda trial: trial.number)[-GIVEN_UP:]
    return {name for name in names if len(latest) == GIVEN_UP and not any(name in t.distributions for t in latest)}


def space_of_log(
    study: Study,
    trials: Sequence[FrozenTrial] | None = None,
    declared: SearchSpace | None = None,
    subject_to: Sequence[GivenRule] = (),
    made: Sequence[Extension] | None = None,
) -> SearchSpace:
    """All parameters that trials had, each with its latest distribution (ranges may have changed), and the conditions
    under which trials have them; nothing while no trial has finished or failed, unless it was declared.

    `trials` are all of the study's, and `made` the changes of its space, if they have been read already. A trial that
    failed or was pruned shows what there is; what it lacks, it may not have come to. A parameter that the latest trials
    lack for no reason that shows (it was renamed, say) plays no part any more. What was declared counts more than what
    was seen. Of the rules `subject_to`, those apply whose parameters are all known.
    """
    refuse_too_many_objectives(study)
    trials = trials_of(study) if trials is None else trials
    made = extensions_of(study) if made is None else made
    known = {} if declared is None else extended_space(made, declared.distributions)
    finished = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    latest: dict[str, BaseDistribution] = {}
    ended = [trial for trial in trials if trial.state in ENDED]
    if not any(trial.state in (TrialState.COMPLETE, TrialState.FAIL) for trial in ended):
        ended = []
    # A finished trial's word on a range counts more than a failed one's.
    for trial in sorted(ended, key=lambda trial: (trial.state == TrialState.COMPLETE, trial.number)):
        latest.update(trial.distributions)
    latest = extended_space(made, latest) if latest else latest
    latest |= known
    read = {name for rule in subject_to for name in names_read(rule)}
    kept = (name for name in sorted(latest) if name in known or name in read or not latest[name].single())
    varying = {name: latest[name] for name in kept}
    conditions: dict[str, Rule] = {}
    if any(len(trial.distributions) != len(latest) for trial in finished):
        records = [Record(trial.params, trial.state == TrialState.COMPLETE) for trial in ended]
        inferred = infer_conditions(records, varying)
        conditions = {name: rule for name, rule in inferred.items() if name not in known}
        gone = _given_up(finished, varying.keys() - known - conditions.keys())
        for _ in conditions:  # what was asked for under it goes with it
            gone |= {name for name, rule in conditions.items() if gone & set(rule.names)}
        conditions = {name: rule for name, rule in conditions.items() if name not in gone}
        varying = {name: distribution for name, distribution in varying.items() if name not in gone}
    if declared is not None:
        conditions |= declared.conditions
    rules = [rule for rule in subject_to if names_read(rule) <= varying.keys()]
    return SearchSpace.of(varying, conditions, rules, others=latest.keys() - varying.keys())
