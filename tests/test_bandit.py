"""EXP3 against a plain reference, its theorem, and its log."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uhebo.errors import InvalidInputError
from uhebo.methods.bandit import (
    FIRST_EPOCH,
    Clip,
    Exp3,
    Pull,
    doubling_epoch,
    gamma_for_horizon,
    replay,
    scale_reward,
)
from uhebo.types import Array
from uhebo_experiments.theory import regret_bound, uhe_gamma

unit = st.floats(0.0, 1.0)
gammas = st.floats(1e-3, 1.0)
finite = st.floats(allow_nan=False, allow_infinity=False)


def reference(arms: int, gamma: float, log: Sequence[tuple[int, float]]) -> tuple[list[float], list[float]]:
    """Algorithm EXP3 as printed, with ordinary weights: the weights and the probabilities after the log."""
    weights = [1.0] * arms
    for arm, reward in log:
        probability = (1 - gamma) * weights[arm] / sum(weights) + gamma / arms
        weights[arm] *= math.exp(gamma * reward / (arms * probability))
    return weights, [(1 - gamma) * w / sum(weights) + gamma / arms for w in weights]


def logs(arms: int, most: int = 40) -> st.SearchStrategy[list[tuple[int, float]]]:
    return st.lists(st.tuples(st.integers(0, arms - 1), unit), max_size=most)


@given(st.integers(1, 6).flatmap(lambda arms: st.tuples(st.just(arms), logs(arms))), gammas)
def test_agrees_with_the_plain_reference(case: tuple[int, list[tuple[int, float]]], gamma: float) -> None:
    arms, log = case
    bandit = Exp3.start(arms, gamma)
    for arm, reward in log:
        bandit = bandit.update(arm, reward)
    weights, probabilities = reference(arms, gamma, log)
    np.testing.assert_allclose(bandit.log_weights, np.log(weights), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(bandit.probabilities(), probabilities, rtol=1e-12)


@given(st.lists(finite.filter(lambda x: abs(x) < 1e307), min_size=1, max_size=20), st.floats(1e-12, 1.0))
def test_probabilities_are_a_distribution_with_a_floor(log_weights: list[float], gamma: float) -> None:
    probabilities = Exp3(tuple(log_weights), gamma).probabilities()
    assert abs(probabilities.sum() - 1.0) < 1e-12
    assert np.all(probabilities >= gamma / len(log_weights))
    assert np.all(np.diff(probabilities[np.argsort(log_weights)]) >= 0.0)


@given(finite, st.floats(5e-324, 1.0), st.floats(1e-12, 1.0))
def test_no_reward_overflows_the_weights(reward: float, probability: float, gamma: float) -> None:
    bandit = Exp3.start(3, gamma)
    for _ in range(20):
        bandit = bandit.update(1, reward, probability)
    assert all(map(math.isfinite, bandit.log_weights))
    assert abs(bandit.probabilities().sum() - 1.0) < 1e-12


def test_very_many_updates_do_not_overflow() -> None:
    bandit = Exp3.start(2, 0.01)
    for _ in range(100_000):
        bandit = bandit.update(0, 1.0, 0.5)
    assert bandit.log_weights[0] == pytest.approx(1000.0)  # exp(1000) is no double
    np.testing.assert_allclose(bandit.probabilities(), [0.995, 0.005])


@given(st.permutations(range(12)))
def test_with_recorded_probabilities_the_order_of_results_does_not_matter(order: list[int]) -> None:
    pulls = [Pull(i % 3, i / 11, 0.1 + i / 20) for i in range(12)]
    expected = replay(pulls, 3, 30)
    found = replay([pulls[i] for i in order], 3, 30)
    np.testing.assert_allclose(found.log_weights, expected.log_weights, rtol=1e-12)


def test_update_touches_the_pulled_arm_only_and_leaves_the_old_value() -> None:
    before = Exp3((0.5, -1.0, 2.0), 0.3)
    after = before.update(1, 0.7, 0.2)
    assert after.log_weights == pytest.approx((0.5, -1.0 + 0.3 * 0.7 / (3 * 0.2), 2.0), rel=1e-15)
    assert before.log_weights == (0.5, -1.0, 2.0)
    assert after.gamma == before.gamma


def test_pull_follows_the_probabilities_and_the_seed() -> None:
    bandit = Exp3((0.0, 1.0, -2.0), 0.2)
    rng = np.random.default_rng(0)
    counts = np.bincount([bandit.pull(rng) for _ in range(20_000)], minlength=3)
    np.testing.assert_allclose(counts / 20_000, bandit.probabilities(), atol=0.015)
    again = np.random.default_rng(7)
    assert [bandit.pull(np.random.default_rng(7)) for _ in range(5)] == [bandit.pull(again)] * 5


class Fixed:
    """Stands for a generator that gives one number."""

    def __init__(self, number: float) -> None:
        self.number = number

    def random(self) -> float:
        return self.number


def test_pull_at_the_edges() -> None:
    two = Exp3.start(2, 0.5)
    found = [two.pull(Fixed(u)) for u in (0.0, 0.49, 0.5, 1 - 2**-53)]  # type: ignore[arg-type]
    assert found == [0, 0, 1, 1]
    five = Exp3.start(5, 0.3)
    assert np.cumsum(five.probabilities())[-1] <= 1 - 2**-53  # the rounding error that must not give a sixth arm
    assert five.pull(Fixed(1 - 2**-53)) == 4  # type: ignore[arg-type]


def test_one_arm_is_always_pulled() -> None:
    bandit = Exp3.start(1, gamma_for_horizon(10, 1)).update(0, 1.0)
    assert bandit.probabilities() == pytest.approx(1.0)
    assert bandit.pull(np.random.default_rng(0)) == 0


@given(st.integers(1, 100_000))
def test_gamma_of_uhe_is_the_general_one_with_two_arms_and_half_the_rounds(budget: int) -> None:
    spec = min(1.0, math.sqrt(4 * math.log(2) / ((math.e - 1) * budget)))
    assert uhe_gamma(budget) == pytest.approx(spec, rel=1e-14)
    assert uhe_gamma(budget) == gamma_for_horizon(budget / 2, 2)


def test_gamma_of_tiny_horizons() -> None:
    assert [uhe_gamma(0), uhe_gamma(1), gamma_for_horizon(0, 5)] == [1.0, 1.0, 1.0]
    assert uhe_gamma(2) < 1.0
    assert gamma_for_horizon(1e308, 2) > 0.0


# Regret: Auer et al., Theorem 3.1, for rewards chosen beforehand (an oblivious adversary).

RUNS, ROUNDS = 100, 500


def gains(rewards: Array, start: Callable[[int], Exp3 | None], runs: int = RUNS) -> Array:
    """Total reward of each run on the table `rewards` (rounds, arms); `start(t)` is a fresh bandit for round t."""
    totals = np.zeros(runs)
    for run in range(runs):
        rng = np.random.default_rng([11, run])
        bandit = start(0)
        for t, row in enumerate(rewards):
            bandit = start(t) or bandit
            assert bandit is not None
            arm = bandit.pull(rng)
            totals[run] += row[arm]
            bandit = bandit.update(arm, row[arm])
    return totals


def adversarial(name: str) -> Array:
    """Reward tables in [0, 1] meant to mislead: the arm that looks better is not the better one in the end."""
    t = np.arange(ROUNDS)
    if name == "stochastic":
        rng = np.random.default_rng(5)
        return np.asarray(rng.random((ROUNDS, 3)) < np.array([0.5, 0.4, 0.7]), dtype=np.float64)
    if name == "switch":  # arm 0 pays first, arm 1 pays for longer
        return np.stack([t < ROUNDS * 0.4, t >= ROUNDS * 0.4], axis=1).astype(np.float64)
    return np.stack([np.full(ROUNDS, 0.5), np.where(t % 2 == 0, 1.0, 0.1)], axis=1)  # "alternating"


@pytest.mark.parametrize("name", ["stochastic", "switch", "alternating"])
def test_expected_regret_is_within_the_bound_of_the_theorem(name: str) -> None:
    rewards = adversarial(name)
    arms, best = rewards.shape[1], float(rewards.sum(axis=0).max())
    gamma = gamma_for_horizon(ROUNDS, arms)
    totals = gains(rewards, lambda t: Exp3.start(arms, gamma) if t == 0 else None)
    regret, error = best - totals.mean(), totals.std() / math.sqrt(RUNS)
    assert regret + 3 * error <= regret_bound(ROUNDS, arms, gamma, best)
    if name == "stochastic":  # and it learns: clearly better than pulling blindly
        assert totals.mean() - 3 * error > rewards.mean(axis=1).sum()


def test_doubling_epochs_keep_the_regret_sublinear() -> None:
    """Each epoch keeps its own bound, so the regret is at most their sum, which grows as the root of the rounds."""

    def start(t: int) -> Exp3 | None:
        epoch = doubling_epoch(t)
        return Exp3.start(2, gamma_for_horizon(epoch.rounds, 2)) if t == epoch.first else None

    rounds = FIRST_EPOCH * (2**8 - 1)  # eight whole epochs
    rewards = np.asarray(np.random.default_rng(3).random((rounds, 2)) < np.array([0.2, 0.8]), dtype=np.float64)
    regret = {n: rewards[:n, 1].sum() - gains(rewards[:n], start, 10).mean() for n in (rounds // 8, rounds)}
    lengths = [FIRST_EPOCH * 2**k for k in range(8)]
    assert regret[rounds] <= sum(regret_bound(n, 2, gamma_for_horizon(n, 2)) for n in lengths)
    assert regret[rounds] < 0.6 * 8 * regret[rounds // 8]  # the rate: √8 / 8 = 0.35 of linear growth


def test_the_tuned_bound_is_that_of_the_corollary() -> None:
    bound = regret_bound(1e6, 2, gamma_for_horizon(1e6, 2))
    assert bound == pytest.approx(2 * math.sqrt((math.e - 1) * 1e6 * 2 * math.log(2)))


# The log


@pytest.mark.parametrize("horizon", [None, 7, 40, 12.5])
def test_replay_is_the_stepwise_bandit(horizon: float | None) -> None:
    rng = np.random.default_rng(1)
    pulls: list[Pull] = []
    bandit = Exp3.start(3, gamma_for_horizon(FIRST_EPOCH if horizon is None else horizon, 3))
    for t in range(100):
        if horizon is None and doubling_epoch(t).first == t:
            bandit = Exp3.start(3, gamma_for_horizon(doubling_epoch(t).rounds, 3))
        assert replay(pulls, 3, horizon) == bandit
        arm, reward = bandit.pull(rng), float(rng.random())
        pulls.append(Pull(arm, reward, float(bandit.probabilities()[arm])))
        bandit = bandit.update(arm, reward)


@given(st.integers(0, 10**9))
def test_doubling_epochs_tile_the_rounds(round_index: int) -> None:
    number, rounds, first = doubling_epoch(round_index)
    assert first <= round_index < first + rounds
    assert rounds == FIRST_EPOCH * 2**number
    assert doubling_epoch(first + rounds) == (number + 1, 2 * rounds, first + rounds)


# Rewards


@given(finite, finite, finite, st.sampled_from(["below", "both", "none"]))
def test_scaled_rewards_are_finite_and_clipped(value: float, one: float, other: float, clip: Clip) -> None:
    low, high = min(one, other), max(one, other)
    reward = scale_reward(value, low, high, clip)
    assert math.isfinite(reward)
    assert reward >= 0.0 or clip == "none"
    assert reward <= 1.0 or clip != "both"
    if low < high:
        assert scale_reward(low, low, high, clip) == 0.0
        assert scale_reward(high, low, high, clip) == 1.0


def test_scaled_rewards() -> None:
    assert scale_reward(3.0, 1.0, 2.0) == 2.0
    assert scale_reward(3.0, 1.0, 2.0, "both") == 1.0
    assert scale_reward(0.0, 1.0, 2.0) == 0.0
    assert scale_reward(0.0, 1.0, 2.0, "none") == -1.0
    assert scale_reward(0.0, -1e308, 1e308) == 0.5
    assert scale_reward(1.5e300, 1e300, 2e300) == pytest.approx(0.5)
    assert scale_reward(2e-300, 1e-300, 5e-300) == pytest.approx(0.25)
    assert scale_reward(1e308, 0.0, 5e-324) == np.finfo(float).max


def test_a_constant_initial_design_gives_a_reward_without_dividing_by_zero() -> None:
    assert [scale_reward(v, 2.0, 2.0) for v in (1.0, 2.0, 3.0)] == [0.0, 0.0, 1.0]
    assert [scale_reward(v, 2.0, 2.0, "none") for v in (1.0, 2.0, 3.0)] == [-1.0, 0.0, 1.0]


# Misuse


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (lambda: Exp3.start(0, 0.1), "arms is 0"),
        (lambda: Exp3.start(True, 0.1), "arms is True"),
        (lambda: Exp3((), 0.1), "log_weights is empty"),
        (lambda: Exp3((math.nan,), 0.1), "finite"),
        (lambda: Exp3.start(2, 0.0), "gamma is 0.0"),
        (lambda: Exp3.start(2, 1.1), "gamma is 1.1"),
        (lambda: Exp3.start(2, math.nan), "gamma is nan"),
        (lambda: Exp3.start(2, 0.1).update(2, 1.0), "arm is 2"),
        (lambda: Exp3.start(2, 0.1).update(-1, 1.0), "arm is -1"),
        (lambda: Exp3.start(2, 0.1).update(0, math.nan), "reward is nan"),
        (lambda: Exp3.start(2, 0.1).update(0, math.inf), "reward is inf"),
        (lambda: Exp3.start(2, 0.1).update(0, 1.0, 0.0), "probability is 0.0"),
        (lambda: Exp3.start(2, 0.1).update(0, 1.0, 1.5), "probability is 1.5"),
        (lambda: gamma_for_horizon(-1, 2), "horizon is -1"),
        (lambda: gamma_for_horizon(math.inf, 2), "horizon is inf"),
        (lambda: uhe_gamma(-4), "horizon is -2"),
        (lambda: doubling_epoch(-1), "round_index is -1"),
        (lambda: replay([Pull(5, 1.0, 0.5)], 2, 10), "arm is 5"),
        (lambda: scale_reward(math.nan, 0.0, 1.0), "finite"),
        (lambda: scale_reward(0.0, 1.0, 0.0), "low <= high"),
        (lambda: scale_reward(0.0, 0.0, 1.0, "above"), "clip is 'above'"),  # type: ignore[arg-type]
        (lambda: regret_bound(10, 2, 0.1, 11), "best_gain is 11"),
        (lambda: regret_bound(10, 2, 0.0), "gamma is 0.0"),
    ],
)
def test_misuse_is_named(misuse: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        misuse()
