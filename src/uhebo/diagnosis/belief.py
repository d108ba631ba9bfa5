"""What the surrogate believes: hyperparameters by three estimators side by side, and the noise among them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from uhebo.diagnosis.case import Case
from uhebo.estimate import BLOCK_SIZE, Fit, consistent_estimate, map_estimate
from uhebo.estimate.fit import log_posterior
from uhebo.estimate.hmc import sample_chain
from uhebo.types import Array, Rng

BURN_IN, DRAWS = 200, 400
FEW_POINTS, SHORT_BURN_IN, SHORT_DRAWS = 64, 150, 200
"""Above so many trials a step costs several times more, and the chain is shorter."""
INTERVAL = (0.05, 0.95)
HMC_POINTS = 100
"""The chain runs on a random sample of at most so many trials; fewer data make its interval wider, never narrower."""
EXACT_POINTS = 150
MUCH_NOISE = 0.3
"""Noise deviation on standardised values from which on noise hides much of what there is to see."""


@dataclass(frozen=True)
class Estimate:
    """One hyperparameter. Lengthscales are shares of the parameter's range; signal and noise are standard deviations
    in the units of the value."""

    name: str
    kind: Literal["lengthscale", "signal", "noise"]
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

    @property
    def map_inside(self) -> bool | None:
        if self.hmc_low is None or self.hmc_high is None:
            return None
        return self.hmc_low <= self.map <= self.hmc_high


@dataclass(frozen=True)
class Hyperparameters:
    """One `Estimate` for each parameter, then the signal, then the noise."""

    estimates: tuple[Estimate, ...]
    interval: tuple[float, float]
    acceptance: float | None
    effective_sample_size: float | None
    hmc_points: int
    prior: str
    kernel: str
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


@dataclass(frozen=True)
class Noise:
    """How much a value would change if a trial were repeated, against how much values differ at all."""

    deviation: float
    low: float | None
    high: float | None
    value_range: float
    share_of_range: float
    share_of_deviation: float
    """Noise deviation over the standard deviation of the values."""
    against_noise: float
    """Log odds of the best fit against the best with noise of at least `MUCH_NOISE`; near 0 it may all be noise."""
    measured: float | None
    """Deviation among repeated points, pooled; None where no point was repeated."""
    repeats: int
    """Degrees of freedom of `measured`."""


def compare_estimators(case: Case, fit: Fit, rng: Rng, hmc: bool) -> tuple[Hyperparameters, Array | None]:
    """MAP (`fit`), consistent and HMC on the same data under the same prior; and the chain's draws of log theta."""
    data = case.data
    block = BLOCK_SIZE if len(data) > EXACT_POINTS else None
    other = consistent_estimate(data, kernel=case.kernel, prior=case.prior, rng=rng, block_size=block)
    draws = acceptance = size = None
    sampled = data
    if hmc:
        if len(data) > HMC_POINTS:
            sampled = data.subset(np.sort(rng.choice(len(data), HMC_POINTS, replace=False)))
        low, high = case.prior.bounds(data.dimension)
        target = log_posterior(sampled, case.kernel, case.prior)
        burn_in, count = (BURN_IN, DRAWS) if len(sampled) <= FEW_POINTS else (SHORT_BURN_IN, SHORT_DRAWS)
        chain = sample_chain(target, fit.theta.to_log(), low, high, rng=rng, burn_in=burn_in, draws=count)
        draws, acceptance, size = chain.draws, chain.acceptance, chain.effective_sample_size()
    bands = None if draws is None else _natural(np.quantile(draws, INTERVAL, axis=0), data.scale)
    columns = _natural(np.array([fit.theta.to_log(), other.theta.to_log()]), data.scale)
    estimates = []
    for i, name in enumerate((*case.names, "signal", "noise")):
        first, second = float(columns[0, i]), float(columns[1, i])
        low_end, high_end = (None, None) if bands is None else (float(bands[0, i]), float(bands[1, i]))
        kind: Literal["lengthscale", "signal", "noise"] = (
            "lengthscale" if i < len(case.names) else "signal" if i == len(case.names) else "noise"
        )
        apart = max(first, second) / max(min(first, second), math.ulp(0.0))
        estimates.append(Estimate(name, kind, first, second, low_end, high_end, apart))
    return (
        Hyperparameters(
            estimates=tuple(estimates),
            interval=INTERVAL,
            acceptance=acceptance,
            effective_sample_size=size,
            hmc_points=len(sampled),
            prior=case.prior.name,
            kernel=case.kernel.name,
            jitter=fit.jitter,
            fallback=fit.fallback,
        ),
        draws,
    )


def measure_noise(case: Case, fit: Fit, draws: Array | None, rng: Rng) -> Noise:
    """The fitted noise against the spread of the values, and the deviation among repeated points where there are any.

    pooled deviation² = Σ_groups Σ_i (y_i - mean of its group)² / Σ_groups (size - 1)
    """
    data = case.data
    deviation = math.sqrt(fit.theta.s2)
    spread, width = float(data.y.std()), float(data.y.max() - data.y.min())
    low, high = (None, None) if draws is None else np.exp(0.5 * np.quantile(draws[:, -1], INTERVAL)).tolist()
    much = replace(case.prior, noise_bounds=(MUCH_NOISE**2, case.prior.noise_bounds[1]))
    noisy = map_estimate(data, kernel=case.kernel, prior=much, rng=rng, warm=fit.theta)
    groups: dict[bytes, list[float]] = {}
    for row, value in zip(np.round(data.X, 6) + 0.0, data.y, strict=True):
        groups.setdefault(row.tobytes(), []).append(float(value))
    freedom = sum(len(group) - 1 for group in groups.values())
    squares = sum(float(np.var(group)) * len(group) for group in groups.values())
    return Noise(
        deviation=deviation * data.scale,
        low=None if low is None else low * data.scale,
        high=None if high is None else high * data.scale,
        value_range=width * data.scale,
        share_of_range=deviation / width,
        share_of_deviation=deviation / spread,
        against_noise=fit.log_posterior - noisy.log_posterior,
        measured=math.sqrt(squares / freedom) * data.scale if freedom else None,
        repeats=freedom,
    )


def _natural(log_theta: Array, scale: float) -> Array:
    """(ell_1 .. ell_d, √v, √s2), the last two in the user's units."""
    natural = np.exp(log_theta)
    natural[:, -2:] = np.sqrt(natural[:, -2:]) * scale
    return natural
