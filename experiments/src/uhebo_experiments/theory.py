"""The quantities of the paper's theorems: confidence schedule, information gain, and the shape of the regret bounds."""

from __future__ import annotations

import math

import numpy as np

from uhebo.checks import integer
from uhebo.errors import InvalidInputError
from uhebo.gp.data import Domain, Theta
from uhebo.gp.kernels import MATERN52, Kernel, named_kernel, squared_distance
from uhebo.methods.bandit import gamma_for_horizon
from uhebo.methods.schedule import beta_schedule
from uhebo.numerics.linalg import safe_cholesky
from uhebo.types import Array


def information_gain(X: Array, theta: Theta, kernel: str | Kernel = MATERN52, domain: Domain | None = None) -> float:
    """½ log|I + s2⁻¹ K|: what observing at the rows of X tells about the function, in nats."""
    _check_noise(theta)
    if not len(X):
        return 0.0
    domain = Domain.cube(X.shape[1]) if domain is None else domain
    matrix = theta.v / theta.s2 * named_kernel(kernel).value(squared_distance(X, X, theta.ell, domain))
    matrix.flat[:: len(X) + 1] += 1.0
    factor, _ = safe_cholesky(matrix)
    return float(np.log(np.diagonal(factor)).sum())


def greedy_information_gain(
    candidates: Array, rounds: int, theta: Theta, kernel: str | Kernel = MATERN52, domain: Domain | None = None
) -> Array:
    """Information gain after 1 .. `rounds` points taken greedily among `candidates` (repeats allowed).

    Greedy choice reaches at least (1 - 1/e) of the maximum γ_T over the candidates because the gain is submodular
    (Srinivas et al. 2010). Each step takes the largest posterior variance σ² and gains ½ log(1 + σ²/s2).
    """
    _check_noise(theta)
    if rounds < 0 or not len(candidates):
        raise InvalidInputError(
            f"rounds={rounds} among {len(candidates)} candidates; expected rounds >= 0 and some of them"
        )
    domain = Domain.cube(candidates.shape[1]) if domain is None else domain
    variance = np.full(len(candidates), theta.v)
    rows = np.zeros((rounds, len(candidates)))
    gains = np.zeros(rounds)
    total = 0.0
    for step in range(rounds):
        best = int(np.argmax(variance))
        total += 0.5 * math.log1p(float(variance[best]) / theta.s2)
        gains[step] = total
        # Rank-one update of all candidates' variances: one more row of the factor, O(rounds · candidates) a step.
        chosen = candidates[best][None]
        cross = theta.v * named_kernel(kernel).value(squared_distance(chosen, candidates, theta.ell, domain))[0]
        row = (cross - rows[:step, best] @ rows[:step]) / math.sqrt(float(variance[best]) + theta.s2)
        rows[step] = row
        variance = np.maximum(variance - row * row, 0.0)
    return gains


def information_gain_growth(T: float, dimension: int, kernel: str | Kernel = MATERN52) -> float:
    """Shape of γ_{T/2} in the paper: (log T/2)^{d+1} for SE, (T/2)^{d(d+1)/(2ν+d(d+1))} log(T/2) for Matérn."""
    dimension, nu = integer("dimension", dimension, 1), named_kernel(kernel).smoothness
    half = max(T / 2.0, math.e)
    if math.isinf(nu):
        return math.log(half) ** (dimension + 1)
    product = dimension * (dimension + 1)
    return float(half ** (product / (2.0 * nu + product)) * math.log(half))


def regret_bound_shape(
    T: float, dimension: int, kernel: str | Kernel = MATERN52, *, bandit: bool = True, delta: float = 0.1
) -> float:
    """√(2 β_T γ_{T/2} / T), plus √(2 log 2 / T) for UHE-BO's bandit: the bounds of the paper up to a constant."""
    if not T > 0.0:
        raise InvalidInputError(f"T={T}: expected a positive number of steps")
    beta = beta_schedule(max(1, round(T)), dimension, delta=delta)
    shape_of_bound = math.sqrt(2.0 * beta * information_gain_growth(T, dimension, kernel) / T)
    return shape_of_bound + (math.sqrt(2.0 * math.log(2.0) / T) if bandit else 0.0)


def _check_noise(theta: Theta) -> None:
    if theta.s2 <= 0.0:
        raise InvalidInputError("the information gain is infinite without noise; give theta a positive s2")


def regret_bound(rounds: float, arms: int, gamma: float, best_gain: float | None = None) -> float:
    """G_max - E[G] <= (e - 1) gamma G_max + M ln M / gamma: Auer et al., Theorem 3.1, with rewards in [0, 1].

    G_max is `best_gain`, the total reward of the best single arm; unknown, it is bounded by the number of rounds.
    """
    arms = integer("arms", arms, 1)
    if not 0.0 < gamma <= 1.0:
        raise InvalidInputError(f"gamma is {gamma}, expected 0 < gamma <= 1; gamma_for_horizon gives one")
    gain = float(rounds) if best_gain is None else float(best_gain)
    if not 0.0 <= gain <= rounds:
        raise InvalidInputError(f"best_gain is {gain} in {rounds} rounds, expected rewards in [0, 1]; scale them first")
    return (math.e - 1.0) * gamma * gain + arms * math.log(arms) / gamma


def uhe_gamma(budget: float) -> float:
    """gamma = min(1, √(4 ln 2 / ((e - 1) T))) for T iterations: two arms, pulled once every second iteration."""
    return gamma_for_horizon(budget / 2, arms=2)
