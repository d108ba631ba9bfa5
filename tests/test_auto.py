"""The default: it exploits while that leads somewhere, explores in turn when it is stuck, and refines at the end."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution

import uhebo
from uhebo.belief import fitting
from uhebo.estimate import ESTIMATORS, Fit
from uhebo.gp import Data
from uhebo.methods import Proposal, Step
from uhebo.methods.auto import RECIPE, Recipe, auto
from uhebo.methods.settings import Settings
from uhebo.optuna_.log_space import space_of_log
from uhebo.optuna_.trial_log import ATTRIBUTE, read_history
from uhebo.space import SearchSpace
from uhebo.types import Array

DESIGN = 6
SPACE: dict[str, BaseDistribution] = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}


def values_of(improving: bool) -> Sequence[float]:
    """After the design, either every value is the best so far or none is."""
    design = [0.5, 0.2, 0.9, 0.1, 0.4, 0.3]
    return [*design, *(itertools.islice(itertools.count(1.0, 0.5) if improving else itertools.repeat(0.0), 60))]


def moves(recipe: Recipe, improving: bool, trials: int, n_trials: int | None = None) -> list[str]:
    """What each suggestion after the design was: "random", "map" or the name of an exploring move."""
    sampler = uhebo.UHESampler(method=partial(auto, recipe=recipe), seed=0, n_startup_trials=DESIGN, n_trials=n_trials)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for value in values_of(improving)[:trials]:
        study.tell(study.ask(SPACE), value)
    found = []
    for trial in study.get_trials(deepcopy=False)[DESIGN:]:
        tags = trial.system_attrs[ATTRIBUTE]
        found.append("random" if tags["role"] == "random" else tags.get("move", tags.get("estimator", "")))
    return found


def test_it_is_the_default() -> None:
    default = uhebo.minimize(lambda x: (x - 0.3) ** 2, {"x": (0.0, 1.0)}, 8, seed=1)
    named = uhebo.minimize(lambda x: (x - 0.3) ** 2, {"x": (0.0, 1.0)}, 8, seed=1, method="auto")
    assert [t.params for t in default.study.trials] == [t.params for t in named.study.trials]


def test_as_long_as_it_improves_it_exploits() -> None:
    found = moves(RECIPE, True, DESIGN + 20)
    assert found == ["random" if t == 16 else "map" for t in range(1, 21)]


def test_stuck_it_explores_every_second_step_in_turn() -> None:
    found = moves(RECIPE, False, DESIGN + 16)
    # The best of the design is its third value, so the sixth value after that comes at t = 3.
    assert [t for t, move in enumerate(found, 1) if move not in ("map", "random")] == [4, 6, 8, 10, 12, 14]
    assert found[3::2] == ["opinion", "gap", "line", "gap", "opinion", "gap", "random"]


def test_in_the_endgame_of_a_known_budget_it_exploits() -> None:
    found = moves(RECIPE, False, DESIGN + 20, n_trials=DESIGN + 20)
    assert set(found[17:]) == {"map"}
    assert found[13] != "map"


def test_without_ways_to_explore_it_never_does() -> None:
    recipe = replace(RECIPE, turns=(), first_random=None)
    assert set(moves(recipe, False, DESIGN + 18)) == {"map"}


@pytest.mark.parametrize(("dimension", "prior"), [(10, "precise"), (11, "shared-scale")])
def test_the_prior_depends_on_the_number_of_parameters(
    dimension: int, prior: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    original = Step.fit

    def spy(step: Step, estimator: str) -> Fit:
        fit = original(step, estimator)
        seen.append(fit.prior)
        return fit

    monkeypatch.setattr(Step, "fit", spy)
    space = {f"x{i}": (0.0, 1.0) for i in range(dimension)}
    uhebo.minimize(lambda **x: sum(x.values()), space, 5, seed=0, n_startup_trials=4)
    assert seen == [prior]


def test_what_the_user_chooses_stays() -> None:
    seen = []

    def method(step: Step) -> Proposal:
        proposal = auto(step)
        used = step.under(RECIPE.model, RECIPE.acquisition)
        seen.append((used.believe().prior.name, used.acquisition))
        return proposal

    uhebo.minimize(
        lambda x: x, {"x": (0.0, 1.0)}, 5, seed=0, n_startup_trials=4, method=method, prior="paper", acquisition="ucb"
    )
    assert seen == [("paper", "ucb")]


# ------------------------------------------------------------------------------------------- theta between two fits


def thetas(trials: int, *, exact: bool = False) -> list[tuple[int, Array]]:
    """(pair, log theta) of each suggestion after the design."""
    sampler = uhebo.UHESampler(method="map", seed=0, n_startup_trials=4, exact=exact)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for _ in range(trials):
        trial = study.ask(SPACE)
        study.tell(trial, float(np.sin(5 * trial.params["x"]) + trial.params["y"]))
    records = [t.system_attrs[ATTRIBUTE] for t in study.get_trials(deepcopy=False)]
    return [((r["t"] + 1) // 2, np.array(r["theta"])) for r in records if "theta" in r]


def test_above_a_size_theta_is_kept_between_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "LARGE", 8)
    found = thetas(24)
    for index in range(1, len(found)):
        (pair, theta), (_, before) = found[index], found[index - 1]
        observations = 4 + index
        due = observations <= 8 or pair % (2 * observations // 8) == 0
        assert np.array_equal(theta, before) != due, f"pair {pair}, {observations} observations"


def test_exact_never_keeps_theta(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "LARGE", 8)
    found = [theta for _, theta in thetas(16, exact=True)]
    assert not any(np.array_equal(a, b) for a, b in itertools.pairwise(found))


def test_a_kept_theta_has_the_posterior_of_all_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "LARGE", 8)
    study = optuna.create_study(sampler=uhebo.UHESampler(method="map", seed=0, n_startup_trials=4))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) ** 2, n_trials=18)
    space = space_of_log(study)
    history = read_history(study, space, 4)
    for number in (18, 19, 20, 21):
        fit = Step(history, Settings(seed=0), history.next_slot(number)).fit("map")
        assert len(fit.posterior.data) == 18
    assert fit.posterior.factor.shape == (18, 18)


@pytest.mark.parametrize("estimator", sorted(name for name, estimator in ESTIMATORS.items() if estimator.climbs))
@pytest.mark.parametrize(("exact", "fitted"), [(False, 8), (True, 30)])
def test_many_points_from_elsewhere_begin_with_the_theta_of_some(
    monkeypatch: pytest.MonkeyPatch, estimator: str, exact: bool, fitted: int
) -> None:
    """The first suggestion need not wait for a fit to all of them; the model knows all of them nevertheless."""
    monkeypatch.setattr(fitting, "LARGE", 8)
    seen = []

    def watched(data: Data, **options: Any) -> Fit:
        seen.append(data)
        return whole.run(data, **options)

    whole = ESTIMATORS[estimator]
    monkeypatch.setitem(ESTIMATORS, estimator, replace(whole, run=watched))
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) ** 2, n_trials=30)
    space = space_of_log(study)
    history = read_history(study, space, 4)
    fit = Step(history, Settings(seed=0, exact=exact), history.next_slot(30)).fit(estimator)
    (sample,) = seen
    assert len(sample) == fitted
    assert len(np.unique(sample.X)) == fitted  # none of them twice
    assert set(zip(sample.X[:, 0], sample.y, strict=True)) <= set(zip(fit.data.X[:, 0], fit.data.y, strict=True))
    assert len(fit.posterior.data) == 30
    assert fit.posterior.factor.shape == (30, 30)


def valley(x: float, y: float) -> float:
    return -((x - 0.7) ** 2) - (y - 0.4) ** 2


def nearest(points: Array) -> Array:
    """Distance of each point to the nearest other one."""
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(apart, np.inf)
    return np.asarray(apart.min(axis=1))


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("method", ["auto", "uhe"])
def test_points_under_way_are_not_proposed_again(method: str, deterministic: bool) -> None:
    study = optuna.create_study(
        direction="maximize", sampler=uhebo.UHESampler(method=method, seed=0, deterministic=deterministic)
    )
    for _ in range(10):
        trial = study.ask(SPACE)
        study.tell(trial, valley(**trial.params))
    points = np.array([list(study.ask(SPACE).params.values()) for _ in range(8)])
    assert nearest(points).min() > 1e-3


def test_a_place_that_fails_is_left() -> None:
    """The best values are promised where the objective fails."""
    study = optuna.create_study(direction="maximize", sampler=uhebo.UHESampler(seed=0))
    failed = []
    for _ in range(36):
        trial = study.ask(SPACE)
        if trial.params["x"] > 0.6:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            failed.append(list(trial.params.values()))
        else:
            study.tell(trial, valley(**trial.params))
    assert len(failed) < 30
    assert nearest(np.array(failed)).min() > 1e-5


def test_failures_are_no_improvement_either() -> None:
    study = optuna.create_study(direction="maximize", sampler=uhebo.UHESampler(seed=0, n_startup_trials=DESIGN))
    for value in range(DESIGN):  # each of them the best so far
        study.tell(study.ask(SPACE), float(value))
    for _ in range(8):
        study.tell(study.ask(SPACE), state=optuna.trial.TrialState.FAIL)
    found = ["move" in t.system_attrs[ATTRIBUTE] for t in study.get_trials(deepcopy=False)[DESIGN:]]
    assert found == [False] * 7 + [True]


def test_what_was_expected_of_older_points_under_way_stays() -> None:
    """Only where nothing has been observed since a point was proposed does it count as no better than the best."""
    study = optuna.create_study(direction="maximize", sampler=uhebo.UHESampler(seed=0))
    for _ in range(10):
        trial = study.ask(SPACE)
        study.tell(trial, valley(**trial.params))
    early, late = study.ask(SPACE), study.ask(SPACE)
    history = read_history(study, SearchSpace.of(SPACE), DESIGN)
    assert history.pending_before(99).nothing_learnt.tolist() == [True, True]
    study.tell(late, valley(**late.params))
    study.tell(study.ask(SPACE), state=optuna.trial.TrialState.PRUNED)
    history = read_history(study, SearchSpace.of(SPACE), DESIGN)
    assert history.pending_before(99).nothing_learnt.tolist() == [False, True]
    assert early.number in {t.number for t in history.trials if t.state == "running"}
    values = history.in_order(history.data.y)
    assert values[-1] == -np.inf
    np.testing.assert_array_equal(values[:-1], history.data.y)
