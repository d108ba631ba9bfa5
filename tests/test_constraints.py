"""Outcome constraints: the chance to keep them against oracles, every method under them, and bad input."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState, create_trial
from scipy.stats import norm

import uhebo
from tests.conftest import require
from uhebo import METHODS, Float, UHESampler
from uhebo.acquire.functions import ACQUISITIONS, log_ei, surface
from uhebo.acquire.limits import at_least, feasibility_surface, log_chance, sampled_within, weights
from uhebo.belief.history import within_finite
from uhebo.errors import InvalidInputError
from uhebo.gp import Data, Domain, Posterior, Theta
from uhebo.methods import Method, Proposal, Step
from uhebo.optuna_ import constraints as stored
from uhebo.optuna_.believe import believe, model_of
from uhebo.optuna_.trial_log import ATTRIBUTE, ATTRIBUTE_LIMIT

SPACE: dict[str, BaseDistribution] = {"x": Float(0, 3), "y": Float(0, 3)}
SURFACES = [name for name in ACQUISITIONS if name != "thompson"]


def hyperbola(trial: optuna.Trial) -> float:
    """min x + y where x y >= 1: 2, at (1, 1)."""
    x, y = trial.suggest_float("x", 0, 3), trial.suggest_float("y", 0, 3)
    trial.set_constraint("product", 1 - x * y)
    return x + y


def searched(objective: Callable[[optuna.Trial], float], trials: int, seed: int = 0, **options: Any) -> Study:
    study = optuna.create_study(sampler=UHESampler(seed=seed, n_trials=trials, **options))
    study.optimize(objective, n_trials=trials)
    return study


MIXED = Domain((0, 3, 0))


def posterior(seed: int, domain: Domain = MIXED, n: int = 12) -> Posterior:
    rng = np.random.default_rng(seed)
    X = domain.uniform(rng, n)
    y = np.sin(5 * X[:, 0] + seed) + np.cos(4 * X[:, -1]) + 0.1 * rng.standard_normal(n)
    return Posterior.of(Data.of(X, y, domain), Theta.of(rng.uniform(0.3, 0.8, domain.dimension), 1.1, 1e-3))


LIMITS = (at_least((posterior(1),), 0.2), at_least((posterior(2), posterior(3)), -0.4))


# The chance


def test_the_chance_is_that_of_independent_draws() -> None:
    X = Domain((0, 3, 0)).uniform(np.random.default_rng(0), 8)
    rng = np.random.default_rng(1)
    kept = np.ones((400_000, len(X)), dtype=bool)
    for limit in LIMITS:
        which = rng.integers(len(limit.posteriors), size=len(kept))
        moments = [p.predict(X) for p in limit.posteriors]
        means, deviations = np.array([m for m, _ in moments]), np.sqrt([v for _, v in moments])
        kept &= means[which] + deviations[which] * rng.standard_normal(kept.shape) > limit.threshold
    np.testing.assert_allclose(np.exp(log_chance(LIMITS, X)), kept.mean(axis=0), atol=3e-3)


def test_expected_improvement_within_limits_agrees_with_botorch() -> None:
    torch = require("torch", "pip install torch==2.13.0")
    analytic = require("botorch.acquisition.analytic", "pip install 'uhebo[botorch]'")
    models = require("botorch.models.model", "pip install 'uhebo[botorch]'")
    domain = Domain.cube(2)
    outcomes = [posterior(seed, domain) for seed in (4, 5, 6)]

    class Known(models.Model):  # type: ignore[misc, name-defined]
        num_outputs, batch_shape = 3, torch.Size([])

        def posterior(self, X: Any, *_: Any, **__: Any) -> Any:
            moments = [outcome.predict(X.reshape(-1, 2).numpy()) for outcome in outcomes]

            class Moments:
                mean = torch.tensor(np.array([m for m, _ in moments]).T).unsqueeze(-2)
                variance = torch.tensor(np.array([v for _, v in moments]).T).unsqueeze(-2)

            return Moments

    X = domain.uniform(np.random.default_rng(7), 40)
    bounds = {1: (0.3, None), 2: (-0.5, None)}
    expected = analytic.LogConstrainedExpectedImprovement(Known(), 0.8, 0, bounds)(torch.tensor(X).unsqueeze(-2))
    limits = tuple(at_least((outcomes[index],), low) for index, (low, _) in bounds.items())
    ours = surface("log-ei", outcomes[:1], beta=1.0, best=0.8, weights=weights(limits))(X)
    np.testing.assert_allclose(ours, expected.numpy(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", [*SURFACES, "feasibility"])
def test_gradients_with_limits(name: str) -> None:
    domain = Domain((0, 3, 0))
    objective = [posterior(0)]
    target = (
        feasibility_surface(objective, LIMITS)
        if name == "feasibility"
        else surface(name, objective, beta=1.96, best=1.0, weights=weights(LIMITS))
    )
    X = domain.uniform(np.random.default_rng(9), 25)
    value, gradient = target.with_gradient(X)
    np.testing.assert_allclose(value, target(X), rtol=1e-10)
    for column in domain.numeric:
        step = 1e-5 * np.eye(3)[column]
        difference = (target(X + step) - target(X - step)) / 2e-5
        np.testing.assert_allclose(gradient[:, column], difference, rtol=1e-4, atol=1e-4)


def test_the_chance_is_finite_and_ordered_where_it_is_next_to_nothing() -> None:
    near, far = (at_least((posterior(1),), threshold) for threshold in (60.0, 1e4))
    X = Domain((0, 3, 0)).uniform(np.random.default_rng(3), 20)
    for limit in (near, far):
        value, gradient = limit.surface.with_gradient(X)
        assert np.isfinite(value).all()
        assert np.isfinite(gradient).all()
        mean, variance = limit.posteriors[0].predict(X)
        np.testing.assert_allclose(value, norm.logsf(limit.threshold, mean, np.sqrt(variance)), rtol=1e-9)
    assert (far.surface(X) < near.surface(X)).all()


def test_a_draw_prefers_what_keeps_the_limits_in_it() -> None:
    domain = Domain.cube(1)
    X = np.linspace(0, 1, 50)[:, None]
    known = Posterior.of(Data.of(X, np.where(X[:, 0] > 0.5, 1.0, -1.0)), Theta.of([0.05], 1.0, 1e-6))
    values = sampled_within(np.arange(50.0), (at_least((known,), 0.0),), X, np.random.default_rng(0))
    assert values[:24].max() < values[26:].min()
    assert domain.dimension == 1
    missed = sampled_within(np.zeros(50), (at_least((known,), 50.0),), X, np.random.default_rng(0))
    assert X[int(np.argmax(missed)), 0] > 0.5  # none keeps it: the least missed


def test_the_threshold_goes_through_the_units() -> None:
    def objective(trial: optuna.Trial) -> float:
        value = hyperbola(trial)
        trial.set_constraint("steep", math.exp(4 * trial.params["x"]) - 50)
        return value

    study = searched(objective, 12)
    belief = believe(study)
    assert list(belief.constraints) == ["steep", "product"]
    steep = belief.constraints["steep"]
    assert not steep.units.linear  # warped
    np.testing.assert_allclose(steep.units.told(steep.limit.threshold), 0.0, atol=1e-9)
    told = np.array([t.constraints["steep"] for t in study.trials])
    np.testing.assert_allclose(steep.units.modelled(told), steep.data.y, atol=1e-9)
    # Where it was observed there is little doubt.
    chance = belief.feasibility([t.params for t in study.trials])
    kept = np.array([max(t.constraints.values()) <= 0.0 for t in study.trials])
    assert chance[kept].min() > 0.5 > chance[~kept].max()
    assert isinstance(belief.feasibility({"x": 1.0, "y": 1.0}), float)
    assert belief.predict({"x": 1.0, "y": 1.0})[0] == pytest.approx(2.0, abs=0.1)


# Searches


@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_on_a_constraint_is_found(seed: int) -> None:
    study = searched(hyperbola, 40, seed)
    assert uhebo.Result(study).best_value < 2.001  # Optuna's GPSampler: 2.0002, without constraints 2.5 and more
    assert sum(max(t.constraints.values()) <= 0 for t in study.trials) > 12


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.usefixtures("short_chains")
def test_every_method_keeps_to_constraints(method: str) -> None:
    """Feasible is x + y < 1.5, an eighth of the square; the objective grows out of it."""

    def objective(trial: optuna.Trial) -> float:
        x, y = trial.suggest_float("x", 0, 3), trial.suggest_float("y", 0, 3)
        trial.set_constraint("sum", x + y - 1.5)
        return x + y

    study = optuna.create_study(direction="maximize", sampler=UHESampler(method=method, seed=1))
    study.optimize(objective, n_trials=22)
    model = [t for t in study.trials if t.system_attrs[ATTRIBUTE]["role"] == "model"]
    assert all(len(str(t.system_attrs[ATTRIBUTE])) <= ATTRIBUTE_LIMIT for t in study.trials)
    if method == "random":
        assert not model
    else:  # without the constraint all of them are near (3, 3)
        assert sum(t.constraints["sum"] <= 0.0 for t in model) > len(model) / 4
        assert uhebo.Result(study).best_value > 1.0


@pytest.mark.parametrize("acquisition", ACQUISITIONS)
def test_every_acquisition_keeps_to_constraints(acquisition: str) -> None:
    study = searched(hyperbola, 24, acquisition=acquisition)
    model = [t for t in study.trials if t.system_attrs[ATTRIBUTE]["role"] == "model"]
    assert sum(t.constraints["product"] <= 0.0 for t in model) > len(model) / 3
    assert uhebo.Result(study).best_value < 2.5  # pi alone is not below 2.1


def test_while_nothing_is_feasible_the_search_is_for_what_is() -> None:
    """A disc of a three-hundredth of the square, and an objective that leads away from it."""

    def objective(trial: optuna.Trial) -> float:
        x, y = trial.suggest_float("x", 0, 3), trial.suggest_float("y", 0, 3)
        trial.set_constraint("disc", (x - 2.1) ** 2 + (y - 0.6) ** 2 - 0.01)
        return x - y

    study = searched(objective, 20)
    assert not any(t.constraints["disc"] <= 0.0 for t in study.trials[:6])
    feasible = [t for t in study.trials if t.constraints["disc"] <= 0.0]
    assert len(feasible) > 3
    assert min(t.values[0] for t in feasible) < 1.5


def test_points_under_way_are_allowed_for() -> None:
    study = searched(hyperbola, 12)
    batch = [study.ask(SPACE).params for _ in range(4)]
    points = np.array([list(point.values()) for point in batch])
    apart = np.linalg.norm(points[:, None] - points, axis=2) + 9.0 * np.eye(4)
    assert apart.min() > 1e-3
    assert sum(point["x"] * point["y"] > 0.9 for point in batch) > 2


def test_without_a_constraint_nothing_is_recorded_of_any() -> None:
    study = searched(lambda t: t.suggest_float("x", 0, 1) ** 2, 8)
    assert not any("constraint_theta" in t.system_attrs[ATTRIBUTE] for t in study.trials)
    assert believe(study).constraints == {}
    assert believe(study).feasibility({"x": 0.5}) == 1.0


# Doors


def disc(x: float, y: float) -> dict[str, float]:
    return {"disc": x * x + y * y - 4.0, "half": 0.5 - x}


def test_minimize_with_a_function_of_constraints() -> None:
    result = uhebo.maximize(lambda x, y: x + y, SPACE, 25, seed=0, constraints=disc, progress=False)
    assert result.best_value == pytest.approx(math.sqrt(8), abs=1e-3)
    assert max(disc(**result.best_params).values()) <= 0.0
    history = result.history
    assert {"feasible", "constraint_disc", "constraint_half"} <= set(history.columns)
    assert (history.feasible == ((history.constraint_disc <= 0) & (history.constraint_half <= 0))).all()
    assert set(result.belief.constraints) == {"disc", "half"}
    assert history.value.max() > result.best_value  # an infeasible one had more


@pytest.mark.parametrize("several", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_constraints_func_as_optunas_samplers_take_it(
    several: bool, named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Optuna 4 keeps a list, without names."""
    monkeypatch.setattr(stored, "NAMED", named)

    def values(trial: FrozenTrial) -> Any:
        value = 1 - trial.params["x"] * trial.params["y"]
        return [value, -1.0] if several else value

    study = optuna.create_study(sampler=UHESampler(seed=0, constraints_func=values))
    study.optimize(lambda t: t.suggest_float("x", 0, 3) + t.suggest_float("y", 0, 3), n_trials=12)
    assert all(list(t.constraints) == ["0", "1"][: 1 + several] for t in study.trials)
    assert uhebo.Result(study).best_value == study.best_value


def test_nothing_feasible_is_said_with_the_nearest_trial() -> None:
    result = uhebo.minimize(
        lambda x, y: x + y, SPACE, 5, seed=0, progress=False, constraints=lambda x, y: [-1.0, 10.0 + x - y]
    )
    nearest = min(result.study.trials, key=lambda t: t.constraints["1"])
    with pytest.raises(InvalidInputError, match=f"no trial is feasible; the nearest to it is trial {nearest.number}"):
        _ = result.best_value
    assert "no trial is feasible" in repr(result)


# What a study may get wrong


@pytest.mark.parametrize("bad", [math.nan, [1.0, math.nan], "low", [[1.0]], {}, None, {"a": "b"}])
def test_a_bad_constraint_names_its_trial_and_loses_no_value(bad: Any) -> None:
    def constraints(x: float, y: float) -> Any:
        return bad if len(study.trials) == 4 else [x - 1.0, y - 1.0]

    study = optuna.create_study(sampler=UHESampler(seed=0, constraints_func=lambda trial: constraints(**trial.params)))
    with pytest.raises(InvalidInputError, match="constraints of trial 3 are"):
        study.optimize(lambda t: t.suggest_float("x", 0, 3) + t.suggest_float("y", 0, 3), n_trials=8)
    assert study.trials[3].state == TrialState.COMPLETE
    study.optimize(lambda t: t.suggest_float("x", 0, 3) + t.suggest_float("y", 0, 3), n_trials=5)
    assert len(believe(study).constraints["0"].data) == 8
    assert len(believe(study).objective.data) == 9


def test_another_number_of_constraints_is_refused() -> None:
    def constraints(trial: FrozenTrial) -> Any:
        return [0.0] * (1 if trial.number == 2 else 2)

    study = optuna.create_study(sampler=UHESampler(seed=0, constraints_func=constraints))
    with pytest.raises(InvalidInputError, match="trial 2 has the constraints '0', those before it '0', '1'"):
        study.optimize(lambda t: t.suggest_float("x", 0, 3), n_trials=8)
    assert study.trials[2].state == TrialState.COMPLETE


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"constraints:b": 1.0}, "trial 9 has the constraints 'b', trial 0 has 'product'"),
        ({"constraints:product": 1.0, "constraints:b": 1.0}, "trial 9 has the constraints 'b', 'product', trial 0"),
        ({"constraints:product": "1"}, "constraint 'product' of trial 9 is '1'"),
        ({"constraints": [math.nan]}, "constraint '0' of trial 9 is nan"),
    ],
)
def test_constraints_that_change_in_a_study_are_refused_by_name(attrs: dict[str, Any], message: str) -> None:
    study = searched(hyperbola, 9)
    point = {"x": 1.0, "y": 1.0}
    study.add_trial(create_trial(value=2.0, params=point, distributions=SPACE, system_attrs=attrs))
    with pytest.raises(InvalidInputError, match=message):
        study.ask(SPACE)
    assert study.trials[9].value == 2.0


def test_trials_without_constraint_values_are_data_for_the_objective(caplog: pytest.LogCaptureFixture) -> None:
    study = searched(hyperbola, 8)
    study.add_trial(create_trial(value=0.5, params={"x": 0.2, "y": 0.3}, distributions=SPACE))
    with caplog.at_level(logging.WARNING, "uhebo"):
        study.optimize(hyperbola, n_trials=3)
    assert sum("trial 8 has no constraint values" in record.message for record in caplog.records) == 1
    belief = believe(study)
    assert (len(belief.objective.data), len(belief.constraints["product"].data)) == (12, 11)
    assert uhebo.Result(study).best_value > 1.9


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_infinite_constraint_values_stay_on_their_side(sign: float) -> None:
    assert within_finite(np.array([sign * math.inf, -sign, -2 * sign]))[0] * sign > 0.0
    assert within_finite(np.array([sign * math.inf]))[0] == sign

    def objective(trial: optuna.Trial) -> float:
        trial.set_constraint("c", sign * math.inf if trial.number < 6 else -0.5)
        return trial.suggest_float("x", 0, 1)

    study = searched(objective, 10)
    assert (believe(study).feasibility(study.trials[0].params) > 0.5) == (sign < 0)


def test_a_method_that_does_not_know_of_constraints_is_refused() -> None:
    def always_there(_: Step) -> Proposal:
        return Proposal(np.full(2, 0.5))

    with pytest.raises(InvalidInputError, match="does not say that it keeps to them"):
        searched(hyperbola, 9, method=always_there)
    assert len(searched(hyperbola, 9, method=Method(lambda step: step.model("map"), constrained=True)).trials) == 9


def test_misuse_is_refused_at_once() -> None:
    with pytest.raises(InvalidInputError, match="constraints is 3; expected a function"):
        uhebo.minimize(max, SPACE, 3, constraints=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="constraints_func is 3; expected a function"):
        UHESampler(constraints_func=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (lambda x: x, "the space has 'y', and constraints takes 'x'"),
        (lambda x, y, z: x + y + z, "constraints needs 'z', and the space has 'x', 'y'"),
        (lambda x, y, /: x + y, "constraints takes 'x', 'y' by position only"),
    ],
)
def test_constraints_that_cannot_be_called_are_refused_before_anything_is_run(constraints: Any, message: str) -> None:
    called = []

    def loss(**params: float) -> float:
        called.append(params)
        return 0.0

    with pytest.raises(InvalidInputError, match=message):
        uhebo.minimize(loss, SPACE, 3, constraints=constraints)
    assert not called


@pytest.mark.parametrize("function", [lambda: 0.0, lambda x, y: x - y])
def test_a_constraints_func_takes_one_trial(function: Any) -> None:
    with pytest.raises(InvalidInputError, match="it is called with one argument, the finished trial"):
        UHESampler(constraints_func=function)
    usable: list[Any] = [lambda trial, limit=3.0: trial.params["x"] - limit, max]  # what max takes, nobody knows
    for function in usable:
        UHESampler(constraints_func=function)


def test_constraints_may_read_what_the_function_kept_with_the_trial() -> None:
    def loss(x: float, y: float, trial: optuna.Trial) -> float:
        trial.set_user_attr("product", x * y)
        return x + y

    def constraints(trial: FrozenTrial, **_: float) -> float:
        return float(1.0 - trial.user_attrs["product"])

    study = uhebo.minimize(loss, SPACE, 4, seed=0, constraints=constraints, progress=False).study
    assert all(t.constraints["0"] == 1.0 - t.user_attrs["product"] for t in study.trials)


def test_an_infeasible_point_is_not_the_one_to_improve_on() -> None:
    """What is promised by log-ei is measured against the best feasible value, by hand here."""
    study = searched(hyperbola, 14, deterministic=True)
    model = model_of(study).step
    fit = model.fit("map")
    best = fit.data.y[[max(t.constraints.values()) <= 0 for t in study.trials]].max()
    assert best < fit.data.y.max()
    X = np.random.default_rng(0).random((5, 2))
    mean, variance = fit.posterior.predict(X)
    expected = log_ei(best)(mean, np.sqrt(variance))[0] + log_chance(model.limits, X)
    np.testing.assert_allclose(model.surface(fit.posteriors, model.limits)(X), expected)


def test_a_worker_refuses_what_it_would_not_call(tmp_path: Path) -> None:
    place = tmp_path / "shared.db"
    with pytest.raises(InvalidInputError, match="workers do not call constraints_func"):
        uhebo.work(lambda x: x, {"x": (0.0, 1.0)}, 3, storage=place, study_name="s", constraints_func=lambda _: (0.0,))
    assert not place.exists()
