"""Which parameters matter: variance-based (Sobol) indices of functions that the model takes for possible.

The indices of the posterior mean alone are too small for parameters the data say little about: the mean hardly moves
along them, because the model does not know. Those of functions drawn from the posterior are too large: what is not
known looks like an effect. So both are taken, under thetas drawn given the model's data and brought to the user's
units; the spread of their indices is the interval. The thetas are drawn under a proper prior, because a prior made for
searching may keep lengthscales within the range, and then no parameter can be without effect.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc, sobol_indices

from uhebo.belief import Belief
from uhebo.diagnosis.opinions import open_noise_prior, theta_chain
from uhebo.gp import Posterior, Theta
from uhebo.gp.data import Domain
from uhebo.gp.posterior import Paths, sample_paths
from uhebo.types import Array, Rng

LOG2_POINTS = 9
INTERVAL = (0.05, 0.95)
THETAS, PATHS = 12, 4
"""Number of thetas, and of functions drawn under each."""
BURN_IN, STRIDE = 80, 5
"""Steps of the chain before the first theta, and between two of them."""
MOST_POINTS = 800
"""Number of trials above which theta is as good as known, and the model's own is the only one."""
FLAT = 1e-10
"""Variance of a function, as a share of that of the values, below which it is rounding."""

WITHOUT_RULES = " Shares are over the whole ranges, also where the rules on the parameters allow nothing."
"""What is said where there are rules: parameters are not independent then, and Sobol indices have no such meaning."""


@dataclass(frozen=True)
class Importance:
    """One parameter's part in the variation of the objective over the space: shares of 1, with 90 % intervals."""

    name: str
    lengthscale: float
    relevance: float
    """(1/ell_i) / Σ_j (1/ell_j): automatic relevance determination, as shares of 1."""
    first_order: float | None
    """Share of the variance that this parameter explains by itself (median); None if the surrogate is flat."""
    total: float | None
    """The same, with everything it does together with others."""
    total_low: float | None
    total_high: float | None
    """Ends of the 90 % interval of `total`."""


def rank_parameters(belief: Belief, rng: Rng) -> tuple[Importance, ...]:
    """Every parameter, the one with the largest total effect first."""
    ell = belief.theta.ell
    relevance = (1.0 / ell) / (1.0 / ell).sum()
    found = index_draws(belief, rng)
    rows = []
    for i, name in enumerate(belief.names):
        first = total = low = high = None
        if found is not None:
            first, total = (float(np.median(draws[:, i])) for draws in found)
            low, high = np.quantile(found[1][:, i], INTERVAL).tolist()
        rows.append(Importance(name, float(ell[i]), float(relevance[i]), first, total, low, high))
    return tuple(sorted(rows, key=lambda row: (-(row.total or 0.0), -row.relevance)))


def index_draws(belief: Belief, rng: Rng) -> tuple[Array, Array] | None:
    """First-order and total indices of functions drawn from the model, (draws, d) each; None where all are flat."""
    objective = belief.objective
    domain = objective.data.domain
    first, second = (_placed(half, domain) for half in np.split(_sobol(2 * domain.dimension, rng), 2, axis=1))
    draws = []
    for posterior in _posteriors(belief, rng):
        paths = sample_paths(posterior, rng, PATHS)

        def told(rows: Array, paths: Paths = paths, posterior: Posterior = posterior) -> Array:
            rows = belief.space.settled(rows)  # a parameter has no effect where it is not active
            functions = np.vstack([paths(rows), posterior.mean(rows)])
            return objective.units.told(functions) / objective.units.scale

        # The mean counts as much as all the paths together.
        draws.append(np.repeat(indices(told, first, second), [1] * PATHS + [PATHS], axis=1))
    main, total = np.concatenate(draws, axis=1)
    varied = np.isfinite(total).all(axis=1)
    return (main[varied], total[varied]) if varied.any() else None


def _posteriors(belief: Belief, rng: Rng) -> list[Posterior]:
    """The model's data under thetas drawn given them."""
    data = belief.objective.data
    if len(data) > MOST_POINTS:
        return [belief.objective.posterior] * THETAS
    prior = open_noise_prior(data.dimension)
    chain = theta_chain(belief, rng, prior, BURN_IN, THETAS * STRIDE)
    thetas = [Theta.from_log(draw) for draw in chain.draws[STRIDE - 1 :: STRIDE]]
    return [Posterior.of(data, theta, belief.model.kernel) for theta in thetas]


def indices(f: Paths, first: Array, second: Array) -> Array:
    """First-order and total Sobol indices, (2, count, d), of `count` functions over the domain; NaN for a flat one.

    By the estimators of Saltelli et al. (2010): two samples of the domain, and for each column the first sample with
    that column taken from the second.
    """
    swapped = []
    for column in range(first.shape[1]):
        mixed = first.copy()
        mixed[:, column] = second[:, column]
        swapped.append(f(mixed))
    values = {"f_A": f(first), "f_B": f(second), "f_AB": np.array(swapped)}
    flat = np.concatenate([values["f_A"], values["f_B"]], axis=1).var(axis=1) <= FLAT
    with np.errstate(divide="ignore", invalid="ignore"):
        found = sobol_indices(func=values, n=len(first))
    main = np.clip(np.reshape(found.first_order, (len(flat), -1)), 0.0, 1.0)
    total = np.clip(np.reshape(found.total_order, (len(flat), -1)), 0.0, 1.0)
    main[flat] = total[flat] = np.nan
    return np.array([main, total])


def _sobol(dimension: int, rng: Rng) -> Array:
    """A scrambled Sobol sequence; SciPy before 1.15 has another name for the generator."""
    try:
        sequence = qmc.Sobol(dimension, scramble=True, rng=rng)
    except TypeError:
        sequence = qmc.Sobol(dimension, scramble=True, seed=rng)
    return np.asarray(sequence.random_base2(LOG2_POINTS))


def _placed(units: Array, domain: Domain) -> Array:
    """Points of [0, 1)^d as points of the domain: categorical columns become codes."""
    points = units.copy()
    for column in domain.categorical:
        points[:, column] = np.floor(points[:, column] * domain.categories[column])
    return points
