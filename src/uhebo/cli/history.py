"""`uhebo history`: every trial as a row."""

from typing import Annotated, Any

import typer

from uhebo.checks import integer
from uhebo.cli import options
from uhebo.cli.bounds import measured_in
from uhebo.cli.output import only_one, write
from uhebo.cli.records import HISTORY_COLUMNS, cells, noted, parameter_names, record, values_in
from uhebo.cli.settings import named_objectives
from uhebo.storage.places import study_at

YES_NO: dict[Any, str] = {True: "yes", False: "no"}


def history(
    file: options.StudyFile,
    last: Annotated[int | None, typer.Option("--last", metavar="N", help="Show only the latest N trials.")] = None,
    study: options.StudyName = None,
    as_json: options.AsJson = False,
    as_csv: options.AsCsv = False,
) -> None:
    """Show every trial: number, state, value, parameters, and why it failed if known.

    Notes are columns too. The CSV can be told to another study: uhebo tell NEW --csv FILE.

    \b
    Example:
      $ uhebo history lab.db
      $ uhebo history lab.db --csv
    """
    only_one(as_json, as_csv)
    with study_at(file, study) as loaded:
        trials = loaded.get_trials(deepcopy=False)[-(integer("--last", last, 1) if last is not None else 0) :]
        objectives = list(named_objectives(loaded))
        found = [record(trial, objectives) for trial in trials]
        names, columns = parameter_names(trials), objectives or ["value"]
        others = list(dict.fromkeys(name for trial in trials for name in measured_in(trial)))
        limited = [*others, "feasible"] if others else []
        told = [
            {**measured_in(t), "feasible": YES_NO.get(r.get("feasible", ""))}
            for t, r in zip(trials, found, strict=True)
        ]
        reasons = ["failure"] if any("failure" in r for r in found) and "failure" not in names else []
        kept = [name for name in noted(trials) if name not in (*names, *columns, *limited, *HISTORY_COLUMNS)]
        rows = [
            [
                *(r[key] for key in HISTORY_COLUMNS),
                *values_in(trial, columns).values(),
                *(row.get(key) for key in limited),
                *cells(trial, names),
                *(r.get(key, "") for key in reasons),
                *(trial.user_attrs.get(key, "") for key in kept),
            ]
            for r, row, trial in zip(found, told, trials, strict=True)
        ]
        write(found, [*HISTORY_COLUMNS, *columns, *limited, *names, *reasons, *kept], rows, as_json, as_csv)
