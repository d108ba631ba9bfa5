"""Trials per second against the number of workers, on PostgreSQL and SQLite, and against a queueing model.

    python -m uhebo_experiments.benchmarks.throughput [--on postgresql sqlite] [--workers 1 2 4 8 16 32]
        [--methods optuna worker random auto] [--seconds 20] [--evaluation 0] [--out results/throughput]

Real worker processes on this machine and an objective that sleeps for `--evaluation` seconds. With 0, all there is to
measure is taking a trial, suggesting and storing. Each measurement is a new study that has HISTORY finished trials
already; the rate is that of the trials stored in `--seconds` after all workers have stored their first.

    optuna   the peer: as many processes in Optuna's own `study.optimize` with its RandomSampler, which has no
             heartbeats, no budget over all workers and keeps no unsent results
    worker   `uhebo.work` with the same RandomSampler: the cost of the worker alone
    random, auto   `uhebo.work` with these methods of ours

Methods take turns for each number of workers, so that a busy machine is busy for all. With `--evaluation` above 0 the
table has what the model expects of each (`expected_rate`), from the rates of 1 worker and of the most workers without
evaluation, measured in the same run.
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
START_S = 240.0
PEER, SAME = "optuna", "worker"


def objective(x: float, y: float, z: float) -> float:
    return (x - 0.3) ** 2 + (y - 0.6) ** 2 + z


def expected_rate(workers: int, evaluation: float, overhead: float, most: float) -> float:
    """Trials per second of so many workers, by exact mean value analysis of a closed queueing network.

    A worker evaluates (a delay of `evaluation` seconds, nobody waits for another), and then spends `overhead` seconds
    on taking, suggesting and storing, of which 1 / `most` seconds are on what workers share (cores, the database), one
    at a time. For W = 1, 2, …: R = D (1 + Q), X = W / (Z + R), Q = X R, with D = 1 / most and Z all the rest.
    """
    demand = min(1 / most, overhead)
    delay = evaluation + overhead - demand
    queue = rate = 0.0
    for count in range(1, workers + 1):
        response = demand * (1 + queue)
        rate = count / (delay + response)
        queue = rate * response
    return rate


def prepare(url: str) -> None:
    """A study with a history, so that every suggestion is by the model."""
    storage = open_database(url)
    study = optuna.create_study(storage=storage, study_name="throughput")
    space = as_distributions(SPACE)
    for x, y, z in np.random.default_rng(0).uniform(size=(HISTORY, 3)):
        params = {"x": x, "y": y, "z": z}
        study.add_trial(optuna.create_trial(params=params, distributions=space, value=objective(**params)))
    storage.engine.dispose()


def start(url: str, method: str, folder: Path, index: int, evaluation: float) -> int:
    child = os.fork()
    if child:
        return child

    def evaluate(x: float, y: float, z: float) -> float:
        time.sleep(evaluation)
        return objective(x, y, z)

    try:
        if method == PEER:
            drive_peer(url, folder / f"{index}.jsonl", index)
            return 0
        options = Options(heartbeat=5.0, grace=600.0, spool=folder / "unsent", log=folder / f"{index}.jsonl")
        random = optuna.samplers.RandomSampler(seed=index)
        sampler = random if method == SAME else uhebo.UHESampler(method=method, seed=0)
        uhebo.work(evaluate, SPACE, 10**6, storage=url, study_name="throughput", sampler=sampler, options=options)
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


def rate(url: str, method: str, workers: int, seconds: float, evaluation: float = 0.0) -> float:
    """Trials per second over all workers."""
    prepare(url)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        children = [start(url, method, folder, index, evaluation) for index in range(workers)]
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
    parser.add_argument("--methods", nargs="+", default=[PEER, SAME, "random", "auto"])
    parser.add_argument("--evaluation", type=float, default=0.0, help="seconds that the objective takes")
    parser.add_argument("--out", type=Path, default=None, help="folder for the table")
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    modelled = options.evaluation > 0
    methods = [method for method in options.methods if method != PEER or not modelled]
    rows = []
    with ExitStack() as stack:
        database = stack.enter_context(server(fsync=True)) if "postgresql" in options.on else None
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        made = 0

        def measured(kind: str, method: str, workers: int, evaluation: float) -> float:
            nonlocal made
            made += 1
            path = folder / f"{made}.db"
            url = f"sqlite:///{path}" if kind == "sqlite" or database is None else database.new_database()
            found = rate(url, method, workers, options.seconds, evaluation)
            print(f"{kind} {method} {workers} workers, {evaluation:g} s: {found:.2f}", flush=True)
            return found

        for kind in options.on:
            found: dict[str, list[float]] = {method: [] for method in methods}
            for workers in options.workers:
                for method in methods:
                    found[method].append(measured(kind, method, workers, options.evaluation))
            for method in methods:
                rows.append([kind, method, *(f"{each:.1f}" for each in found[method])])
                if modelled:
                    alone = measured(kind, method, 1, 0.0)
                    most = max(alone, measured(kind, method, max(options.workers), 0.0))
                    model = [expected_rate(n, options.evaluation, 1 / alone, most) for n in options.workers]
                    rows.append([kind, f"{method}, model", *(f"{each:.1f}" for each in model)])
            if PEER in found and SAME in found:
                pairs = zip(found[SAME], found[PEER], strict=True)
                rows.append([kind, f"{SAME} / {PEER}", *(f"{mine / theirs:.2f}" for mine, theirs in pairs)])
    title = f"Trials per second over all workers, {os.cpu_count()} cores"
    title += f", evaluations of {options.evaluation:g} s" if modelled else ""
    text = heading(title, ("optuna", "sqlalchemy", "psycopg")) + "\n"
    text += table(["database", "method", *(f"{count} workers" for count in options.workers)], rows)
    print(text)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"evaluation-{options.evaluation:g}.md").write_text(text + "\n")


if __name__ == "__main__":
    main()
