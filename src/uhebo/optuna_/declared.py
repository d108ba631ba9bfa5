"""A declared space and rules on it as a sampler keeps them: checked, said, and as JSON in the study for its readers."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, distribution_to_json, json_to_distribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from uhebo.belief.history import History
from uhebo.errors import InvalidInputError
from uhebo.optuna_.extensions import extensions_of, latest, removed
from uhebo.optuna_.gaps import storage_of, study_id_of
from uhebo.optuna_.trial_log import warn_once
from uhebo.space import SearchSpace, When
from uhebo.space.rules import GivenRule, names_read

SPACE_ATTRIBUTE = "uhebo:worker-space"
"""System attribute of a study that workers share: the space of the first."""
DRAWS = 256
"""Values of one parameter drawn in search of one that the rules allow beside those that a trial has already."""


def checked_rules(given: GivenRule | Iterable[GivenRule]) -> tuple[GivenRule, ...]:
    """One rule or several as a tuple, each in the language of rules; whether its names are parameters is seen later."""
    rules = (given,) if isinstance(given, str) or callable(given) else given
    if not isinstance(rules, Iterable) or isinstance(rules, Mapping):
        raise InvalidInputError(f"subject_to is {given!r}; expected rules such as ['a + b <= 1']")
    found = tuple(rules)
    for rule in found:
        if not isinstance(rule, str) and not callable(rule):
            raise InvalidInputError(f"a rule is {rule!r}; expected a text such as 'a + b <= 1', or a function")
        names_read(rule)
    return found


def space_with_rules(space: Mapping[str, Any] | None, rules: Sequence[GivenRule]) -> SearchSpace | None:
    """A declared space, checked against its rules: it has their parameters, and a point that keeps to them."""
    if space is None:
        return None
    found = SearchSpace.of(space, rules=rules)
    if found.rules and found.names:
        found.seeds  # noqa: B018 (an error where nothing is allowed)
    return found


def say_if_unknown(study: Study, space: SearchSpace, subject_to: Sequence[GivenRule]) -> None:
    """A rule that does not apply, because it reads a parameter that no trial has had, may be misspelt."""
    for rule in subject_to if space.distributions else ():
        for name in sorted(names_read(rule) - space.distributions.keys()):
            known = ", ".join(space.distributions)
            said = f"the rule {rule!r} does not apply yet: no trial has had a parameter {name!r} (there are {known})"
            warn_once(study, f"rule {rule}", said)


def say_if_outside(study: Study, history: History) -> None:
    """Points of the user's own that break a rule are data, and that is said once."""
    space = history.space
    own = [trial for trial in history.trials if not trial.ours and trial.x is not None] if space.rules else []
    broken = ~space.allowed(np.array([trial.x for trial in own])) if own else np.zeros(0, dtype=bool)
    if broken.any():
        numbers = ", ".join(str(trial.number) for trial, bad in zip(own, broken, strict=True) if bad)
        rules = ", ".join(map(str, space.rules))
        said = f"trials of your own break a rule ({rules}): {numbers}; they are data, and no suggestion is like them"
        warn_once(study, "outside the rules", said)


def first_allowed(
    study: Study,
    trial: FrozenTrial,
    name: str,
    distribution: BaseDistribution,
    subject_to: Sequence[GivenRule],
    values: Sequence[Any],
) -> Any:
    """The first of the values that keeps to every rule about this parameter and those the trial has already."""
    there = {**trial.distributions, name: distribution}
    rules = [rule for rule in subject_to if name in names_read(rule) and names_read(rule) <= there.keys()]
    if not rules:
        return values[0]
    space = SearchSpace.of(there, rules=rules)
    allowed = space.allowed(space.encode_many([{**trial.params, name: value} for value in values]))
    if not allowed.any():
        texts = ", ".join(map(str, rules))
        said = (
            f"trial {trial.number} breaks a rule ({texts}): its parameters were drawn one by one, before any trial had "
            "shown them all; pass space= to the sampler, and the first trial keeps to the rules too"
        )
        warn_once(study, "rule broken", said)
    return values[int(allowed.argmax())]


def to_record(space: SearchSpace | None, subject_to: Sequence[GivenRule]) -> dict[str, Any]:
    """The arguments `space` and `subject_to` as JSON can hold them, where they were given; functions are left out."""
    record: dict[str, Any] = {}
    if subject_to:
        record["subject_to"] = [rule for rule in subject_to if isinstance(rule, str)]
    if space is not None:
        parameters = {name: json.loads(distribution_to_json(d)) for name, d in space.distributions.items()}
        texts = {name: rule.text for name, rule in space.conditions.items() if rule.tree is not None}
        record["space"] = {"parameters": parameters, "when": texts}
    return record


def check_space(study: Study, space: SearchSpace) -> None:
    """Refuse a space other than the one that the study's first worker left in it, or what it was changed to since."""
    storage, study_id = storage_of(study), study_id_of(study)
    mine = to_record(space, ())["space"]
    there = storage.get_study_system_attrs(study_id).get(SPACE_ATTRIBUTE)
    if there is None:
        storage.set_study_system_attr(study_id, SPACE_ATTRIBUTE, mine)
        there = storage.get_study_system_attrs(study_id)[SPACE_ATTRIBUTE]  # of several at once the last one counts
    made = extensions_of(study)
    changed = {name: json.loads(distribution_to_json(d)) for name, d in latest(made).items()}
    for kind in ("parameters", "when"):
        kept = {name: each for name, each in there.get(kind, {}).items() if name not in removed(made)}
        ours, theirs = mine[kind], {**kept, **(changed if kind == "parameters" else {})}
        for name in [*ours, *(name for name in theirs if name not in ours)]:
            if ours.get(name) != theirs.get(name):
                raise InvalidInputError(
                    f"study {study.study_name!r} was made with another space: {name!r} is {_shown(theirs.get(name))} "
                    f"there and {_shown(ours.get(name))} here; give the same space, or use another name"
                )


def _shown(entry: Any) -> str:
    if not isinstance(entry, Mapping):
        return "not a parameter" if entry is None else f"under the condition {entry}"
    facts = ", ".join(f"{name}={value!r}" for name, value in entry["attributes"].items())
    return f"{entry['name'].removesuffix('Distribution')}({facts})"


def from_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a sampler as they were before `to_record`; a damaged space is an error."""
    given = record.get("space")
    if given is None:
        return dict(record)
    parameters = {name: json_to_distribution(json.dumps(entry)) for name, entry in given["parameters"].items()}
    space = {name: When(given["when"][name], d) if name in given["when"] else d for name, d in parameters.items()}
    return {**record, "space": space}
