"""Several objectives: spaces of every kind, second opinions, noise and replicates, and gradients of the acquisition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.trial import create_trial
from scipy.stats import norm

import uhebo
from tests.problems import PROBLEMS, TRIALS, Direction, Problem, check
from uhebo import Float, UHESampler
from uhebo.acquire.hypervolume import HypervolumeSurface, log_ehvi
from uhebo.acquire.limits import Limits, at_least, success, weights
from uhebo.belief.history import History, Outcome, Trial
from uhebo.gp import Data, Posterior, Theta
from uhebo.methods import METHODS, Settings, Step
from uhebo.methods.pareto import cleaned, inferred_reference, is_stuck
from uhebo.numerics.front import boxes, front_above
from uhebo.optuna_.trial_log import ATTRIBUTE
from uhebo.space import SearchSpace
from uhebo.types import Array

LINE = SearchSpace.of({"x": Float(0, 1)})
DISTRIBUTIONS: dict[str, Any] = {"x": Float(0, 1)}


@pytest.mark.parametrize("objectives", [2, 3, 4])
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_every_kind_of_space(problem: Problem, objectives: int) -> None:
    def objective(trial: optuna.Trial) -> list[float]:
        value = problem.objective(trial)
        return [value, value + 0.1 * len(trial.params), (value - 3) ** 2, -abs(value - 1)][:objectives]

    directions: list[Direction] = ["minimize", "maximize", "minimize", "maximize"]
    sampler = UHESampler(seed=1, n_trials=TRIALS, when_exhausted="repeat")
    study = optuna.create_study(directions=directions[:objectives], sampler=sampler)
    study.optimize(objective, n_trials=TRIALS)
    check(study, problem)
    tags = [trial.system_attrs[ATTRIBUTE] for trial in study.trials]
    assert [tag.get("fallback") for tag in tags] == [None] * TRIALS
    assert sum(tag["role"] == "model" for tag in tags) >= TRIALS / 2


# When it is stuck


def step_of(rows: list[tuple[float, ...] | None], running: int = 0, **constrained: tuple[float, ...]) -> Step:
    """A step after trials with these values; None failed. Constraint values by "told", one per trial."""
    told = constrained.get("told", (0.0,) * len(rows))
    trials = [
        Trial(i, np.array([i / 20]), None, "failed")
        if row is None
        else Trial(i, np.array([i / 20]), row[0], "finished", others=row[1:], constraints=told[i : i + 1])
        for i, row in enumerate(rows)
    ]
    trials += [Trial(len(rows) + i, np.array([0.9]), None, "running") for i in range(running)]
    outcomes = (Outcome("a"), Outcome("b"), Outcome("limit", "constraint", -1.0))
    history = History(LINE, tuple(trials), 0, outcomes)
    method = METHODS["auto"]
    return Step(history, Settings(seed=0), history.next_slot(len(trials)), method.model, method.acquisition)


RISING: list[tuple[float, ...] | None] = [(0.0, 0.0), (1.0, 2.0), (2.0, 1.0)]
DULL: list[tuple[float, ...] | None] = [(0.5, 0.5), (1.0, 1.0), (0.0, 1.0)]


@pytest.mark.parametrize(
    ("rows", "given", "expected"),
    [
        (RISING + DULL, {}, True),
        (RISING + DULL, {"running": 2}, True),  # what is under way has not had its say
        (RISING + DULL[:2], {}, False),  # the third last enlarged it
        ([*RISING, *DULL[:2], (3.0, 0.0)], {}, False),  # an end of the front
        ([*RISING, *DULL[:2], (1.5, 1.5)], {}, False),  # its middle
        ([*RISING, *DULL[:2], (2.0, 1.0)], {}, True),  # the same again
        ([*RISING, None, None, None], {}, True),  # failures enlarge nothing
        (DULL, {}, False),  # too few to tell
        (RISING + DULL, {"told": (1.0,) * 6}, False),  # nothing is feasible: the search for it goes on
        (RISING + DULL, {"told": (1.0, 1.0, 1.0, -1.0, 1.0, 1.0)}, False),  # the first that is
        ([*RISING, *DULL[:2], (9.0, 9.0)], {"told": (-1.0,) * 5 + (1.0,)}, True),  # not feasible
    ],
)
def test_it_is_stuck_when_the_last_three_have_not_enlarged_the_hypervolume(
    rows: list[tuple[float, ...] | None], given: dict[str, Any], expected: bool
) -> None:
    step = step_of(rows, **given)
    values = np.array([[trial.y, *trial.others] for trial in step.history.finished])
    assert is_stuck(step, values, 3) is expected


def test_it_is_stuck_by_the_reference_point_that_was_given() -> None:
    step = step_of([*RISING, *DULL[:2], (3.0, 0.0)])  # an end of the front
    values = np.array([[trial.y, *trial.others] for trial in step.history.finished])
    assert not is_stuck(step, values, 3, np.array([-1.0, -1.0]))
    assert is_stuck(step, values, 3, np.array([0.5, 0.5])), "that end is just not worth having"
    assert not is_stuck(step, values, 3, np.array([9.0, 9.0])), "beyond it is nothing: the inferred one counts"


def test_a_second_opinion_is_asked_for_every_second_time_while_it_is_stuck() -> None:
    """One point beats all others from the start; the last part of a known budget asks for none."""

    def told(number: int) -> tuple[float, float]:
        return (0.0, 0.0) if number == 2 else (1.0 + number / 100, 1.0 + number / 50)

    sampler = UHESampler(seed=0, n_startup_trials=4, n_trials=24, deterministic=True)
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), told(trial.number))[1], n_trials=24)
    tags = [trial.system_attrs[ATTRIBUTE] for trial in study.trials]
    asked = [tag["t"] for tag in tags if tag.get("move") == "opinion"]
    # 16 is a random point, and the end begins after 0.85 * 20 = 17.
    assert asked == [6, 8, 10, 12, 14]
    assert {tag["estimator"] for tag in tags if tag.get("move") == "opinion"} == {"consistent"}
    assert all(tag.get("estimator") != "consistent" for tag in tags if "move" not in tag)


# Noise and replicates


def noisy_study(noise: float | None = None, **options: Any) -> optuna.Study:
    """Nine replicates at each of three points; the deviation of each value is about 0.2."""
    study = optuna.create_study(directions=["minimize"] * 2, sampler=UHESampler(seed=0, **options))
    rng = np.random.default_rng(0)
    for i in range(27):
        x = (0.1, 0.5, 0.9)[i % 3]
        values = [x + 0.2 * rng.normal(), 1.0 - x + 0.2 * rng.normal()]
        user_attrs: dict[str, Any] = {} if noise is None else {"uhebo:noise": [noise, noise]}
        study.add_trial(
            create_trial(params={"x": x}, distributions=DISTRIBUTIONS, values=values, user_attrs=user_attrs)
        )
    return study


def taken_for(study: optuna.Study) -> tuple[Array, Array]:
    """What `cleaned` takes the values for, in the units of the user, and the values as told."""
    space = SearchSpace.of(DISTRIBUTIONS)
    sampler = study.sampler
    assert isinstance(sampler, UHESampler)
    step = sampler.step(study, len(study.trials), space)
    objectives = step.believe().objectives
    values = cleaned(step, objectives)
    found = [each.units.told(column) for each, column in zip(objectives, values.T, strict=True)]
    return np.array(found).T, np.array([trial.values for trial in study.trials])


def test_the_front_is_that_of_values_without_their_noise() -> None:
    found, told = taken_for(noisy_study())
    means = np.array([told[i::3].mean(axis=0) for i in range(3)])
    for i in range(3):
        assert np.ptp(found[i::3], axis=0) == pytest.approx(0.0, abs=1e-9)  # replicates are one point
        assert found[i] == pytest.approx(means[i], abs=0.1)
    assert np.ptp(told[::3], axis=0).min() > 0.3


def test_values_without_noise_are_taken_as_they_are() -> None:
    found, told = taken_for(noisy_study(deterministic=True))
    np.testing.assert_allclose(found, told, atol=1e-9)


def test_noise_that_was_told_changes_the_front() -> None:
    exact, told = taken_for(noisy_study(noise=1e-3))
    vague, _ = taken_for(noisy_study(noise=3.0))
    means = np.array([told[i::3].mean(axis=0) for i in range(3)])
    assert exact[:3] == pytest.approx(means, abs=0.03)
    assert np.ptp(vague[:3], axis=0).max() < 0.5 * np.ptp(means, axis=0).max()


# Gradients


def surface_of(objectives: int, limited: bool) -> HypervolumeSurface:
    rng = np.random.default_rng(objectives)
    X, Y = rng.random((9, 3)), rng.normal(size=(9, objectives))
    posteriors = [Posterior.of(Data.of(X, y), Theta.of([0.4, 0.6, 0.9], 1.2, 1e-3)) for y in Y.T]
    values = np.array([posterior.data.y for posterior in posteriors]).T
    reference = inferred_reference(values)
    limits: Limits = ()
    if limited:
        constraint, labels = (
            Posterior.of(Data.of(X, y), Theta.of(ell, 1.0, 1e-2))
            for y, ell in ((rng.normal(size=9), [0.5, 0.8, 0.3]), (np.sign(X[:, 0] - 0.4), [0.9, 0.7, 1.1]))
        )
        limits = (at_least((constraint,), 0.2), success(labels))
    return HypervolumeSurface(posteriors, *boxes(front_above(values, reference), reference), weights(limits))


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_gradients_of_the_surface_by_finite_differences(objectives: int, limited: bool) -> None:
    """With the chances to be feasible and not to fail, and boxes that are open above."""
    surface = surface_of(objectives, limited)
    assert len(surface.weights) == 2 * limited
    assert np.isinf(surface.upper).any(axis=0).all()
    points = np.random.default_rng(1).random((6, 3))
    value, gradient = surface.with_gradient(points)
    np.testing.assert_allclose(value, surface(points), rtol=1e-12)
    for column in range(3):
        step = np.zeros(3)
        step[column] = 1e-6
        numeric = (surface(points + step) - surface(points - step)) / 2e-6
        np.testing.assert_allclose(gradient[:, column], numeric, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_one_box_that_is_open_everywhere(objectives: int) -> None:
    """Nothing is on the front yet: the expected improvement is the product of those of each objective."""
    lower, upper = np.zeros((1, objectives)), np.full((1, objectives), math.inf)
    rng = np.random.default_rng(0)
    means, deviations = rng.normal(size=(objectives, 5)), rng.uniform(0.2, 2.0, (objectives, 5))
    value, by_mean, by_deviation = log_ehvi(means, deviations, lower, upper)
    improvements = means * norm.cdf(means / deviations) + deviations * norm.pdf(means / deviations)
    np.testing.assert_allclose(np.exp(value), improvements.prod(axis=0), rtol=1e-9)
    for i in range(objectives):
        step = np.zeros((objectives, 1))
        step[i] = 1e-6
        ends = [log_ehvi(means + sign * step, deviations, lower, upper)[0] for sign in (1.0, -1.0)]
        np.testing.assert_allclose(by_mean[i], (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-7)
        ends = [log_ehvi(means, deviations + sign * step, lower, upper)[0] for sign in (1.0, -1.0)]
        np.testing.assert_allclose(by_deviation[i], (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-7)


def test_four_objectives_reach_their_front() -> None:
    """It is the line y = 0, and one objective has few values."""
    result = uhebo.optimize(
        lambda x, y: (x, 1 - x + y, (x - 0.5) ** 2 + y, round(y, 1)),
        {"x": (0.0, 1.0), "y": (0.0, 1.0)},
        24,
        directions=["minimize"] * 4,
        seed=0,
    )
    assert np.median([trial.params["y"] for trial in result.study.trials[12:]]) < 0.1
