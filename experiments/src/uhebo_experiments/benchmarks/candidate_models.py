"""Steps of candidates for the default: priors chosen by evidence, fits that begin elsewhere, batches that explore."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from unittest.mock import patch

import numpy as np

from uhebo.belief.belief import outcome_belief
from uhebo.estimate import Fit, Model, fit
from uhebo.methods import Step
from uhebo.types import Array, Rng

MANY = 10
"""Parameters above which `auto` has a prior of its own."""
FEW = 4
"""Parameters up to which fits begin where the default's do."""
LATE = 4
"""Evaluations under way from which on a proposal is a late member of a batch."""
EXPLORING = 1e3
"""Multiplier of the deviation in UCB that leaves the mean no say."""


class PriorByEvidence(Step):
    """A step whose prior is the one under which the values are predicted best from each other."""

    @property
    def priors(self) -> tuple[str, ...]:
        """Priors to choose from; the default's where there is no choice."""
        return ()

    @cached_property
    def model_used(self) -> Model:
        model = super().model_used
        if self.history.objectives > 1 or not self.history.finished or not self.priors:
            return model
        return max((replace(model, prior=name) for name in self.priors), key=self.evidence)

    def evidence(self, model: Model) -> float:
        """Sum of the log densities of the values, each predicted from the others, under MAP."""
        found = outcome_belief(self.history, 0, model.by("map"), self.slot, self.rng("fit")).fit
        return float(found.posterior.leave_one_out()[2].sum())


class NoiseByEvidence(PriorByEvidence):
    """Almost no noise, or a noise that may as well be there as not."""

    @property
    def priors(self) -> tuple[str, ...]:
        return ("auto", "open")


class ManyByEvidence(PriorByEvidence):
    """Above ten parameters, one lengthscale shared by all or one each."""

    @property
    def priors(self) -> tuple[str, ...]:
        return ("shared-scale", "precise") if self.history.space.domain.dimension > MANY else ()


def wide_starts(dimension: int, count: int, rng: Rng) -> Array:
    """The starts of a fit with lengthscales that grow as the distances between points do, with the square root of the
    number of parameters."""
    starts = NARROW(dimension, count, rng)
    starts[:, :dimension] += 0.5 * math.log(max(dimension, FEW) / FEW)
    return np.asarray(starts)


NARROW = fit.fresh_starts


@contextmanager
def _starting_wide() -> Iterator[None]:
    with patch.object(fit, "fresh_starts", wide_starts):
        yield


class WideStarts(Step):
    """A step whose fits begin with `wide_starts`."""

    def fit(self, estimator: str) -> Fit:
        with _starting_wide():
            return super().fit(estimator)


class LateMembers(Step):
    """A step that goes by UCB, and so by the deviation too, while many evaluations are under way, every second time."""

    @property
    def is_late(self) -> bool:
        return len(self.pending.points) >= LATE and self.slot.number % 2 == 1

    @property
    def acquisition(self) -> str:
        return "ucb" if self.is_late else super().acquisition


class DeviationOfLateMembers(LateMembers):
    """The same by the deviation alone."""

    def beta(self) -> float:
        return EXPLORING if self.is_late else super().beta()
