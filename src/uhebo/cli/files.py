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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from optuna.distributions import CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState

from uhebo.cli.bounds import Bounds, measured, names_of
from uhebo.cli.decimals import two_readings
from uhebo.cli.headings import check_columns, error_columns, named_as_ours, refuse_unusable_errors, value_columns
from uhebo.cli.output import say
from uhebo.cli.records import HISTORY_COLUMNS, LEFT_OUT, LONGEST_REASON, numbered, shown_state, texts
from uhebo.cli.rows import Known, Trials, error_of, read_row, refuse_half_told, running_number
from uhebo.cli.tables import read_table
from uhebo.errors import InvalidInputError
from uhebo.optuna_.corrections import AMENDED
from uhebo.space import SearchSpace

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
    units: Mapping[str, str] | None = None,
) -> Sheet:
    """Every row of the file; whatever is wrong is an error with file, line and column.

    With `again`, a row for a trial that has ended, or one that the study has already, is a further measurement. `units`
    are the study's, by name.
    """
    words = {name: texts(d) for name, d in space.distributions.items() if isinstance(d, CategoricalDistribution)}
    limited = names_of(bounds)
    results = [*objectives, *limited, *([value_column or "value"] if len(objectives) < 2 else [])]
    headings = partial(named_as_ours, path=path, params=space.distributions, results=results, units=units or {})
    table = read_table(path, words, headings)
    header, wrong = table.header, dict(table.wrong)
    columns = value_columns(header, objectives, value_column, space)
    begins = tuple(header[: 2 + len(columns)]) == (*HISTORY_COLUMNS, *columns)
    history = begins and "state" not in space.distributions and value_column in (None, "value")
    errors = error_columns(header, columns, space)
    if not ignore_extra:
        ours = [*space.distributions, *results, *errors.values()]
        refuse_unusable_errors(path, header, ours, columns, objectives, limited)
    notes = check_columns(path, header, space, columns, ignore_extra, history, [*limited, *errors.values()])
    sheet = Sheet(notes=[] if ignore_extra else notes)
    numbers = {*columns, *errors.values(), *limited, *space.distributions} - words.keys()
    answered: dict[int, int] = {}
    for line, cells in table.rows.items():
        try:
            doubtful = [
                two_readings(name, text) for name, text in table.doubtful.get(line, {}).items() if name in numbers
            ]
            if doubtful:
                raise InvalidInputError("; ".join(doubtful))
            number = cells.get("number", "") if not history else ""
            if number and not any(cells[name] for name in [*columns, *limited]):
                sheet.waiting.append(running_number(number, trials))
                continue
            if not history:
                refuse_half_told({name: cells[name] for name in [*columns, *limited]}, own=not number)
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
            f"{path}: everything in it was told before ({numbered(sheet.before)}); --again stores it as further "
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
