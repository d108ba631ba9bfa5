"""Equal mixtures of normal distributions: what a posterior is when theta is sampled."""

import numpy as np
from scipy.special import ndtr, ndtri

from uhebo.types import Array

BISECTIONS = 60
SMALLEST_SHARE = 1e-12


def mixture_quantile(means: Array, deviations: Array, level: float) -> Array:
    """Quantile of equal mixtures of normals, (components, m) -> (m,); closed form for one component."""
    each = means + deviations * ndtri(level)
    if len(means) == 1:
        return np.asarray(each[0])
    low, high = each.min(axis=0), each.max(axis=0)
    floors = np.maximum(deviations, np.finfo(np.float64).tiny)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        below = ndtr((middle - means) / floors).mean(axis=0) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(0.5 * (low + high))


def mixture_scores(y: Array, means: Array, deviations: Array) -> Array:
    """Standard normal scores of observations under equal mixtures of normals: z with Φ(z) = P(Y <= y)."""
    z = (y - means) / deviations
    if len(z) == 1:
        return np.asarray(z[0])
    share = np.clip(ndtr(z).mean(axis=0), SMALLEST_SHARE, 1.0 - SMALLEST_SHARE)
    return np.asarray(ndtri(share))
