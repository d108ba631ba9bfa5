"""Slips of the pen: a value that is ten times too large, or has the wrong sign, told from the other trials.

A wrong value hides itself in a fit that has seen it, and others with it (masking). So the most suspicious trials, four
at most, are set aside together, and each is judged by models of the rest, fitted without them:

    t = (y - mean) / deviation of the prediction for a new observation

by the values as they are and by warped ones, the smaller |t| of the two: what a long tail explains is no slip. The
limit is Student's quantile of 1 - LEVEL / (2 n) with n - d - 2 degrees of freedom, as for externally studentised
residuals (Cook & Weisberg 1982, Residuals and Influence in Regression, section 2.2.2). A value better than predicted
must be twice as far away, because a search looks for such. And the value that was probably meant, y / 10 say, must not
be surprising itself; or it is ten times nearer, and among the other values.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from uhebo.belief import History
from uhebo.belief.units import Units
from uhebo.diagnosis.calibration import Calibration
from uhebo.diagnosis.opinions import open_noise_prior
from uhebo.diagnosis.words import SURROGATE, Finding, percent
from uhebo.estimate import Fit, map_estimate
from uhebo.gp.data import Data, Domain
from uhebo.gp.kernels import Kernel
from uhebo.gp.posterior import Posterior
from uhebo.types import Array, Rng

LEVEL = 0.01
"""Chance that a study without slips has a value beyond the limit, were the model exact."""
BETTER = 2.0
"""Limits by which a value that is better than predicted must be away. Chosen with the next four on 240 studies of their
own: 77 % of planted slips of ten times and 83 % of sign named, 1.2 % of studies without a slip accused. At 1: 81 % and
5 %; the accused ones are narrow peaks that a search had found."""
OTHER_SIGN = 2.0
"""Deviations from the prediction for a value that alone has its sign."""
MEANT, MEANT_SHARE, MEANT_MOST = 2.5, 0.35, 8.0
"""Deviations within which the value that was meant must lie; or this share of those of the told value, if that is more,
and not more than the last: a model of few trials is too sure of itself."""
NEARER = 0.1
"""Share of the told value's distance at which one that was meant, and is like the others, is near enough, however sure
the model is."""
OUTLIER_SHARE = 0.9
"""Share of the variation of all values from which one of them is an outlier, whatever it was meant to be."""
LEAST_TRIALS = 8
"""Stream of random numbers that is theirs."""
MOST_TRIALS = 200
"""Trials beyond which a random sample stands for the others: a fit takes n³."""
SUSPECTS = 4
"""Trials set aside, and not more than a quarter of all."""
SLIPS = {0.1: "ten times too large", 10.0: "ten times too small", -1.0: "of the wrong sign"}
SLIPS |= {0.01: "a hundred times too large", 100.0: "a hundred times too small"}
"""What a told value is to be multiplied by, and the slip in words."""


@dataclass(frozen=True)
class Slip:
    """A trial whose value was probably mistyped."""

    number: int
    value: float
    predicted: float
    deviation: float
    """Mean and standard deviation of what the other trials predict for it, noise included."""
    meant: float
    """The value that was probably meant."""
    how: str
    """The slip in words."""

    @property
    def distance(self) -> float:
        """Deviations between told and predicted."""
        return abs(self.value - self.predicted) / self.deviation


def find_slips(
    history: History, kernel: Kernel, rng: Rng, right: Collection[int] = (), among: Collection[int] | None = None
) -> tuple[Slip, ...]:
    """The trials whose values were probably mistyped, the clearest first; not those that a person said are `right`.

    `among` are the numbers of the trials that are looked at, if not all.
    """
    sign = history.outcomes[0].sign
    told = sign * np.array([trial.y for trial in history.finished], dtype=np.float64)
    noise = None if history.data.noise is None else history.data.scale * history.data.noise.deviations
    numbers = np.array([trial.number for trial in history.finished], dtype=np.intp)
    rows = np.flatnonzero(np.isin(numbers, list(numbers if among is None else among)))
    known = None if noise is None else noise[rows]
    domain, X = history.space.domain, history.data.X
    return slips_among(numbers[rows], X[rows], told[rows], domain, kernel, sign, rng, known, right)


def slips_among(
    numbers: NDArray[np.intp],
    X: Array,
    y: Array,
    domain: Domain,
    kernel: Kernel,
    sign: float,
    rng: Rng,
    noise: Array | None = None,
    right: Collection[int] = (),
) -> tuple[Slip, ...]:
    """The same for values `y` as told; `sign` is 1 where larger ones are better, else -1; `noise` has deviations of the
    values' noise, NaN where not told."""
    most = min(SUSPECTS, len(y) // 4)
    if len(y) < LEAST_TRIALS or np.ptp(y) == 0.0:
        return ()
    suspects = [row for row in _suspects(Data.of(X, y, domain, noise), y, kernel, rng) if numbers[row] not in right]
    suspects = suspects[:most]
    rest = np.setdiff1d(np.arange(len(y)), suspects)
    if np.ptp(y[rest]) == 0.0:
        return ()
    if len(rest) > MOST_TRIALS:
        rest = np.sort(rng.choice(rest, MOST_TRIALS, replace=False))
    plain = Data.of(X[rest], y[rest], domain, None if noise is None else noise[rest])
    own = np.zeros(len(y)) if noise is None else np.nan_to_num(noise)
    units, data = Units.of(plain, 1.0, warped=True)
    straight, warped = (open_fit(each, kernel, rng) for each in (plain, data))
    limit = float(stdtrit(max(len(y) - domain.dimension - 2, 3), 1.0 - LEVEL / (2.0 * len(y))))
    named = []
    for row in suspects:
        mean, deviation = prediction(straight.posterior, straight.theta.s2, X[row])
        centre, width = plain.location + plain.scale * mean, math.hypot(plain.scale * deviation, own[row])
        mean, deviation = prediction(warped.posterior, warped.theta.s2, X[row])
        low, high = units.modelled([y[row] - own[row], y[row] + own[row]])
        surprise = abs(float(units.modelled(y[row])) - mean) / math.hypot(deviation, 0.5 * (high - low))
        better = sign * (y[row] - centre) > 0.0
        found = Slip(int(numbers[row]), float(y[row]), centre, width, math.nan, "")
        beyond = min(found.distance, surprise) > limit * (BETTER if better else 1.0)
        alone = bool(np.all(np.sign(y[rest]) == -np.sign(y[row])))
        ends = (float(y[rest].min()), float(y[rest].max()))
        named += _explained(found, beyond, alone and found.distance > OTHER_SIGN, ends)
    return tuple(sorted(named, key=lambda slip: -slip.distance))


def _explained(found: Slip, beyond: bool, other_sign: bool, ends: tuple[float, float]) -> list[Slip]:
    """The likeliest slip; nothing where none explains the value. `ends` are those of the other values."""
    allowed = max(MEANT, min(MEANT_SHARE * found.distance, MEANT_MOST)) * found.deviation
    tried = [
        (abs(factor * found.value - found.predicted), factor)
        for factor in SLIPS
        if (other_sign if factor == -1.0 else beyond)
    ]
    miss, factor = min(tried, default=(math.inf, 0.0))
    distance = found.distance * found.deviation
    usual = ends[0] <= factor * found.value <= ends[1]
    if miss > min(max(allowed, NEARER * distance if usual else 0.0), distance):
        return []
    # Not 29.099999999999998.
    return [Slip(**{**vars(found), "meant": float(f"{factor * found.value:.12g}"), "how": SLIPS[factor]})]


def _suspects(data: Data, y: Array, kernel: Kernel, rng: Rng) -> list[int]:
    """Rows, the most suspicious first: by turns the farthest from the middle, and the worst predicted by all others."""
    far: list[int] = np.argsort(-np.abs(y - np.median(y)), kind="stable").tolist()
    if len(y) > MOST_TRIALS:
        return far
    posterior = open_fit(data, kernel, rng).posterior
    mean, variance, _ = posterior.leave_one_out()
    badly = np.argsort(-np.abs(posterior.data.y - mean) / np.sqrt(variance), kind="stable").tolist()
    return list(dict.fromkeys(row for pair in zip(far, badly, strict=True) for row in pair))


def open_fit(data: Data, kernel: Kernel, rng: Rng) -> Fit:
    """By MAP, under a prior that is open about noise."""
    return map_estimate(data, kernel=kernel, prior=open_noise_prior(data.dimension), rng=rng)


def prediction(posterior: Posterior, noise: float, row: Array) -> tuple[float, float]:
    """Mean and deviation of a new observation there, in the units of the fit."""
    mean, variance = posterior.predict(row[None])
    return float(mean[0]), math.sqrt(float(variance[0]) + noise)


def typo(slips: Sequence[Slip]) -> Finding | None:
    """The verdict where a value was probably mistyped."""
    if not slips:
        return None
    first = slips[0]
    return Finding(
        "typo",
        "do not trust",
        f"Do not trust it yet: the value of trial {first.number} looks mistyped, and {SURROGATE} believes it.",
        tuple(
            f"Trial {slip.number} has the value {slip.value:.6g}; the others predict {slip.predicted:.4g} ± "
            f"{slip.deviation:.2g} there. It looks {slip.how}: {slip.meant:.6g} would fit."
            for slip in slips
        ),
        f"Look up trial {first.number} in your notes; amend its value if it was mistyped, repeat the experiment if it "
        "was not.",
    )


def outlier(y: Array, calibration: Calibration) -> Finding | None:
    """The verdict where one value makes up nearly all of the variation; `y` is not warped: that would hide it."""
    worst = int(np.argmax(np.abs(y)))
    if len(y) < 10 or y[worst] ** 2 < OUTLIER_SHARE * float(y @ y):
        return None
    number, value = calibration.numbers[worst], calibration.y[worst]
    return Finding(
        "outlier",
        "do not trust",
        f"Do not trust it: one extreme value decides what {SURROGATE} believes.",
        (
            f"Trial {number} has the value {value:.4g}; it alone makes up {percent(y[worst] ** 2 / float(y @ y))} of "
            f"the variation of all {len(y)} values, and beside it the others look the same.",
        ),
        f"Check trial {number}: repeat it, or leave it out if it was a mistake; if it is real, use the logarithm.",
    )
