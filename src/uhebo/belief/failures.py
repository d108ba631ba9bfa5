"""Where trials fail: a classifier, and whether there is such a place at all.

A trial that ended with something has the sign 1, one that failed, or returned a penalty, -1. They are the signs of a
latent GP (`uhebo.gp.signs`), so the chance of success at a point is

    P(x) = Φ((c + μ(x))/√(σ²(x) + s2)),   Φ(c) = (successes + 1)/(trials + 2),

far from all trials the share of successes, by Laplace's rule of succession (one half while there has been none).
The edge of a failing region is where a smooth function crosses 0 (Bachoc, Helbert & Picheny 2020, "Gaussian process
optimization with failures: classification and convergence proof"). So it is known between the trials that lie along it,
not only next to them, and a search does not have to feel its way. Lengthscales and s2, which is small unless failures
contradict each other, maximise the evidence of the signs. A trial that failed before it had all its parameters is
several points, over the values that it never asked for (`uhebo.space.unasked`).

Failures may also come at random, whatever the point. Then no place is to be avoided for good, and the classifier is
left out: where the labels, one for each trial, are not enough more probable under it than with one chance for all.
"""

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, ndtri

from uhebo.belief.history import FAILING, History, Outcome
from uhebo.belief.units import Units
from uhebo.estimate import Fit
from uhebo.gp.data import Data, Domain, Theta
from uhebo.gp.kernels import MATERN52, squared_distance
from uhebo.gp.priors import LogNormal
from uhebo.gp.signs import sign_evidence, sites
from uhebo.numerics.bfgs import minimise
from uhebo.numerics.threads import single_threaded
from uhebo.types import Array

LENGTHSCALE, DEVIATION = 0.7, 1.0
"""Median lengthscale per root of the number of parameters, because distances in the unit cube grow with it, and
deviation of its logarithm: the log-normal prior of lengthscales."""
BOUNDS = (0.02, 20.0)
"""Shortest and longest lengthscale."""
NOISE, NOISE_DEVIATION, NOISE_BOUNDS = 1e-4, 2.5, (1e-6, 1.0)
"""Median of the noise variance in units of the signal's, deviation of its logarithm, and its bounds: what failed in one
place fails there again, unless the labels speak against it."""
STARTS = ((1.0, 1e-3), (0.4, 1e-2))
"""Lengthscales in medians of the prior, and noise, from which the fit starts."""
FITTED, LABELS = 64, 384
"""Most labels to which theta is fitted, and most that the classifier has."""
UNTOLD, PER_TRIAL, PLAIN = 10, 0.1, 3.0
"""Trials up to which failures count as a region unless they speak against it, and nats by which its evidence must
exceed that of chance for each trial more, up to a plain difference. Among 20 uniform points nine regions in ten are
above 1.3 and nine in ten of failures at random below 3; among 40, above 4.9 and below 4."""
FAILURE = Outcome("failure", "failure")
KERNEL = MATERN52


def with_failures(history: History) -> History:
    """The history with failing as one more outcome, if trials have failed and not at random."""
    failing = any(trial.state in FAILING and trial.x is not None for trial in history.trials)
    if not failing or not history.space.domain.dimension:
        return history
    found = replace(history, outcomes=(*history.outcomes, FAILURE))
    return found if is_region(found.labels(points=1)) else history


def classifier(labels: Data) -> tuple[Units, Fit]:
    """The GP of which the labels are the signs, and its units."""
    fit, _ = _fitted(labels)
    return Units(1.0, fit.data.location, 1.0), fit


def is_region(labels: Data) -> bool:
    """Whether failures are in some places rather than in others, as far as can be seen."""
    fit, signs = _fitted(labels)
    failures = np.count_nonzero(signs < 0.0)
    if failures == len(signs):
        return True  # it is to be hoped
    # The evidence of one unknown chance for all trials, uniform between 0 and 1.
    at_random = float(betaln(failures + 1.0, len(signs) - failures + 1.0))
    return fit.log_posterior - at_random >= min(PER_TRIAL * (len(signs) - UNTOLD), PLAIN)


def _fitted(labels: Data) -> tuple[Fit, Array]:
    signs = np.sign(labels.y + labels.location)
    return _cached(labels.X.tobytes(), signs.tobytes(), labels.domain, (labels.location + 1.0) / 2.0)


@lru_cache(maxsize=4)  # a suggestion asks whether there is a region, and then for its model
@single_threaded
def _cached(rows: bytes, labels: bytes, domain: Domain, share: float) -> tuple[Fit, Array]:
    """The classifier, and the labels it has."""
    signs = np.frombuffer(labels)
    X = np.frombuffer(rows).reshape(len(signs), domain.dimension)
    chosen = nearest_to_the_edge(X, signs, domain, LABELS)
    X, signs = X[chosen], signs[chosen]
    successes = np.count_nonzero(signs > 0.0)
    mean = float(ndtri(share)) if successes else 0.0
    theta = _fit_theta(X, signs, mean, domain) if successes else _moderate(domain)
    covariance = KERNEL.value(squared_distance(X, X, theta.ell, domain))
    covariance.flat[:: len(signs) + 1] += theta.s2
    found = sites(covariance, signs, mean)
    data = Data(X, found.values, domain, mean, 1.0)
    fit = Fit("signs", "log-normal", data, KERNEL, (theta,), found.log_evidence, variances=found.variances)
    return fit, signs


def _fit_theta(X: Array, signs: Array, mean: float, domain: Domain) -> Theta:
    """Lengthscales and noise that maximise evidence and prior."""
    dimension = domain.dimension
    median = LENGTHSCALE * math.sqrt(dimension)
    priors = LogNormal(math.log(median), DEVIATION), LogNormal(math.log(NOISE), NOISE_DEVIATION)
    chosen = nearest_to_the_edge(X, signs, domain, FITTED)
    evidence = sign_evidence(X[chosen], signs[chosen], mean, domain, KERNEL)

    def negative(log_theta: Array) -> tuple[Array, Array]:
        value, gradient = evidence(log_theta)
        (ell, by_ell), (noise, by_noise) = priors[0](log_theta[:, :-1]), priors[1](log_theta[:, -1])
        return -value - ell.sum(axis=1) - noise, -gradient - np.column_stack([by_ell, by_noise])

    low, high = np.log(np.array([BOUNDS] * dimension + [NOISE_BOUNDS])).T
    starts = np.log([[scale * median] * dimension + [noise] for scale, noise in STARTS])
    ends = minimise(
        negative, starts, low, high, max_rounds=30, gradient_tolerance=1e-2, value_tolerance=1e-3, race_tolerance=1e-2
    )
    best = np.exp(ends.x[int(np.argmin(ends.value))])
    return Theta.of(best[:-1], 1.0, float(best[-1]))


def _moderate(domain: Domain) -> Theta:
    """Theta while all have failed. The evidence would be for a space that fails as a whole."""
    scale, noise = STARTS[-1]
    return Theta.of(np.full(domain.dimension, scale * LENGTHSCALE * math.sqrt(domain.dimension)), 1.0, noise)


def nearest_to_the_edge(X: Array, signs: Array, domain: Domain, most: int) -> NDArray[np.intp]:
    """Rows of at most so many labels, in order: half of them those nearest to one of the other kind, which tell where
    the edge is, the others evenly from the rest."""
    if len(signs) <= most:
        return np.arange(len(signs))
    distance = squared_distance(X, X, np.ones(domain.dimension), domain)
    distance[signs[:, None] == signs] = np.inf
    order = np.argsort(distance.min(axis=1), kind="stable")
    near, rest = order[: most // 2], np.sort(order[most // 2 :])
    even = np.linspace(0, len(rest) - 1, most - len(near)).round().astype(np.intp)
    return np.sort(np.concatenate([near, rest[even]]))
