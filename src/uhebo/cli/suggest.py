"""`uhebo suggest`: what to try next, where it comes from, and what the model expects of it."""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from uhebo.cli import options
from uhebo.cli.bounds import best_of, names_of, why_none
from uhebo.cli.calls import shell_name
from uhebo.cli.objective import raising
from uhebo.cli.output import only_one, say, write
from uhebo.cli.predict import expected_cells, expected_columns, expected_record, given_params, legend
from uhebo.cli.records import cells, origin_of, parameter_names, waiting_trials
from uhebo.cli.rows import started_number
from uhebo.cli.settings import ask, with_sampler
from uhebo.cli.signals import EXIT_TERMINATED, Terminated
from uhebo.cli.space_file import Kept
from uhebo.cli.spreadsheets import rounded, with_unit, write_csv, write_xlsx
from uhebo.cli.standing import recommended
from uhebo.cli.suspicion import warn_of_suspicious
from uhebo.diagnosis.outlook import has_model, outlook
from uhebo.errors import InvalidInputError
from uhebo.optuna_.batches import usual_batch
from uhebo.optuna_.believe import model_of
from uhebo.optuna_.points import ORIGIN, REPEATS, point_rng, promising_point, random_point, start_trial
from uhebo.storage.places import study_at

MAX_BATCH = 1000
APART = 0.03
"""Share of each range within which no two points of a batch lie: at the bench they would be one experiment."""
Repeated = tuple[FrozenTrial, str]
"""A trial that is to be made once more, and what it is."""


def suggest(
    file: options.StudyFile,
    count: Annotated[int, typer.Option("-n", "--count", help="How many, to be tried at the same time.")] = 1,
    fix: Annotated[
        list[str] | None, typer.Option("--fix", metavar="NAME=VALUE", help="Keep a parameter at this. Repeat for more.")
    ] = None,
    same: Annotated[
        list[str] | None,
        typer.Option("--same", metavar="NAME", help="A parameter that all of this batch share. Repeat for more."),
    ] = None,
    near: Annotated[str | None, typer.Option("--near", metavar="NUMBER", help="Near this trial.")] = None,
    repeat: Annotated[str | None, typer.Option("--repeat", metavar="NUMBER", help="This trial once more.")] = None,
    repeat_best: Annotated[bool, typer.Option("--repeat-best", help="The best told point once more.")] = False,
    at_random: Annotated[bool, typer.Option("--random", help="Anywhere, with equal chance.")] = False,
    xlsx: options.Xlsx = None,
    study: options.StudyName = None,
    as_json: options.AsJson = False,
    as_csv: options.AsCsv = False,
    decimal_comma: options.DecimalComma = False,
) -> None:
    """Suggest what to try next; each suggestion is a trial that waits for its value.

    It says where each point comes from, what the model expects there (noise left out), and the chance that it is
    better than the best so far. A sheet (--csv, --xlsx) has empty columns for the results: fill them in, and give it
    to `uhebo tell`.

    \b
    Example:
      $ uhebo suggest lab.db -n 4
      $ uhebo suggest lab.db -n 4 --same depth --csv
    """
    only_one(as_json, as_csv, xlsx is not None)
    if decimal_comma and not as_csv:
        raise InvalidInputError("--decimal-comma is for --csv; an .xlsx is shown with commas where they are usual")
    if not 1 <= count <= MAX_BATCH:
        raise InvalidInputError(f"-n is {count}; expected 1 to {MAX_BATCH}")
    if sum([repeat is not None, repeat_best, at_random, bool(fix or near or same)]) > 1:
        raise InvalidInputError(
            "--repeat, --repeat-best, --random and --fix, --same or --near were given together; choose one"
        )
    with study_at(file, study) as loaded:
        kept = with_sampler(loaded, apart=APART if count > 1 else 0.0, shared=same or ())
        repeated = _repeated(loaded, repeat, repeat_best, shell_name(file, study))
        take = _chosen(loaded, kept, fix or (), near, repeated, at_random)
        take = _alike(loaded, kept, same, fix or (), near, take) if same else take
        made: list[int] = []
        others = _of_others(loaded, file, study, 1 if repeat is not None or repeat_best or at_random else count)
        try:
            with _until_terminated():
                made.extend(take() for _ in range(count))
        except Terminated:
            raise typer.Exit(EXIT_TERMINATED) from None
        finally:  # what was suggested before a failure is in the study, and so is shown
            if made:
                _show(loaded, kept, made, Form(as_json, as_csv, decimal_comma, xlsx))
                for text in others:
                    say(text)
            if 0 < len(made) < count:
                span = f"{made[0]}-{made[-1]}" if len(made) > 1 else str(made[0])
                say(f"{len(made)} of {count} were made, and wait; to take them back: uhebo skip {file} {span}")
        if repeat_best:
            say(_said_of_best(loaded, made, named=shell_name(file, study)))
        warn_of_suspicious(loaded, file, study)
        if xlsx is not None:
            say(f"wrote {xlsx}; fill it in, then: uhebo tell {file} --csv {xlsx}")
        elif not (as_json or as_csv):
            named = "".join(f" {name}=NUMBER" for name in (*kept.objectives, *names_of(kept.constraints)))
            value = "" if kept.objectives else " VALUE"
            say(f"when a value is known: uhebo tell {file} {made[0]}{value}{named}")


@contextmanager
def _until_terminated() -> Iterator[None]:
    """SIGTERM ends it as Ctrl-C does, where signals arrive: in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with raising(signal.SIGTERM, Terminated()):
        yield


def _of_others(study: Study, file: str, name: str | None, count: int) -> list[str]:
    """Experiments that wait already; and whether more are asked for at once than usually, which teaches less."""
    said = []
    if waiting := len(waiting_trials(study)):
        others = "another experiment waits" if waiting == 1 else f"{waiting} other experiments wait"
        said.append(f"{others} for a value already: uhebo status {shell_name(file, name)}")
    usual = usual_batch(study.get_trials(deepcopy=False))
    if usual is not None and count > usual:
        said.append(
            f"{count} at once, usually {usual} in this study: none of them learns from the results of the others"
        )
    return said


def _chosen(
    study: Study,
    kept: Kept,
    fix: Sequence[str],
    near: str | None,
    repeated: tuple[FrozenTrial, str] | None,
    at_random: bool,
) -> Callable[[], int]:
    """What makes one suggestion after the other; the number of each."""
    trials = {trial.number: trial for trial in study.get_trials(deepcopy=False)}
    if repeated is not None:
        before, words = repeated
        marks = {ORIGIN: f"{words} once more (trial {before.number})", REPEATS: before.number}
        return lambda: start_trial(study, before.params, before.distributions, marks)
    if at_random:
        return lambda: _own_point(study, kept, {ORIGIN: "at random"}, _randomly)
    if fix or near is not None:
        centre = None if near is None else trials[started_number(near, trials)].params
        fixed = given_params(fix, kept.search_space, complete=False)
        words = ", ".join([*fix, *([f"near trial {near}"] if near is not None else [])])
        return lambda: _own_point(study, kept, {ORIGIN: words}, partial(_promising, near=centre, fixed=fixed))
    return lambda: ask(study, kept).number


def _repeated(study: Study, number: str | None, best_one: bool, named: str) -> Repeated | None:
    """The trial that is to be made once more, and what it is."""
    if number is not None:
        trials = {trial.number: trial for trial in study.get_trials(deepcopy=False)}
        return trials[started_number(number, trials)], "this one"
    if best_one and len(study.directions) > 1:
        raise InvalidInputError(
            "there is no single best trial to repeat: with several objectives the best ones are a front; uhebo best "
            f"{named} lists it, and --repeat NUMBER repeats one of its trials"
        )
    best = best_of(study) if best_one else None
    if best_one and best is None:
        raise InvalidInputError(f"there is no single best trial to repeat: {why_none(study, named)}")
    return None if best is None else (best, "the best")


def _said_of_best(study: Study, made: Sequence[int], named: str) -> str:
    """Which trial is repeated, and how to repeat the recommended point in its place."""
    best, found = best_of(study), recommended(study)
    assert best is not None  # it was repeated
    which = f"trial{'s' * (len(made) > 1)} {', '.join(map(str, made))} repeat{'s' * (len(made) == 1)}"
    text = f"{which} trial {best.number}, the best told ({best.value:.6g})"
    if found is None:
        return text
    if best.number in found.numbers:
        return f"{text}, which is also the recommended point"
    return f"{text}; the recommended point is another one: uhebo suggest {named} --repeat {found.numbers[0]}"


def _alike(
    study: Study, kept: Kept, same: Sequence[str], fix: Sequence[str], near: str | None, first: Callable[[], int]
) -> Callable[[], int]:
    """A first suggestion, and further ones that share some parameters with it."""
    unknown = [name for name in same if name not in kept.search_space.columns]
    if unknown:
        known = ", ".join(kept.search_space.columns)
        raise InvalidInputError(f"--same is {unknown[0]!r}, which is no parameter that varies; expected one of {known}")
    shared: list[str] = []

    def take() -> int:
        if shared:
            return _chosen(study, kept, [*fix, *shared], near, None, False)()
        number = first()
        params = study.get_trials(deepcopy=False)[number].params
        texts_of = dict(zip(params, cells(study.get_trials(deepcopy=False)[number], list(params)), strict=True))
        shared.extend(f"{name}={texts_of[name]}" for name in same if name in params and name not in _names(fix))
        return number

    return take


def _names(fix: Sequence[str]) -> set[str]:
    return {text.partition("=")[0].strip() for text in fix}


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
    model = model_of(study, 0)
    rng = point_rng(kept.settings.get("seed", 0), number, "part")
    if not has_model(model):
        return promising_point(kept.search_space, None, np.empty((0, 0)), rng, near=near, fixed=fixed)
    belief = model.believe_all()
    under_way = [trial.x for trial in belief.history.trials if trial.state == "running" and trial.x is not None]
    pending = np.array(under_way).reshape(-1, len(belief.space.names))
    apart, reference = 0.0 if near else APART, kept.settings.get("reference_point")
    return promising_point(belief.space, belief, pending, rng, near=near, fixed=fixed, apart=apart, reference=reference)


@dataclass(frozen=True)
class Form:
    """The form in which suggestions were asked for."""

    as_json: bool
    as_csv: bool
    decimal_comma: bool
    xlsx: str | None


def _show(study: Study, kept: Kept, made: Sequence[int], form: Form) -> None:
    trials = [trial for trial in study.get_trials(deepcopy=False) if trial.number in made]
    names, as_json = parameter_names(trials, kept.space), form.as_json
    if form.as_csv or form.xlsx is not None:
        empty = [*(kept.objectives or ("value",)), *names_of(kept.constraints)]
        titles = [with_unit(name, kept.units) for name in ("number", *names, *empty)]
        rows = []
        for trial in trials:
            short = zip(cells(trial, names), (kept.space.get(name) for name in names), strict=True)
            rows.append([trial.number, *(rounded(*cell) for cell in short), *[""] * len(empty)])
        if form.xlsx is not None:
            write_xlsx(form.xlsx, titles, rows)
        else:
            write_csv(titles, rows, form.decimal_comma)
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
        short = zip(cells(trial, names), (kept.space.get(name) for name in names), strict=True)
        rows.append([trial.number, *(rounded(*cell) for cell in short), origin_of(trial), *expected])
    titles = [with_unit(name, kept.units) for name in names]
    write(records, ["number", *titles, "origin", *columns], rows, as_json)
    if found and not as_json:
        say(legend(found[0]))
