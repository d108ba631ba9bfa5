"""Expectation propagation for signs of a GP, against orthant probabilities by SciPy."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from uhebo.gp.data import Data, Domain, Theta
from uhebo.gp.kernels import MATERN52, squared_distance
from uhebo.gp.posterior import Posterior
from uhebo.gp.signs import sign_evidence, sites
from uhebo.types import Array

RNG = np.random.default_rng(3)
MIXED = Domain((0, 0, 3))
X = MIXED.rows(RNG, 6)
SIGNS = np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0])
MEAN, THETA = 0.3, Theta.of([0.5, 0.8, 1.2], 1.0, 0.05)


def covariance(rows: Array) -> Array:
    found = MATERN52.value(squared_distance(rows, rows, THETA.ell, MIXED))
    return np.asarray(found + THETA.s2 * np.eye(len(rows)))


def orthant(rows: Array, signs: Array) -> float:
    """P(signs), by numerical integration."""
    flipped = signs[:, None] * covariance(rows) * signs
    chance = multivariate_normal.cdf(signs * MEAN, cov=flipped, maxpts=100_000)
    return float(chance)


def test_the_evidence_is_the_probability_of_the_signs() -> None:
    found = sites(covariance(X), SIGNS, MEAN)
    assert found.log_evidence == pytest.approx(np.log(orthant(X, SIGNS)), abs=0.02)


def test_the_sites_predict_the_next_sign() -> None:
    found = sites(covariance(X), SIGNS, MEAN)
    posterior = Posterior.of(Data(X, found.values, MIXED, MEAN, 1.0), THETA, MATERN52, found.variances)
    for row in MIXED.rows(RNG, 4):
        mean, variance = posterior.predict(row[None])
        chance = multivariate_normal.cdf((MEAN + mean[0]) / np.sqrt(variance[0] + THETA.s2))
        more = orthant(np.vstack([X, row]), np.append(SIGNS, 1.0)) / orthant(X, SIGNS)
        assert chance == pytest.approx(more, abs=0.01)


def test_the_gradient_of_the_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uhebo.gp.signs.SETTLED", 1e-12)
    rows = MIXED.rows(np.random.default_rng(1), 20)
    evidence = sign_evidence(rows, np.where(rows[:, 0] > 0.6, -1.0, 1.0), MEAN, MIXED, MATERN52)
    log_theta = np.log([0.4, 1.0, 2.0, 1e-2])
    steps = 1e-4 * np.eye(4)
    ahead, behind = evidence(log_theta + steps)[0], evidence(log_theta - steps)[0]
    np.testing.assert_allclose(evidence(log_theta[None])[1][0], (ahead - behind) / 2e-4, rtol=1e-3, atol=1e-4)


def test_signs_that_cannot_be_told_apart_have_a_finite_evidence() -> None:
    """A success and a failure at one point, and many all but on top of each other."""
    rows = np.repeat(X[:2], 30, axis=0) + 1e-9 * RNG.random((60, 3))
    signs = np.where(np.arange(60) % 2, 1.0, -1.0)
    value, gradient = sign_evidence(rows, signs, 0.0, MIXED, MATERN52)(np.log([[0.5, 0.5, 0.5, 1e-6]]))
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()
