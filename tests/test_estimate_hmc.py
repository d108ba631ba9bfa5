"""Hamiltonian Monte Carlo on posteriors whose moments are known, its acceptance rate, and the effective sample size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import truncnorm

from uhebo.estimate import hmc_estimate
from uhebo.estimate.hmc import effective_sample_size, sample_chain
from uhebo.gp import Data
from uhebo.types import Array


def branin(n: int, seed: int) -> Data:
    X = np.random.default_rng(seed).random((n, 2))
    a, b = 15 * X[:, 0] - 5, 15 * X[:, 1]
    bowl = (b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6) ** 2
    return Data.of(X, -(bowl + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10))


def test_moments_of_a_correlated_gaussian() -> None:
    mean = np.array([1.0, -2.0, 0.5])
    covariance = np.array([[1.0, 0.8, 0.0], [0.8, 4.0, -0.3], [0.0, -0.3, 0.25]])
    precision = np.linalg.inv(covariance)

    def target(log_theta: Array) -> tuple[Array, Array]:
        slope = -(log_theta - mean) @ precision
        return 0.5 * ((log_theta - mean) * slope).sum(axis=1), slope

    wide = np.full(3, 50.0)
    chain = sample_chain(target, np.zeros(3), -wide, wide, rng=np.random.default_rng(0), burn_in=400, draws=6000)
    assert 0.6 < chain.acceptance < 0.95
    assert chain.effective_sample_size() > 600
    for i in range(3):
        draws = chain.draws[:, i]
        error = np.sqrt(covariance[i, i] / effective_sample_size(draws))
        assert abs(draws.mean() - mean[i]) < 4 * error
        squares = (draws - mean[i]) ** 2
        error = np.sqrt(2.0 / effective_sample_size(squares)) * covariance[i, i]
        assert abs(squares.mean() - covariance[i, i]) < 4 * error
    np.testing.assert_allclose(np.asarray(np.corrcoef(chain.draws.T))[0, 1], 0.4, atol=0.08)


@pytest.mark.parametrize("low", [-0.5, 0.5, 2.0])
def test_moments_of_a_gaussian_cut_off_by_a_bound(low: float) -> None:
    """The bound is met all the time, so a reflection that were not reversible would show."""

    def target(log_theta: Array) -> tuple[Array, Array]:
        return -0.5 * (log_theta * log_theta).sum(axis=1), -log_theta

    bounds = np.array([low, -30.0]), np.array([30.0, 30.0])
    chain = sample_chain(target, np.array([low, 0.0]), *bounds, rng=np.random.default_rng(1), burn_in=400, draws=6000)
    assert chain.draws[:, 0].min() >= low
    draws, truth = chain.draws[:, 0], truncnorm(low, np.inf)
    assert abs(draws.mean() - truth.mean()) < 4 * truth.std() / np.sqrt(effective_sample_size(draws))
    np.testing.assert_allclose(draws.std(), truth.std(), rtol=0.1)


def test_a_box_without_slope_is_sampled_uniformly() -> None:
    def target(log_theta: Array) -> tuple[Array, Array]:
        return np.zeros(len(log_theta)), np.zeros_like(log_theta)

    low, high = np.array([0.0, 2.0]), np.array([1.0, 5.0])
    chain = sample_chain(target, low, low, high, rng=np.random.default_rng(2), burn_in=100, draws=4000)
    assert chain.acceptance == 1.0
    for i in range(2):
        shares = np.histogram(chain.draws[:, i], bins=4, range=(low[i], high[i]))[0] / 4000
        np.testing.assert_allclose(shares, 0.25, atol=0.06)


@pytest.mark.parametrize("prior", ["paper", "paper-scale", "flat", "dim-scaled"])
def test_acceptance_rate_on_branin(prior: str) -> None:
    for n, seed in ((15, 0), (25, 1), (40, 2)):
        fit = hmc_estimate(branin(n, seed), prior=prior, rng=np.random.default_rng(seed))
        assert 0.6 <= fit.extra["acceptance"] <= 0.95
        assert fit.extra["effective_sample_size"] > 4.0
        assert len(fit.posteriors) == 10
        assert len({posterior.theta.v for posterior in fit.posteriors}) > 5
        assert fit.fallback is None
        assert np.isfinite(fit.log_posterior)


def test_other_lengths_of_chain() -> None:
    data = branin(15, 0)
    for burn_in, kept, thin in ((0, 1, 1), (1, 2, 3), (9, 3, 1), (40, 2, 2)):
        fit = hmc_estimate(data, rng=np.random.default_rng(0), burn_in=burn_in, kept=kept, thin=thin)
        assert len(fit.posteriors) == kept
        assert 0.0 <= fit.extra["acceptance"] <= 1.0


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, -0.3])
def test_effective_sample_size_of_an_autoregression(correlation: float) -> None:
    """An AR(1) chain of n states is worth n (1 - ρ) / (1 + ρ); where ρ < 0 the count is capped at n."""
    rng = np.random.default_rng(3)
    count = 40_000
    chain = np.empty(count)
    chain[0] = rng.standard_normal()
    for i, shock in enumerate(rng.standard_normal(count - 1) * np.sqrt(1 - correlation**2)):
        chain[i + 1] = correlation * chain[i] + shock
    expected = min(count, count * (1 - correlation) / (1 + correlation))
    np.testing.assert_allclose(effective_sample_size(chain), expected, rtol=0.15)


def test_effective_sample_size_of_degenerate_chains() -> None:
    assert effective_sample_size(np.full(50, 3.0)) == 1.0
    assert effective_sample_size(np.array([])) == 0.0
    assert effective_sample_size(np.array([1.0, 2.0])) == 1.0
