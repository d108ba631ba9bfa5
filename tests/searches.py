"""Searches of functions of x and y that may fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optuna
from optuna.study import Study

from uhebo import UHESampler

Function = Callable[[float, float], float]


def searched(fn: Function, trials: int, seed: int = 0, **options: Any) -> Study:
    study = optuna.create_study(sampler=UHESampler(seed=seed, n_trials=trials, **options))
    go_on(study, fn, trials)
    return study


def go_on(study: Study, fn: Function, trials: int) -> None:
    def objective(trial: optuna.Trial) -> float:
        return fn(trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1))

    study.optimize(objective, n_trials=trials, catch=ValueError)
