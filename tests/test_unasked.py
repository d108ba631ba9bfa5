"""Evaluations that fail before they have asked for all their parameters."""

import logging
import statistics
from typing import Any

import numpy as np
import optuna
import pytest

from uhebo import UHESampler
from uhebo.belief.history import FAILING
from uhebo.optuna_.trial_log import read_history
from uhebo.space import ABSENT, Categorical, Float, Int, SearchSpace, When
from uhebo.space.unasked import completed, unfolded


def returns_early(trial: optuna.Trial, penalty: float | None) -> float:
    """Fails beyond x = 0.8 before it has asked for y; the best point is on that edge."""
    x = trial.suggest_float("x", 0, 1)
    if x > 0.8:
        if penalty is None:
            raise ValueError("out of range")
        return penalty
    return float((x - 1) ** 2 + (trial.suggest_float("y", 0, 1) - 0.3) ** 2)


@pytest.mark.parametrize("penalty", [1e6, None])
def test_a_region_that_fails_early_is_left(penalty: float | None, caplog: pytest.LogCaptureFixture) -> None:
    """As rows beside the space 14 to 16 of 20 were penalised, and as trials without a place 10 to 17 failed."""
    beyond, best = [], []
    with caplog.at_level(logging.ERROR, "uhebo"):
        for seed in range(3):
            study = optuna.create_study(sampler=UHESampler(seed=seed))
            study.optimize(lambda trial: returns_early(trial, penalty), n_trials=26, catch=ValueError)
            beyond.append(sum(trial.params["x"] > 0.8 for trial in study.trials[6:]))
            best.append(study.best_value)
    assert statistics.mean(beyond) <= 6, beyond
    assert statistics.median(best) < 0.05


def test_failures_at_random_are_no_region_where_a_parameter_is_missing() -> None:
    """A trial that stands for several points is one trial where the evidence for a region is counted."""

    def flaky(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        if 7919 * x % 1 < 0.3:
            raise ValueError("once more")
        return x + trial.suggest_float("y", 0, 1)

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(flaky, n_trials=40, catch=ValueError)
    history = read_history(study, SearchSpace.of({"x": Float(0, 1), "y": Float(0, 1)}), 6)
    failed = [trial for trial in history.trials if trial.state in FAILING]
    assert len(failed) > 6
    assert all(trial.x is not None and trial.x[1] == ABSENT for trial in failed)
    assert [outcome.role for outcome in history.outcomes] == ["objective"]


def test_points_of_one_trial_are_spread_over_what_was_not_asked_for() -> None:
    space = SearchSpace.of({"x": Float(0, 1), "y": Float(0, 1), "n": Int(1, 4), "c": Categorical(["a", "b"])})
    partial, whole = np.array([0.3, ABSENT, ABSENT, ABSENT]), np.array([0.1, 0.2, 0.375, 1.0])
    X, owners = unfolded(space, [partial, whole, partial], [True, False, False], 8)
    assert owners.tolist() == [0] * 8 + [1, 2]
    np.testing.assert_array_equal(X[8:], [whole, partial])  # what has not failed is as it was
    assert (X[:8, 0] == 0.3).all()
    assert np.diff(np.sort(X[:8, 1])).max() < 0.3
    assert {*X[:8, 2]} == {0.125, 0.375, 0.625, 0.875}
    assert {*X[:8, 3]} == {0.0, 1.0}
    assert all(space.contains(space.decode(row)) for row in X[:8])


def test_what_a_missing_parameter_makes_active_is_spread_too() -> None:
    given: dict[str, Any] = {"x": (0.0, 1.0), "c": ["a", "b"], "y": When("c == 'b'", (0.0, 1.0))}
    space = SearchSpace.of(given)
    rows, usable = space.encode_log([{"x": 0.5}], ended=[True])
    assert usable.all()
    points = np.array([completed(space, rows[0], index) for index in range(12)])
    y, b = points[:, space.names.index("y")], points[:, space.names.index("c")] == 1.0
    assert 0 < b.sum() < 12
    assert (y[~b] == 0.5).all()
    assert len({*y[b]}) == b.sum()
