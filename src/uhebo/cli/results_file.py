"""A CSV of results, checked as a whole before any of it is stored.

Columns: the parameters and `value`; or `number` (of a suggested trial) and `value`, with or without the parameters. A
row without a number is an experiment of the user's own. The value `failed` marks an experiment that gave none.

A table that begins with number,state,value is the history of another study, as `uhebo history --csv` prints it. Its
numbers say nothing here: every row is an experiment of its own, and one that was still under way is passed over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import FrozenTrial, TrialState

from uhebo.cli.files import read_table
from uhebo.cli.records import HISTORY_COLUMNS, STATES, expected, parsed, pointed, texts, whole
from uhebo.errors import InvalidInputError
from uhebo.space import SearchSpace

Space = Mapping[str, BaseDistribution]
Trials = Mapping[int, FrozenTrial]
Cells = Mapping[str, str]
NEAR = 1e-3
"""Share of a parameter's range within which a number counts as the suggested one: spreadsheets round."""
FAILED, UNDER_WAY = ("failed", "pruned"), ("running", "waiting")
"""States of a history's rows that have no value."""


@dataclass(frozen=True)
class Known:
    """One row: the answer to trial `number`, or (without one) an experiment at `params`; no value means failed."""

    line: int
    number: int | None
    params: dict[str, Any]
    value: float | None
    failure: str = ""
    """Why it failed, where the file says so."""

    def __str__(self) -> str:
        where = f"line {self.line}" if self.number is None else f"trial {self.number}"
        return f"{where}: {'failed' if self.value is None else repr(self.value)}"


def read_results(
    path: str, space: Space, trials: Trials, value_column: str = "value", ignore_extra: bool = False
) -> tuple[list[Known], list[int]]:
    """Every row of the file, and the lines of a history that say nothing: under way then, or failed without a point.

    The first thing that is wrong is an error with file, line and column.
    """
    words = {name: texts(d) for name, d in space.items() if isinstance(d, CategoricalDistribution)}
    header, rows = read_table(path, words)
    history = tuple(header[:3]) == HISTORY_COLUMNS and "state" not in space and value_column == "value"
    _check_columns(path, header, space, value_column, ignore_extra, history)
    known: list[Known] = []
    passed_over: list[int] = []
    answered: dict[int, int] = {}
    for line, cells in rows.items():
        try:
            entry = _past(line, cells, space) if history else _entry(line, cells, space, trials, value_column)
            if entry is None:
                passed_over.append(line)
                continue
            if entry.number is not None and answered.setdefault(entry.number, line) != line:
                raise InvalidInputError(f"trial {entry.number} is in line {answered[entry.number]} already; keep one")
        except InvalidInputError as error:
            raise InvalidInputError(f"{path}, line {line}: {error}; nothing was stored") from error
        known.append(entry)
    if not known:
        what = "no row with a result" if passed_over else "a header and no rows"
        raise InvalidInputError(f"{path} has {what}; add one line per result")
    if history:
        _check_other_study(path, known, space, trials)
    return known, passed_over


def _check_columns(
    path: str, header: Sequence[str], space: Space, value_column: str, ignore_extra: bool, history: bool
) -> None:
    twice = [name for name in header if name and header.count(name) > 1]
    if twice:
        raise InvalidInputError(f"{path}: column {twice[0]!r} is there twice; drop one")
    known = {"number", value_column, *space, *(("state", "failure") if history else ())}
    extra = [name for name in header if name not in known]
    if extra and not ignore_extra:
        wanted = ", ".join([*space, value_column, "and if you like number"])
        what = f"unknown column {extra[0]!r}" if extra[0] else "a column without a name has cells"
        raise InvalidInputError(f"{path}: {what}; expected {wanted}; or give --ignore-extra")
    answers = "number" in header and not history
    needed = [] if answers else [name for name, d in space.items() if not d.single()]
    missing = [name for name in [value_column, *needed] if name not in header]
    if missing:
        hint = " (--value-column names another)" if missing[0] == value_column else ""
        raise InvalidInputError(f"{path}: column {missing[0]!r} is missing{hint}; it has {', '.join(header)}")


def _entry(line: int, cells: Cells, space: Space, trials: Trials, value_column: str) -> Known:
    number = running_number(cells["number"], trials) if cells.get("number") else None
    value = _value(cells[value_column], value_column)
    params = _params(cells, space, complete=number is None)
    if number is not None:
        _check_same_point(number, params, trials[number])
    return Known(line, number, params, value)


def _past(line: int, cells: Cells, space: Space) -> Known | None:
    """A row of a history; None if it says nothing. A value that was filled in or corrected wins over the state."""
    state, text = cells["state"].lower(), cells["value"]
    if state not in STATES.values():
        raise InvalidInputError(f"state is {cells['state']!r}, expected one of {', '.join(STATES.values())}")
    pointless = any(not cells[name] for name, distribution in space.items() if not distribution.single())
    if not text and (state in UNDER_WAY or (state in FAILED and pointless)):
        return None
    value = _value("failed" if not text and state in FAILED else text, "value")
    params = _params(cells, space, complete=True)
    failure = "" if value is not None or "failure" in space else cells.get("failure", "")
    return Known(line, None, params, value, failure)


def _check_other_study(path: str, known: Sequence[Known], space: Space, trials: Trials) -> None:
    """The history of this very study, or the same one again, would double every experiment in it."""

    def key(params: Mapping[str, Any], value: float | None) -> tuple[Any, ...]:
        return (value, *(params.get(name) for name in space))

    here = {
        key(trial.params, trial.value if trial.state == TrialState.COMPLETE else None)
        for trial in trials.values()
        if trial.state.is_finished()
    }
    doubled = sum(key(row.params, row.value) in here for row in known)
    if 2 * doubled > len(known):
        raise InvalidInputError(
            f"{path}: {doubled} of {len(known)} experiments are in this study already, with the same outcome; tell a "
            "history to a new study (uhebo create), or drop its columns number and state; nothing was stored"
        )


def _params(cells: Cells, space: Space, *, complete: bool) -> dict[str, Any]:
    """The point of a row; if `complete`, no parameter may be left out."""
    params = {}
    for name, distribution in space.items():
        if cells.get(name):
            value = params[name] = parsed(name, cells[name], distribution)
            if not SearchSpace.of({name: distribution}).contains({name: value}):
                raise InvalidInputError(f"{name} is {value!r}, outside the space: expected {expected(distribution)}")
        elif complete:
            if not distribution.single():
                raise InvalidInputError(f"{name} is empty, expected {expected(distribution)}")
            params[name] = SearchSpace.of({name: distribution}).constants[name]
    return params


def running_number(text: str, trials: Trials) -> int:
    """The number of a trial that waits for its value."""
    try:
        number = whole(text)
    except (ValueError, OverflowError):
        raise InvalidInputError(f"the trial number is {text!r}, expected a whole number such as 3") from None
    if number not in trials:
        waiting = [n for n, trial in trials.items() if trial.state == TrialState.RUNNING]
        hint = f"waiting for a value: {', '.join(map(str, waiting[:20]))}" if waiting else "none waits for a value"
        raise InvalidInputError(f"there is no trial {number}; {hint}")
    trial = trials[number]
    if trial.state == TrialState.WAITING:
        raise InvalidInputError(f"trial {number} is in the queue and nobody's yet; take it with uhebo suggest")
    if trial.state != TrialState.RUNNING:
        value = f" with value {trial.value!r}" if trial.state == TrialState.COMPLETE else ""
        raise InvalidInputError(
            f"trial {number} is {STATES[trial.state]} already{value}; a trial is told once (a repeated measurement "
            "goes into a CSV as a row without number)"
        )
    return number


def _value(text: str, column: str) -> float | None:
    return None if text.lower() == "failed" else value_of(text, column)


def value_of(text: str, name: str = "value") -> float:
    """A number; infinite ones are allowed (they count as the worst or best seen), NaN is not."""
    try:
        value = float(text)
    except ValueError as error:
        what = "empty" if not text.strip() else repr(text)
        raise InvalidInputError(
            f"{name} is {what}, expected a number{pointed(text)}; for a trial that failed, say so"
        ) from error
    if math.isnan(value):
        raise InvalidInputError(f"{name} is {text!r}, which is not a number; for a trial that failed, say so")
    return value


def _check_same_point(number: int, params: Mapping[str, Any], trial: FrozenTrial) -> None:
    """Where parameters come with a number, they must be those that were suggested, rounding apart."""
    for name, value in params.items():
        suggested = trial.params.get(name, value)
        if suggested != value and not _rounded(trial.distributions[name], suggested, value):
            raise InvalidInputError(
                f"{name} is {value!r}, but trial {number} was suggested with {suggested!r}; correct it, or leave "
                "number empty if the experiment was made at this point"
            )


def _rounded(distribution: BaseDistribution, suggested: Any, value: Any) -> bool:
    if not isinstance(distribution, FloatDistribution) or distribution.single():
        return False
    there, here = SearchSpace.of({"x": distribution}).encode_many([{"x": suggested}, {"x": value}])
    return bool(abs(there[0] - here[0]) <= NEAR)
