"""The initial design: how many points, where, and what is said when no model gets its turn."""

import logging
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState
from scipy.stats import qmc

import uhebo
from uhebo import UHESampler
from uhebo.acquire.design import crowding, emptiest_point
from uhebo.acquire.maximise import Explored
from uhebo.methods.start_up import start_up_size
from uhebo.optuna_.trial_log import ATTRIBUTE
from uhebo.space import SearchSpace
from uhebo.types import Array


def floats(count: int) -> dict[str, BaseDistribution]:
    return {f"x{i}": FloatDistribution(0.0, 1.0) for i in range(count)}


def roles(study: optuna.Study) -> list[str | None]:
    return [trial.system_attrs.get(ATTRIBUTE, {}).get("role") for trial in study.trials]


def asked(sampler: UHESampler, space: dict[str, BaseDistribution], trials: int, told: int = 0) -> optuna.Study:
    """A study of so many trials after some that were told, the value a sum of coordinates."""
    study = optuna.create_study(sampler=sampler)
    rng = np.random.default_rng(0)
    for _ in range(told):
        params = SearchSpace.of(space).decode(rng.random(len(space)))
        study.add_trial(optuna.create_trial(params=params, distributions=space, value=sum(params.values())))
    for _ in range(trials):
        trial = study.ask(space)
        study.tell(trial, sum(value for value in trial.params.values() if not isinstance(value, str)))
    return study


# How many


@pytest.mark.parametrize("parameters", [20, 30])
def test_many_parameters_leave_most_of_sixty_trials_to_the_model(parameters: int) -> None:
    study = asked(UHESampler(seed=0, n_trials=60), floats(parameters), 12)
    assert roles(study).count("initial") == 10
    assert roles(study)[10:] == ["model"] * 2


@pytest.mark.parametrize(("design", "parameters", "trials", "size"), [
    ("spread", 2, None, 6), ("spread", 2, 60, 6), ("spread", 30, None, 10), ("spread", 8, 24, 10), ("spread", 3, 8, 4),
    ("spread", 2, 1, 1), ("uniform", 2, None, 6), ("uniform", 20, 200, 60), ("uniform", 20, 60, 30),
    ("uniform", 8, 24, 12), ("uniform", 3, 8, 4), ("uniform", 2, 1, 1),
])  # fmt: skip
def test_sizes(design: Any, parameters: int, trials: int | None, size: int) -> None:
    assert start_up_size(design, parameters, trials) == size


def test_what_is_there_counts() -> None:
    imported = asked(UHESampler(seed=0), floats(5), 3, told=12)
    assert roles(imported)[12:] == ["model"] * 3
    points = [{f"x{i}": 0.1 * number + 0.01 * i for i in range(5)} for number in range(4)]
    started = uhebo.minimize(lambda **x: sum(x.values()), floats(5), 12, seed=0, initial=points)
    assert roles(started.study) == [None] * 4 + ["initial"] * 2 + ["model"] * 6


def test_a_small_search_for_scikit_learn_uses_its_model() -> None:
    pytest.importorskip("sklearn")
    from sklearn.datasets import load_iris
    from sklearn.tree import DecisionTreeClassifier

    space = {"max_depth": (1, 20), "min_samples_leaf": (1, 20), "ccp_alpha": (0.0, 0.1)}
    search = uhebo.UHESearchCV(DecisionTreeClassifier(random_state=0), space, n_iter=8, cv=2, random_state=0)
    search.fit(*load_iris(return_X_y=True))
    assert roles(search.study_) == ["initial"] * 4 + ["model"] * 4


# What is said


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "uhebo"]


def test_a_design_as_large_as_the_budget_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    uhebo.minimize(lambda x: x, {"x": (0.0, 1.0)}, 5, seed=0, n_startup_trials=5)
    assert said(caplog) == [
        "no model will be used: 5 trials in all, and the initial design has 5; lower n_startup_trials or run more"
    ]
    caplog.clear()
    uhebo.minimize(lambda x: x, {"x": (0.0, 1.0)}, 5, seed=0, n_startup_trials=5, method="random")
    uhebo.minimize(lambda x: x, {"x": (0.0, 1.0)}, 5, seed=0)
    assert said(caplog) == []


def test_a_paper_s_method_says_that_its_design_was_cut(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    study = asked(UHESampler(method="map", seed=0, n_trials=12), floats(8), 8)
    assert roles(study) == ["initial"] * 6 + ["model"] * 2
    assert said(caplog) == [
        "12 trials are few for 8 parameters: the initial design has size 6 instead of 24; "
        "run more, or use the method auto"
    ]


@pytest.mark.parametrize("method", ["auto", "uhe"])
def test_a_study_without_a_model_s_suggestion_is_never_trusted(method: str) -> None:
    options: dict[str, Any] = {"seed": 0, "method": method}
    only_start = uhebo.minimize(lambda **x: sum(x.values()), floats(2), 24, n_startup_trials=24, **options).diagnose()
    assert (only_start.verdict, only_start.kind) == ("caution", "no-model-steps")
    assert "no trial was suggested by it" in only_start.headline
    assert any("No model has suggested a trial yet" in reason for reason in only_start.reasons)
    after = uhebo.minimize(lambda **x: sum(x.values()), floats(2), 24, n_startup_trials=18, **options).diagnose()
    assert after.kind != "no-model-steps"
    assert not any("No model has suggested" in reason for reason in after.reasons)


def test_points_of_another_sampler_or_taken_at_random_on_purpose_may_be_trusted() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) ** 2, n_trials=20)
    assert uhebo.diagnose(study, hmc=False).verdict == "trust"
    at_random = uhebo.minimize(lambda x: x**2, {"x": (0.0, 1.0)}, 20, seed=0, method="random")
    assert at_random.diagnose().verdict == "trust"


# Where


def spread(space: SearchSpace, count: int, seed: int, there: Array | None = None) -> Array:
    rng = np.random.default_rng(seed)
    rows = np.empty((0, len(space.names))) if there is None else there
    for _ in range(count):
        explored = Explored(space, rows[:0], rows[:0])
        rows = np.concatenate([rows, emptiest_point(explored, rows, rng)[None]])
    return rows


def test_crowding_is_what_the_discrepancy_of_scipy_changes_by() -> None:
    rng = np.random.default_rng(0)
    there, added = rng.random((6, 3)), rng.random((4, 3))
    space = SearchSpace.of(floats(3))
    n, mean = len(there) + 1, (4 / 3) ** 3

    def squared(x: Array) -> float:
        """n² (the discrepancy + (4/3)^d), which is the double sum over all points; SciPy's discrepancy is squared."""
        return n**2 * (float(qmc.discrepancy(np.vstack([there, x]), method="WD")) + mean)

    expected = [(squared(x) - squared(added[0])) / 2 for x in added]  # the part of the new point, twice
    found = crowding(space, added, there) * mean
    assert found - found[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("dimension", [1, 2, 6])
def test_it_covers_the_space_better_than_uniform_points(dimension: int) -> None:
    space = SearchSpace.of(floats(dimension))
    ours = [qmc.discrepancy(spread(space, 10, seed), method="WD") for seed in range(10)]
    theirs = [qmc.discrepancy(np.random.default_rng(seed).random((10, dimension)), method="WD") for seed in range(10)]
    assert np.mean(ours) < 0.6 * np.mean(theirs)


def test_points_go_where_nobody_has_been() -> None:
    space = SearchSpace.of(floats(1))
    there = np.linspace(0.0, 0.7, 15)[:, None]
    assert (spread(space, 3, 0, there)[-3:, 0] > 0.7).all()


def test_every_category_gets_its_turn() -> None:
    space = SearchSpace.of({"kind": CategoricalDistribution(tuple("abcde")), "x": FloatDistribution(0.0, 1.0)})
    for seed in range(5):
        assert sorted(spread(space, 5, seed)[:, 0]) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("space", [floats(3), {"i": IntDistribution(0, 5), "c": CategoricalDistribution(("a", "b"))}])
def test_trials_under_way_get_points_of_their_own_and_the_seed_decides(space: dict[str, BaseDistribution]) -> None:
    def points(seed: int) -> list[dict[str, Any]]:
        study = optuna.create_study(sampler=UHESampler(seed=seed, n_startup_trials=8, deterministic=True))
        first = study.ask(space)
        study.tell(first, 0.5)
        return [first.params, *(study.ask(space).params for _ in range(7))]

    found = points(0)
    assert len({tuple(point.items()) for point in found}) == 8
    assert found == points(0) != points(1)


def test_a_failed_trial_is_replaced() -> None:
    study = optuna.create_study(sampler=UHESampler(seed=0, n_startup_trials=3))
    for state in (TrialState.COMPLETE, TrialState.FAIL, TrialState.COMPLETE, TrialState.COMPLETE, TrialState.COMPLETE):
        trial = study.ask(floats(2))
        study.tell(trial, None if state == TrialState.FAIL else trial.params["x0"], state)
    assert roles(study) == ["initial"] * 4 + ["model"]


def test_every_branch_is_visited_by_the_initial_design() -> None:
    """Define-by-run: the parameters of a branch are unknown until it is visited, and that must not keep it away."""

    def pipeline(trial: optuna.Trial) -> float:
        model = trial.suggest_categorical("model", ["forest", "svm", "neighbours", "linear"])
        total = trial.suggest_float("scale", 0.0, 1.0)
        for i in range({"forest": 3, "svm": 2, "neighbours": 1, "linear": 2}[model]):
            total += trial.suggest_float(f"{model}-{i}", 0.0, 1.0)
        return total

    for seed in range(6):
        study = optuna.create_study(sampler=UHESampler(seed=seed, n_trials=60))
        study.optimize(pipeline, n_trials=10)
        assert len({trial.params["model"] for trial in study.trials}) == 4, seed
