"""An Optuna study with our sampler: storage, resuming and everything else stay Optuna's.

    python examples/optuna_study.py [--trials 30] [--folder .]

The study is a file. It is made, left half done, opened again as another process would, and finished.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import optuna

import uhebo


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -5.0, 10.0)
    y = trial.suggest_float("y", 0.0, 15.0)
    if x + y > 20.0:
        raise optuna.TrialPruned  # no value here, and the search keeps away
    return (y - 0.129 * x**2 + 1.592 * x - 6.0) ** 2 + 0.1 * (x - 3.0) ** 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--folder", type=Path, default=Path())
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = f"sqlite:///{options.folder / 'study.db'}"
    half = options.trials // 2

    sampler = uhebo.UHESampler(n_trials=options.trials, seed=0)
    study = optuna.create_study(storage=storage, study_name="valley", sampler=sampler, load_if_exists=True)
    study.enqueue_trial({"x": 0.0, "y": 5.0})  # a point somebody already believes in
    study.optimize(objective, n_trials=half)
    print(f"after {len(study.trials)} trials: {study.best_value:.4g}")

    sampler = uhebo.UHESampler(n_trials=options.trials, seed=0)
    study = optuna.load_study(storage=storage, study_name="valley", sampler=sampler)
    study.optimize(objective, n_trials=options.trials - half)
    print(f"after {len(study.trials)} trials: {study.best_value:.4g} at {study.best_params}")


if __name__ == "__main__":
    main()
