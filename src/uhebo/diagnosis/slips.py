"""Slips of the pen: a value that is ten times too large, or has the wrong sign, told from the other trials.

A wrong value hides itself in a fit that has seen it, and others with it (masking). So the most suspicious trials, four
at most, are set aside together, and each is judged by models of the rest, fitted without them:

    t = (y - mean) / deviation of the prediction for a new observation

by the values as they are and by warped ones, the smaller |t| of the two: what a long tail explains is no slip. The
limit is Student's quantile of 1 - LEVEL / (2 n) with n - d - 2 degrees of freedom, as for externally studentised
residuals (Cook & Weisberg 1982, Residuals and Influence in Regression, section 2.2.2).

Where a function grows fast towards an edge, the largest values are set aside together, and no model of the rest expects
them. So each is judged again by models of all trials but it and the slips named already: suspects that explain one
another are no slips. Beyond the range of the rest, where nothing surrounds a value, more is asked for.

And the value that was probably meant, y / 10 say, must not be surprising itself; or it is ten times nearer, and among
the other values. In either case it must be of the size predicted: a tenth of any value is near a prediction of zero.
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
PUT_BACK = 0.75
"""Limits by which a value must be away once the other suspects are put back. Chosen, with the numbers below, on 520
searches of functions (1.2 % accused) and 480 studies with noise (0.8 % accused; of planted slips 81 % of ten times and
84 % of sign named)."""
OUTSIDE, BEYOND = 0.1, 2.0
"""Share of a parameter's range by which a point lies outside the range of the rest; and the limits by which its value
must be away."""
INSIDE, HUNDREDFOLD = 5.0, 10.0
"""The same for a value that is called ten times too large and yet lies between others, or a hundred times."""
LEAST_RATIO, MOST_RATIO = 0.4, 3.0
"""Of the value that was meant to the one predicted."""
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
"""Trials below which nothing is called a slip."""
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
    return slips_among(numbers[rows], X[rows], told[rows], domain, kernel, rng, known, right)


def slips_among(
    numbers: NDArray[np.intp],
    X: Array,
    y: Array,
    domain: Domain,
    kernel: Kernel,
    rng: Rng,
    noise: Array | None = None,
    right: Collection[int] = (),
) -> tuple[Slip, ...]:
    """The same for values `y` as told; `noise` has deviations of the values' noise, NaN where not told."""
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
    own = np.zeros(len(y)) if noise is None else np.nan_to_num(noise)

    def models(rows: NDArray[np.intp]) -> _Models:
        known = None if noise is None else noise[rows]
        return _Models.of(Data.of(X[rows], y[rows], domain, known), kernel, rng)

    without = models(rest)
    limit = float(stdtrit(max(len(y) - domain.dimension - 2, 3), 1.0 - LEVEL / (2.0 * len(y))))
    ends = (float(y[rest].min()), float(y[rest].max()))
    likely: dict[int, Slip] = {}
    for row in suspects:
        mean, deviation, away = without.judged(X[row], float(y[row]), float(own[row]))
        found = Slip(int(numbers[row]), float(y[row]), mean, deviation, math.nan, "")
        alone = bool(np.all(np.sign(y[rest]) == -np.sign(y[row])))
        slip = _explained(found, away > limit, alone and found.distance > OTHER_SIGN, ends)
        likely |= {} if slip is None else {row: slip}
    named = {row: slip for row, slip in likely.items() if slip.how == SLIPS[-1.0]}
    before = -1
    while before < len(named):  # a slip that is named no longer hides another one
        before = len(named)
        back = [row for row in suspects if row not in named]
        for row in [row for row in likely if row not in named]:
            others = models(np.union1d(rest, [other for other in back if other != row]))
            away = others.judged(X[row], float(y[row]), float(own[row]))[2]
            if away > limit * _demanded(likely[row], ends, _outside(domain, X[rest], X[row])):
                named[row] = likely[row]
    return tuple(sorted(named.values(), key=lambda slip: -slip.distance))


@dataclass(frozen=True)
class _Models:
    """Two models of the same trials: of the values as they are, and of warped ones."""

    plain: Data
    units: Units
    straight: Fit
    warped: Fit

    @classmethod
    def of(cls, plain: Data, kernel: Kernel, rng: Rng) -> "_Models":
        units, data = Units.of(plain, 1.0, warped=True)
        return cls(plain, units, open_fit(plain, kernel, rng), open_fit(data, kernel, rng))

    def judged(self, point: Array, value: float, own: float) -> tuple[float, float, float]:
        """Mean and deviation predicted for another trial, in the values' units; and the deviations by which its value
        is away, the fewer of the two models. `own` is the deviation of the value's own noise, 0 where not told."""
        mean, deviation = prediction(self.straight.posterior, self.straight.theta.s2, point)
        centre = self.plain.location + self.plain.scale * mean
        width = math.hypot(self.plain.scale * deviation, own)
        mean, deviation = prediction(self.warped.posterior, self.warped.theta.s2, point)
        low, high = self.units.modelled([value - own, value + own])
        surprise = abs(float(self.units.modelled(value)) - mean) / math.hypot(deviation, 0.5 * (high - low))
        return centre, width, min(abs(value - centre) / width, surprise)


def _demanded(slip: Slip, ends: tuple[float, float], outside: float) -> float:
    """Limits by which the value must be away although the other suspects are put back."""
    if slip.how == SLIPS[0.01]:
        return HUNDREDFOLD
    if slip.how == SLIPS[0.1] and ends[0] <= slip.value <= ends[1]:
        return INSIDE
    return BEYOND if outside > OUTSIDE else PUT_BACK


def _outside(domain: Domain, rest: Array, point: Array) -> float:
    """By how much of its range a point lies outside that of the rest, in the parameter where this is most."""
    low, high, x = (rows[..., domain.numeric] for rows in (rest.min(axis=0), rest.max(axis=0), point))
    return float(np.max(np.maximum(low - x, x - high), initial=0.0))


def _explained(found: Slip, beyond: bool, other_sign: bool, ends: tuple[float, float]) -> Slip | None:
    """The likeliest slip; None where none explains the value. `ends` are those of the other values."""
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
        return None
    if factor != -1.0 and not LEAST_RATIO < factor * found.value / (found.predicted or math.inf) < MOST_RATIO:
        return None
    # Not 29.099999999999998.
    return Slip(**{**vars(found), "meant": float(f"{factor * found.value:.12g}"), "how": SLIPS[factor]})


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
