"""Which parameters matter, by the surrogate: its lengthscales, and a variance-based measure of its mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import qmc

from uhebo.gp import Posterior
from uhebo.gp.domain import Domain
from uhebo.gp.kernels import squared_distance
from uhebo.types import Array, Rng

LOG2_POINTS = 10
CHUNK = 4096


@dataclass(frozen=True)
class Importance:
    """One parameter's part in the surrogate."""

    name: str
    lengthscale: float
    relevance: float
    """(1/ell_i) / Σ_j (1/ell_j): automatic relevance determination, as shares of 1."""
    first_order: float | None
    """Share of the variance of the surrogate's mean that this parameter explains by itself; None if it is flat."""
    total: float | None
    """The same, with everything it does together with others."""


def rank_parameters(names: tuple[str, ...], posterior: Posterior, rng: Rng) -> tuple[Importance, ...]:
    """Every parameter, the one with the largest total effect first."""
    steepness = 1.0 / posterior.theta.ell
    relevance = steepness / steepness.sum()
    indices = sobol_indices(posterior, rng)
    rows = [
        Importance(
            name=name,
            lengthscale=float(posterior.theta.ell[i]),
            relevance=float(relevance[i]),
            first_order=None if indices is None else float(indices[0][i]),
            total=None if indices is None else float(indices[1][i]),
        )
        for i, name in enumerate(names)
    ]
    return tuple(sorted(rows, key=lambda row: (-(row.total or 0.0), -row.relevance)))


def sobol_indices(posterior: Posterior, rng: Rng, log2_points: int = LOG2_POINTS) -> tuple[Array, Array] | None:
    """First-order and total Sobol indices of the posterior mean over the domain; None where the mean is flat.

    With A, B two samples of the domain and AB_i the sample A with column i taken from B:
        S_i = mean(f(B) (f(AB_i) - f(A))) / V      (Saltelli et al. 2010, table 2b)
        T_i = mean((f(A) - f(AB_i))²) / (2 V)      (Jansen 1999; table 2f)
    A and B are the halves of a scrambled Sobol sequence.
    """
    domain = posterior.data.domain
    d = domain.dimension
    units = _sobol(2 * d, rng).random_base2(log2_points)
    first, second = _place(units[:, :d], domain), _place(units[:, d:], domain)
    f_first, f_second = mean_at(posterior, first), mean_at(posterior, second)
    both = np.concatenate([f_first, f_second])
    variance = float(both.var())
    # Below this a flat mean's own rounding would be called its variation (y is standardised).
    if not variance > 1e-10:
        return None
    f_second = f_second - both.mean()  # does not change the expectation, and takes most of the noise out of it
    main, total = np.empty(d), np.empty(d)
    for column in range(d):
        mixed = first.copy()
        mixed[:, column] = second[:, column]
        change = mean_at(posterior, mixed) - f_first
        main[column] = np.mean(f_second * change) / variance
        total[column] = 0.5 * np.mean(change * change) / variance
    return np.clip(main, 0.0, 1.0), np.clip(total, 0.0, None)


def _sobol(dimension: int, rng: Rng) -> Any:
    """A scrambled Sobol sequence; SciPy before 1.15 has another name for the generator."""
    try:
        return qmc.Sobol(dimension, scramble=True, rng=rng)
    except TypeError:
        return qmc.Sobol(dimension, scramble=True, seed=rng)


def mean_at(posterior: Posterior, rows: Array) -> Array:
    """The posterior mean without the variance, which would be most of the cost here."""
    theta, data = posterior.theta, posterior.data
    parts = []
    for start in range(0, len(rows), CHUNK):
        r2 = squared_distance(rows[start : start + CHUNK], data.X, theta.ell, data.domain)
        parts.append(theta.v * posterior.kernel.value(r2) @ posterior.alpha)
    return np.concatenate(parts)


def _place(units: Array, domain: Domain) -> Array:
    """Points of [0, 1)^d as points of the domain: categorical columns become codes."""
    points = units.copy()
    for column in domain.categorical:
        points[:, column] = np.floor(points[:, column] * domain.categories[column])
    return points
