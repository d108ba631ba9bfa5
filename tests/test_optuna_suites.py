"""Optuna's own test suites for samplers, run on `UHESampler` with 0 and 1 start-up trials."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase

from uhebo import UHESampler


@pytest.fixture(params=[0, 1], ids=["0 start-up", "1 start-up"])
def n_startup_trials(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(params=[{}, {"method": "uhe"}, {"method": "map"}], ids=["default", "uhe", "map"])
def sampler(request: pytest.FixtureRequest, n_startup_trials: int) -> Callable[[], BaseSampler]:
    options: dict[str, Any] = request.param
    return partial(UHESampler, n_startup_trials=n_startup_trials, seed=0, **options)


class _Sampler:
    """The suites ask for a fixture in the class; this one hands on that of the module."""

    @pytest.fixture
    def sampler(self, sampler: Callable[[], BaseSampler]) -> Callable[[], BaseSampler]:
        return sampler


class TestBasic(_Sampler, BasicSamplerTestCase):
    pass


class TestRelative(_Sampler, RelativeSamplerTestCase):
    pass


class TestSingleOnly(_Sampler, SingleOnlySamplerTestCase):
    pass
