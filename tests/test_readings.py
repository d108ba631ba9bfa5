"""Readings of the consistent loss: copies against the plain matrix; one option from the sampler to the estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import optuna
import pytest

from uhebo import UHESampler
from uhebo.errors import InvalidInputError
from uhebo.estimate import DEFAULT_READING, READINGS, Reading, consistent_estimate
from uhebo.estimate.consistent import nearest
from uhebo.gp import Data, Domain, LogMarginalLikelihood, named_prior
from uhebo.gp.likelihood import BATCH_SIZE
from uhebo.methods import METHODS
from uhebo.optuna_.believe import model_of
from uhebo.optuna_.sampler_settings import SETTINGS_ATTRIBUTE
from uhebo.space import SearchSpace
from uhebo.types import Array

SQUARE, MIXED = Domain.cube(2), Domain((0, 3, 0))


def made_up(n: int, domain: Domain = SQUARE, seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    X = domain.uniform(rng, n)
    return Data.of(X, np.sin(6 * X[:, 0]) + X.sum(axis=1) + 0.1 * rng.standard_normal(n), domain)


def log_thetas(dimension: int) -> Array:
    rng = np.random.default_rng(1)
    return np.log([0.3] * dimension + [1.3, 0.02]) + 0.5 * rng.standard_normal((3, dimension + 2))


# Copies, exactly


@pytest.mark.parametrize("domain", [SQUARE, MIXED], ids=["numeric", "mixed"])
@pytest.mark.parametrize("kernel", ["matern52", "se"])
@pytest.mark.parametrize("n", [20, BATCH_SIZE + 30])
def test_copies_are_the_plain_matrix_with_rows_repeated(n: int, kernel: str, domain: Domain) -> None:
    data = made_up(n, domain)
    copies = np.random.default_rng(2).integers(1, 5, n)
    rows = np.repeat(np.arange(n), copies)
    at = log_thetas(domain.dimension)
    short = LogMarginalLikelihood([(data.X, data.y)], kernel, domain, [copies.astype(float)])(at)
    plain = LogMarginalLikelihood([(data.X[rows], data.y[rows])], kernel, domain)(at)
    np.testing.assert_allclose(short[0], plain[0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(short[1], plain[1], rtol=0, atol=1e-8)


def test_copies_against_scipys_normal_density() -> None:
    from scipy.stats import multivariate_normal

    data, copies, log_theta = made_up(8), np.array([1, 3, 1, 2, 1, 1, 5, 1]), log_thetas(2)[0]
    rows = np.repeat(np.arange(8), copies)
    ell, (v, s2) = np.exp(log_theta[:2]), np.exp(log_theta[2:])
    r = np.sqrt((((data.X[rows, None] - data.X[None, rows]) / ell) ** 2).sum(axis=2))
    K = v * (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r) + s2 * np.eye(len(rows))
    value, _ = LogMarginalLikelihood([(data.X, data.y)], "matern52", data.domain, [copies.astype(float)])(
        log_theta[None]
    )
    assert value[0] == pytest.approx(multivariate_normal(np.zeros(len(rows)), K).logpdf(data.y[rows]), abs=1e-8)


@pytest.mark.parametrize("n", [15, BATCH_SIZE + 20])
def test_the_gradient_with_copies_is_that_of_finite_differences(n: int) -> None:
    data = made_up(n)
    copies = [np.random.default_rng(3).integers(1, 4, n).astype(float)]
    loss, at, step = LogMarginalLikelihood([(data.X, data.y)], "matern52", data.domain, copies), log_thetas(2), 1e-5
    for i, direction in enumerate(step * np.eye(4)):
        slope = (loss(at + direction)[0] - loss(at - direction)[0]) / (2 * step)
        np.testing.assert_allclose(loss(at)[1][:, i], slope, rtol=1e-5, atol=1e-5)


# The pairs of each reading, and the fits to them


@pytest.mark.parametrize("domain", [SQUARE, MIXED], ids=["numeric", "mixed"])
def test_the_pairs_of_each_reading(domain: Domain) -> None:
    data = made_up(30, domain)
    points = domain.uniform(np.random.default_rng(5), 60)
    rows = nearest(data, points)
    pairs = {name: make(data, 60, np.random.default_rng(5)) for name, make in READINGS.items()}
    np.testing.assert_array_equal(pairs["drawn"].X, points)
    np.testing.assert_array_equal(pairs["drawn"].y, data.y[rows])
    observed = pairs["observed"]
    assert observed.copies is not None
    repeated = np.repeat(np.column_stack([observed.X, observed.y]), observed.copies.astype(int), axis=0)
    expected = np.column_stack([data.X, data.y])[np.sort(rows)]
    np.testing.assert_array_equal(repeated, expected)
    np.testing.assert_array_equal(pairs["distinct"].X, observed.X)
    assert pairs["distinct"].copies is None


@pytest.mark.parametrize("n", [25, 150])
def test_a_fit_by_observed_maximises_the_loss_with_all_copies_written_out(n: int) -> None:
    data = made_up(n)
    fit = consistent_estimate(data, rng=np.random.default_rng(7), reading="observed", tolerance=1e-4)
    rows = nearest(data, data.domain.uniform(np.random.default_rng(7), 2 * n))
    plain, prior = (
        LogMarginalLikelihood([(data.X[rows], data.y[rows])], "matern52", data.domain),
        named_prior("paper", 2),
    )

    def value(log_theta: Array) -> float:
        return float(plain(log_theta[None])[0][0] + prior(log_theta[None])[0][0])

    at = fit.theta.to_log()
    assert fit.log_posterior == pytest.approx(value(at), abs=1e-6)
    low, high = prior.bounds(2)
    for moved in np.clip(at + 0.05 * np.random.default_rng(0).standard_normal((20, 4)), low, high):
        assert value(moved) <= value(at) + 5e-3


@pytest.mark.parametrize("reading", ["observed", "distinct"])
def test_blocks_keep_the_copies_of_a_point_together(reading: Reading) -> None:
    data = made_up(300)
    blocks = consistent_estimate(data, rng=np.random.default_rng(1), reading=reading, block_size=100)
    if reading == "distinct":
        full = consistent_estimate(data, rng=np.random.default_rng(1), reading=reading)
        assert 0.0 < np.abs(full.theta.to_log() - blocks.theta.to_log())[:3].max() < 0.7
    pairs = READINGS[reading](data, 600, rng := np.random.default_rng(1))
    order = rng.permutation(len(pairs.y))
    parts = [pairs.at(rows) for rows in np.array_split(order, round(len(order) / 100))]
    copies = None if pairs.copies is None else [part.copies for part in parts if part.copies is not None]
    loss = LogMarginalLikelihood([(part.X, part.y) for part in parts], "matern52", data.domain, copies)
    expected = loss(blocks.theta.to_log()[None])[0] + named_prior("paper", 2)(blocks.theta.to_log()[None])[0]
    assert blocks.log_posterior == pytest.approx(expected[0], abs=1e-6)


def test_an_unknown_reading_is_refused_with_the_choices() -> None:
    message = "unknown reading 'x'; choose one of observed, distinct, drawn"
    bad: Any = "x"
    with pytest.raises(InvalidInputError, match=message):
        consistent_estimate(made_up(5), rng=np.random.default_rng(0), reading=bad)
    with pytest.raises(InvalidInputError, match=message):
        UHESampler(reading=bad)


# One option, from the sampler to the estimator


def thetas(method: str, reading: Reading | None) -> list[Any]:
    """What the suggestions of a short search recorded of their fits by the consistent loss."""
    sampler = UHESampler(method=method, reading=reading, seed=1, n_startup_trials=4)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda t: (t.suggest_float("x", 0, 1) - 0.3) ** 2 + t.suggest_float("y", 0, 1), n_trials=7)
    tags = [trial.system_attrs["uhebo:step"] for trial in study.trials]
    return [tag["theta"] for tag in tags if tag.get("estimator") == "consistent"]


@pytest.mark.parametrize("method", ["uhe", "ra", "consistent-only"])
def test_the_papers_methods_take_a_reading(method: str) -> None:
    found = {reading: thetas(method, reading) for reading in (*READINGS, None)}
    assert found[None] == found[DEFAULT_READING]
    assert len({str(found[reading]) for reading in READINGS}) == 3


@pytest.mark.parametrize(
    ("method", "reading", "recorded"),
    [
        ("uhe", None, DEFAULT_READING),
        ("uhe", "drawn", "drawn"),
        ("auto", None, "drawn"),
        ("auto", "distinct", "distinct"),
    ],
)
def test_a_study_names_the_reading_it_was_made_with(method: str, reading: Reading | None, recorded: str) -> None:
    study = optuna.create_study(sampler=UHESampler(method=method, reading=reading, seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=4)
    assert study.user_attrs[SETTINGS_ATTRIBUTE]["reading"] == recorded
    study.sampler = optuna.samplers.RandomSampler()
    assert model_of(study).step.model_used.reading == recorded


def test_a_study_that_names_no_reading_is_read_as_drawn() -> None:
    study = optuna.create_study(sampler=UHESampler(method="uhe", seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=4)
    kept = {key: value for key, value in study.user_attrs[SETTINGS_ATTRIBUTE].items() if key != "reading"}
    study.set_user_attr(SETTINGS_ATTRIBUTE, kept)
    study.sampler = optuna.samplers.RandomSampler()
    assert model_of(study).step.model_used.reading == "drawn"


def test_the_second_opinion_of_auto_has_a_reading_of_its_own() -> None:
    assert METHODS["auto"].model.reading == "drawn"
    assert METHODS["uhe"].model.reading == DEFAULT_READING


@pytest.mark.parametrize("method", ["uhe", "ra"])
def test_the_guarantee_sets_all_that_the_theorem_needs(method: str) -> None:
    sampler = UHESampler(method=method, n_trials=60, guarantee=True, seed=0)
    assert (sampler.settings.beta, sampler.settings.exact, sampler.settings.reading) == ("theory", True, "drawn")
    said = UHESampler(method=method, n_trials=60, guarantee=True, seed=0, beta="theory", exact=True, reading="drawn")
    assert said.settings == sampler.settings
    usual = UHESampler(method=method, seed=0).settings
    assert (usual.beta, usual.exact) == (1.96, False)
    kept = sampler.arguments
    assert UHESampler(**kept).arguments == kept  # what it set is recorded, so it need not be
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), n_trials=8)
    step = sampler.step(study, 56, SearchSpace.of(dict(study.trials[0].distributions)))
    assert step.settings.horizon == 54
    late = replace(step, slot=replace(step.slot, t=50))
    assert 7.0 < late.beta() < 7.6
