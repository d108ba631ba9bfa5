"""Rows 1 to 26 of the table of faults, seen from the sampler and from `minimize`.

The rows that concern the model or the space alone are also tested where those live. Where Optuna itself refuses
something with a clear error of its own, that error is what a user of the Optuna face gets, and the test says so.
"""

from __future__ import annotations

import logging
import math
import sqlite3
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

import uhebo
from uhebo import Categorical, Float, Int, UHESampler
from uhebo.acquire.functions import AcquisitionName
from uhebo.errors import InvalidInputError, UheboWarning
from uhebo.estimate import ESTIMATORS, Estimator, hmc_estimate
from uhebo.optuna_.trial_log import ATTRIBUTE

METHODS = ("uhe", "map")
both_methods = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(autouse=True)
def short_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """HMC in full takes a third of a second a suggestion, and is tested in full elsewhere."""
    monkeypatch.setitem(ESTIMATORS, "hmc", Estimator.of("hmc", partial(hmc_estimate, burn_in=20, kept=3, thin=2)))


def study_with(
    xs: Sequence[float], ys: Sequence[float], method: str = "map", low: float = 0.0, high: float = 1.0, **options: Any
) -> Study:
    """A study of one parameter, larger is better, with these observations; start-up trials are over."""
    study = optuna.create_study(
        direction="maximize", sampler=UHESampler(method=method, seed=0, n_startup_trials=0, **options)
    )
    distribution = FloatDistribution(low, high)
    for x, y in zip(xs, ys, strict=True):
        study.add_trial(optuna.create_trial(params={"x": x}, distributions={"x": distribution}, value=y))
    return study


def suggest(study: Study, count: int = 3, low: float = 0.0, high: float = 1.0) -> list[float]:
    """Suggestions by the model, one after the other, none of them told."""
    found = [study.ask().suggest_float("x", low, high) for _ in range(count)]
    assert all(type(x) is float and low <= x <= high for x in found)
    return found


def record(study: Study, back: int = 1) -> dict[str, Any]:
    found: dict[str, Any] = study.trials[-back].system_attrs[ATTRIBUTE]
    return found


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [entry.getMessage() for entry in caplog.records if entry.name == "uhebo"]


# Observations


@both_methods
@pytest.mark.parametrize("n_startup_trials", [0, None])
def test_row_01_without_observations_a_seeded_sample_of_the_space(method: str, n_startup_trials: int | None) -> None:
    found = []
    for seed in (0, 0, 1):
        sampler = UHESampler(method=method, seed=seed, n_startup_trials=n_startup_trials)
        study = optuna.create_study(sampler=sampler)
        trial = study.ask({"x": Float(-1, 1), "i": Int(2, 9), "c": Categorical(["a", "b"])})
        assert -1 <= trial.params["x"] <= 1
        assert trial.params["i"] in range(2, 10)
        assert trial.params["c"] in ("a", "b")
        found.append(trial.params)
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("method", list(uhebo.METHODS))
def test_row_02_one_observation(method: str) -> None:
    study = study_with([0.5], [1.0], method)
    assert len(set(suggest(study))) == 3
    surrogate = uhebo.Result(study).surrogate
    assert np.isfinite(surrogate.predict({"x": 0.1})).all()


@both_methods
def test_row_03_constant_values_explore(method: str) -> None:
    study = study_with([0.1, 0.2, 0.3], [7.0] * 3, method)
    found = suggest(study, 4)
    assert max(found) - min(found) > 0.3
    mean, deviation = uhebo.Result(study).surrogate.predict({"x": 0.9})
    assert mean == pytest.approx(7.0)
    assert deviation > 0.0


@pytest.mark.parametrize("method", list(uhebo.METHODS))
def test_row_04_a_nan_fails_its_trial_and_the_study_goes_on(method: str) -> None:
    result = uhebo.minimize(
        lambda x: math.nan if x < 0.3 else x, {"x": (0.0, 1.0)}, 12, seed=0, method=method, n_startup_trials=3
    )
    states = [trial.state for trial in result.study.trials]
    assert len(states) == 12
    assert TrialState.FAIL in states
    assert TrialState.COMPLETE in states
    assert all((t.state == TrialState.FAIL) == (t.params["x"] < 0.3) for t in result.study.trials)
    assert result.best_value >= 0.3


@pytest.mark.parametrize("infinity", [math.inf, -math.inf])
def test_row_05_infinite_values_are_clipped_and_warned_once(infinity: float, caplog: pytest.LogCaptureFixture) -> None:
    study = study_with([0.1, 0.5, 0.9, 0.3], [1.0, 2.0, 3.0, infinity])
    with caplog.at_level(logging.WARNING, logger="uhebo"):
        suggest(study)
    assert len(said(caplog)) == 1
    assert "infinite objective values are taken as the worst or best finite value" in said(caplog)[0]
    # What the model sees is what it would see of the clipped value.
    clipped = study_with([0.1, 0.5, 0.9, 0.3], [1.0, 2.0, 3.0, 3.0 if infinity > 0 else 1.0])
    suggest(clipped)
    assert record(study, 3) == record(clipped, 3)


def test_row_06_without_any_finite_value_suggestions_are_random_and_it_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = study_with([0.1, 0.5], [math.inf, -math.inf])
    with caplog.at_level(logging.WARNING, logger="uhebo"):
        assert len(set(suggest(study, 4))) == 4
    assert len(said(caplog)) == 1
    assert "no trial has a finite value yet: suggestions are random" in said(caplog)[0]
    assert record(study)["role"] == "random"
    assert record(study)["fallback"] == "no data"
    result = uhebo.minimize(lambda x: math.nan * x, {"x": (0.0, 1.0)}, 6, seed=0, n_startup_trials=1)
    assert len({trial.params["x"] for trial in result.study.trials}) == 6


@both_methods
@pytest.mark.parametrize(
    "ys",
    [
        [1e300, 2e300, -1e300, 1.5e300],
        [1e-300, 2e-300, -1e-300, 1.5e-300],
        [1e300, 1e-300, -1e300, 0.0],
        [1.7e308, -1.7e308, 1.0, 2.0],
        [5e-324, 0.0, 1e-323, 0.0],
    ],
    ids=["large", "small", "mixed", "largest", "denormal"],
)
def test_row_07_extreme_values_do_not_overflow(method: str, ys: list[float]) -> None:
    study = study_with([0.1, 0.4, 0.6, 0.9], ys, method)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        suggest(study)
        for y in ys[:2]:
            study.tell(study.ask({"x": FloatDistribution(0, 1)}), y)
        mean, deviation = uhebo.Result(study).surrogate.predict({"x": 0.5})
    assert math.isfinite(mean)
    assert math.isfinite(deviation)


def test_row_08_a_small_signal_on_a_large_offset_keeps_its_ranking() -> None:
    xs = np.linspace(0, 1, 9)
    plain = -((xs - 0.7) ** 2)
    study = study_with(list(xs), list(1e12 + 1e-3 * np.round(plain / 1e-3)), acquisition="log-ei")
    surrogate = uhebo.Result(study).surrogate
    near, far = (surrogate.predict({"x": x})[0] for x in (0.7, 0.1))
    assert near > far
    assert abs(suggest(study, 1)[0] - 0.7) < 0.3


@both_methods
def test_row_09_one_point_five_hundred_times(method: str) -> None:
    study = study_with([0.5] * 500, [1.0] * 500, method)
    assert all(x != 0.5 for x in suggest(study, 1))


def test_row_10_one_point_with_different_values_has_noise() -> None:
    """By `map`. The consistent loss labels all points near a replicated one alike, and so sees no noise there."""
    values = list(np.random.default_rng(0).normal(0, 1, 22))
    study = study_with([0.5] * 20 + [0.1, 0.9], values, "map")
    suggest(study, 1)
    assert math.exp(record(study)["theta"][-1]) > 0.1
    assert uhebo.Result(study).surrogate.theta.s2 > 0.1
    suggest(study_with([0.5] * 20 + [0.1, 0.9], values, "uhe"))


@both_methods
def test_row_11_clusters(method: str) -> None:
    rng = np.random.default_rng(0)
    tight = 0.5 + 1e-12 * rng.random(12)
    suggest(study_with(list(tight), list(rng.random(12)), method))
    xs = [*np.linspace(0, 1, 10), *(0.3 + 2e-4 * rng.random(20)), *[0.7] * 10]
    suggest(study_with(xs, [math.sin(6 * x) for x in xs], method))


@both_methods
def test_row_12_an_outlier_does_not_move_the_best(method: str) -> None:
    xs = list(np.linspace(0, 1, 12))
    ys = [-((x - 0.6) ** 2) for x in xs]
    ys[1] = -1e6
    study = study_with(xs, ys, method)
    suggest(study)
    assert study.best_params["x"] == pytest.approx(7 / 11)
    assert study.best_value == max(ys)


@pytest.mark.parametrize("value", [None, "text", "1.5", (1.0, 2.0), [], {}], ids=repr)
def test_row_13_what_is_no_number_is_refused_and_fails_its_trial(value: Any) -> None:
    """`minimize` raises our error, which names the trial, or goes on if told to catch it.

    Where Optuna is told directly, the trial fails with Optuna's own warning, and the study goes on.
    """

    def objective(x: float) -> Any:
        return value if x < 0.5 else x

    options: dict[str, Any] = {"seed": 0, "n_startup_trials": 4}
    with pytest.raises(InvalidInputError, match=r"fn returned .* in trial \d+, expected a number"):
        uhebo.minimize(objective, {"x": (0.0, 1.0)}, 10, **options)
    result = uhebo.minimize(objective, {"x": (0.0, 1.0)}, 10, catch=InvalidInputError, **options)
    assert len(result.study.trials) == 10
    assert all((t.state == TrialState.FAIL) == (t.params["x"] < 0.5) for t in result.study.trials)
    if value == "1.5":
        return  # Optuna takes it for a number
    study = study_with([0.2, 0.8], [1.0, 2.0])
    trial = study.ask({"x": FloatDistribution(0, 1)})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study.tell(trial, value)
    assert len(caught) == 1
    assert study.trials[-1].state == TrialState.FAIL
    suggest(study)


def test_row_14_told_twice_or_never_asked() -> None:
    """Optuna's own ValueError names the trial; the first value stays."""
    study = study_with([0.2], [1.0])
    trial = study.ask()
    trial.suggest_float("x", 0, 1)
    study.tell(trial, 3.0)
    with pytest.raises(ValueError, match="Cannot tell a COMPLETE trial"):
        study.tell(trial, 4.0)
    assert study.trials[-1].value == 3.0
    with pytest.raises(ValueError, match="trial with number 99 "):
        study.tell(99, 1.0)
    suggest(study)


def test_row_15_known_points_inside_the_space_are_data() -> None:
    study = optuna.create_study(sampler=UHESampler(method="map", seed=0, n_startup_trials=2))
    study.enqueue_trial({"x": 0.25})
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) - 0.25) ** 2, n_trials=1)
    distribution = FloatDistribution(0, 1)
    study.add_trial(optuna.create_trial(params={"x": 0.5}, distributions={"x": distribution}, value=0.0625))
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) - 0.25) ** 2, n_trials=1)
    assert study.trials[0].params == {"x": 0.25}
    # Two known points are as good as two start-up trials.
    assert study.trials[2].system_attrs[ATTRIBUTE]["role"] == "model"


def test_row_15_known_points_outside_the_space_are_rejected_by_name() -> None:
    """`create_trial` is Optuna's, and so is its error; an enqueued point is warned about by Optuna and left out by us.

    `Surrogate.predict` is ours, and names the parameter.
    """
    with pytest.raises(ValueError, match=r"parameter 'x'|'x'"):
        optuna.create_trial(params={"x": 7.0}, distributions={"x": FloatDistribution(0, 1)}, value=1.0)
    study = study_with([0.2, 0.8], [1.0, 2.0])
    study.enqueue_trial({"x": 7.0})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    assert any("x" in str(warning.message) and "out of" in str(warning.message) for warning in caught)
    suggest(study)
    with pytest.raises(InvalidInputError, match=r"parameter 'x' is 7\.0"):
        uhebo.Result(study).surrogate.predict({"x": 7.0})


# Spaces


@pytest.mark.parametrize(
    "space", [{"p": (2, 1)}, {"p": (0.0, math.nan)}, {"p": (0.0, math.inf)}, {"p": FloatDistribution(0, math.inf)}]
)
def test_row_16_an_impossible_space_is_refused_before_the_first_trial(space: dict[str, Any]) -> None:
    def never(p: float) -> float:
        raise AssertionError(p)

    with pytest.raises(InvalidInputError, match="parameter 'p': "):
        uhebo.minimize(never, space, 3)
    with pytest.raises(InvalidInputError, match="log=True, expected low > 0"):
        uhebo.minimize(lambda p: p, {"p": Float(0, 1, log=True)}, 3)


def test_row_16_the_sampler_refuses_what_optuna_lets_through() -> None:
    study = optuna.create_study(sampler=UHESampler(seed=0))
    with pytest.raises(InvalidInputError, match=r"parameter 'x': high is inf"):
        study.optimize(lambda trial: trial.suggest_float("x", 0, math.inf), n_trials=1)


@pytest.mark.parametrize("method", list(uhebo.METHODS))
def test_row_17_what_cannot_vary_is_not_modelled(method: str) -> None:
    space = {"x": (0.0, 1.0), "k": (3, 3), "f": Float(2, 2), "c": ["only"]}
    result = uhebo.minimize(lambda x, k, f, c: x + k + f + len(c), space, 8, seed=0, method=method, n_startup_trials=5)
    for trial in result.study.trials:
        assert (trial.params["k"], trial.params["f"], trial.params["c"]) == (3, 2.0, "only")
    thetas = [len(t.system_attrs[ATTRIBUTE].get("theta", [0] * 3)) for t in result.study.trials]
    assert thetas == [3] * 8  # one lengthscale, v and s2
    constant = uhebo.minimize(lambda k: k, {"k": (3, 3)}, 3, seed=0, method=method)
    assert [trial.params for trial in constant.study.trials] == [{"k": 3}] * 3


@both_methods
@pytest.mark.parametrize(
    "parameter",
    [Float(0, 1e-300), Float(-1e300, 1e300), Float(1e-300, 1e300, log=True), Float(1.0, math.nextafter(1, 2))],
)
def test_row_18_extreme_widths_stay_inside(method: str, parameter: FloatDistribution) -> None:
    result = uhebo.maximize(
        lambda x: -abs(math.atan(x)), {"x": parameter}, 8, seed=0, method=method, n_startup_trials=3
    )
    assert all(parameter.low <= trial.params["x"] <= parameter.high for trial in result.study.trials)


def test_row_19_a_step_that_does_not_divide_is_adjusted_and_warned() -> None:
    with pytest.warns(UheboWarning, match=r"high is now 0\.9"):
        parameter = Float(0, 1, step=0.3)
    result = uhebo.maximize(lambda x: x, {"x": parameter}, 12, seed=0, method="map", n_startup_trials=3)
    assert {trial.params["x"] for trial in result.study.trials} <= {0.0, 0.3, 0.6, 0.9}
    assert result.best_value == 0.9


def test_row_20_integers_that_doubles_would_round_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"parameter 'n': .*beyond 2\*\*53"):
        uhebo.minimize(lambda n: n, {"n": (0, 2**60)}, 2)
    study = optuna.create_study(sampler=UHESampler(seed=0))
    with pytest.raises(InvalidInputError, match=r"parameter 'n': .*beyond 2\*\*53"):
        study.optimize(lambda trial: trial.suggest_int("n", 0, 2**60), n_trials=1)
    low = 2**53 - 9
    result = uhebo.minimize(lambda n: n - low, {"n": (low, 2**53)}, 8, seed=0, n_startup_trials=3)
    for trial in result.study.trials:
        assert type(trial.params["n"]) is int
        assert trial.value == trial.params["n"] - low <= 9


@pytest.mark.parametrize("method", list(uhebo.METHODS))
def test_row_21_an_exhausted_space_repeats_and_does_not_hang(method: str) -> None:
    """The other methods and the acquisitions are in test_conformance.py."""
    result = uhebo.minimize(
        lambda c, d: len(c) + d, {"c": ["a", "bb", "ccc"], "d": [1, 2]}, 9, seed=0, method=method, deterministic=True
    )
    points = [tuple(trial.params.values()) for trial in result.study.trials]
    assert len(set(points[:6])) == 6
    assert set(points[6:]) <= set(points[:6])


@both_methods
def test_row_22_an_empty_space_is_a_valid_empty_trial(method: str) -> None:
    with pytest.raises(InvalidInputError, match="the space has no parameter"):
        uhebo.minimize(lambda: 1.0, {}, 3, seed=0, method=method)
    result = uhebo.minimize(lambda trial: 1.0 + 0 * trial.number, {}, 3, seed=0, method=method)
    assert [trial.params for trial in result.study.trials] == [{}] * 3
    assert result.best_params == {}
    assert result.best_value == 1.0


@both_methods
@pytest.mark.parametrize("acquisition", ["ucb", "log-ei", "thompson"])
def test_row_23_a_thousand_categories(method: str, acquisition: AcquisitionName) -> None:
    choices = [f"choice {i}" for i in range(1000)]
    result = uhebo.minimize(
        lambda c: float(c.split()[1]),
        {"c": choices},
        6,
        seed=0,
        method=method,
        n_startup_trials=3,
        acquisition=acquisition,
    )
    assert all(trial.params["c"] in choices for trial in result.study.trials)


@both_methods
def test_row_23_two_hundred_dimensions(method: str) -> None:
    space = {f"x{i}": (0.0, 1.0) for i in range(200)}
    result = uhebo.minimize(lambda **x: sum(x.values()), space, 6, seed=0, method=method, n_startup_trials=4)
    assert all(len(trial.params) == 200 for trial in result.study.trials)
    assert result.study.trials[-1].system_attrs[ATTRIBUTE]["role"] in ("model", "random")


def test_row_24_equal_choices_are_refused_and_others_kept_apart() -> None:
    for choices in ([1, True], [1, 1.0], [0, False, None]):
        with pytest.raises(InvalidInputError, match="are equal in Python"):
            uhebo.minimize(lambda c: float(c or 0), {"c": choices}, 1)
    study = optuna.create_study(sampler=UHESampler(seed=0))
    with pytest.raises(InvalidInputError, match="are equal in Python"):
        study.optimize(lambda trial: float(trial.suggest_categorical("c", [1, True]) or 0), n_trials=1)
    seen: list[Any] = []
    distinct = [1, None, "1", "None", 2.5, False]

    def look(c: Any) -> float:
        seen.append(c)
        return len(seen)

    uhebo.minimize(look, {"c": distinct}, 8, seed=0, deterministic=True, n_startup_trials=2)
    assert {(type(c), c) for c in seen} == {(type(c), c) for c in distinct}


@pytest.mark.parametrize("method", list(uhebo.METHODS))
def test_row_25_a_range_that_changes_reuses_the_rows_that_fit(method: str) -> None:
    study = optuna.create_study(sampler=UHESampler(method=method, seed=0, n_startup_trials=4))
    ranges = [(0.0, 10.0)] * 6 + [(5.0, 10.0)] * 4 + [(5.0, 20.0)] * 4

    def objective(trial: optuna.Trial) -> float:
        low, high = ranges[trial.number]
        x = trial.suggest_float("x", low, high)
        assert low <= x <= high
        return (x - 7) ** 2 + (trial.suggest_float("extra", 0, 1) if trial.number % 3 else 0.0)

    study.optimize(objective, n_trials=len(ranges))
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)


def test_row_25_rows_of_an_earlier_range_count_where_they_fit() -> None:
    study = study_with([0.1, 0.4, 0.9], [1.0, 2.0, 3.0])
    study.add_trial(
        optuna.create_trial(params={"x": 0.45}, distributions={"x": FloatDistribution(0.0, 0.5)}, value=2.5)
    )
    surrogate = uhebo.Result(study).surrogate
    assert surrogate.posterior.data.y.shape == (3,)  # 0.9 is outside now
    suggest(study, high=0.5)


NAMES = ["🦜 rate", "معدل التعلم", "x'; DROP TABLE trials;--", 'quote " and \\', "%s %(x)s", "a\nb"]


def test_row_26_any_text_survives_sqlite(tmp_path: Path) -> None:
    """SQLite; PostgreSQL is tested with the other matters of storage."""
    path = tmp_path / "study.db"
    space: dict[str, Any] = dict.fromkeys(NAMES, (0.0, 1.0)) | {"choice 🙂": ["'; DROP TABLE studies;--", "عربي", "b"]}
    options: dict[str, Any] = {"storage": f"sqlite:///{path}", "study_name": "'; DROP TABLE trial_params;-- 🦜"}

    def value(**params: Any) -> float:
        return float(sum(params[name] for name in NAMES))

    uhebo.minimize(value, space, 6, seed=0, n_startup_trials=4, **options)
    result = uhebo.minimize(value, space, 2, seed=0, n_startup_trials=4, **options)
    trials: list[FrozenTrial] = optuna.load_study(**options).trials
    assert len(trials) == 8
    assert all(set(trial.params) == set(space) for trial in trials)
    assert trials[-1].system_attrs[ATTRIBUTE]["role"] in ("model", "random")
    assert set(result.best_params) == set(space)
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    assert {"studies", "trials", "trial_params", "trial_values"} <= tables
