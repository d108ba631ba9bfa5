"""Candidates of the default that have code of their own: gradients by finite differences, rules by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import optuna
import pytest

import uhebo
from uhebo.acquire.functions import surface
from uhebo.estimate.fit import log_posterior, map_estimate
from uhebo.gp import Data, Posterior
from uhebo.gp.data import Domain, Theta
from uhebo.gp.kernels import MATERN52
from uhebo.gp.priors import named_prior
from uhebo.optuna_.trial_log import ATTRIBUTE
from uhebo_experiments.benchmarks.candidate_steps import FIRST, curvature, laplace, region_edge
from uhebo_experiments.benchmarks.candidates import CANDIDATES, DEFAULT
from uhebo_experiments.benchmarks.lens import Lens, Through, slopes_of, through, warp_loss, with_lens

RNG = np.random.default_rng(0)
X = RNG.random((14, 3))
DATA = Data.of(X, np.sin(6 * X[:, 0] ** 2) + X[:, 1] + 0.1 * RNG.standard_normal(14))
THETA = Theta.of([0.3, 0.8, 1.5], 1.2, 1e-2)
LENS = Lens(np.array([0.6, 1.0, 1.8]), np.array([1.4, 1.0, 0.7]), np.array([0.5, -1.0, 0.0]))


def seen(lens: Lens, data: Data = DATA) -> Through:
    return Through.seen(data, Posterior.of(through(data, lens), THETA), lens)


def differences(function: object, rows: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Central differences of a function of rows, (m, d)."""
    columns = []
    for j in range(rows.shape[1]):
        moved = step * np.eye(rows.shape[1])[j]
        columns.append((function(rows + moved) - function(rows - moved)) / (2 * step))  # type: ignore[operator]
    return np.stack(columns, axis=-1)


def test_a_clear_lens_changes_nothing() -> None:
    plain, clear = Posterior.of(DATA, THETA), seen(Lens.clear(3))
    at = RNG.random((5, 3))
    for one, other in zip(plain.predict_with_gradient(at), clear.predict_with_gradient(at), strict=True):
        np.testing.assert_allclose(one, other)
    np.testing.assert_allclose(plain.covariance(at), clear.covariance(at))


def test_gradients_through_a_lens() -> None:
    posterior, at = seen(LENS), 0.05 + 0.9 * RNG.random((6, 3))
    mean, variance, of_mean, of_variance = posterior.predict_with_gradient(at)
    np.testing.assert_allclose(mean, posterior.predict(at)[0])
    np.testing.assert_allclose(mean, posterior.mean(at))
    np.testing.assert_allclose(variance, posterior.predict(at)[1])
    np.testing.assert_allclose(np.diag(posterior.covariance(at)), variance, atol=1e-9)
    np.testing.assert_allclose(of_mean, differences(lambda rows: posterior.predict(rows)[0], at), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        of_variance, differences(lambda rows: posterior.predict(rows)[1], at), rtol=1e-4, atol=1e-6
    )
    target = surface("log-ei", (posterior,), beta=2.0, best=float(DATA.y.max()))
    np.testing.assert_allclose(target.with_gradient(at)[1], differences(target, at), rtol=1e-3, atol=1e-4)


def test_a_posterior_through_a_lens_grows_as_if_it_were_made_anew() -> None:
    more, values, at = RNG.random((2, 3)), np.array([0.3, -0.4]), RNG.random((4, 3))
    grown, anew = seen(LENS).grow(more, values), seen(LENS, DATA.with_values(more, values))
    for one, other in zip(grown.predict(at), anew.predict(at), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    np.testing.assert_allclose(grown.smoothed, anew.smoothed, atol=1e-9)
    np.testing.assert_allclose(seen(LENS).smoothed, seen(LENS).mean(DATA.X), atol=1e-8)


def test_the_loss_of_a_warp_and_its_gradient() -> None:
    """Without a warp it is the negative log likelihood but for a constant; a category is never warped."""
    at = np.array([np.zeros(6), 0.4 * RNG.standard_normal(6)])
    values, gradients = warp_loss(DATA, THETA, MATERN52, at)
    likelihood = log_posterior(DATA, MATERN52, named_prior("paper", 3)).likelihood(THETA.to_log()[None])[0][0]
    assert values[0] == pytest.approx(-likelihood - 7 * np.log(2 * np.pi))
    found = differences(lambda rows: warp_loss(DATA, THETA, MATERN52, rows)[0], at)
    np.testing.assert_allclose(gradients, found, rtol=1e-4, atol=1e-5)
    codes = np.column_stack([X[:, 0], RNG.integers(3, size=14)])
    mixed = Data.of(codes, DATA.y, Domain((0, 3)))
    theta = replace(THETA, ell=np.array([0.3, 1.0]))
    rows = np.array([[0.3, -0.2]])
    slopes = differences(lambda r: warp_loss(mixed, theta, MATERN52, r)[0], rows)
    np.testing.assert_allclose(warp_loss(mixed, theta, MATERN52, rows)[1], slopes, rtol=1e-4, atol=1e-5)


def test_slopes_are_those_of_a_plane() -> None:
    rows = RNG.random((400, 2))
    plane = Data.of(rows, 3.0 * rows[:, 0] - rows[:, 1])
    np.testing.assert_allclose(slopes_of(plane) * plane.scale, [3.0, -1.0], rtol=0.1)
    fit = map_estimate(plane, prior="paper", rng=RNG)
    lens = replace(Lens.clear(2), slopes=slopes_of(plane))
    outside = with_lens(fit, lens, plane, fit.thetas).posterior
    assert isinstance(outside, Through)
    assert outside.predict(np.array([[0.5, 0.5]]))[0][0] * plane.scale + plane.location == pytest.approx(1.0, abs=0.05)


def test_curvature_of_a_known_function_and_draws_around_the_map() -> None:
    matrix = np.array([[4.0, 1.0], [1.0, 9.0]])
    np.testing.assert_allclose(curvature(lambda rows: -rows @ matrix, np.zeros(2)), matrix, atol=1e-6)
    prior = named_prior("auto", 3)
    fit = map_estimate(DATA, prior=prior, rng=np.random.default_rng(1))
    target, at = log_posterior(DATA, MATERN52, prior), fit.theta.to_log()
    drawn = np.array([theta.to_log() for theta in laplace(fit, prior, np.random.default_rng(2), 4000)])
    low, high = prior.bounds(3)
    assert (drawn >= low - 1e-12).all()
    assert (drawn <= high + 1e-12).all()
    values, vectors = np.linalg.eigh(curvature(lambda rows: target(rows)[1], at))
    sharpest = vectors[:, -1]
    assert np.std((drawn - at) @ sharpest) == pytest.approx(values[-1] ** -0.5, rel=0.35)


def test_the_edge_of_the_trust_region_by_hand() -> None:
    start = [0.0, 0.5]
    assert region_edge(np.array(start), 2, 3) == FIRST
    assert region_edge(np.array([*start, 1.0, 2.0, 3.0]), 2, 3) == 2 * FIRST
    assert region_edge(np.array([*start, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 2, 3) == 1.6
    assert region_edge(np.array([*start, 0.4, 0.4, 0.4]), 2, 3) == FIRST / 2
    assert region_edge(np.array([*start, 0.4, 0.4, 1.0, 0.4, 0.4]), 2, 3) == FIRST
    assert region_edge(np.array([*start, *[0.4] * 20]), 2, 3) == FIRST / 2**6
    assert region_edge(np.array([*start, *[0.4] * 21]), 2, 3) == FIRST  # smaller than the smallest: anew


def study_of(name: str, trials: int, dimension: int, noise: float, **options: object) -> optuna.Study:
    sampler = uhebo.UHESampler(method=CANDIDATES[name].propose, seed=0, n_trials=trials, **options)  # type: ignore[arg-type]
    study = optuna.create_study(sampler=sampler)
    rng = np.random.default_rng(0)
    for _ in range(trials):
        trial = study.ask({f"x{i}": uhebo.Float(0, 1) for i in range(dimension)} | {"k": uhebo.Int(0, 3)})
        value = sum((trial.params[f"x{i}"] - 0.3) ** 2 for i in range(dimension)) + 0.1 * trial.params["k"]
        study.tell(trial, value + noise * rng.standard_normal())
    return study


def repeats(study: optuna.Study) -> list[int]:
    return [t.number for t in study.trials if t.system_attrs[ATTRIBUTE].get("again")]


def test_the_best_points_are_evaluated_again_under_noise_alone() -> None:
    noisy = study_of("best points again", 26, 2, 0.3)
    assert repeats(noisy)
    for number in repeats(noisy):
        before = [trial.params for trial in noisy.trials[:number]]
        assert any(
            all(p[key] == pytest.approx(value) for key, value in noisy.trials[number].params.items()) for p in before
        )
    assert not repeats(study_of("best points again", 20, 2, 0.0, deterministic=True))


def test_a_trust_region_is_left_out_up_to_ten_parameters() -> None:
    name = "trust region above ten parameters"
    few = [study_of(one, 14, 2, 0.0) for one in (DEFAULT, name)]
    assert [t.params for t in few[0].trials] == [t.params for t in few[1].trials]
    many = [study_of(one, 26, 11, 0.0) for one in (DEFAULT, name)]
    assert [t.params for t in many[0].trials] != [t.params for t in many[1].trials]
    assert many[1].best_value < max(t.value for t in many[1].trials[:10] if t.value is not None)
