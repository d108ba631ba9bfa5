"""EXP3 (Auer, Cesa-Bianchi, Freund and Schapire 2002, "The nonstochastic multiarmed bandit problem").

A round pulls one of M arms and sees the reward of that arm only. Nothing here knows what an arm does, and nothing is
remembered: the state for the next round is a function of the log of pulls (`replay`). Arms are numbered from 0.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from uhebo.checks import integer
from uhebo.errors import InvalidInputError
from uhebo.types import Array, Rng

Clip = Literal["below", "both", "none"]

FIRST_EPOCH = 8
"""Rounds in the first doubling epoch: for a shorter one gamma is near 1, so that it would learn next to nothing."""

_LARGEST = sys.float_info.max / 4  # the difference of two such log weights is still finite


@dataclass(frozen=True)
class Pull:
    """One finished round: the arm pulled, its reward, and the probability the arm had when it was pulled."""

    arm: int
    reward: float
    probability: float


@dataclass(frozen=True)
class Exp3:
    """State of EXP3: log w_m for each arm, as accumulated (never renormalised), and the share gamma of exploration."""

    log_weights: tuple[float, ...]
    gamma: float

    def __post_init__(self) -> None:
        if not self.log_weights:
            raise InvalidInputError("log_weights is empty, expected one for each arm; use Exp3.start(arms, gamma)")
        if not all(map(math.isfinite, self.log_weights)):
            raise InvalidInputError(f"log_weights must be finite, got {self.log_weights}; start afresh with Exp3.start")
        if not 0.0 < self.gamma <= 1.0:
            raise InvalidInputError(f"gamma is {self.gamma}, expected 0 < gamma <= 1; gamma_for_horizon gives one")

    @classmethod
    def start(cls, arms: int, gamma: float) -> "Exp3":
        """Before the first round: every weight is 1."""
        return cls((0.0,) * integer("arms", arms, 1), float(gamma))

    @property
    def arms(self) -> int:
        return len(self.log_weights)

    def probabilities(self) -> Array:
        """p_m = (1 - gamma) w_m / Σ w + gamma / M; the largest weight is taken as 1, so none overflows."""
        log_weights = np.asarray(self.log_weights)
        weights = np.exp(log_weights - log_weights.max())
        return np.asarray((1.0 - self.gamma) * weights / weights.sum() + self.gamma / self.arms, dtype=np.float64)

    def pull(self, rng: Rng) -> int:
        """An arm drawn with `probabilities`; takes exactly one number from `rng`."""
        arm = int(np.searchsorted(np.cumsum(self.probabilities()), rng.random(), side="right"))
        return min(arm, self.arms - 1)  # the cumulated sum may end a rounding error below 1

    def update(self, arm: int, reward: float, probability: float | None = None) -> "Exp3":
        """log w_m += gamma r / (M p_m) for the pulled arm only, p_m its probability when it was pulled.

        Without `probability` the current one is used, which is right when nothing happened since the pull. A log
        weight saturates at a quarter of the largest double instead of overflowing.
        """
        if not 0 <= arm < self.arms:
            raise InvalidInputError(f"arm is {arm}, but there are {self.arms} arms, numbered from 0")
        if not math.isfinite(reward):
            raise InvalidInputError(f"reward is {reward}, expected a finite number; drop the round or give it 0")
        if probability is None:
            probability = float(self.probabilities()[arm])
        if not 0.0 < probability <= 1.0:
            raise InvalidInputError(f"probability is {probability}, expected 0 < p <= 1, as when the arm was pulled")
        # γ/(M p) first: it is at most 1 for a probability of this bandit, where γ r may overflow.
        factor = min(self.gamma / (self.arms * probability), _LARGEST)
        grown = min(max(self.log_weights[arm] + float(reward) * factor, -_LARGEST), _LARGEST)
        return replace(self, log_weights=(*self.log_weights[:arm], grown, *self.log_weights[arm + 1 :]))


def gamma_for_horizon(rounds: float, arms: int) -> float:
    """gamma = min(1, √(M ln M / ((e - 1) rounds))): Auer et al., Corollary 3.2, with rewards in [0, 1].

    No rounds at all give 1, the limit. One arm gives 1 too: the formula says 0, there is nothing to explore, and any
    gamma pulls that arm.
    """
    arms = integer("arms", arms, 1)
    if not (math.isfinite(rounds) and rounds >= 0):
        raise InvalidInputError(f"the horizon is {rounds} rounds, expected a finite number >= 0; None where unknown")
    if rounds == 0 or arms == 1:
        return 1.0
    return min(1.0, math.sqrt(arms * math.log(arms) / ((math.e - 1.0) * rounds)))


class Epoch(NamedTuple):
    """Where a round lies among the doubling epochs: epoch `number`, which has `rounds` rounds from round `first` on."""

    number: int
    rounds: int
    first: int


def doubling_epoch(round_index: int) -> Epoch:
    """The epoch of a round counted from 0: epoch k has 8 · 2^k rounds and starts at round 8 (2^k - 1)."""
    if round_index < 0:
        raise InvalidInputError(f"round_index is {round_index}, expected a count of finished rounds, 0 or more")
    number = (int(round_index) // FIRST_EPOCH + 1).bit_length() - 1
    return Epoch(number, FIRST_EPOCH << number, (FIRST_EPOCH << number) - FIRST_EPOCH)


def replay(pulls: Sequence[Pull], arms: int, horizon: float | None) -> "Exp3":
    """The bandit for the next round, from the log of finished rounds.

    `horizon` counts rounds (pulls), so UHE, which pulls once in two iterations, passes T/2. Rounds past the horizon
    keep its gamma. Without a horizon the log is cut into doubling epochs: gamma fits the length of the current epoch
    and the weights start again with it, which keeps the regret O(√rounds) for every number of rounds.
    """
    if horizon is None:
        epoch = doubling_epoch(len(pulls))
        bandit = Exp3.start(arms, gamma_for_horizon(epoch.rounds, arms))
        pulls = pulls[epoch.first :]
    else:
        bandit = Exp3.start(arms, gamma_for_horizon(horizon, arms))
    for pull in pulls:
        bandit = bandit.update(pull.arm, pull.reward, pull.probability)
    return bandit


def scale_reward(value: float, low: float, high: float, clip: Clip = "below") -> float:
    """r = (value - low) / (high - low), then clipped: at 0 ("below"), to [0, 1] ("both") or not at all ("none").

    Where low == high there is no scale, and r is the sign of value - low: 1 better, 0 equal, -1 worse. A ratio too
    large for a double becomes the largest one.
    """
    if not all(map(math.isfinite, (value, low, high))):
        raise InvalidInputError(f"cannot scale {value} by [{low}, {high}], expected finite numbers; drop the others")
    if low > high:
        raise InvalidInputError(f"low is {low} and high is {high}, expected low <= high; exchange them")
    if clip not in ("below", "both", "none"):
        raise InvalidInputError(f"clip is {clip!r}, expected 'below', 'both' or 'none'")
    value, low, high = float(value), float(low), float(high)
    if low == high:
        ratio = float((value > low) - (value < low))
    else:
        if max(abs(value), abs(low), abs(high)) > sys.float_info.max / 4:
            value, low, high = value / 4, low / 4, high / 4  # a power of two: exact, and differences cannot overflow
        # `high - low` may vanish only by that division, where one of the three exceeds 1e307: then as good as equal.
        ratio = (value - low) / (high - low or sys.float_info.min)
        ratio = min(max(ratio, -sys.float_info.max), sys.float_info.max)
    if clip == "none":
        return ratio
    return max(ratio, 0.0) if clip == "below" else min(max(ratio, 0.0), 1.0)
