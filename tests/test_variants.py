"""Other readings of the paper: each changes what it says, and every variant runs."""

from __future__ import annotations

import numpy as np
import optuna
import pytest

from uhebo import UHESampler
from uhebo.acquire.functions import PREDICTIVE_UCB, surface
from uhebo.errors import InvalidInputError
from uhebo.estimate import consistent_estimate
from uhebo.estimate.consistent import observed
from uhebo.estimate.shrink import a_gp_ucb_scaling, wang_de_freitas_scaling
from uhebo.gp import Data, LogMarginalLikelihood, Posterior, Theta, named_prior
from uhebo.types import Array
from uhebo_experiments.cells import Cell
from uhebo_experiments.runner import run_cell
from uhebo_experiments.variants import VARIANTS


def made_up(n: int = 20) -> Data:
    X = np.random.default_rng(0).random((n, 2))
    return Data.of(X, np.sin(6 * X[:, 0]) + X[:, 1])


def posterior(noise: float = 0.1) -> Posterior:
    return Posterior.of(made_up(), Theta.of([0.3, 0.5], 1.2, noise))


def highest(posterior: Posterior) -> Array:
    grid = np.random.default_rng(1).random((200, 2))
    return np.asarray(grid[np.argmax(surface("ucb", (posterior,), beta=1.96, best=0.0)(grid))])


def test_raw_units_are_those_of_y() -> None:
    """κ = 0.1 in units of y is κ/scale in deviations; the budget of A-GP-UCB likewise."""
    base, scale = posterior(1e-6), 7.0
    raw = wang_de_freitas_scaling(base, highest, unit=scale)
    assert raw.factor == wang_de_freitas_scaling(base, highest, kappa=0.1 / scale).factor
    assert raw.deviation == pytest.approx(scale * float(np.sqrt(raw.posterior.predict(raw.point[None])[1][0])))
    spend = {
        unit: a_gp_ucb_scaling(base, highest, t=30, beta=1.96, previous=1.0, spent=0.0, unit=unit)
        for unit in (1.0, 1e4)
    }
    assert spend[1.0].factor == 2.0  # all of its growth fits into the budget
    assert spend[1e4].factor == 1.0  # nothing does


def test_arm_2_by_map() -> None:
    sampler = UHESampler(method=VARIANTS["uhe/arm-2-map"], seed=2, n_trials=30, n_startup_trials=6)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda t: (t.suggest_float("x", 0, 1) - 0.3) ** 2 + t.suggest_float("y", 0, 1), n_trials=20)
    tags = [trial.system_attrs["uhebo:step"] for trial in study.trials[6:]]
    found = {(tag["arm"], tag["estimator"]) for tag in tags if tag["role"] == "model"}
    assert found == {(0, "consistent"), (1, "map")}


def test_the_predictive_deviation_has_the_noise_in_it() -> None:
    believed = posterior()
    X = np.random.default_rng(2).random((9, 2))
    mean, variance = believed.predict(X)
    bound = surface(PREDICTIVE_UCB, (believed,), beta=1.5, best=0.0)
    np.testing.assert_allclose(bound(X), mean + 1.5 * np.sqrt(variance + 0.1))
    for i, step in enumerate(1e-6 * np.eye(2)):
        slope = (bound(X + step) - bound(X - step)) / 2e-6
        np.testing.assert_allclose(bound.with_gradient(X)[1][:, i], slope, rtol=1e-5, atol=1e-6)
    with pytest.raises(InvalidInputError, match="unknown acquisition 'ucb-predictive'"):
        UHESampler(acquisition=PREDICTIVE_UCB)  # type: ignore[arg-type]


def test_labels_standardised_on_their_own() -> None:
    data = made_up()
    fit = consistent_estimate(data, rng=np.random.default_rng(4), reading="observed", own_scale=True)
    X, y, copies, _ = observed(data, 40, np.random.default_rng(4))
    assert copies is not None
    written_out = np.repeat(y, copies.astype(int))
    assert abs(written_out.std() - 1.0) > 1e-3
    own = (y - written_out.mean()) / written_out.std()
    at = fit.theta.to_log()[None]
    expected = (
        LogMarginalLikelihood([(X, own)], "matern52", data.domain, [copies])(at)[0] + named_prior("paper", 2)(at)[0]
    )
    assert fit.log_posterior == pytest.approx(expected[0], abs=1e-8)


@pytest.mark.parametrize("name", list(VARIANTS))
def test_every_variant_runs_as_a_cell(name: str) -> None:
    records = run_cell(Cell("branin", name, 0, 4, None, (("reading", "distinct"),)))
    assert [record["t"] for record in records] == [0] * 6 + [1, 2, 3, 4]
    assert any(record["role"] == "model" for record in records)
