"""Several objectives: what is proposed, from what, and what is refused."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

import uhebo
from uhebo import METHODS, Float, Result, UHESampler, diagnose
from uhebo.diagnosis.tradeoffs import in_words
from uhebo.errors import InvalidInputError
from uhebo.numerics.front import hypervolume
from uhebo.optuna_.believe import believe, model_of
from uhebo.optuna_.endings import FAILURE
from uhebo.optuna_.fronts import middle_of
from uhebo.pareto_result import ParetoResult

REFERENCE = np.array([-1.0, -1.0])


def fonseca(trial: optuna.Trial) -> tuple[float, float]:
    """Fonseca & Fleming (1995) in three dimensions; the front is a segment of the diagonal."""
    x = np.array([trial.suggest_float(f"x{i}", -4.0, 4.0) for i in range(3)])
    return tuple(float(1.0 - np.exp(-((x - side / np.sqrt(3.0)) ** 2).sum())) for side in (1.0, -1.0))  # type: ignore[return-value]


def searched(sampler: optuna.samplers.BaseSampler, n_trials: int = 30, **study: Any) -> optuna.Study:
    made = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler, **study)
    made.optimize(fonseca, n_trials=n_trials)
    return made


def volume(study: optuna.Study) -> float:
    return hypervolume(-np.array([trial.values for trial in study.get_trials()]), REFERENCE)


def test_the_front_is_found() -> None:
    """Mean hypervolume of three seeds; random points reach about 0.03, and the whole front has 0.34."""
    found = [volume(searched(UHESampler(seed=seed, n_trials=30))) for seed in range(3)]
    assert np.mean(found) > 0.12, found


def test_maximised_objectives_are_the_same_problem() -> None:
    def turned(trial: optuna.Trial) -> tuple[float, float]:
        first, second = fonseca(trial)
        return -first, second

    plain = searched(UHESampler(seed=1, n_startup_trials=4), 8)
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=UHESampler(seed=1, n_startup_trials=4))
    study.optimize(turned, n_trials=8)
    for one, other in zip(plain.trials, study.trials, strict=True):
        assert one.params == pytest.approx(other.params, abs=1e-6)


def test_a_study_goes_on_as_if_it_had_not_stopped(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path / 'two.db'}"
    searched(UHESampler(seed=3, n_trials=12, n_startup_trials=5), 7, storage=url, study_name="two")
    study = optuna.load_study(
        study_name="two", storage=url, sampler=UHESampler(seed=3, n_trials=12, n_startup_trials=5)
    )
    study.optimize(fonseca, n_trials=5)
    whole = searched(UHESampler(seed=3, n_trials=12, n_startup_trials=5), 12)
    assert [t.params for t in study.trials] == [t.params for t in whole.trials]


def test_points_under_way_are_not_proposed_again() -> None:
    study = searched(UHESampler(seed=0, n_startup_trials=6), 10)
    space = study.trials[0].distributions
    batch = [study.ask(space).params for _ in range(5)]
    rows = np.array([list(point.values()) for point in batch])
    apart = np.abs(rows[:, None] - rows[None]).max(axis=2)[np.triu_indices(5, 1)]
    assert apart.min() > 1e-2


def test_each_objective_has_a_model_of_its_own() -> None:
    study = searched(UHESampler(seed=0, n_startup_trials=8), 16)
    belief = believe(study)
    assert [found.outcome.role for found in belief.outcomes] == ["objective", "objective"]
    at = study.trials[-1]
    rows = belief.space.encode_many([at.params])
    for found, told in zip(belief.objectives, at.values, strict=True):
        assert found.predict(rows)[0][0] == pytest.approx(told, abs=0.1)
    assert len(at.system_attrs["uhebo:step"]["objective_theta"]) == 1


def test_constraints_keep_the_search_feasible() -> None:
    def objective(trial: optuna.Trial) -> tuple[float, float]:
        trial.set_user_attr("outside", trial.suggest_float("x0", -4.0, 4.0) + 0.2)
        return fonseca(trial)

    sampler = UHESampler(seed=2, n_startup_trials=8, constraints_func=lambda trial: (trial.user_attrs["outside"],))
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    study.optimize(objective, n_trials=25)
    assert sum(trial.user_attrs["outside"] <= 0.0 for trial in study.trials[8:]) >= 11
    front = [trial for trial in study.best_trials if trial.user_attrs["outside"] <= 0.0]
    assert min(trial.values[0] for trial in front) < 0.8


def test_a_given_reference_point_is_in_the_users_units() -> None:
    """Only what is better than the reference in both objectives is worth anything."""
    sampler = UHESampler(seed=2, n_startup_trials=8, reference_point=(0.5, 1.0))
    study = searched(sampler, 30)
    firsts = [trial.values[0] for trial in study.trials[20:]]
    assert np.median(firsts) < 0.6
    step = model_of(study, 0).step
    assert step.settings.reference_point == (0.5, 1.0)


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_each_objective_is_diagnosed_by_name() -> None:
    study = searched(UHESampler(seed=0), 20)
    study.set_metric_names(["left", "right"])
    whole = believe(study)
    for index, name in enumerate(("left", "right")):
        found = diagnose(study, objective=name, hmc=False)
        assert found.belief is not None
        np.testing.assert_array_equal(found.belief.theta.to_log(), whole.objectives[index].fit.theta.to_log())
        point = study.trials[15]
        assert whole.only(name).predict(point.params)[0] == pytest.approx(point.values[index], abs=0.1)
    with pytest.raises(InvalidInputError, match=r"name one objective: 'left', 'right'"):
        diagnose(study)
    with pytest.raises(InvalidInputError, match=r"no objective 'middle'"):
        diagnose(study, objective="middle")
    with pytest.raises(InvalidInputError, match=r"only\(name\)"):
        whole.predict(study.trials[0].params)


def test_a_result_names_the_front() -> None:
    result = Result(searched(UHESampler(seed=0, n_startup_trials=4), 6))
    assert "2 objectives" in repr(result)
    with pytest.raises(InvalidInputError, match=r"uhebo.load\(study\).pareto is its front"):
        _ = result.best_value


def yield_and_cost(x: float, y: float) -> dict[str, float]:
    return {"cost": (x - 0.2) ** 2 + y, "yield": 10.0 - 8.0 * (x - 0.8) ** 2 - y}


SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
DIRECTIONS: dict[str, Any] = {"yield": "maximize", "cost": "minimize"}


@pytest.fixture(scope="module")
def trade_off() -> ParetoResult:
    return uhebo.optimize(yield_and_cost, SPACE, 30, directions=DIRECTIONS, seed=0)


def test_optimize_finds_the_front_by_name(trade_off: ParetoResult) -> None:
    """On the front y = 0 and x lies between the two optima."""
    assert trade_off.objectives == {"yield": "maximize", "cost": "minimize"}
    front = trade_off.pareto
    assert list(front.columns[:3]) == ["number", "yield", "cost"]
    assert len(front) >= 8
    assert (front["y"] < 0.05).mean() > 0.8
    assert front["x"].between(0.1, 0.9).mean() > 0.8
    assert np.all(np.diff(trade_off.hypervolume) >= 0.0)
    assert "yield" in repr(trade_off)


def test_a_point_of_the_front_is_picked(trade_off: ParetoResult) -> None:
    rich = trade_off.pick({"yield": 1.0})
    cheap = trade_off.pick({"cost": 1.0})
    between = trade_off.pick()
    assert rich.values["yield"] > between.values["yield"] > cheap.values["yield"]
    assert rich.values["cost"] > between.values["cost"] > cheap.values["cost"]
    bounded = trade_off.pick({"yield": 1.0}, within={"cost": (None, 0.1)})
    assert bounded.values["cost"] <= 0.1
    mean, low, high = bounded.predicted["cost"]
    assert low <= mean <= high
    assert mean == pytest.approx(bounded.values["cost"], abs=0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.pick({"yeld": 1.0}), "no objective 'yeld'; the objectives are yield, cost"),
        (lambda r: r.pick({"yield": 0.0}), "expected one above 0"),
        (lambda r: r.pick({"yield": -1.0}), "weight of yield"),
        (lambda r: r.pick(within={"cost": 0.1}), r"expected \(smallest, largest\)"),
        (lambda r: r.pick(within={"cost": (None, -5.0)}), "no point of the front is within .* cost from"),
    ],
)
def test_a_bad_pick(trade_off: ParetoResult, call: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        call(trade_off)


@pytest.mark.parametrize(
    ("directions", "message"),
    [
        (["minimize"], "expected 2 to 4; minimize and maximize take one"),
        (["minimize"] * 5, "expected 2 to 4"),
        ("minimize", "expected {'yield'"),
        ({"a": "min", "b": "max"}, "expected {'yield'"),
    ],
)
def test_bad_directions(directions: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        uhebo.optimize(yield_and_cost, SPACE, directions=directions)


@pytest.mark.parametrize("returned", [1.0, (1.0,), (1.0, 2.0, 3.0), {"yield": 1.0}, {"yield": 1.0, "price": 2.0}, "ab"])
def test_what_the_function_returns_is_checked(returned: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"in trial 0, (expected|which (lacks|has))"):
        uhebo.optimize(lambda **_: returned, SPACE, 3, directions=DIRECTIONS)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ({"yield": 1.0, "price": 2.0}, "which lacks 'cost' and has 'price', which is no objective; expected a number"),
        (
            {"yield": None, "cost": 2.0},
            "fn returned None for 'yield' in trial 0, expected a number; float(",
        ),
        ((1.0, "2.0"), "fn returned '2.0' for 'cost' in trial 0, expected a number; return float(…) of it"),
    ],
)
def test_what_is_wrong_is_named(returned: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        uhebo.optimize(lambda **_: returned, SPACE, 3, directions=DIRECTIONS)


def test_names_for_a_list_of_directions_are_to_be_given() -> None:
    with pytest.raises(InvalidInputError, match=r"give the names to directions \({'yield', 'cost': …}"):
        uhebo.optimize(lambda **_: {"yield": 1.0, "cost": 1.0}, SPACE, 3, directions=["maximize", "minimize"])


def test_an_error_late_in_a_search_loses_nothing(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    calls = iter(range(99))

    def fails_late(**params: float) -> Any:
        return {"yield": 1.0} if next(calls) % 5 == 4 else yield_and_cost(**params)

    with pytest.raises(InvalidInputError, match="in trial 4, which lacks 'cost'") as caught:
        uhebo.optimize(fails_late, SPACE, 9, directions=DIRECTIONS, seed=0)
    kept = caught.value.result  # type: ignore[attr-defined]
    assert len(kept.history) == 5
    assert len(kept.hypervolume) == 4
    assert "ends the search after 4 finished trials" in caplog.text
    place = tmp_path / "two.db"
    with pytest.raises(InvalidInputError, match="in trial 4"):
        uhebo.optimize(fails_late, SPACE, 9, directions=DIRECTIONS, seed=0, storage=place)
    trial = uhebo.load(place).study.trials[4]
    assert "lacks 'cost'" in trial.user_attrs[FAILURE]


def test_a_result_of_a_study_at_hand() -> None:
    study = searched(UHESampler(seed=0, n_startup_trials=4), 6)
    assert isinstance(uhebo.load(study), ParetoResult)
    result = uhebo.load(study, study.study_name)
    assert isinstance(result, ParetoResult)
    assert result.pick().number in [trial.number for trial in study.best_trials]
    with pytest.raises(InvalidInputError, match="leave study_name out"):
        uhebo.load(study, "another")


def test_optunas_own_words_for_directions() -> None:
    towards = {"yield": optuna.study.StudyDirection.MAXIMIZE, "cost": optuna.study.StudyDirection.MINIMIZE}
    result = uhebo.optimize(yield_and_cost, SPACE, 2, directions=towards, seed=0)  # type: ignore[arg-type]
    assert result.objectives == DIRECTIONS


def test_a_constraint_is_no_objective() -> None:
    with pytest.raises(InvalidInputError, match="constraint 'cost' of trial 0 has the name of an objective"):
        uhebo.optimize(yield_and_cost, SPACE, 3, directions=DIRECTIONS, constraints=lambda **_: {"cost": -1.0}, seed=0)


def test_the_reference_point_is_kept_and_one_out_of_reach_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    call: dict[str, Any] = {"directions": DIRECTIONS, "seed": 0, "storage": tmp_path / "two.db"}
    uhebo.optimize(yield_and_cost, SPACE, 3, reference_point={"yield": 9.0, "cost": -9.0}, **call)
    caplog.clear()
    again = uhebo.optimize(yield_and_cost, SPACE, 9, **call)
    assert again.reference_point == {"yield": 9.0, "cost": -9.0}
    assert "goes on with the reference point it had, 9, -9" in caplog.text
    assert caplog.text.count("no trial so far is better than the reference point (9, -9) in every objective") == 1
    assert "the hypervolume is 0" in " ".join(in_words(again.study))


def test_infinite_values_are_none_to_choose_by() -> None:
    study = optuna.create_study(directions=["maximize", "minimize"])
    for x in (0.0, 0.3, 0.6, 1.0):
        values = [float("inf") if x == 1.0 else x, x**2]
        study.add_trial(optuna.trial.create_trial(params={"x": x}, distributions={"x": Float(0, 1)}, values=values))
    result = uhebo.load(study)
    assert isinstance(result, ParetoResult)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert result.pick({"value_0": 1.0}).number == 2
        assert middle_of(study, result.front).number in (0, 1, 2)


def test_a_stored_study_goes_on_with_the_same_directions_only(tmp_path: Any) -> None:
    place: dict[str, Any] = {"storage": str(tmp_path / "two.db"), "study_name": "two", "seed": 0}
    uhebo.optimize(yield_and_cost, SPACE, 3, directions=DIRECTIONS, **place)
    result = uhebo.optimize(yield_and_cost, SPACE, 2, directions=DIRECTIONS, **place)
    assert len(result.study.trials) == 5
    with pytest.raises(InvalidInputError, match=r"was made with the objectives .*'yield': 'maximize'"):
        uhebo.optimize(yield_and_cost, SPACE, 2, directions={"yield": "minimize", "cost": "minimize"}, **place)


def test_both_models_are_diagnosed(trade_off: ParetoResult) -> None:
    found = trade_off.diagnose()
    assert list(found) == ["yield", "cost"]
    assert all(diagnosis.verdict in ("trust", "caution", "distrust") for diagnosis in found.values())


@pytest.mark.parametrize("method", sorted(METHODS))
def test_methods_for_one_objective_say_so(method: str) -> None:
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=UHESampler(method=method, seed=0))
    if METHODS[method].several:
        study.optimize(fonseca, n_trials=2)
        return
    with pytest.raises(InvalidInputError, match=r"optimises one objective.*method='auto'"):
        study.optimize(fonseca, n_trials=2)


def test_five_objectives_are_refused_with_a_way_out() -> None:
    study = optuna.create_study(directions=["minimize"] * 5, sampler=UHESampler())
    with pytest.raises(InvalidInputError, match=r"up to 4 objectives and this study has 5; .*NSGAIIISampler"):
        study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})


@pytest.mark.parametrize("given", [(1.0,), (1.0, 2.0, 3.0), (1.0, float("nan")), "ab", 3.0])
def test_bad_reference_points(given: Any) -> None:
    def ask() -> None:
        study = optuna.create_study(directions=["minimize"] * 2, sampler=UHESampler(reference_point=given))
        study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})

    with pytest.raises(InvalidInputError, match="reference_point"):
        ask()


def test_failed_and_infinite_values_lose_nothing() -> None:
    def objective(trial: optuna.Trial) -> tuple[float, float]:
        first, second = fonseca(trial)
        if trial.number in (2, 9):
            return float("nan"), second
        return (float("inf") if trial.number == 5 else first), second

    study = optuna.create_study(directions=["minimize", "minimize"], sampler=UHESampler(seed=0, n_startup_trials=6))
    study.optimize(objective, n_trials=14)
    assert [trial.number for trial in study.trials if not trial.values] == [2, 9]
    assert len(model_of(study, 1).history.finished) == 12


@pytest.mark.parametrize("objectives", [3, 4])
def test_three_and_four_objectives(objectives: int) -> None:
    def dtlz2(trial: optuna.Trial) -> list[float]:
        x = np.array([trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(objectives)])
        values = np.full(objectives, 1.0 + (x[-1] - 0.5) ** 2)
        for i in range(objectives):
            values[i] *= np.prod(np.cos(0.5 * np.pi * x[: objectives - 1 - i]))
            values[i] *= np.sin(0.5 * np.pi * x[objectives - 1 - i]) if i else 1.0
        return [float(value) for value in values]

    def volume_by(sampler: optuna.samplers.BaseSampler) -> float:
        study = optuna.create_study(directions=["minimize"] * objectives, sampler=sampler)
        study.optimize(dtlz2, n_trials=18)
        return hypervolume(-np.array([trial.values for trial in study.trials]), np.full(objectives, -1.3))

    by_chance = [volume_by(optuna.samplers.RandomSampler(seed=seed)) for seed in range(10)]
    assert volume_by(UHESampler(seed=0, n_startup_trials=6)) > np.mean(by_chance)
