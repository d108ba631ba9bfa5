"""To change trials that have ended: amend, drop, restore, skip. `uhebo.optuna_.corrections` says how it is kept."""

import json
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from typing import Any, overload

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from uhebo.checks import integer, plain
from uhebo.errors import InvalidInputError
from uhebo.optuna_.constraints import agreed_names, constraints_of, in_order
from uhebo.optuna_.corrections import CONFIRMED, KEY, PREFIX, Change, changes_of, still_counting, trials_of
from uhebo.optuna_.endings import DROPPED, SKIPPED, end_without_value
from uhebo.optuna_.extensions import Extension, extensions_of
from uhebo.optuna_.fronts import objective_names
from uhebo.optuna_.gaps import check_study, storage_of, study_id_of
from uhebo.optuna_.noise import NOISE, Deviations, checked_noise, noise_of
from uhebo.optuna_.restored_space import restore_space
from uhebo.space import SearchSpace
from uhebo.space.declare import described

LONGEST_REASON = 300
LONGEST_ENTRY = 2000
"""Characters; SQL storages take about this many in one attribute."""
UNDER_WAY = (TrialState.RUNNING, TrialState.WAITING)
Values = float | list[float] | tuple[float, ...] | Mapping[str, float]


def changes(study: Study) -> list[Change]:
    """List every change that was made to the study's trials, the earliest first."""
    check_study(study)
    return changes_of(study)


def extensions(study: Study) -> list[Extension]:
    """List every change that was made to the study's space, the earliest first."""
    return extensions_of(study)


def amend(
    study: Study,
    number: int,
    value: Values | None = None,
    *,
    failed: bool = False,
    params: Mapping[str, Any] | None = None,
    constraints: Mapping[str, float] | None = None,
    attributes: Mapping[str, Any] | None = None,
    noise: Deviations | None = None,
    reason: str = "",
) -> Change:
    """Correct a trial that has ended: suggestions from now on are as if it had been right from the start.

    Args:
        study: any Optuna study.
        number: of the trial; it stays the same.
        value: the right value; with several objectives one for each, or {name: value} for those that were wrong. A
            trial that had failed or was skipped is finished from now on. If it is the value that the trial has, it is
            confirmed: it counts as right although it looks mistyped.
        failed: in fact the trial gave no value.
        params: {name: value} of the parameters at which the experiment was in fact made.
        constraints: the right values, by name; at most 0 is feasible.
        attributes: notes, by name.
        noise: standard deviation of the value's noise, if known; with several objectives one for each, or by
            name; those that are not named stay as they are.
        reason: kept with the change.
    """
    trial = _ended(study, number)
    if DROPPED in trial.user_attrs:
        raise InvalidInputError(f"trial {number} was dropped; restore it first, then amend it")
    if failed and value is not None:
        raise InvalidInputError(f"trial {number} cannot have the value {value!r} and have failed; give one of the two")
    values = None if value is None else _values(study, trial, value)
    points = _params(trial, params or {})
    limits = _constraints(study, trial, constraints or {})
    notes = {str(name): plain(note) for name, note in (attributes or {}).items()}
    errors = {} if noise is None else _noise(study, trial, noise)
    notes |= errors
    if values is None and not (failed or points or limits or notes):
        raise InvalidInputError(f"nothing was given to amend in trial {number}; give its right value")
    if values == tuple(trial.values or ()) and not (points or limits or notes):
        return _confirm(study, trial, value, reason)
    was, now = dict(trial.params), dict(points)
    names, told = objective_names(study), _told(study, trial)
    said = {key: note for key, note in notes.items() if key not in errors}
    if values is not None:
        now |= {n: v for n, v in zip(names, values, strict=True) if told.get(n) != v or len(names) == 1}
    now |= dict.fromkeys(told or names, "failed") if failed else {}
    # In the shell's studies what was measured is an attribute, which tells people more than by how much it misses.
    now |= said or limits
    if errors:
        errors_were, errors_are = (
            _noise_in_words(names, each) for each in (noise_of(trial, len(names)), errors[NOISE])
        )
        now |= {name: each for name, each in errors_are.items() if each != errors_were[name] or len(names) == 1}
        was |= errors_were
    was = {**trial.user_attrs, **constraints_of(trial), **was, **told}
    made = Change(int(number), "amend", values=values, failed=failed, params=points, constraints=limits)
    made = replace(made, attributes=notes, was={name: was[name] for name in now if name in was}, now=now)
    return _write(study, made, reason)


def _confirm(study: Study, trial: FrozenTrial, value: Values | None, reason: str) -> Change:
    """Note that a value, as it is, is right."""
    told = _told(study, trial)
    right = {name: told[name] for name in (value if isinstance(value, Mapping) else told)}
    if right.items() <= trial.user_attrs.get(CONFIRMED, {}).items():
        values = ", ".join(f"{name} {number:g}" for name, number in right.items())
        raise InvalidInputError(f"trial {trial.number} has {values} already, confirmed; there is nothing to amend")
    return _write(study, Change(trial.number, "confirm", now=right), reason)


def drop(study: Study, number: int, reason: str = "") -> Change:
    """Leave a trial that has ended out of the data, as if its point had never been tried."""
    check_change(study, "drop", number)
    return _write(study, Change(int(number), "drop", was=_told(study, _trial(study, number))), reason)


def skip(study: Study, number: int, reason: str = "") -> Change | None:
    """Say that a trial was never run: it counts as if its point had never been proposed.

    A trial under way or in the queue is ended; one that was told as failed counts as skipped from now on. One that has
    a value is refused: `drop` it instead. Returns None if it was skipped before.
    """
    check_change(study, "skip", number)
    trial = _trial(study, number)
    if SKIPPED in trial.user_attrs:
        return None
    if trial.state in UNDER_WAY and not has_ended(study, trial.number):
        end_without_value(study, trial, SKIPPED, reason or True)
    return _write(study, Change(int(number), "skip"), reason)


def check_change(study: Study, what: str, number: int) -> None:
    """Refuse what cannot be done with this trial: to drop, skip or restore it."""
    trial = _trial(study, number) if what == "skip" else _ended(study, number)
    if what == "drop" and DROPPED in trial.user_attrs:
        raise InvalidInputError(f"trial {number} was dropped already")
    if what == "skip" and trial.state not in (*UNDER_WAY, TrialState.FAIL):
        raise InvalidInputError(
            f"trial {number} is {'pruned' if trial.state == TrialState.PRUNED else 'finished'}, with the value "
            f"{', '.join(f'{v:g}' for v in trial.values or ())}; only a trial without a value can be skipped; drop it "
            "if it is not to count"
        )
    if what == "restore" and number not in still_counting(changes_of(study)):
        raise InvalidInputError(f"trial {number} is as it was told; there is no change to take back")


@overload
def restore(study: Study, number: int, reason: str = "") -> Change: ...
@overload
def restore(study: Study, number: str, reason: str = "") -> Extension: ...
def restore(study: Study, number: int | str, reason: str = "") -> Change | Extension:
    """Undo the latest change of a trial, or by its name of a parameter (`uhebo.extend`); called again, the one before.

    A trial that was skipped while it waited waits again. For Optuna it has ended, so tell its value by `uhebo.amend`,
    or by `uhebo tell` in the shell. A change of the space is refused to be undone where values of trials would be lost.
    """
    if isinstance(number, str):
        _check_reason(reason)
        return restore_space(study, number, reason)
    check_change(study, "restore", number)
    taken = still_counting(changes_of(study))[number][-1]
    return _write(study, Change(int(number), "restore", was=taken.now, now=taken.was), reason)


def study_trials(study: Study) -> list[FrozenTrial]:
    """Trials as they were told."""
    return storage_of(study).get_all_trials(study_id_of(study), deepcopy=False)


def has_ended(study: Study, number: int) -> bool:
    """Whether a trial has ended to Optuna, which lets nobody write into it, however it is read."""
    return next(trial for trial in study_trials(study) if trial.number == number).state.is_finished()


def _trial(study: Study, number: int) -> FrozenTrial:
    check_study(study)
    by_number = {trial.number: trial for trial in trials_of(study)}
    if integer("number", number) not in by_number:
        raise InvalidInputError(f"there is no trial {number!r}; the study has 0 to {len(by_number) - 1}")
    return by_number[number]


def _ended(study: Study, number: int) -> FrozenTrial:
    trial = _trial(study, number)
    if trial.state in UNDER_WAY and not has_ended(study, trial.number):
        raise InvalidInputError(
            f"trial {number} is under way and has nothing to change yet; tell its value, or skip it"
        )
    return trial


def _told(study: Study, trial: FrozenTrial) -> dict[str, float]:
    """Its values by name; empty where it has none."""
    return dict(zip(objective_names(study), trial.values, strict=True)) if trial.values else {}


def _values(study: Study, trial: FrozenTrial, value: Values) -> tuple[float, ...]:
    """One of each objective; of those not named, what the trial has."""
    names = objective_names(study)
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in names]
        if unknown:
            raise InvalidInputError(f"there is no objective {unknown[0]!r}; the study has {', '.join(names)}")
        had = _told(study, trial)
        missing = [name for name in names if name not in value and name not in had]
        if missing:
            raise InvalidInputError(f"trial {trial.number} has no {missing[0]} yet; give {', '.join(names)}")
        given = [value.get(name, had.get(name, math.nan)) for name in names]
    else:
        given = list(value) if isinstance(value, (list, tuple)) else [value]
    if len(given) != len(names):
        raise InvalidInputError(f"{len(given)} values for {len(names)} objectives; give one each, or by name")
    return tuple(_number(name, each) for name, each in zip(names, given, strict=True))


def _noise(study: Study, trial: FrozenTrial, given: Deviations) -> dict[str, Any]:
    """The noise as it is kept; of objectives not named, what the trial has."""
    names = objective_names(study)
    if isinstance(given, Mapping):
        had = zip(names, noise_of(trial, len(names)), strict=False)
        given = {**{name: each for name, each in had if math.isfinite(each)}, **given}
    return {NOISE: checked_noise(study, given)}


def _noise_in_words(names: Sequence[str], noise: Any) -> dict[str, Any]:
    """Errors of the values by the names that tables have for them."""
    told = [noise] if isinstance(noise, float) else [*noise] or [None] * len(names)
    known = [None if each is None or math.isnan(each) else each for each in told]
    return {f"{name} error": "not told" if each is None else each for name, each in zip(names, known, strict=True)}


def _number(name: str, value: Any) -> float:
    """Infinite ones are allowed, as they are where values are told."""
    value = plain(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value):
        return float(value)
    raise InvalidInputError(f"{name} is {value!r}; expected a number")


def _params(trial: FrozenTrial, given: Mapping[str, Any]) -> dict[str, Any]:
    params = {name: plain(value) for name, value in given.items()}
    for name, value in params.items():
        if name not in trial.distributions:
            raise InvalidInputError(
                f"trial {trial.number} has no parameter {name!r}; it has {', '.join(trial.distributions)}"
            )
        if not SearchSpace.of({name: trial.distributions[name]}).contains({name: value}):
            raise InvalidInputError(f"{name} is {value!r}; expected {described(trial.distributions[name])}")
    return params


def _constraints(study: Study, trial: FrozenTrial, given: Mapping[str, float]) -> dict[str, float]:
    values = {str(name): _number(str(name), value) for name, value in given.items()}
    known = agreed_names(trials_of(study))
    if values and known and in_order(list({**constraints_of(trial), **values})) != known:
        raise InvalidInputError(f"the study has the constraints {', '.join(map(repr, known))}; give their values")
    return values


def _check_reason(reason: str) -> None:
    if len(reason) > LONGEST_REASON:
        raise InvalidInputError(f"the reason has {len(reason)} characters; expected at most {LONGEST_REASON}")


def _write(study: Study, change: Change, reason: str) -> Change:
    _check_reason(reason)
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    made = replace(change, time=now, reason=reason, trials=len(study_trials(study)))
    entry = {name: value for name, value in asdict(made).items() if value or name == "trial"}
    if len(json.dumps(entry)) > LONGEST_ENTRY:
        raise InvalidInputError(f"the change of trial {change.trial} is too long for a storage; make it in parts")
    storage, study_id = storage_of(study), study_id_of(study)
    taken = filter(KEY.fullmatch, storage.get_study_user_attrs(study_id))
    last = max((int(key[len(PREFIX) :].partition(":")[0]) for key in taken), default=0)
    storage.set_study_user_attr(study_id, f"{PREFIX}{last + 1:06d}:{secrets.token_hex(2)}", entry)
    return made
