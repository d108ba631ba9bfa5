"""Hyperparameters beside second opinions on them (MAP, consistent, HMC intervals): now, the noise, and over time."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from optuna.study import Study

from uhebo import checks
from uhebo.belief import Belief
from uhebo.belief.repeats import replicates
from uhebo.estimate import Fit, default_block_size, mle_estimate, named_estimator
from uhebo.estimate.fit import log_posterior
from uhebo.estimate.hmc import Chain, sample_chain
from uhebo.gp import Data, Prior, Theta, named_prior
from uhebo.gp.priors import LogNormal
from uhebo.optuna_.believe import StudyModel, model_of
from uhebo.types import Array, Rng

Scatter = Literal["not known", "little", "some", "much"]
Kind = Literal["lengthscale", "signal", "noise"]
KINDS: tuple[Kind, ...] = ("lengthscale", "signal", "noise")
BURN_IN, DRAWS = 200, 400
FEW_POINTS, SHORT_BURN_IN, SHORT_DRAWS = 64, 150, 200
"""Number of trials above which a step costs several times more, and the length of the chain there."""
INTERVAL = (0.05, 0.95)
TIMELINE_POINTS = 500
"""Number of finished trials up to which theta is fitted anew; a fit costs the cube of it."""
Recorded = tuple[tuple[int, tuple[float, ...]], ...]
CHAIN_POINTS = 100
"""Number of trials the chain runs on, drawn at random where there are more: fewer data make its interval wider, never
narrower."""
AGREEING = 0.05
"""Deviation among repeats, as a share of the range of the values, below which there is little noise."""
MUCH_NOISE = 0.3
"""Noise deviation on standardised values from which on noise hides much of what there is to see."""
NOISE_POINTS = 150
"""Number of trials, drawn at random where there are more, on which much noise is weighed against little."""


@dataclass(frozen=True)
class Estimate:
    """One hyperparameter. Lengthscales are shares of the parameter's range; signal and noise are standard deviations,
    as multiples of that of the values the model sees."""

    name: str
    kind: Kind
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
        kind = KINDS[max(0, i - len(belief.names) + 1)]
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
    block_size, reading = default_block_size(len(data)), belief.model.reading
    return named_estimator(estimator)(data, kernel=kernel, prior=prior, rng=rng, block_size=block_size, reading=reading)


def thinned(data: Data, most: int, rng: Rng) -> Data:
    """At most so many of the observations, drawn at random, in their order."""
    return data if len(data) <= most else data.subset(np.sort(rng.choice(len(data), most, replace=False)))


def theta_chain(belief: Belief, rng: Rng, prior: Prior, burn_in: int | None = None, draws: int | None = None) -> Chain:
    """Draws of log theta given the data of the model."""
    data = thinned(belief.objective.data, CHAIN_POINTS, rng)
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


@dataclass(frozen=True)
class Noise:
    """Deviations are in the units of the value. Where values are warped, noise differs from place to place in these
    units, and the figure is the median over the trials."""

    deviation: float
    low: float | None
    high: float | None
    value_range: float
    share_of_range: float
    share_of_deviation: float
    """Noise deviation over the standard deviation of the values, as the model sees them."""
    against_noise: float
    """Log likelihood of the best theta minus that of the best with noise of at least `MUCH_NOISE`; near 0 it may all be
    noise."""
    measured: float | None
    """Deviation among repeated points, pooled; None where no point was repeated."""
    repeats: int
    """Degrees of freedom of `measured`."""

    scatter: Scatter = "not known"
    """What is known of it, all evidence together."""

    @property
    def largest(self) -> float:
        """The largest deviation that is likely."""
        return self.deviation if self.high is None else max(self.deviation, self.high)

    @property
    def largest_share(self) -> float:
        """The same as a share of the range of the values."""
        return self.share_of_range * self.largest / self.deviation

    @property
    def agreeing(self) -> bool:
        """Whether repeats differ by next to nothing, beside how the values differ: then it is not all noise."""
        return self.measured is not None and self.measured < AGREEING * self.value_range


def measure_noise(belief: Belief, draws: Array | None, rng: Rng) -> Noise:
    """The fitted noise against the spread of the values, and the deviation among repeated points.

    pooled deviation² = Σ_groups Σ_i (y_i - mean of its group)² / Σ_groups (size - 1)
    """
    objective = belief.objective
    data, units = objective.data, objective.units

    def told(deviation: float) -> float:
        ends = units.told(objective.smoothed[:, None] + [-deviation, deviation])
        return 0.5 * float(np.median(np.abs(ends[:, 1] - ends[:, 0])))

    fitted = math.sqrt(float(np.mean([theta.s2 for theta in objective.fit.thetas])))
    low, high = (None, None) if draws is None else np.exp(0.5 * np.quantile(draws[:, -1], INTERVAL)).tolist()
    values = units.told(data.y)
    width = float(values.max() - values.min())
    places, shares = replicates(data.X), values / width
    sizes = np.bincount(places)
    means = np.bincount(places, weights=shares) / sizes
    freedom = int((sizes - 1).sum())
    squares = float(((shares - means[places]) ** 2).sum())
    return Noise(
        deviation=told(fitted),
        low=None if low is None else told(low),
        high=None if high is None else told(high),
        value_range=width,
        share_of_range=told(fitted) / width,
        share_of_deviation=fitted / float(data.y.std()),
        against_noise=against_noise(belief, rng),
        measured=math.sqrt(squares / freedom) * width if freedom else None,
        repeats=freedom,
    )


def against_noise(belief: Belief, rng: Rng) -> float:
    """max L over all thetas - max L over those with s2 >= MUCH_NOISE²; prior and estimator have no say in it."""
    data, prior, kernel = thinned(belief.objective.data, NOISE_POINTS, rng), belief.prior, belief.model.kernel
    much = replace(prior, noise_bounds=(MUCH_NOISE**2, max(prior.noise_bounds[1], 1.0)))
    free, noisy = (
        mle_estimate(data, kernel=kernel, prior=box, rng=rng, warm=belief.theta).log_posterior for box in (prior, much)
    )
    return free - noisy


@dataclass(frozen=True)
class LengthscaleHistory:
    """For each estimator, (trial number, log theta) with log theta = log(ell_1 .. ell_d, v, s2), d = len(names)."""

    names: tuple[str, ...]
    by_estimator: dict[str, Recorded]
    fitted: tuple[str, ...] = ()
    """Estimators that the suggestions did not use: a second opinion, fitted afterwards."""


def lengthscale_history(study: Study, every: int | None = None, *, seed: int = 0) -> LengthscaleHistory:
    """What the suggestions recorded; with `every` = k, MAP and consistent are also fitted after k, 2k, … trials.

    The fits fill in the estimators that the suggestions did not use, under the model's prior and kernel, so that any
    study, whoever sampled it, has both to compare. Recorded thetas of another number of parameters (the space was
    changed since) are left out.
    """
    every = checks.optional_integer("every", every, 1)
    model = model_of(study)
    names = model.history.space.names
    found: dict[str, list[tuple[int, tuple[float, ...]]]] = {}
    for trial in model.history.trials:
        theta, estimator = trial.tags.get("theta"), trial.tags.get("estimator")
        if theta is not None and estimator and len(theta) == len(names) + 2:
            found.setdefault(str(estimator), []).append((trial.number, tuple(float(value) for value in theta)))
    missing = [name for name in ("map", "consistent") if name not in found and every is not None and names]
    for estimator in missing:
        fits = _fits(model, estimator, every or 1, seed)
        if fits:
            found[estimator] = fits
    return LengthscaleHistory(names, {name: tuple(rows) for name, rows in found.items()}, tuple(missing))


def _fits(model: StudyModel, estimator: str, every: int, seed: int) -> list[tuple[int, tuple[float, ...]]]:
    believed, finished = model.step.model_used, model.history.finished[:TIMELINE_POINTS]
    fits = []
    warm: Theta | None = None
    for count in range(every, len(finished) + 1, every):
        _, data = replace(model.history, trials=finished[:count]).modelled(warped=believed.warped)
        fit = named_estimator(estimator)(
            data,
            kernel=believed.kernel,
            prior=believed.prior_for(data.dimension),
            rng=np.random.default_rng([seed, count]),
            warm=warm,
            block_size=default_block_size(count),
            reading=believed.reading,
        )
        warm = fit.theta
        log_theta = fit.theta.to_log().tolist()
        if all(map(math.isfinite, log_theta)):
            fits.append((finished[count - 1].number, tuple(log_theta)))
    return fits
