"""SCoreBO against its authors' program, which BoTorch has: same thetas and optima, same worth of points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.conftest import require
from uhebo.gp import Data, Posterior, Theta
from uhebo.methods import scorebo

ELLS, SIGNALS = ([0.2, 0.3], [0.5, 0.4], [0.9, 1.3]), (1.0, 0.7, 2.0)
NOISE = 1e-4
"""BoTorch takes the height of an optimum with this noise for variances, and with theta's for means: here the same."""


@pytest.mark.gpytorch
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:Data .outcome observations")
def test_points_are_worth_what_they_are_in_the_authors_program(monkeypatch: pytest.MonkeyPatch) -> None:
    torch: Any = require("torch", "pip install torch==2.13.0")
    torch.set_num_threads(1)
    community = require("botorch_community.acquisition.scorebo", "pip install 'uhebo[botorch]'")
    models = require("botorch.models.fully_bayesian", "pip install 'uhebo[botorch]'")
    # JAX draws hyperparameters there; here they are given.
    monkeypatch.setattr(models, "_check_jax_available", lambda *_: None, raising=False)
    monkeypatch.setattr(models, "jnp", np, raising=False)
    monkeypatch.setattr(scorebo, "SEEN", NOISE)

    def tensor(values: Any) -> Any:
        return torch.as_tensor(np.asarray(values), dtype=torch.float64)

    rng = np.random.default_rng(0)
    X, some = rng.random((9, 2)), rng.random((60, 2))
    data = Data.of(X, np.sin(5 * X[:, 0]) + X[:, 1] ** 2)
    posteriors = tuple(
        Posterior.of(data, Theta.of(ell, signal, NOISE)) for ell, signal in zip(ELLS, SIGNALS, strict=True)
    )
    found = [scorebo.drawn_optima(p, rng.random((2000, 2)), None, rng) for p in posteriors]
    places, heights = (np.array(of) for of in zip(*found, strict=True))
    model = models.SaasFullyBayesianSingleTaskGP(tensor(X), tensor(data.y)[:, None])
    drawn = {"lengthscale": np.array(ELLS)[:, None], "outputscale": SIGNALS, "mean": np.zeros(3)}
    model.load_mcmc_samples({name: tensor(of) for name, of in {**drawn, "noise": np.full((3, 1), NOISE)}.items()})
    for optima in (heights, heights + 3.0):
        theirs = community.qSelfCorrectingBayesianOptimization(
            model, optimal_inputs=tensor(places.transpose(1, 0, 2)), optimal_outputs=tensor(optima.T[..., None])
        )(tensor(some)[:, None])
        ours = scorebo.self_correction(posteriors, list(zip(places, optima, strict=True)), some)
        apart = np.abs(ours / theirs.detach().numpy() - 1.0)
        assert np.quantile(apart, 0.7) < 1e-6
        assert apart.max() < 0.02  # it does not let a chance that it divides by fall below 1e-6
        assert ours.max() > 2 * ours.min()
