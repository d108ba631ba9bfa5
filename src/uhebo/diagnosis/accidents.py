"""Accidents of a laboratory: settings that contradict each other, exchanged columns, a drift, a factor that is stuck.

Each is told from a model of the trials that are not under suspicion, with a prior that is open about noise.
"""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from scipy.special import stdtrit

from uhebo.belief import Belief
from uhebo.belief.units import Units
from uhebo.diagnosis.slips import LEAST_TRIALS, LEVEL, MOST_TRIALS, open_fit, prediction
from uhebo.gp.data import Data, Domain
from uhebo.gp.kernels import Kernel
from uhebo.numerics.linalg import solve
from uhebo.optuna_.constraints import constraints_of
from uhebo.optuna_.fronts import objective_names
from uhebo.types import Array, Rng

NEAR = 0.05
"""Share of each range within which two settings are nearly equal."""
WIDE = 0.1
"""Share of the range of all values by which nearly equal settings must differ to be looked at."""
PAIRS = 3
"""Pairs that are looked at, those first that differ most."""
FARTHER, BEYOND_DOUBT, NEIGHBOURS = 2.0, 8.0, 3
"""Limits by which a value must be away from what its settings predict, before exchanged ones are tried: near a jump
values are surprising too. Where it lies among those of its nearest trials there may be a jump, and it takes more."""
RARE = 0.15
"""Share of all trials that may have a value like the one of exchanged settings."""
BETWEEN = 3
"""Other trials that must lie nearer than the exchanged settings do, in these two parameters: a jump may run between two
places that are close."""
FITTING = 2.0
"""Deviations within which an exchanged value must lie."""
DRIFTING, DRIFT_TRIALS = 4.5, 12
"""Deviations from 0 from which a trend over time counts as a drift, and trials that it takes. Of 120 studies without
none is named; with a drift by a quarter of the range of the values, one in two."""
FROZEN = 6
"""Trials in a row with the very same value of a parameter that could have any."""


@dataclass(frozen=True)
class Twins:
    """Two trials at nearly equal settings whose values differ by more than noise explains."""

    numbers: tuple[int, int]
    values: tuple[float, float]
    expected: float
    """Standard deviation of their difference, by the other trials."""


@dataclass(frozen=True)
class Swapped:
    """A trial in which two entries look exchanged."""

    number: int
    names: tuple[str, str]
    values: tuple[Any, Any]
    """What each would be, exchanged."""
    settings: bool
    """They are parameters; else results."""


@dataclass(frozen=True)
class Drift:
    """A trend over time that the settings do not explain."""

    change: float
    """From the first trial to the last, in the units of the value."""
    deviation: float


@dataclass(frozen=True)
class Stuck:
    """A parameter that has had one value in all trials, or in the latest ones."""

    name: str
    value: Any
    trials: int
    always: bool
    other: Any
    """A value to try."""
    waiting: tuple[int, ...] = ()
    """Numbers of the trials under way that have another value."""


@dataclass(frozen=True)
class Accidents:
    """What was found; mostly nothing."""

    twins: tuple[Twins, ...] = ()
    swapped: tuple[Swapped, ...] = ()
    drift: Drift | None = None
    stuck: tuple[Stuck, ...] = ()


def find_accidents(study: Study, belief: Belief, rng: Rng) -> Accidents:
    """Look for each of them."""
    history = belief.history
    told = history.outcomes[0].sign * np.array([trial.y for trial in history.finished], dtype=np.float64)
    X, domain, kernel = history.data.X, history.space.domain, belief.model.kernel
    stuck = find_stuck(belief)
    if not LEAST_TRIALS <= len(told) <= MOST_TRIALS or np.ptp(told) == 0.0:
        return Accidents(stuck=stuck)
    pairs = [
        Twins((int(belief.numbers[i]), int(belief.numbers[j])), (float(told[i]), float(told[j])), expected)
        for i, j, expected in find_twins(X, told, domain, kernel, rng)
    ]
    swapped = (*_swapped_settings(belief, told, rng), *_swapped_results(study, belief, rng))
    return Accidents(tuple(pairs), swapped, find_drift(X, told, domain, kernel, rng), stuck)


def find_twins(X: Array, y: Array, domain: Domain, kernel: Kernel, rng: Rng) -> list[tuple[int, int, float]]:
    """Rows at nearly equal settings that contradict each other, and the deviation that their difference should have."""
    gaps = np.abs(y[:, None] - y[None])
    near = np.ones_like(gaps, dtype=np.bool_)
    for column in range(domain.dimension):
        apart = np.abs(X[:, None, column] - X[None, :, column])
        near &= (apart == 0.0) if column in domain.categorical else (apart <= NEAR)
    rows = [(i, j) for i, j in np.argwhere(np.triu(near & (gaps > WIDE * np.ptp(y)), 1)).tolist()]
    rows.sort(key=lambda pair: -gaps[pair])
    limit = _limit(len(y), domain.dimension, len(rows))
    for i, j in rows[:PAIRS]:
        rest = np.setdiff1d(np.arange(len(y)), [i, j])
        if np.ptp(y[rest]) == 0.0:
            continue
        plain = Data.of(X[rest], y[rest], domain)
        units, warped = Units.of(plain, 1.0, warped=True)
        surprises, expected = [], math.inf
        for data, scale in ((plain, Units(1.0, plain.location, plain.scale)), (warped, units)):
            fit = open_fit(data, kernel, rng)
            values = np.asarray(scale.modelled(y))
            for one, other in ((i, j), (j, i)):
                posterior = fit.posterior.grow(X[[other]], values[[other]])
                mean, deviation = prediction(posterior, fit.theta.s2, X[one])
                surprises.append(abs(float(values[one]) - mean) / deviation)
                expected = min(expected, deviation * plain.scale) if data is plain else expected
        if min(surprises) > limit:
            return [(i, j, expected)]
    return []


def find_drift(X: Array, y: Array, domain: Domain, kernel: Kernel, rng: Rng) -> Drift | None:
    """A linear trend over the order of the trials beside a GP over the settings, by generalised least squares:

    b = tᵀ K⁻¹ y / tᵀ K⁻¹ t,   Var b = 1 / tᵀ K⁻¹ t   (K with noise; fitted to y, then to y - b t)
    """
    if len(y) < DRIFT_TRIALS:
        return None
    order = np.linspace(-0.5, 0.5, len(y))
    slope = deviation = 0.0
    told = Data.of(X, y, domain)
    for _ in range(2):
        data = Data.of(X, told.y - slope * order, domain)
        factor = open_fit(data, kernel, rng).posterior.factor
        half, straight = solve(factor, order / data.scale), solve(factor, told.y / data.scale)
        ones = solve(factor, np.full(len(y), 1.0 / data.scale))
        half = half - ones * float(half @ ones) / float(ones @ ones)  # the level is not known either
        slope, deviation = float(half @ straight) / float(half @ half), 1.0 / math.sqrt(float(half @ half))
        if abs(slope) < 2.0 * deviation:
            return None
    if abs(slope) <= DRIFTING * deviation:
        return None
    return Drift(slope * told.scale, deviation * told.scale)


def find_stuck(belief: Belief) -> tuple[Stuck, ...]:
    """Parameters that never moved; and numbers that the latest trials share exactly, while others change."""
    space, X = belief.space, belief.history.data.X
    if len(X) < LEAST_TRIALS:
        return ()
    found = []
    for column, name in enumerate(space.names):
        entries = X[:, column]
        lately = int(np.argmax(np.append(entries[::-1] != entries[-1], True)))
        always = lately == len(entries)
        many = column in space.domain.numeric and not 0 < space.values[column] <= 10
        first, last = space.ends(column)
        frozen = many and lately >= FROZEN and first < entries[-1] < last and len(np.unique(X[-lately:], axis=0)) > 2
        if name in space.conditions or not (always or frozen):
            continue
        value = space.decode(space.snap(X[-1]))[name]
        under_way = [(t.number, t.x) for t in belief.history.trials if t.state == "running" and t.x is not None]
        waiting = tuple(number for number, x in under_way if space.decode(space.snap(x))[name] != value)
        found.append(Stuck(name, value, lately, always, _another(space.distributions[name], value), waiting))
    return tuple(found)


def _another(distribution: Any, value: Any) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return next(choice for choice in distribution.choices if choice != value)
    assert isinstance(distribution, (FloatDistribution, IntDistribution))  # Optuna has no other kind
    return distribution.low if value - distribution.low > distribution.high - value else distribution.high


def _limit(n: int, dimension: int, looked_at: int | None = None) -> float:
    """Student's quantile beyond which one of all residuals that are looked at, or else of n, is a surprise."""
    return float(stdtrit(max(n - dimension - 2, 3), 1.0 - LEVEL / (2.0 * (looked_at or n))))


def _swapped_settings(belief: Belief, told: Array, rng: Rng) -> list[Swapped]:
    """Own experiments whose value fits, and fits only, where two of their numbers are exchanged."""
    space, history = belief.space, belief.history
    numeric = [space.names[int(j)] for j in space.domain.numeric]
    own = [i for i, trial in enumerate(history.finished) if not trial.ours and not trial.tags]
    X, limit = history.data.X, _limit(len(told), space.domain.dimension)
    if not own or len(numeric) < 2:
        return []
    everything = open_fit(Data.of(X, told, space.domain), belief.model.kernel, rng).posterior
    mean, variance, _ = everything.leave_one_out()
    badly = np.argsort(-np.abs(everything.data.y - mean) / np.sqrt(variance), kind="stable")
    found = []
    for row in [int(i) for i in badly[: max(len(told) // 4, 1)] if int(i) in own][:PAIRS]:
        rest = np.setdiff1d(np.arange(len(told)), [row])
        data = Data.of(X[rest], told[rest], space.domain)
        fit = open_fit(data, belief.model.kernel, rng)
        value = (told[row] - data.location) / data.scale
        params = space.decode(space.snap(X[row]))

        def surprise(at: Array, fit: Any = fit, value: float = value) -> tuple[float, float]:
            centre, deviation = prediction(fit.posterior, fit.theta.s2, at)
            return abs(value - centre) / deviation, deviation

        away, _ = surprise(X[row])
        near = told[rest][np.argsort(np.linalg.norm(X[rest] - X[row], axis=1), kind="stable")[:NEIGHBOURS]]
        among = near.min() <= told[row] <= near.max()
        if away <= (BEYOND_DOUBT if among else FARTHER) * limit:
            continue
        for a, b in combinations(numeric, 2):
            other = {**params, a: params.get(b), b: params.get(a)}
            if a not in params or b not in params or not space.contains(other):
                continue
            there = space.encode(other)
            columns = [space.names.index(a), space.names.index(b)]
            apart = np.hypot(*(X[rest][:, columns] - X[row, columns]).T)
            if np.count_nonzero(apart < np.hypot(*(there - X[row])[columns])) < BETWEEN:
                continue
            distance, deviation = surprise(there)
            # A value that many trials have, as on either side of a jump, fits in many places.
            common = float(np.mean(np.abs(data.y - value) <= FITTING * deviation))
            if distance < FITTING and common <= RARE:
                found.append(Swapped(int(belief.numbers[row]), (a, b), (other[a], other[b]), settings=True))
                break
    return found


def _swapped_results(study: Study, belief: Belief, rng: Rng) -> list[Swapped]:
    """Trials in which two results (objectives, what constraints are about) fit if they are exchanged, and only so."""
    by_number = {trial.number: trial for trial in study.get_trials(deepcopy=False)}
    rows = [_results(study, by_number[int(number)]) for number in belief.numbers]
    names = [name for name in rows[0] if all(math.isfinite(row.get(name, math.nan)) for row in rows)]
    X, domain, found = belief.history.data.X, belief.space.domain, []
    for a, b in combinations(names, 2):
        values = np.array([[row[a], row[b]] for row in rows])
        middle = np.median(values, axis=0)
        spread = 1.4826 * np.median(np.abs(values - middle), axis=0)
        if (spread == 0.0).any():
            continue
        there, here = (np.abs((each - middle) / spread).sum(axis=1) for each in (values[:, ::-1], values))
        doubtful_rows = [int(i) for i in np.argsort(there - here, kind="stable") if there[i] < here[i]]
        suspects = doubtful_rows[: len(rows) // 4]
        if not suspects:
            continue
        rest = np.setdiff1d(np.arange(len(rows)), suspects)
        data = [Data.of(X[rest], values[rest, column], domain) for column in (0, 1)]
        fits = [open_fit(each, belief.model.kernel, rng) for each in data]
        for row in suspects:
            told: list[float] = []
            exchanged: list[float] = []
            for column, (each, fit) in enumerate(zip(data, fits, strict=True)):
                centre, deviation = prediction(fit.posterior, fit.theta.s2, X[row])
                for value, surprises in ((values[row, column], told), (values[row, 1 - column], exchanged)):
                    surprises.append(abs((value - each.location) / each.scale - centre) / deviation)
            if max(told) > _limit(len(rows), domain.dimension) and max(exchanged) < FITTING:
                right = (float(values[row, 1]), float(values[row, 0]))
                found.append(Swapped(int(belief.numbers[row]), (a, b), right, settings=False))
    return found


def _results(study: Study, trial: FrozenTrial) -> dict[str, float]:
    """What a finished trial told, by name."""
    told = zip(objective_names(study), trial.values or (), strict=False) if trial.state == TrialState.COMPLETE else ()
    measured = [text.rpartition(" ")[0].rpartition(" ")[0] for text in constraints_of(trial)]
    numbers = {name: trial.user_attrs.get(name) for name in measured if name}
    return dict(told) | {name: float(v) for name, v in numbers.items() if isinstance(v, (int, float))}
