"""The state of a method is a function of the trial log: resumed, repeated, replayed, shared by workers.

The reference for EXP3 is written from the paper's Algorithm 1 and shares no code with the package.
"""

from __future__ import annotations

import math
import multiprocessing
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import TrialState

from tests.strategies import SHORT_HMC
from tests.worker_control import FORKS, in_processes
from uhebo import METHODS, UHESampler
from uhebo.estimate import ESTIMATORS
from uhebo.methods import Settings, Step, pair_bandit
from uhebo.optuna_.log_space import space_of_log
from uhebo.optuna_.trial_log import ATTRIBUTE, read_history

TRIALS, INITIAL, SEED = 40, 5, 11
OWN_METHODS = tuple(METHODS)
Objective = Callable[[optuna.Trial], float]


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -2, 3)
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    return (x - 1) ** 2 + math.sin(3 * x) + (math.log10(rate) + 1) ** 2 + "bca".index(kind)


def sampler(method: str, seed: int = SEED, n_trials: int | None = TRIALS) -> UHESampler:
    return UHESampler(method=method, n_trials=n_trials, n_startup_trials=INITIAL, seed=seed)


def in_memory(method: str, n_trials: int, seed: int = SEED) -> list[dict[str, Any]]:
    study = optuna.create_study(sampler=sampler(method, seed))
    study.optimize(objective, n_trials=n_trials)
    return [trial.params for trial in study.trials]


@cache
def first_run(method: str) -> list[dict[str, Any]]:
    """Fourteen trials, with short chains."""
    return in_memory(method, 14)


def work(storage: str, methods: Sequence[str], n_trials: int) -> None:
    """In a process of its own: go on with the study of each method."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    ESTIMATORS["hmc"] = SHORT_HMC
    for method in methods:
        study = optuna.create_study(
            storage=storage, study_name=method, sampler=sampler(method), load_if_exists=True, direction="minimize"
        )
        study.optimize(objective, n_trials=n_trials)


# Resumed and repeated


@pytest.mark.usefixtures("short_chains")
def test_ten_and_four_trials_in_two_processes_are_14_in_one(tmp_path: Path) -> None:
    """All methods in each process: an interpreter takes longer to start than ten trials take."""
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    # The break falls between the halves of a pair: trial 9 is iteration 5.
    fresh = multiprocessing.get_context("spawn")  # nothing inherited, not even the seed of hashes
    in_processes(partial(work, storage, OWN_METHODS, 10), context=fresh)
    in_processes(partial(work, storage, OWN_METHODS, 4), context=fresh)
    for method in OWN_METHODS:
        resumed = [trial.params for trial in optuna.load_study(storage=storage, study_name=method).trials]
        assert resumed == first_run(method), method


@pytest.mark.parametrize("method", OWN_METHODS)
@pytest.mark.usefixtures("short_chains")
def test_one_seed_one_run_and_another_seed_another(method: str) -> None:
    first = first_run(method)
    assert first == in_memory(method, 14)
    assert all(one != other for one, other in zip(first, in_memory(method, 14, seed=SEED + 1), strict=True))


def test_the_initial_design_is_the_same_for_all_methods() -> None:
    """But the default's, whose points see each other."""
    designs = {method: in_memory(method, INITIAL) for method in OWN_METHODS}
    assert all(design == designs["random"] for method, design in designs.items() if method != "auto")
    assert designs["auto"][:1] == designs["random"][:1]  # before the space is known
    assert designs["auto"] != designs["random"]


def test_without_a_seed_no_two_runs_are_alike() -> None:
    runs = []
    for _ in range(2):
        study = optuna.create_study(sampler=UHESampler(method="random"))
        study.optimize(objective, n_trials=3)
        runs.append([trial.params for trial in study.trials])
    assert runs[0] != runs[1]


# EXP3 from the log


def algorithm_1(values: Sequence[float | None], initial: int, pulled: Sequence[int], budget: int) -> Any:
    """Weights at the end, and p of both arms before every pair: the paper's Algorithm 1, one line for one line.

    `values` has every y, larger better, None where a trial failed; `pulled` the arm of each pair.
    """
    gamma = min(1.0, math.sqrt(4 * math.log(2) / ((math.e - 1) * budget)))
    start = [y for y in values[:initial] if y is not None]
    weights, probabilities = [1.0, 1.0], []
    for t in range(1, len(values) - initial + 1):
        if t % 2 == 1:
            probabilities.append([(1 - gamma) * w / (weights[0] + weights[1]) + gamma / 2 for w in weights])
            continue
        pair = [y for y in values[initial + t - 2 : initial + t] if y is not None]
        if pair:
            arm, p = pulled[t // 2 - 1], probabilities[-1]
            reward = max((max(pair) - min(start)) / (max(start) - min(start)), 0.0)
            weights[arm] *= math.exp(gamma * reward / (2 * p[arm]))
    return weights, probabilities


def check_against_algorithm_1(study: Study, budget: int) -> None:
    records = [trial.system_attrs[ATTRIBUTE] for trial in study.trials]
    assert [record["t"] for record in records] == [0] * INITIAL + list(range(1, len(records) - INITIAL + 1))
    after = records[INITIAL:]
    arms = [record["arm"] for record in after[::2]]
    values = [-t.value if t.state == TrialState.COMPLETE and t.value is not None else None for t in study.trials]
    weights, probabilities = algorithm_1(values, INITIAL, arms, budget)
    assert [r["p"] for r in after[::2]] == pytest.approx([p[a] for p, a in zip(probabilities, arms, strict=True)])
    for first, second in zip(after[::2], after[1::2], strict=False):
        assert (first["arm"], first["p"]) == (second["arm"], second["p"])
        assert first["role"] == ("random" if first["arm"] == 0 else "model")
        assert second["role"] == "model"
    space = space_of_log(study)
    history = read_history(study, space, INITIAL)
    step = Step(history, Settings(seed=SEED, horizon=budget), history.next_slot(len(records)))
    found = [math.exp(log_weight) for log_weight in pair_bandit(step).log_weights]
    assert found == pytest.approx(weights, rel=1e-9)


@pytest.mark.parametrize("method", ["uhe", "random-exp3"])
def test_weights_and_probabilities_are_those_of_algorithm_1(method: str) -> None:
    study = optuna.create_study(sampler=sampler(method))
    study.optimize(objective, n_trials=TRIALS)
    check_against_algorithm_1(study, TRIALS - INITIAL)
    arms = {trial.system_attrs[ATTRIBUTE].get("arm") for trial in study.trials}
    assert arms == {None, 0, 1}


FAULTY = {1: "raises", 4: "pruned", 5: "raises", 6: "nan", 9: "nan", 12: "raises", 15: "pruned", 16: "pruned"}
"""Iterations: a first half, a second, both, a first, a second, both."""


def faulty(trial: optuna.Trial) -> float:
    value = objective(trial)
    fault = FAULTY.get(trial.number - INITIAL + 1)
    if fault == "raises":
        raise ArithmeticError
    if fault == "pruned":
        trial.report(value - 100.0, 0)  # a value that must not count
        raise optuna.TrialPruned
    return math.nan if fault == "nan" else value


@pytest.mark.parametrize("method", OWN_METHODS)
@pytest.mark.usefixtures("short_chains")
def test_failures_inside_pairs(method: str) -> None:
    study = optuna.create_study(sampler=sampler(method))
    study.optimize(faulty, n_trials=26, catch=(ArithmeticError,))
    failed = [trial.number - INITIAL + 1 for trial in study.trials if trial.state != TrialState.COMPLETE]
    assert failed == sorted(FAULTY)
    if method in ("uhe", "random-exp3"):
        check_against_algorithm_1(study, TRIALS - INITIAL)


def test_a_failed_initial_trial_is_made_up_for() -> None:
    def objective_failing_early(trial: optuna.Trial) -> float:
        value = objective(trial)
        return math.nan if trial.number in (1, 3) else value

    study = optuna.create_study(sampler=sampler("uhe"))
    study.optimize(objective_failing_early, n_trials=INITIAL + 4)
    assert [trial.system_attrs[ATTRIBUTE]["t"] for trial in study.trials] == [0] * (INITIAL + 2) + [1, 2]


def test_without_a_budget_the_first_epoch_is_tuned_to_its_own_length() -> None:
    """Epochs of 8, 16, … pairs, each with the gamma of its length and weights that start again."""
    study = optuna.create_study(sampler=sampler("uhe", n_trials=None))
    study.optimize(objective, n_trials=INITIAL + 2 * 10)
    records = [trial.system_attrs[ATTRIBUTE] for trial in study.trials[INITIAL:]]
    values = [-float(trial.value or 0.0) for trial in study.trials]
    arms = [record["arm"] for record in records[::2]]
    _, first = algorithm_1(values[: INITIAL + 16], INITIAL, arms, 16)
    _, second = algorithm_1(values[:INITIAL] + values[INITIAL + 16 :], INITIAL, arms[8:], 32)
    expected = [p[arm] for p, arm in zip(first + second, arms, strict=True)]
    assert [record["p"] for record in records[::2]] == pytest.approx(expected)


def test_points_of_the_user_take_no_place_in_the_schedule() -> None:
    study = optuna.create_study(sampler=sampler("uhe"))
    known = {"x": 0.5, "rate": 0.1, "kind": "a"}
    for number in range(20):
        if number % 4 == 0:
            study.enqueue_trial({**known, "x": 0.1 * number})
        study.optimize(objective, n_trials=1)
    ours = [trial for trial in study.trials if "fixed_params" not in trial.system_attrs]
    assert [trial.system_attrs[ATTRIBUTE]["t"] for trial in ours] == [0, 0, 0, *range(1, 13)]
    space = space_of_log(study)
    assert len(read_history(study, space, INITIAL).data) == 20


# Many workers


def slow(trial: optuna.Trial) -> float:
    value = objective(trial)
    time.sleep(0.02 * (1 + trial.number % 3))
    return value


def share(storage: str, method: str, n_trials: int) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(storage=storage, study_name="shared", sampler=sampler(method))
    study.optimize(slow, n_trials=n_trials)


@pytest.mark.parametrize("method", ["uhe", "map"])
def test_four_workers_share_a_study(tmp_path: Path, method: str) -> None:
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    study = optuna.create_study(storage=storage, study_name="shared")
    in_processes(*[partial(share, storage, method, TRIALS // 4)] * 4, context=FORKS)
    trials = study.trials
    assert [trial.state for trial in trials] == [TrialState.COMPLETE] * TRIALS
    assert [trial.number for trial in trials] == list(range(TRIALS))
    assert len({tuple(trial.params.items()) for trial in trials}) == TRIALS
    # Every iteration is taken once; only where a trial starts before any has finished is the design longer.
    records = [trial.system_attrs[ATTRIBUTE] for trial in trials]
    initial = sum(record["t"] == 0 for record in records)
    assert INITIAL <= initial <= INITIAL + 4
    assert [record["t"] for record in records] == [0] * initial + list(range(1, TRIALS - initial + 1))
    if method == "uhe":
        pairs = list(zip(records[initial::2], records[initial + 1 :: 2], strict=False))
        assert all("arm" in first and "p" in first for first, _ in pairs)
        # A second half that started before its partner had drawn leaves the arm to it.
        assert all(second.get("arm", first["arm"]) == first["arm"] for first, second in pairs)
        history = read_history(study, space_of_log(study), INITIAL)
        step = Step(history, Settings(seed=SEED, horizon=TRIALS - INITIAL), history.next_slot(TRIALS))
        weights = [1.0, 1.0]
        gamma = min(1.0, math.sqrt(4 * math.log(2) / ((math.e - 1) * (TRIALS - INITIAL))))
        values = [-float(trial.value or 0.0) for trial in trials]
        low, high = min(values[:initial]), max(values[:initial])
        for pair, (first, _) in enumerate(pairs):
            reward = max((max(values[initial + 2 * pair : initial + 2 * pair + 2]) - low) / (high - low), 0.0)
            weights[first["arm"]] *= math.exp(gamma * reward / (2 * first["p"]))
        assert [math.exp(w) for w in pair_bandit(step).log_weights] == pytest.approx(weights, rel=1e-9)


def test_four_threads_share_a_study() -> None:
    study = optuna.create_study(sampler=sampler("uhe"))
    study.optimize(slow, n_trials=TRIALS, n_jobs=4)
    assert sorted(trial.number for trial in study.trials) == list(range(TRIALS))
    assert len({tuple(trial.params.items()) for trial in study.trials}) == TRIALS
