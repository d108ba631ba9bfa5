"""UHE-BO written down once more from the paper's text, with nothing of the package: the same points, seed by seed.

Algorithm 1 in plain NumPy, with the pairs (x̂', y(x̂')) of its line 16, each once (reading `distinct`) or all of them
(`observed`), and the likelihood of its appendix by the plain covariance matrix. What the paper leaves to the reader and
this project has settled is settled here in the same way: the unit cube, Matérn-5/2, Gamma(1e-3, rate 10) priors in log
theta with the Jacobian, the box of theta, standardised y, M = 2n, UCB with 1.96, rewards clipped at 0. Random numbers
are shared by convention: (seed, trial number, purpose). The space is a grid, so that the best point is a fact and not a
matter of an optimiser's patience. So is theta: the package is told to climb to the top, and there is one top, since the
function is smooth and D0 has 20 points. (From few points, theta lies on a ridge as flat as rounding.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, IntDistribution
from scipy.optimize import minimize

from uhebo import UHESampler
from uhebo.belief import fitting
from uhebo.estimate import DEFAULT_READING, Reading
from uhebo.types import Array

SIDE, INITIAL, T = 20, 20, 10
SPACE: dict[str, BaseDistribution] = {"a": IntDistribution(0, SIDE - 1), "b": IntDistribution(0, SIDE - 1)}
GRID = (np.stack(np.meshgrid(range(SIDE), range(SIDE), indexing="ij"), axis=-1).reshape(-1, 2) + 0.5) / SIDE
POINT, ARM, FIT = 0, 1, 2
"""Purposes of random numbers."""
LOW, HIGH = np.log([5e-3, 5e-3, 1e-3, 1e-6]), np.log([50.0, 50.0, 1e3, 10.0])


def objective(x: Array) -> float:
    """Branin's function, larger better, x in the unit square."""
    a, b = 15 * x[0] - 5, 15 * x[1]
    bowl = (b - 5.1 * a**2 / (4 * math.pi**2) + 5 * a / math.pi - 6) ** 2
    return -float(bowl + 10 * (1 - 1 / (8 * math.pi)) * math.cos(a) + 10)


def covariance(a: Array, b: Array, log_theta: Array) -> Array:
    ell, v = np.exp(log_theta[:2]), np.exp(log_theta[2])
    r = np.sqrt((((a[:, None] - b[None]) / ell) ** 2).sum(axis=2))
    return np.asarray(v * (1 + math.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-math.sqrt(5) * r))


def loss(log_theta: Array, X: Array, y: Array) -> float:
    """½ yᵀK⁻¹y + ½ log|K| + n/2 log 2π - log prior."""
    K = covariance(X, X, log_theta) + np.exp(log_theta[3]) * np.eye(len(y))
    sign, log_determinant = np.linalg.slogdet(K)
    if sign <= 0:
        return 1e10
    likelihood = -0.5 * (y @ np.linalg.solve(K, y) + log_determinant + len(y) * math.log(2 * math.pi))
    return float(-likelihood - (1e-3 * log_theta - 10.0 * np.exp(log_theta)).sum())


def fitted(X: Array, y: Array, before: Array | None) -> Array:
    starts = [np.log([ell, ell, 0.5, s2]) for ell, s2 in ((0.1, 1e-2), (0.5, 1e-4))]
    starts += [] if before is None else [before]
    bounds = list(zip(LOW, HIGH, strict=True))
    ends = [minimize(loss, start, (X, y), method="L-BFGS-B", bounds=bounds, tol=1e-10) for start in starts]
    return np.asarray(min(ends, key=lambda end: float(end.fun)).x)


def algorithm_1(seed: int, X: Array, reading: Reading) -> tuple[Array, list[int]]:
    """Points x_1 .. x_T after the initial ones, and the arms."""
    y = np.array([objective(x) for x in X])
    start, weights, arms, theta = y.copy(), [1.0, 1.0], [], None
    gamma = math.sqrt(4 * math.log(2) / ((math.e - 1) * T))
    for t in range(1, T + 1):
        number = len(X)
        if t % 2 == 1:
            p = [(1 - gamma) * w / sum(weights) + gamma / 2 for w in weights]
            arm = 0 if np.random.default_rng([seed, number, ARM]).random() < p[0] else 1
            arms.append(arm)
        if arm == 0 and t % 2 == 1:
            uniform = np.random.default_rng([seed, number, POINT]).random(2)
            x = (np.floor(SIDE * uniform) + 0.5) / SIDE
        else:
            z = (y - y.mean()) / y.std()
            drawn = np.random.default_rng([seed, number, FIT]).random((2 * len(X), 2))
            nearest = ((drawn[:, None] - X[None]) ** 2).sum(axis=2).argmin(axis=1)
            used = np.unique(nearest) if reading == "distinct" else nearest
            theta = fitted(X[used], z[used], theta)
            K = covariance(X, X, theta) + np.exp(theta[3]) * np.eye(len(X))
            cross = covariance(X, GRID, theta)
            variance = np.exp(theta[2]) - (cross * np.linalg.solve(K, cross)).sum(axis=0)
            bound = cross.T @ np.linalg.solve(K, z) + 1.96 * np.sqrt(np.maximum(variance, 0.0))
            x = GRID[int(np.argmax(bound))]
        X, y = np.vstack([X, x]), np.append(y, objective(x))
        if t % 2 == 0:
            reward = max(0.0, (max(y[-2:]) - start.min()) / (start.max() - start.min()))
            weights[arm] *= math.exp(gamma * reward / (2 * p[arm]))
    return X[INITIAL:], arms


def of_the_package(seed: int, **options: Any) -> tuple[Array, list[int]]:
    """All points of a search, in the unit square, and the arms."""
    sampler = UHESampler(method="uhe", seed=seed, n_trials=INITIAL + T, n_startup_trials=INITIAL, **options)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for _ in range(INITIAL + T):
        trial = study.ask(SPACE)
        study.tell(trial, objective((np.array([trial.params["a"], trial.params["b"]]) + 0.5) / SIDE))
    tags = [trial.system_attrs["uhebo:step"] for trial in study.trials[INITIAL:]]
    points = np.array([[trial.params["a"], trial.params["b"]] for trial in study.trials])
    return (points + 0.5) / SIDE, [tag["arm"] for tag in tags[::2]]


@pytest.mark.parametrize(("seed", "reading"), [*((seed, DEFAULT_READING) for seed in range(4)), (0, "observed")])
def test_uhe_is_algorithm_1(seed: int, reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "TOLERANCE", 1e-7)
    points, arms = of_the_package(seed, **({} if reading == DEFAULT_READING else {"reading": reading}))
    again, same_arms = algorithm_1(seed, points[:INITIAL], reading)
    assert arms == same_arms
    np.testing.assert_allclose(points[INITIAL:], again, atol=1e-9)
