"""The recommended point and the rule that stops a run, against what is true."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution

import uhebo
from uhebo.errors import InvalidInputError
from uhebo_experiments.benchmarks import settled
from uhebo_experiments.table import RUNS, Table

RESULTS = Path(__file__).parents[1] / "results" / "settled"
SPACE: dict[str, BaseDistribution] = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}


def truth(x: float, y: float) -> float:
    return float(np.sin(4 * x) + np.cos(3 * y))


def told_at_random(noise: float, seed: int, trials: int = 30) -> optuna.Study:
    """A study of uniform points, to be maximised, whose values have noise."""
    rng = np.random.default_rng(seed)
    study = optuna.create_study(direction="maximize", sampler=uhebo.UHESampler(seed=seed))
    for _ in range(trials):
        params = {"x": float(rng.random()), "y": float(rng.random())}
        value = truth(**params) + noise * float(rng.standard_normal())
        study.add_trial(optuna.create_trial(params=params, distributions=SPACE, value=value))
    return study


def test_under_noise_it_is_nearer_to_the_truth_than_the_luckiest_measurement() -> None:
    lucky, off, held = [], [], 0
    for seed in range(8):
        study = told_at_random(0.7, seed)
        found = uhebo.recommend(study)
        there = truth(**found.params)
        lucky.append(study.best_value - truth(**study.best_params))
        off.append(abs(found.mean - there))
        held += found.interval[0] <= there <= found.interval[1]
        assert found.measured == (study.trials[found.numbers[0]].value,)
        assert 0.0 <= found.chance <= 1.0
    # Over 36 seeds the ratio is 0.43 and 29 intervals hold; thetas are drawn, so figures differ between processors.
    assert np.mean(off) < 0.85 * np.mean(lucky)
    assert held >= 5  # of 8, for intervals of 90 %


def test_on_an_exact_objective_it_is_the_best_one() -> None:
    result = uhebo.maximize(truth, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 20, seed=0)
    found = result.recommended
    assert truth(**found.params) >= result.best_value - found.epsilon
    assert found.chance > 0.9
    assert f"  x = {found.params['x']!r}" in str(found)


def test_repeats_are_counted_and_only_feasible_points_are_recommended() -> None:
    measured = [(0.4, 1.0), (0.4, 1.3), (0.1, 0.2), (0.2, 0.5), (0.9, 3.0), (0.8, 2.5), (0.3, 0.8)]
    sampler = uhebo.UHESampler(seed=0, constraints_func=lambda trial: trial.params["x"] - 0.5)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for x, value in measured:
        study.enqueue_trial({"x": x})
        study.tell(study.ask({"x": SPACE["x"]}), value)
    found = uhebo.recommend(study)
    assert found.params == {"x": 0.4}
    assert found.measured == pytest.approx((1.0, 1.3))
    assert found.numbers == (0, 1)


def test_a_search_that_has_settled_is_stopped_and_says_why() -> None:
    rule = uhebo.StopWhenSettled(0.05)
    result = uhebo.maximize(truth, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 60, seed=0, callbacks=[rule])
    assert 12 <= len(result.study.trials) < 60
    assert rule.reason is not None
    assert rule.reason.startswith("settled: the chance that 10 more trials improve the best (")
    assert truth(0.3927, 0.0) - result.best_value < 0.01


def test_it_does_not_stop_too_early_nor_where_a_better_point_is_likely() -> None:
    settled = uhebo.maximize(truth, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 25, seed=0).study
    assert uhebo.StopWhenSettled(0.5).is_settled(settled)
    assert not uhebo.StopWhenSettled(0.5, min_trials=26).is_settled(settled)
    assert not uhebo.StopWhenSettled(0.5, every=4).is_settled(settled)
    assert not uhebo.StopWhenSettled(1.0).is_settled(told_at_random(0.0, 0, trials=11))
    assert not uhebo.StopWhenSettled(0.05).is_settled(told_at_random(0.0, 0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"chance": 2.0}, "chance is 2.0; expected a finite number >= 0 and <= 1"),
        ({"epsilon": -1}, "epsilon is -1"),
        ({"every": 0}, "every is 0; expected an integer >= 1"),
        ({"min_trials": "many"}, "min_trials is 'many'"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        uhebo.StopWhenSettled(**arguments)


def test_nothing_is_recommended_where_nothing_can_be() -> None:
    study = optuna.create_study(sampler=uhebo.UHESampler(seed=0))
    with pytest.raises(InvalidInputError, match="run trials first"):
        uhebo.recommend(study)
    several = optuna.create_study(directions=["minimize"] * 2, sampler=uhebo.UHESampler(seed=0))
    several.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 1 - trial.params["x"]), n_trials=6)
    with pytest.raises(InvalidInputError, match="name one objective"):
        uhebo.recommend(several)
    assert "(a guess: there are 6 trials, too few" in str(uhebo.recommend(several, objective=0))
    assert uhebo.recommend(several, objective=0).params == min(several.trials, key=lambda t: t.values[0]).params


def test_the_committed_page_follows_from_the_committed_records(tmp_path: Path) -> None:
    shutil.copy(RESULTS / RUNS, tmp_path)
    settled.write(tmp_path)
    assert (tmp_path / "settled.md").read_text("utf-8") == (RESULTS / "settled.md").read_text("utf-8")
    assert len(list(Table(RESULTS / RUNS))) == 200
