"""The worker: take a trial, suggest, evaluate, store; until the budget of the study is used up over all workers."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import optuna
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage

from uhebo.api import Direction, check_direction, check_objective, checked_value, make_sampler
from uhebo.checks import choice, integer
from uhebo.errors import EvaluationFailed, InvalidInputError
from uhebo.methods import Strategy
from uhebo.optuna_.leased_trials import database_of
from uhebo.optuna_.private import storage_of
from uhebo.optuna_.quiet import SILENT
from uhebo.space import as_distributions, storable
from uhebo.storage.database import close_storage, one_writer_at_a_time
from uhebo.storage.places import open_storage
from uhebo.storage.retry import Retry
from uhebo.workers.child import ForkServer, Objective
from uhebo.workers.options import Job, Options, Worked
from uhebo.workers.shift import Shift
from uhebo.workers.stop import Stop, Stopped


def work(
    fn: Callable[..., float],
    space: Mapping[str, Any],
    n_trials: int,
    *,
    storage: str | Path | BaseStorage,
    study_name: str,
    direction: Direction = "minimize",
    method: str | Strategy | None = None,
    seed: int | None = None,
    sampler: BaseSampler | None = None,
    options: Options | None = None,
    **sampler_options: Any,
) -> Worked:
    """Work on a shared study until it has `n_trials` trials, together with any number of other processes and machines.

    The first worker makes the study; later ones go on with it. `fn` and `space` are those of
    `uhebo.minimize`. SIGTERM and SIGINT end the worker within 5 seconds; `Worked.signal` says so.

    Args:
        n_trials: trials of the whole study, over all workers: failed ones and points added by hand count too; one
            that is tried again because its worker died counts once.
        direction: "minimize" or "maximize"; a study that was made for the other one is refused.
        storage: "study.db" for a few processes, "postgresql+psycopg://…" for many, or an Optuna storage.
        sampler: any Optuna sampler; default `UHESampler` with method, seed and sampler_options.
        options: heartbeat, grace period, limits: see `Options`.
    """
    distributions = storable(as_distributions(space), storage)
    check_objective(fn)
    budget = integer("n_trials", n_trials, 1)
    choice("direction", direction, get_args(Direction))

    def objective(number: int, params: Mapping[str, Any]) -> float:
        value = fn(**params)
        try:
            return checked_value(value, number)
        except InvalidInputError as error:
            raise EvaluationFailed(str(error)) from error

    if sampler is None:
        sampler = make_sampler(seed, method, sampler_options, budget)

    def load(retry: Retry) -> Job:
        store = retry.call(lambda: open_storage(storage, create=True), "opening the storage")
        if store is not storage:
            stack.callback(close_storage, store)
        database_of(store)
        study = retry.call(
            lambda: optuna.create_study(
                storage=store, study_name=study_name, direction=direction, load_if_exists=True, sampler=sampler
            ),
            "opening the study",
        )
        retry.call(lambda: check_direction(study, direction, "give direction='{}'"), "opening the study")
        return Job(study, distributions, budget)

    with contextlib.ExitStack() as stack:
        return run(load, objective, options or Options())


def run(load: Callable[[Retry], Job], objective: Objective, options: Options) -> Worked:
    """`work` on what `load` opens, which it does after the fork server for evaluations has been started."""
    worker = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(2)}"
    stop = Stop()
    retry = Retry(options.patience, stop)
    with SILENT, _limited(objective, options) as evaluate, stop.listening():
        try:
            job = load(retry)
            one_writer_at_a_time(database_of(storage_of(job.study)))
        except Stopped:  # while the database was waited for
            return Worked(worker, 0, 0, stop.signal)
        return Shift(worker, job, evaluate, options, stop, retry).run()


@contextlib.contextmanager
def _limited(objective: Objective, options: Options) -> Iterator[Objective]:
    if options.timeout is None and options.memory is None:
        yield objective
        return
    with ForkServer(objective, timeout=options.timeout, memory=options.memory) as server:
        yield server
