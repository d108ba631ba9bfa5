"""One step of a strategy: the moves it can make (a random point, a model point) and the random numbers it may use.

A strategy is a function `Step -> Proposal`. It reads the step's history and slot, and ends in `step.random()` or
`step.model(...)`; the tags it hands over are stored with the trial and come back in the history of later steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from uhebo.acquire import (
    AGAINST_THE_BEST,
    Search,
    Surface,
    maximise,
    maximise_sample,
    random_point,
    surface,
    with_pending,
)
from uhebo.belief.history import History, Slot
from uhebo.estimate import BLOCK_SIZE, Failure, Fit, kept_theta, named_estimator
from uhebo.gp import Kernel, Posterior, Prior, Theta, named_prior
from uhebo.gp.kernels import MATERN52
from uhebo.methods.bandit import Clip
from uhebo.methods.theory import beta_schedule
from uhebo.types import Array, Rng

PAPER_ACQUISITION, PAPER_PRIOR = "ucb", "paper"
EXACT_POINTS = 100
"""Above this many observations the consistent loss goes in blocks, unless exact=True."""
LEADERS = 4
MOST_UNDECIDED = 8
"""Trials without a point yet that are allowed for; more of them are workers that died, not workers that think."""
REFIT_PERIOD = 4
SMALL = 64
"""Up to this many observations every fit has fresh starts; above, those of every `REFIT_PERIOD`-th pair of iterations
have, and the others a warm start alone. Pairs, so that a method which alternates gives both its estimators a turn."""
LARGE = 512
"""Above this many observations theta is kept from one fit to the next for ever more iterations: one more observation
changes it next to nothing, and a fit is O(n³) many times over. Where there is none to keep, it is that of so many
observations drawn at random, until a fit is due."""
TOLERANCE = 3e-2
"""Nats of log posterior a fit may stop short of: far below what the next observation changes."""
WARM_FRESH_STARTS = 2
"""Fresh starts beside a warm one."""

Beta = float | Literal["theory"]
Stream = Literal["point", "arm", "fit", "maximise"]
STREAMS: dict[Stream, int] = {"point": 0, "arm": 1, "fit": 2, "maximise": 3}


@dataclass(frozen=True)
class Settings:
    """Everything a method leaves open; None stands for the method's own choice."""

    seed: int
    horizon: int | None = None
    """T, the number of iterations after the initial design, where it is known."""
    kernel: Kernel = MATERN52
    prior: str | Prior | None = None
    acquisition: str | None = None
    beta: Beta = 1.96
    deterministic: bool = False
    exact: bool = False
    reward_clip: Clip = "below"


@dataclass(frozen=True)
class Proposal:
    """The next point (a row of the space) and what is to be remembered of how it was chosen."""

    x: Array
    tags: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """What a strategy sees when it is asked for trial `slot.number`."""

    history: History
    settings: Settings
    slot: Slot

    def rng(self, stream: Stream, number: int | None = None) -> Rng:
        """Random numbers of one purpose from (seed, trial number): whoever asks, whenever, gets the same."""
        number = self.slot.number if number is None else number
        return np.random.default_rng([self.settings.seed, number, STREAMS[stream]])

    def random(self, **tags: Any) -> Proposal:
        """A uniform i.i.d. point; where the objective is deterministic, among those not evaluated yet."""
        return Proposal(random_point(self.search(), self.rng("point")), {"role": "random", **tags})

    def with_defaults(self, *, acquisition: str, prior: str | Prior, warped: bool = False) -> Step:
        """The step of a method that has other defaults than the paper's; what the user chose stays."""
        chosen = replace(
            self.settings,
            acquisition=acquisition if self.settings.acquisition is None else self.settings.acquisition,
            prior=prior if self.settings.prior is None else self.settings.prior,
        )
        return replace(self, settings=chosen, history=replace(self.history, warped=warped))

    @property
    def acquisition(self) -> str:
        return PAPER_ACQUISITION if self.settings.acquisition is None else self.settings.acquisition

    def beta(self) -> float:
        """Multiplier of the deviation in UCB."""
        if self.settings.beta == "theory":
            return float(np.sqrt(beta_schedule(max(self.slot.t, 1), self.history.space.domain.dimension)))
        return self.settings.beta

    def fit(self, estimator: str) -> Fit:
        """Estimate theta on D_{t-1}: from the last theta this estimator gave, and from fresh starts."""
        data, settings, rng = self.history.data, self.settings, self.rng("fit")
        run, warm, sample = named_estimator(estimator), self._last_theta(estimator), data
        fresh = len(data) <= SMALL or self.slot.pair % REFIT_PERIOD == 0
        prior = named_prior(PAPER_PRIOR if settings.prior is None else settings.prior, data.dimension)
        if len(data) > LARGE and run.climbs and not settings.exact:
            if warm is None:
                sample = data.subset(rng.choice(len(data), LARGE, replace=False))
            elif self.slot.pair % (2 * len(data) // LARGE) != 0:
                return kept_theta(estimator, data, settings.kernel, prior, warm)
        fit = run(
            sample,
            kernel=settings.kernel,
            prior=prior,
            rng=rng,
            warm=warm,
            starts=None if warm is None else WARM_FRESH_STARTS if fresh else 0,
            tolerance=TOLERANCE,
            block_size=BLOCK_SIZE if len(data) > EXACT_POINTS and not settings.exact else None,
        )
        return fit if sample is data else replace(fit, data=data)

    def model(self, estimator: str, **tags: Any) -> Proposal:
        """The acquisition's maximiser under the named estimator's theta; a random point while there are no data."""
        return self.model_from(self.fit(estimator), **tags) if self.history.finished else self.no_data(**tags)

    def model_from(self, fit: Fit, **tags: Any) -> Proposal:
        """The maximiser of the acquisition function under a fit."""
        return Proposal(self.best_point(fit.posteriors), {"role": "model", **fit_record(fit), **tags})

    def no_data(self, **tags: Any) -> Proposal:
        """A random point where a model point was due and nothing has been observed yet; recorded as a fallback."""
        return self.random(fallback=Failure.NO_DATA.value, **tags)

    def best_point(self, posteriors: tuple[Posterior, ...], acquisition: str | None = None) -> Array:
        """Maximise the acquisition function (of the settings, or the one named) over the space.

        Points under way, and points that failed, are no places to look at next. Trials before this one that are about
        to propose a point too go first: for each, the best point is taken as pending, so that workers who look at the
        same log at the same moment do not arrive at the same point.

        An acquisition that measures against the best value so far goes on preferring a place whose mean is above it,
        however certain. If nothing has been learnt since that place was proposed, it would be proposed again; so there
        a pending point counts as no better than the best. (With a value in between the model is another one, and the
        expected values of points under way are better left as they are: on smooth functions a digit, with eight under
        way.)
        """
        acquisition = self.acquisition if acquisition is None else acquisition
        rng, search = self.rng("maximise"), self.search()
        ceiling = self._incumbent(posteriors) if acquisition in AGAINST_THE_BEST else math.inf
        posteriors = with_pending(
            posteriors, self.history.pending, np.where(self.history.nothing_learnt, ceiling, math.inf)
        )
        for _ in range(self.undecided):
            point = self._maximise(acquisition, posteriors, search, rng)[None]
            posteriors = with_pending(posteriors, point, ceiling)
            if self.settings.deterministic:
                search = replace(search, taken=np.concatenate([search.taken, point]))
        return self._maximise(acquisition, posteriors, search, rng)

    def _maximise(self, acquisition: str, posteriors: tuple[Posterior, ...], search: Search, rng: Rng) -> Array:
        if acquisition == "thompson":
            return maximise_sample(posteriors[int(rng.integers(len(posteriors)))], search, rng)
        return maximise(self.surface(posteriors, acquisition), search, rng)

    def surface(
        self, posteriors: tuple[Posterior, ...], acquisition: str | None = None, beta: float | None = None
    ) -> Surface:
        """The acquisition function (of the settings, or the one named) under these posteriors."""
        acquisition = self.acquisition if acquisition is None else acquisition
        beta = self.beta() if beta is None else beta
        return surface(acquisition, posteriors, beta=beta, best=self._incumbent(posteriors))

    @property
    def undecided(self) -> int:
        """Trials before this one that are about to propose a point too, as far as they are allowed for."""
        return min(self.history.undecided_before(self.slot.number), MOST_UNDECIDED)

    def _incumbent(self, posteriors: tuple[Posterior, ...]) -> float:
        """The value to improve on: the best observed one, or with noise the best of what the model takes them for.

        The posterior mean at the data is y - s2 α. A lucky draw of the noise is not something to be beaten.
        """
        y = self.history.data.y
        if self.settings.deterministic:
            return float(y.max())
        smoothed = [(p.data.y - p.theta.s2 * p.alpha)[: len(y)].max() for p in posteriors]
        return float(np.mean(smoothed))

    def ucb_maximiser(self) -> Callable[[Posterior], Array]:
        """Posterior -> UCB point, for the estimators that need to look ahead."""
        return lambda posterior: self.best_point((posterior,), "ucb")

    def search(self) -> Search:
        """What the maximiser needs to know of the search so far."""
        data = self.history.data
        leaders = data.X[np.argsort(-data.y, kind="stable")[:LEADERS]]
        # Failed trials too: a deterministic objective would fail there again.
        taken = [t.x for t in self.history.trials if t.x is not None] if self.settings.deterministic else []
        return Search(self.history.space, leaders, np.array(taken).reshape(-1, data.dimension))

    def _last_theta(self, estimator: str) -> Theta | None:
        for trial in reversed(self.history.trials):
            recorded = trial.tags.get("theta")
            if recorded is not None and trial.tags.get("estimator") == estimator:
                if len(recorded) != self.history.space.domain.dimension + 2:
                    return None
                return Theta.from_log(np.array(recorded, dtype=np.float64))
        return None


def fit_record(fit: Fit) -> dict[str, Any]:
    """What is remembered of a fit: enough to warm-start the next one and to say how it went, in few characters.

    Four decimals of log theta are far finer than its uncertainty, and fit 200 dimensions into one SQL attribute.
    """
    record: dict[str, Any] = {
        "estimator": fit.estimator,
        "theta": [round(float(value), 4) for value in fit.theta.to_log()],
    }
    if fit.jitter:
        record["jitter"] = float(f"{fit.jitter:.2g}")
    if fit.fallback:
        record["fallback"] = fit.fallback.value
    if not fit.converged:
        record["converged"] = False
    record.update({name: round(value, 4) for name, value in fit.extra.items()})
    return record
