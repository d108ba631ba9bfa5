"""What an estimator is, what it returns, and the maximum-likelihood and maximum-a-posteriori fits.

An estimator is a plain function

    run(data, *, kernel, prior, rng, warm=None) -> Fit

which may take `starts`, `tolerance` and `block_size` too; `Estimator` is that function with its name and abilities.
`mle`, `map` and `consistent` differ in the loss only; all climb it with the same multi-start search. The ladder of that
search: the warm start, fresh starts, and where none of them has a finite likelihood, or there are no data, a fixed
moderate theta. Each rung taken is in the `Fit`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from uhebo.errors import InvalidInputError
from uhebo.gp.data import Data
from uhebo.gp.kernels import MATERN52, Kernel, named_kernel
from uhebo.gp.likelihood import BATCH_SIZE, FAILED, LogMarginalLikelihood, LogPosterior, Objective
from uhebo.gp.posterior import Posterior
from uhebo.gp.priors import Prior, named_prior
from uhebo.gp.theta import Theta
from uhebo.numerics.bfgs import minimise
from uhebo.numerics.threads import single_threaded
from uhebo.types import Array, Rng

FRESH_STARTS = 3
MAX_ROUNDS = 100
ROUGH_ROUNDS = 40
STEP_GAIN = 1e-4
"""A climb ends when two successive steps gain less than about this many nats (the likelihood is of the order of n); an
estimator's `tolerance` replaces it."""
RIVAL = 3.0
"""Nats on a screen of `BATCH_SIZE` points within which two ends may change places on the full loss."""
FALLBACK_THETA = (0.3, 1.0, 1e-2)
"""ell, v, s2 where nothing could be fitted: smooth, of unit variance, a little noise."""


@dataclass(frozen=True)
class Fit:
    """One theta, or several (HMC), the posteriors under them, and how the fit went."""

    estimator: str
    prior: str
    data: Data
    kernel: Kernel
    thetas: tuple[Theta, ...]
    log_posterior: float
    """Value of the loss that was climbed, at the theta returned (the best one for HMC)."""
    converged: bool
    starts: int
    evaluations: int
    failures: int
    """Evaluations whose covariance matrix had no Cholesky factor."""
    fallback: str | None = None
    """Rung of the ladder taken when the ordinary way failed, else None."""
    extra: Mapping[str, float] = field(default_factory=dict)
    """Figures of one estimator alone: acceptance and effective sample size, or the scaling."""

    @cached_property
    def posteriors(self) -> tuple[Posterior, ...]:
        """`data` under each theta: worked out when first asked for, because it is O(n³) where the fit may be less."""
        return tuple(Posterior.of(self.data, theta, self.kernel) for theta in self.thetas)

    @property
    def posterior(self) -> Posterior:
        return self.posteriors[0]

    @property
    def theta(self) -> Theta:
        return self.thetas[0]

    @property
    def jitter(self) -> float:
        return max(posterior.jitter for posterior in self.posteriors)


OPTIONS = ("starts", "tolerance", "block_size")
"""Arguments of an estimator beside those that every one has: fresh starts of its climb, nats it may stop short of the
maximum, and pairs in a block of a composite likelihood."""


@dataclass(frozen=True)
class Estimator:
    """A way from data to theta: its name, the function, and which of `OPTIONS` that takes."""

    name: str
    run: Callable[..., Fit]
    takes: frozenset[str] = frozenset()

    @classmethod
    def of(cls, name: str, run: Callable[..., Fit]) -> Estimator:
        """With the abilities that the signature of `run` shows."""
        parameters = inspect.signature(run).parameters
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            return cls(name, run, frozenset(OPTIONS))
        return cls(name, run, frozenset(OPTIONS) & parameters.keys())

    @property
    def climbs(self) -> bool:
        """Whether it climbs a loss from given starts to a given tolerance."""
        return {"starts", "tolerance"} <= self.takes

    def __call__(
        self,
        data: Data,
        *,
        kernel: str | Kernel = MATERN52,
        prior: Prior | str = "paper",
        rng: Rng,
        warm: Theta | None = None,
        starts: int | None = None,
        tolerance: float | None = None,
        block_size: int | None = None,
    ) -> Fit:
        """Run it; an option that it does not take is left out, one that is None is left to its own default."""
        given = {"starts": starts, "tolerance": tolerance, "block_size": block_size}
        options = {name: value for name, value in given.items() if value is not None and name in self.takes}
        kernel, prior = named_kernel(kernel), named_prior(prior, data.dimension)
        fit = self.run(data, kernel=kernel, prior=prior, rng=rng, warm=warm, **options)
        return fit if fit.estimator == self.name else replace(fit, estimator=self.name)


@dataclass(frozen=True)
class Climb:
    """Where a multi-start search for the maximum of a log posterior ended."""

    log_theta: Array
    value: float
    converged: bool
    starts: int
    fallback: str | None


def log_posterior(data: Data, kernel: str | Kernel, prior: Prior) -> LogPosterior:
    """The ordinary loss of `mle` and `map`, to be maximised."""
    return LogPosterior(LogMarginalLikelihood([(data.X, data.y)], kernel, data.domain), prior)


def map_estimate(
    data: Data,
    *,
    kernel: str | Kernel = MATERN52,
    prior: Prior | str = "paper",
    rng: Rng,
    warm: Theta | None = None,
    starts: int = FRESH_STARTS,
    tolerance: float = STEP_GAIN,
) -> Fit:
    """Maximise the log posterior of theta given `data`."""
    return fit_loss(
        "map", data, data.X, data.y, kernel=kernel, prior=prior, rng=rng, warm=warm, starts=starts, tolerance=tolerance
    )


def mle_estimate(
    data: Data,
    *,
    kernel: str | Kernel = MATERN52,
    prior: Prior | str = "flat",
    rng: Rng,
    warm: Theta | None = None,
    starts: int = FRESH_STARTS,
    tolerance: float = STEP_GAIN,
) -> Fit:
    """Maximise the log marginal likelihood of theta given `data`; of a prior only the box is used."""
    flat = named_prior(prior, data.dimension).flattened()
    return fit_loss(
        "mle", data, data.X, data.y, kernel=kernel, prior=flat, rng=rng, warm=warm, starts=starts, tolerance=tolerance
    )


@single_threaded
def fit_loss(
    name: str,
    data: Data,
    X: Array,
    y: Array,
    *,
    kernel: str | Kernel,
    prior: Prior | str,
    rng: Rng,
    warm: Theta | None,
    starts: int,
    tolerance: float,
    block_size: int | None = None,
) -> Fit:
    """Fit theta to the pairs (X, y) and condition on `data`: the two are the same except for the consistent loss.

    All starts climb together on at most `BATCH_SIZE` random pairs; the best of what they found, or the warm start,
    then climbs the full loss. Pairs are in random order already or are put in one, so `block_size` splits them into
    random blocks whose likelihoods add up.
    """
    if starts < 0 or (starts == 0 and warm is None):
        raise InvalidInputError(f"starts={starts} without a warm start leaves nothing to begin from; use starts >= 1")
    if warm is not None and len(warm.ell) != data.dimension:
        raise InvalidInputError(f"warm has {len(warm.ell)} lengthscales, the data have {data.dimension} columns")
    if block_size is not None and block_size < 1:
        raise InvalidInputError(f"block_size={block_size}; expected at least 1, or None for the loss in full")
    kernel, prior = named_kernel(kernel), named_prior(prior, data.dimension)
    if not len(data):
        return without_data(name, data, kernel, prior)
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    pieces = 1 if block_size is None else max(1, round(len(y) / block_size))
    blocks = list(zip(np.array_split(X, pieces), np.array_split(y, pieces), strict=True))
    full = LogPosterior(LogMarginalLikelihood(blocks, kernel, data.domain), prior)
    screen = None
    if len(y) > BATCH_SIZE:
        screen = LogPosterior(LogMarginalLikelihood([(X[:BATCH_SIZE], y[:BATCH_SIZE])], kernel, data.domain), prior)
    likelihoods = [target.likelihood for target in (full, screen) if target is not None]
    low, high = prior.bounds(data.dimension)
    climb = climb_from_many(
        full,
        screen,
        len(y),
        warm=None if warm is None else warm.to_log(),
        fresh=fresh_starts(data.dimension, starts, rng),
        low=low,
        high=high,
        tolerance=tolerance,
    )
    return Fit(
        estimator=name,
        prior=prior.name,
        data=data,
        kernel=kernel,
        thetas=(Theta.from_log(climb.log_theta),),
        log_posterior=climb.value,
        converged=climb.converged,
        starts=climb.starts,
        evaluations=sum(likelihood.evaluations for likelihood in likelihoods),
        failures=sum(likelihood.failures for likelihood in likelihoods),
        fallback=climb.fallback,
    )


def climb_from_many(
    full: LogPosterior,
    screen: LogPosterior | None,
    points: int,
    *,
    warm: Array | None,
    fresh: Array,
    low: Array,
    high: Array,
    tolerance: float = STEP_GAIN,
) -> Climb:
    """Maximise `full` from a warm start and fresh ones.

    They race: once the going gets slow only the leader goes on, because the ridges of this loss are long and flat and
    following every start along its own would be most of the cost. With a `screen` (a smaller sample of the same loss)
    the fresh starts race on that, and the best of them, or the warm start, climbs `full`, with the curvature seen on
    the screen scaled up to the number of `points`.
    """
    fresh = np.clip(fresh, low, high)
    starts = fresh if warm is None else np.concatenate([np.clip(warm, low, high)[None], fresh])
    count = len(starts)
    near = warm is not None and screen is not None  # a warm start that is climbed from alone has not far to go
    if screen is not None and len(fresh):
        rough = minimise(
            _negative(screen),
            fresh,
            low,
            high,
            max_rounds=ROUGH_ROUNDS,
            value_tolerance=1e-4,
            race_tolerance=1e-3,
            hessian=curvature(screen, fresh, BATCH_SIZE),
        )
        first = int(np.argmin(rough.value))
        # Ends that are plainly worse, or the same one again, need no evaluation of the full loss to be ruled out.
        rivals = (rough.value < rough.value[first] + RIVAL) & (np.abs(rough.x - rough.x[first]).max(axis=1) > 0.3)
        starts = np.concatenate([starts[: count - len(fresh)], rough.x[[first]], rough.x[rivals]])
        if len(starts) > 1:
            chosen = int(np.argmax(full(starts)[0]))
            starts, near = starts[[chosen]], near and chosen == 0
    result = minimise(
        _negative(full),
        starts,
        low,
        high,
        max_rounds=MAX_ROUNDS,
        gradient_tolerance=10.0 * tolerance,
        value_tolerance=max(tolerance / points, 1e-6),
        race_tolerance=1e-3,
        hessian=curvature(full if screen is None else screen, starts, points),
        max_step=0.25 if near else 2.0,
    )
    best = int(np.argmin(result.value))
    value = -float(result.value[best])
    if value > FAILED:
        return Climb(result.x[best], value, bool(result.converged[best]), count, None)
    moderate = moderate_theta(low, high)
    return Climb(moderate, float(full(moderate[None])[0][0]), False, count, "moderate theta")


def moderate_theta(low: Array, high: Array) -> Array:
    """`FALLBACK_THETA` in logarithms, within the box."""
    return np.asarray(np.clip(np.log([FALLBACK_THETA[0]] * (len(low) - 2) + list(FALLBACK_THETA[1:])), low, high))


def without_data(name: str, data: Data, kernel: Kernel, prior: Prior) -> Fit:
    """What any estimator says before the first observation: the moderate theta, and that nothing was fitted."""
    low, high = prior.bounds(data.dimension)
    theta = Theta.from_log(moderate_theta(low, high))
    return Fit(name, prior.name, data, kernel, (theta,), 0.0, False, 0, 0, 0, fallback="no data")


def kept_theta(name: str, data: Data, kernel: Kernel, prior: Prior, theta: Theta) -> Fit:
    """The theta of an earlier fit on more data, without a look at the loss."""
    return Fit(name, prior.name, data, kernel, (theta,), float("nan"), True, 0, 0, 0)


def curvature(target: LogPosterior, log_theta: Array, points: int) -> Array | None:
    """First guess of the Hessian of the negative log posterior of `points` points, from a `target` of perhaps fewer.

    The Fisher information, scaled up from the screen's points to all, and 1 where it knows nothing: about half the
    evaluations of a start from the identity. The information would grow in proportion to the points if they told
    independent things; denser points tell more of the small scales too, and on Hartmann6 data the power 1.5 makes the
    first step neither overshoot nor creep.
    """
    information = target.likelihood.fisher(log_theta)
    if not information.any():
        return None
    return np.asarray(information * max(1.0, points / BATCH_SIZE) ** 1.5 + np.eye(log_theta.shape[1]))


def fresh_starts(dimension: int, count: int, rng: Rng) -> Array:
    """`count` log thetas: a moderate one first, then lengthscales, signal and noise drawn log-uniformly around it."""
    starts: Array = np.log(np.tile([0.5] * dimension + [1.0, 1e-3], (count, 1)))
    if count > 1:
        common = rng.uniform(np.log(0.1), np.log(2.0), (count - 1, 1))
        starts[1:, :dimension] = common + rng.uniform(-0.7, 0.7, (count - 1, dimension))
        starts[1:, -2] = rng.uniform(np.log(0.3), np.log(3.0), count - 1)
        starts[1:, -1] = rng.uniform(np.log(1e-5), np.log(1e-1), count - 1)
    return starts


def _negative(objective: Objective) -> Objective:
    def negated(log_theta: Array) -> tuple[Array, Array]:
        value, gradient = objective(log_theta)
        return -value, -gradient

    return negated
