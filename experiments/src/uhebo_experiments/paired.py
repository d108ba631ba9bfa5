"""Two methods compared seed by seed: how large the difference is, and how sure we may be of its sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from uhebo.types import Array

FEWEST = 6
"""Seeds below which nothing is concluded: with five, no rank test can reach 5 %."""
RESAMPLES = 10_000
LEVEL = 0.05
"""Of the rank test; the interval is that of 95 %."""
FEW = 13
"""Seeds up to which every choice of signs is tried where there are ties, as SciPy does, only faster."""

Outcome = Literal["better", "worse", "undecided"]


@dataclass(frozen=True)
class Effect:
    """Mean of a paired difference, its 95 % bootstrap interval, and the p-value of Wilcoxon's signed-rank test."""

    mean: float
    low: float
    high: float
    p: float
    seeds: int
    ahead: int
    """Seeds on which ours is the smaller."""
    behind: int

    @property
    def outcome(self) -> Outcome:
        """Better where the whole interval is above 0, worse where it is below, and the rank test shows a difference of
        the same sign. Where a few large differences stand against many small ones the two disagree."""
        if self.seeds < FEWEST or self.p >= LEVEL or (self.ahead - self.behind) * self.mean <= 0.0:
            return "undecided"
        return "better" if self.low > 0.0 else "worse" if self.high < 0.0 else "undecided"


def compare(ours: Array, theirs: Array) -> Effect:
    """Effect of `theirs - ours`, both to be small: positive where we are better."""
    difference = np.asarray(theirs, dtype=np.float64) - np.asarray(ours, dtype=np.float64)
    low, high = interval(difference)
    ahead, behind = int((difference > 0.0).sum()), int((difference < 0.0).sum())
    return Effect(float(difference.mean()), low, high, _wilcoxon(difference), len(difference), ahead, behind)


def interval(sample: Array) -> tuple[float, float]:
    """95 % percentile bootstrap interval of the mean, with a fixed seed."""
    rng = np.random.default_rng(0)
    means = sample[rng.integers(len(sample), size=(RESAMPLES, len(sample)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def _wilcoxon(difference: Array) -> float:
    """Two-sided p-value: exact for few seeds, also where differences are 0 or equal."""
    from scipy.stats import rankdata, wilcoxon

    sizes = np.abs(difference[difference != 0.0])
    if len(sizes) == 0 or len(difference) < 2:
        return 1.0
    if len(difference) > FEW or len(set(sizes)) == len(difference):
        return float(wilcoxon(difference).pvalue)
    ranks = rankdata(sizes)
    positive = (np.arange(2 ** len(ranks))[:, None] >> np.arange(len(ranks))) % 2  # every choice of signs
    sums, found = positive @ ranks, ranks[difference[difference != 0.0] > 0.0].sum()
    return float(min(1.0, 2.0 * min((sums >= found).mean(), (sums <= found).mean())))
