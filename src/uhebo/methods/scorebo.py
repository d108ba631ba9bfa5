"""SCoreBO (Hvarfner, Hellsten, Hutter & Nardi 2023, "Self-correcting Bayesian optimization through Bayesian active
learning").

A point is worth how much knowing theta and the optimum (x*, f*) would change what is predicted there, so that
evaluations teach hyperparameters and optimum at once:

    α(x) = E_{θ, x*, f*} H( p(y | x, θ, x*, f*, D), p(y | x, D) )

H is Hellinger's distance; thetas are HMC's; under each, functions are drawn, and (x*, f*) are place and height of their
maxima. p(y | x, D) is the normal distribution with the moments of the mixture over theta. What is known of f given the
optimum (as in joint entropy search, Hvarfner, Hutter & Nardi 2022): f(x*) = f*, a rank-one step from the posterior with
mean μ, variance σ² and covariance c,

    μ'(x) = μ(x) + c(x, x*) (f* - μ(x*)) / σ²(x*),      σ'²(x) = σ²(x) - c(x, x*)² / σ²(x*)

and f is at most f* elsewhere: a normal cut off there, taken as the normal with its moments. The noise is added.

    H² = 1 - √(2 s1 s2 / (s1² + s2²)) exp(-(m1 - m2)² / (4 (s1² + s2²)))      for N(m1, s1²) and N(m2, s2²)

Open here: the number of optima drawn, and how they are searched for. Limits do not change the optima, only α.
"""

import numpy as np
from scipy.special import log_ndtr

from uhebo.acquire.limits import Limits, log_chance
from uhebo.acquire.maximise import ENUMERATED, Explored, all_points, cloud, first_free, maximise, uniform_and_corners
from uhebo.gp import Posterior
from uhebo.gp.posterior import sample_paths
from uhebo.methods.step import Proposal, Step
from uhebo.space import SearchSpace
from uhebo.types import Array, Rng

OPTIMA = 4
"""Number of optima drawn under each theta."""
ROUNDS = 3
"""Times that points are drawn around the best ones found, ten times closer each time."""
LEADERS = 4
CLOUDS = 3
"""Number of clouds around drawn optima, each time."""
SMALLEST = 1e-12
"""Floor of variances in units of standardised y."""
SEEN = 1e-8
"""Variance with which f(x*) = f* is taken as seen: the step is then finite where the data leave nothing to learn."""

Optima = tuple[Array, Array]
"""Places (draws, d) and heights (draws,) of maxima drawn under one theta."""


def scorebo(step: Step) -> Proposal:
    """SCoreBO: where knowing the hyperparameters and the optimum would change the prediction most."""
    if not step.history.finished:
        return step.no_data()
    fit = step.fit("hmc")

    def choose(posteriors: tuple[Posterior, ...], explored: Explored, limits: Limits) -> Array:
        rng = step.rng("maximise")
        if limits and not step.feasible.any():
            return maximise(step.surface(posteriors, limits), explored, rng)
        space, ell = explored.space, posteriors[0].theta.ell
        small = space.size <= ENUMERATED
        points = all_points(space) if small else space.snap(uniform_and_corners(space, rng))
        with_best = np.concatenate([points, explored.leaders])
        optima = [drawn_optima(posterior, with_best, None if small else space, rng) for posterior in posteriors]

        def worth(rows: Array) -> Array:
            return np.asarray(np.log(self_correction(posteriors, optima, rows)) + log_chance(limits, rows))

        values = worth(points)
        for closer in range(0 if small else ROUNDS):
            leaders = points[np.argsort(-values, kind="stable")[:LEADERS]]
            near = space.snap(cloud(leaders, ell * 10.0**-closer, space, rng))
            points, values = np.concatenate([points, near]), np.concatenate([values, worth(near)])
        return first_free(points, values, explored)

    point = step.pending.next_point(fit.posteriors, step.explored(), choose, limits=step.limits, agreed=True)
    return Proposal(point, {"role": "model", **step.record(fit)})


def drawn_optima(posterior: Posterior, points: Array, space: SearchSpace | None, rng: Rng) -> Optima:
    """Maxima of functions drawn from the posterior over the points, and then ever closer around the best of them."""
    paths, ell = sample_paths(posterior, rng, OPTIMA), posterior.theta.ell
    best, heights = _highest(points, paths(points))
    for closer in range(0 if space is None else ROUNDS):
        assert space is not None
        near = [cloud(best, ell * 10.0**-closer, space, rng) for _ in range(CLOUDS)]
        rows = np.concatenate([best, space.snap(np.concatenate(near))])
        best, heights = _highest(rows, paths(rows))
    return best, heights


def _highest(points: Array, values: Array) -> Optima:
    """Place and height of the largest of each row of values (draws, m)."""
    return points[values.argmax(axis=1)], values.max(axis=1)


def self_correction(posteriors: tuple[Posterior, ...], optima: list[Optima], X: Array) -> Array:
    """α at the rows of X, (m,); `optima` has those drawn under each posterior."""
    means, variances = (np.array(found) for found in zip(*(p.predict(X) for p in posteriors), strict=True))
    noise = np.array([p.theta.s2 for p in posteriors])[:, None]
    mean = means.mean(axis=0)
    variance = np.maximum((variances + noise).mean(axis=0) + means.var(axis=0), SMALLEST)
    distances = [
        hellinger(known_mean, known_variance + posterior.theta.s2, mean, variance).mean(axis=0)
        for posterior, found in zip(posteriors, optima, strict=True)
        for known_mean, known_variance in [knowing(posterior, found, X)]
    ]
    return np.asarray(np.maximum(np.mean(distances, axis=0), SMALLEST))


def knowing(posterior: Posterior, optima: Optima, X: Array) -> tuple[Array, Array]:
    """Mean and variance of f at the rows of X given each optimum, (draws, m): f(x*) = f*, and nothing is above f*."""
    places, heights = optima
    mean, variance = posterior.predict(X)
    there, uncertain = posterior.predict(places)
    shared = posterior.between(places, X)
    weights = shared / (uncertain + SEEN)[:, None]
    known_mean = mean + weights * (heights - there)[:, None]
    known_variance = np.maximum(variance - weights * shared, SMALLEST)
    return cut_off(known_mean, known_variance, heights[:, None])


def cut_off(mean: Array, variance: Array, top: Array) -> tuple[Array, Array]:
    """Moments of N(mean, variance) cut off above `top`.

    With b = (top - μ)/σ and r = φ(b)/Φ(b):  mean μ - σ r,  variance σ² (1 - b r - r²).
    """
    deviation = np.sqrt(variance)
    b = (top - mean) / deviation
    r = np.exp(-0.5 * b * b - 0.5 * np.log(2.0 * np.pi) - log_ndtr(b))
    return mean - deviation * r, np.maximum(variance * (1.0 - b * r - r * r), SMALLEST)


def hellinger(mean: Array, variance: Array, other_mean: Array, other_variance: Array) -> Array:
    """Hellinger's distance of normal distributions, between 0 and 1."""
    total = variance + other_variance
    overlap = np.sqrt(2.0 * np.sqrt(variance * other_variance) / total)
    return np.sqrt(np.maximum(1.0 - overlap * np.exp(-0.25 * (mean - other_mean) ** 2 / total), 0.0))
