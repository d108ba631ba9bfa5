"""`Belief`: one model fitted to one log. Whatever says something about a study's surrogate reads it.

A suggestion maximises an acquisition over it; a verdict, a picture, a prediction read the same object, so they speak of
the theta and the posterior that suggests. Each outcome has a GP of its own on shared inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhebo.acquire.limits import Limit, log_chance
from uhebo.belief.history import History, Outcome, Slot
from uhebo.belief.mixture import mixture_quantile
from uhebo.belief.units import Units
from uhebo.errors import InvalidInputError
from uhebo.estimate import Fit, Model, default_block_size, named_estimator
from uhebo.gp.data import Data, Theta
from uhebo.gp.posterior import Posterior
from uhebo.gp.priors import Prior
from uhebo.space import SearchSpace
from uhebo.types import Array, Rng

REFIT_PERIOD = 4
SMALL = 64
"""Number of observations up to which every fit has fresh starts. Above it only those of every `REFIT_PERIOD`-th pair of
iterations have; the others climb from the last theta alone. Pairs, so that a method which alternates gives both its
estimators a turn."""
LARGE = 512
"""Number of observations above which theta is refitted at growing intervals. Where there is no theta to keep, it is
that of a random sample of this size until a fit is due."""
TOLERANCE = 3e-2
"""Nats of log posterior a fit may stop short of: far below what the next observation changes."""
WARM_FRESH_STARTS = 2
"""Number of fresh starts beside a warm one."""


@dataclass(frozen=True)
class OutcomeBelief:
    """The GP of one outcome: theta, the posterior under it, and the way back to the user's units."""

    outcome: Outcome
    units: Units
    fit: Fit

    @property
    def data(self) -> Data:
        """What the GP was conditioned on, in its own units."""
        return self.fit.data

    @property
    def posteriors(self) -> tuple[Posterior, ...]:
        """One for each theta; several where the estimator samples them."""
        return self.fit.posteriors

    @property
    def posterior(self) -> Posterior:
        """The first of them; all there is, unless the estimator samples theta."""
        return self.fit.posterior

    def moments(self, rows: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the latent function in the GP's units, over all thetas."""
        means, variances = self._predictions(rows)
        return means.mean(axis=0), np.sqrt(variances.mean(axis=0) + means.var(axis=0))

    def _predictions(self, rows: Array) -> tuple[Array, Array]:
        """Means and variances of the latent function, one row per theta."""
        means, variances = zip(*(posterior.predict(rows) for posterior in self.posteriors), strict=True)
        return np.array(means), np.array(variances)

    def predict(self, rows: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the noise-free outcome in the user's units."""
        return self.units.moments(*self.moments(rows))

    def quantiles(self, rows: Array, levels: Sequence[float]) -> Array:
        """Quantiles of the noise-free outcome in the user's units, (levels, m)."""
        means, variances = self._predictions(rows)
        return self.told_quantiles(means, np.sqrt(variances), levels)

    def told_quantiles(self, means: Array, deviations: Array, levels: Sequence[float]) -> Array:
        """Quantiles in the user's units of equal mixtures of normals (thetas, m) in the GP's, (levels, m)."""
        # Where smaller is better, the order is reversed on the way to the user's units.
        oriented = [level if self.units.sign > 0 else 1.0 - level for level in levels]
        return np.array([self.units.told(mixture_quantile(means, deviations, level)) for level in oriented])

    @cached_property
    def smoothed(self) -> Array:
        """Posterior mean at the observed points, y - s2 α averaged over thetas: the values without their noise."""
        return np.asarray(np.mean([p.data.y - p.theta.s2 * p.alpha for p in self.posteriors], axis=0))

    @property
    def limit(self) -> Limit:
        """A value of 0, the threshold of constraints, as the outcome's GP sees it."""
        return Limit(self.posteriors, float(self.units.modelled(0.0)))

    def leave_one_out(self) -> tuple[Array, Array]:
        """Means and deviations (noise included) with which each observation is predicted from the others, one row per
        theta, (thetas, n), in the GP's units."""
        found = [posterior.leave_one_out() for posterior in self.posteriors]
        return np.array([mean for mean, _, _ in found]), np.sqrt([variance for _, variance, _ in found])


@dataclass(frozen=True)
class Belief:
    """One fitted model of one study. Predictions are in the user's units."""

    history: History = field(repr=False)
    model: Model
    outcomes: tuple[OutcomeBelief, ...] = field(repr=False)
    """One for each outcome of the history, in its order; the first is the objective."""

    @classmethod
    def of(cls, history: History, model: Model, slot: Slot, rng: Rng) -> Belief:
        """Fit the model to the log as it is when trial `slot.number` is to be suggested."""
        outcomes = range(len(history.outcomes))
        return cls(history, model, tuple(outcome_belief(history, outcome, model, slot, rng) for outcome in outcomes))

    @property
    def objective(self) -> OutcomeBelief:
        return self.outcomes[0]

    @property
    def objectives(self) -> tuple[OutcomeBelief, ...]:
        """The GPs of all objectives, where there are several."""
        return self.outcomes[: self.history.objectives]

    def only(self, objective: str | int) -> Belief:
        """What is believed of one of several objectives, by its name or number: the same fit."""
        index, several = self.history.objective_index(objective), self.history.objectives
        outcomes = (self.outcomes[index], *self.outcomes[several:])
        return replace(self, history=self.history.only(index), outcomes=outcomes)

    @property
    def constraints(self) -> dict[str, OutcomeBelief]:
        """The GP of each constraint, by name; its values are the user's, and 0 or less is feasible."""
        return {found.outcome.name: found for found in self.outcomes if found.outcome.role == "constraint"}

    @property
    def space(self) -> SearchSpace:
        return self.history.space

    @property
    def names(self) -> tuple[str, ...]:
        """Parameters in the model."""
        return self.space.names

    @property
    def theta(self) -> Theta:
        """Hyperparameters of the objective: lengthscales as shares of each range, variances in the GP's units."""
        return self.objective.fit.theta

    @property
    def posterior(self) -> Posterior:
        """Posterior of the objective in the GP's units; the first, where theta is sampled."""
        return self.objective.posterior

    @cached_property
    def prior(self) -> Prior:
        return self.model.prior_for(self.space.domain.dimension)

    @cached_property
    def numbers(self) -> NDArray[np.intp]:
        """Numbers of the trials the model was fitted to, in order."""
        return np.array([trial.number for trial in self.history.finished], dtype=np.intp)

    @cached_property
    def left_out(self) -> dict[str, int]:
        """Trials that ended and are not in the data, counted by reason."""
        ended = [trial for trial in self.history.trials if trial.state != "running"]
        reasons = {
            "no value": sum(trial.state == "failed" for trial in ended),
            "outside the space": sum(trial.state == "finished" and trial.x is None for trial in ended),
        }
        return {reason: number for reason, number in reasons.items() if number}

    def predict(self, params: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> tuple[Any, Any]:
        """Mean and standard deviation of the objective (noise left out) at one point, or arrays of them at several."""
        self._check_single()
        rows, single = self._rows(params)
        mean, deviation = self.objective.predict(rows)
        return (float(mean[0]), float(deviation[0])) if single else (mean, deviation)

    def quantiles(
        self, params: Mapping[str, Any] | Sequence[Mapping[str, Any]], levels: Sequence[float] = (0.05, 0.5, 0.95)
    ) -> Array:
        """Quantiles of the objective (noise left out): one for each level, or (levels, points) at several points."""
        if not all(0.0 < level < 1.0 for level in levels):
            raise InvalidInputError(f"levels is {tuple(levels)!r}; expected probabilities between 0 and 1")
        self._check_single()
        rows, single = self._rows(params)
        found = self.objective.quantiles(rows, levels)
        return found[:, 0] if single else found

    def feasibility(self, params: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Any:
        """Probability that all constraints are kept (noise left out), at one point or at several; 1 without any."""
        rows, single = self._rows(params)
        chance = np.exp(log_chance(tuple(found.limit for found in self.constraints.values()), rows))
        return float(chance[0]) if single else chance

    def _check_single(self) -> None:
        if self.history.objectives > 1:
            names = ", ".join(repr(found.outcome.name) for found in self.objectives)
            raise InvalidInputError(
                f"there are several objectives ({names}); ask for one: belief.only(name).predict(…)"
            )

    def _rows(self, params: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> tuple[Array, bool]:
        single = isinstance(params, Mapping)
        points = [params] if isinstance(params, Mapping) else list(params)
        if not all(isinstance(point, Mapping) for point in points):
            raise InvalidInputError(f"params is {params!r}; expected {{name: value}}, or a list of such points")
        known = {*self.space.distributions, *self.space.others}
        unknown = sorted({str(name) for point in points for name in point} - known)
        if unknown:
            raise InvalidInputError(
                f"there is no parameter {unknown[0]!r}; the parameters are {', '.join(sorted(known))}"
            )
        return self.space.encode_many(points), single


def outcome_belief(history: History, outcome: int, model: Model, slot: Slot, rng: Rng) -> OutcomeBelief:
    """The model fitted to one outcome of the log, with random numbers of its own: adding one changes no other."""
    units, data = history.modelled(outcome, warped=model.warped)
    if outcome:
        rng = rng.spawn(outcome)[-1]
    return OutcomeBelief(history.outcomes[outcome], units, fit_theta(history, data, model, slot, rng, outcome))


def fit_theta(history: History, data: Data, model: Model, slot: Slot, rng: Rng, outcome: int = 0) -> Fit:
    """Estimate theta on `data`, from the last theta this estimator gave and from fresh starts.

    One more observation changes theta less and less, and a fit is O(n³) many times over. So theta is refitted at
    growing intervals, and in between the last one is kept. All of it follows from the log: whoever asks, gets the same.
    """
    estimator = named_estimator(model.estimator)
    prior = model.prior_for(data.dimension)
    warm = warm_theta(history, outcome, model.estimator)
    sample = data
    if len(data) > LARGE and estimator.climbs and not model.exact:
        if warm is None:
            sample = data.subset(rng.choice(len(data), LARGE, replace=False))
        elif slot.pair % (2 * len(data) // LARGE) != 0:
            return Fit(model.estimator, prior.name, data, model.kernel, (warm,))
    # A constraint's theta matters near its boundary alone, and there may be several: fresh starts are rarer.
    fresh = (len(data) <= SMALL and not outcome) or slot.pair % REFIT_PERIOD == 0
    starts = None if warm is None else WARM_FRESH_STARTS if fresh else 0
    fit = estimator(
        sample,
        kernel=model.kernel,
        prior=prior,
        rng=rng,
        warm=warm,
        starts=starts,
        tolerance=TOLERANCE,
        block_size=None if model.exact else default_block_size(len(data)),
        reading=model.reading,
    )
    return fit if sample is data else replace(fit, data=data)


def warm_theta(history: History, outcome: int, estimator: str) -> Theta | None:
    """The theta recorded last for this outcome."""
    if not outcome:
        return last_theta(history, estimator)
    if outcome < history.objectives:
        return last_of_several(history, "objective_theta", outcome - 1, history.objectives - 1, estimator)
    others = len(history.outcomes) - history.objectives
    return last_of_several(history, "constraint_theta", outcome - history.objectives, others)


def last_theta(history: History, estimator: str) -> Theta | None:
    """The theta that this estimator recorded last; None where the number of parameters has changed since."""
    for trial in reversed(history.trials):
        recorded = trial.tags.get("theta")
        if recorded is not None and trial.tags.get("estimator") == estimator:
            if len(recorded) != history.space.domain.dimension + 2:
                return None
            return Theta.from_log(np.array(recorded, dtype=np.float64))
    return None


def last_of_several(history: History, tag: str, index: int, count: int, estimator: str | None = None) -> Theta | None:
    """One of the thetas recorded last under `tag`; None where there were more or fewer of them, or other parameters."""
    for trial in reversed(history.trials):
        recorded = trial.tags.get(tag)
        if recorded is not None and estimator in (None, trial.tags.get("estimator")):
            shape = {len(theta) for theta in recorded}
            if len(recorded) != count or shape != {history.space.domain.dimension + 2}:
                return None
            return Theta.from_log(np.array(recorded[index], dtype=np.float64))
    return None
