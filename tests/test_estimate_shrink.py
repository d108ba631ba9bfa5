"""The two scaling searches: monotone, within the budget, smallest that explores; all recomputed independently."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from uhebo.estimate import map_estimate
from uhebo.estimate.shrink import (
    GROWTH_PER_STEP,
    KAPPA,
    LARGEST_SCALING,
    a_gp_ucb_scaling,
    reference_regret,
    wang_de_freitas_scaling,
)
from uhebo.gp import Data, Posterior, Theta
from uhebo.types import Array


@pytest.fixture(scope="module")
def base() -> Posterior:
    X = np.random.default_rng(0).random((20, 2))
    return map_estimate(Data.of(X, np.sin(6 * X[:, 0]) + X[:, 1]), rng=np.random.default_rng(0)).posterior


def grid_ucb(beta: float) -> Callable[[Posterior], Array]:
    grid = np.random.default_rng(9).random((400, 2))

    def maximise(posterior: Posterior) -> Array:
        mean, variance = posterior.predict(grid)
        return np.asarray(grid[np.argmax(mean + beta * np.sqrt(variance))])

    return maximise


def deviation_under(base: Posterior, factor: float, beta: float) -> float:
    """Independently of the module: sigma at the UCB point under ell / factor."""
    theta = Theta.of(base.theta.ell / factor, base.theta.v, base.theta.s2)
    posterior = Posterior.of(base.data, theta, base.kernel)
    return float(np.sqrt(posterior.predict(grid_ucb(beta)(posterior)[None])[1][0]))


def test_a_gp_ucb_never_lengthens_and_respects_its_budget(base: Posterior) -> None:
    beta, g, spent, growths = 1.0, 1.0, 0.0, 0
    for t in range(1, 40):
        scaling = a_gp_ucb_scaling(base, grid_ucb(beta), t=t, beta=beta, previous=g, spent=spent)
        assert g <= scaling.factor <= min(g * GROWTH_PER_STEP, LARGEST_SCALING) * (1 + 1e-12)
        np.testing.assert_allclose(scaling.deviation, deviation_under(base, scaling.factor, beta), rtol=1e-9)
        if scaling.factor > g:
            growths += 1
            assert spent + 2 * beta * scaling.deviation <= reference_regret(t)
        elif g < LARGEST_SCALING:  # stayed: no longer candidate on the way up fits the budget
            top = min(g * GROWTH_PER_STEP, LARGEST_SCALING)
            assert spent + 2 * beta * deviation_under(base, top, beta) > t**0.9
        g, spent = scaling.factor, spent + 2 * beta * scaling.deviation
        base = base.grow(scaling.point[None], base.predict(scaling.point[None])[0])  # the search goes on, σ falls
    assert growths > 0


def test_a_gp_ucb_takes_the_largest_scaling_the_budget_allows(base: Posterior) -> None:
    free = a_gp_ucb_scaling(base, grid_ucb(1.0), t=10**6, beta=1.0, previous=1.0, spent=0.0)
    np.testing.assert_allclose(free.factor, GROWTH_PER_STEP)
    capped = a_gp_ucb_scaling(base, grid_ucb(1.0), t=10**6, beta=1.0, previous=0.9 * LARGEST_SCALING, spent=0.0)
    np.testing.assert_allclose(capped.factor, LARGEST_SCALING)
    broke = a_gp_ucb_scaling(base, grid_ucb(1.0), t=1, beta=1.0, previous=3.0, spent=1e9)
    assert broke.factor == 3.0


@pytest.mark.parametrize("kappa", [KAPPA, 0.0, 0.3, 1e9])
def test_wang_de_freitas_takes_the_smallest_scaling_that_explores(base: Posterior, kappa: float) -> None:
    scaling = wang_de_freitas_scaling(base, grid_ucb(1.96), kappa=kappa)
    assert 1.0 <= scaling.factor <= LARGEST_SCALING
    if kappa == 0.0:
        assert scaling.factor == 1.0
    if kappa == 1e9:  # never reached: the largest is taken
        assert scaling.factor == LARGEST_SCALING
    else:
        assert scaling.deviation >= kappa
        below = [g for g in np.geomspace(1.0, LARGEST_SCALING, 24) if g < scaling.factor * (1 - 1e-12)]
        assert all(deviation_under(base, float(g), 1.96) < kappa for g in below)
    np.testing.assert_allclose(scaling.posterior.theta.ell, base.theta.ell / scaling.factor)
