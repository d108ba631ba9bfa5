"""`uhebo tell`: what came of experiments, one value or a whole sheet."""

from dataclasses import replace
from typing import Annotated, Any

import typer
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState, create_trial

from uhebo.cli import options
from uhebo.cli.bounds import Bounds, best_of, leader, values_of
from uhebo.cli.files import Sheet, read_results
from uhebo.cli.front import front_record
from uhebo.cli.objectives import told
from uhebo.cli.output import say, write_json, write_table
from uhebo.cli.outside import say_told_outside
from uhebo.cli.records import numbered, record, short_reason
from uhebo.cli.rows import Known, Trials, error_of, running_number, started_number
from uhebo.cli.settings import bounds_of, kept_in, named_objectives
from uhebo.cli.suspicion import warn_of_suspicious
from uhebo.errors import InvalidInputError
from uhebo.optuna_.changes import amend, has_ended, skip
from uhebo.optuna_.constraints import named_attributes, store_named
from uhebo.optuna_.endings import FAILURE
from uhebo.optuna_.fronts import objective_names
from uhebo.optuna_.noise import NOISE
from uhebo.optuna_.points import REPEATS
from uhebo.space import SearchSpace
from uhebo.storage.explain import explain, listed
from uhebo.storage.places import study_at

NOTE = "note"
"""User attribute of a trial: what was noted."""


def tell(
    file: options.StudyFile,
    number: Annotated[str | None, typer.Argument(metavar="NUMBER", help="Number of a suggested trial.")] = None,
    value: Annotated[
        str | None, typer.Argument(metavar="VALUE", help="What was measured; NAME=NUMBER where it has a name.")
    ] = None,
    others: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME=NUMBER]…", help="What else was measured: other objectives, constraints."),
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="The trial gave no value.")] = False,
    csv: Annotated[
        str | None,
        typer.Option("--csv", metavar="FILE", help="Many results: CSV, .xlsx or .ods. - is standard input."),
    ] = None,
    error: Annotated[
        str | None, typer.Option("--error", metavar="NUMBER", help="Standard deviation of the value, if known.")
    ] = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Kept with the trial.")] = "",
    again: Annotated[bool, typer.Option("--again", help="A further measurement of what was told before.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what was understood, store nothing.")] = False,
    value_column: Annotated[
        str | None,
        typer.Option("--value-column", help="Column of the values. Default: value, or its name."),
    ] = None,
    ignore_extra: Annotated[bool, typer.Option("--ignore-extra", help="Keep no notes from other columns.")] = False,
    study: options.StudyName = None,
    as_json: options.AsJson = False,
) -> None:
    """Tell a value for a suggested trial, or a whole CSV of results.

    What constraints are about follows the value (purity=96.1); objectives with names are told by name (yield=81.2).

    A sheet has the columns number and value, or the parameters and value for experiments of your own; or it is what
    uhebo history --csv printed of another study. Other columns are kept as notes. Rows with a number and no value stay
    waiting. It is checked as a whole: one wrong row, and nothing is stored. See docs/shell.md.

    \b
    Example:
      $ uhebo tell lab.db 3 0.82
      $ uhebo tell lab.db 4 --failed
      $ uhebo tell lab.db --csv results.csv --dry-run
    """
    option = next(
        (text for text in (number, value, *(others or ())) if text is not None and text.startswith("--")), None
    )
    if option is not None:
        raise typer.BadParameter(f"no such option: {option}")
    if failed and value is not None and csv is None:
        told_too = " ".join([value, *(others or ())])
        raise typer.BadParameter(f"a failed trial has no value: leave out {told_too}, or leave out --failed")
    if (csv is None) == (number is None) or (csv is None and (value is None) != failed):
        raise typer.BadParameter("give a trial number and its value, a number and --failed, or --csv FILE")
    if note and csv is not None:
        raise typer.BadParameter("--note is for one trial; in a sheet a note is a column")
    if error is not None and (csv is not None or failed):
        raise typer.BadParameter("--error is for one value; in a sheet it is a column, or follows the value: 29±0.4")
    with study_at(file, study) as loaded:
        trials = {trial.number: trial for trial in loaded.get_trials(deepcopy=False)}
        objectives, space = named_objectives(loaded), SearchSpace.of({})
        if csv is None:
            assert number is not None
            bounds = bounds_of(loaded)
            given = None if value is None else told(objectives, bounds, [value, *(others or ())])
            values, errors, found = given or (None, (), {})
            errors = errors if error is None else _given_error(error, errors, list(objectives))
            notes = {NOTE: short_reason(note)} if note else {}
            row = Known(0, None, {}, values, measured=found, notes=notes, errors=errors)
            sheet = Sheet([_placed(row, number, trials, again)])
        else:
            kept = kept_in(loaded)
            space, bounds = kept.search_space, kept.constraints
            names = list(objectives)
            sheet = read_results(csv, space, trials, value_column, ignore_extra, bounds, names, again, kept.units)
        if dry_run:
            _show(sheet, list(objectives) or ["value"], as_json)
            return
        _store(loaded, sheet.known, space, bounds, trials)
        _confirm(loaded, sheet)
        say_told_outside(loaded, {row.number for row in sheet.known if row.number is not None})
        suspicious = warn_of_suspicious(loaded, file, study)
        if as_json:
            write_json({**_counts(loaded, sheet), "suspicious": suspicious})


def _given_error(text: str, told_with: tuple[float | None, ...], names: list[str]) -> tuple[float | None, ...]:
    if len(told_with) > 1:
        raise InvalidInputError(
            f"--error is of one value; with several objectives write it after the value: {names[0]}=81.2±{text}"
        )
    if told_with[0] is not None:
        raise InvalidInputError("the error is given twice, by ± and by --error; drop one")
    return (error_of(text),)


def _placed(row: Known, number: str, trials: Trials, again: bool) -> Known:
    """The answer to a trial that waits, or with `again` a further measurement of one that has ended."""
    if not again or not trials[started_number(number, trials)].state.is_finished():
        return replace(row, number=running_number(number, trials))
    before = trials[started_number(number, trials)]
    return replace(row, params=dict(before.params), repeats=before.number)


def _store(study: Study, known: list[Known], space: SearchSpace, bounds: Bounds, trials: Trials) -> None:
    """Every row, in order; where the storage gives up in the middle, the rows that are not in it are named."""
    done = 0
    try:
        for row in known:
            values = values_of(bounds, row.measured) if row.measured else {}
            noted: dict[str, Any] = {**row.notes, **row.measured}
            if any(each is not None for each in row.errors):
                noted[NOISE] = list(row.errors) if len(row.errors) > 1 else row.errors[0]
            if row.skipped and row.number is not None:
                _skip(study, trials[row.number], noted)
            elif row.number is None:
                reason = {FAILURE: short_reason(row.failure)} if row.failure else {}
                repeats = {} if row.repeats is None else {REPEATS: row.repeats}
                there = space.distributions if row.repeats is None else trials[row.repeats].distributions
                trial = create_trial(
                    state=TrialState.FAIL if row.values is None else TrialState.COMPLETE,
                    values=row.values,
                    params=row.params,
                    distributions={name: there[name] for name in row.params},
                    user_attrs={**reason, **repeats, **noted},
                    system_attrs=named_attributes(values),
                )
                study.add_trial(trial)
            elif has_ended(study, row.number):  # skipped while it waited, and restored
                given = _as_amendment(study, row, values)
                amend(study, row.number, failed=row.values is None, **given)
            else:
                store_named(study, trials[row.number], values, noted)
                if row.values is None:
                    study.tell(row.number, state=TrialState.FAIL)
                else:
                    study.tell(row.number, list(row.values))
            done += 1
    except Exception as error:
        lost = listed(known[done:])
        raise InvalidInputError(f"{explain(error)}; stored {done} of {len(known)}, not stored: {lost}") from error


def _skip(study: Study, trial: FrozenTrial, noted: dict[str, Any]) -> None:
    ended = has_ended(study, trial.number)
    if noted and not ended:
        store_named(study, trial, {}, noted)
    skip(study, trial.number)
    if noted and ended:
        amend(study, trial.number, attributes=noted)


def _as_amendment(study: Study, row: Known, constraints: dict[str, float]) -> dict[str, Any]:
    """The same as arguments of `uhebo.amend`."""
    errors = zip(objective_names(study), row.errors, strict=False)
    noise = {name: error for name, error in errors if error is not None}
    value = None if row.values is None else list(row.values)
    return {
        "value": value,
        "constraints": constraints,
        "attributes": {**row.notes, **row.measured},
        "noise": noise or None,
    }


def _show(sheet: Sheet, objectives: list[str], as_json: bool) -> None:
    """What would be stored."""
    rows = []
    for row in sheet.known:
        values: dict[str, Any] = dict(zip(objectives, row.values or [row.word] * len(objectives), strict=True))
        values |= {f"{n} error": e for n, e in zip(objectives, row.errors, strict=False) if e is not None}
        of = row.number if row.repeats is None else row.repeats
        what = "further" if row.repeats is not None else "own" if row.number is None else "answer"
        rows.append({"what": what, "trial": of, **values, **row.measured, **row.params, **row.notes})
    if as_json:
        write_json({"dry_run": True, "rows": rows, "waiting": sheet.waiting, "told_before": sheet.before})
    else:
        columns = list(dict.fromkeys(name for row in rows for name in row))
        write_table(columns, [[row.get(name) for name in columns] for row in rows])
    _say_left(sheet)
    say(f"{len(rows)} would be stored; nothing was")


def _say_left(sheet: Sheet) -> None:
    """Rows that are not stored, and why."""
    if sheet.passed_over:
        say(
            f"not imported: {numbered(sheet.passed_over, 'line')}, of experiments that gave no result (not done yet, "
            "skipped, dropped, or failed without settings)"
        )
    if sheet.before:
        say(f"told before, with the same outcome: {numbered(sheet.before)}")
    if sheet.waiting:
        say(f"still waiting for a value: {numbered(sheet.waiting)}")
    if sheet.notes:
        say(f"kept as notes: {listed(sheet.notes)}")


def _counts(study: Study, sheet: Sheet) -> dict[str, Any]:
    """What was stored, and what leads now, for JSON."""
    told, skipped, added = _numbers(sheet)
    counts = {"told": told, "skipped": skipped, "added": added, "passed_over": len(sheet.passed_over)}
    counts |= {"waiting": len(sheet.waiting), "told_before": len(sheet.before), "finished": _finished(study)}
    objectives, best = named_objectives(study), best_of(study)
    return {**counts, **(front_record(study, objectives) if len(objectives) > 1 else {"best": best and record(best)})}


def _confirm(study: Study, sheet: Sheet) -> None:
    _say_left(sheet)
    counted = zip(("told", "skipped", "added"), _numbers(sheet), strict=True)
    parts = [f"{what} {count}" for what, count in counted if count]
    say(f"{', '.join(parts)}; {_finished(study)} finished{leader(study)}")


def _numbers(sheet: Sheet) -> tuple[int, int, int]:
    """How many trials were told, how many were skipped, and how many were added."""
    answered, skipped = (row.number is not None for row in sheet.known), sum(row.skipped for row in sheet.known)
    told = sum(answered) - skipped
    return told, skipped, len(sheet.known) - told - skipped


def _finished(study: Study) -> int:
    return len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))
