"""The quantities of the theorems against hand computation, brute force and the guarantees they are known to have."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from uhebo.errors import InvalidInputError
from uhebo.gp import KERNELS, Domain, Theta
from uhebo.gp.kernels import squared_distance
from uhebo.methods.schedule import beta_schedule
from uhebo_experiments.theory import (
    greedy_information_gain,
    information_gain,
    information_gain_growth,
    regret_bound_shape,
)

THETA = Theta.of([0.3, 0.6], 1.5, 0.1)
POINTS = np.random.default_rng(0).random((7, 2))


def test_beta_by_hand() -> None:
    # t = 10, d = 2, δ = 0.1, a = b = r = 1: 2 log(25 · 2π²/0.3) + 4 log(25 · 2 · √log 80)
    #   2 log(1644.934...) = 14.810...;   √log 80 = 2.093331...;   4 log(104.66658...) = 18.602...
    by_hand = 2 * math.log(25 * 2 * 9.869604401 / 0.3) + 4 * math.log(50 * 2.0933294)
    np.testing.assert_allclose(by_hand, 33.41, atol=0.01)
    np.testing.assert_allclose(beta_schedule(10, 2), by_hand, rtol=1e-6)
    np.testing.assert_allclose(
        beta_schedule(4, 1, delta=0.5, a=2.0, b=3.0, r=0.5),
        2 * math.log(4 * 2 * math.pi**2 / 1.5) + 2 * math.log(4 * 1.5 * math.sqrt(math.log(16))),
    )


def test_beta_grows_with_time_and_confidence() -> None:
    values = [beta_schedule(t, 3) for t in range(1, 200)]
    assert all(later >= earlier >= 0.0 for earlier, later in itertools.pairwise(values))
    assert beta_schedule(50, 3, delta=0.01) > beta_schedule(50, 3, delta=0.1)
    assert beta_schedule(50, 6) > beta_schedule(50, 3)


@pytest.mark.parametrize("kernel", KERNELS)
def test_information_gain_is_half_a_log_determinant(kernel: str) -> None:
    matrix = THETA.v * KERNELS[kernel].value(squared_distance(POINTS, POINTS, THETA.ell, Domain.cube(2)))
    _, log_det = np.linalg.slogdet(np.eye(7) + matrix / THETA.s2)
    np.testing.assert_allclose(information_gain(POINTS, THETA, kernel), 0.5 * log_det, rtol=1e-10)


def test_information_gain_in_a_mixed_domain_and_of_nothing() -> None:
    domain = Domain((0, 3))
    points = domain.uniform(np.random.default_rng(1), 6)
    matrix = THETA.v * KERNELS["matern52"].value(squared_distance(points, points, THETA.ell, domain))
    _, log_det = np.linalg.slogdet(np.eye(6) + matrix / THETA.s2)
    np.testing.assert_allclose(information_gain(points, THETA, domain=domain), 0.5 * log_det, rtol=1e-10)
    assert information_gain(np.zeros((0, 2)), THETA) == 0.0


@pytest.mark.parametrize("kernel", KERNELS)
def test_greedy_gain_is_between_the_guarantee_and_the_optimum(kernel: str) -> None:
    gains = greedy_information_gain(POINTS, 4, THETA, kernel)
    for rounds in (1, 2, 3, 4):
        designs = itertools.combinations_with_replacement(range(len(POINTS)), rounds)
        optimum = max(information_gain(POINTS[list(design)], THETA, kernel) for design in designs)
        assert gains[rounds - 1] <= optimum + 1e-9
        assert gains[rounds - 1] >= (1 - 1 / math.e) * optimum
    np.testing.assert_allclose(gains[0], 0.5 * math.log(1 + THETA.v / THETA.s2))


def test_greedy_gain_beats_random_designs_and_has_falling_increments() -> None:
    rng = np.random.default_rng(2)
    candidates = rng.random((300, 2))
    gains = greedy_information_gain(candidates, 25, THETA)
    increments = np.diff(gains, prepend=0.0)
    assert (increments > 0.0).all()
    assert (np.diff(increments) <= 1e-12).all()  # submodular: nothing later is worth more than what came before
    for _ in range(20):
        chosen = candidates[rng.integers(0, 300, 25)]
        assert information_gain(chosen, THETA) <= gains[-1] + 1e-9
    assert len(greedy_information_gain(candidates, 0, THETA)) == 0


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dimension", [1, 2])
def test_bounds_fall_in_the_long_run(kernel: str, dimension: int) -> None:
    times = np.geomspace(1e6, 1e14, 9)
    with_bandit = [regret_bound_shape(T, dimension, kernel) for T in times]
    without = [regret_bound_shape(T, dimension, kernel, bandit=False) for T in times]
    assert (np.diff(with_bandit) < 0.0).all()
    assert (np.diff(without) < 0.0).all()
    np.testing.assert_allclose(np.subtract(with_bandit, without), np.sqrt(2 * np.log(2) / times), rtol=1e-6)
    assert (np.diff([information_gain_growth(T, dimension, kernel) for T in times]) > 0.0).all()


def test_growth_by_hand() -> None:
    np.testing.assert_allclose(information_gain_growth(200, 2, "se"), math.log(100) ** 3)
    np.testing.assert_allclose(information_gain_growth(200, 2, "matern52"), 100 ** (6 / 11) * math.log(100))
    np.testing.assert_allclose(information_gain_growth(200, 1, "matern32"), 100 ** (2 / 5) * math.log(100))


def test_wrong_arguments_are_refused() -> None:
    silent = Theta.of([0.3, 0.6], 1.0, 0.0)
    for call in (
        lambda: beta_schedule(0, 2),
        lambda: beta_schedule(5, 0),
        lambda: beta_schedule(5, 2, delta=0.0),
        lambda: beta_schedule(5, 2, delta=1.0),
        lambda: beta_schedule(5, 2, b=0.0),
        lambda: beta_schedule(5, 2, a=0.001),
        lambda: information_gain(POINTS, silent),
        lambda: greedy_information_gain(POINTS, 3, silent),
        lambda: greedy_information_gain(POINTS, -1, THETA),
        lambda: greedy_information_gain(np.zeros((0, 2)), 3, THETA),
        lambda: information_gain_growth(100, 0),
        lambda: information_gain_growth(100, 2, "rbf"),
        lambda: regret_bound_shape(0.0, 2),
        lambda: regret_bound_shape(math.nan, 2),
    ):
        with pytest.raises(InvalidInputError):
            call()
