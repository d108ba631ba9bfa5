"""PE-GP-UCB (Ziomek, Adachi & Osborne 2024, "Time-varying Gaussian process bandits with unknown prior").

Optimism over priors too: of all candidates that are left, the one with the largest upper confidence bound takes its
point. A candidate whose predictions are refuted is out for good: with S its points so far and η_i the errors of its
predicted means there,

    |Σ_S η_i| > √(ξ_t |S|) + Σ_S β σ_i(x_i)

Either the observations tell the priors apart, or it does not matter which is believed. ξ_t is that of the paper's lemma
5.1 (`candidates.noise_bound`). Open here: the candidates, which the paper takes as given
(`candidates.fixed_candidates`); how its theorem splits δ between noise and f, by halves here as in LB-GP-UCB; β, which
is the sampler's. Where every candidate has been refuted, all are back: the paper assumes that one is right.
"""

import math
from collections.abc import Sequence

from uhebo.methods.candidates import Taken, fixed_candidates, noise_bound, propose, taken_before, ucb_point
from uhebo.methods.step import Proposal, Step


def pe_gp_ucb(step: Step) -> Proposal:
    """PE-GP-UCB: the most optimistic of several fixed GPs, less those whose predictions were refuted."""
    if not step.history.finished:
        return step.no_data()
    fit, beta = step.fit("map"), step.beta()
    posteriors = fixed_candidates(fit)
    left = remaining(taken_before(step, fit), len(posteriors))
    points = {k: ucb_point(step, posteriors[k]) for k in left}
    best = max(left, key=lambda k: points[k][1] + beta * points[k][2])
    return propose(step, fit, posteriors[best], best, points[best])


def remaining(past: Sequence[Taken], count: int) -> list[int]:
    """Candidates that no moment of the past refutes; all of them where it refutes all."""
    errors, bounds, numbers = [0.0] * count, [0.0] * count, [0] * count
    refuted: set[int] = set()
    for one in past:
        k = one.candidate
        if k < count and one.error is not None:
            errors[k], bounds[k], numbers[k] = errors[k] + one.error, bounds[k] + one.bound, numbers[k] + 1
            if abs(errors[k]) > math.sqrt(noise_bound(one.t, count, one.noise) * numbers[k]) + bounds[k]:
                refuted.add(k)
    return [k for k in range(count) if k not in refuted] or list(range(count))
