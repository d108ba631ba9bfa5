"""A CSV of results, checked as a whole before any of it is stored.

Columns: the parameters and `value`; or `number` (of a suggested trial) and `value`, with or without the parameters. A
row without a number is an experiment of the user's own. The value `failed` marks a suggested trial as failed.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import FrozenTrial, TrialState

from uhebo.cli.limits import MAX_ROWS, read_text
from uhebo.cli.records import STATES, expected, parsed
from uhebo.errors import InvalidInputError
from uhebo.space import SearchSpace

NEAR = 1e-3
"""Share of a parameter's range within which a number counts as the suggested one: spreadsheets round."""


@dataclass(frozen=True)
class Known:
    """One row: the answer to trial `number`, or (without one) an experiment at `params`; no value means failed."""

    line: int
    number: int | None
    params: dict[str, Any]
    value: float | None


def read_results(
    path: str,
    space: Mapping[str, BaseDistribution],
    trials: Mapping[int, FrozenTrial],
    *,
    value_column: str = "value",
    ignore_extra: bool = False,
) -> list[Known]:
    """Every row of the file; the first thing that is wrong is an error with file, line and column."""
    header, rows = _table(path)
    columns = _columns(path, header, space, value_column, ignore_extra)
    known: list[Known] = []
    answered: dict[int, int] = {}
    for line, row in rows:
        cells = {column: row[at].strip() for column, at in columns.items()}
        try:
            entry = _entry(line, cells, space, trials, value_column)
            if entry.number is not None and entry.number in answered:
                raise InvalidInputError(f"trial {entry.number} is in line {answered[entry.number]} already; keep one")
        except InvalidInputError as error:
            raise InvalidInputError(f"{path}, line {line}: {error}; nothing was stored") from error
        if entry.number is not None:
            answered[entry.number] = line
        known.append(entry)
    if not known:
        raise InvalidInputError(f"{path} has a header and no rows; add one line a result")
    return known


def _table(path: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    text = read_text(path)
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    try:
        header = [name.strip() for name in next(reader, [])]
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(header):
                raise InvalidInputError(
                    f"{path}, line {reader.line_num}: {len(row)} cells, expected {len(header)} as in the header"
                )
            rows.append((reader.line_num, row))
            if len(rows) > MAX_ROWS:
                raise InvalidInputError(f"{path} has more than {MAX_ROWS:,} rows; split it")
    except csv.Error as error:
        raise InvalidInputError(f"{path}, line {reader.line_num}: not valid CSV ({error})") from error
    if not any(header):
        raise InvalidInputError(f"{path} is empty; expected a header line and one line a result")
    return header, rows


def _columns(
    path: str, header: Sequence[str], space: Mapping[str, BaseDistribution], value_column: str, ignore_extra: bool
) -> dict[str, int]:
    """Name -> position of the columns that are used."""
    twice = [name for name in header if header.count(name) > 1]
    if twice:
        raise InvalidInputError(f"{path}: column {twice[0]!r} is there twice; drop one")
    known = {"number", value_column, *space}
    extra = [name for name in header if name not in known]
    if extra and not ignore_extra:
        wanted = ", ".join([*space, value_column, "and if you like number"])
        raise InvalidInputError(f"{path}: unknown column {extra[0]!r}; expected {wanted}; or give --ignore-extra")
    needed = [] if "number" in header else [name for name, d in space.items() if not d.single()]
    missing = [name for name in [value_column, *needed] if name not in header]
    if missing:
        hint = " (--value-column names another)" if missing[0] == value_column else ""
        raise InvalidInputError(f"{path}: column {missing[0]!r} is missing{hint}; it has {', '.join(header)}")
    return {name: at for at, name in enumerate(header) if name in known}


def _entry(
    line: int,
    cells: Mapping[str, str],
    space: Mapping[str, BaseDistribution],
    trials: Mapping[int, FrozenTrial],
    value_column: str,
) -> Known:
    number = running_number(cells["number"], trials) if cells.get("number") else None
    value = _value(cells[value_column], value_column, may_fail=number is not None)
    params = {}
    for name, distribution in space.items():
        text = cells.get(name, "")
        if text:
            params[name] = _inside(name, parsed(name, text, distribution), distribution)
        elif number is None:
            if not distribution.single():
                raise InvalidInputError(f"{name} is empty, expected {expected(distribution)}")
            params[name] = SearchSpace.of({name: distribution}).constants[name]
    if number is not None:
        _same_point(number, params, trials[number])
    return Known(line, number, params, value)


def running_number(text: str, trials: Mapping[int, FrozenTrial]) -> int:
    """The number of a trial that waits for its value."""
    try:
        number = int(float(text)) if float(text) == int(float(text)) else None
    except (ValueError, OverflowError):
        number = None
    if number is None:
        raise InvalidInputError(f"the trial number is {text!r}, expected a whole number such as 3")
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


def _value(text: str, column: str, *, may_fail: bool) -> float | None:
    if may_fail and text.lower() == "failed":
        return None
    return value_of(text, column)


def value_of(text: str, name: str = "value") -> float:
    """A number; infinite ones are allowed (they count as the worst or best seen), NaN is not."""
    try:
        value = float(text)
    except ValueError as error:
        what = "empty" if not text.strip() else repr(text)
        raise InvalidInputError(f"{name} is {what}, expected a number; for a trial that failed, say so") from error
    if math.isnan(value):
        raise InvalidInputError(f"{name} is {text!r}, which is not a number; for a trial that failed, say so")
    return value


def _inside(name: str, value: Any, distribution: BaseDistribution) -> Any:
    if not SearchSpace.of({name: distribution}).contains({name: value}):
        raise InvalidInputError(f"{name} is {value!r}, outside the space: expected {expected(distribution)}")
    return value


def _same_point(number: int, params: Mapping[str, Any], trial: FrozenTrial) -> None:
    """Where parameters come with a number, they must be those that were suggested."""
    for name, value in params.items():
        if name not in trial.params:
            continue
        suggested, distribution = trial.params[name], trial.distributions[name]
        if suggested == value:
            continue
        if isinstance(distribution, FloatDistribution) and not distribution.single():
            there, here = SearchSpace.of({name: distribution}).encode_many([trial.params, params])
            if abs(there[0] - here[0]) <= NEAR:
                continue
        raise InvalidInputError(
            f"{name} is {value!r}, but trial {number} was suggested with {suggested!r}; correct it, or leave number "
            "empty if the experiment was made at this point"
        )
