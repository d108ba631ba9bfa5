"""Optuna's own test suites for samplers, run on `UHESampler`: its default with 0 and 1 start-up trials, and others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from optuna.samplers import BaseSampler
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
