"""`uhebo create` and `uhebo status`: a study made, and what it is made of."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from uhebo.cli import options
from uhebo.cli.output import chosen_format, say, write_json, write_table
from uhebo.errors import InvalidInputError

if TYPE_CHECKING:
    from optuna.storages import BaseStorage
    from optuna.study import Study

    from uhebo.api import Direction
    from uhebo.cli.space_file import Declared
    from uhebo.storage.places import Place

DIRECTIONS = ("minimize", "maximize")


def create(
    file: options.StudyFile,
    space: options.SpaceFile = None,
    param: options.Params = None,
    direction: options.DirectionOption = None,
    method: options.Method = None,
    seed: options.Seed = None,
    trials: Annotated[int | None, typer.Option("--trials", help="How many trials are planned, if known.")] = None,
    startup: options.Startup = None,
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
    from uhebo.cli.space_file import declared
    from uhebo.storage.places import opened, place_of

    given = given_settings(direction, method, seed, trials, startup, acquisition, deterministic)
    place = place_of(file)
    wanted = declared(space, param)
    with opened(place, create=True) as storage:
        made = new_study(storage, place, study, wanted, given)
        if chosen_format(as_json).value == "json":
            write_json(description(made, place))
        else:
            count = len(wanted.space)
            say(
                f"made study {made.study_name!r} in {place.shown}: {count} parameter{'s' * (count != 1)}, "
                f"{made.direction.name.lower()}; next: uhebo suggest {place.shown}"
            )


def given_settings(
    direction: str | None,
    method: str | None,
    seed: int | None,
    trials: int | None,
    startup: int | None,
    acquisition: str | None,
    deterministic: bool | None,
) -> dict[str, Any]:
    """The options that were given, under the names that a space file has for them."""
    named = {
        "direction": direction,
        "method": method,
        "seed": seed,
        "n_trials": trials,
        "n_startup_trials": startup,
        "acquisition": acquisition,
        "deterministic": deterministic,
    }
    return {key: value for key, value in named.items() if value is not None}


def checked_direction(direction: str) -> Direction:
    if direction not in DIRECTIONS:
        raise InvalidInputError(f"direction is {direction!r}; expected minimize or maximize")
    return cast("Direction", direction)


def new_study(storage: BaseStorage, place: Place, name: str | None, wanted: Declared, given: dict[str, Any]) -> Study:
    """A study with its settings; options win over what the space file says."""
    import optuna

    from uhebo.cli.settings import Kept, keep, sampler_settings
    from uhebo.storage.places import study_names

    if not wanted.space:
        raise InvalidInputError("a study needs parameters; give --space space.toml, or --param x=float:0:1")
    settings = {**wanted.settings, **given}
    direction = checked_direction(settings.get("direction", "minimize"))
    sampler = sampler_settings(settings)
    name = place.default_name if name is None else name
    if name in study_names(storage):
        raise InvalidInputError(
            f"{place.shown} holds a study {name!r} already; go on with uhebo suggest {place.shown}, or choose another "
            "file or --study NAME"
        )
    made = optuna.create_study(storage=storage, study_name=name, direction=direction)
    keep(made, Kept(wanted.space, sampler))
    return made


def status(file: options.StudyFile, study: options.StudyName = None, as_json: options.AsJson = False) -> None:
    """Show parameters, settings, how many trials there are, who works on them and how long that will take.

    \b
    Example:
      $ uhebo status lab.db
    """
    from uhebo.cli.records import expected
    from uhebo.cli.settings import kept_in
    from uhebo.storage.places import place_of, study_at

    with study_at(file, study) as loaded:
        shown = description(loaded, place_of(file))
        if as_json:
            write_json(shown)
            return
        kept = kept_in(loaded)
        counts = ", ".join(f"{count} {state}" for state, count in shown["trials"].items()) or "none yet"
        rows: list[tuple[str, Any]] = [("study", shown["study"]), ("direction", shown["direction"])]
        rows += [(key, value) for key, value in shown["settings"].items()]
        rows += [("trials", counts), *_progress_rows(shown)]
        write_table(("", ""), [(key, str(value)) for key, value in rows])
        space = [
            (name, expected(d) + (", by its logarithm" if getattr(d, "log", False) else ""))
            for name, d in kept.space.items()
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
        rows.append(("rate", f"{shown['rate_per_minute']:.3g} trials a minute"))
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
    from optuna.distributions import distribution_to_json

    from uhebo.cli.records import STATES
    from uhebo.cli.settings import ATTRIBUTE, kept_in
    from uhebo.workers.progress import progress

    kept = kept_in(study)
    trials = study.get_trials(deepcopy=False)
    states = [STATES[trial.state] for trial in trials]
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
        "trials": {state: states.count(state) for state in dict.fromkeys(states)},
        "workers": [asdict(each) for each in at_work.busy],
        "rate_per_minute": None if at_work.rate is None else 60 * at_work.rate,
        "left_s": at_work.left_s,
    }
