"""SCoreBO (Hvarfner, Hellsten, Hutter & Nardi 2023, "Self-correcting Bayesian optimization through Bayesian active
learning").

A point is worth how much knowing theta and the maximum f* would change what is predicted there, so that evaluations
teach hyperparameters and optimum at once:

    α(x) = E_{θ, f*} H( p(y | x, θ, f*, D), p(y | x, D) )

H is Hellinger's distance; thetas are HMC's, f* are maxima of functions drawn under each. p(y | x, D) is the normal
distribution with the moments of the mixture over theta. Given f*, f is at most f*: a normal cut off there, taken as the
normal with its moments (as in max-value entropy search), and the noise is added. The authors' programs condition on the
place of the maximum too; that is left out here.

    H² = 1 - √(2 s1 s2 / (s1² + s2²)) exp(-(m1 - m2)² / (4 (s1² + s2²)))      for N(m1, s1²) and N(m2, s2²)
"""

import numpy as np
from scipy.special import log_ndtr

from uhebo.acquire.limits import Limits, log_chance
from uhebo.acquire.maximise import ENUMERATED, Explored, all_points, cloud, first_free, maximise, uniform_and_corners
from uhebo.gp import Posterior
from uhebo.methods.step import Proposal, Step
from uhebo.types import Array

MAXIMA = 4
"""Number of maxima drawn under each theta."""
SAMPLED = 256
"""Number of points over which functions are drawn jointly for their maxima."""
ROUNDS = 3
"""Times that points are drawn around the best ones found, ten times closer each time."""
LEADERS = 4
SMALLEST = 1e-12
"""Floor of variances in units of standardised y."""


def scorebo(step: Step) -> Proposal:
    """SCoreBO: where knowing the hyperparameters and the maximum would change the prediction most."""
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
        some = points[rng.permutation(len(points))[:SAMPLED]]
        maxima = np.array([posterior.sample(some, rng, MAXIMA).max(axis=1) for posterior in posteriors])

        def worth(rows: Array) -> Array:
            return np.asarray(np.log(self_correction(posteriors, maxima, rows)) + log_chance(limits, rows))

        values = worth(points)
        for closer in range(0 if small else ROUNDS):
            leaders = points[np.argsort(-values, kind="stable")[:LEADERS]]
            near = space.snap(cloud(leaders, ell * 10.0**-closer, space, rng))
            points, values = np.concatenate([points, near]), np.concatenate([values, worth(near)])
        return first_free(points, values, explored)

    point = step.pending.next_point(fit.posteriors, step.explored(), choose, limits=step.limits)
    return Proposal(point, {"role": "model", **step.record(fit)})


def self_correction(posteriors: tuple[Posterior, ...], maxima: Array, X: Array) -> Array:
    """α at the rows of X, (m,); `maxima` has those drawn under each posterior, (thetas, draws)."""
    means, variances = (np.array(found) for found in zip(*(p.predict(X) for p in posteriors), strict=True))
    noise = np.array([[p.theta.s2] for p in posteriors])
    variances = np.maximum(variances, SMALLEST)
    mean = means.mean(axis=0)
    variance = (variances + noise).mean(axis=0) + means.var(axis=0)
    cut_means, cut_variances = cut_off(means[:, None], variances[:, None], maxima[:, :, None])
    distances = hellinger(cut_means, cut_variances + noise[:, None], mean, variance)
    return np.asarray(np.maximum(distances.mean(axis=(0, 1)), SMALLEST))


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
