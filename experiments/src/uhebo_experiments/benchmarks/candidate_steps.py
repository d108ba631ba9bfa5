"""Steps of candidates for the default that average over thetas, replicate points, or search a trust region."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from uhebo.acquire.limits import Limits
from uhebo.acquire.maximise import Explored, first_free
from uhebo.belief.belief import outcome_belief
from uhebo.estimate import Fit, Model
from uhebo.estimate.fit import log_posterior
from uhebo.gp import Posterior, Theta
from uhebo.gp.priors import Prior
from uhebo.methods import Proposal, Step
from uhebo.methods.auto import NOTHING
from uhebo.numerics.bfgs import minimise
from uhebo.types import Array, Rng

THETAS = 5
"""Draws of theta beside the MAP."""
PROBE = 1e-3
"""Step of log theta for second derivatives."""
LEAST_CURVATURE = 1.0
"""Floor of the curvature along any direction of log theta: draws are off by a factor of e at most, mostly."""
REPLICATED, EVERY, NOISE = 4, 4, 1e-2
"""Points that may be replicated, the best by the model; the steps between two of them; and the share of the variance
that is noise from which on they are."""
MANY = 10
"""Parameters above which there is a trust region."""
FIRST, LARGEST, SMALLEST = 0.8, 1.6, 0.5**7
"""Edge of the trust region at first, at most, and where it starts anew (Eriksson et al. 2019)."""
SUCCESSES = 3
"""Improvements in a row from which the region grows."""
POINTS, CLIMBERS = 1500, 6


def laplace(fit: Fit, prior: Prior, rng: Rng, count: int = THETAS) -> tuple[Theta, ...]:
    """Draws of theta from a normal distribution around the MAP with the curvature of the log posterior there, within
    the box of the prior."""
    target, low_high = log_posterior(fit.data, fit.kernel, prior), prior.bounds(fit.data.dimension)
    at = np.clip(fit.theta.to_log(), *low_high)
    values, vectors = np.linalg.eigh(curvature(lambda rows: target(rows)[1], at))
    scales = 1.0 / np.sqrt(np.maximum(values, LEAST_CURVATURE))
    drawn = at + (rng.standard_normal((count, len(at))) * scales) @ vectors.T
    return tuple(Theta.from_log(row) for row in np.clip(drawn, *low_high))


def curvature(gradient: Any, at: Array) -> Array:
    """Negative Hessian by central differences of the gradient; along an axis where there is none, no curvature."""
    steps = PROBE * np.eye(len(at))
    ahead, behind = gradient(at + steps), gradient(at - steps)
    hessian = -(ahead - behind) / (2.0 * PROBE)
    hessian = np.where(np.isfinite(hessian), hessian, 0.0)
    return np.asarray(0.5 * (hessian + hessian.T))


class AveragedThetas(Step):
    """A step that exploits by the mean over the MAP theta and draws around it."""

    def fit(self, estimator: str) -> Fit:
        fit = super().fit(estimator)
        if estimator != "map" or fit.fallback is not None:
            return fit
        drawn = laplace(fit, self.model_used.prior_for(fit.data.dimension), self.rng("arm"))
        return replace(fit, thetas=(*fit.thetas, *drawn))


class WarpByEvidence(Step):
    """A step whose values are warped only where that explains them better: by the likelihood of the values as told,
    under MAP of either."""

    @cached_property
    def model_used(self) -> Model:
        model = super().model_used
        if not model.warped or self.history.objectives > 1 or not self.history.finished:
            return model
        return max((model, replace(model, warped=False)), key=self.evidence)

    def evidence(self, model: Model) -> float:
        """log p(y), y standardised: that of the modelled values, and the derivative of the warp."""
        units, data = self.history.modelled(warped=model.warped)
        posterior = outcome_belief(self.history, 0, model.by("map"), self.slot, self.rng("fit")).fit.posterior
        found = -0.5 * float(data.y @ posterior.alpha) - float(np.log(posterior.factor.diagonal()).sum())
        if units.linear:
            return found
        slopes = units.warp.slope(self.history.observed(0).y) / units.warped_scale
        return found + float(np.log(slopes).sum())


class Replicating(Step):
    """A step that, where there is noise, evaluates every fourth time one of the best points again: the one of them that
    is known the least."""

    def model_from(self, fit: Fit, **tags: Any) -> Proposal:
        point = self.replicate(fit) if self.slot.t % EVERY == EVERY - 1 and not tags else None
        if point is None:
            return super().model_from(fit, **tags)
        return Proposal(point, {"role": "model", "again": True, **self.record(fit)})

    def replicate(self, fit: Fit) -> Array | None:
        """The point to be evaluated again; None where repeats tell nothing new."""
        posterior = fit.posterior
        rows = np.flatnonzero(self.feasible[self._rows(posterior)])
        quiet = fit.theta.s2 < NOISE * (fit.theta.s2 + fit.theta.v)
        if self.settings.deterministic or self.history.noiseless or quiet or not len(rows):
            return None
        order = rows[np.argsort(-posterior.smoothed[rows], kind="stable")]
        points = posterior.data.X[order]
        first = np.sort(np.unique(points, axis=0, return_index=True)[1])[:REPLICATED]
        return np.asarray(points[first][int(np.argmax(posterior.predict(points[first])[1]))])


def region_edge(y: Array, start: int, failures: int) -> float:
    """Edge of the trust region after these values, in order; the first `start` are the initial design.

    Twice as long after `SUCCESSES` improvements in a row, half after `failures` evaluations in a row without one;
    below `SMALLEST` it starts anew.
    """
    edge, good, bad = FIRST, 0, 0
    best = float(y[:start].max()) if start else -math.inf
    for value in y[start:]:
        better = bool(value > best + NOTHING)
        best = max(best, float(value))
        good, bad = (good + 1, 0) if better else (0, bad + 1)
        if good == SUCCESSES:
            edge, good = min(2.0 * edge, LARGEST), 0
        elif bad == failures:
            edge, bad = 0.5 * edge, 0
            edge = FIRST if edge < SMALLEST else edge
    return edge


class TrustRegion(Step):
    """A step that, with many parameters, maximises in a box around the best point: short where lengthscales are.

    Spaces with rules or conditions are searched as by the default.
    """

    def _maximise(
        self, acquisition: str, posteriors: tuple[Posterior, ...], explored: Explored, limits: Limits, rng: Rng
    ) -> Array:
        space, d = explored.space, explored.space.domain.dimension
        if d <= MANY or acquisition == "thompson" or space.rules or space.conditions or not len(explored.leaders):
            return super()._maximise(acquisition, posteriors, explored, limits, rng)
        surface = self.surface(posteriors, limits, acquisition)
        centre = self.best_observed(posteriors[0])
        low, high = self.box(centre, posteriors[0].theta.ell)
        drawn = low + rng.random((POINTS, d)) * (high - low)
        categories = np.asarray(space.domain.categories)
        drawn[:, categories > 0] = space.domain.rows(rng, POINTS)[:, categories > 0]
        # Of many columns only some move at once, or hardly a point would be near the centre (Regis & Shoemaker 2013).
        moved = rng.random((POINTS, d)) < min(1.0, 20.0 / d)
        points = space.snap(np.where(moved, drawn, centre))
        values = surface(points)
        still = (categories > 0) | (np.asarray(space.values) > 0)

        def descent(rows: Array) -> tuple[Array, Array]:
            value, gradient = surface.with_gradient(rows)
            return -value, np.where(still, 0.0, -gradient)

        climbers = points[np.argsort(-values, kind="stable")[:CLIMBERS]]
        climbed = minimise(
            descent,
            climbers,
            np.where(still, -np.inf, low),
            np.where(still, np.inf, high),
            max_rounds=40,
            first_step=0.05,
            max_step=0.3,
        ).x
        found = np.concatenate([space.snap(climbed), points])
        return first_free(found, np.concatenate([surface(found[: len(climbed)]), values]), explored)

    def box(self, centre: Array, ell: Array) -> tuple[Array, Array]:
        """Lower and upper ends of the region, whose edges have the geometric mean that the log says."""
        values = self.history.in_order(self.data.y)
        start = sum(trial.tags.get("role") == "initial" for trial in self.history.trials)
        edge = region_edge(values, min(start, len(values)), len(centre))
        scaled = np.exp(np.log(ell) - np.log(ell).mean())
        return np.clip(centre - 0.5 * edge * scaled, 0.0, 1.0), np.clip(centre + 0.5 * edge * scaled, 0.0, 1.0)
