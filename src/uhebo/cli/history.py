"""`uhebo history`: every trial as a row."""

import math
from typing import Annotated, Any

import typer

from uhebo.checks import integer
from uhebo.cli import options
from uhebo.cli.bounds import measured_in
from uhebo.cli.output import only_one, say, write
from uhebo.cli.records import HISTORY_COLUMNS, noted, parameter_names, record, values_in
from uhebo.cli.settings import named_objectives
from uhebo.cli.spreadsheets import kept_cells, shown_cells, with_unit, write_csv, write_xlsx
from uhebo.errors import InvalidInputError
from uhebo.optuna_.extensions import units_of
from uhebo.optuna_.noise import noise_of
from uhebo.storage.places import study_at

YES_NO: dict[Any, str] = {True: "yes", False: "no"}


def history(
    file: options.StudyFile,
    last: Annotated[int | None, typer.Option("--last", metavar="N", help="Show only the latest N trials.")] = None,
    study: options.StudyName = None,
    as_json: options.AsJson = False,
    as_csv: options.AsCsv = False,
    decimal_comma: options.DecimalComma = False,
    xlsx: options.Xlsx = None,
) -> None:
    """Show every trial: number, state, value, parameters, and why it failed if known.

    Notes are columns too. The CSV can be told to another study: uhebo tell NEW --csv FILE.

    \b
    Example:
      $ uhebo history lab.db
      $ uhebo history lab.db --csv
    """
    only_one(as_json, as_csv, xlsx is not None)
    if decimal_comma and not as_csv:
        raise InvalidInputError("--decimal-comma is for --csv; an .xlsx is shown with commas where they are usual")
    with study_at(file, study) as loaded:
        trials = loaded.get_trials(deepcopy=False)[-(integer("--last", last, 1) if last is not None else 0) :]
        objectives = list(named_objectives(loaded))
        found = [record(trial, objectives) for trial in trials]
        names, columns = parameter_names(trials, trials[-1].distributions if trials else {}), objectives or ["value"]
        others = list(dict.fromkeys(name for trial in trials for name in measured_in(trial)))
        limited = [*others, "feasible"] if others else []
        told = [
            {**measured_in(t), "feasible": YES_NO.get(r.get("feasible", ""))}
            for t, r in zip(trials, found, strict=True)
        ]
        several = len(loaded.directions)
        noise = [dict(zip(columns, noise_of(trial, several), strict=False)) for trial in trials]
        known = [name for name in columns if any(math.isfinite(each.get(name, math.nan)) for each in noise)]
        reasons = ["failure"] if any("failure" in r for r in found) and "failure" not in names else []
        kept = [name for name in noted(trials) if name not in (*names, *columns, *limited, *HISTORY_COLUMNS)]
        for_people = not (as_csv or xlsx is not None)
        rows = [
            [
                *(r[key] for key in HISTORY_COLUMNS),
                *values_in(trial, columns).values(),
                *(row.get(key) for key in limited),
                *(each.get(name) if math.isfinite(each.get(name, math.nan)) else None for name in known),
                *(shown_cells if for_people else kept_cells)(trial, names),
                *(r.get(key, "") for key in reasons),
                *(trial.user_attrs.get(key, "") for key in kept),
            ]
            for r, row, trial, each in zip(found, told, trials, noise, strict=True)
        ]
        errors = [f"{name} error" for name in known]
        header = [*HISTORY_COLUMNS, *columns, *limited, *errors, *names, *reasons, *kept]
        titles = [with_unit(name, units_of(loaded)) for name in header]
        if xlsx is not None:
            write_xlsx(xlsx, titles, rows)
            say(f"wrote {xlsx}")
        elif as_csv:
            write_csv(titles, rows, decimal_comma)
        else:
            write(found, titles, rows, as_json)
