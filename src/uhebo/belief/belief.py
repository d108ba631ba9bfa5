"""`Belief`: one model fitted to one log. Whatever says something about a study's surrogate reads it.

A suggestion maximises an acquisition over it; a verdict, a picture, a prediction read the same object, so they speak of
the theta and the posterior that suggests. Each outcome has a GP of its own on shared inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from uhebo import notebook
from uhebo.acquire.limits import Limit, at_least, log_chance, log_success_chance, success
from uhebo.belief.condense import condensed, condensed_rows
from uhebo.belief.failures import classifier
from uhebo.belief.fitting import fit_theta
from uhebo.belief.history import FAILING, History, Outcome, Slot
from uhebo.belief.mixture import mixture_quantile
from uhebo.belief.points import Points, points_of
from uhebo.belief.units import Units
from uhebo.checks import by_name
from uhebo.errors import InvalidInputError
from uhebo.estimate import Fit, Model
from uhebo.gp.data import Data, Theta
from uhebo.gp.posterior import Posterior
from uhebo.gp.priors import Prior
from uhebo.space import SearchSpace
from uhebo.types import Array, Rng


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

    def chance_above(self, rows: Array, level: float) -> Array:
        """Probability that the noise-free outcome is above `level` (GP's units, where larger is better)."""
        means, variances = self._predictions(rows)
        deviations = np.maximum(np.sqrt(variances), np.finfo(np.float64).tiny)
        return np.asarray(ndtr((means - level) / deviations).mean(axis=0))

    def told_quantiles(self, means: Array, deviations: Array, levels: Sequence[float]) -> Array:
        """Quantiles in the user's units of equal mixtures of normals (thetas, m) in the GP's, (levels, m)."""
        # Where smaller is better, the order is reversed on the way to the user's units.
        oriented = [level if self.units.sign > 0 else 1.0 - level for level in levels]
        return np.array([self.units.told(mixture_quantile(means, deviations, level)) for level in oriented])

    @cached_property
    def smoothed(self) -> Array:
        """Posterior mean at the observed points, averaged over thetas: the values without their noise."""
        return np.asarray(np.mean([posterior.smoothed for posterior in self.posteriors], axis=0))

    @property
    def limit(self) -> Limit:
        """What the outcome must reach: 0, the threshold of constraints; of failing, a fair chance of success."""
        if self.outcome.role == "failure":
            return success(self.posterior)
        return at_least(self.posteriors, float(self.units.modelled(0.0)))

    @property
    def condensed_limit(self) -> Limit:
        """The same by some of the observations, where there are many: those nearest to the threshold come first."""
        if self.outcome.role == "failure":
            return self.limit
        rows = condensed_rows(-np.abs(self.data.y - float(self.units.modelled(0.0))))
        return self.limit if rows is None else replace(self, fit=condensed(self.fit, rows)).limit

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

    def __repr__(self) -> str:
        model = self.model
        prior = model.prior if isinstance(model.prior, str) else model.prior.name
        return notebook.one_line(
            f"Belief of {len(self.history.finished)} trials in {', '.join(self.names)}\n{model.kernel.name} kernel\n"
            f"theta by {model.estimator} with the prior {prior}"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the model, and of each objective the lengthscales and the noise."""
        named = [found.outcome.name for found in self.objectives]
        thetas = [found.fit.theta for found in self.objectives]
        rows = [[f"lengthscale of {name}", *(t.ell[i] for t in thetas)] for i, name in enumerate(self.names)]
        rows.append(["noise", *(t.s2**0.5 for t in thetas)])
        note = "Lengthscales are shares of each range; the noise is in standard deviations of the values."
        body = notebook.table(["", *(named if len(named) > 1 else ["value"])], rows)
        return notebook.panel(repr(self), body, notebook.sentence(note))

    @property
    def objective(self) -> OutcomeBelief:
        return self.outcomes[0]

    @property
    def objectives(self) -> tuple[OutcomeBelief, ...]:
        """The GPs of all objectives, where there are several."""
        return self.outcomes[: self.history.objectives]

    def only(self, objective: str | int) -> Belief:
        """The model of one of several objectives, by its name or number: the same fit."""
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
        """Parameters in the model (those that can vary), in alphabetical order, which is that of its columns."""
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
            "no value": sum(trial.state in ("failed", "pruned", "abandoned") for trial in ended),
            "penalty": sum(trial.state == "penalised" for trial in ended),
            "outside the space": sum(trial.state == "finished" and trial.x is None for trial in ended),
        }
        return {reason: number for reason, number in reasons.items() if number}

    @by_name()
    def predict(self, params: Points) -> tuple[Any, Any]:
        """Mean and standard deviation of the objective (noise left out) at one point, or arrays of them at several.

        One point is {name: value}, or its values in the order of `names`. Several are a list of these, a data frame
        with a column for each parameter, or an array (n, d) with columns in the order of `names`.
        """
        self._check_single()
        rows, single = self._rows(params)
        mean, deviation = self.objective.predict(rows)
        return (float(mean[0]), float(deviation[0])) if single else (mean, deviation)

    def quantiles(self, params: Points, levels: Sequence[float] = (0.05, 0.5, 0.95)) -> Array:
        """Quantiles of the objective (noise left out): one for each level, or (levels, points) at several points."""
        if not isinstance(levels, Iterable) or not all(0.0 < level < 1.0 for level in levels):
            raise InvalidInputError(f"levels is {levels!r}; expected a list of probabilities between 0 and 1")
        self._check_single()
        rows, single = self._rows(params)
        found = self.objective.quantiles(rows, levels)
        return found[:, 0] if single else found

    def feasibility(self, params: Points) -> Any:
        """Probability that all constraints are kept (noise left out), at one point or at several; 1 without any."""
        rows, single = self._rows(params)
        chance = np.exp(log_chance(tuple(found.limit for found in self.constraints.values()), rows))
        return float(chance[0]) if single else chance

    def failure(self, params: Points) -> Any:
        """Probability that an evaluation fails, at one point or at several: by the place, if some fail more than
        others, or else the share of trials that did."""
        rows, single = self._rows(params)
        labels = self.outcomes[-1]
        if labels.outcome.role == "failure":
            chance = -np.expm1(log_success_chance(labels.posterior, rows))
        else:
            states = [trial.state for trial in self.history.trials if trial.state not in ("running", "abandoned")]
            chance = np.full(len(rows), sum(state in FAILING for state in states) / max(len(states), 1))
        return float(chance[0]) if single else chance

    def _check_single(self) -> None:
        if self.history.objectives > 1:
            names = ", ".join(repr(found.outcome.name) for found in self.objectives)
            raise InvalidInputError(
                f"there are several objectives ({names}); ask for one: belief.only(name).predict(…)"
            )

    def _rows(self, params: Points) -> tuple[Array, bool]:
        points, single = points_of(params, self.space)
        return self.space.encode_many(points), single


def outcome_belief(history: History, outcome: int, model: Model, slot: Slot, rng: Rng) -> OutcomeBelief:
    """The model fitted to one outcome of the log, with random numbers of its own: adding one changes no other."""
    if history.outcomes[outcome].role == "failure":
        return OutcomeBelief(history.outcomes[outcome], *classifier(history.observed(outcome)))
    units, data = history.modelled(outcome, warped=model.warped)
    if outcome:
        rng = rng.spawn(outcome)[-1]
    return OutcomeBelief(history.outcomes[outcome], units, fit_theta(history, data, model, slot, rng, outcome))
