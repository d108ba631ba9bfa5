"""Conditional spaces: parameters that only some trials have are modelled, with a condition read off the log."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution
from optuna.trial import TrialState, create_trial

from uhebo import Categorical, Float, Int, UHESampler
from uhebo.acquire.maximise import all_points
from uhebo.errors import InvalidInputError
from uhebo.optuna_.believe import believe
from uhebo.optuna_.log_space import space_of_log
from uhebo.space import SearchSpace, When
from uhebo.space.infer import Record, infer_conditions
from uhebo.space.moves import leading, switched

SEEDS = (0, 1, 2)
CENTRES = {"a": (0.3, 0.7), "b": (0.6, 0.2), "c": (0.8, 0.5)}


def three_branches(trial: optuna.Trial) -> float:
    """Three branches with two parameters each; the optimum, 0, is in the first."""
    kind = trial.suggest_categorical("kind", list(CENTRES))
    x, y = (trial.suggest_float(f"{name}_{kind}", 0, 1) for name in "xy")
    return (x - CENTRES[kind][0]) ** 2 + (y - CENTRES[kind][1]) ** 2 + 0.05 * "abc".index(kind)


def best(objective: Callable[[optuna.Trial], float], seed: int, n_trials: int) -> float:
    study = optuna.create_study(sampler=UHESampler(seed=seed, n_trials=n_trials, n_startup_trials=9))
    study.optimize(objective, n_trials=n_trials)
    return study.best_value


def test_parameters_of_branches_are_searched_by_the_model() -> None:
    """FIELD B3. Drawn at random, they end at 0.02 here."""
    assert np.median([best(three_branches, seed, 30) for seed in SEEDS]) < 1e-4


def test_an_evaluation_that_returns_early_drops_no_parameter() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        if trial.number == 3:
            return 1.0
        return (x - 0.3) ** 2 + (trial.suggest_float("y", 0, 1) - 0.6) ** 2

    study = optuna.create_study(sampler=UHESampler(seed=0, n_trials=25, n_startup_trials=6))
    study.optimize(objective, n_trials=25)
    assert study.best_value < 1e-5
    space = space_of_log(study)
    assert space.names == ("x", "y")
    assert not space.conditions
    assert len(believe(study).numbers) == 25  # the early one too


def test_a_parameter_that_comes_in_mid_study_is_modelled_and_nothing_is_lost() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        return (x - 0.3) ** 2 + ((trial.suggest_float("y", 0, 1) - 0.6) ** 2 if trial.number >= 8 else 0.1)

    study = optuna.create_study(sampler=UHESampler(seed=0, n_trials=28, n_startup_trials=6))
    study.optimize(objective, n_trials=28)
    assert len(believe(study).numbers) == 28
    assert study.best_value < 1e-4


def test_what_was_asked_for_under_a_parameter_that_is_given_up_goes_with_it() -> None:
    def objective(trial: optuna.Trial) -> float:
        if trial.number < 12 and trial.suggest_categorical("old", ["a", "b"]) == "a":
            trial.suggest_float("inner", 0, 1)
        return trial.suggest_float("y", 0, 1)

    assert space_of_log(log_of(objective, 30)).names == ("y",)


def test_a_parameter_that_was_renamed_is_given_up() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x" if trial.number < 8 else "renamed", 0, 1)
        return (x - 0.3) ** 2 + (trial.suggest_float("y", 0, 1) - 0.6) ** 2

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=15)
    assert space_of_log(study).names == ("renamed", "x", "y")
    study.optimize(objective, n_trials=1)
    assert space_of_log(study).names == ("renamed", "y")
    assert len(believe(study).numbers) == 16  # the earlier trials are data all the same
    believe(study).predict({"renamed": 0.5, "y": 0.5, "x": 0.5})


@pytest.mark.parametrize("method", ["auto", "uhe", "portfolio"])
def test_a_branching_study_goes_on_where_it_was(method: str, tmp_path: Path) -> None:
    """In a file, in two parts, in memory: one log, one run. Storages may return parameters in another order."""
    sampler = partial(UHESampler, method=method, seed=3, n_trials=14, n_startup_trials=6)
    whole = optuna.create_study(sampler=sampler())
    whole.optimize(three_branches, n_trials=14)
    for part in (9, 5):
        resumed = optuna.create_study(
            storage=f"sqlite:///{tmp_path / 'x.db'}", study_name="x", sampler=sampler(), load_if_exists=True
        )
        resumed.optimize(three_branches, n_trials=part)
    assert [trial.params for trial in resumed.trials] == [trial.params for trial in whole.trials]


def test_threads_share_a_branching_study() -> None:
    study = optuna.create_study(sampler=UHESampler(seed=0, n_startup_trials=5))
    study.optimize(three_branches, n_trials=14, n_jobs=3)
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    assert len({tuple(trial.params.items()) for trial in study.trials}) == 14


# The condition, from the log


def log_of(objective: Callable[[optuna.Trial], float], n_trials: int = 30) -> optuna.Study:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=n_trials)
    return study


def nested(trial: optuna.Trial) -> float:
    if trial.suggest_categorical("model", ["net", "tree", "line"]) == "net":
        layers = trial.suggest_int("layers", 1, 4)
        if trial.suggest_categorical("dropout", [True, False]):
            trial.suggest_float("rate", 0, 1)
        for i in range(layers):
            trial.suggest_int(f"width_{i}", 8, 64)
    return float(trial.number)


def test_a_branch_inside_a_branch() -> None:
    space = space_of_log(log_of(nested, 60))
    assert {name: rule.text for name, rule in space.conditions.items()} == {
        "dropout": "model == 'net'",
        "layers": "model == 'net'",
        "rate": "dropout == True",
        "width_0": "model == 'net'",
        "width_1": "layers >= 2",
        "width_2": "layers >= 3",
        "width_3": "layers >= 4",
    }
    point = space.decode(space.encode({"model": "net", "layers": 2, "dropout": False, "width_0": 9, "width_1": 10}))
    assert point == {"model": "net", "layers": 2, "dropout": False, "width_0": 9, "width_1": 10}
    assert space.decode(space.encode({"model": "tree"})) == {"model": "tree"}


def test_failed_trials_show_what_there_is_and_not_what_there_is_not() -> None:
    space: dict[str, BaseDistribution] = {"kind": Categorical(["a", "b"]), "x": Float(0, 1)}
    study = optuna.create_study()
    trials: list[tuple[TrialState, dict[str, Any]]] = [
        (TrialState.COMPLETE, {"kind": "b"}),
        (TrialState.FAIL, {"kind": "a", "x": 0.5}),
        (TrialState.FAIL, {"kind": "a"}),  # it failed before it came to x
        (TrialState.RUNNING, {"kind": "a"}),
    ]
    for state, params in trials:
        distributions = {name: space[name] for name in params}
        value = 1.0 if state == TrialState.COMPLETE else None
        study.add_trial(create_trial(state=state, params=params, distributions=distributions, value=value))
    found = space_of_log(study)
    assert found.names == ("kind", "x")
    assert found.conditions["x"].text == "kind == 'a'"


VALUES: dict[str, BaseDistribution] = {
    "p": Categorical(["u", "v", "w"]),
    "q": Categorical([True, False]),
    "n": Int(1, 4),
}


@st.composite
def trees(draw: st.DrawFn) -> dict[str, str]:
    """Conditions of x and of y; those of y may read x's parents, and a further parameter that x's branch has."""
    tests = [
        "p == 'u'",
        "p in ['u', 'w']",
        "q == True",
        "n >= 3",
        "n <= 2",
        "p == 'v' and q == True",
        "n >= 2 and q == True",
    ]
    found = {"x": draw(st.sampled_from(tests)), "inner": draw(st.sampled_from(tests))}
    found["y"] = draw(st.sampled_from([*tests, "inner == 'k'"]))
    return found


@given(trees(), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_what_is_inferred_is_what_was_declared(declared: dict[str, str], seed: int) -> None:
    parameters = {**VALUES, "x": Float(0, 1), "inner": Categorical(["k", "l"]), "y": Float(0, 1)}
    space = SearchSpace.of({n: When(declared[n], d) if n in declared else d for n, d in parameters.items()})
    drawn = space.domain.uniform(np.random.default_rng(seed), 150)
    points = [space.decode(row) for row in drawn]
    found = SearchSpace.of(parameters, infer_conditions([Record(point, True) for point in points], parameters))
    every = space.snap(space.domain.rows(np.random.default_rng(seed + 1), 300))
    np.testing.assert_array_equal(found.active(every), space.active(every))


def test_a_circle_of_conditions_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="in a circle"):
        SearchSpace.of({"a": When("b > 0", (0, 1)), "b": When("a > 0", (0, 1)), "c": (0.0, 1.0)})


def test_what_is_inferred_never_reads_itself() -> None:
    """Two that come together explain each other; one alone must not."""
    parameters: dict[str, BaseDistribution] = {"a": Categorical([1, 2]), "b": Categorical([1, 2]), "x": Float(0, 1)}
    records = [Record({"x": 0.5}, True), Record({"x": 0.2, "a": 1, "b": 2}, True)]
    SearchSpace.of(parameters, infer_conditions(records, parameters))


# Rows


@pytest.fixture
def space() -> SearchSpace:
    return SearchSpace.of(
        {
            "kind": Categorical(["a", "b", "c"]),
            "x": When("kind == 'a'", Float(0, 1)),
            "n": When("kind in ['b', 'c']", Int(1, 5)),
            "deep": When("n >= 4", Categorical(["p", "q"])),
        }
    )


def test_what_is_not_active_is_neutral_whatever_the_row(space: SearchSpace) -> None:
    rows = space.snap(space.domain.rows(np.random.default_rng(0), 200))
    active = space.active(rows)
    np.testing.assert_array_equal(rows[~active], np.broadcast_to(space.neutral, rows.shape)[~active])
    for row, on in zip(rows, active, strict=True):
        point = space.decode(row)
        assert list(point) == [name for name, there in zip(space.names, on, strict=True) if there]
        np.testing.assert_allclose(space.encode(point), row)


def test_uniform_points_are_uniform_over_the_parents(space: SearchSpace) -> None:
    rows = space.domain.uniform(np.random.default_rng(0), 3000)
    assert np.allclose(np.bincount(rows[:, 0].astype(int)) / 3000, 1 / 3, atol=0.03)
    assert space.active(rows)[:, 3].mean() == pytest.approx(2 / 3 * 2 / 5, abs=0.03)


def test_every_point_of_a_discrete_space_is_listed_once() -> None:
    space = SearchSpace.of(
        {
            "deep": When("n >= 4", Categorical(["p", "q"])),
            "kind": Categorical(["a", "b"]),
            "n": When("kind == 'b'", Int(1, 5)),
        }
    )
    points = all_points(space)
    assert space.size == len(points) == 1 + 3 + 2 * 2
    assert len({tuple(space.decode(row).items()) for row in points}) == len(points)


def test_a_switch_of_branch_takes_the_best_known_values_there(space: SearchSpace) -> None:
    tried = space.encode_many([{"kind": "a", "x": 0.9}, {"kind": "b", "n": 5, "deep": "q"}, {"kind": "a", "x": 0.2}])
    leaders = leading(space, tried, 1)
    np.testing.assert_array_equal(leaders, tried[:2])
    moved = switched(space, space.neighbours(tried[2], 0), tried[2][None], leaders)
    assert [space.decode(row) for row in moved] == [
        {"kind": "b", "n": 5, "deep": "q"},
        {"kind": "c", "n": 5, "deep": "q"},
    ]


def test_no_point_of_a_discrete_branching_space_is_proposed_twice() -> None:
    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            return float(trial.suggest_int("n", 1, 5))
        return 3.0 - trial.suggest_int("m", 0, 3)

    study = optuna.create_study(sampler=UHESampler(seed=0, deterministic=True, n_startup_trials=4))
    study.optimize(objective, n_trials=9)
    later = [tuple(trial.params.items()) for trial in study.trials]
    assert len(set(later)) >= 8  # the first of a branch is drawn parameter by parameter


# Pictures


def test_a_slice_shows_the_branch_that_has_its_parameter() -> None:
    from uhebo.report.chart import Points
    from uhebo.report.model_plots import maps, slices
    from uhebo.report.view import StudyView

    view = StudyView.of(log_of(three_branches, 24))
    pictures = {picture.title: picture for picture in (*slices(view), *maps(view))}
    assert {f"Slice along {name}" for name in view.space.names} < set(pictures)
    assert "where kind ==" in pictures["Slice along x_c"].sentence
    best = view.best_with("x_c")
    assert best is not None
    assert best.params["kind"] == "c"
    marks = [layer for layer in pictures["Slice along x_c"].chart.layers if isinstance(layer, Points)]
    drawn = sum(len(layer.x) for layer in marks if layer.name != "best trial")
    assert drawn == sum("x_c" in trial.params for trial in view.modelled)


# What is said at a point


def test_predictions_need_the_active_parameters_only() -> None:
    study = log_of(three_branches, 20)
    belief = believe(study)
    assert all(map(math.isfinite, belief.predict(study.best_params)))
    everything = {**study.trials[0].params, "x_a": 0.1, "x_b": 0.9, "y_a": 0.1, "y_b": 0.1, "x_c": 0.1, "y_c": 0.1}
    alone = {name: value for name, value in everything.items() if name == "kind" or name.endswith(everything["kind"])}
    assert belief.predict(everything) == belief.predict(alone)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"x_d": 0.5},
            r"there is no parameter 'x_d'; did you mean 'x_c'\? The parameters are kind, x_a, x_b, x_c, y_a, ",
        ),
        ({"x_a": None}, "parameter 'x_a' is missing, expected a number from 0.0 to 1.0"),
        ({"kind": "z"}, "parameter 'kind' is 'z', expected one of 'a', 'b', 'c'"),
    ],
)
def test_predictions_at_what_is_no_point(change: dict[str, Any], message: str) -> None:
    point = {"kind": "a", "x_a": 0.1, "y_a": 0.2, **change}
    with pytest.raises(InvalidInputError, match=message):
        believe(log_of(three_branches, 20)).predict({name: v for name, v in point.items() if v is not None})
