"""Theta of an outcome, fitted to the log: when it is fitted anew, and from where."""

from dataclasses import replace

import numpy as np

from uhebo.belief.condense import sampled_rows
from uhebo.belief.history import History, Slot
from uhebo.estimate import Fit, Model, default_block_size, named_estimator
from uhebo.gp.data import Data, Theta
from uhebo.types import Rng

REFIT_PERIOD = 4
SMALL = 64
"""Number of observations up to which every fit has fresh starts. Above it only those of every `REFIT_PERIOD`-th pair of
iterations have; the others climb from the last theta alone. Pairs, so that a method which alternates gives both its
estimators a turn."""
LARGE = 512
"""Number of observations above which theta is refitted at growing intervals. Where there is no theta to keep, it is
that of a random sample of this size until a fit is due."""
TOLERANCE = 3e-2
"""Nats of log posterior a fit may stop short of: far below what the next observation changes."""
WARM_FRESH_STARTS = 2
"""Number of fresh starts beside a warm one."""


def fit_theta(history: History, data: Data, model: Model, slot: Slot, rng: Rng, outcome: int = 0) -> Fit:
    """Estimate theta on `data`, from the last theta this estimator gave and from fresh starts.

    One more observation changes theta less and less, and a fit is O(n³) many times over. So theta is refitted at
    growing intervals, and in between the last one is kept. All of it follows from the log: whoever asks, gets the same.
    """
    estimator = named_estimator(model.estimator)
    prior = model.prior_for(data.dimension)
    warm = warm_theta(history, outcome, model.estimator)
    sample = data
    if len(data) > LARGE and estimator.climbs and not model.exact:
        if warm is None:
            sample = data.subset(rng.choice(len(data), LARGE, replace=False))
        elif slot.pair % (2 * len(data) // LARGE) != 0:
            return Fit(model.estimator, prior.name, data, model.kernel, (warm,))
        else:
            rows = sampled_rows(len(data))
            sample = data if rows is None else data.subset(rows)
    # A constraint's theta matters near its boundary alone, and there may be several: fresh starts are rarer.
    fresh = (len(data) <= SMALL and not outcome) or slot.pair % REFIT_PERIOD == 0
    starts = None if warm is None else WARM_FRESH_STARTS if fresh else 0
    fit = estimator(
        sample,
        kernel=model.kernel,
        prior=prior,
        rng=rng,
        warm=warm,
        starts=starts,
        tolerance=TOLERANCE,
        block_size=None if model.exact else default_block_size(len(sample)),
        reading=model.reading,
    )
    return fit if sample is data else replace(fit, data=data)


def warm_theta(history: History, outcome: int, estimator: str) -> Theta | None:
    """The theta recorded last for this outcome."""
    if not outcome:
        return last_theta(history, estimator)
    if outcome < history.objectives:
        return last_of_several(history, "objective_theta", outcome - 1, history.objectives - 1, estimator)
    return last_of_several(history, "constraint_theta", outcome - history.objectives, history.constraints)


def last_theta(history: History, estimator: str) -> Theta | None:
    """The theta that this estimator recorded last; None where the number of parameters has changed since."""
    for trial in reversed(history.trials):
        recorded = trial.tags.get("theta")
        if recorded is not None and trial.tags.get("estimator") == estimator:
            if len(recorded) != history.space.domain.dimension + 2:
                return None
            return Theta.from_log(np.array(recorded, dtype=np.float64))
    return None


def last_of_several(history: History, tag: str, index: int, count: int, estimator: str | None = None) -> Theta | None:
    """One of the thetas recorded last under `tag`; None where there were more or fewer of them, or other parameters."""
    for trial in reversed(history.trials):
        recorded = trial.tags.get(tag)
        if recorded is not None and estimator in (None, trial.tags.get("estimator")):
            shape = {len(theta) for theta in recorded}
            if len(recorded) != count or shape != {history.space.domain.dimension + 2}:
                return None
            return Theta.from_log(np.array(recorded[index], dtype=np.float64))
    return None
