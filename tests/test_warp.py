"""The warp of targets against SciPy's, and what it must leave alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import yeojohnson, yeojohnson_llf, yeojohnson_normmax

from uhebo.gp import Data
from uhebo.gp.warp import Warp, best_parameter, log_likelihood, yeo_johnson
from uhebo.types import Array


@pytest.mark.parametrize("parameter", [-2.0, 0.0, 0.5, 1.0, 1.7, 2.0, 3.3])
def test_transform_agrees_with_scipy(parameter: float) -> None:
    y = np.linspace(-4.0, 6.0, 41)
    np.testing.assert_allclose(yeo_johnson(y, parameter), yeojohnson(y, lmbda=parameter), rtol=1e-12, atol=1e-12)
    assert log_likelihood(y, parameter) == pytest.approx(yeojohnson_llf(parameter, y), rel=1e-10)


@pytest.mark.parametrize("tail", [0.0, 0.5, 1.0, 2.0])
def test_parameter_agrees_with_scipy(tail: float) -> None:
    rng = np.random.default_rng(0)
    y = -rng.lognormal(sigma=tail, size=80) if tail else rng.standard_normal(80)
    y = (y - y.mean()) / y.std()
    assert best_parameter(y) == pytest.approx(yeojohnson_normmax(y), abs=0.03)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_order_is_kept_and_everything_stays_finite(values: list[float]) -> None:
    y = Data.of(np.zeros((len(values), 1)), values).y
    warped = Warp.fit(y).forward(y)
    assert np.isfinite(warped).all()
    assert (np.diff(warped[np.argsort(values, kind="stable")]) >= 0.0).all()


def test_a_long_tail_is_pulled_in() -> None:
    values = np.concatenate([np.linspace(0, 1, 30), [-50.0]])
    plain = Data.of(np.zeros((31, 1)), values).y
    warped = Data.of(np.zeros((31, 1)), Warp.fit(plain).forward(plain)).y
    assert np.ptp(plain[:30]) < 0.2 < 1.0 < np.ptp(warped[:30])


def test_few_or_constant_values_are_left_alone() -> None:
    for values in ([1.0, 2.0, 9.0], [3.0] * 10):
        assert Warp.fit(Data.of(np.zeros((len(values), 1)), values).y) is Warp.identity


WARPS = st.builds(
    lambda parameter, low, width: Warp(parameter, low, low + width),
    st.floats(-2.25, 4.25),
    st.floats(-8.0, 0.0),
    st.floats(0.0, 8.0),
)
POINTS = st.lists(st.floats(-50.0, 50.0), min_size=2, max_size=20, unique=True).map(sorted).map(np.array)


@given(WARPS, POINTS)
def test_the_inverse_is_one_everywhere(warp: Warp, points: Array) -> None:
    """Inside and outside of the range of values seen, from either side."""
    np.testing.assert_allclose(warp.inverse(warp.forward(points)), points, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(warp.forward(warp.inverse(points)), points, rtol=1e-6, atol=1e-6)


@given(WARPS, POINTS)
def test_it_rises_everywhere_with_its_slope(warp: Warp, points: Array) -> None:
    step = 1e-5
    rise = (warp.forward(points + step) - warp.forward(points - step)) / (2 * step)
    np.testing.assert_allclose(rise, warp.slope(points), rtol=1e-3)
    assert (warp.slope(points) > 0.0).all()
    assert (np.diff(warp.forward(points)) >= 0.0).all()
    assert (np.diff(warp.inverse(points)) >= 0.0).all()


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40), POINTS)
def test_a_fitted_warp_is_the_transform_on_what_was_seen_and_finite_beyond(values: list[float], points: Array) -> None:
    y = Data.of(np.zeros((len(values), 1)), values).y
    warp = Warp.fit(y)
    if warp is not Warp.identity:
        np.testing.assert_array_equal(warp.forward(y), yeo_johnson(y, warp.parameter))
    np.testing.assert_allclose(warp.inverse(warp.forward(y)), y, rtol=1e-6, atol=1e-6)
    assert np.isfinite(warp.inverse(points)).all()
    assert np.isfinite(warp.forward(points)).all()


def test_the_identity_changes_nothing() -> None:
    y = np.array([-1e300, -1.5, 0.0, 0.1, 7.0])
    np.testing.assert_array_equal(Warp.identity.forward(y), y)
    np.testing.assert_array_equal(Warp.identity.inverse(y), y)
    assert Warp.fit(np.zeros(9)) is Warp.identity
