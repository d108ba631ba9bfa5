"""`uhebo suggest`: what to try next, where it comes from, and what the model expects of it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from uhebo.cli import options
from uhebo.cli.bounds import best_of, names_of, why_none
from uhebo.cli.output import only_one, say, write
from uhebo.cli.predict import expected_cells, expected_columns, expected_record, given_params
from uhebo.cli.records import cells, parameter_names
from uhebo.cli.rows import started_number
from uhebo.cli.settings import ask, with_sampler
from uhebo.cli.space_file import Kept
from uhebo.diagnosis.outlook import has_model, outlook
from uhebo.errors import InvalidInputError
from uhebo.optuna_.believe import model_of
from uhebo.optuna_.points import ORIGIN, REPEATS, point_rng, promising_point, random_point, start_trial
from uhebo.optuna_.trial_log import ATTRIBUTE
from uhebo.storage.places import study_at

MAX_BATCH = 1000
ROLES = {"initial": "start-up", "model": "model", "random": "exploration"}
"""What a suggestion is, in words: spread over the space before there is a model, the model's choice, or a random point
of a method that draws some."""


def suggest(
    file: options.StudyFile,
    count: Annotated[int, typer.Option("-n", "--count", help="How many, to be tried at the same time.")] = 1,
    fix: Annotated[
        list[str] | None, typer.Option("--fix", metavar="NAME=VALUE", help="Keep a parameter at this. Repeat for more.")
    ] = None,
    near: Annotated[str | None, typer.Option("--near", metavar="NUMBER", help="Near this trial.")] = None,
    repeat_best: Annotated[bool, typer.Option("--repeat-best", help="The best point once more.")] = False,
    at_random: Annotated[bool, typer.Option("--random", help="Anywhere, with equal chance.")] = False,
    study: options.StudyName = None,
    as_json: options.AsJson = False,
    as_csv: options.AsCsv = False,
) -> None:
    """Suggest what to try next; each suggestion is a trial that waits for its value.

    It says where each point comes from, what the model expects there (noise left out), and the chance that it is
    better than the best so far. The CSV has an empty column `value`, or one for each objective, and one for what each
    constraint is about: fill them in and give the file to `uhebo tell`.

    \b
    Example:
      $ uhebo suggest lab.db -n 4
      $ uhebo suggest lab.db -n 4 --csv
      $ uhebo suggest lab.db --fix depth=4
    """
    only_one(as_json, as_csv)
    if not 1 <= count <= MAX_BATCH:
        raise InvalidInputError(f"-n is {count}; expected 1 to {MAX_BATCH}")
    if sum([repeat_best, at_random, bool(fix or near)]) > 1:
        raise InvalidInputError("--repeat-best, --random and --fix or --near were given together; choose one")
    with study_at(file, study) as loaded:
        kept = with_sampler(loaded)
        take = _chosen(loaded, kept, fix or (), near, repeat_best, at_random)
        made: list[int] = []
        try:
            made.extend(take() for _ in range(count))
        finally:  # what was suggested before a failure is in the study, and so is shown
            if made:
                _show(loaded, kept, made, as_json, as_csv)
        if not (as_json or as_csv):
            others = "".join(f" {name}=NUMBER" for name in (*kept.objectives, *names_of(kept.constraints)))
            value = "" if kept.objectives else " VALUE"
            say(f"when a value is known: uhebo tell {file} {made[0]}{value}{others}")


def _chosen(
    study: Study, kept: Kept, fix: Sequence[str], near: str | None, repeat_best: bool, at_random: bool
) -> Callable[[], int]:
    """What makes one suggestion after the other; the number of each."""
    trials = {trial.number: trial for trial in study.get_trials(deepcopy=False)}
    if repeat_best:
        best = best_of(study)
        if best is None:
            raise InvalidInputError(f"there is no single best trial to repeat: {why_none(study)}")
        words = f"the best once more (trial {best.number})"
        return lambda: start_trial(study, best.params, best.distributions, {ORIGIN: words, REPEATS: best.number})
    if at_random:
        return lambda: _own_point(study, kept, {ORIGIN: "at random"}, _randomly)
    if fix or near is not None:
        centre = None if near is None else trials[started_number(near, trials)].params
        fixed = given_params(fix, kept.search_space, complete=False)
        words = ", ".join([*fix, *([f"near trial {near}"] if near is not None else [])])
        return lambda: _own_point(study, kept, {ORIGIN: words}, partial(_promising, near=centre, fixed=fixed))
    return lambda: ask(study, kept).number


Point = Callable[[Study, Kept, int], dict[str, Any]]


def _own_point(study: Study, kept: Kept, attributes: Mapping[str, Any], point: Point) -> int:
    found = point(study, kept, len(study.get_trials(deepcopy=False)))
    space = kept.search_space
    params = {name: value for name, value in space.constants.items() if name not in space.conditions} | found
    return start_trial(study, params, kept.space, attributes)


def _randomly(study: Study, kept: Kept, number: int) -> dict[str, Any]:  # noqa: ARG001
    return random_point(kept.search_space, point_rng(kept.settings.get("seed", 0), number, "random"))


def _promising(
    study: Study, kept: Kept, number: int, *, near: Mapping[str, Any] | None, fixed: Mapping[str, Any]
) -> dict[str, Any]:
    if len(study.directions) > 1:
        raise InvalidInputError("--fix and --near are for one objective; leave them out, or take --random")
    model = model_of(study)
    rng = point_rng(kept.settings.get("seed", 0), number, "part")
    if not has_model(model):
        return promising_point(kept.search_space, None, np.empty((0, 0)), rng, near=near, fixed=fixed)
    belief = model.believe()
    under_way = [trial.x for trial in belief.history.trials if trial.state == "running" and trial.x is not None]
    pending = np.array(under_way).reshape(-1, len(belief.space.names))
    return promising_point(belief.space, belief, pending, rng, near=near, fixed=fixed)


def origin_of(trial: FrozenTrial) -> str:
    """Where the point of a trial comes from, in a few words."""
    if ORIGIN in trial.user_attrs:
        return str(trial.user_attrs[ORIGIN])
    tags = trial.system_attrs.get(ATTRIBUTE)
    role = tags.get("role") if isinstance(tags, Mapping) else None
    return ROLES.get(str(role), "your own" if "fixed_params" in trial.system_attrs else "not known")


def _show(study: Study, kept: Kept, made: Sequence[int], as_json: bool, as_csv: bool) -> None:
    trials = [trial for trial in study.get_trials(deepcopy=False) if trial.number in made]
    names = parameter_names(trials, kept.space)
    if as_csv:
        empty = [*(kept.objectives or ("value",)), *names_of(kept.constraints)]
        rows = [[trial.number, *cells(trial, names), *[""] * len(empty)] for trial in trials]
        write(None, ["number", *names, *empty], rows, as_json, as_csv)
        return
    finished = any(trial.state == TrialState.COMPLETE for trial in study.get_trials(deepcopy=False))
    found = []
    with suppress(InvalidInputError):  # a model of other parameters than those that the study goes on with
        found = outlook(study, [trial.params for trial in trials]) if finished else []
    columns = expected_columns(found[0], kept) if found else []
    rows, records = [], []
    for index, trial in enumerate(trials):
        record = {"number": trial.number, "params": trial.params, "origin": origin_of(trial)}
        records.append(record | (expected_record(found[index]) if found else {}))
        expected = expected_cells(found[index], kept) if found else []
        rows.append([trial.number, *cells(trial, names), origin_of(trial), *expected])
    write(records, ["number", *names, "origin", *columns], rows, as_json)
