"""`uhe` on sample paths of a GP whose theta is known: the mean regret per iteration falls with the budget."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import uhebo
from uhebo.types import Array

BUDGETS = (25, 50, 100)
INITIAL = 6
SEEDS = range(4)
ELL = np.array([0.5, 0.7])
FEATURES = 1500


def sample_path(seed: int) -> Callable[[Array], Array]:
    """A draw from GP(0, Matérn-5/2 with lengthscales ELL and variance 1) by random Fourier features.

    f(x) = √(2/M) Σ cos(ω_m · x + b_m), ω the spectral density of the kernel: a Student t with 5 degrees of freedom.
    """
    rng = np.random.default_rng(seed)
    frequencies = rng.standard_normal((FEATURES, 2)) * np.sqrt(5.0 / rng.chisquare(5, FEATURES))[:, None] / ELL
    phases = rng.uniform(0, 2 * np.pi, FEATURES)
    weights = np.sqrt(2.0 / FEATURES) * rng.standard_normal(FEATURES)
    return lambda x: np.cos(x @ frequencies.T + phases) @ weights


def test_the_sample_paths_have_the_covariance_they_should() -> None:
    X = np.array([[0.3, 0.3], [0.6, 0.3], [0.3, 0.9]])
    draws = np.array([sample_path(seed)(X) for seed in range(1500)])
    r = np.sqrt(5) * np.array([0.0, 0.3 / ELL[0], 0.6 / ELL[1]])
    np.testing.assert_allclose((draws * draws[:, :1]).mean(axis=0), (1 + r + r**2 / 3) * np.exp(-r), atol=0.1)


def regrets(seed: int) -> Array:
    """Regret of every iteration after the initial design, (T,)."""
    path = sample_path(seed)
    result = uhebo.maximize(
        lambda x, y: float(path(np.array([[x, y]]))[0]),
        {"x": (0.0, 1.0), "y": (0.0, 1.0)},
        max(BUDGETS) + INITIAL,
        seed=seed,
        method="uhe",
    )
    values = np.array([trial.value for trial in result.study.trials], dtype=np.float64)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 101)] * 2), axis=-1).reshape(-1, 2)
    return np.asarray(max(float(path(grid).max()), values.max()) - values[INITIAL:])


def test_regret_is_sub_linear() -> None:
    """R_T/T falls from each budget to the next on the mean of the seeds, and the best point comes to the optimum."""
    found = np.array([regrets(seed) for seed in SEEDS])
    per_iteration = [float(found[:, :budget].mean()) for budget in BUDGETS]
    assert per_iteration[0] > per_iteration[1] > per_iteration[2]
    assert per_iteration[2] < 0.9 * per_iteration[0]
    assert found.min(axis=1).mean() < 0.1 * found[:, 0].mean()
