"""What one trial asks of its database: calls of Optuna's storage, statements and commits, counted.

    python -m uhebo_experiments.benchmarks.storage_calls [--on postgresql sqlite] [--trials 40] [--out FILE]

The same study, one worker, three parameters, for Optuna's own `study.optimize`, and for `uhebo.work` with the same
RandomSampler and with methods of ours. Seconds depend on the machine; these counts do not, and a commit is what a
shared database has fewest of.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import RDBStorage
from sqlalchemy import Engine, event
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from tests.postgres import server

import uhebo
from uhebo.storage.database import open_database
from uhebo.workers import Options
from uhebo_experiments.benchmarks.common import heading, table
from uhebo_experiments.benchmarks.throughput import PEER, SAME, SPACE, objective, prepare

CALLS = (
    "create_new_trial",
    "set_trial_state_values",
    "set_trial_param",
    "set_trial_system_attr",
    "set_trial_user_attr",
    "get_trial",
    "get_all_trials",
    "get_study_user_attrs",
)
COUNTS = ("statements", "commits", "pings")
PRIVATE = {
    "_create_new_trial": "create_new_trial",
    "_set_trial_param": "set_trial_param",
    "_get_trials": "get_all_trials",
}
"""What Optuna's cache calls of a storage instead of the public method, which calls these too."""


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Calls, statements and commits of all storages and engines of this process, while the block runs."""
    found: Counter[str] = Counter()
    before = []

    def counting(place: type, method: str, name: str) -> None:
        was = getattr(place, method)

        def call(*given: Any, **named: Any) -> Any:
            found[name] += 1
            return was(*given, **named)

        before.append((place, method, was))
        setattr(place, method, call)

    for name in (*PRIVATE, *(name for name in CALLS if name not in PRIVATE.values())):
        counting(RDBStorage, name, PRIVATE.get(name, name))
    counting(PGDialect_psycopg, "do_ping", "pings")

    def statement(*_: Any) -> None:
        found["statements"] += 1

    def commit(*_: Any) -> None:
        found["commits"] += 1

    event.listen(Engine, "before_cursor_execute", statement)
    event.listen(Engine, "commit", commit)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", statement)
        event.remove(Engine, "commit", commit)
        for place, name, method in before:
            setattr(place, name, method)


def calls_per_trial(url: str, method: str, trials: int) -> dict[str, float]:
    """The difference between a run of twice as many trials and one of so many: what opening costs is in both."""
    prepare(url)
    found = []
    run(url, method, 1)  # what the first worker leaves in the study is no part of a trial
    for count in (trials, 2 * trials):
        with counted() as calls:
            run(url, method, count)
        found.append(calls)
    return {name: (found[1][name] - found[0][name]) / trials for name in (*CALLS, *COUNTS)}


def run(url: str, method: str, trials: int) -> None:
    storage = RDBStorage(url) if method == PEER else open_database(url)
    random = optuna.samplers.RandomSampler(seed=0)
    begun = len(optuna.load_study(storage=storage, study_name="throughput").trials)
    try:
        if method == PEER:
            study = optuna.load_study(storage=storage, study_name="throughput", sampler=random)
            study.optimize(
                lambda trial: objective(**{name: trial.suggest_float(name, *bounds) for name, bounds in SPACE.items()}),
                n_trials=trials,
            )
            return
        with tempfile.TemporaryDirectory() as folder:
            options = Options(heartbeat=300.0, grace=600.0, spool=Path(folder))
            sampler = random if method == SAME else uhebo.UHESampler(method=method, seed=0)
            budget = begun + trials
            uhebo.work(
                objective, SPACE, budget, storage=storage, study_name="throughput", sampler=sampler, options=options
            )
    finally:
        storage.remove_session()
        storage.engine.dispose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", nargs="+", choices=("postgresql", "sqlite"), default=["postgresql", "sqlite"])
    parser.add_argument("--methods", nargs="+", default=[PEER, SAME, "random", "auto"])
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--out", type=Path, default=None, help="file for the table")
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rows = []
    with ExitStack() as stack:
        database = stack.enter_context(server(fsync=False)) if "postgresql" in options.on else None
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for kind in options.on:
            for method in options.methods:
                path = folder / f"{kind}-{method}.db"
                url = f"sqlite:///{path}" if kind == "sqlite" or database is None else database.new_database()
                found = calls_per_trial(url, method, options.trials)
                rows.append([kind, method, *(f"{value:g}" for value in found.values())])
    text = heading("Calls per trial, one worker, three parameters", ("optuna", "sqlalchemy", "psycopg")) + "\n"
    text += table(["database", "method", *CALLS, *COUNTS], rows)
    print(text)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
