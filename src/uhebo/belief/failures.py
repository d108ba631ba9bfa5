"""Where trials fail: a classifier, and whether there is such a place at all.

Labels are 1 for a trial that ended with something and -1 for one that failed, or returned a penalty. Kriging them gives
the chance of success at a point,

    P(x) = (1 + m(x))/2,   m(x) = c + k(x, X) (K + s2 I)⁻¹ (labels - c),   c = 2 (successes + 1)/(trials + 2) - 1,

which is all but linear between a success and a failure next to each other, and far from both the share of successes
(by Laplace's rule of succession, so that it is not 0 where all have failed). Theta is fixed: the edge of a region is a
jump, which no smooth kernel fits, and a fitted noise would explain it away.

Failures may also come at random, whatever the point. Then no place is to be avoided for good, and the classifier is
left out: where the share of successes predicts each label from the others (leave one out) better than it does.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from uhebo.belief.history import FAILING, History, Outcome
from uhebo.belief.units import Units
from uhebo.estimate import Fit
from uhebo.gp.data import Data, Theta
from uhebo.gp.kernels import EXPONENTIAL
from uhebo.gp.posterior import Posterior
from uhebo.types import Array

LENGTHSCALE = 0.7
"""Lengthscale per root of the number of parameters: distances in the unit cube grow with it."""
NOISE = 1e-2
"""Variance of the labels' noise: small, so that a place that has failed is one that fails."""
CLEAR = 0.02
"""Chance beyond which a prediction counts as no surer: one surprise must not outweigh all else."""
DOUBT = 4.0
"""Nats by which the share of successes must predict better before failures count as random."""
FAILURE = Outcome("failure", "failure")


def with_failures(history: History) -> History:
    """The history with failing as one more outcome, if trials have failed and not at random."""
    failing = any(trial.state in FAILING and trial.x is not None for trial in history.trials)
    if not failing or not history.space.domain.dimension:
        return history
    found = replace(history, outcomes=(*history.outcomes, FAILURE))
    return found if is_region(found.observed(len(found.outcomes) - 1)) else history


def classifier(labels: Data) -> tuple[Units, Fit]:
    """The GP of the labels, and the way back to them."""
    theta = Theta.of(np.full(labels.dimension, LENGTHSCALE * max(labels.dimension, 1) ** 0.5), 1.0, NOISE)
    return Units(1.0, labels.location, labels.scale), Fit("labels", "none", labels, EXPONENTIAL, (theta,))


def is_region(labels: Data) -> bool:
    """Whether failures are in some places rather than in others, as far as can be seen."""
    failed = labels.y + labels.location < 0.0
    if failed.all():
        return True
    _, fit = classifier(labels)
    count, failures = len(labels), int(failed.sum())
    # Without the label itself, by the same rule of succession.
    share = (count - failures + failed) / (count + 1.0)
    return _score(failed, _left_out(fit.posterior)) >= _score(failed, share) - DOUBT


def _left_out(posterior: Posterior) -> Array:
    mean, _, _ = posterior.leave_one_out()
    return 0.5 * (1.0 + posterior.data.location + mean)


def _score(failed: NDArray[np.bool_], success: Array) -> float:
    chance = np.clip(np.where(failed, 1.0 - success, success), CLEAR, 1.0 - CLEAR)
    return float(np.log(chance).sum())
