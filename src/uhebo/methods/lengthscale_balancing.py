"""LB-GP-UCB (Ziomek, Adachi & Osborne 2024, "Bayesian optimisation with unknown hyperparameters: regret bounds
logarithmically closer to optimal").

Candidates are ell_k = ell e^(-k/d), ell the maximum-likelihood lengthscales, k = 0, 1, … (definition 3.1): shorter ones
join as t grows, those with ell_k > ell/g(t), and the long ones stay, in contrast to A-GP-UCB. As in section 5,
g(t) = max(e^(5/d), √t): five from the start. Regret balancing (Pacchiano et al. 2020): the candidate whose regret bound
is the smallest after one more step takes its UCB point,

    R_k = Σ_{S_k} 2 β σ_i(x_i) + 2 β σ(x(ell_k)),    S_k the steps it has taken

and once all have been taken, a candidate goes for good when even its bound cannot explain how much worse it has done:

    M_k + √(ξ_t/|S_k|) + R(S_k)/|S_k|  <  max_j (M_j - √(ξ_t/|S_j|)),    M_k = mean of y over S_k

This is the rule of the proof (lemma B.2), with ξ_t as in theorem 4.1 (`candidates.noise_bound`). Elsewhere it differs:
algorithm 1 has - √(ξ_t/|S_k|) on the left too; the authors' program has β σ in place of 2 β σ, 6 δ in place of 3 δ, and
divides lengthscales by e^(1/(d+5)) for a Matérn-5/2 kernel. Algorithm 1 adds candidates where q(l+1) ≤ ell/g(t), which
is read as ≥, as the program has it.

Open here: R_k by the realised bounds in place of √t (B √γ_t + γ_t), of which the constants are unknown; β, which is the
sampler's; and twelve candidates at most. Otherwise than in the paper, which fits one lengthscale to the first points
and keeps it and a signal variance of 1, theta is fitted anew at every step, with a lengthscale per dimension.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from uhebo.gp import Posterior
from uhebo.methods.candidates import Taken, noise_bound, propose, taken_before, ucb_point
from uhebo.methods.step import Proposal, Step

FIRST = 5
"""Number of candidates at the start."""
MOST = 12
"""Number of candidates at most: each costs one search for a UCB point."""


def lb_gp_ucb(step: Step) -> Proposal:
    """LB-GP-UCB: maximum-likelihood lengthscales and ever shorter ones take turns, balanced by their regret bounds."""
    if not step.history.finished:
        return step.no_data()
    fit, beta = step.fit("mle"), step.beta()
    past, dimension = taken_before(step, fit), fit.data.dimension
    left = balanced(past, partial(joined, dimension=dimension), step.slot.t)
    posteriors = {k: shortened(fit.posterior, k) for k in left}
    points = {k: ucb_point(step, posteriors[k]) for k in left}
    spent = {k: sum(2.0 * one.bound for one in past if one.candidate == k) for k in left}
    best = min(left, key=lambda k: spent[k] + 2.0 * beta * points[k][2])
    return propose(step, fit, posteriors[best], best, points[best])


def shortened(base: Posterior, k: int) -> Posterior:
    """The posterior of candidate k: lengthscales divided by e^(k/d)."""
    factor = math.exp(k / base.data.dimension)
    return Posterior.of(base.data, base.theta.shrunk(factor), base.kernel) if k else base


def joined(t: int, dimension: int) -> int:
    """Number of candidates at iteration t, those with k < d log g(t)."""
    return min(MOST, max(FIRST, math.ceil(0.5 * dimension * math.log(max(t, 1)))))


def balanced(past: Sequence[Taken], number: Callable[[int], int], t: int) -> list[int]:
    """Candidates at iteration t that no moment of the past has ruled out; `number` says how many there are at each t.

    A candidate counts from the iteration at which it joins: that it has not been tried yet saves none of those that
    went before.
    """
    most = max(number(at) for at in (t, *(one.t for one in past)))
    totals, bounds, numbers = np.zeros(most), np.zeros(most), np.zeros(most)
    alive = np.ones(most, dtype=bool)
    there = 0
    for one in past:
        there = max(there, number(one.t))
        if one.candidate >= there or one.value is None:
            continue
        totals[one.candidate] += one.value
        bounds[one.candidate] += 2.0 * one.bound
        numbers[one.candidate] += 1
        rivals = alive & (np.arange(most) < there)
        if (numbers[rivals] > 0).all():
            count = numbers[rivals]
            noise = np.sqrt(noise_bound(one.t, there, one.noise) / count)
            means = totals[rivals] / count
            alive[rivals] = means + noise + bounds[rivals] / count >= (means - noise).max()
    return [int(k) for k in np.flatnonzero(alive[: max(there, number(t))])]
