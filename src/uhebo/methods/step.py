"""One step of a strategy: the moves it can make (a random point, a model point) and the random numbers it may use.

A strategy is a function `Step -> Proposal`. It reads the step's history and slot, and ends in `step.random()` or
`step.model(...)`; the tags it hands over are stored with the trial and come back in the history of later steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from uhebo.acquire.design import emptiest_point
from uhebo.acquire.functions import AGAINST_THE_BEST, Surface, surface
from uhebo.acquire.limits import Limits, feasibility_surface, log_chance, weights
from uhebo.acquire.maximise import Explored, maximise, maximise_sample, nothing_free, random_point
from uhebo.acquire.pending import Pending
from uhebo.belief.belief import Belief, OutcomeBelief, outcome_belief
from uhebo.belief.condense import condensed, condensed_rows, second_look
from uhebo.belief.history import History, Slot
from uhebo.estimate import Failure, Fit, Model
from uhebo.gp import Data, Posterior
from uhebo.methods.record import fit_record, log_theta
from uhebo.methods.schedule import beta_schedule
from uhebo.methods.settings import Beta as Beta
from uhebo.methods.settings import Design as Design
from uhebo.methods.settings import Settings as Settings
from uhebo.space.moves import leading
from uhebo.types import Array, Rng

PAPER_ACQUISITION = "ucb"
PAPER_MODEL = Model()
LEADERS = 4

Stream = Literal["point", "arm", "fit", "maximise"]
STREAMS: dict[Stream, int] = {"point": 0, "arm": 1, "fit": 2, "maximise": 3}


@dataclass(frozen=True)
class Proposal:
    """The next point (a row of the space) and tags that record how it was chosen."""

    x: Array
    tags: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """What a strategy sees when it is asked for trial `slot.number`."""

    history: History
    settings: Settings
    slot: Slot
    method_model: Model = PAPER_MODEL
    method_acquisition: str = PAPER_ACQUISITION
    """The method's own; what the user chose in the settings counts more."""

    def rng(self, stream: Stream, number: int | None = None) -> Rng:
        """Random numbers for one purpose; they depend on (seed, trial number) alone."""
        number = self.slot.number if number is None else number
        return np.random.default_rng([self.settings.seed, number, STREAMS[stream]])

    def random(self, **tags: Any) -> Proposal:
        """A uniform i.i.d. point; where the objective has no noise, among those not evaluated yet."""
        return Proposal(random_point(self.explored_around(), self.rng("point")), {"role": "random", **tags})

    def initial(self, design: Design) -> Proposal:
        """A point of the initial design."""
        if design == "uniform":
            return self.random(role="initial")
        occupied = [t.x for t in self.history.trials if t.x is not None]
        rows = np.array(occupied).reshape(-1, self.history.space.domain.dimension)
        return Proposal(emptiest_point(self.explored_around(), rows, self.rng("point")), {"role": "initial"})

    @property
    def used_up(self) -> bool:
        """Whether a repeat would tell nothing new, and every point of the space has been taken."""
        return self.avoids_repeats and nothing_free(self.explored_around())

    @property
    def avoids_repeats(self) -> bool:
        """Whether repeats are possible and would tell nothing new."""
        exact = self.settings.deterministic or self.history.noiseless
        return exact and self.history.space.size < math.inf and any(t.x is not None for t in self.history.trials)

    def under(self, model: Model, acquisition: str) -> Step:
        """The step of a method with another model and acquisition; what the user chose stays."""
        return replace(self, method_model=model, method_acquisition=acquisition)

    @cached_property
    def model_used(self) -> Model:
        """The method's model, with the user's choices."""
        model = self.settings.applied_to(self.method_model)
        return model if self.history.objectives == 1 else model.of_several(self.slot.pair)

    @property
    def data(self) -> Data:
        """D_{t-1} as the model sees it: standardised, and warped where the model says so."""
        return self.history.modelled(warped=self.model_used.warped)[1]

    @property
    def acquisition(self) -> str:
        return self.method_acquisition if self.settings.acquisition is None else self.settings.acquisition

    def beta(self) -> float:
        """Multiplier of the deviation in UCB."""
        if self.settings.beta == "theory":
            return float(np.sqrt(beta_schedule(max(self.slot.t, 1), self.history.space.domain.dimension)))
        return self.settings.beta

    def believe(self, estimator: str | None = None) -> Belief:
        """The method's model fitted to D_{t-1}; with another estimator, a second opinion."""
        model = self.model_used if estimator is None else self.model_used.by(estimator)
        wanted = range(self.history.objectives)
        objectives = [outcome_belief(self.history, i, model, self.slot, self.rng("fit")) for i in wanted]
        return Belief(self.history, model, (*objectives, *self.constraints))

    def fit(self, estimator: str) -> Fit:
        """Theta of the objective by this estimator, and the posterior under it; in a long log on some of the data."""
        found = outcome_belief(self.history, 0, self.model_used.by(estimator), self.slot, self.rng("fit"))
        return condensed(found.fit, self.kept)

    @cached_property
    def kept(self) -> NDArray[np.intp] | None:
        """Rows of the data that a suggestion is based on where there are too many (`uhebo.belief.condense`)."""
        feasible = self.history.feasible
        worth = np.where(feasible | ~feasible.any(), self.data.y, -np.inf)
        return None if self.model_used.exact else condensed_rows(worth)

    def _rows(self, posterior: Posterior) -> NDArray[np.intp]:
        """Rows of the data that a posterior knows, whatever it knows of pending points beside them."""
        count = len(self.data)
        if self.kept is None or np.array_equal(posterior.data.X[:count], self.data.X):
            return np.arange(count)
        return self.kept

    @cached_property
    def constraints(self) -> tuple[OutcomeBelief, ...]:
        """The GPs of the constraints, and of failing where trials have: fitted once, under the method's own model,
        whatever opinions are asked for."""
        others = range(self.history.objectives, len(self.history.outcomes))
        return tuple(outcome_belief(self.history, i, self.model_used, self.slot, self.rng("fit")) for i in others)

    @cached_property
    def limits(self) -> Limits:
        """The limits that a proposal must keep: constraints, and success where trials fail."""
        exact = self.model_used.exact
        return tuple(found.limit if exact else found.condensed_limit for found in self.constraints)

    @cached_property
    def feasible(self) -> NDArray[np.bool_]:
        """Which finished trials count as feasible: told so and, where values are noisy, not by luck alone.

        A constraint is kept by luck where the model has it beyond the threshold by more than a deviation of its noise.
        """
        found = self.history.feasible
        if self.model_used.noise == "estimated" and found.any():
            constraints = [found.outcome.role == "constraint" for found in self.constraints]
            for limit in (limit for limit, told in zip(self.limits, constraints, strict=True) if told):
                means = np.mean([posterior.mean(self.data.X) for posterior in limit.posteriors], axis=0)
                noise = math.sqrt(np.mean([posterior.theta.s2 for posterior in limit.posteriors]))
                found = found & (means >= limit.threshold - noise)
        return found

    def model(self, estimator: str, **tags: Any) -> Proposal:
        """The acquisition's maximiser under the named estimator's theta; a random point while there are no data."""
        return self.model_from(self.fit(estimator), **tags) if self.history.finished else self.no_data(**tags)

    def model_from(self, fit: Fit, **tags: Any) -> Proposal:
        """The maximiser of the acquisition function under a fit."""
        return Proposal(self.best_point(fit.posteriors), {"role": "model", **self.record(fit), **tags})

    def record(self, fit: Fit, *further: Fit) -> dict[str, Any]:
        """What is remembered of the fits behind a proposal: the objective's, and those of further objectives."""
        record = fit_record(fit)
        if further:
            record["objective_theta"] = [log_theta(other) for other in further]
        thetas = [log_theta(found.fit) for found in self.constraints if found.outcome.role == "constraint"]
        return {**record, "constraint_theta": thetas} if thetas else record

    def no_data(self, **tags: Any) -> Proposal:
        """A random point where a model point was due and nothing has been observed yet; recorded as a fallback.

        Where all trials have failed so far, the point that is the least likely to.
        """
        if not self.limits:
            return self.random(fallback=Failure.NO_DATA.value, **tags)
        target = Surface(self.limits[0].posteriors, self.limits[0].scalar, True, weights(self.limits[1:]))
        point = maximise(target, self.explored_around(), self.rng("maximise"))
        return Proposal(point, {"role": "model", "fallback": Failure.NO_DATA.value, **tags})

    def best_point(self, posteriors: tuple[Posterior, ...], acquisition: str | None = None) -> Array:
        """Maximise the acquisition function (of the settings, or the one named) over the space."""
        acquisition = self.acquisition if acquisition is None else acquisition
        best = self._incumbent(posteriors) if acquisition in AGAINST_THE_BEST else None
        choose = partial(self._maximise, acquisition, rng=self.rng("maximise"))
        ceiling = math.inf if best is None else best
        return self.pending.next_point(posteriors, self.explored(), choose, ceiling, self.limits)

    def _maximise(
        self, acquisition: str, posteriors: tuple[Posterior, ...], explored: Explored, limits: Limits, rng: Rng
    ) -> Array:
        if acquisition == "thompson":
            return maximise_sample(posteriors[int(rng.integers(len(posteriors)))], explored, rng, limits)
        surface = self.surface(posteriors, limits, acquisition)
        first = len(self._rows(posteriors[0]))
        if first == len(self.data):
            return maximise(surface, explored, rng)
        closer = partial(second_look, posteriors, self.data, first)
        return maximise(surface, explored, rng, lambda points: replace(surface, posteriors=closer(points)))

    def surface(
        self,
        posteriors: tuple[Posterior, ...],
        limits: Limits = (),
        acquisition: str | None = None,
        beta: float | None = None,
    ) -> Surface:
        """The acquisition function (of the settings, or the one named) under these posteriors, within limits.

        While no trial is feasible it is the chance to be.
        """
        acquisition = self.acquisition if acquisition is None else acquisition
        best = self._incumbent(posteriors)
        if best is None:
            return feasibility_surface(posteriors, limits)
        beta = self.beta() if beta is None else beta
        return surface(acquisition, posteriors, beta=beta, best=best, weights=weights(limits))

    @property
    def pending(self) -> Pending:
        """Evaluations under way beside this one."""
        return self.history.pending_before(self.slot.number)

    def _incumbent(self, posteriors: tuple[Posterior, ...]) -> float | None:
        """The value to improve on: the best observed one, or with noise the best of what the model takes them for.

        A lucky draw of the noise is not something to be beaten. Under
        constraints only feasible trials count; None where there is none.
        """
        y, feasible = self.data.y, self.feasible
        if not feasible.any():
            return None
        if self.model_used.noise == "none":
            return float(y[feasible].max())
        rows = [self._rows(posterior) for posterior in posteriors]
        smoothed = [p.smoothed[: len(at)][feasible[at]].max() for p, at in zip(posteriors, rows, strict=True)]
        return float(np.mean(smoothed))

    def best_observed(self, posterior: Posterior) -> Array:
        """The feasible point with the largest posterior mean: noise may have made another one look better.

        Where none is feasible, the one that is the likeliest to be.
        """
        data = posterior.data
        if not self.feasible.any():
            return np.asarray(data.X[int(np.argmax(log_chance(self.limits, data.X)))])
        feasible = self.feasible[self._rows(posterior)]
        smoothed = np.where(feasible, posterior.smoothed, -np.inf)
        return np.asarray(data.X[int(np.argmax(smoothed))])

    def ucb_maximiser(self) -> Callable[[Posterior], Array]:
        """Posterior -> UCB point, for the estimators that need to look ahead."""
        return lambda posterior: self.best_point((posterior,), "ucb")

    def explored(self) -> Explored:
        """What the maximiser needs to know of the search so far."""
        data = self.data
        worth = data.y
        if self.limits and len(data):
            worth = np.where(self.feasible, worth, -np.inf) if self.feasible.any() else log_chance(self.limits, data.X)
        return self.explored_around(leading(self.history.space, data.X[np.argsort(-worth, kind="stable")], LEADERS))

    def explored_around(self, leaders: Array | None = None) -> Explored:
        """The same with these points as leaders."""
        # Failed trials too: a deterministic objective would fail there again.
        exact = self.settings.deterministic or self.history.noiseless
        tried = [t.x for t in self.history.trials if t.x is not None and t.state != "abandoned"]
        taken = tried if exact else []
        empty = np.empty((0, self.history.space.domain.dimension))
        return Explored(
            self.history.space, empty if leaders is None else leaders, np.array(taken).reshape(-1, empty.shape[1])
        )
