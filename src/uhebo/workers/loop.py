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

from uhebo.api import Direction, _check_direction, _checked_value, _made_sampler
from uhebo.errors import InvalidInputError
from uhebo.methods import Strategy
from uhebo.space import as_distributions, storable
from uhebo.storage.database import one_writer_at_a_time
from uhebo.storage.places import close_storage, open_storage
from uhebo.storage.retry import Retry
from uhebo.workers.child import EvaluationFailed, Nursery, Objective
from uhebo.workers.leases import backend_of
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
    """Work on a shared study until it has `n_trials` trials. Call it in as many processes and machines as there are.

    The first worker makes the study; whoever comes later goes on with it. `fn` and `space` are those of
    `uhebo.minimize`. SIGTERM and SIGINT end the worker within 5 seconds; `Worked.signal` says so.

    Args:
        n_trials: of the whole study, over all workers: failed trials and points added by hand count too, trials that
            are tried again because their worker died count once.
        direction: "minimize" or "maximize"; a study that was made for the other one is refused.
        storage: "study.db" for a few processes, "postgresql+psycopg://…" for many, or an Optuna storage.
        sampler: any Optuna sampler; default `UHESampler` with method, seed and sampler_options.
        options: heartbeat, grace period, limits: see `Options`.
    """
    distributions = storable(as_distributions(space), storage)
    if not callable(fn):
        raise InvalidInputError(f"fn is {fn!r}; expected a function called with one keyword argument a parameter")
    if direction not in get_args(Direction):
        raise InvalidInputError(f"direction is {direction!r}; expected 'minimize' or 'maximize'")

    def objective(number: int, params: Mapping[str, Any]) -> float:
        value = fn(**params)
        try:
            return _checked_value(value, number)
        except InvalidInputError as error:
            raise EvaluationFailed(str(error)) from error

    if sampler is None:
        sampler = _made_sampler(n_trials, seed, method, sampler_options)

    def load(retry: Retry) -> Job:
        store = retry.call(lambda: open_storage(storage, create=True), "opening the storage")
        if store is not storage:
            stack.callback(close_storage, store)
        backend_of(store)
        study = retry.call(
            lambda: optuna.create_study(
                storage=store, study_name=study_name, direction=direction, load_if_exists=True, sampler=sampler
            ),
            "opening the study",
        )
        retry.call(lambda: _check_direction(study, direction, "give direction='{}'"), "opening the study")
        return Job(study, distributions, n_trials)

    with contextlib.ExitStack() as stack:
        return run(load, objective, options or Options())


def run(load: Callable[[Retry], Job], objective: Objective, options: Options) -> Worked:
    """`work` on what `load` opens. It is opened after the process for evaluations has been started."""
    worker = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(2)}"
    stop = Stop()
    retry = Retry(options.patience, stop)
    with _quiet_optuna(), _limited(objective, options) as evaluate, stop.listening():
        try:
            job = load(retry)
            one_writer_at_a_time(backend_of(job.study._storage))
        except Stopped:  # while the database was waited for
            return Worked(worker, 0, 0, stop.signal)
        return Shift(worker, job, evaluate, options, stop, retry).run()


@contextlib.contextmanager
def _limited(objective: Objective, options: Options) -> Iterator[Objective]:
    if options.timeout is None and options.memory is None:
        yield objective
        return
    with Nursery(objective, timeout=options.timeout, memory=options.memory) as nursery:
        yield nursery


@contextlib.contextmanager
def _quiet_optuna() -> Iterator[None]:
    """Optuna's line a trial is of no use in many workers at once, and it warns of every error that is retried."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(verbosity, optuna.logging.ERROR))
    try:
        yield
    finally:
        optuna.logging.set_verbosity(verbosity)
