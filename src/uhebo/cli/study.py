"""`uhebo create` and `uhebo status`: a study made, and what it is made of."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer
from optuna.distributions import distribution_to_json
from optuna.study import Study

from uhebo.cli import options
from uhebo.cli.output import say, write_json, write_table
from uhebo.cli.records import counted, expected
from uhebo.cli.settings import ATTRIBUTE, given_settings, kept_in, new_study
from uhebo.cli.space_file import declared
from uhebo.storage.places import Place, opened, place_of, study_at
from uhebo.workers.progress import progress


def create(
    file: options.StudyFile,
    space: options.SpaceFile = None,
    param: options.Params = None,
    direction: options.DirectionOption = None,
    method: options.Method = None,
    seed: options.Seed = None,
    n_trials: Annotated[int | None, typer.Option("--trials", help="How many trials are planned, if known.")] = None,
    n_startup_trials: options.Startup = None,
    acquisition: options.Acquisition = None,
    deterministic: options.Deterministic = None,
    study: options.StudyName = None,
    as_json: options.AsJson = False,
) -> None:
    """Make a study in a file. Its parameters and settings are kept in it.

    \b
    Example:
      $ uhebo create lab.db --space space.toml --direction maximize
      $ uhebo create lab.db --param lr=float:1e-5:0.1:log --param depth=int:2:12
    """
    given = given_settings(locals())
    place = place_of(file)
    wanted = declared(space, param)
    with opened(place, create=True) as storage:
        made = new_study(storage, place, study, wanted, given)
        if as_json:
            write_json(description(made, place))
            return
        count = len(wanted.space)
        say(
            f"made study {made.study_name!r} in {place.shown}: {count} parameter{'s' * (count != 1)}, "
            f"{made.direction.name.lower()}; next: uhebo suggest {place.shown}"
        )


def status(file: options.StudyFile, study: options.StudyName = None, as_json: options.AsJson = False) -> None:
    """Show parameters, settings, trials, who works on them and how long that will take.

    \b
    Example:
      $ uhebo status lab.db
    """
    with study_at(file, study) as loaded:
        shown = description(loaded, place_of(file))
        if as_json:
            write_json(shown)
            return
        counts = ", ".join(f"{count} {state}" for state, count in shown["trials"].items()) or "none yet"
        rows: list[tuple[str, Any]] = [("study", shown["study"]), ("direction", shown["direction"])]
        rows += [*shown["settings"].items(), ("trials", counts), *_progress_rows(shown)]
        write_table(("", ""), [(key, str(value)) for key, value in rows])
        space = [
            (name, expected(d) + (", by its logarithm" if getattr(d, "log", False) else ""))
            for name, d in kept_in(loaded).space.items()
        ]
        write_table(("parameter", "values"), space)


def _progress_rows(shown: dict[str, Any]) -> list[tuple[str, Any]]:
    """Only what there is to say: nobody may be at work."""
    rows: list[tuple[str, Any]] = []
    if shown["workers"]:
        silent = max(worker["heard_s"] for worker in shown["workers"])
        names = {worker["worker"] for worker in shown["workers"]}
        rows.append(("workers", f"{len(names)} (the most silent one was heard {silent:.0f} s ago)"))
    if shown["rate_per_minute"] is not None:
        rows.append(("rate", f"{shown['rate_per_minute']:.3g} trials per minute"))
    if shown["left_s"]:
        rows.append(("time left", _duration(shown["left_s"])))
    return rows


def _duration(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"about {seconds / size:.0f} {unit}"
    return f"about {seconds:.0f} s"


def description(study: Study, place: Place) -> dict[str, Any]:
    """A study for JSON."""
    kept = kept_in(study)
    trials = study.get_trials(deepcopy=False)
    at_work = progress(trials, kept.sampler.get("n_trials"))
    stored = study.user_attrs.get(ATTRIBUTE)
    return {
        "study": study.study_name,
        "storage": place.shown,
        "direction": study.direction.name.lower(),
        "settings": kept.sampler if stored is None else stored["sampler"],
        "parameters": {
            name: {"type": type(d).__name__.removesuffix("Distribution").lower()}
            | json.loads(distribution_to_json(d))["attributes"]
            for name, d in kept.space.items()
        },
        "trials": counted(trials),
        "workers": [asdict(each) for each in at_work.busy],
        "rate_per_minute": None if at_work.rate is None else 60 * at_work.rate,
        "left_s": at_work.left_s,
    }
