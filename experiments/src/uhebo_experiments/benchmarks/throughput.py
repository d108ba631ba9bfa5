"""Suggestions per second against the number of workers, on PostgreSQL and SQLite.

    python -m uhebo_experiments.benchmarks.throughput [--on postgresql sqlite] [--workers 1 2 4 8 16 32]
        [--methods optuna random auto]

Real worker processes on this machine and an objective that takes no time, so that all there is to measure is taking a
trial, suggesting and storing. Each measurement is a new study that has HISTORY finished trials already; the rate is
that of the trials stored in `seconds` after all workers have stored their first. `optuna` is the peer: as many
processes in Optuna's own `study.optimize` with its RandomSampler, which has no heartbeats, no budget over all workers
and keeps no unsent results.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import optuna
from tests.postgres import server

import uhebo
from uhebo.space import as_distributions
from uhebo.storage.database import open_database
from uhebo.workers import Options
from uhebo_experiments.benchmarks.common import heading, table

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0), "z": (0.0, 1.0)}
HISTORY = 50
START_S = 120.0
PEER = "optuna"


def objective(x: float, y: float, z: float) -> float:
    return (x - 0.3) ** 2 + (y - 0.6) ** 2 + z


def prepare(url: str) -> None:
    """A study with a history, so that every suggestion is by the model."""
    storage = open_database(url)
    study = optuna.create_study(storage=storage, study_name="throughput")
    space = as_distributions(SPACE)
    for x, y, z in np.random.default_rng(0).uniform(size=(HISTORY, 3)):
        params = {"x": x, "y": y, "z": z}
        study.add_trial(optuna.create_trial(params=params, distributions=space, value=objective(**params)))
    storage.engine.dispose()


def start(url: str, method: str, folder: Path, index: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        if method == PEER:
            drive_peer(url, folder / f"{index}.jsonl", index)
            return 0
        options = Options(heartbeat=5.0, grace=600.0, spool=folder / "unsent", log=folder / f"{index}.jsonl")
        sampler = uhebo.UHESampler(method=method, seed=0)
        uhebo.work(objective, SPACE, 10**6, storage=url, study_name="throughput", sampler=sampler, options=options)
    finally:
        os._exit(0)


def drive_peer(url: str, log: Path, seed: int) -> None:
    sampler = optuna.samplers.RandomSampler(seed=seed)
    study = optuna.load_study(study_name="throughput", storage=url, sampler=sampler)
    with log.open("a", buffering=1) as file:
        study.optimize(
            lambda trial: objective(**{name: trial.suggest_float(name, *bounds) for name, bounds in SPACE.items()}),
            n_trials=10**6,
            callbacks=[lambda _, __: print('"stored"', file=file)],
        )


def stored(folder: Path) -> list[int]:
    return [path.read_text().count('"stored"') for path in folder.glob("*.jsonl")]


def rate(url: str, method: str, workers: int, seconds: float) -> float:
    """Trials per second over all workers."""
    prepare(url)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        children = [start(url, method, folder, index) for index in range(workers)]
        try:
            deadline = time.monotonic() + START_S
            while time.monotonic() < deadline and (len(stored(folder)) < workers or not all(stored(folder))):
                time.sleep(0.2)
            before, began = sum(stored(folder)), time.monotonic()
            time.sleep(seconds)
            return (sum(stored(folder)) - before) / (time.monotonic() - began)
        finally:
            for child in children:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", nargs="+", choices=("postgresql", "sqlite"), default=["postgresql", "sqlite"])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4, 8, 16, 32])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--methods", nargs="+", default=[PEER, "random", "auto"])
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    print(heading(f"Trials per second over all workers, {os.cpu_count()} cores", ("optuna", "sqlalchemy", "psycopg")))
    rows = []
    with ExitStack() as stack:
        database = stack.enter_context(server(fsync=True)) if "postgresql" in options.on else None
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for kind in options.on:
            for method in options.methods:
                row = [kind, method]
                for workers in options.workers:
                    path = folder / f"{method}-{workers}.db"
                    url = f"sqlite:///{path}" if kind == "sqlite" or database is None else database.new_database()
                    row.append(f"{rate(url, method, workers, options.seconds):.1f}")
                rows.append(row)
                print(" ".join(row), flush=True)
    print(table(["database", "method", *(f"{count} workers" for count in options.workers)], rows))


if __name__ == "__main__":
    main()
