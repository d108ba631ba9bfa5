"""Exact objectives are not evaluated twice at a point, and a finite space has an end."""

import logging
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import TrialState

import uhebo
from uhebo import UHESampler
from uhebo.belief.repeats import show_no_noise
from uhebo.errors import SpaceExhausted

CORNER = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
GRID = {"x": (0, 10), "y": (0, 10)}
CHOICES = {"a": list(range(12)), "b": [1, 2, 3]}


def corner(x: float, y: float) -> float:
    return x + y


def bowl(x: int, y: int) -> float:
    return (x - 3.1) ** 2 + (y - 7.2) ** 2


def table(a: int, b: int) -> float:
    return (a * 7 % 12) + 0.37 * b


def points(study: optuna.Study) -> list[tuple[Any, ...]]:
    return [tuple(trial.params.values()) for trial in study.trials]


def repeats(study: optuna.Study) -> int:
    return len(points(study)) - len(set(points(study)))


# What repeats show


def observed(pairs: list[tuple[float, float]]) -> bool:
    return show_no_noise((np.array([x]), (y,)) for x, y in pairs)


def test_equal_repeats_show_that_there_is_no_noise() -> None:
    assert not observed([])
    assert not observed([(0.1, 1.0), (0.2, 2.0)])
    assert observed([(0.1, 1.0), (0.2, 2.0), (0.1, 1.0)])
    assert observed([(0.1, 1.0), (0.2, 2.0), (0.1 + 1e-15, 1.0)])
    assert not observed([(0.1, 1.0), (0.2, 2.0), (0.1, 1.0), (0.2, 2.1)])
    assert not observed([(0.1, 1.0), (0.1, 1.0)])  # of one point nothing is known but that value


def test_equal_repeats_say_less_where_values_are_equal_anyway() -> None:
    halves = [(float(i), float(i % 2)) for i in range(10)]  # 4 of 9 other points have the same value
    assert not observed([*halves, *halves[:5]])
    assert observed([*halves, *halves[:6]])
    assert not observed([(float(i), 1.0) for i in range(10)] * 20)


# No repeats


@pytest.mark.parametrize("method", ["auto", "map"])
@pytest.mark.parametrize(("fn", "space"), [(corner, CORNER), (bowl, GRID), (table, CHOICES)])
def test_after_one_repeat_there_is_no_other(fn: Any, space: Any, method: str) -> None:
    study = uhebo.minimize(fn, space, 36, seed=0, method=method).study
    assert repeats(study) <= 1
    assert repeats(uhebo.minimize(fn, space, 30, seed=0, method=method, deterministic=True).study) == 0


def test_a_point_that_failed_is_not_tried_again() -> None:
    def fn(x: int) -> float:
        if x > 6:
            raise ValueError
        return float(-x)

    study = uhebo.minimize(fn, {"x": (0, 8)}, 12, seed=0, deterministic=True, catch=ValueError).study
    assert sorted(points(study)) == [(x,) for x in range(9)]


def test_noisy_repeats_stay_welcome() -> None:
    rng = np.random.default_rng(0)
    study = uhebo.minimize(lambda x: x + 0.1 * rng.standard_normal(), {"x": (0, 3)}, 14, seed=0).study
    assert len(study.trials) == 14
    assert repeats(study) == 10


# The end of a space


def test_minimize_ends_with_the_last_point_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    options: dict[str, Any] = {"seed": 0, "storage": optuna.storages.InMemoryStorage(), "study_name": "s"}
    result = uhebo.minimize(table, CHOICES, 60, deterministic=True, **options)
    assert len(set(points(result.study))) == len(result.study.trials) == 36
    assert "all 36 points of the space have been tried" in caplog.text
    assert "when_exhausted='repeat' goes on" in caplog.text
    assert len(uhebo.minimize(table, CHOICES, 5, deterministic=True, **options).study.trials) == 36
    more = uhebo.minimize(table, CHOICES, 4, deterministic=True, when_exhausted="repeat", **options)
    assert len(more.study.trials) == 40


def test_repeats_may_be_what_shows_that_it_is_the_end() -> None:
    study = uhebo.minimize(lambda x: x**1.5, {"x": (0, 4)}, 40, seed=0).study
    assert len(set(points(study))) == 5
    assert len(study.trials) <= 12


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_optuna_s_own_loop_ends(n_jobs: int) -> None:
    study = optuna.create_study(sampler=UHESampler(seed=0, deterministic=True))
    study.optimize(lambda trial: table(trial.suggest_int("a", 0, 5), trial.suggest_int("b", 1, 2)), 40, n_jobs=n_jobs)
    assert len(set(points(study))) == 12
    # The first trials, before the space is known, and the last ones may coincide where several begin at once.
    assert len(study.trials) <= 12 + 3 * (n_jobs - 1)


def test_asking_for_more_is_a_typed_error() -> None:
    space: dict[str, BaseDistribution] = {"c": CategoricalDistribution(("p", "q", "r"))}
    study = optuna.create_study(sampler=UHESampler(seed=0, deterministic=True))
    for _ in range(3):
        study.tell(trial := study.ask(space), "pqr".index(trial.params["c"]))
    with pytest.raises(SpaceExhausted, match="all 3 points of the space have been tried"):
        study.ask(space)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 3 + [TrialState.FAIL]
    study.sampler = UHESampler(seed=0, deterministic=True, when_exhausted="repeat")
    assert study.ask(space).params["c"] in "pqr"


def test_a_point_under_way_is_not_free_and_one_that_waits_keeps_the_study_open() -> None:
    space: dict[str, BaseDistribution] = {"c": CategoricalDistribution(("p", "q"))}
    study = optuna.create_study(sampler=UHESampler(seed=0, deterministic=True))
    study.tell(study.ask(space), 1.0)
    study.ask(space)
    assert study.sampler.is_exhausted(study)  # type: ignore[union-attr]
    study.enqueue_trial({"c": "p"})
    assert not study.sampler.is_exhausted(study)  # type: ignore[union-attr]
    assert study.ask(space).params == {"c": "p"}


def test_branches_are_more_than_the_points_they_share() -> None:
    def objective(trial: optuna.Trial) -> float:
        kind = trial.suggest_categorical("kind", ["plain", "other"])
        return 1.0 if kind == "plain" else trial.suggest_float("x", 0.0, 1.0)

    study = optuna.create_study(sampler=UHESampler(seed=0, deterministic=True))
    study.optimize(objective, n_trials=12)
    assert len(study.trials) == 12


def branching(kind: str, depth: int | None = None) -> float:
    return 0.5 if depth is None else abs(depth - 2) + (kind == "forest")


@pytest.mark.parametrize("declared", [True, False])
def test_the_last_point_of_the_last_branch_is_the_end(declared: bool, caplog: pytest.LogCaptureFixture) -> None:
    """`line` has one point, the two others three each."""
    kinds, when = ["line", "tree", "forest"], "kind in ['tree', 'forest']"
    if declared:
        space = {"kind": kinds, "depth": uhebo.When(when, (1, 3))}
        study = uhebo.minimize(branching, space, 30, seed=0, deterministic=True, progress=False).study
    else:

        def objective(trial: optuna.Trial) -> float:
            kind = trial.suggest_categorical("kind", kinds)
            return branching(kind, None if kind == "line" else trial.suggest_int("depth", 1, 3))

        study = optuna.create_study(sampler=UHESampler(seed=0, deterministic=True))
        study.optimize(objective, n_trials=30)
    assert len(set(points(study))) == 7
    assert len(study.trials) <= 8  # the parameters of a branch are not known before its first trial
    assert "all 7 points of the space have been tried" in caplog.text


def test_a_search_for_scikit_learn_ends_too() -> None:
    pytest.importorskip("sklearn")
    from sklearn.datasets import load_iris
    from sklearn.tree import DecisionTreeClassifier

    options = {"deterministic": True}
    search = uhebo.UHESearchCV(
        DecisionTreeClassifier(random_state=0), {"max_depth": (1, 4)}, n_iter=9, cv=2, random_state=0,
        sampler_options=options,
    )  # fmt: skip
    with pytest.warns(uhebo.errors.UheboWarning, match="the search ends after 4 candidates: all 4 points"):
        search.fit(*load_iris(return_X_y=True))
    assert len(search.cv_results_["params"]) == 4
