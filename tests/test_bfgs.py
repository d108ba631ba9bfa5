"""The batched bounded BFGS against SciPy's L-BFGS-B, and what it promises about bounds, batches and bad functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from uhebo.gp import Data, LogMarginalLikelihood, LogPosterior, named_prior
from uhebo.numerics.bfgs import Minima, minimise
from uhebo.types import Array

Batched = Callable[[Array], tuple[Array, Array]]


def rosenbrock(x: Array) -> tuple[Array, Array]:
    a, b = x[:, :-1], x[:, 1:]
    gradient = np.zeros_like(x)
    gradient[:, :-1] = -400 * a * (b - a * a) - 2 * (1 - a)
    gradient[:, 1:] += 200 * (b - a * a)
    return (100 * (b - a * a) ** 2 + (1 - a) ** 2).sum(axis=1), gradient


def quadratic(matrix: Array, centre: Array) -> Batched:
    def function(x: Array) -> tuple[Array, Array]:
        slope = (x - centre) @ matrix
        return 0.5 * ((x - centre) * slope).sum(axis=1), slope

    return function


def negative_log_posterior(n: int, prior: str, seed: int) -> tuple[Batched, Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    data = Data.of(X, np.sin(5 * X[:, 0]) * X[:, 1] + 0.05 * rng.standard_normal(n))
    chosen = named_prior(prior, 3)
    target = LogPosterior(LogMarginalLikelihood([(data.X, data.y)], "matern52", data.domain), chosen)

    def function(x: Array) -> tuple[Array, Array]:
        value, gradient = target(x)
        return -value, -gradient

    return function, *chosen.bounds(3)


def scipy_value(function: Batched, start: Array, low: Array, high: Array) -> float:
    def single(x: Array) -> tuple[float, Array]:
        value, gradient = function(x[None])
        return float(value[0]), gradient[0]

    bounds = list(zip(low, high, strict=True))
    options = {"maxiter": 2000, "maxfun": 20000, "ftol": 1e-14, "gtol": 1e-8}
    found = minimize(single, np.clip(start, low, high), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return float(found.fun)


def assert_inside(result: Minima, low: Array, high: Array) -> None:
    assert (result.x >= low).all()
    assert (result.x <= high).all()


@pytest.mark.parametrize("p", [2, 5])
@pytest.mark.parametrize("upper", [3.0, 0.6], ids=["free", "active bounds"])
def test_rosenbrock_against_scipy(p: int, upper: float) -> None:
    low, high = np.full(p, -2.0), np.full(p, upper)
    starts = np.random.default_rng(0).uniform(-2.0, upper, (6, p))
    result = minimise(rosenbrock, starts, low, high, max_rounds=1000, gradient_tolerance=1e-7, value_tolerance=1e-15)
    assert result.converged.all()
    assert_inside(result, low, high)
    # In five dimensions there is a second, local minimum (3.93), so ends are compared as sets.
    theirs = sorted(scipy_value(rosenbrock, start, low, high) for start in starts)
    assert min(result.value) <= theirs[0] + 1e-8
    assert max(result.value) <= max(theirs[-1], 3.94) + 1e-8


@given(
    st.integers(1, 8),
    st.floats(0.0, 5.0),
    st.sampled_from([0.3, 1.0, 10.0]),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=60)
def test_convex_quadratics_against_scipy(p: int, log_condition: float, half_width: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.standard_normal((p, p)))
    matrix = (rotation * 10.0 ** np.linspace(0.0, log_condition, p)) @ rotation.T
    function = quadratic(matrix, rng.uniform(-2.0, 2.0, p))
    low, high = np.full(p, -half_width), np.full(p, half_width)
    starts = rng.uniform(-half_width, half_width, (3, p))
    result = minimise(function, starts, low, high, max_rounds=500, value_tolerance=1e-14)
    assert_inside(result, low, high)
    theirs = scipy_value(function, starts[0], low, high)
    np.testing.assert_array_less(result.value, theirs + 1e-6 * max(1.0, abs(theirs)))


@pytest.mark.parametrize("prior", ["flat", "paper", "dim-scaled"])
@pytest.mark.parametrize("n", [10, 40, 120])
def test_log_posterior_against_scipy(prior: str, n: int) -> None:
    function, low, high = negative_log_posterior(n, prior, seed=n)
    starts = np.random.default_rng(1).uniform(np.log(0.1), np.log(1.0), (4, 5))
    result = minimise(function, starts, low, high, max_rounds=400)
    assert_inside(result, low, high)
    theirs = min(scipy_value(function, start, low, high) for start in starts)
    assert result.value.min() <= theirs + 1e-3
    np.testing.assert_allclose(result.value, function(result.x)[0], rtol=1e-12)


def test_a_batch_equals_its_rows() -> None:
    function, low, high = negative_log_posterior(20, "paper", seed=3)
    starts = np.random.default_rng(2).uniform(-2.0, 0.0, (4, 5))
    together = minimise(function, starts, low, high)
    for row, start in enumerate(starts):
        alone = minimise(function, start[None], low, high)
        np.testing.assert_allclose(together.value[row], alone.value[0], atol=1e-6)
        assert together.converged[row] == alone.converged[0]


def test_a_race_follows_only_the_leader() -> None:
    low, high = np.full(5, -2.0), np.full(5, 3.0)
    starts = np.random.default_rng(0).uniform(-2.0, 3.0, (8, 5))
    counted = []

    def counting(x: Array) -> tuple[Array, Array]:
        counted.append(len(x))
        return rosenbrock(x)

    every = minimise(counting, starts, low, high, max_rounds=500)
    without_race = sum(counted)
    counted.clear()
    raced = minimise(counting, starts, low, high, max_rounds=500, race_tolerance=1e-2)
    assert sum(counted) < without_race
    assert raced.value.min() <= every.value.min() + 1e-6
    assert raced.converged[np.argmin(raced.value)]
    assert not raced.converged.all()  # to be dropped from a race is not to converge
    # The others are reported where they stopped, with their true values.
    np.testing.assert_allclose(raced.value, rosenbrock(raced.x)[0], rtol=1e-12)
    assert_inside(raced, low, high)


def test_the_true_hessian_needs_one_step() -> None:
    matrix = np.diag([1.0, 100.0, 1e4])
    function = quadratic(matrix, np.array([0.3, -0.2, 0.1]))
    low, high = np.full(3, -1.0), np.full(3, 1.0)
    starts = np.array([[0.9, 0.9, 0.9], [-0.5, 0.5, 0.0]])
    result = minimise(function, starts, low, high, hessian=np.repeat(matrix[None], 2, axis=0))
    assert result.rounds <= 3
    np.testing.assert_allclose(result.value, 0.0, atol=1e-12)
    plain = minimise(function, starts, low, high)
    assert plain.rounds > result.rounds


def test_a_useless_hessian_is_survived() -> None:
    function = quadratic(np.diag([1.0, 4.0]), np.zeros(2))
    low, high = np.full(2, -1.0), np.full(2, 1.0)
    for matrix in (np.zeros((2, 2)), -np.eye(2), np.full((2, 2), 1.0), 1e-12 * np.eye(2), 1e12 * np.eye(2)):
        result = minimise(function, np.array([[0.5, 0.7]]), low, high, hessian=matrix[None])
        assert_inside(result, low, high)
        assert np.isfinite(result.value).all()
        assert result.value[0] <= function(np.array([[0.5, 0.7]]))[0][0]


def test_starts_outside_the_box_are_projected() -> None:
    low, high = np.array([-1.0, 0.0]), np.array([1.0, 0.5])
    seen = []

    def watched(x: Array) -> tuple[Array, Array]:
        seen.append(x.copy())
        return rosenbrock(x)

    result = minimise(watched, np.array([[50.0, -50.0], [-50.0, 50.0]]), low, high, max_rounds=500)
    everywhere = np.concatenate(seen)
    assert (everywhere >= low).all()
    assert (everywhere <= high).all()
    np.testing.assert_allclose(result.value, scipy_value(rosenbrock, np.zeros(2), low, high), atol=1e-6)


@pytest.mark.parametrize("failure", [1e15, np.inf, np.nan])
def test_a_failing_region_does_not_break_the_search(failure: float) -> None:
    """A likelihood without a Cholesky factor is a large value with zero gradient; NaN and infinity are survived too."""

    def function(x: Array) -> tuple[Array, Array]:
        value, gradient = rosenbrock(x)
        failed = x[:, 0] < -0.5
        return np.where(failed, failure, value), np.where(failed[:, None], 0.0, gradient)

    low, high = np.full(2, -2.0), np.full(2, 2.0)
    starts = np.array([[1.9, -1.9], [-1.0, 0.0], [0.0, -1.0], [-0.4, 1.5]])
    before = function(starts)[0]
    result = minimise(function, starts, low, high, max_rounds=500)
    np.testing.assert_allclose(result.value[[0, 2]], 0.0, atol=1e-6)
    np.testing.assert_array_equal(result.x[1], [-1.0, 0.0])  # began inside the failure: nothing to go by
    assert result.value[3] < before[3]  # runs against the failure and may stay there
    assert result.x[3, 0] >= -0.5
    assert_inside(result, low, high)


def test_zero_gradient_and_single_point_box() -> None:
    matrix, centre = np.eye(2), np.array([0.2, 0.3])
    result = minimise(quadratic(matrix, centre), centre[None], np.zeros(2), np.ones(2))
    assert result.converged[0]
    assert result.rounds == 1
    np.testing.assert_array_equal(result.x[0], centre)
    pinned = minimise(quadratic(matrix, centre), np.array([[0.0, 9.0]]), np.full(2, 0.5), np.full(2, 0.5))
    np.testing.assert_array_equal(pinned.x[0], [0.5, 0.5])
    assert pinned.converged[0]


def test_running_out_of_rounds_is_not_convergence() -> None:
    low, high = np.full(5, -2.0), np.full(5, 3.0)
    result = minimise(rosenbrock, np.full((1, 5), -1.5), low, high, max_rounds=4)
    assert result.rounds == 4
    assert not result.converged[0]
    assert result.value[0] < rosenbrock(np.full((1, 5), -1.5))[0][0]
