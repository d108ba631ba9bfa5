"""Commands that look and change nothing: best, history, diagnose, report, dashboard, methods."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from uhebo.cli import options, records
from uhebo.cli.output import only_one, say, write_csv, write_json, write_table, write_text
from uhebo.errors import InvalidInputError
from uhebo.methods import METHODS, Strategy
from uhebo.storage.places import opened, place_of, study_at

VERDICT_STYLES = {"trust": "bold green", "caution": "bold yellow", "do not trust": "bold red"}


def best(file: options.StudyFile, study: options.StudyName = None, as_json: options.AsJson = False) -> None:
    """Show the best trial so far.

    \b
    Example:
      $ uhebo best lab.db
    """
    with study_at(file, study) as loaded:
        trial = records.best(loaded)
        if as_json:
            which = {"study": loaded.study_name, "direction": loaded.direction.name.lower()}
            write_json({**which, **records.record(trial)})
            return
        smallest = loaded.direction.name == "MINIMIZE"
        write_table(("best", "smallest" if smallest else "largest"), records.best_rows(trial))


def history(
    file: options.StudyFile,
    last: Annotated[int | None, typer.Option("--last", metavar="N", help="Show only the latest N trials.")] = None,
    study: options.StudyName = None,
    as_json: options.AsJson = False,
    as_csv: options.AsCsv = False,
) -> None:
    """Show every trial: number, state, value, parameters, and why it failed if known.

    The CSV can be told to another study: uhebo tell NEW --csv FILE.

    \b
    Example:
      $ uhebo history lab.db
      $ uhebo history lab.db --csv
    """
    only_one(as_json, as_csv)
    if last is not None and last < 1:
        raise InvalidInputError(f"--last is {last}; expected 1 or more")
    with study_at(file, study) as loaded:
        trials = loaded.get_trials(deepcopy=False)[-(last or 0) :]
        found = [records.record(trial) for trial in trials]
        if as_json:
            write_json(found)
            return
        names = records.parameter_names(trials)
        rows = [[r[key] for key in records.HISTORY_COLUMNS] for r in found]
        rows = [[*row, *records.cells(t, names, exact=as_csv)] for row, t in zip(rows, trials, strict=True)]
        columns = [*records.HISTORY_COLUMNS, *names]
        if any("failure" in r for r in found) and "failure" not in names:
            columns.append("failure")
            rows = [[*row, r.get("failure", "")] for row, r in zip(rows, found, strict=True)]
        write_csv(columns, rows) if as_csv else write_table(columns, rows)


def diagnose(file: options.StudyFile, study: options.StudyName = None, as_json: options.AsJson = False) -> None:
    """Say whether the model behind the suggestions can be trusted, why, and what to do next.

    \b
    Example:
      $ uhebo diagnose lab.db
    """
    from uhebo.diagnosis import diagnose as examine

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

    with study_at(file, study) as loaded:
        say(f"wrote {write_report(loaded, report_path(output), title=title)}")


def report_path(output: str | None) -> Path:
    """Where the report goes: as given, if that is an HTML file; else into this folder, under the study's name."""
    path = Path(output or ".")
    if output is not None and path.suffix.lower() not in (".html", ".htm"):
        raise InvalidInputError(f"the report is {output!r}; expected a name that ends in .html")
    if output is not None and (path.is_dir() or not path.parent.is_dir()):
        raise InvalidInputError(f"{output} cannot be written: {path.parent} is not a folder, or {path.name} is one")
    return path


def dashboard(
    file: options.StudyFile,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen on; 0 takes a free one.")] = 8080,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines in, although there is no password.")
    ] = False,
    study: options.StudyName = None,
) -> None:
    """Open optuna-dashboard with our pictures and the diagnosis; Ctrl-C ends it.

    It has no password: on another address than 127.0.0.1, whoever reaches it can read, change and delete every study.

    \b
    Example:
      $ uhebo dashboard lab.db --port 8080
    """
    from uhebo.report.dashboard import start_dashboard

    if not 0 <= port <= 65535:
        raise InvalidInputError(f"--port is {port}; expected 0 to 65535")
    place = place_of(file)
    with opened(place) as storage:
        say("writing the diagnosis and the pictures")
        running = start_dashboard(storage, host, port, study_name=study, allow_remote=allow_remote, block=False)
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
