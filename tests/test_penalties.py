"""Penalties: values that stand for failing, of one objective and of several."""

import logging
import statistics

import numpy as np
import optuna
import pytest

from tests.searches import Function, searched
from uhebo import UHESampler
from uhebo.belief.penalties import penalties, penalties_of
from uhebo.errors import InvalidInputError
from uhebo.optuna_.believe import believe
from uhebo.optuna_.trial_log import Penalties
from uhebo.pareto_result import ParetoResult


def bowl(penalty: float | None) -> Function:
    def value(x: float, y: float) -> float:
        if x <= 0.8:
            return (x - 0.3) ** 2 + (y - 0.6) ** 2
        if penalty is None:
            raise ValueError
        return penalty

    return value


# One objective


@pytest.mark.parametrize("penalty", [1e3, 1e12])
def test_penalties_are_as_good_as_failures(penalty: float, caplog: pytest.LogCaptureFixture) -> None:
    """As data: 2e-3 and more."""
    with caplog.at_level(logging.WARNING, "uhebo"):
        found = [searched(bowl(penalty), 40, seed) for seed in range(3)]
    assert statistics.median(study.best_value for study in found) < 1e-8
    said = [record.message for record in caplog.records]
    assert len(said) == 3
    assert all(f"the value {penalty:g} came back 2 times" in message for message in said)
    belief = believe(found[0])
    assert belief.left_out == {"penalty": sum(t.value == penalty for t in found[0].trials)}


def test_penalties_can_be_kept() -> None:
    study = searched(bowl(1e6), 24, penalties="keep")
    assert sum(t.value == 1e6 for t in study.trials) > 1
    assert believe(study).left_out == {}
    assert len(believe(study).objective.data) == 24
    with pytest.raises(InvalidInputError, match="unknown penalties 'no'"):
        UHESampler(penalties="no")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.1, 0.2, 0.4, -1e6, -1e6], {-1e6}),
        ([0.1, 0.2, 0.4, -1e6], set()),  # an outlier
        ([0.1, 0.2, 0.4, -1e6, -2e6], set()),  # two outliers
        ([0.1, 0.2, 0.4, -1e3, -1e3, -1e9, -1e9], {-1e3, -1e9}),
        ([0.9, 0.8, 0.6, 0.0, 0.0, 0.0], set()),  # an accuracy where nothing was learnt
        ([0.1, 0.1, 0.1, -1e6, -1e6], set()),  # nothing to be far from
        ([-1e6, -1e6], set()),
        ([], set()),
        ([1e6, 1e6, 0.1, 0.2, 0.3], set()),  # the best ones
    ],
)
def test_what_is_a_penalty(values: list[float], expected: set[float]) -> None:
    assert penalties(values) == expected


# Several objectives


def two_bowls(x: float, y: float) -> tuple[float, float]:
    return (x - 1) ** 2 + 0.1 * y, (x - 0.2) ** 2 + y**2


@pytest.mark.parametrize("penalty", [(1e6, 1e6), (0.7, 1e6), None])
def test_a_region_that_fails_with_several_objectives(penalty: tuple[float, float] | None) -> None:
    """Beyond x = 0.7 everything fails, and the first objective is best on that edge. As values, 9 to 15 of 20 were
    penalties."""

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        x = trial.suggest_float("x", 0, 1)
        if x <= 0.7:
            return two_bowls(x, trial.suggest_float("y", 0, 1))
        if penalty is None:
            raise ValueError
        return penalty

    beyond, ends = [], []
    for seed in range(3):
        study = optuna.create_study(directions=["minimize"] * 2, sampler=UHESampler(seed=seed))
        study.optimize(objective, n_trials=26, catch=ValueError)
        beyond.append(sum(trial.params["x"] > 0.7 for trial in study.trials[6:]))
        ends.append(min(trial.values[0] for trial in study.best_trials))
    assert statistics.mean(beyond) <= 6, beyond
    assert statistics.median(ends) < 0.12  # 0.09 on the edge
    failed = sum(trial.params["x"] > 0.7 for trial in study.trials)
    assert believe(study).left_out == {"no value" if penalty is None else "penalty": failed}
    assert ParetoResult(study).hypervolume.max() < 10.0


@pytest.mark.parametrize(
    ("others", "failing", "expected"),
    [
        ((-1e6, -1e6), (-1e6, -1e6), [(0, -1e6), (1, -1e6)]),
        ((-1e6, 0.0), (-1e6, 0.3), [(0, -1e6)]),  # the other objective was measured
        ((-1e6, 0.0), (-1e6, 3.0), []),  # and once it was the best there is
        ((-1e6, 0.0), (-2e6, 0.0), []),  # two outliers
    ],
)
def test_what_is_a_penalty_of_one_objective_among_several(
    others: tuple[float, float], failing: tuple[float, float], expected: list[tuple[int, float]]
) -> None:
    values = np.array([(0.1, 0.6), (0.3, 0.5), (0.4, 0.2), others, failing])
    found = penalties_of(values)
    assert [(one.objective, one.value) for one in found] == expected
    assert all(one.rows.tolist() == [False] * 3 + [True] * 2 for one in found)


def test_penalties_of_several_objectives_can_be_kept(caplog: pytest.LogCaptureFixture) -> None:
    def objective(trial: optuna.Trial) -> tuple[float, float]:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        return (1e6, -1e6) if x > 0.5 else (x + y, x - y)

    expected_by: dict[Penalties, int] = {"detect": 2, "keep": 0}
    for given, expected in expected_by.items():
        sampler = UHESampler(seed=0, penalties=given)
        study = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler)
        caplog.clear()
        with caplog.at_level(logging.WARNING, "uhebo"):
            study.optimize(objective, n_trials=9)
        said = [record.message for record in caplog.records if "penalty" in record.message]
        assert len(said) == expected, said
        assert all("of objective" in message for message in said)
        left_out = believe(study).left_out.get("penalty", 0)
        assert left_out == (sum(trial.values[0] == 1e6 for trial in study.trials) if expected else 0)
