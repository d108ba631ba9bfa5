"""Optuna's own test suites for samplers, run on `UHESampler`: its default with 0 and 1 start-up trials, and others.

And `independent_sampler`: for parameters that the model does not cover, and for nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

from uhebo import UHESampler
from uhebo.optuna_ import claims

OPTIONS: dict[str, dict[str, Any]] = {
    "default, 0 start-up": {"n_startup_trials": 0},
    "default, 1 start-up": {"n_startup_trials": 1},
    "uhe, 0 start-up": {"n_startup_trials": 0, "method": "uhe"},
    "map, 1 start-up": {"n_startup_trials": 1, "method": "map"},
}


@pytest.fixture(params=OPTIONS.values(), ids=list(OPTIONS))
def sampler(request: pytest.FixtureRequest) -> Callable[[], BaseSampler]:
    """With repeats, because the suites count trials of spaces with two points."""
    return partial(UHESampler, seed=0, when_exhausted="repeat", **request.param)


class _Sampler:
    """The suites ask for a fixture in the class; this one hands on that of the module."""

    @pytest.fixture
    def sampler(self, sampler: Callable[[], BaseSampler]) -> Callable[[], BaseSampler]:
        return sampler


class TestBasic(_Sampler, BasicSamplerTestCase):
    pass


class TestRelative(RelativeSamplerTestCase):
    """Many pairs of distributions: the default alone. What sets methods apart does not depend on the pair.

    Its trials claim points and never store them, so that every claim is polled for to the end: without pauses here.
    """

    @pytest.fixture
    def sampler(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[], BaseSampler]:
        monkeypatch.setattr(claims, "POLL_S", 0.0)
        return partial(UHESampler, seed=0, n_startup_trials=0, when_exhausted="repeat")


class TestMultiObjective(MultiObjectiveSamplerTestCase):
    @pytest.fixture(params=[0, 1])
    def sampler(self, request: pytest.FixtureRequest) -> Callable[[], BaseSampler]:
        return partial(UHESampler, seed=0, n_startup_trials=request.param)


class TestSingleOnly(SingleOnlySamplerTestCase):
    """The paper's methods refuse several objectives."""

    @pytest.fixture(params=["uhe", "map"])
    def sampler(self, request: pytest.FixtureRequest) -> Callable[[], BaseSampler]:
        return partial(UHESampler, seed=0, n_startup_trials=0, method=request.param)


# The sampler for parameters that the model does not cover


class Noted(RandomSampler):
    """Random, and remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__(seed=0)
        self.asked: list[tuple[int, str]] = []
        self.told: list[int] = []

    def sample_independent(
        self,
        study: optuna.Study,
        trial: optuna.trial.FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        self.asked.append((trial.number, param_name))
        return super().sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: optuna.Study, trial: optuna.trial.FrozenTrial, *rest: Any) -> None:
        self.told.append(trial.number)
        super().after_trial(study, trial, *rest)


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", 0.0, 1.0)
    return x + (trial.suggest_float(f"only in {trial.number}", 0.0, 1.0) if trial.number % 4 == 3 else 0.0)


@pytest.mark.parametrize("method", ["auto", "map"])
def test_it_is_asked_for_what_the_model_does_not_cover(method: str) -> None:
    other = Noted()
    study = optuna.create_study(sampler=UHESampler(method=method, seed=0, independent_sampler=other))
    study.optimize(objective, n_trials=8)
    assert other.asked == [(3, "only in 3"), (7, "only in 7")]
    assert other.told == list(range(8))
    plain = optuna.create_study(sampler=UHESampler(method=method, seed=0))
    plain.optimize(objective, n_trials=8)
    assert [t.params["x"] for t in plain.trials][:3] == [t.params["x"] for t in study.trials][:3]


def test_samplers_fork_together() -> None:
    class Counted(Noted):
        reseeded = 0

        def reseed_rng(self) -> None:
            self.reseeded += 1

    other: BaseSampler = Counted()
    UHESampler(independent_sampler=other).reseed_rng()
    assert isinstance(other, Counted)
    assert other.reseeded == 1
