"""Candidates for the default, by name: `auto` with one thing another way, and one left out for each ingredient.

`python -m uhebo_experiments.benchmarks.tuning` compares them. What wins there moves into `uhebo.methods.auto`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import logsumexp

from uhebo.acquire.functions import Scalar, Surface, log_ei, log_h
from uhebo.acquire.limits import Limits, weights
from uhebo.estimate import Fit
from uhebo.gp import Posterior
from uhebo.gp.priors import PRIORS, LogNormal, Prior
from uhebo.methods import Proposal, Step
from uhebo.methods.auto import NOTHING, RECIPE, Recipe, auto, is_stuck
from uhebo.methods.settings import Design
from uhebo.types import Array
from uhebo_experiments.benchmarks.candidate_models import (
    DeviationOfLateMembers,
    LateMembers,
    ManyByEvidence,
    NoiseByEvidence,
    WideStarts,
)
from uhebo_experiments.benchmarks.candidate_steps import AveragedThetas, Replicating, TrustRegion, WarpByEvidence
from uhebo_experiments.benchmarks.lens import LinearTerm, WarpedInputs

DEFAULT, AGAIN = "auto", "auto, another seed"
RIVALS, DRAWS, INCUMBENTS = 24, 64, 8
"""Points that may be the best one, joint draws of their values, and quantiles of the largest that are kept."""


@dataclass(frozen=True)
class Candidate:
    """A recipe, and another kind of step where it needs one."""

    recipe: Recipe = RECIPE
    step: type[Step] = Step
    design: Design = "spread"
    shift: int = 0
    """Added to the seed of the sampler."""
    middle: bool = False
    """Whether the first point is the middle of the space."""

    def propose(self, step: Step) -> Proposal:
        return auto(self.step(step.history, step.settings, step.slot), self.recipe)


class ObservedIncumbent(Step):
    """A step that improves on the best observed value, a lucky draw of the noise or not."""

    def _incumbent(self, posteriors: tuple[Posterior, ...]) -> float | None:  # noqa: ARG002
        return float(self.data.y[self.feasible].max()) if self.feasible.any() else None


class NoisyImprovement(Step):
    """A step whose expected improvement is over the best of the values as they may be: LogEI, averaged over draws of
    max_i f(x_i). (Letham et al. 2019 draw f(x) with them; here they are independent of it.)"""

    def surface(
        self,
        posteriors: tuple[Posterior, ...],
        limits: Limits = (),
        acquisition: str | None = None,
        beta: float | None = None,
    ) -> Surface:
        wanted = self.acquisition if acquisition is None else acquisition
        if wanted != "log-ei" or len(posteriors) > 1 or not self.feasible.any():
            return super().surface(posteriors, limits, acquisition, beta)
        return Surface(posteriors, log_noisy_ei(self.incumbents(posteriors[0])), True, weights(limits))

    def incumbents(self, posterior: Posterior) -> Array:
        """Quantiles of the largest value there is among the points tried."""
        rows = np.flatnonzero(self.feasible)
        rivals = rows[np.argsort(-posterior.smoothed[rows], kind="stable")[:RIVALS]]
        drawn = posterior.sample(posterior.data.X[rivals], self.rng("arm"), DRAWS)
        return np.asarray(np.quantile(drawn.max(axis=1), (np.arange(INCUMBENTS) + 0.5) / INCUMBENTS))


def log_noisy_ei(bests: Array) -> Scalar:
    """log of the mean over `bests` of the expected improvement."""
    each = [log_ei(float(best)) for best in bests]

    def value(mean: Array, deviation: Array) -> tuple[Array, Array, Array]:
        found = [one(mean, deviation) for one in each]
        logs = np.array([log for log, _, _ in found])
        total = logsumexp(logs, axis=0)
        shares = np.exp(logs - total)
        by_mean, by_deviation = (np.array(slopes) for slopes in zip(*((m, d) for _, m, d in found), strict=True))
        return total - math.log(len(each)), (shares * by_mean).sum(axis=0), (shares * by_deviation).sum(axis=0)

    return value


class InTurn(Step):
    """A step that exploits by LogEI and by UCB in turn."""

    @property
    def acquisition(self) -> str:
        return "ucb" if self.slot.t % 4 == 1 else super().acquisition


def promises_kept(step: Step, fit: Fit, patience: int) -> bool:
    """A gate from one-step-ahead predictions: explore where improvements were promised and none came, or none is
    promised any more.

    Under one theta the i-th value is predicted by those before it with the error w_i = (L⁻¹ y)_i, in deviations of
    L_ii: both are in the posterior. Promised is the expected improvement that these predictions had.
    """
    y = step.history.in_order(step.data.y)
    posterior, count = fit.posterior, len(step.data)
    if len(y) != count or count <= patience + 2:
        return is_stuck(y, patience)
    recent = slice(count - patience, count)
    spread = posterior.factor.diagonal()[recent]
    # What was known of the value, less its noise, before it came.
    mean = posterior.data.y[recent] - posterior.whitened[recent] * spread
    latent = np.sqrt(np.maximum(spread**2 - posterior.theta.s2, 1e-12))
    before = np.maximum.accumulate(posterior.smoothed)[count - patience - 1 : count - 1]
    promised = float((np.exp(log_h((mean - before) / latent)[0]) * latent).sum())
    came = float(np.maximum(posterior.smoothed[recent] - before, 0.0).sum())
    return came <= NOTHING or came < 0.1 * promised


def moderate(dimension: int, noise: LogNormal | None = None) -> Prior:
    """`auto`'s prior with log-normal lengthscales around 0.5 where it has a flat density, up to ten parameters."""
    prior = PRIORS["auto"](dimension)
    if prior.name == "precise":
        prior = replace(prior, name="moderate", lengthscale=LogNormal(math.log(0.5), 0.8))
    return prior if noise is None else replace(prior, name="moderate, open", noise=noise)


def open_noise(dimension: int) -> Prior:
    """`auto`'s prior with a noise that may as well be there as not."""
    return replace(PRIORS["auto"](dimension), name="open", noise=OPEN)


OPEN = LogNormal(-6.0, 3.0)
OWN: dict[str, Callable[[int], Prior]] = {
    "moderate": moderate,
    "open": open_noise,
    "moderate, open": partial(moderate, noise=OPEN),
}


@contextmanager
def own_priors() -> Iterator[None]:
    """The candidates' priors by name, for as long as one of them runs."""
    PRIORS.update(OWN)
    try:
        yield
    finally:
        for name in OWN:
            PRIORS.pop(name, None)


def _with_prior(name: str) -> Recipe:
    return replace(RECIPE, model=replace(RECIPE.model, prior=name))


CANDIDATES: dict[str, Candidate] = {
    DEFAULT: Candidate(),
    AGAIN: Candidate(shift=1_000_000),
    # Something another way.
    "lengthscales log-normal": Candidate(_with_prior("moderate")),
    "noise log-normal": Candidate(_with_prior("open")),
    "both log-normal": Candidate(_with_prior("moderate, open")),
    "noisy improvement": Candidate(step=NoisyImprovement),
    "noisy improvement, both log-normal": Candidate(_with_prior("moderate, open"), NoisyImprovement),
    "gate from promises": Candidate(replace(RECIPE, gate=promises_kept)),
    "LogEI and UCB in turn": Candidate(step=InTurn),
    "uniform design": Candidate(design="uniform"),
    "middle first": Candidate(middle=True),
    "UCB for late members": Candidate(step=LateMembers),
    "deviation for late members": Candidate(step=DeviationOfLateMembers),
    "noise by evidence": Candidate(step=NoiseByEvidence),
    "prior by evidence above ten parameters": Candidate(step=ManyByEvidence),
    "starts that grow with the parameters": Candidate(step=WideStarts),
    "reading distinct": Candidate(replace(RECIPE, model=replace(RECIPE.model, reading="distinct"))),
    "reading observed": Candidate(replace(RECIPE, model=replace(RECIPE.model, reading="observed"))),
    "averaged over thetas": Candidate(step=AveragedThetas),
    "values warped by evidence": Candidate(step=WarpByEvidence),
    "warped inputs": Candidate(step=WarpedInputs),
    "linear term": Candidate(step=LinearTerm),
    "best points again": Candidate(step=Replicating),
    "trust region above ten parameters": Candidate(step=TrustRegion),
    # Something left out.
    "never explores": Candidate(replace(RECIPE, turns=())),
    "no second opinion": Candidate(replace(RECIPE, turns=("gap", "line"))),
    "no gaps": Candidate(replace(RECIPE, turns=("opinion", "line"))),
    "no optimistic lines": Candidate(replace(RECIPE, turns=("opinion", "gap"))),
    "explores without being stuck": Candidate(replace(RECIPE, patience=0)),
    "no endgame": Candidate(replace(RECIPE, endgame=0.0)),
    "no random points": Candidate(replace(RECIPE, first_random=None)),
    "values not warped": Candidate(replace(RECIPE, model=replace(RECIPE.model, warped=False))),
    "prior of the paper": Candidate(_with_prior("paper")),
    "prior `precise` in any dimension": Candidate(_with_prior("precise")),
    "UCB instead of LogEI": Candidate(replace(RECIPE, acquisition="ucb")),
    "consistent instead of MAP": Candidate(replace(RECIPE, model=RECIPE.model.by("consistent"))),
    "incumbent by observed values": Candidate(step=ObservedIncumbent),
}
"""Name -> candidate; the default first."""
