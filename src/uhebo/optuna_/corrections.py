"""Corrections: changes of trials that have ended, kept beside them and applied where trials are read.

Optuna lets nobody write into a trial that has ended. So changes are a list that only grows: one user attribute of the
study per change (SQL storages take about 2,000 characters in one), and the trials stay as they were told.

    uhebo:change:000003:9f2c   {"trial": 14, "what": "amend", "time": "2026-11-16T21:50:03+00:00", "reason": "typo",
                                "trials": 18, "values": [29.1], "was": {"value": 291.0}}

`what` is "amend" (new values, parameters, constraints or attributes), "confirm" (a value is right although it looks
wrong), "drop" (the trial is no data), "skip" (it was never run) or "restore" (the latest change of this trial that
still counts is taken back; one that was skipped while it waited waits again). `trials` is how many trials there were.
Whoever reads trials for suggestions, beliefs or pictures reads them by `trials_of`, or reads the study
that `uhebo.optuna_.corrected` returns.
"""

import copy
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from uhebo.optuna_ import extensions
from uhebo.optuna_.constraints import constraints_of, is_constraint, named_attributes
from uhebo.optuna_.endings import DROPPED, FAILURE, SKIPPED
from uhebo.optuna_.gaps import is_view, storage_of, study_id_of
from uhebo.optuna_.lease import LEASE
from uhebo.optuna_.noise import NOISE

PREFIX = "uhebo:change:"
KEY = re.compile(rf"{PREFIX}\d{{6}}:[0-9a-f]+")
"""A number that says in which order, and some digits that set two changes made at the same time apart."""
AMENDED = "uhebo:amended"
"""User attribute that a corrected trial has: what was changed, in words."""
CONFIRMED = "uhebo:confirmed"
"""User attribute of a trial that is read with values a person said to be right: these, by name."""
KINDS = ("amend", "confirm", "drop", "skip", "restore")
STEP = "uhebo:step"
LEARNT = ("theta", "objective_theta", "constraint_theta", "rewards")
"""Tags of a trial that come from the values of those before it."""


@dataclass(frozen=True)
class Change:
    """One entry of the list. What an amendment leaves as it was is None or empty."""

    trial: int
    what: str
    time: str = ""
    """ISO 8601, UTC."""
    reason: str = ""
    trials: int = 0
    """Trials that the study had."""
    values: tuple[float, ...] | None = None
    failed: bool = False
    """It gave no value, whatever was told."""
    params: Mapping[str, Any] = field(default_factory=dict)
    constraints: Mapping[str, float] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    was: Mapping[str, Any] = field(default_factory=dict)
    """What it replaced, by name, for people."""
    now: Mapping[str, Any] = field(default_factory=dict)
    """What it is since, by the same names."""

    @property
    def text(self) -> str:
        """An amendment in words: value 291.0 -> 29.1."""
        if self.what == "confirm":
            return ", ".join(f"{name} {right:.12g} confirmed" for name, right in self.now.items())
        return ", ".join(f"{name} {self.was.get(name, 'nothing')} -> {now}" for name, now in self.now.items())

    @property
    def of_data(self) -> bool:
        """Whether a model would see it: not where only notes were changed, or a value was confirmed."""
        if self.what == "confirm":
            return False
        seen = self.values or self.params or self.constraints or NOISE in self.attributes
        return self.what != "amend" or self.failed or bool(seen)


def changes_of(study: Study) -> list[Change]:
    """Every change, the earliest first."""
    return read_changes(attributes_of(study))


def attributes_of(study: Study) -> dict[str, Any]:
    """User attributes of the study, in which all changes are."""
    # Through the storage: a bracket of Hyperband's stands for the study here, and has no user attributes.
    return storage_of(study).get_study_user_attrs(study_id_of(study))


def read_changes(attributes: Mapping[str, Any]) -> list[Change]:
    """The changes among the user attributes of a study; what was written by something else is none."""
    found = [_read(attributes[key]) for key in sorted(filter(KEY.fullmatch, attributes))]
    return [change for change in found if change is not None]


def _read(entry: Any) -> Change | None:
    try:
        values = entry.get("values")
        return Change(
            trial=int(entry["trial"]),
            what=KINDS[KINDS.index(entry["what"])],
            time=str(entry.get("time", "")),
            reason=str(entry.get("reason", "")),
            trials=int(entry.get("trials", 0)),
            values=None if values is None else tuple(map(float, values)),
            failed=bool(entry.get("failed", False)),
            params=dict(entry.get("params", {})),
            constraints={str(name): float(value) for name, value in entry.get("constraints", {}).items()},
            attributes=dict(entry.get("attributes", {})),
            was=_in_words(entry.get("was", {})),
            now=_in_words(entry.get("now", {})),
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _in_words(named: Mapping[str, Any]) -> dict[str, Any]:
    """What is for people, without a name of ours: version 0.2 wrote that of the noise into it."""
    noise = named.get(NOISE)
    each = noise if isinstance(noise, list) else [noise]
    told = {} if noise is None else {"error": ", ".join("not told" if s is None else str(s) for s in each)}
    return {**told, **{name: value for name, value in named.items() if name != NOISE}}


def trials_of(
    study: Study, states: Container[TrialState] | None = None, attributes: Mapping[str, Any] | None = None
) -> list[FrozenTrial]:
    """The study's trials, in these states if any are named, with every change applied.

    `attributes` are the study's own, `attributes_of` it, if they have been read already.
    """
    if is_view(study):
        attributes = {}
    elif attributes is None:
        attributes = attributes_of(study)
    if not is_changed(attributes):
        return study.get_trials(deepcopy=False, states=states)
    trials = as_read(attributes, study.get_trials(deepcopy=False))
    return trials if states is None else [trial for trial in trials if trial.state in states]


def is_changed(attributes: Mapping[str, Any]) -> bool:
    """Whether a study with these user attributes is read otherwise than it was told."""
    return any(KEY.fullmatch(name) or extensions.KEY.fullmatch(name) for name in attributes)


def as_read(attributes: Mapping[str, Any], trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """The trials of a study with these user attributes, after all changes of them and of the space."""
    made = extensions.read_extensions(attributes)
    before = max((each.trials for each in made if each.after is not None or each.removes), default=0)
    wide = extensions.extended_trials(made, trials)
    known = [_without_learnt(trial) if trial.number < before else trial for trial in wide]
    return applied(read_changes(attributes), known)


def applied(changes: Sequence[Change], trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """The trials as they are after these changes; those that were given stay as they are."""
    counting = still_counting(changes)
    ended = {t.number: t.datetime_complete for t in trials if t.number in counting or _touched(changes, t.number)}
    # What a suggestion learnt from a value that was changed later is not known any more: theta, for one.
    doubts = [(ended[c.trial], c.trials) for c in changes if c.of_data and ended.get(c.trial) is not None]
    result = []
    for trial in trials:
        start = trial.datetime_start
        misled = start is not None and any(end <= start and trial.number < before for end, before in doubts if end)
        new = _without_learnt(trial) if misled else trial
        if trial.number not in counting and SKIPPED in trial.user_attrs and _touched(changes, trial.number):
            new = waiting_again(new)
        for change in counting.get(trial.number, ()):
            new = _changed(new, change)
        result.append(new)
    return result


def still_counting(changes: Iterable[Change]) -> dict[int, list[Change]]:
    """By trial, the changes that were not taken back."""
    counting: dict[int, list[Change]] = {}
    for change in changes:
        mine = counting.setdefault(change.trial, [])
        if change.what != "restore":
            mine.append(change)
        elif mine:
            mine.pop()
    return {number: mine for number, mine in counting.items() if mine}


def _touched(changes: Iterable[Change], number: int) -> bool:
    return any(change.trial == number for change in changes)


def _without_learnt(trial: FrozenTrial) -> FrozenTrial:
    tags = trial.system_attrs.get(STEP)
    if not isinstance(tags, Mapping) or not any(name in tags for name in LEARNT):
        return trial
    new = copy.copy(trial)
    kept = {name: value for name, value in tags.items() if name not in LEARNT}
    new.system_attrs = {**trial.system_attrs, STEP: kept}
    return new


def waiting_again(trial: FrozenTrial) -> FrozenTrial:
    """One that was skipped while it waited, and that was taken back: to Optuna it has ended, to us it waits."""
    new = copy.copy(trial)
    # Nobody's lease: no worker is to look after it.
    new.system_attrs = {name: value for name, value in trial.system_attrs.items() if name != LEASE}
    new.user_attrs = {name: value for name, value in trial.user_attrs.items() if name != SKIPPED}
    new.state, new.values, new.datetime_complete = TrialState.RUNNING, None, None
    return new


def confirmed(study: Study, name: str, index: int = 0) -> frozenset[int]:
    """Numbers of the trials of which a person said that this objective, the one of this index, has the right value."""
    marked = [trial for trial in trials_of(study) if CONFIRMED in trial.user_attrs and trial.values]
    return frozenset(t.number for t in marked if t.user_attrs[CONFIRMED].get(name) == t.values[index])


def _changed(trial: FrozenTrial, change: Change) -> FrozenTrial:
    """One that is under way (it cannot be changed, but anybody can write into a study) stays as it is."""
    if not trial.state.is_finished():
        return trial
    new = copy.copy(trial)
    if change.what == "confirm":
        new.user_attrs = {**trial.user_attrs, CONFIRMED: {**trial.user_attrs.get(CONFIRMED, {}), **change.now}}
        return new
    if change.what in ("drop", "skip"):
        new.state, new.values = TrialState.FAIL, None
        mark = DROPPED if change.what == "drop" else SKIPPED
        new.user_attrs = {**trial.user_attrs, mark: change.reason or True}
        return new
    user = {**trial.user_attrs, **change.attributes}
    if change.values is not None:
        new.state, new.values = TrialState.COMPLETE, list(change.values)
        user = {name: value for name, value in user.items() if name not in (FAILURE, SKIPPED, DROPPED)}
    elif change.failed:
        new.state, new.values = TrialState.FAIL, None
        user = {name: value for name, value in user.items() if name not in (SKIPPED, DROPPED)}
        user |= {FAILURE: change.reason} if change.reason else {}
    said = [trial.user_attrs.get(AMENDED), change.text + (f" ({change.reason})" if change.reason else "")]
    new.user_attrs = {**user, AMENDED: "; ".join(filter(None, said))}
    if change.params:
        new.params = {**trial.params, **change.params}
    if change.constraints:
        others = {key: value for key, value in trial.system_attrs.items() if not is_constraint(key)}
        new.system_attrs = {**others, **named_attributes({**constraints_of(trial), **change.constraints})}
    return new
