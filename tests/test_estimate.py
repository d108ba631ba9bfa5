"""Every estimator: optima against scikit-learn, the consistent loss against brute force, and the fallbacks."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Literal

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from uhebo import estimate
from uhebo.errors import InvalidInputError
from uhebo.estimate import (
    ESTIMATORS,
    Failure,
    Fit,
    Reading,
    consistent_estimate,
    hmc_estimate,
    map_estimate,
    mle_estimate,
    named_estimator,
)
from uhebo.estimate.consistent import drawn, nearest, observed
from uhebo.estimate.fit import MODERATE_THETA, STEP_GAIN, Pairs, log_posterior
from uhebo.gp import Data, Domain, LogMarginalLikelihood, Posterior, Prior, Theta, named_prior
from uhebo.gp.kernels import KERNELS, squared_distance
from uhebo.gp.likelihood import BATCH_SIZE
from uhebo.types import Array, Rng

MIXED = Domain((0, 3, 0, 5))


def made_up(n: int, d: int = 2, seed: int = 0, noise: float = 0.1) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return Data.of(X, np.sin(6 * X[:, 0]) + X.sum(axis=1) + noise * rng.standard_normal(n))


def value_at(data: Data, theta: Theta, prior: str = "flat") -> tuple[float, Array]:
    value, gradient = log_posterior(data, "matern52", named_prior(prior, data.dimension))(theta.to_log()[None])
    return float(value[0]), gradient[0]


# Maximum likelihood and maximum a posteriori


@pytest.mark.parametrize(("n", "d", "noise"), [(12, 1, 0.1), (25, 2, 0.0), (40, 3, 0.3), (90, 3, 0.1), (150, 2, 0.05)])
def test_mle_reaches_scikit_learns_optimum(n: int, d: int, noise: float) -> None:
    data = made_up(n, d, seed=n, noise=noise)
    box = named_prior("flat", d)
    kernel = ConstantKernel(1.0, box.signal_bounds) * Matern([0.5] * d, box.lengthscale_bounds, nu=2.5)
    oracle = GaussianProcessRegressor(
        kernel + WhiteKernel(1e-3, box.noise_bounds), alpha=0.0, n_restarts_optimizer=2, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # parameters at their bounds
        oracle.fit(data.X, data.y)
    v, *ell, s2 = np.exp(oracle.kernel_.theta)
    theirs, _ = value_at(data, Theta.of(ell, v, s2))
    for fit in (
        mle_estimate(data, rng=np.random.default_rng(0)),
        map_estimate(data, prior="flat", rng=np.random.default_rng(1)),
    ):
        assert fit.converged
        assert fit.log_posterior >= theirs - 0.05
        np.testing.assert_allclose(fit.log_posterior, value_at(data, fit.theta)[0], rtol=1e-6)


@pytest.mark.parametrize("prior", ["paper", "paper-scale", "dim-scaled", "flat"])
@pytest.mark.parametrize("n", [15, 50, 110])
def test_map_is_a_local_maximum(prior: str, n: int) -> None:
    data = made_up(n, seed=n)
    fit = map_estimate(data, prior=prior, rng=np.random.default_rng(0))
    low, high = named_prior(prior, 2).bounds(2)
    at = fit.theta.to_log()
    value, gradient = value_at(data, fit.theta, prior)
    # Stationary up to the precision asked for: following the projected gradient by a little gains next to nothing.
    for step in (1e-3, 1e-2, 1e-1):
        moved = np.clip(at + step * gradient / max(1.0, np.abs(gradient).max()), low, high)
        assert value_at(data, Theta.from_log(moved), prior)[0] <= value + 2e-3
    rng = np.random.default_rng(1)
    for moved in np.clip(at + 0.02 * rng.standard_normal((20, 4)), low, high):
        assert value_at(data, Theta.from_log(moved), prior)[0] <= value + 2e-3


def test_the_fit_reports_itself_and_conditions_on_all_data() -> None:
    data = made_up(100)
    for name, estimator in ESTIMATORS.items():
        if name == "hmc":
            continue
        fit = estimator(data, kernel="matern32", prior=named_prior("dim-scaled", 2), rng=np.random.default_rng(0))
        assert (fit.estimator, fit.prior) == (name, "flat" if name == "mle" else "dim-scaled")
        assert (fit.fallback, fit.failures, fit.starts) == (None, 0, 3)
        assert fit.evaluations > 10
        assert fit.posterior.kernel.name == "matern32"
        assert len(fit.posterior.data) == len(data)


def test_the_box_of_a_prior_is_kept_by_mle_too() -> None:
    density = named_prior("paper", 2).noise
    narrow = Prior("narrow", density, density, density, lengthscale_bounds=(0.2, 0.21), noise_bounds=(0.5, 1.0))
    for fit in (mle_estimate, map_estimate):
        theta = fit(made_up(30), prior=narrow, rng=np.random.default_rng(0)).theta
        assert ((theta.ell >= 0.2 * (1 - 1e-12)) & (theta.ell <= 0.21 * (1 + 1e-12))).all()
        assert 0.5 * (1 - 1e-12) <= theta.s2 <= 1.0


def test_a_warm_start_is_used() -> None:
    data = made_up(40)
    best = map_estimate(data, rng=np.random.default_rng(0))
    again = map_estimate(data, rng=np.random.default_rng(5), warm=best.theta, starts=0)
    assert again.starts == 1
    assert again.evaluations < best.evaluations / 2
    assert again.log_posterior >= best.log_posterior - 1e-6
    # With fresh starts beside it the warm start cannot make things worse.
    both = map_estimate(data, rng=np.random.default_rng(6), warm=best.theta)
    assert both.starts == 4
    assert both.log_posterior >= best.log_posterior - 1e-3


def test_wrong_arguments_are_named() -> None:
    data, rng = made_up(10), np.random.default_rng(0)
    with pytest.raises(InvalidInputError, match="starts=0"):
        map_estimate(data, rng=rng, starts=0)
    with pytest.raises(InvalidInputError, match="unknown prior"):
        map_estimate(data, rng=rng, prior="papr")
    with pytest.raises(InvalidInputError, match="pseudo_points=9"):
        consistent_estimate(data, rng=rng, pseudo_points=9)
    with pytest.raises(InvalidInputError, match="block_size=0"):
        consistent_estimate(data, rng=rng, block_size=0)
    with pytest.raises(InvalidInputError, match="kept=0"):
        hmc_estimate(data, rng=rng, kept=0)


# The ladder


def test_a_likelihood_that_always_fails_ends_at_the_moderate_theta(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: LogMarginalLikelihood, log_theta: Array) -> tuple[Array, Array]:
        self.evaluations += len(log_theta)
        self.failures += len(log_theta)
        return np.full(len(log_theta), -np.inf), np.zeros(log_theta.shape)

    monkeypatch.setattr(LogMarginalLikelihood, "__call__", failing)
    for n in (20, 100):
        fit = map_estimate(made_up(n), rng=np.random.default_rng(0))
        assert fit.fallback is Failure.NO_LIKELIHOOD
        assert fit.fallback.value == "moderate theta"  # its name in the log
        assert "Cholesky" in fit.fallback.cause
        assert not fit.converged
        assert fit.failures == fit.evaluations > 0
        np.testing.assert_allclose([fit.theta.ell[0], fit.theta.v, fit.theta.s2], MODERATE_THETA)
        assert np.isfinite(fit.posterior.predict(np.random.default_rng(0).random((5, 2)))[0]).all()


def test_a_likelihood_that_fails_in_places_is_counted_and_survived(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = LogMarginalLikelihood.__call__

    def failing(self: LogMarginalLikelihood, log_theta: Array) -> tuple[Array, Array]:
        value, gradient = whole(self, log_theta)
        bad = log_theta[:, 0] > np.log(0.45)  # the first of the fresh starts, and part of the way of the others
        self.failures += int(bad.sum())
        return np.where(bad, -np.inf, value), np.where(bad[:, None], 0.0, gradient)

    monkeypatch.setattr(LogMarginalLikelihood, "__call__", failing)
    fit = map_estimate(made_up(30), rng=np.random.default_rng(3))
    assert fit.fallback is None
    assert fit.failures > 0
    assert fit.theta.ell[0] <= 0.45
    assert np.isfinite(fit.log_posterior)


def test_jitter_is_recorded() -> None:
    data = Data.of(np.repeat(np.random.default_rng(0).random((4, 2)), 5, axis=0), np.arange(20.0))
    posterior = Posterior.of(data, Theta.of([0.5, 0.5], 1.0, 0.0))
    assert posterior.jitter > 0.0
    thetas = (posterior.theta, Theta.of([0.5, 0.5], 1.0, 0.1))
    fit = Fit("map", "paper", data, posterior.kernel, thetas, 0.0, True, 1, 1, 0)
    assert fit.jitter == posterior.jitter


# The consistent loss, its readings and blocks


@pytest.mark.parametrize("domain", [Domain.cube(3), MIXED, Domain((4, 4))], ids=["numeric", "mixed", "categorical"])
def test_labels_are_those_of_the_nearest_observed_point(domain: Domain) -> None:
    rng = np.random.default_rng(0)
    data = Data.of(domain.uniform(rng, 40), rng.standard_normal(40), domain)
    points, labels, *_ = drawn(data, 700, rng)
    assert points.shape == (700, domain.dimension)
    for x, label in zip(points, labels, strict=True):
        difference = x - data.X
        difference[:, domain.categorical] = difference[:, domain.categorical] != 0.0
        distance = (difference**2).sum(axis=1)
        assert label in data.y[distance <= distance.min() * (1 + 1e-12)]
    assert (points[:, domain.categorical] == np.floor(points[:, domain.categorical])).all()


def test_the_default_number_of_pseudo_points(monkeypatch: pytest.MonkeyPatch) -> None:
    from uhebo.estimate import consistent

    counts = []

    def spy(data: Data, count: int, rng: Rng) -> Pairs:
        counts.append(count)
        return observed(data, count, rng)

    monkeypatch.setitem(consistent.READINGS, "observed", spy)
    data = made_up(12)
    for pseudo_points in (None, 12, 50):
        consistent_estimate(data, rng=np.random.default_rng(0), pseudo_points=pseudo_points, reading="observed")
    assert counts == [24, 12, 50]


def test_consistent_maximises_the_ordinary_loss_on_the_pseudo_data() -> None:
    data = made_up(15)
    fit = consistent_estimate(data, rng=np.random.default_rng(7), reading="drawn")
    X, y, *_ = drawn(data, 30, np.random.default_rng(7))
    expected, _ = value_at(Data(X, y, data.domain, 0.0, 1.0), fit.theta, "paper")
    np.testing.assert_allclose(fit.log_posterior, expected, rtol=1e-9)


def test_one_block_is_the_exact_loss_and_blocks_are_close_to_it() -> None:
    data = made_up(150)
    exact = consistent_estimate(data, rng=np.random.default_rng(1), reading="drawn")
    one = consistent_estimate(data, rng=np.random.default_rng(1), reading="drawn", block_size=300)
    np.testing.assert_array_equal(one.theta.to_log(), exact.theta.to_log())
    several = consistent_estimate(data, rng=np.random.default_rng(1), reading="drawn", block_size=100)
    difference = np.abs(several.theta.to_log() - exact.theta.to_log())
    assert 0.0 < difference[:3].max() < 0.7


def test_blocks_are_a_sum_of_likelihoods() -> None:
    data = made_up(30)
    fit = consistent_estimate(data, prior="flat", rng=np.random.default_rng(2), block_size=20, reading="drawn")
    rng = np.random.default_rng(2)
    X, y, *_ = drawn(data, 60, rng)
    order = rng.permutation(60)
    parts = [value_at(Data(X[i], y[i], data.domain, 0.0, 1.0), fit.theta)[0] for i in np.split(order, 3)]
    np.testing.assert_allclose(fit.log_posterior, sum(parts), rtol=1e-6)


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_reproducible_by_seed(name: str) -> None:
    data = made_up(25)

    def theta(seed: int) -> Array:
        rng = np.random.default_rng(seed)
        return ESTIMATORS[name](data, kernel="matern52", prior=named_prior("paper", 2), rng=rng).theta.to_log()

    np.testing.assert_array_equal(theta(1), theta(1))
    if name in {"consistent", "hmc"}:  # the others reach the same maximum from anywhere
        assert not np.allclose(theta(1), theta(2), atol=1e-3)


def test_distinct_is_the_ordinary_loss_on_the_points_that_were_hit() -> None:
    data = made_up(40)
    fit = consistent_estimate(data, rng=np.random.default_rng(3), reading="distinct")
    kept = np.unique(nearest(data, data.domain.uniform(np.random.default_rng(3), 80)))
    assert 20 < len(kept) < 40
    np.testing.assert_allclose(fit.log_posterior, value_at(data.subset(kept), fit.theta, "paper")[0], rtol=1e-9)
    # Three repeats of one point are one point here: the ties of a cluster do not count three times.
    assert len(np.unique(nearest(Data.of(np.full((9, 2), 0.5), np.arange(9.0)), data.X))) == 1


def test_screening_takes_over_above_the_batch_size() -> None:
    """Both ways of fitting reach the maximum; this one is on the other side of the switch."""
    data = made_up(BATCH_SIZE + 30, 3, seed=4)
    screened = map_estimate(data, rng=np.random.default_rng(0))
    thorough = map_estimate(data, rng=np.random.default_rng(1), starts=8, warm=screened.theta)
    assert screened.log_posterior >= thorough.log_posterior - 0.05


def test_a_registered_estimator_gets_what_its_signature_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "ESTIMATORS", dict(ESTIMATORS))
    seen: list[dict[str, Any]] = []

    def plain(data: Data, *, kernel: str, prior: Prior, rng: Rng, warm: Theta | None) -> Fit:
        seen.append({})
        return map_estimate(data, kernel=kernel, prior=prior, rng=rng, warm=warm)

    def climbing(data: Data, *, starts: int = 3, tolerance: float = 1e-4, **rest: Any) -> Fit:
        seen.append({"starts": starts, "tolerance": tolerance, "rest": set(rest)})
        return map_estimate(data, rng=rest["rng"], starts=starts, tolerance=tolerance)

    estimate.register("plain", plain)
    estimate.register("climbing", climbing)
    data, rng = Data.of([[0.1], [0.5], [0.9]], [0.0, 1.0, 0.5]), np.random.default_rng(0)
    assert not named_estimator("plain").climbs
    assert named_estimator("climbing").climbs
    fits = [named_estimator(name)(data, rng=rng, starts=1, tolerance=0.1) for name in ("plain", "climbing")]
    assert [fit.estimator for fit in fits] == ["plain", "climbing"]
    assert seen == [{}, {"starts": 1, "tolerance": 0.1, "rest": {"kernel", "prior", "rng", "warm"}}]


# Many parameters


@pytest.mark.parametrize("columns", [list(range(15)), [3]], ids=len)
def test_few_points_tell_one_scale_better_than_one_for_each_parameter(columns: list[int]) -> None:
    """A sum of 15 squares from 25 points, by the log density of 200 others; and where one of them alone matters."""
    rng = np.random.default_rng(1)
    X, others = rng.random((25, 15)), rng.random((200, 15))
    data = Data.of(X, ((X - 0.4) ** 2)[:, columns].sum(axis=1))
    told = (((others - 0.4) ** 2)[:, columns].sum(axis=1) - data.location) / data.scale
    density = {}
    for prior in ("dim-scaled", "shared-scale"):
        fit = map_estimate(data, prior=prior, rng=np.random.default_rng(1))
        mean, variance = fit.posterior.predict(others)
        density[prior] = norm.logpdf(told, mean, np.sqrt(variance + fit.theta.s2)).mean()
    assert density["shared-scale"] > density["dim-scaled"] + 0.3


# SPEC §8 measured again, on i.i.d. data from a GP whose theta is known

SEEDS = 16
ELL = 0.2


def known_gp(n: int, noise: float, seed: int) -> Data:
    """Observations at uniform points in one dimension, kept in the units of the truth."""
    rng = np.random.default_rng([seed, n])
    X = rng.random((n, 1))
    covariance = KERNELS["matern52"].value(squared_distance(X, X, np.array([ELL]), Domain.cube(1))) + noise * np.eye(n)
    return Data(X, np.linalg.cholesky(covariance) @ rng.standard_normal(n), Domain.cube(1), 0.0, 1.0)


def errors(name: Literal["map"] | Reading, n: int, noise: float) -> Array:
    """(log ell, log v, log s2) minus the truth by MAP or a reading of the consistent loss, one row a seed."""
    estimate = map_estimate if name == "map" else partial(consistent_estimate, reading=name, tolerance=STEP_GAIN)
    rows = [estimate(known_gp(n, noise, seed), prior="flat", rng=np.random.default_rng(seed)) for seed in range(SEEDS)]
    return np.array([fit.theta.to_log() for fit in rows]) - np.log([ELL, 1.0, noise])


def size(error: Array) -> float:
    """Mean absolute error of log ell and log s2; noise that was not seen at all counts as a tenth of the truth."""
    return float(np.abs(np.maximum(error[:, [0, 2]], np.log(0.1))).mean())


def test_error_of_drawn_falls_with_n_and_distinct_agrees_with_map() -> None:
    by_map, distinct, drawn = (
        {n: errors(name, n, noise=1e-4) for n in (40, 160)} for name in ("map", "distinct", "drawn")
    )
    assert size(drawn[160]) < 0.8 * size(drawn[40])
    for n in (40, 160):
        # Label error is noise to this loss: it finds too much of it, and lengthscales that are too short.
        assert np.median(drawn[n][:, 2]) > 1.0
        assert np.median(drawn[n][:, 0]) < np.median(by_map[n][:, 0])
        assert size(drawn[n]) > 2.0 * size(by_map[n])
        gap = np.abs(np.median(distinct[n] - by_map[n], axis=0))
        assert (gap < 0.2).all()
        assert size(distinct[n]) < 1.5 * size(by_map[n])
    assert size(distinct[160]) < size(distinct[40])


def test_kept_copies_push_the_noise_to_its_floor() -> None:
    """A limit of `observed`: k copies of a value have no spread, so noise that is there is not seen, at any n."""
    for n in (40, 160):
        assert np.median(errors("observed", n, noise=0.05)[:, 2]) < np.log(0.1)
        assert np.median(errors("distinct", n, noise=0.05)[:, 2]) > np.log(0.5)


def test_noise_shared_within_a_cell_is_read_as_short_signal() -> None:
    """A limit of `drawn`: its labels repeat the noise of one observation over a Voronoi cell.

    With M = 2n every cell holds about two pseudo-points, so observation noise looks like signal as wide as a cell. On
    noisy data in one dimension the error therefore does not fall with n, while `distinct` and `map` stay unbiased.
    """
    drawn = {n: errors("drawn", n, noise=0.05) for n in (40, 160)}
    assert size(drawn[160]) > 0.8 * size(drawn[40])
    assert np.median(drawn[160][:, 0]) < -0.8
    for name in ("map", "distinct"):
        assert np.abs(np.median(errors(name, 160, noise=0.05), axis=0)[[0, 2]]).max() < 0.2
