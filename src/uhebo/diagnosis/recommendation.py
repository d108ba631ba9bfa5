"""The point to use: under noise the best measurement is a lucky one, the best by the model is not.

The default's model is made for exact values: its prior all but rules noise out, and under much noise its intervals are
too narrow. So this is a second opinion on the same data: hyperparameters drawn by HMC under a prior that is open about
noise, all of them used at once.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study

from uhebo.belief import Belief, OutcomeBelief
from uhebo.belief.repeats import replicates
from uhebo.checks import number
from uhebo.diagnosis.opinions import open_noise_prior, theta_chain
from uhebo.diagnosis.outlook import has_model
from uhebo.diagnosis.prospects import MOST_POINTS, worthwhile
from uhebo.diagnosis.words import count, least_trials
from uhebo.errors import InvalidInputError, NumericalError, UheboError
from uhebo.estimate import Fit
from uhebo.gp import Theta
from uhebo.numerics.threads import single_threaded
from uhebo.optuna_.believe import model_of
from uhebo.types import Rng

LEVELS = (0.05, 0.95)
"""Levels between which the objective lies with a probability of 90 %."""
DRAWS, THETAS = 1024, 16
LEAST_TRIALS = 5
"""Finished trials below which nothing is recommended but the best, unless it is asked for."""
MOST_RIVALS = 256
"""Points that may be the best one: those with the highest mean + 2 deviations."""


@dataclass(frozen=True)
class Recommended:
    """A point that was tried, with what the model predicts there; in the user's units, noise left out."""

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

    def __str__(self) -> str:
        low, high = self.interval
        times = count(len(self.numbers), "time")
        lines = [
            f"recommended  {self.mean:.6g} (90 %: {low:.6g} to {high:.6g}), measured {times}",
            f"  chance that it is the best point tried, up to {self.epsilon:.3g}: {self.chance:.0%}",
        ]
        if self.trials < least_trials(len(self.params)):
            lines.append(f"  (a guess: there are {count(self.trials, 'trial')}, too few to judge a model by)")
        return "\n".join([*lines, *(f"  {name} = {value!r}" for name, value in self.params.items())])


@single_threaded
def recommend(
    study: Study, *, objective: str | int | None = None, epsilon: float | None = None, seed: int = 0
) -> Recommended:
    """Recommend the feasible point tried that is best according to the model, noise left out.

    epsilon is the difference that counts, in the units of the value; default 1 % of the interquartile range of the
    values, and at least 0.1 % of their range.
    """
    if epsilon is not None:
        epsilon = number("epsilon", epsilon, 0.0, also=" in the units of the value")
    belief = model_of(study, objective).believe()
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
    chance = 1.0 if exact else _chance(found, feasible, best, epsilon, rng)
    return Recommended(
        params=dict(study.get_trials(deepcopy=False)[finished[best].number].params),
        mean=float(found.predict(row)[0][0]),
        interval=(float(low), float(high)),
        chance=chance,
        epsilon=epsilon,
        measured=tuple(found.outcome.sign * float(y) for y in (finished[i].y for i in same) if y is not None),
        numbers=numbers,
        trials=len(finished),
    )


def recommended_if_any(study: Study) -> Recommended | None:
    """What is recommended of one objective; None while there is nothing to speak of."""
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


def _chance(found: OutcomeBelief, feasible: NDArray[np.bool_], best: int, epsilon: float, rng: Rng) -> float:
    """P(no other feasible point tried is better than `best` by more than epsilon), by joint samples of f."""
    rows = np.unique(found.data.X[feasible], axis=0)
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
