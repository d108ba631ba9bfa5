"""Commands that look and change nothing: best, history, diagnose, report, dashboard, methods."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uhebo.cli import options
from uhebo.cli.output import Format, chosen_format, say, write_csv, write_json, write_table, write_text
from uhebo.errors import InvalidInputError

if TYPE_CHECKING:
    from optuna.study import Study

    from uhebo.methods import Strategy

VERDICT_STYLES = {"trust": "bold green", "caution": "bold yellow", "do not trust": "bold red"}


def best(file: options.StudyFile, study: options.StudyName = None, as_json: options.AsJson = False) -> None:
    """Show the best trial so far.

    \b
    Example:
      $ uhebo best lab.db
    """
    from uhebo.cli import records
    from uhebo.storage.places import study_at

    with study_at(file, study) as loaded:
        trial = records.best(loaded)
        if as_json:
            write_json(
                {"study": loaded.study_name, "direction": loaded.direction.name.lower(), **records.record(trial)}
            )
            return
        names = list(trial.params)
        rows = [("value", trial.value), ("trial", str(trial.number))]
        rows += list(zip(names, records.cells(trial, names, exact=False), strict=True))
        write_table(("best", "smallest" if loaded.direction.name == "MINIMIZE" else "largest"), rows)


def history(
    file: options.StudyFile,
    last: Annotated[int | None, typer.Option("--last", help="Only so many, the latest.")] = None,
    study: options.StudyName = None,
    as_json: options.AsJson = False,
    as_csv: options.AsCsv = False,
) -> None:
    """Show every trial: number, state, value, parameters, and why it failed where that is known.

    The CSV can be told to another study: uhebo tell NEW --csv FILE.

    \b
    Example:
      $ uhebo history lab.db
      $ uhebo history lab.db --csv
    """
    from uhebo.cli import records
    from uhebo.storage.places import study_at

    form = chosen_format(as_json, as_csv)
    if last is not None and last < 1:
        raise InvalidInputError(f"--last is {last}; expected 1 or more")
    with study_at(file, study) as loaded:
        trials = loaded.get_trials(deepcopy=False)[-(last or 0) :]
        if form is Format.JSON:
            write_json([records.record(trial) for trial in trials])
            return
        names = records.parameter_names(trials)
        found = [records.record(trial) for trial in trials]
        rows = [
            [r["number"], r["state"], _value_cell(r["value"], form), *records.cells(t, names, exact=form is Format.CSV)]
            for r, t in zip(found, trials, strict=True)
        ]
        columns = [*records.HISTORY_COLUMNS, *names]
        if any("failure" in r for r in found) and "failure" not in names:
            columns.append("failure")
            rows = [[*row, r.get("failure", "")] for row, r in zip(rows, found, strict=True)]
        write_csv(columns, rows) if form is Format.CSV else write_table(columns, rows)


def _value_cell(value: float | None, form: Format) -> Any:
    return repr(value) if form is Format.CSV and value is not None else value


def diagnose(file: options.StudyFile, study: options.StudyName = None, as_json: options.AsJson = False) -> None:
    """Say whether the model behind the suggestions can be trusted, why, and what to do next.

    \b
    Example:
      $ uhebo diagnose lab.db
    """
    from uhebo.diagnosis import diagnose as examine
    from uhebo.storage.places import study_at

    with study_at(file, study) as loaded:
        found = examine(loaded)
        if as_json:
            write_json(found.to_dict())
            return
        write_text(f"Verdict: {found.verdict}", VERDICT_STYLES.get(found.verdict, "bold"))
        write_text(found.headline)
        for reason in found.reasons:
            write_text(f"  • {reason}")
        write_text(f"Next: {found.next_action}")
        write_text("")
        for section in found.sections():
            write_text(section.title, "bold")
            write_text(section.sentence)
            if section.rows:
                write_table(section.columns, section.rows)
            write_text("")


def report(
    file: options.StudyFile,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE.html", help="Default: STUDY-report.html, here.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Heading. Default: the study's name.")] = None,
    study: options.StudyName = None,
) -> None:
    """Write a report: one HTML file that opens anywhere, without a network.

    \b
    Example:
      $ uhebo report lab.db -o report.html
    """
    from uhebo.report.html import write_report
    from uhebo.storage.places import study_at

    with study_at(file, study) as loaded:
        path = report_path(output, loaded)
        written = write_report(loaded, path, title=title)
        say(f"wrote {written}")


def report_path(output: str | None, study: Study) -> Path:
    """Where the report goes: as given, if that is an HTML file; else a plain name in this folder."""
    if output is None:
        return Path(f"{file_name(study.study_name)}-report.html")
    path = Path(output)
    if path.suffix.lower() not in (".html", ".htm"):
        raise InvalidInputError(f"the report is {output!r}; expected a name that ends in .html")
    if path.is_dir() or not path.parent.is_dir():
        raise InvalidInputError(f"{output} can not be written: {path.parent} is no folder, or {path.name} is one")
    return path


def file_name(name: str) -> str:
    """A study's name as the name of a file in this folder: no separators, no leading dots, not too long."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")[:80] or "study"


def dashboard(
    file: options.StudyFile,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen on; 0 takes a free one.")] = 8080,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines in, although there is no password.")
    ] = False,
    study: options.StudyName = None,
) -> None:
    """Open optuna-dashboard on this machine, with our pictures and the diagnosis; Ctrl-C ends it.

    It has no password: on another address than 127.0.0.1, whoever reaches it can read, change and delete every study.

    \b
    Example:
      $ uhebo dashboard lab.db --port 8080
    """
    from uhebo.report.dashboard import start_dashboard
    from uhebo.report.files import ReportError
    from uhebo.storage.places import opened, place_of

    if not 0 <= port <= 65535:
        raise InvalidInputError(f"--port is {port}; expected 0 to 65535")
    place = place_of(file)
    with opened(place) as storage:
        say("writing the diagnosis and the pictures")
        try:
            running = start_dashboard(
                storage, host=host, port=port, study_name=study, allow_remote=allow_remote, block=False
            )
        except ReportError as error:
            raise InvalidInputError(str(error).replace("allow_remote=True", "--allow-remote")) from error
        say(f"{running.url} shows {place.shown}; Ctrl-C ends it")
        try:
            running.wait()
        except KeyboardInterrupt:
            say("ended")
        finally:
            running.stop()


def methods(as_json: options.AsJson = False) -> None:
    """List the methods that suggest points.

    \b
    Example:
      $ uhebo methods
    """
    from uhebo.methods import METHODS

    found = {name: _sentence(method.propose) for name, method in METHODS.items()}
    if as_json:
        write_json(found)
    else:
        write_table(("method", "what it does"), list(found.items()))


def _sentence(strategy: Strategy) -> str:
    """The first line of the function's docstring, with the estimator where one function serves several methods."""
    function: Any = strategy.func if isinstance(strategy, partial) else strategy
    first = (function.__doc__ or "").strip().partition("\n")[0]
    estimator = strategy.keywords.get("estimator") if isinstance(strategy, partial) else None
    return f"{first} (hyperparameters: {estimator})" if estimator else first
