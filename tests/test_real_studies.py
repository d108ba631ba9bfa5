"""Constraints, failures, branches and rules: replayed from the log, and shared by workers."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from tests.worker_control import FORKS, in_processes
from uhebo import UHESampler
from uhebo.optuna_.believe import believe
from uhebo.optuna_.constraints import constraints_of
from uhebo.optuna_.trial_log import ATTRIBUTE

TRIALS, STARTUP = 14, 5
RULE = "x + y <= 1.2"
KINDS = ("constraints", "failures", "branches", "rules")


def objective(kind: str, trial: optuna.Trial) -> float:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    if kind == "failures" and x > 0.6:
        raise ValueError("it melts")
    if kind == "branches" and trial.suggest_categorical("shape", ["ball", "ring"]) == "ring":
        return x + y + abs(trial.suggest_int("width", 1, 9) - 4) / 10
    return (x - 0.7) ** 2 + (y - 0.4) ** 2


def product(trial: FrozenTrial) -> float:
    return 0.2 - float(trial.params["x"] * trial.params["y"])


def sampler(kind: str, method: str = "auto") -> UHESampler:
    options: dict[str, Any] = {"constraints_func": product} if kind == "constraints" else {}
    if kind == "rules":
        options = {"subject_to": RULE, "space": {"x": (0.0, 1.0), "y": (0.0, 1.0)}}
    return UHESampler(method=method, seed=3, n_trials=TRIALS, n_startup_trials=STARTUP, **options)


def go_on(study: Study, kind: str, trials: int) -> None:
    study.optimize(partial(objective, kind), n_trials=trials, catch=ValueError)


def check(study: Study, kind: str) -> None:
    """Of a study of this kind every trial is there, none twice, and all that the kind is about was used."""
    assert len({tuple(trial.params.items()) for trial in study.trials}) == TRIALS
    assert any(trial.system_attrs[ATTRIBUTE]["role"] == "model" for trial in study.trials)
    belief, states = believe(study), {trial.state for trial in study.trials}
    assert (TrialState.FAIL in states) == (kind == "failures")
    assert list(belief.constraints) == (["0"] if kind == "constraints" else [])
    assert all(bool(constraints_of(trial)) == (kind == "constraints") for trial in study.trials)
    assert bool(belief.space.conditions) == (kind == "branches")
    if kind == "rules":
        assert all(sum(trial.params.values()) <= 1.2 for trial in study.trials)


@pytest.mark.parametrize(("kind", "method"), list(itertools.product(KINDS, ["auto", "uhe"])))
def test_the_log_alone_decides(kind: str, method: str) -> None:
    whole = optuna.create_study(sampler=sampler(kind, method))
    go_on(whole, kind, TRIALS)
    if method == "auto":
        check(whole, kind)
        assert (believe(whole).outcomes[-1].outcome.role == "failure") == (kind == "failures")
    again = optuna.create_study(sampler=sampler(kind, method))
    again.add_trials(whole.trials[: TRIALS - 3])
    go_on(again, kind, 3)
    assert [trial.params for trial in again.trials] == [trial.params for trial in whole.trials]


def share(storage: str, kind: str, trials: int) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    go_on(optuna.load_study(storage=storage, study_name="shared", sampler=sampler(kind)), kind, trials)


@pytest.mark.parametrize("kind", KINDS)
def test_two_workers_share_a_study(kind: str, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    study = optuna.create_study(storage=storage, study_name="shared", sampler=sampler(kind))
    in_processes(*[partial(share, storage, kind, TRIALS // 2)] * 2, context=FORKS)
    check(study, kind)
