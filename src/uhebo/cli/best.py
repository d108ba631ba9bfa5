"""`uhebo best`: the best trial so far, or the front of several objectives, or one point of it."""

from dataclasses import asdict
from typing import Annotated

import typer

from uhebo.cli import options
from uhebo.cli.bounds import best_of, best_rows, why_none
from uhebo.cli.calls import shell_name
from uhebo.cli.front import picked, write_front, write_pick
from uhebo.cli.output import write
from uhebo.cli.records import record
from uhebo.cli.settings import named_objectives
from uhebo.cli.spreadsheets import with_unit
from uhebo.cli.standing import on_bounds, recommended, standing, standing_rows, write_hints
from uhebo.cli.suspicion import warn_of_suspicious
from uhebo.errors import InvalidInputError
from uhebo.optuna_ import fronts
from uhebo.optuna_.extensions import units_of
from uhebo.storage.places import study_at


def best(
    file: options.StudyFile,
    weight: Annotated[
        list[str] | None,
        typer.Option("--weight", metavar="NAME=NUMBER", help="Pick one point of the front: what counts how much."),
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option("--within", metavar="TEXT", help="Pick one where an objective is good enough: 'cost <= 6'."),
    ] = None,
    by: Annotated[
        str, typer.Option("--by", metavar="expected|measured", help="Values by which a point is picked.")
    ] = "expected",
    study: options.StudyName = None,
    as_json: options.AsJson = False,
) -> None:
    """Show the best trial so far, or the front of several objectives.

    With it come further measurements of the same settings, and the recommended point: the best by a second opinion
    that allows for more noise than the model, and that a lucky measurement does not mislead. With constraints it is the
    best feasible one. With several objectives the front is shown: trials that no other one beats in every objective,
    and what one costs in terms of another. With --weight or --within it is one point of the front: the one whose
    largest weighted distance from the best value of an objective is the smallest. It is picked by what is expected
    there without noise, or by what was measured (--by measured).

    \b
    Example:
      $ uhebo best lab.db
    """
    with study_at(file, study) as loaded:
        objectives = named_objectives(loaded)
        if weight or within:
            if len(objectives) < 2:
                raise InvalidInputError(
                    "--weight and --within pick a point of a front, and this study has one objective"
                )
            suspicious = warn_of_suspicious(loaded, file, study)
            found = picked(loaded, weight or (), within or (), by)
            write_pick(loaded, found, as_json, {"study": loaded.study_name, "suspicious": suspicious})
            return
        if len(objectives) > 1 and fronts.front_trials(loaded):
            suspicious = warn_of_suspicious(loaded, file, study)
            about = {"study": loaded.study_name, "suspicious": suspicious}
            write_front(loaded, objectives, as_json, about, shell_name(file, study))
            return
        trial = best_of(loaded)
        if trial is None:
            raise InvalidInputError(f"study {loaded.study_name!r} has {why_none(loaded, shell_name(file, study))}")
        direction = loaded.direction.name.lower()
        point, named = recommended(loaded), shell_name(file, study)
        value = {"study": loaded.study_name, "direction": direction, **record(trial), **standing(loaded, trial, point)}
        bounds = on_bounds(loaded, trial, point)
        value["at_bounds"] = [{**asdict(each), "command": each.command(named)} for each in bounds]
        units = units_of(loaded)
        rows = [(with_unit(name, units), value) for name, value in best_rows(trial, *objectives)]
        rows += standing_rows(loaded, trial, point)
        value["suspicious"] = warn_of_suspicious(loaded, file, study)
        write(value, ("best", "smallest" if direction == "minimize" else "largest"), rows, as_json)
        if not as_json:
            write_hints(loaded, trial, point, named)
