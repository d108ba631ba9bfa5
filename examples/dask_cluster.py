"""Dask: many workers on one study, which lives in a storage that all of them reach.

    python examples/dask_cluster.py [--trials 20] [--folder .]

Each task is one trial. Here the cluster is two processes on this machine and the storage a file; on real machines use
`Client("tcp://scheduler:8786")` and `storage="postgresql+psycopg://…"`. Needs pip install 'uhebo[dask]'.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from pathlib import Path

import optuna
from dask.distributed import Client, LocalCluster

import uhebo


def loss(trial: optuna.Trial) -> float:
    """Stands in for a training run."""
    trial.set_user_attr("process", os.getpid())
    x, y = trial.suggest_float("x", -2.0, 2.0), trial.suggest_float("y", -2.0, 2.0)
    return (1.0 - x) ** 2 + 10.0 * (y - x**2) ** 2


def one_trial(storage: str, trials: int) -> int:
    """Run in a worker. All workers may have the same seed: random numbers come from (seed, trial number)."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = uhebo.UHESampler(n_trials=trials, seed=0)
    study = optuna.load_study(study_name="shared", storage=storage, sampler=sampler)
    study.optimize(loss, n_trials=1)
    return os.getpid()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--folder", type=Path, default=Path())
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = f"sqlite:///{(options.folder / 'dask.db').resolve()}"
    study = optuna.create_study(study_name="shared", storage=storage, load_if_exists=True)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        tasks = [client.submit(one_trial, storage, options.trials, pure=False) for _ in range(options.trials)]
        workers = Counter(client.gather(tasks))
    print(f"{len(study.trials)} trials by {len(workers)} workers ({', '.join(map(str, workers.values()))} each)")
    print(f"best {study.best_value:.4g} at {study.best_params}")


if __name__ == "__main__":
    main()
