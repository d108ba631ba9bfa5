"""LB-GP-UCB (Ziomek, Adachi & Osborne 2024, "Bayesian optimisation with unknown hyperparameters: regret bounds
logarithmically closer to optimal").

Candidates are ell_k = ell e^(-k/d), ell the maximum-likelihood lengthscales, k = 0, 1, …: shorter ones join as t grows,
and the long ones stay, in contrast to A-GP-UCB. Regret balancing (Pacchiano et al. 2020): the candidate whose regret
bound is the smallest after one more step takes its UCB point,

    R_k = Σ_{S_k} 2 β σ_i(x_i) + 2 β σ(x(ell_k)),    S_k the steps it has taken

and once all have been taken, a candidate goes for good when even its bound cannot explain how much worse it has done:

    L_k + 2 √(ξ_t/|S_k|) + R(S_k)/|S_k|  <  max_j L_j,    L_k = mean of y over S_k - √(ξ_t/|S_k|)

Open here: how fast candidates join, k ≤ d log g(t) with g(t) = √t; R_k by the realised bounds in place of the
information gain; the constant in ξ_t; β, which is the sampler's; and ell, which moves as data come in.
"""

import math
from collections.abc import Sequence

import numpy as np

from uhebo.gp import Posterior
from uhebo.methods.candidates import Taken, noise_bound, propose, taken_before, ucb_point
from uhebo.methods.step import Proposal, Step

MOST = 12
"""Number of candidates at most: each costs one search for a UCB point."""


def lb_gp_ucb(step: Step) -> Proposal:
    """LB-GP-UCB: maximum-likelihood lengthscales and ever shorter ones take turns, balanced by their regret bounds."""
    if not step.history.finished:
        return step.no_data()
    fit, beta = step.fit("mle"), step.beta()
    base, past, dimension = fit.posterior, taken_before(step), fit.data.dimension
    count = joined(step.slot.t, dimension)
    posteriors = [
        Posterior.of(base.data, base.theta.shrunk(math.exp(k / dimension)), base.kernel) if k else base
        for k in range(count)
    ]
    left = balanced(past, count, fit.theta.s2)
    points = {k: ucb_point(step, posteriors[k]) for k in left}
    spent = {k: sum(2.0 * one.bound for one in past if one.candidate == k) for k in left}
    best = min(left, key=lambda k: spent[k] + 2.0 * beta * points[k][2])
    return propose(step, fit, posteriors[best], best, points[best])


def joined(t: int, dimension: int) -> int:
    """Number of candidates at iteration t: 1 + ⌊d log √t⌋."""
    return min(MOST, 1 + math.floor(0.5 * dimension * math.log(max(t, 1))))


def balanced(past: Sequence[Taken], count: int, s2: float) -> list[int]:
    """Candidates that no moment of the past has ruled out; the longest lengthscales where it has ruled out all."""
    totals, bounds, numbers = np.zeros(count), np.zeros(count), np.zeros(count)
    alive = np.ones(count, dtype=bool)
    for one in past:
        if one.candidate >= count or one.value is None:
            continue
        totals[one.candidate] += one.value
        bounds[one.candidate] += 2.0 * one.bound
        numbers[one.candidate] += 1
        if (numbers[alive] > 0).all() and alive.sum() > 1:
            with np.errstate(invalid="ignore", divide="ignore"):
                noise = np.sqrt(noise_bound(one.t, count, s2) / numbers)
                low = totals / numbers - noise
                best = low[alive].max()
                alive &= ~(low + 2.0 * noise + bounds / numbers < best)
    return [int(k) for k in np.flatnonzero(alive)] or [0]
