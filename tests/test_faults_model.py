"""Rows 1 to 12 of `faults.md` in the model: a finite posterior or a typed error, whatever was observed.

Warnings are errors in this suite (pyproject.toml), so an overflow or a division by zero anywhere below fails the test.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uhebo.errors import InvalidInputError
from uhebo.estimate import (
    ESTIMATORS,
    READINGS,
    Estimator,
    Fit,
    Reading,
    consistent_estimate,
    hmc_estimate,
    map_estimate,
)
from uhebo.gp import Data, Domain, Posterior, Theta, named_prior
from uhebo.types import Array

CASES = {
    **ESTIMATORS,
    "hmc": Estimator.of("hmc", partial(hmc_estimate, burn_in=8, kept=2, thin=1)),
}
every_estimator = pytest.mark.parametrize("name", list(CASES))


def fit(name: str, data: Data, prior: str = "paper", seed: int = 0) -> Fit:
    return CASES[name](
        data, kernel="matern52", prior=named_prior(prior, data.dimension), rng=np.random.default_rng(seed)
    )


def assert_finite(result: Fit) -> None:
    """Everything a caller may ask of the fit is a finite number, at the data and elsewhere."""
    rng = np.random.default_rng(1)
    for posterior in result.posteriors:
        data, theta = posterior.data, posterior.theta
        assert np.isfinite(theta.to_log()).all()
        query = np.concatenate([data.X[:20], data.domain.uniform(rng, 20)])
        mean, variance, *gradients = posterior.predict_with_gradient(query)
        # A quarter of the user's units: where the data end at the largest double, a prediction may lie beyond it.
        natural = data.location / 4 + data.scale / 4 * mean
        for values in (mean, variance, *gradients, posterior.sample(query, rng), natural):
            assert np.isfinite(values).all()
        assert (variance >= 0.0).all()
        assert (variance <= theta.v * (1 + 1e-9)).all()
    assert np.isfinite(result.log_posterior)


def spread_out(n: int, d: int = 2, seed: int = 0) -> Array:
    return np.random.default_rng(seed).random((n, d))


@every_estimator
def test_row_01_no_observation(name: str) -> None:
    data = Data.of(np.zeros((0, 3)), [], Domain((0, 0, 4)))
    result = fit(name, data)
    assert result.fallback == "no data"
    assert not result.converged
    assert_finite(result)
    mean, variance = result.posterior.predict(data.domain.uniform(np.random.default_rng(0), 5))
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_array_equal(variance, result.theta.v)
    assert result.posterior.predict(np.zeros((0, 3)))[0].shape == (0,)
    assert all(len(values) == 0 for values in result.posterior.leave_one_out())


@every_estimator
@pytest.mark.parametrize("prior", ["paper", "paper-scale", "paper-ev", "flat", "dim-scaled"])
def test_row_02_one_observation(name: str, prior: str) -> None:
    result = fit(name, Data.of([[0.3, 0.7]], [5.0]), prior)
    assert result.posterior.data.location == 5.0
    assert_finite(result)


@every_estimator
@pytest.mark.parametrize("level", [0.0, 3.0, 1e300, -1e-300])
def test_row_03_constant_y(name: str, level: float) -> None:
    data = Data.of(spread_out(12), np.full(12, level))
    assert data.scale == 1.0
    assert data.location == level
    result = fit(name, data)
    assert_finite(result)
    far, near = result.posterior.predict(np.array([[0.5, 0.5], data.X[0]]))[1]
    assert far > 0.0  # there is something left to explore
    assert near < result.theta.v


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_row_04_05_non_finite_values_are_refused(bad: float) -> None:
    """Leaving a trial out (row 4) or clipping it (row 5) is the caller's decision; the model does neither."""
    X, y = spread_out(5), np.arange(5.0)
    y[3] = bad
    with pytest.raises(InvalidInputError, match="row 3"):
        Data.of(X, y)
    X[2, 1] = bad
    with pytest.raises(InvalidInputError, match="row 2"):
        Data.of(X, np.arange(5.0))


def test_row_06_all_values_non_finite() -> None:
    with pytest.raises(InvalidInputError):
        Data.of(spread_out(5), np.full(5, np.nan))


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((3, 2)), np.zeros(4)),
        (np.zeros((2, 2, 2)), np.zeros(2)),
        ([["a", "b"]], [1.0]),
        ([[0.1, 0.2]], [None]),
        ([[0.1, 1e200]], [1.0]),
    ],
)
def test_row_06_wrong_shapes_and_types_are_refused(X: object, y: object) -> None:
    with pytest.raises(InvalidInputError):
        Data.of(X, y)  # type: ignore[arg-type]


HUGE = {
    "1e300": 1e300 * np.linspace(-1, 1, 15),
    "largest": np.finfo(np.float64).max * np.where(np.arange(15) % 2, 1.0, -1.0),
    "1e-300": 1e-300 * np.linspace(1, 2, 15),
    "subnormal": 5e-324 * np.arange(15),
    "mixed": 10.0 ** np.linspace(-300, 300, 15),
    "mixed signs": np.where(np.arange(15) % 2, 1.0, -1.0) * 10.0 ** np.linspace(-300, 300, 15),
}


@every_estimator
@pytest.mark.parametrize("values", HUGE.values(), ids=HUGE)
def test_row_07_huge_and_tiny_values(name: str, values: Array) -> None:
    data = Data.of(spread_out(15), values)
    assert np.isfinite([data.location, data.scale]).all()
    assert data.scale > 0.0
    assert_finite(fit(name, data))


def test_row_07_standardised_values_do_not_depend_on_the_unit() -> None:
    y = np.random.default_rng(0).standard_normal(20)
    expected = Data.of(spread_out(20), y).y
    for unit in (1e-300, 1e-30, 1e30, 1e300):
        np.testing.assert_allclose(Data.of(spread_out(20), unit * y).y, expected, rtol=1e-9)


@every_estimator
def test_row_08_small_signal_on_a_large_offset_keeps_its_ranking(name: str) -> None:
    X = spread_out(20)
    signal = np.round(1e3 * np.sin(5 * X[:, 0]) + X[:, 1]) * 1e-3
    data = Data.of(X, 1e12 + signal)
    observed = 1e12 + signal  # what is left of the signal at this offset: steps of 2^-13
    np.testing.assert_array_equal(np.argsort(data.y, kind="stable"), np.argsort(observed, kind="stable"))
    np.testing.assert_allclose(np.corrcoef(data.y, signal)[0, 1], 1.0, atol=1e-6)
    result = fit(name, data)
    assert_finite(result)
    if name in {"mle", "map"}:
        mean, _ = result.posterior.predict(X)
        assert np.argmax(mean) == np.argmax(data.y)


@every_estimator
@pytest.mark.parametrize("elsewhere", [0, 3])
def test_row_09_one_point_500_times(name: str, elsewhere: int) -> None:
    X = np.concatenate([np.full((500, 2), 0.4), spread_out(elsewhere)])
    y = np.concatenate([np.full(500, 2.0), np.arange(float(elsewhere))])
    # HMC on 500 points costs what it costs; the matrix is the same one.
    estimator = Estimator.of("hmc", partial(hmc_estimate, burn_in=2, kept=1, thin=1)) if name == "hmc" else CASES[name]
    prior = named_prior("paper", 2)
    assert_finite(estimator(Data.of(X, y), kernel="matern52", prior=prior, rng=np.random.default_rng(0)))


@pytest.mark.parametrize("name", ["mle", "map", "hmc"])
@pytest.mark.parametrize("prior", ["flat", "paper", "dim-scaled"])
def test_row_10_one_point_with_different_values_has_noise(name: str, prior: str) -> None:
    rng = np.random.default_rng(0)
    spread = spread_out(10)
    X = np.concatenate([np.full((20, 2), 0.5), spread])
    y = np.concatenate([rng.standard_normal(20), 0.1 * spread[:, 0]])
    result = fit(name, Data.of(X, y), prior)
    assert_finite(result)
    assert min(posterior.theta.s2 for posterior in result.posteriors) > 0.02


@pytest.mark.parametrize("reading", list(READINGS))
def test_row_10_the_consistent_loss_stays_finite(reading: Reading) -> None:
    """It looks at one of the repeated values only, so it need not find the noise."""
    data = Data.of(np.full((20, 2), 0.5), np.random.default_rng(0).standard_normal(20))
    assert_finite(consistent_estimate(data, rng=np.random.default_rng(0), reading=reading))


def clusters() -> dict[str, Array]:
    rng = np.random.default_rng(0)
    spread, close = rng.random((10, 3)), 0.5 + 2e-4 * rng.random((20, 3))
    return {
        "within 1e-12": 0.3 + 1e-12 * rng.random((30, 3)),
        "spread, close and identical": np.concatenate([spread, close, np.full((10, 3), 0.25)]),
    }


@every_estimator
@pytest.mark.parametrize("case", list(clusters()))
@pytest.mark.parametrize("noisy", [False, True])
def test_row_11_clusters(name: str, case: str, noisy: bool) -> None:
    X = clusters()[case]
    y = np.sin(7 * X).sum(axis=1) + (np.random.default_rng(1).standard_normal(len(X)) if noisy else 0.0)
    for prior in ("paper", "flat"):
        assert_finite(fit(name, Data.of(X, y), prior))


def test_row_11_growing_by_a_duplicate_without_noise() -> None:
    """What is left of the variance at a known point is rounding error; jitter must not be scaled by that."""
    theta = Theta.of([2.0, 2.0], 1e3, 0.0)
    posterior = Posterior.of(Data.of(spread_out(6), np.arange(6.0)), theta)
    for _ in range(5):
        posterior = posterior.grow(posterior.data.X[[2]], posterior.data.y[[2]])
    assert posterior.jitter > 0.0
    assert np.isfinite(posterior.predict(spread_out(10, seed=1))[0]).all()
    assert np.isfinite(posterior.sample(np.repeat(posterior.data.X, 3, axis=0), np.random.default_rng(0))).all()


@every_estimator
@pytest.mark.parametrize("size", [1e6, -1e6, 1e15])
def test_row_12_outlier(name: str, size: float) -> None:
    X = spread_out(25)
    y = -((X - 0.4) ** 2).sum(axis=1)
    y = (y - y.mean()) / y.std()
    best = int(np.argmax(y[1:])) + 1
    y[0] = size
    data = Data.of(X, y)
    assert int(np.argmax(data.y[1:])) + 1 == best
    assert_finite(fit(name, data))


def test_a_warm_start_from_anywhere() -> None:
    """A warm theta outside the box, without noise, is projected; one of another dimension is refused by name."""
    data = Data.of(spread_out(15), np.sin(6 * spread_out(15)[:, 0]))
    result = map_estimate(data, rng=np.random.default_rng(0), warm=Theta.of([1e-9, 1e9], 1e9, 0.0))
    assert_finite(result)
    with pytest.raises(InvalidInputError, match="warm has 3"):
        map_estimate(data, rng=np.random.default_rng(0), warm=Theta.of([1.0] * 3, 1.0, 0.1))


@st.composite
def nasty_data(draw: st.DrawFn) -> Data:
    """Duplicates, clusters, ties, corners, constants and fifteen orders of magnitude, alone and together."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    domain = Domain(tuple(draw(st.lists(st.sampled_from([0, 0, 2, 5]), min_size=1, max_size=4))))
    n = draw(st.sampled_from([1, 2, 3, 7, 20, 70]))
    X = domain.uniform(rng, n)
    numeric = domain.numeric
    if draw(st.booleans()):
        X = X[rng.integers(0, max(1, n // 3), n)]
    if draw(st.booleans()):
        X[:, numeric] = 0.5 + (X[:, numeric] - 0.5) * 10.0 ** draw(st.integers(-16, -1))
    if draw(st.booleans()):
        X[:, numeric] = np.round(X[:, numeric])
    y = {
        "normal": rng.standard_normal(n),
        "constant": np.full(n, rng.standard_normal()),
        "two values": rng.integers(0, 2, n).astype(float),
        "heavy tails": rng.standard_cauchy(n) ** 5,
        "one differs": np.where(np.arange(n) == 0, 1.0, 0.0),
        "of x": np.sin(6 * X).sum(axis=1),
    }[draw(st.sampled_from(["normal", "constant", "two values", "heavy tails", "one differs", "of x"]))]
    unit = 10.0 ** draw(st.sampled_from([-300, -8, 0, 8, 250]))
    return Data.of(X, unit * y + draw(st.sampled_from([0.0, 0.0, 1e6])), domain)


@given(nasty_data(), st.sampled_from(list(CASES)), st.sampled_from(["paper", "paper-ev", "flat", "dim-scaled"]))
@settings(max_examples=120)
def test_nasty_data_sets(data: Data, name: str, prior: str) -> None:
    assert_finite(fit(name, data, prior))
