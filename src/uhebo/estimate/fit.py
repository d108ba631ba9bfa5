"""Maximum likelihood and maximum a posteriori: one multi-start climb, whatever the pairs (x, y) the loss is made of.

`mle`, `map` and `consistent` are `Climber`s: they differ in these pairs, and `mle` in having no prior. The
ladder of the climb: the warm start, fresh starts, and where none of them has a likelihood, or there are no data, a
fixed moderate theta and a `Failure` that says why.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from uhebo.errors import InvalidInputError
from uhebo.estimate.estimator import Failure, Fit
from uhebo.gp.data import Data, Domain, Noise, Theta
from uhebo.gp.kernels import MATERN52, Kernel, named_kernel
from uhebo.gp.likelihood import BATCH_SIZE, LogMarginalLikelihood, LogPosterior
from uhebo.gp.priors import Prior, named_prior
from uhebo.numerics.bfgs import BatchFunction, minimise
from uhebo.numerics.threads import single_threaded
from uhebo.types import Array, Rng

FRESH_STARTS = 3
MAX_ROUNDS = 100
SCREEN_ROUNDS = 40
STEP_GAIN = 1e-4
"""Nats that two successive steps must gain, or the climb ends (the likelihood is of the order of n)."""
RIVAL = 3.0
"""Nats on a screen of `BATCH_SIZE` points within which two ends may change places on the full loss."""
MODERATE_THETA = (0.3, 1.0, 1e-2)
"""ell, v, s2 where nothing could be fitted: smooth, of unit variance, a little noise."""


class Pairs(NamedTuple):
    """The pairs (x, y) that a loss is made of, how many times each stands in it (None: once), and what was told of the
    noise of y (None: nothing)."""

    X: Array
    y: Array
    copies: Array | None = None
    noise: Noise | None = None

    def at(self, rows: NDArray[np.intp] | slice) -> "Pairs":
        copies = None if self.copies is None else self.copies[rows]
        return Pairs(self.X[rows], self.y[rows], copies, self.noise and self.noise.at(rows))


MakePairs = Callable[[Data, Rng], Pairs]


@dataclass(frozen=True)
class Climber:
    """An estimator that maximises the log posterior of theta given the `pairs` it makes of the data."""

    name: str
    pairs: MakePairs
    flat: bool = False
    """Whether the prior is left out; its box is not."""
    block_size: int | None = None
    """Pairs in each of the random blocks whose likelihoods add up; None for the loss in full."""

    @single_threaded
    def __call__(
        self,
        data: Data,
        *,
        kernel: str | Kernel = MATERN52,
        prior: str | Prior = "paper",
        rng: Rng,
        warm: Theta | None = None,
        starts: int = FRESH_STARTS,
        tolerance: float = STEP_GAIN,
    ) -> Fit:
        """Fit theta to the pairs and condition on `data`, until two steps gain less than about `tolerance` nats.

        The starts race: once the going gets slow only the leader goes on, because the ridges of this loss are long and
        flat and following every start along its own would be most of the cost. Where there are more than `BATCH_SIZE`
        pairs the fresh starts race on a random sample of them, a smaller one of the same loss; the best of what they
        found, or the warm start, then climbs the full loss with the curvature seen on the sample, scaled up.
        """
        if starts < 0 or (starts == 0 and warm is None):
            raise InvalidInputError(
                f"starts={starts} without a warm start leaves nothing to begin from; use at least 1"
            )
        if warm is not None and len(warm.ell) != data.dimension:
            raise InvalidInputError(f"warm has {len(warm.ell)} lengthscales, the data have {data.dimension} columns")
        kernel, prior = named_kernel(kernel), named_prior(prior, data.dimension)
        if self.flat:
            prior = prior.flattened()
        if not len(data):
            theta = Theta.from_log(moderate_theta(*prior.bounds(data.dimension)))
            return Fit(self.name, prior.name, data, kernel, (theta,), 0.0, converged=False, fallback=Failure.NO_DATA)
        pairs = self.pairs(data, rng)
        count = len(pairs.y)
        order = rng.permutation(count)
        pieces = 1 if self.block_size is None else max(1, round(count / self.block_size))
        blocks = [pairs.at(rows) for rows in np.array_split(order, pieces)]
        screen = full = LogPosterior(_likelihood(blocks, kernel, data.domain), prior)
        if count > BATCH_SIZE:
            screen = LogPosterior(_likelihood([pairs.at(order[:BATCH_SIZE])], kernel, data.domain), prior)
        bounds = prior.bounds(data.dimension)
        begin = fresh_starts(data.dimension, starts, rng)
        if warm is not None:
            begin = np.concatenate([warm.to_log()[None], begin])
        begin, near = np.clip(begin, *bounds), False
        if screen is not full:
            begin, near = screened(full, screen, begin, warm is not None, bounds)
        found = minimise(
            _negative(full),
            begin,
            *bounds,
            max_rounds=MAX_ROUNDS,
            gradient_tolerance=10.0 * tolerance,
            value_tolerance=max(tolerance / count, 1e-6),
            race_tolerance=1e-3,
            hessian=curvature(screen, begin, count),
            max_step=0.25 if near else 2.0,
        )
        best = int(np.argmin(found.value))
        log_theta, value, failure = found.x[best], -float(found.value[best]), None
        if not np.isfinite(value):
            log_theta, failure = moderate_theta(*bounds), Failure.NO_LIKELIHOOD
            value = float(full(log_theta[None])[0][0])
        likelihoods = {full.likelihood, screen.likelihood}
        return Fit(
            estimator=self.name,
            prior=prior.name,
            data=data,
            kernel=kernel,
            thetas=(Theta.from_log(log_theta),),
            log_posterior=value,
            converged=failure is None and bool(found.converged[best]),
            starts=starts + (warm is not None),
            evaluations=sum(likelihood.evaluations for likelihood in likelihoods),
            failures=sum(likelihood.failures for likelihood in likelihoods),
            fallback=failure,
        )


def observations(data: Data, _: Rng) -> Pairs:
    """The observations themselves."""
    return Pairs(data.X, data.y, noise=data.noise)


map_estimate = Climber("map", observations)
"""Maximise the log posterior of theta given the data."""
mle_estimate = Climber("mle", observations, flat=True)
"""Maximise the log marginal likelihood of theta given the data; of a prior only the box is used."""


def _likelihood(blocks: Sequence[Pairs], kernel: Kernel, domain: Domain) -> LogMarginalLikelihood:
    copies = [pairs.copies for pairs in blocks if pairs.copies is not None]
    noises = [pairs.noise for pairs in blocks]
    return LogMarginalLikelihood([(pairs.X, pairs.y) for pairs in blocks], kernel, domain, copies or None, noises)


def log_posterior(data: Data, kernel: str | Kernel, prior: Prior) -> LogPosterior:
    """The ordinary loss of `mle` and `map`, to be maximised."""
    return LogPosterior(
        _likelihood([Pairs(data.X, data.y, noise=data.noise)], named_kernel(kernel), data.domain), prior
    )


def screened(
    full: LogPosterior, screen: LogPosterior, starts: Array, warm: bool, bounds: tuple[Array, Array]
) -> tuple[Array, bool]:
    """The start (1, p) from which to climb `full`, and whether it is the `warm` one, which has not far to go.

    That is the first of `starts`; the others have raced on the `screen` before.
    """
    fresh = starts[warm:]
    if not len(fresh):
        return starts, warm
    rough = minimise(
        _negative(screen),
        fresh,
        *bounds,
        max_rounds=SCREEN_ROUNDS,
        value_tolerance=1e-4,
        race_tolerance=1e-3,
        hessian=curvature(screen, fresh, BATCH_SIZE),
    )
    first = int(np.argmin(rough.value))
    # Ends that are plainly worse, or the same one again, need no evaluation of the full loss to be ruled out.
    rivals = (rough.value <= rough.value[first] + RIVAL) & (np.abs(rough.x - rough.x[first]).max(axis=1) > 0.3)
    ends = np.concatenate([starts[:warm], rough.x[[first]], rough.x[rivals]])
    chosen = int(np.argmax(full(ends)[0])) if len(ends) > 1 else 0
    return ends[[chosen]], warm and chosen == 0


def moderate_theta(low: Array, high: Array) -> Array:
    """`MODERATE_THETA` in logarithms, within the box."""
    ell, v, s2 = MODERATE_THETA
    return np.asarray(np.clip(np.log([ell] * (len(low) - 2) + [v, s2]), low, high))


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


def _negative(function: BatchFunction) -> BatchFunction:
    def negated(log_theta: Array) -> tuple[Array, Array]:
        value, gradient = function(log_theta)
        return -value, -gradient

    return negated
