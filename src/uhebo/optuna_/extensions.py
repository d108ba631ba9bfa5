"""The space of a study, changed in place: other ranges, further choices, further parameters, units.

Optuna lets nobody change a trial that has ended, and refuses other choices or another scale for a parameter that it
knows. So, as with corrections of trials, a change of the space is an entry in a list that only grows, one user
attribute of the study each, and is applied where trials are read:

    uhebo:space:000001:9f2c   {"name": "gas", "before": {…}, "after": {…}, "time": "2026-11-18T14:50:03+00:00",
                               "reason": "delivered", "trials": 18}

A change that is taken back is a further entry, the other way round and with `"restores": true`; a parameter that came
later and is taken back has no `after` there.

`before` and `after` are distributions as Optuna writes them; `had` is the value that earlier trials had of a parameter
that came later, `unit` its unit. Numbers and seed stay. Every trial is read with the latest distribution of each
parameter, unless its value lies outside; and without what its suggestion had learnt (theta counts in shares of ranges).

What a storage cannot hold under the distribution that it knows, a new choice, is kept in a user attribute of the trial,
`uhebo:params` = {"gas": "helium"}: Optuna's own tools show such a trial without that parameter.
"""

import copy
import json
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
    json_to_distribution,
)
from optuna.study import Study
from optuna.trial import FrozenTrial

from uhebo.checks import by_name, plain
from uhebo.errors import InvalidInputError
from uhebo.optuna_.gaps import check_study, storage_of, study_id_of
from uhebo.space import SearchSpace, as_distributions
from uhebo.space.declare import Categorical, Float, Int, described

PREFIX = "uhebo:space:"
KEY = re.compile(rf"{PREFIX}\d{{6}}:[0-9a-f]+")
BESIDE = "uhebo:params"
"""User attribute of a trial: parameters that its storage cannot hold."""
SHELL_ATTRIBUTE = "uhebo:shell"
"""User attribute of a study: what the shell keeps in it, the space among it."""
LONGEST_ENTRY = 2000
"""Characters; SQL storages take about this many in one attribute."""


@dataclass(frozen=True)
class Extension:
    """One change of the space."""

    name: str
    before: BaseDistribution | None = None
    after: BaseDistribution | None = None
    """None where only the unit was changed."""
    had: Any = None
    """Value that the trials before had, of a parameter that came later."""
    unit: str | None = None
    time: str = ""
    """ISO 8601, UTC."""
    reason: str = ""
    trials: int = 0
    """Trials that the study had."""
    restores: bool = False
    """It takes back the latest change of that name that still counts."""

    @property
    def removes(self) -> bool:
        """Whether it takes a parameter back that had come later."""
        return self.restores and self.before is not None and self.after is None


def extensions_of(study: Study) -> list[Extension]:
    """Every change of the space, the earliest first."""
    return read_extensions(storage_of(study).get_study_user_attrs(study_id_of(study)))


def read_extensions(attributes: Mapping[str, Any]) -> list[Extension]:
    """The changes among the user attributes of a study; what was written by something else is none."""
    found = [_read(attributes[key]) for key in sorted(filter(KEY.fullmatch, attributes))]
    return [each for each in found if each is not None]


def _read(entry: Any) -> Extension | None:
    try:
        before, after = (entry.get(key) for key in ("before", "after"))
        return Extension(
            name=str(entry["name"]),
            before=None if before is None else json_to_distribution(json.dumps(before)),
            after=None if after is None else json_to_distribution(json.dumps(after)),
            had=entry.get("had"),
            unit=None if entry.get("unit") is None else str(entry["unit"]),
            time=str(entry.get("time", "")),
            reason=str(entry.get("reason", "")),
            trials=int(entry.get("trials", 0)),
            restores=bool(entry.get("restores", False)),
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def standing(extensions: Iterable[Extension]) -> list[Extension]:
    """The changes without those of a parameter that was taken back later."""
    found: list[Extension] = []
    for each in extensions:
        if each.removes:
            found = [other for other in found if other.name != each.name]
        else:
            found.append(each)
    return found


def latest(extensions: Iterable[Extension]) -> dict[str, BaseDistribution]:
    """The distribution that each changed parameter has now."""
    return {each.name: each.after for each in standing(extensions) if each.after is not None}


def removed(extensions: Sequence[Extension]) -> dict[str, BaseDistribution]:
    """The parameters that were taken back, as they were then."""
    now = latest(extensions)
    gone = {each.name: each.before for each in extensions if each.removes and each.before is not None}
    return {name: before for name, before in gone.items() if name not in now}


def extended_space(
    extensions: Sequence[Extension], space: Mapping[str, BaseDistribution]
) -> dict[str, BaseDistribution]:
    """A space with the changes made since; what is neither one of the earlier ones nor missing was declared later."""
    gone = removed(extensions)
    found = {name: each for name, each in space.items() if gone.get(name) != each}
    for name, after in latest(extensions).items():
        earlier = [each.before for each in extensions if each.name == name and each.after is not None]
        if found.get(name) in earlier:  # a parameter that is new has no earlier one: None
            found[name] = after
    return found


def extended_trials(extensions: Sequence[Extension], trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """The trials as they are read after these changes, and with what is kept beside them; those given stay."""
    now, made = latest(extensions), standing(extensions)
    gone = {each.name: each.trials for each in extensions if each.removes}
    if not (now or gone):
        return list(trials)
    found = []
    for trial in (_without(gone, each) for each in trials):
        beside = trial.user_attrs.get(BESIDE)
        kept = beside if isinstance(beside, Mapping) else {}
        late = [e for e in made if e.after is not None and e.before is None and trial.number < e.trials]
        new = copy.copy(trial)
        new.params = {**trial.params, **{n: v for n, v in kept.items() if n in now}}
        for each in late:
            new.params.setdefault(each.name, each.had)
        new.distributions = dict(trial.distributions)
        found.append(new)
    for name, distribution in now.items():
        having = [trial for trial in found if name in trial.params]
        inside = SearchSpace.of({name: distribution}).contains_many([trial.params for trial in having])
        for trial, fits in zip(having, inside.tolist(), strict=True):
            if fits or name not in trial.distributions:
                trial.distributions[name] = distribution
    order = dict.fromkeys(name for trial in found for name in trial.params)
    for trial in found:  # what is kept beside a trial stands where the others have it: tables keep their columns
        trial.params = {name: trial.params[name] for name in order if name in trial.params}
        trial.distributions = {name: trial.distributions[name] for name in order if name in trial.distributions}
    return found


def _without(gone: Mapping[str, int], trial: FrozenTrial) -> FrozenTrial:
    """A trial without the parameters that were taken back when the study had so many trials, and it was one of them."""
    mine = {name for name, trials in gone.items() if trial.number < trials}
    beside = trial.user_attrs.get(BESIDE)
    if not mine & {*trial.params, *(beside if isinstance(beside, Mapping) else ())}:
        return trial
    new = copy.copy(trial)
    new.params = {name: value for name, value in trial.params.items() if name not in mine}
    new.distributions = {name: each for name, each in trial.distributions.items() if name not in mine}
    if isinstance(beside, Mapping):
        kept = {name: value for name, value in beside.items() if name not in mine}
        new.user_attrs = {**trial.user_attrs, BESIDE: kept}
    return new


def holds(distribution: BaseDistribution, value: Any) -> bool:
    """Whether a value is one of a distribution's."""
    return SearchSpace.of({"x": distribution}).contains({"x": value})


def units_of(study: Study) -> dict[str, str]:
    """Units of parameters and of what is measured, by name, where they are known."""
    attributes = storage_of(study).get_study_user_attrs(study_id_of(study))
    kept = attributes.get(SHELL_ATTRIBUTE)
    units = kept.get("units") if isinstance(kept, Mapping) else None
    found = {str(k): str(v) for k, v in units.items()} if isinstance(units, Mapping) else {}
    found |= {each.name: each.unit for each in read_extensions(attributes) if each.unit is not None}
    return {name: unit for name, unit in found.items() if unit}


def current_space(study: Study) -> dict[str, BaseDistribution]:
    """Every parameter with the distribution it has now: by its trials, by what was declared, by later changes."""
    attributes = storage_of(study).get_study_user_attrs(study_id_of(study))
    found: dict[str, BaseDistribution] = {}
    for trial in storage_of(study).get_all_trials(study_id_of(study), deepcopy=False):
        found |= trial.distributions
    for key, part in (("uhebo:sampler", "parameters"), (SHELL_ATTRIBUTE, None)):
        kept = attributes.get(key)
        space = kept.get("space") if isinstance(kept, Mapping) else None
        space = space.get(part) if part is not None and isinstance(space, Mapping) else space
        for name, entry in space.items() if isinstance(space, Mapping) else ():
            found[str(name)] = json_to_distribution(json.dumps(entry))
    made = read_extensions(attributes)
    return {name: each for name, each in found.items() if name not in removed(made)} | latest(made)


@by_name()
def extend(
    study: Study,
    space: Mapping[str, Any] | None = None,
    *,
    had: Mapping[str, Any] | None = None,
    units: Mapping[str, str] | None = None,
    reason: str = "",
) -> list[Extension]:
    """Change the space of a study in place; trial numbers and seed stay the same.

    Args:
        study: any Optuna study.
        space: parameter name -> its new values: (low, high) keeps the kind and the scale of a range, a list has all
            choices; otherwise as for `uhebo.minimize`. A trial outside the new space is left out until a later change
            includes it again.
        had: new parameter -> the value that all trials so far had.
        units: parameter name -> unit, for display.
        reason: kept with the change.
    """
    check_study(study)
    there, given_had = current_space(study), dict(had or {})
    trials = len(storage_of(study).get_all_trials(study_id_of(study), deepcopy=False))
    made = []
    for name, given in (space or {}).items():
        after = _changed(name, there.get(name), given)
        if name in there and name not in given_had and after == there[name]:
            raise InvalidInputError(f"{name} is {described(after)} already; there is nothing to change")
        value = _value_before(name, after, there, given_had, trials)
        made.append(Extension(name, there.get(name), after, had=value, reason=reason, trials=trials))
    unknown = [name for name in given_had if name not in (space or {})]
    if unknown:
        raise InvalidInputError(f"a value before is given for {unknown[0]!r}, which is no new parameter; leave it out")
    for name, unit in (units or {}).items():
        made.append(Extension(str(name), unit=str(unit), reason=reason, trials=trials))
    if not made:
        raise InvalidInputError("nothing was given to change; name a parameter and its new range")
    return [write(study, each) for each in made]


def _changed(name: str, known: BaseDistribution | None, given: Any) -> BaseDistribution:
    """What a parameter is from now on; a range keeps its kind and scale."""
    try:
        if isinstance(given, tuple) and len(given) == 2 and isinstance(known, (FloatDistribution, IntDistribution)):
            if isinstance(known, FloatDistribution):
                return Float(given[0], given[1], log=known.log, step=known.step)
            return Int(given[0], given[1], log=known.log, step=known.step)
        if isinstance(given, list) and isinstance(known, CategoricalDistribution):
            kept = [choice for choice in known.choices if choice in given]
            return Categorical([*kept, *(choice for choice in given if choice not in kept)])
    except InvalidInputError as error:
        raise InvalidInputError(f"parameter {name!r}: {error}") from error
    return as_distributions({name: given})[name]


def _value_before(
    name: str, after: BaseDistribution, there: Mapping[str, Any], had: Mapping[str, Any], trials: int
) -> Any:
    if name in there:
        if name in had:
            raise InvalidInputError(f"{name} is there already: each trial has its own value; leave the one before out")
        return None
    if name not in had:
        if not trials:
            return None
        raise InvalidInputError(
            f"{name} is new, and {trials} trials were made without it; say which value they had "
            f"(had={{{name!r}: …}}, in the shell --had {name}=VALUE)"
        )
    value = plain(had[name])
    if not holds(after, value):
        raise InvalidInputError(
            f"{name} was {value!r} so far, and that is not {described(after)}; let it be among the values, or the "
            "trials so far say nothing"
        )
    return value


def write(study: Study, made: Extension) -> Extension:
    """Keep a change in the study; with the time."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    entry: dict[str, Any] = {"name": made.name, "time": now, "reason": made.reason, "trials": made.trials}
    for key in ("before", "after"):
        end = getattr(made, key)
        entry |= {} if end is None else {key: json.loads(distribution_to_json(end))}
    entry |= {"restores": True} if made.restores else {}
    entry |= {key: value for key in ("had", "unit") if (value := getattr(made, key)) is not None}
    if len(json.dumps(entry)) > LONGEST_ENTRY:
        raise InvalidInputError(f"the change of {made.name} is too long for a storage; shorten its choices")
    storage, study_id = storage_of(study), study_id_of(study)
    taken = filter(KEY.fullmatch, storage.get_study_user_attrs(study_id))
    last = max((int(key[len(PREFIX) :].partition(":")[0]) for key in taken), default=0)
    storage.set_study_user_attr(study_id, f"{PREFIX}{last + 1:06d}:{secrets.token_hex(2)}", entry)
    return Extension(**{**vars(made), "time": now})
