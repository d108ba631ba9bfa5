"""Hyperparameters of the model beside second opinions on them: MAP, the consistent estimate, and HMC intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from uhebo.belief import Belief
from uhebo.estimate import Fit, default_block_size, named_estimator
from uhebo.estimate.fit import log_posterior
from uhebo.estimate.hmc import Chain, sample_chain
from uhebo.gp import Prior, named_prior
from uhebo.gp.priors import LogNormal
from uhebo.types import Array, Rng

BURN_IN, DRAWS = 200, 400
FEW_POINTS, SHORT_BURN_IN, SHORT_DRAWS = 64, 150, 200
"""Number of trials above which a step costs several times more, and the length of the chain there."""
INTERVAL = (0.05, 0.95)
CHAIN_POINTS = 100
"""Number of trials the chain runs on, drawn at random where there are more: fewer data make its interval wider, never
narrower."""


@dataclass(frozen=True)
class Estimate:
    """One hyperparameter. Lengthscales are shares of the parameter's range; signal and noise are standard deviations,
    as multiples of that of the values the model sees."""

    name: str
    kind: Literal["lengthscale", "signal", "noise"]
    model: float
    """What the model that suggests uses."""
    map: float
    consistent: float
    hmc_low: float | None
    hmc_high: float | None
    apart: float
    """The larger of MAP and consistent over the smaller."""

    @property
    def width(self) -> float | None:
        """Upper over lower end of the interval: how far the data leave it open."""
        return self.hmc_high / self.hmc_low if self.hmc_low and self.hmc_high else None


@dataclass(frozen=True)
class Hyperparameters:
    """One `Estimate` for each parameter, then the signal, then the noise."""

    estimates: tuple[Estimate, ...]
    estimator: str
    """The one that the model uses; the others are second opinions."""
    interval: tuple[float, float]
    acceptance: float | None
    effective_sample_size: float | None
    prior: str
    kernel: str
    warped: bool
    jitter: float
    fallback: str | None

    @property
    def lengthscales(self) -> tuple[Estimate, ...]:
        return self.estimates[:-2]

    @property
    def signal(self) -> Estimate:
        return self.estimates[-2]

    @property
    def noise(self) -> Estimate:
        return self.estimates[-1]


def compare_estimators(belief: Belief, rng: Rng, hmc: bool) -> tuple[Hyperparameters, Array | None]:
    """The model's theta beside MAP, consistent and HMC on the same data under the same prior; and the chain's draws."""
    fit = belief.objective.fit
    own = np.mean([theta.to_log() for theta in fit.thetas], axis=0)
    others = {name: _opinion(belief, name, rng).theta.to_log() for name in ("map", "consistent")}
    chain = theta_chain(belief, rng, belief.prior) if hmc else None
    bands = None if chain is None else _natural(np.quantile(chain.draws, INTERVAL, axis=0))
    columns = _natural(np.array([own, others["map"], others["consistent"]]))
    estimates = []
    for i, name in enumerate((*belief.names, "signal", "noise")):
        model, first, second = (float(value) for value in columns[:, i])
        low, high = (None, None) if bands is None else (float(bands[0, i]), float(bands[1, i]))
        count = len(belief.names)
        kind: Literal["lengthscale", "signal", "noise"] = (
            "lengthscale" if i < count else "signal" if i == count else "noise"
        )
        apart = max(first, second) / max(min(first, second), math.ulp(0.0))
        estimates.append(Estimate(name, kind, model, first, second, low, high, apart))
    found = Hyperparameters(
        estimates=tuple(estimates),
        estimator=belief.model.estimator,
        interval=INTERVAL,
        acceptance=None if chain is None else chain.acceptance,
        effective_sample_size=None if chain is None else chain.effective_sample_size(),
        prior=belief.prior.name,
        kernel=belief.model.kernel.name,
        warped=belief.model.warped,
        jitter=fit.jitter,
        fallback=fit.fallback,
    )
    return found, None if chain is None else chain.draws


def _opinion(belief: Belief, estimator: str, rng: Rng) -> Fit:
    """The model's own fit where it is by this estimator, else a second opinion."""
    if belief.model.estimator == estimator:
        return belief.objective.fit
    data, kernel, prior = belief.objective.data, belief.model.kernel, belief.prior
    block_size = default_block_size(len(data))
    return named_estimator(estimator)(data, kernel=kernel, prior=prior, rng=rng, block_size=block_size)


def theta_chain(belief: Belief, rng: Rng, prior: Prior, burn_in: int | None = None, draws: int | None = None) -> Chain:
    """Draws of log theta given the data of the model."""
    data = belief.objective.data
    if len(data) > CHAIN_POINTS:
        data = data.subset(np.sort(rng.choice(len(data), CHAIN_POINTS, replace=False)))
    few = len(data) <= FEW_POINTS
    burn_in = (BURN_IN if few else SHORT_BURN_IN) if burn_in is None else burn_in
    draws = (DRAWS if few else SHORT_DRAWS) if draws is None else draws
    low, high = prior.bounds(data.dimension)
    target = log_posterior(data, belief.model.kernel, prior)
    start = belief.theta.to_log()
    return sample_chain(target, start, low, high, rng=rng, burn_in=burn_in, draws=draws)


def open_noise_prior(dimension: int) -> Prior:
    """`dim-scaled` with a noise prior wide enough to say "all of it is noise": log s2 ~ Normal(-4, 3²).

    The noise prior of `dim-scaled` itself, Normal(-5, 1) on log s2, puts pure noise (s2 = 1 on standardised y) five
    deviations out, so that the fit would rather explain noise by absurdly short lengthscales than admit to it.
    """
    return replace(named_prior("dim-scaled", dimension), name="dim-scaled, open noise", noise=LogNormal(-4.0, 3.0))


def _natural(log_theta: Array) -> Array:
    """(ell_1 .. ell_d, √v, √s2)."""
    natural = np.exp(log_theta)
    natural[:, -2:] = np.sqrt(natural[:, -2:])
    return natural
