"""A log and a model -> theta: how often theta is fitted, from which starts, and on how much of the data.

One more observation changes theta less and less, and a fit is O(n³) many times over. So theta is refitted at growing
intervals, and in between the last one is kept. All of it follows from the log: whoever asks, gets the same theta.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

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


def fit_theta(history: History, data: Data, model: Model, slot: Slot, rng: Rng) -> Fit:
    """Estimate theta on `data`, from the last theta this estimator gave and from fresh starts."""
    estimator = named_estimator(model.estimator)
    prior = model.prior_for(data.dimension)
    warm = last_theta(history, model.estimator)
    sample = data
    if len(data) > LARGE and estimator.climbs and not model.exact:
        if warm is None:
            sample = data.subset(rng.choice(len(data), LARGE, replace=False))
        elif slot.pair % (2 * len(data) // LARGE) != 0:
            return Fit(model.estimator, prior.name, data, model.kernel, (warm,))
    fresh = len(data) <= SMALL or slot.pair % REFIT_PERIOD == 0
    starts = None if warm is None else WARM_FRESH_STARTS if fresh else 0
    fit = estimator(
        sample,
        kernel=model.kernel,
        prior=prior,
        rng=rng,
        warm=warm,
        starts=starts,
        tolerance=TOLERANCE,
        block_size=None if model.exact else default_block_size(len(data)),
    )
    return fit if sample is data else replace(fit, data=data)


def last_theta(history: History, estimator: str) -> Theta | None:
    """The theta that this estimator recorded last; None where the number of parameters has changed since."""
    for trial in reversed(history.trials):
        recorded = trial.tags.get("theta")
        if recorded is not None and trial.tags.get("estimator") == estimator:
            if len(recorded) != history.space.domain.dimension + 2:
                return None
            return Theta.from_log(np.array(recorded, dtype=np.float64))
    return None
