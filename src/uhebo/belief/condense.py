"""Long logs: which observations a suggestion is based on, where all of them would take too long.

A posterior is O(n³). Above `MOST` observations a suggestion therefore looks twice: over the whole space with some
observations (the best, the latest, and a sample of all), and once more, before the point is chosen, with those next to
it. A place that the first look takes for unknown, because the points there are not in the sample, is known to the
second one. `exact=True` leaves all of this out, and so does whatever is not a suggestion: verdicts and pictures have
all observations.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from uhebo.estimate import Fit
from uhebo.gp.data import Data, Theta
from uhebo.gp.kernels import squared_distance
from uhebo.gp.posterior import Posterior
from uhebo.types import Array

MOST = 1000
"""Number of observations up to which all of them are used for a suggestion, and to which theta is fitted at most."""
BEST, LATEST, SAMPLED = 384, 96, 520
"""Observations of the first look where there are more: the best, the latest, and of the others."""
NEIGHBOURS = 96
"""Observations of the second look next to each point that may be chosen."""


def sampled_rows(count: int) -> NDArray[np.intp] | None:
    """Rows that theta is fitted to, a random sample of `MOST`; None where all are used. A sample with more of the best
    than there are would tell of another function."""
    if count <= MOST:
        return None
    return np.sort(np.argsort(_lots(count), kind="stable")[:MOST])


def condensed_rows(worth: Array) -> NDArray[np.intp] | None:
    """Rows of the first look, in order, for observations of this worth; None where all are used.

    The others are those with the smallest random numbers, which an observation keeps: the choice changes little from
    one suggestion to the next.
    """
    count = len(worth)
    if count <= MOST:
        return None
    kept = np.zeros(count, dtype=np.bool_)
    kept[np.argsort(-worth, kind="stable")[:BEST]] = True
    kept[-LATEST:] = True
    kept[np.argsort(np.where(kept, np.inf, _lots(count)), kind="stable")[:SAMPLED]] = True
    return np.flatnonzero(kept)


def _lots(count: int) -> Array:
    """A random number for each observation, always the same."""
    return np.random.default_rng(0).random(count)


def local_rows(data: Data, theta: Theta, points: Array) -> NDArray[np.intp]:
    """Rows of the second look: those that the kernel has nearest to each of the points, and half of the best."""
    distances = squared_distance(points, data.X, theta.ell, data.domain)
    near = np.argpartition(distances, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    best = np.argsort(-data.y, kind="stable")[: BEST // 2]
    return np.unique(np.concatenate([near.ravel(), best]))


def condensed(fit: Fit, rows: NDArray[np.intp] | None) -> Fit:
    """The same theta with the observations of the first look."""
    return fit if rows is None else replace(fit, data=fit.data.subset(rows))


def second_look(posteriors: tuple[Posterior, ...], data: Data, first: int, points: Array) -> tuple[Posterior, ...]:
    """Posteriors with the observations next to the points; of the first look there were so many, and what comes after
    them is pending."""
    found = []
    for posterior in posteriors:
        near = data.subset(local_rows(data, posterior.theta, points))
        pending = posterior.data.X[first:], posterior.data.y[first:]
        known = near.with_values(*pending) if len(pending[1]) else near
        found.append(Posterior.of(known, posterior.theta, posterior.kernel))
    return tuple(found)
