"""`uhebo optimize` and `uhebo worker`: suggest, evaluate and tell in a loop, alone or with others on one study."""

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import TrialState
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from uhebo.checks import integer, optional_integer
from uhebo.cli import options
from uhebo.cli.bounds import best_of, best_rows, why_none
from uhebo.cli.front import write_front
from uhebo.cli.live import live_line
from uhebo.cli.objective import (
    check_function,
    check_placeholders,
    is_function,
    objective_apart,
    objective_of,
    raising,
)
from uhebo.cli.output import say, write, write_json
from uhebo.cli.records import counted, record
from uhebo.cli.settings import asked_for, continued, kept_in, named_objectives, new_study, with_sampler
from uhebo.cli.signals import EXIT_INTERRUPTED, EXIT_TERMINATED, Terminated
from uhebo.cli.space_file import Kept
from uhebo.cli.trial_loop import Advance, TrialLoop, on_executor
from uhebo.errors import InvalidInputError
from uhebo.optuna_.corrected import corrected
from uhebo.optuna_.corrections import trials_of
from uhebo.optuna_.endings import FAILURE, abandoned
from uhebo.optuna_.extensions import extensions_of
from uhebo.optuna_.fronts import front_trials
from uhebo.storage.places import Place, load, opened, place_of

if TYPE_CHECKING:  # workers need Unix
    from uhebo.workers import Job

TRIALS = 60
"""Trials where neither the option nor the space file says how many."""
PHASES = ("start-up", "model")


def optimize(
    target: options.Target,
    space: options.SpaceFile = None,
    param: options.Params = None,
    n_trials: Annotated[
        int | None,
        typer.Option("--trials", metavar="N", help="Trials in all. Default: as planned, else 60."),
    ] = None,
    more: Annotated[int | None, typer.Option("--more", metavar="N", help="Trials to add to those there are.")] = None,
    storage: options.Storage = "study.db",
    study: options.StudyName = None,
    direction: options.DirectionOption = None,
    objective: options.ObjectiveOption = None,
    reference: options.ReferenceOption = None,
    method: options.Method = None,
    seed: options.Seed = None,
    n_startup_trials: options.Startup = None,
    acquisition: options.Acquisition = None,
    deterministic: options.Deterministic = None,
    constraint: options.Constraints = None,
    subject_to: options.SubjectTo = None,
    when_exhausted: options.WhenExhausted = None,
    timeout: options.Timeout = None,
    executor: Annotated[
        str | None,
        typer.Option("--executor", metavar="WHERE", help="At once, on processes:8 or dask://HOST:PORT."),
    ] = None,
    n_parallel: Annotated[
        int | None, typer.Option("--parallel", metavar="N", help="Trials at once. Default: all processes.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Optimise a Python function or a program; run it again to go on.

    A function gets the parameters as arguments and returns the value. A program gets them in place of {name}, and
    prints the value last. See docs/shell.md.

    \b
    Example:
      $ uhebo optimize train:loss --space space.toml --trials 15
      $ uhebo optimize --space space.toml --trials 15 -- ./train.sh --lr {lr}
    """
    wanted = asked_for(locals(), n_trials=TRIALS)
    source = "n_trials in the space file" if n_trials is None else "--trials"
    budget = integer(source, wanted.settings["n_trials"], 1)
    optional_integer("--more", more, 1)
    if more is not None and n_trials is not None:
        raise InvalidInputError("--trials (in all) and --more (to add) were both given; choose one")
    place = place_of(storage)
    evaluations = None
    if executor is not None:
        evaluate, evaluations = on_executor(target, timeout, executor, n_parallel)
    elif n_parallel is not None:
        raise InvalidInputError("--parallel is for an executor; give --executor too, such as processes:8")
    else:
        evaluate = objective_of(target, timeout)
    with opened(place, create=True) as store:
        there = continued(store, place, study, wanted)
        known = wanted if there is None else kept_in(there)
        if known.space:  # and before there is a study: what is refused leaves none behind
            _check_names(target, known)
        loaded = corrected(there or new_study(store, place, study, wanted))
        begun, planned = _left(loaded, kept_in(loaded), budget if n_trials else None, more)
        kept = with_sampler(loaded, n_trials=begun + planned)
        code = 0
        try:
            with raising(signal.SIGTERM, Terminated()), _progress(planned) as advance:
                loop = TrialLoop(loaded, kept, evaluate, planned, advance)
                loop.run() if evaluations is None else loop.run_at_once(evaluations)
        except KeyboardInterrupt as error:
            code = EXIT_TERMINATED if isinstance(error, Terminated) else EXIT_INTERRUPTED
        states = _show(loaded, place, code, as_json)
        if not code and "finished" not in states:
            raise InvalidInputError(f"no trial has a value ({states.get('failed', 0)} failed): {_first_reason(loaded)}")
        if not code and loop.all_failed:
            raise InvalidInputError(f"every trial of this run failed, the first with: {loop.all_failed}")
    raise typer.Exit(code)


def _check_names(target: Sequence[str], kept: Kept) -> None:
    """Refuse a function or a program that has other names than the space."""
    check_placeholders(target, list(kept.space))
    check_function(target, list(kept.space), kept.when)


def _left(study: Study, kept: Kept, asked: int | None, more: int | None) -> tuple[int, int]:
    """Trials that were begun, and those to do: up to the budget, or `more`. What was given up is begun again."""
    trials = trials_of(study)
    begun = sum(trial.state != TrialState.WAITING for trial in trials) - len(abandoned(trials))
    budget = asked or kept.settings.get("n_trials", TRIALS)
    if more is None and begun >= budget:
        say(f"{begun} of {budget} trials are done already; --more N adds some")
    return begun, max(budget - begun, 0) if more is None else more


def _first_reason(study: Study) -> str:
    reasons = (trial.user_attrs.get(FAILURE) for trial in trials_of(study))
    return next((str(reason) for reason in reasons if reason), "no reason is known")


@contextmanager
def _progress(trials: int) -> Iterator[Advance]:
    """A bar on a terminal; elsewhere a line whenever the best value or the phase changes."""
    terminal, shown, phase = sys.stderr.isatty(), "", ""
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[best]}"))
    with Progress(*columns, console=Console(stderr=True), disable=not terminal) as bar:
        task = bar.add_task("", total=trials, best="")

        def advance(leads: str, failed: int, origin: str) -> None:
            nonlocal shown, phase
            before, shown = (shown, phase), leads or shown
            phase = origin if origin in PHASES else phase
            parts = [*filter(None, [shown, phase]), *([f"{failed} failed"] if failed else [])]
            bar.update(task, advance=1, best=", ".join(parts))
            if (shown, phase) != before and not terminal and shown:
                say(", ".join(parts))

        yield advance


def _show(study: Study, place: Place, code: int, as_json: bool) -> dict[str, int]:
    """The best so far, and how many trials there are in each state."""
    study = corrected(study)
    states, best = counted(study.get_trials(deepcopy=False)), best_of(study)
    where = {"study": study.study_name, "storage": place.shown, "interrupted": bool(code)}
    value = {**where, "trials": states, "best": None if best is None else record(best)}
    objectives = named_objectives(study)
    several = len(objectives) > 1
    if several and (as_json or front_trials(study)):
        write_front(study, objectives, as_json, {**where, "trials": states})
    elif not several and (as_json or best is not None):
        write(value, ("best", ""), best_rows(best, *objectives) if best else [], as_json)
    ended = "interrupted; run it again to go on" if code else "done"
    failed = f", {states['failed']} failed" if "failed" in states else ""
    say(f"{ended}: {states.get('finished', 0)} finished{failed}, in {place.shown}")
    if best is None and "finished" in states and not front_trials(study):
        say(why_none(study))
    return states


def worker(
    target: options.Target,
    storage: options.Storage,
    study: options.StudyName = None,
    trials: Annotated[
        int | None, typer.Option("--trials", help="Trials of the whole study. Default: what it was made with.")
    ] = None,
    timeout: options.Timeout = None,
    memory: Annotated[float | None, typer.Option("--memory", help="Megabytes one trial may take.")] = None,
    heartbeat: Annotated[float, typer.Option("--heartbeat", help="Seconds between two signs of life.")] = 10.0,
    grace: Annotated[
        float, typer.Option("--grace", help="Seconds without one after which a worker's trial is queued again.")
    ] = 60.0,
    retries: Annotated[int, typer.Option("--retries", help="How often a dead worker's trial is tried again.")] = 3,
    patience: Annotated[
        float, typer.Option("--patience", help="Seconds for which a database that is away is waited for.")
    ] = 3600.0,
    max_failure_rate: Annotated[
        float, typer.Option("--max-failure-rate", help="End when more of the last 20 trials failed.")
    ] = 0.8,
    spool: Annotated[
        Path | None, typer.Option("--spool", metavar="FOLDER", help="Where unsent results are kept.")
    ] = None,
    log: Annotated[Path | None, typer.Option("--log", metavar="FILE", help="Append each event as JSON.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No line that shows how far the study is.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Work on a study together with other workers; start as many as you like.

    They may be on many machines. Each takes trials until the study has as many as were planned, over all workers. Make
    the study first, with uhebo create --trials. On a terminal a line shows how far the study is. What is optimised is
    as in uhebo optimize. See docs/scaling-out.md.

    \b
    Example:
      $ uhebo create env:URL --study tune --space space.toml --trials 200
      $ uhebo worker --storage env:URL --study tune train:loss
    """
    from uhebo.workers import Options, run

    given = locals()
    chosen = Options(
        **{each.name: given[each.name] for each in fields(Options) if each.name in given}, own_process=True
    )
    optional_integer("--trials", trials, 1)
    place = place_of(storage)
    if place.journal:
        raise InvalidInputError(f"{place.shown} is a journal; workers need a SQLite file or a database URL")
    objective, prepare = objective_apart(target)
    suits = partial(check_function, tuple(target))
    anew = not is_function(target)
    with live_line(quiet) as line:

        def load_job(store: BaseStorage) -> "Job":
            job = _job(store, place, study, trials, target)
            if line is not None:
                line.follow(job.study, job.budget)
            return job

        done = run(place, load_job, objective, chosen, anew=anew, prepare=prepare, suits=suits)
    if as_json:
        write_json({"worker": done.worker, "stored": done.stored, "failed": done.failed, "signal": done.signal})
    if done.failed and not done.stored and done.signal is None:
        raise InvalidInputError(
            f"no trial of this worker has a value ({done.failed} failed); uhebo history {place.shown} says why each "
            "failed"
        )
    ended = "all points of the space have been tried" if done.exhausted else "the study's trials are used up"
    ended = ended if done.signal is None else f"stopped by signal {done.signal}"
    say(f"{ended}: this worker stored {done.stored}" + (f", {done.failed} failed" if done.failed else ""))
    raise typer.Exit(0 if done.signal is None else 128 + done.signal)


def _job(storage: BaseStorage, place: Place, name: str | None, trials: int | None, target: Sequence[str]) -> "Job":
    """The study with its space, its sampler and its budget."""
    from uhebo.workers import Job

    study = load(storage, place, name)
    study = corrected(study) if extensions_of(study) else study
    kept = with_sampler(study, n_trials=trials)
    check_placeholders(target, list(kept.space))
    budget = kept.settings.get("n_trials") if trials is None else trials
    if budget is None:
        raise InvalidInputError(f"study {study.study_name!r} was made without a number of trials; give --trials")
    return Job(study, kept.search_space, budget)
