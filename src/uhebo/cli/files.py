"""Results in a sheet: a CSV or a spreadsheet.

It is checked as a whole before any of it is stored, and everything that is wrong is said. Its columns: the parameters
and `value`; or `number` (of a suggested trial) and `value`, with or without the parameters. A row without a number is
an experiment of the user's own. The value `failed` marks an experiment that gave none, `skipped` a suggested one that
was never made. Objectives with names have a column each in place of `value`. Other columns (operator, lot) are notes
and kept with the trial.

A sheet may be filled in bit by bit: a row with a number and without a value stays waiting, and one that was told before
with the same outcome is passed over.

A table that begins with number, state and the values is the history of another study, as `uhebo history --csv` prints
it. Its numbers say nothing here: every row is an experiment of its own, and one that was under way is passed over.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from optuna.distributions import CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState

from uhebo.cli.bounds import Bounds, measured, names_of
from uhebo.cli.decimals import two_readings
from uhebo.cli.output import say
from uhebo.cli.records import HISTORY_COLUMNS, LEFT_OUT, LONGEST_REASON, shown_state, texts
from uhebo.cli.rows import Known, Trials, error_of, needed, read_row, running_number
from uhebo.cli.tables import Table, read_table
from uhebo.errors import InvalidInputError
from uhebo.optuna_.corrections import AMENDED
from uhebo.space import SearchSpace
from uhebo.storage.explain import listed

UNIT = re.compile(r"(.*\S)\s*\[[^][]*\]")
MOST_SAID = 20
"""Wrong rows that are named."""


@dataclass(frozen=True)
class Sheet:
    """What a file says."""

    known: list[Known] = field(default_factory=list)
    passed_over: list[int] = field(default_factory=list)
    """Lines of a history that say nothing: under way then, or failed without a point."""
    waiting: list[int] = field(default_factory=list)
    """Numbers of the trials whose rows have no value yet."""
    before: list[int] = field(default_factory=list)
    """Numbers of the trials that were told before, with the same outcome."""
    notes: list[str] = field(default_factory=list)
    """Columns that are kept as notes."""


def read_results(
    path: str,
    space: SearchSpace,
    trials: Trials,
    value_column: str | None = None,
    ignore_extra: bool = False,
    bounds: Bounds = (),
    objectives: Sequence[str] = (),
    again: bool = False,
) -> Sheet:
    """Every row of the file; whatever is wrong is an error with file, line and column.

    With `again`, a row for a trial that has ended, or one that the study has already, is a further measurement.
    """
    words = {name: texts(d) for name, d in space.distributions.items() if isinstance(d, CategoricalDistribution)}
    known = {*space.distributions, *objectives, *names_of(bounds), value_column or "value"}
    table = without_units(read_table(path, words), known)
    header, wrong = table.header, dict(table.wrong)
    columns = _value_columns(header, objectives, value_column, space)
    ours = tuple(header[: 2 + len(columns)]) == (*HISTORY_COLUMNS, *columns)
    history = ours and "state" not in space.distributions and value_column in (None, "value")
    errors = _error_columns(header, columns, space)
    notes = _check_columns(path, header, space, columns, ignore_extra, history, [*names_of(bounds), *errors.values()])
    sheet = Sheet(notes=[] if ignore_extra else notes)
    numbers = {*columns, *errors.values(), *names_of(bounds), *space.distributions} - words.keys()
    answered: dict[int, int] = {}
    for line, cells in table.rows.items():
        try:
            doubtful = [
                two_readings(name, text) for name, text in table.doubtful.get(line, {}).items() if name in numbers
            ]
            if doubtful:
                raise InvalidInputError("; ".join(doubtful))
            number = cells.get("number", "") if not history else ""
            if number and not any(cells[name] for name in [*columns, *names_of(bounds)]):
                sheet.waiting.append(running_number(number, trials))
                continue
            entry = read_row(line, cells, space, trials, columns, history, again)
            if entry is not None and entry.values is not None:
                entry = replace(entry, measured=measured(bounds, cells), errors=_errors(entry, cells, columns, errors))
            if entry is None:
                sheet.passed_over.append(line)
                continue
            if entry.number is not None and answered.setdefault(entry.number, line) != line:
                raise InvalidInputError(f"trial {entry.number} is in line {answered[entry.number]} already; keep one")
            if entry.number is not None and _told_before(entry, trials[entry.number]):
                sheet.before.append(entry.number)
                continue
            if entry.number is not None:
                running_number(number, trials)
        except InvalidInputError as error:
            wrong[line] = str(error)
            continue
        sheet.known.append(replace(entry, notes={n: cells[n][:LONGEST_REASON] for n in sheet.notes if cells[n]}))
    _refuse(path, wrong)
    if not sheet.known:
        raise InvalidInputError(_why_nothing(path, sheet))
    if not again:
        _check_doubled(path, sheet.known, space, trials, history)
    return sheet


def _error_columns(header: Sequence[str], columns: Sequence[str], space: SearchSpace) -> dict[str, str]:
    """Of each value that has one, the column of its error: `yield error`, or `error` where there is one value."""
    found: dict[str, str] = {}
    for name in columns:
        names = [f"{name} error", *(["error"] if len(columns) == 1 else [])]
        there = [each for each in names if each in header and each not in space.distributions]
        found |= {name: there[0]} if there else {}
    return found


def _errors(
    row: Known, cells: Mapping[str, str], columns: Sequence[str], errors: Mapping[str, str]
) -> tuple[float | None, ...]:
    """Errors of a row's values: of their columns, or what followed ±."""
    found = []
    for name, beside in zip(columns, row.errors, strict=True):
        text = cells[errors[name]] if name in errors else ""
        if text and beside is not None:
            raise InvalidInputError(f"the error of {name} is given twice, by ± and in a column; drop one")
        found.append(error_of(text, name) if text else beside)
    return tuple(found)


def without_units(table: Table, known: Collection[str]) -> Table:
    """The table with columns named as the study has them: temperature for temperature [°C]."""
    names = {name: match[1] for name in table.header if (match := UNIT.fullmatch(name)) and match[1] in known}
    if not names:
        return table
    rows = {line: {names.get(name, name): cell for name, cell in row.items()} for line, row in table.rows.items()}
    doubtful = {
        line: {names.get(name, name): cell for name, cell in row.items()} for line, row in table.doubtful.items()
    }
    return Table([names.get(name, name) for name in table.header], rows, table.wrong, doubtful)


def _refuse(path: str, wrong: Mapping[int, str]) -> None:
    """Everything that is wrong at once, a line each."""
    lines = [f"{path}, line {line}: {what}" for line, what in sorted(wrong.items())]
    if len(lines) == 1:
        raise InvalidInputError(f"{lines[0]}; nothing was stored")
    for line in lines[:MOST_SAID]:
        say(line)
    if lines:
        raise InvalidInputError(f"{len(lines)} rows of {path} are wrong; correct them; nothing was stored")


def _why_nothing(path: str, sheet: Sheet) -> str:
    if sheet.before:
        return (
            f"{path}: everything in it was told before (trial {listed(sheet.before)}); --again stores it as further "
            "measurements"
        )
    what = "no row with a result" if sheet.passed_over or sheet.waiting else "a header and no rows"
    return f"{path} has {what}; add one line per result"


def _told_before(row: Known, trial: FrozenTrial) -> bool:
    """Whether a trial that has ended has this outcome; one that was amended since has another, and that one counts."""
    if row.skipped:
        return shown_state(trial) in LEFT_OUT
    if trial.state == TrialState.COMPLETE:
        return row.values == tuple(trial.values) or (AMENDED in trial.user_attrs and row.values is not None)
    return trial.state == TrialState.FAIL and row.values is None


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
) -> list[str]:
    """Refuse columns that are missing or mistyped; the others, which are notes."""
    twice = [name for name in header if name and header.count(name) > 1]
    if twice:
        raise InvalidInputError(f"{path}: column {twice[0]!r} is there twice; drop one")
    ours = ("state", "failure", "feasible") if history else ()
    known = {"number", *columns, *space.distributions, *others, *ours}
    extra = [name for name in header if name not in known]
    if "" in extra and not ignore_extra:
        raise InvalidInputError(f"{path}: a column without a name has cells; name it, or empty it")
    absent = known - set(header)
    for name in extra if not ignore_extra else ():
        meant = get_close_matches(name.lower(), [each.lower() for each in absent], n=1, cutoff=0.8)
        if meant or name.startswith("uhebo:"):
            wanted = ", ".join([*space.distributions, *columns, *others, "and if you like number"])
            raise InvalidInputError(f"{path}: unknown column {name!r}, which looks like one of ours; expected {wanted}")
    answers = "number" in header and not history
    points = [] if answers else needed(space)
    missing = [name for name in [*columns, *others, *points] if name not in header]
    if missing:
        hint = " (--value-column names another)" if (missing[0],) == tuple(columns) else ""
        raise InvalidInputError(f"{path}: column {missing[0]!r} is missing{hint}; it has {', '.join(header)}")
    return extra


def _check_doubled(path: str, known: Sequence[Known], space: SearchSpace, trials: Trials, history: bool) -> None:
    """The same sheet again, or the history of this very study, would double every experiment in it."""
    names = list(space.distributions)
    ended = [trial for trial in trials.values() if trial.state.is_finished()]
    told = [tuple(trial.values) if trial.state == TrialState.COMPLETE else None for trial in ended]
    here = {(values, *map(trial.params.get, names)) for values, trial in zip(told, ended, strict=True)}
    own = [row for row in known if row.number is None]
    doubled = sum((row.values, *map(row.params.get, names)) in here for row in own)
    if 2 * doubled > len(own):
        remedy = "tell a history to a new study (uhebo create)" if history else "was the sheet told before?"
        raise InvalidInputError(
            f"{path}: {doubled} of {len(own)} experiments are in this study already, with the same outcome; {remedy} "
            "--again stores them as further measurements; nothing was stored"
        )
