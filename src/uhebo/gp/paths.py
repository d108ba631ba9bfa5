"""Whole functions drawn from a posterior, to be evaluated at as many points as one likes.

A prior function by random Fourier features (Rahimi & Recht 2007), corrected by what the data say (Matheron's rule;
Wilson et al. 2020, "Efficiently sampling functions from Gaussian process posteriors"):

    f(x) = φ(x)ᵀw + k(x, X) (K + s2 I)⁻¹ (y - φ(X)ᵀw - ε),   w ~ N(0, I),  ε ~ N(0, s2 I)
    φ_j(x) = √(2v/F) cos(ω_jᵀ x + b_j)

ω is Student-t with 2ν degrees of freedom over ell for a Matérn kernel of smoothness ν, normal for the squared
exponential. A categorical column is one-hot with entries 1/√2, so that two categories differ by 1, as in the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from uhebo.gp.data import Domain
from uhebo.gp.posterior import Posterior
from uhebo.numerics.linalg import solve_lower, solve_upper
from uhebo.types import Array, Rng

FEATURES = 512

Paths = Callable[[Array], Array]
"""Rows (m, d) -> values of each function there, (count, m)."""


def sample_paths(posterior: Posterior, rng: Rng, count: int) -> Paths:
    """`count` functions of the posterior, in standardised units and without noise."""
    theta, data = posterior.theta, posterior.data
    features = _features(posterior, rng)
    weights = rng.standard_normal((FEATURES, count))
    noise = math.sqrt(theta.s2) * rng.standard_normal((len(data), count))
    misfit = data.y[:, None] - features(data.X) @ weights - noise
    correction = solve_upper(posterior.factor, solve_lower(posterior.factor, misfit))

    def paths(rows: Array) -> Array:
        return np.asarray((features(rows) @ weights + posterior.cross(rows).T @ correction).T)

    return paths


def _features(posterior: Posterior, rng: Rng) -> Callable[[Array], Array]:
    """φ: rows (m, d) -> (m, FEATURES)."""
    theta, domain = posterior.theta, posterior.data.domain
    width = sum(categories or 1 for categories in domain.categories)
    frequencies = rng.standard_normal((width, FEATURES))
    smoothness = posterior.kernel.smoothness
    if math.isfinite(smoothness):
        frequencies /= np.sqrt(rng.chisquare(2.0 * smoothness, FEATURES) / (2.0 * smoothness))
    phases = rng.uniform(0.0, 2.0 * math.pi, FEATURES)
    amplitude = math.sqrt(2.0 * theta.v / FEATURES)
    return lambda rows: amplitude * np.cos(_embedded(rows, theta.ell, domain) @ frequencies + phases)


def _embedded(rows: Array, ell: Array, domain: Domain) -> Array:
    """Points in scaled units, where the Euclidean distance is that of the kernel."""
    columns = []
    for j, categories in enumerate(domain.categories):
        if categories:
            columns.append((rows[:, j, None] == np.arange(categories)) / (math.sqrt(2.0) * ell[j]))
        else:
            columns.append(rows[:, j, None] / ell[j])
    return np.concatenate(columns, axis=1)
