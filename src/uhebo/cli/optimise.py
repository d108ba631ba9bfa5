"""`uhebo optimize`: suggest, run and tell in a loop, until the trials are done."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from optuna.study import Study
from optuna.trial import Trial, TrialState
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from uhebo.checks import integer
from uhebo.cli import options
from uhebo.cli.objective import Objective, objective_of, raising
from uhebo.cli.output import say, write_json, write_table
from uhebo.cli.records import best_of, best_rows, counted, record, short_reason
from uhebo.cli.settings import ask, asked_for, continued, new_study, with_sampler
from uhebo.errors import EvaluationFailed, InvalidInputError
from uhebo.optuna_.trial_log import FAILURE
from uhebo.storage.places import Place, opened, place_of

TRIALS = 60
"""Trials where neither the option nor the space file says how many."""
HOPELESS = 5
"""Failed trials, before the first value, that end the run."""
EXIT_INTERRUPTED, EXIT_TERMINATED = 130, 143
Advance = Callable[[float | None], None]


class Terminated(BaseException):
    """SIGTERM arrived."""


def optimize(
    target: options.Target,
    space: options.SpaceFile = None,
    param: options.Params = None,
    n_trials: Annotated[
        int | None,
        typer.Option(
            "--trials",
            help="How many trials to run (more, where the study exists). Default: n_trials of the space file, else 60.",
        ),
    ] = None,
    storage: options.Storage = "study.db",
    study: options.StudyName = None,
    direction: options.DirectionOption = None,
    method: options.Method = None,
    seed: options.Seed = None,
    n_startup_trials: options.Startup = None,
    acquisition: options.Acquisition = None,
    deterministic: options.Deterministic = None,
    timeout: options.Timeout = None,
    as_json: options.AsJson = False,
) -> None:
    """Optimise a Python function or a program. Run it again to go on where it ended.

    A function gets the parameters as keyword arguments and returns the value. A program gets them as UHEBO_PARAM_NAME
    in its environment and in place of {name} in its arguments; the last number it prints is the value.

    \b
    Example:
      $ uhebo optimize train:loss --space space.toml --trials 15 --storage study.db
      $ uhebo optimize --space space.toml --trials 15 -- ./train.sh --lr {lr}
    """
    wanted = asked_for(locals(), n_trials=TRIALS)
    source = "n_trials in the space file" if n_trials is None else "--trials"
    planned = integer(source, wanted.settings["n_trials"], 1)
    place = place_of(storage)
    objective = objective_of(target, timeout)
    with opened(place, create=True) as store:
        loaded = continued(store, place, study, wanted) or new_study(store, place, study, wanted)
        kept = with_sampler(loaded, n_trials=len(loaded.get_trials(deepcopy=False)) + planned)
        code = 0
        try:
            # SIGTERM ends the run as Ctrl-C does.
            with raising(signal.SIGTERM, Terminated()), _progress(planned) as advance:
                run(loaded, kept.space, objective, planned, advance)
        except KeyboardInterrupt:
            code = EXIT_INTERRUPTED
        except Terminated:
            code = EXIT_TERMINATED
        _show(loaded, place, code, as_json)
    raise typer.Exit(code)


def run(study: Study, space: dict[str, Any], objective: Objective, trials: int, advance: Advance) -> None:
    """The loop. A trial that fails is marked so; one that is interrupted too, and the interruption goes on."""
    succeeded = 0
    for done in range(1, trials + 1):
        trial = ask(study, space)
        try:
            value = objective(trial.number, trial.params)
        except EvaluationFailed as error:
            _fail(study, trial, str(error))
            say(f"trial {trial.number} failed: {error}")
            if not succeeded and done >= HOPELESS:
                raise InvalidInputError(
                    f"the first {done} trials all failed, the last with: {error}; correct it and run this again"
                ) from error
            advance(None)
            continue
        except BaseException as error:
            _fail(study, trial, f"interrupted ({type(error).__name__})")
            raise
        try:
            study.tell(trial.number, value)
        except BaseException:
            say(f"not stored: trial {trial.number}, value {value!r}, parameters {trial.params!r}")
            raise
        succeeded += 1
        advance(study.best_value)


def _fail(study: Study, trial: Trial, reason: str) -> None:
    trial.set_user_attr(FAILURE, short_reason(reason))
    study.tell(trial.number, state=TrialState.FAIL, skip_if_finished=True)


@contextmanager
def _progress(trials: int) -> Iterator[Advance]:
    """A bar on a terminal; elsewhere a line whenever the best value changes."""
    if not sys.stderr.isatty():
        seen: list[float] = []

        def tell_best(best: float | None) -> None:
            if best is not None and best not in seen[-1:]:
                seen.append(best)
                say(f"best so far {best:.6g}")

        yield tell_best
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[best]}"))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=trials, best="")

        def draw(best: float | None) -> None:
            bar.advance(task)
            if best is not None:
                bar.update(task, best=f"best {best:.6g}")

        yield draw


def _show(study: Study, place: Place, code: int, as_json: bool) -> None:
    states, best = counted(study.get_trials(deepcopy=False)), best_of(study)
    if as_json:
        where = {"study": study.study_name, "storage": place.shown, "interrupted": bool(code)}
        write_json({**where, "trials": states, "best": None if best is None else record(best)})
        return
    if best is not None:
        write_table(("best", ""), best_rows(best))
    ended = "interrupted; run it again to go on" if code else "done"
    failed = f", {states['failed']} failed" if "failed" in states else ""
    say(f"{ended}: {states.get('finished', 0)} finished{failed}, in {place.shown}")
