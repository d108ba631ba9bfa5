"""Results in a CSV.

A CSV of results is checked as a whole before any of it is stored. Its columns: the parameters and `value`; or `number`
(of a suggested trial) and `value`, with or without the parameters. A row without a number is an experiment of the
user's own. The value `failed` marks an experiment that gave none. Objectives with names have a column each in place of
`value`.

A table that begins with number, state and the values is the history of another study, as `uhebo history --csv` prints
it. Its numbers say nothing here: every row is an experiment of its own, and one that was under way is passed over.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import FrozenTrial, TrialState

from uhebo.cli.bounds import Bounds, measured, names_of
from uhebo.cli.records import HISTORY_COLUMNS, LEFT_OUT, STATES, expected, parsed, pointed, texts, whole
from uhebo.cli.tables import read_table
from uhebo.errors import InvalidInputError
from uhebo.space import SearchSpace
from uhebo.space.moves import active_names
from uhebo.storage.explain import listed

NEAR = 1e-3
"""Share of a parameter's range within which a number counts as the suggested one: spreadsheets round."""
FAILED, UNDER_WAY = ("failed", "pruned"), ("running", "waiting", *LEFT_OUT)
"""States of a history's rows that have no value: those that say something of their place, and those that do not."""
Trials = Mapping[int, FrozenTrial]


@dataclass(frozen=True)
class Known:
    """One row: the answer to trial `number`, or (without one) an experiment at `params`; no value means failed."""

    line: int
    number: int | None
    params: dict[str, Any]
    values: tuple[float, ...] | None
    failure: str = ""
    """Why it failed, where the file says so."""
    measured: dict[str, float] = field(default_factory=dict)
    """What the constraints are about."""

    def __str__(self) -> str:
        where = f"line {self.line}" if self.number is None else f"trial {self.number}"
        return f"{where}: {'failed' if self.values is None else ' '.join(map(repr, self.values))}"


def read_results(
    path: str,
    space: SearchSpace,
    trials: Trials,
    value_column: str | None = None,
    ignore_extra: bool = False,
    bounds: Bounds = (),
    objectives: Sequence[str] = (),
) -> tuple[list[Known], list[int]]:
    """Every row of the file, and the lines of a history that say nothing: under way then, or failed without a point.

    The first thing that is wrong is an error with file, line and column.
    """
    words = {name: texts(d) for name, d in space.distributions.items() if isinstance(d, CategoricalDistribution)}
    header, rows = read_table(path, words)
    columns = _value_columns(header, objectives, value_column, space)
    ours = tuple(header[: 2 + len(columns)]) == (*HISTORY_COLUMNS, *columns)
    history = ours and "state" not in space.distributions and value_column in (None, "value")
    _check_columns(path, header, space, columns, ignore_extra, history, names_of(bounds))
    known: list[Known] = []
    passed_over: list[int] = []
    answered: dict[int, int] = {}
    for line, cells in rows.items():
        try:
            entry = _entry(line, cells, space, trials, columns, history)
            if entry is not None and entry.values is not None:
                entry = replace(entry, measured=measured(bounds, cells))
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


def _value_columns(
    header: Sequence[str], objectives: Sequence[str], given: str | None, space: SearchSpace
) -> tuple[str, ...]:
    """Columns of the values: named after the objectives; one alone may also be `value`, or what the user says."""
    if len(objectives) > 1 and given is not None:
        raise InvalidInputError(
            f"--value-column is for one objective; name the columns as the objectives are: {', '.join(objectives)}"
        )
    clash = [name for name in objectives if name in space.distributions or name in ("number", "state", "failure")]
    if clash:
        raise InvalidInputError(
            f"the objective {clash[0]!r} has the name of another column; rename it: study.set_metric_names in Python"
        )
    if len(objectives) > 1 or (given is None and set(objectives) & set(header)):
        return tuple(objectives)
    return ("value" if given is None else given,)


def _check_columns(
    path: str,
    header: Sequence[str],
    space: SearchSpace,
    columns: Sequence[str],
    ignore_extra: bool,
    history: bool,
    others: Sequence[str],
) -> None:
    twice = [name for name in header if name and header.count(name) > 1]
    if twice:
        raise InvalidInputError(f"{path}: column {twice[0]!r} is there twice; drop one")
    ours = ("state", "failure", "feasible") if history else ()
    known = {"number", *columns, *space.distributions, *others, *ours}
    extra = [name for name in header if name not in known]
    if extra and not ignore_extra:
        wanted = ", ".join([*space.distributions, *columns, *others, "and if you like number"])
        what = f"unknown column {extra[0]!r}" if extra[0] else "a column without a name has cells"
        raise InvalidInputError(f"{path}: {what}; expected {wanted}; or give --ignore-extra")
    answers = "number" in header and not history
    needed = [] if answers else _needed(space)
    missing = [name for name in [*columns, *others, *needed] if name not in header]
    if missing:
        hint = " (--value-column names another)" if (missing[0],) == tuple(columns) else ""
        raise InvalidInputError(f"{path}: column {missing[0]!r} is missing{hint}; it has {', '.join(header)}")


def _entry(
    line: int, cells: Mapping[str, str], space: SearchSpace, trials: Trials, columns: Sequence[str], history: bool
) -> Known | None:
    """One row; None if it says nothing. In a history, a value that was filled in or corrected wins over the state."""
    given, number = [cells[name] for name in columns], None
    if history:
        state = cells["state"].lower()
        if state not in (known := (*STATES.values(), *LEFT_OUT)):
            raise InvalidInputError(f"state is {cells['state']!r}, expected one of {', '.join(known)}")
        pointless = any(not cells[name] for name in _needed(space))
        if not any(given) and (state in UNDER_WAY or (state in FAILED and pointless)):
            return None
        if not any(given) and state in FAILED:
            given = ["failed"] * len(columns)
    elif cells.get("number"):
        number = running_number(cells["number"], trials)
    values = _values(given, columns)
    params = _params(cells, space, complete=number is None)
    if number is not None:
        _check_same_point(number, params, trials[number])
    failed_here = history and values is None and "failure" not in space.distributions
    return Known(line, number, params, values, cells.get("failure", "") if failed_here else "")


def _values(given: Sequence[str], columns: Sequence[str]) -> tuple[float, ...] | None:
    """A number for each objective; None where the experiment failed, which it does as a whole."""
    failed = [text.lower() == "failed" for text in given]
    if not any(failed):
        return tuple(value_of(text, name) for text, name in zip(given, columns, strict=True))
    known = [name for text, name, gone in zip(given, columns, failed, strict=True) if text and not gone]
    if known:
        raise InvalidInputError(
            f"{columns[failed.index(True)]} is failed and {known[0]} has a value; a trial fails as a whole: write "
            "failed for every objective, or the missing number"
        )
    return None


def _check_other_study(path: str, known: Sequence[Known], space: SearchSpace, trials: Trials) -> None:
    """The history of this very study, or the same one again, would double every experiment in it."""
    names = list(space.distributions)
    ended = [trial for trial in trials.values() if trial.state.is_finished()]
    told = [tuple(trial.values) if trial.state == TrialState.COMPLETE else None for trial in ended]
    here = {(values, *map(trial.params.get, names)) for values, trial in zip(told, ended, strict=True)}
    doubled = sum((row.values, *map(row.params.get, names)) in here for row in known)
    if 2 * doubled > len(known):
        raise InvalidInputError(
            f"{path}: {doubled} of {len(known)} experiments are in this study already, with the same outcome; tell a "
            "history to a new study (uhebo create), or drop its columns number and state; nothing was stored"
        )


def _needed(space: SearchSpace) -> list[str]:
    """Parameters that every row has: they vary, and are there under any condition."""
    return [name for name, d in space.distributions.items() if not d.single() and name not in space.conditions]


def _params(cells: Mapping[str, str], space: SearchSpace, *, complete: bool) -> dict[str, Any]:
    """The point of a row; if `complete`, no parameter that is active there may be left out, and no other be given."""
    params = {}
    for name, distribution in space.distributions.items():
        if cells.get(name):
            value = params[name] = parsed(name, cells[name], distribution)
            if not SearchSpace.of({name: distribution}).contains({name: value}):
                raise InvalidInputError(f"{name} is {value!r}, outside the space: expected {expected(distribution)}")
        elif distribution.single() and complete and name not in space.conditions:
            params[name] = space.constants[name]
    active = active_names(space, params) if complete else list(params)
    for name, distribution in space.distributions.items():
        if name in active and name not in params:
            if not distribution.single():
                raise InvalidInputError(f"{name} is empty, expected {expected(distribution)}")
            params[name] = space.constants[name]
        elif name in params and name not in active:
            where = space.conditions[name].text
            raise InvalidInputError(f"{name} is {params[name]!r}, and is there only where {where}; empty the cell")
    return params


def running_number(text: str, trials: Trials) -> int:
    """The number of a trial that waits for its value."""
    try:
        number = whole(text)
    except (ValueError, OverflowError):
        raise InvalidInputError(f"the trial number is {text!r}, expected a whole number such as 3") from None
    if number not in trials:
        waiting = [n for n, trial in trials.items() if trial.state == TrialState.RUNNING]
        hint = f"waiting for a value: {listed(waiting)}" if waiting else "none waits for a value"
        raise InvalidInputError(f"there is no trial {number}; {hint}")
    trial = trials[number]
    if trial.state == TrialState.WAITING:
        raise InvalidInputError(f"trial {number} is in the queue and nobody's yet; take it with uhebo suggest")
    if trial.state != TrialState.RUNNING:
        value = f" with value {', '.join(map(repr, trial.values))}" if trial.state == TrialState.COMPLETE else ""
        raise InvalidInputError(
            f"trial {number} is {STATES[trial.state]} already{value}; a trial is told once (a repeated measurement "
            "goes into a CSV as a row without number)"
        )
    return number


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
        suggested, distribution = trial.params.get(name, value), trial.distributions.get(name)
        same = suggested == value
        if not same and isinstance(distribution, FloatDistribution) and not distribution.single():
            there, here = SearchSpace.of({name: distribution}).encode_many([{name: suggested}, {name: value}])
            same = abs(there[0] - here[0]) <= NEAR
        if not same:
            raise InvalidInputError(
                f"{name} is {value!r}, but trial {number} was suggested with {suggested!r}; correct it, or leave "
                "number empty if the experiment was made at this point"
            )
