"""`uhebo worker`: one of many processes that take the trials of a study until its budget is used up."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from uhebo.checks import optional_integer
from uhebo.cli import options
from uhebo.cli.objective import objective_of
from uhebo.cli.output import say, write_json
from uhebo.cli.settings import with_sampler
from uhebo.errors import InvalidInputError
from uhebo.storage.places import Place, close_storage, load, open_storage, place_of
from uhebo.storage.retry import Retry
from uhebo.workers import Job, Options, run


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
    as_json: options.AsJson = False,
) -> None:
    """Work on a study together with other workers; start as many as you like.

    They may be on many machines. Each takes trials until the study has as many as were planned, over all workers. Make
    the study first, with uhebo create --trials. What is optimised is as in uhebo optimize. See docs/scaling-out.md.

    \b
    Example:
      $ uhebo create env:URL --study tune --space space.toml --trials 200
      $ uhebo worker --storage env:URL --study tune train:loss
    """
    given = locals()
    chosen = Options(**{each.name: given[each.name] for each in fields(Options)})
    optional_integer("--trials", trials, 1)
    place = place_of(storage)
    if place.journal:
        raise InvalidInputError(f"{place.shown} is a journal; workers need a SQLite file or a database URL")
    objective = objective_of(target, None)
    with ExitStack() as stack:
        done = run(lambda retry: _job(stack, place, study, trials, retry), objective, chosen)
    if as_json:
        write_json({"worker": done.worker, "stored": done.stored, "failed": done.failed, "signal": done.signal})
    ended = "the study's trials are used up" if done.signal is None else f"stopped by signal {done.signal}"
    say(f"{ended}: this worker stored {done.stored}" + (f", {done.failed} failed" if done.failed else ""))
    raise typer.Exit(0 if done.signal is None else 128 + done.signal)


def _job(stack: ExitStack, place: Place, name: str | None, trials: int | None, retry: Retry) -> Job:
    """The study with its space, its sampler and its budget; a database that is away at the start is waited for too."""
    storage = retry.call(lambda: open_storage(place), "opening the storage")
    stack.callback(close_storage, storage)
    study = retry.call(lambda: load(storage, place, name), "opening the study")
    kept = retry.call(lambda: with_sampler(study, n_trials=trials), "reading the study's settings")
    budget = kept.settings.get("n_trials") if trials is None else trials
    if budget is None:
        raise InvalidInputError(f"study {study.study_name!r} was made without a number of trials; give --trials")
    return Job(study, kept.space, budget)
