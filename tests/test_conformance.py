"""Every method on every kind of problem: suggestions inside the space, of the right type, on the grid.

HMC runs with a short chain where its length is not the point, and once in full.
"""

from __future__ import annotations

import itertools
import logging
import math
import pickle
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.study import Study
from optuna.trial import TrialState

import uhebo
from tests.problems import PROBLEMS, TRIALS, Direction, Problem, check, flat
from uhebo import METHODS, Categorical, Float, Int, UHESampler
from uhebo.acquire.functions import ACQUISITIONS
from uhebo.errors import InvalidInputError
from uhebo.gp import KERNELS, PRIORS
from uhebo.methods import Proposal, Step
from uhebo.optuna_.trial_log import ATTRIBUTE

OWN_METHODS = tuple(METHODS)


def run(problem: Problem, n_trials: int = TRIALS, direction: Direction = "minimize", **options: Any) -> Study:
    study = optuna.create_study(sampler=UHESampler(seed=1, n_trials=n_trials, **options), direction=direction)
    study.optimize(problem.objective, n_trials=n_trials)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * n_trials
    return study


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("method", OWN_METHODS)
@pytest.mark.usefixtures("short_chains")
def test_every_method_runs_on_every_problem(method: str, problem: Problem) -> None:
    study = run(problem, method=method)
    check(study, problem)
    roles = [trial.system_attrs[ATTRIBUTE]["role"] for trial in study.trials]
    assert ("model" in roles) == (method != "random")
    if method != "random":  # beyond the initial design no one is led astray
        fits = [trial.system_attrs[ATTRIBUTE].get("fallback") for trial in study.trials]
        assert fits.count(None) > TRIALS * 0.9


def test_hmc_in_full() -> None:
    problem = PROBLEMS["floats"]
    study = run(problem, 24, method="hmc", n_startup_trials=22)
    check(study, problem)
    assert all(0.5 < trial.system_attrs[ATTRIBUTE]["acceptance"] <= 1.0 for trial in study.trials[22:])


@pytest.mark.parametrize(
    "options", [*({"acquisition": a} for a in ACQUISITIONS), {"beta": "theory"}, {"beta": 0}], ids=str
)
@pytest.mark.parametrize("method", ["uhe", "map", "hmc", "wang-de-freitas"])
@pytest.mark.usefixtures("short_chains")
def test_every_acquisition(method: str, options: dict[str, Any]) -> None:
    problem = PROBLEMS["mixed"]
    check(run(problem, 12, method=method, n_startup_trials=5, direction="maximize", **options), problem)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("method", ["uhe", "map"])
def test_every_kernel_and_prior(method: str, prior: str, kernel: str) -> None:
    problem = PROBLEMS["mixed"]
    check(run(problem, 9, method=method, n_startup_trials=5, prior=prior, kernel=kernel), problem)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_both_directions_find_their_end(direction: Direction) -> None:
    problem = flat({"x": Float(-1, 1)}, lambda x: x)
    best = run(problem, 15, method="map", direction=direction).best_params["x"]
    assert best == pytest.approx(1.0 if direction == "maximize" else -1.0, abs=1e-3)


# Repeats (row 21 of the table of faults)


@pytest.mark.parametrize("method", OWN_METHODS)
@pytest.mark.usefixtures("short_chains")
def test_row_21_no_repeats_before_a_deterministic_space_is_exhausted(method: str) -> None:
    problem = PROBLEMS["categories"]
    study = run(problem, 27, method=method, deterministic=True, when_exhausted="repeat")
    points = [tuple(trial.params.items()) for trial in study.trials]
    assert len(set(points[:24])) == 24
    assert all(point in points[:24] for point in points[24:])
    check(study, problem)


@pytest.mark.parametrize("acquisition", ACQUISITIONS)
def test_row_21_no_repeats_by_any_acquisition(acquisition: str) -> None:
    problem = flat({"i": Int(0, 24), "c": Categorical([None])}, lambda i, c: (i - 7) ** 2 + (c is not None))
    options: dict[str, Any] = {"deterministic": True, "when_exhausted": "repeat", "n_startup_trials": 3}
    study = run(problem, 27, method="map", acquisition=acquisition, **options)
    assert sorted(trial.params["i"] for trial in study.trials[:25]) == list(range(25))


def test_row_21_where_it_failed_counts_as_evaluated() -> None:
    def objective(trial: optuna.Trial) -> float:
        kind = trial.suggest_categorical("kind", list("abcdefgh"))
        if kind in "bdf":
            raise optuna.TrialPruned
        return ord(kind)

    study = optuna.create_study(sampler=UHESampler(method="map", seed=0, deterministic=True))
    study.optimize(objective, n_trials=8)
    assert sorted(trial.params["kind"] for trial in study.trials) == list("abcdefgh")


# A method of one's own


def every_third_random(step: Step) -> Proposal:
    return step.random(mine=step.slot.t) if step.slot.t % 3 == 0 else step.model("map")


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_a_function_is_a_method(problem: Problem) -> None:
    study = run(problem, 16, method=every_third_random, n_startup_trials=4)
    check(study, problem)
    for trial in study.trials[4:]:
        record = trial.system_attrs[ATTRIBUTE]
        assert record["role"] == ("random" if record["t"] % 3 == 0 else "model")
        assert record.get("mine") == (record["t"] if record["t"] % 3 == 0 else None)


def test_a_method_is_registered_in_one_line() -> None:
    uhebo.register("every-third-random", every_third_random)
    try:
        named = run(PROBLEMS["floats"], 14, method="every-third-random")
        given = run(PROBLEMS["floats"], 14, method=every_third_random)
        assert [trial.params for trial in named.trials] == [trial.params for trial in given.trials]
        with pytest.raises(InvalidInputError, match="there is a method 'every-third-random' already"):
            uhebo.register("every-third-random", every_third_random)
    finally:
        del METHODS["every-third-random"]


# What is said, and how often


def test_nothing_is_said_of_conditional_parameters(caplog: pytest.LogCaptureFixture) -> None:
    """They are modelled like all others."""
    with caplog.at_level(logging.WARNING, logger="uhebo"):
        run(PROBLEMS["conditional"], 10, method="map", n_startup_trials=5)
    assert not [record.getMessage() for record in caplog.records if record.name == "uhebo"]


@pytest.mark.usefixtures("short_chains")
@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("method", OWN_METHODS)
def test_suggestions_that_are_under_way_together_differ(method: str, noise: float) -> None:
    """Four are asked for before any is told, on a bowl, where all would like the same place."""
    space: dict[str, BaseDistribution] = {"x": Float(0, 1), "y": Float(0, 1)}
    sampler = UHESampler(method=method, seed=1, n_trials=40, n_startup_trials=4)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    rng = np.random.default_rng(1)
    for x, y in rng.random((8, 2)):
        value = -((x - 0.4) ** 2) - (y - 0.6) ** 2 + noise * rng.standard_normal()
        study.add_trial(optuna.create_trial(params={"x": x, "y": y}, distributions=space, value=value))
    points = np.array([list(study.ask(space).params.values()) for _ in range(4)])
    apart = [np.linalg.norm(one - other) for one, other in itertools.combinations(points, 2)]
    assert min(apart) > 3e-3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "best"}, "unknown method 'best'; choose one of auto, uhe, "),
        ({"acquisition": "ei"}, "unknown acquisition 'ei'; did you mean 'log-ei'"),
        ({"kernel": "rbf"}, "kernel"),
        ({"prior": "nice"}, "prior"),
        ({"beta": -1}, "beta is -1; expected a finite number >= 0, or 'theory'"),
        ({"beta": "large"}, "beta is 'large'"),
        ({"beta": math.nan}, "beta is nan"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 1.5}, r"seed is 1\.5"),
        ({"n_trials": 0}, "n_trials is 0; expected an integer >= 1"),
        ({"n_startup_trials": -1}, "n_startup_trials is -1; expected an integer >= 0"),
        ({"n_startup_trials": True}, "n_startup_trials is True"),
        ({"reward_clip": "above"}, "unknown reward_clip 'above'"),
        ({"guarantee": True}, "guarantee=True with method='auto'; the theorems are about uhe, ra"),
        ({"guarantee": True, "method": "uhe"}, "guarantee=True needs n_trials"),
        ({"guarantee": True, "method": "ra", "n_trials": 50, "acquisition": "log-ei"}, "the theorem is about 'ucb'"),
        ({"guarantee": True, "method": "uhe", "n_trials": 50, "reading": "distinct"}, "the proof has 'drawn'"),
        ({"guarantee": True, "method": "uhe", "n_trials": 50, "beta": 2.0}, "it sets beta='theory', so leave it out"),
        (
            {"guarantee": True, "method": "uhe", "n_trials": 50, "exact": False},
            "it sets exact=True, so leave it out",
        ),
        ({"guarantee": "yes"}, "guarantee is 'yes'"),
        ({"exact": "no"}, "exact is 'no'"),
        ({"reading": "x"}, "unknown reading 'x'; choose one of observed, distinct, drawn"),
    ],
)
def test_misuse_is_refused_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        UHESampler(**options)


def test_a_study_that_ran_can_be_pickled_with_its_sampler() -> None:
    """Dask and joblib send studies to other processes."""
    study = optuna.create_study(sampler=UHESampler(seed=0, n_startup_trials=2))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    copy = pickle.loads(pickle.dumps(study))
    assert copy.ask({"x": FloatDistribution(0, 1)}).params == study.ask({"x": FloatDistribution(0, 1)}).params


def test_hyperband_hands_the_sampler_a_part_of_the_study() -> None:
    """Its brackets show the sampler some of the trials, and few of a study's attributes."""

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        for step in range(4):
            trial.report(x + 1 / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return x

    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=4)
    sampler = UHESampler(seed=0, n_startup_trials=2)
    study = optuna.create_study(sampler=sampler, pruner=pruner, study_name="brackets")  # which are drawn by the name
    study.optimize(objective, n_trials=20)
    assert any(trial.system_attrs[ATTRIBUTE]["role"] == "model" for trial in study.trials)
