"""HP-GP-TS (Sandberg & Haghir Chehreghani 2025, "Adaptive prior selection in Gaussian process bandits with Thompson
sampling").

Thompson sampling on two levels: a prior is drawn from its posterior given the data, then a function from the GP under
that prior, and its maximiser is the point.

    P(k | D) ∝ P(k) N(y; 0, K_k + s2 I)

P(k) is uniform. The paper takes the priors as given; here they are those of `candidates.fixed_candidates`.
"""

import numpy as np
from scipy.special import softmax

from uhebo.gp import Posterior
from uhebo.methods.candidates import fixed_candidates
from uhebo.methods.step import Proposal, Step


def hp_gp_ts(step: Step) -> Proposal:
    """HP-GP-TS: a GP drawn by how well it explains the data, then Thompson sampling under it."""
    if not step.history.finished:
        return step.no_data()
    fit = step.fit("map")
    posteriors = fixed_candidates(fit)
    weights = softmax([log_evidence(posterior) for posterior in posteriors])
    chosen = int(step.rng("arm").choice(len(posteriors), p=weights))
    point = step.best_point((posteriors[chosen],))
    return Proposal(point, {"role": "model", **step.record(fit), "candidate": chosen})


def log_evidence(posterior: Posterior) -> float:
    """log N(y; 0, K + s2 I) up to a constant: -½ |L⁻¹y|² - Σ log L_ii."""
    whitened = posterior.whitened
    return float(-0.5 * whitened @ whitened - np.log(np.diagonal(posterior.factor)).sum())
