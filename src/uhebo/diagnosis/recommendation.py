"""The point to use: under noise the best measurement is a lucky one, the best by a second opinion is not.

The default's model is made for exact values: its prior all but rules noise out, and under much noise its intervals are
too narrow. So this is a second opinion on the same data: hyperparameters drawn by HMC under a prior that is open about
noise, all of them used at once. It rests on what was told and nothing else: trials that wait, were skipped or failed
have no say, and random numbers come from the seed alone. What the model itself expects is said beside it.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study

from uhebo import notebook
from uhebo.belief import Belief, OutcomeBelief, Slot
from uhebo.belief.repeats import replicates
from uhebo.checks import number
from uhebo.diagnosis.bounds import AtBound, bounds_of
from uhebo.diagnosis.opinions import open_noise_prior, theta_chain
from uhebo.diagnosis.outlook import has_model
from uhebo.diagnosis.prospects import MOST_POINTS, worthwhile
from uhebo.diagnosis.words import count, least_trials
from uhebo.errors import InvalidInputError, NumericalError, UheboError
from uhebo.estimate import Fit
from uhebo.gp import Theta
from uhebo.numerics.threads import single_threaded
from uhebo.optuna_.believe import StudyModel, model_of
from uhebo.storage.explain import plus_minus
from uhebo.types import Rng

LEVELS = (0.05, 0.95)
"""Levels between which the objective lies with a probability of 90 %."""
NORMAL_90 = 1.645
"""Deviations from the middle of a normal distribution to the ends of its 90 % interval."""
DRAWS, THETAS = 1024, 16
LEAST_TRIALS = 5
"""Finished trials below which nothing is recommended but the best, unless it is asked for."""
MOST_RIVALS = 256
"""Points that may be the best one: those with the highest mean + 2 deviations."""
SHOWN = 6
"""Numbers of trials in a sentence."""


SECOND_OPINION = "a second opinion that allows for more noise than the model"


@dataclass(frozen=True, repr=False)
class Recommended:
    """A point that was tried, with what a second opinion predicts there; in the user's units, noise left out."""

    params: dict[str, Any]
    mean: float
    interval: tuple[float, float]
    """Interval that holds the objective with a probability of 90 %."""
    chance: float
    """Probability that no other point tried is better by more than epsilon."""
    epsilon: float
    """Difference that counts, in the units of the value."""
    measured: tuple[float, ...]
    """Values that were measured there."""
    numbers: tuple[int, ...]
    """Trials that measured them."""
    trials: int
    """Finished trials that this rests on."""
    by_model: tuple[float, float] = field(default=(math.nan, math.nan), compare=False)
    """Mean and standard deviation that the model behind the suggestions expects there, as `belief.predict` says."""
    at_bounds: tuple[AtBound, ...] = ()
    """Parameters on a bound of their range, and wider ranges."""

    @property
    def is_second(self) -> bool:
        """Whether it is a second opinion; in long logs there is none but the model's."""
        return self.trials <= MOST_POINTS

    @property
    def by(self) -> str:
        """Who expects `mean` and `interval`."""
        return SECOND_OPINION if self.is_second else "the model"

    def is_lucky(self, value: float, *, maximise: bool) -> bool:
        """Whether a reading is better than what is expected here, by more than epsilon."""
        return (value - self.mean) * (1.0 if maximise else -1.0) > self.epsilon

    @property
    def deviation(self) -> float:
        """Standard deviation to which the interval belongs."""
        return (self.interval[1] - self.interval[0]) / (2 * NORMAL_90)

    def __str__(self) -> str:
        low, high = self.interval
        lines = [
            f"recommended  {self.mean:.6g} (90 %: {low:.6g} to {high:.6g}), by {self.by}",
            f"  the model itself expects {plus_minus(*self.by_model)} there",
            f"  {say_measured(self.measured, self.numbers)}",
            f"  chance that it is the best point tried, up to {self.epsilon:.3g}: {self.chance:.0%}",
        ]
        if self.trials < least_trials(len(self.params)):
            lines.append(f"  (a guess: {count(self.trials, 'trial')} are too few to judge a model by)")
        lines += [f"  {name} = {value!r}" for name, value in self.params.items()]
        return "\n".join([*lines, *(f"  {each}: {each.python}" for each in self.at_bounds)])

    def __repr__(self) -> str:
        low, high = self.interval
        return notebook.one_line(
            f"Recommended: {self.params}\n{self.mean:.6g} (90 %: {low:.6g} to {high:.6g}) by a second opinion\n"
            f"{plus_minus(*self.by_model)} by the model"
        )


def say_measured(values: Sequence[float], numbers: Sequence[int]) -> str:
    """How often a point was measured, in which trials, and the mean with its standard error."""
    shown = ", ".join(map(str, numbers[:SHOWN])) + (", …" if len(numbers) > SHOWN else "")
    if len(values) < 2:
        return f"measured once: {values[0]:.6g} (trial {shown})"
    error = stdev(values) / len(values) ** 0.5
    mean = plus_minus(fmean(values), error) if error else f"{fmean(values):.6g}"
    return f"measured {len(values)} times: {mean} on average (trials {shown})"


@single_threaded
def recommend(
    study: Study, *, objective: str | int | None = None, epsilon: float | None = None, seed: int = 0
) -> Recommended:
    """Recommend the feasible point tried that is best according to a second opinion, noise left out.

    The same values told (and corrections) give the same answer, whatever waits or was skipped.

    epsilon is the difference that counts, in the units of the value; default 1 % of the interquartile range of the
    values, and at least 0.1 % of their range.
    """
    if epsilon is not None:
        epsilon = number("epsilon", epsilon, 0.0, also=" in the units of the value")
    model = model_of(study, objective)
    belief = _of_what_was_told(model)
    finished = belief.history.finished
    feasible = belief.history.feasible
    if not feasible.any():
        raise InvalidInputError("no trial is feasible, so there is none to recommend; run more trials")
    rng = np.random.default_rng([seed, 8])
    found = open_opinion(belief, rng)
    # Where repeats have shown no noise, what was measured is what there is.
    merit = found.data.y if belief.history.noiseless else found.smoothed
    best = int(np.argmax(np.where(feasible, merit, -np.inf)))
    row = found.data.X[best][None]
    places = replicates(found.data.X)
    same = np.flatnonzero(places == places[best])
    numbers = tuple(finished[i].number for i in same)
    low, high = found.quantiles(row, LEVELS)[:, 0]
    epsilon = worthwhile(found.units.told(found.data.y)) if epsilon is None else epsilon
    exact = belief.history.noiseless
    others = feasible & (places != places[best])
    chance = 1.0 if exact or not others.any() else _chance(found, others, best, epsilon, rng)
    params = dict(study.get_trials(deepcopy=False)[finished[best].number].params)
    return Recommended(
        params=params,
        mean=float(found.predict(row)[0][0]),
        interval=(float(low), float(high)),
        chance=chance,
        epsilon=epsilon,
        measured=tuple(found.outcome.sign * float(y) for y in (finished[i].y for i in same) if y is not None),
        numbers=numbers,
        trials=len(finished),
        by_model=model.believe().predict(params),
        at_bounds=bounds_of(params, belief.space),
    )


@dataclass(frozen=True)
class Opinion:
    """What the second opinion expects at a point, noise left out, in the user's units."""

    mean: float
    low: float
    high: float
    """Ends of the interval that holds it with a probability of 90 %."""


@single_threaded
def opinion_on(study: Study, params: Mapping[str, Any], *, seed: int = 0) -> Opinion | None:
    """What `recommend` thinks of a point, wherever it is; None where it recommends nothing, or has no opinion of its
    own."""
    model = model_of(study, 0)
    finished = len(model.history.finished)
    if model.step.history.objectives > 1 or not has_model(model) or not LEAST_TRIALS <= finished <= MOST_POINTS:
        return None
    belief = _of_what_was_told(model)
    found = open_opinion(belief, np.random.default_rng([seed, 8]))
    row = belief.space.encode(params)[None]
    low, high = found.quantiles(row, LEVELS)[:, 0]
    return Opinion(float(found.predict(row)[0][0]), float(low), float(high))


def _of_what_was_told(model: StudyModel) -> Belief:
    """The model fitted to the finished trials as if there had never been others, nor an earlier fit to start from."""
    history = model.history
    told = replace(
        history,
        trials=tuple(replace(trial, tags={}) for trial in history.finished),
        outcomes=history.outcomes[:1],
    )
    slot = Slot(t=len(told.trials), number=len(told.trials), partner=None)
    return replace(model, history=told, step=replace(model.step, history=told, slot=slot)).believe()


def recommended_if_any(study: Study) -> Recommended | None:
    """What is recommended where there is one objective; None while there is nothing to speak of."""
    with suppress(UheboError):  # a model of other parameters than those that the study goes on with
        model = model_of(study)
        if has_model(model) and len(model.history.finished) >= LEAST_TRIALS:
            return recommend(study)
    return None


def open_opinion(belief: Belief, rng: Rng) -> OutcomeBelief:
    """The objective under several thetas drawn with a prior that is open about noise; with so many trials that theta is
    as good as known, under the model's own."""
    own = belief.objective
    if len(own.data) > MOST_POINTS:
        return own
    prior = open_noise_prior(own.data.dimension)
    draws = theta_chain(belief, rng, prior).draws
    chosen = np.linspace(0, len(draws) - 1, THETAS).round().astype(int)
    thetas = tuple(Theta.from_log(draws[i]) for i in chosen)
    return replace(own, fit=Fit("hmc", prior.name, own.data, belief.model.kernel, thetas))


def _chance(found: OutcomeBelief, others: NDArray[np.bool_], best: int, epsilon: float, rng: Rng) -> float:
    """P(none of the other points is better than `best` by more than epsilon), by joint samples of f."""
    rows = np.unique(found.data.X[others], axis=0)
    mean, deviation = found.moments(rows)
    rows = rows[np.argsort(-(mean + 2.0 * deviation))[:MOST_RIVALS]]
    shares = []
    for posterior in found.posteriors:
        try:
            drawn = posterior.sample(np.concatenate([found.data.X[best][None], rows]), rng, DRAWS // THETAS)
        except NumericalError:
            continue
        told = found.units.sign * found.units.told(drawn)
        shares.append(float(np.mean(told.max(axis=1) - told[:, 0] <= epsilon)))
    return float(np.mean(shares)) if shares else float("nan")
