"""The worker: take a trial, suggest, evaluate, store; until the budget of the study is used up over all workers."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any, get_args

import optuna
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage

from uhebo.api import Direction, check_direction, check_objective, checked_value, make_sampler
from uhebo.checks import choice, integer
from uhebo.methods import Strategy
from uhebo.optuna_.gaps import SILENT
from uhebo.optuna_.leased_trials import database_of
from uhebo.space import as_distributions, storable
from uhebo.storage.database import close_storage, one_writer_at_a_time
from uhebo.storage.places import Place, open_storage
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
    if sampler is None:
        sampler = make_sampler(seed, method, sampler_options, budget)

    def load(store: BaseStorage) -> Job:
        study = optuna.create_study(
            storage=store, study_name=study_name, direction=direction, load_if_exists=True, sampler=sampler
        )
        check_direction(study, direction, "give direction='{}'")
        return Job(study, distributions, budget)

    def objective(number: int, params: Mapping[str, Any]) -> float:
        return checked_value(fn(**params), number)

    return run(storage, load, objective, options or Options(), create=True)


def run(
    storage: str | Path | Place | BaseStorage,
    load: Callable[[BaseStorage], Job],
    objective: Objective,
    options: Options,
    *,
    create: bool = False,
) -> Worked:
    """`work` on what `load` finds in a storage, which is opened after the fork server for evaluations was started."""
    worker = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(2)}"
    stop = Stop()
    retry = Retry(options.patience, stop)
    with SILENT, _limited(objective, options) as evaluate, stop.listening(), ExitStack() as stack:
        try:
            store = retry.call(lambda: open_storage(storage, create=create), "opening the storage")
            if store is not storage:
                stack.callback(close_storage, store)
            one_writer_at_a_time(database_of(store))
            job = retry.call(lambda: load(store), "opening the study")
        except Stopped:  # while the database was waited for
            return Worked(worker, 0, 0, stop.signal)
        return Shift(worker, job, evaluate, options, stop, retry).run()


def _limited(objective: Objective, options: Options) -> AbstractContextManager[Objective]:
    if options.timeout is None and options.memory is None:
        return nullcontext(objective)
    return ForkServer(objective, timeout=options.timeout, memory=options.memory)
