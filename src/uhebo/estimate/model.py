"""`Model`: what a method believes in. The method owns it, and whoever speaks of the method's surrogate asks for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from uhebo.gp.kernels import MATERN52, Kernel
from uhebo.gp.priors import Prior, named_prior

NoiseTreatment = Literal["estimated", "none"]


@dataclass(frozen=True)
class Model:
    """How theta is estimated, under which prior and kernel, and from which values."""

    estimator: str = "map"
    """Name of an estimator (`uhebo.estimate.ESTIMATORS`)."""
    prior: str | Prior = "paper"
    kernel: Kernel = MATERN52
    warped: bool = False
    """Whether values are warped towards a normal distribution before they are modelled (same order, same best)."""
    noise: NoiseTreatment = "estimated"
    """"none": the objective is deterministic, so the best value observed is what there is to improve on."""
    exact: bool = False
    """Whether theta is fitted to all data, for every suggestion, however many observations there are."""

    def prior_for(self, dimension: int) -> Prior:
        """The prior of a space with so many parameters."""
        return named_prior(self.prior, dimension)

    def by(self, estimator: str) -> Model:
        """The same model with theta by another estimator: a second opinion."""
        return replace(self, estimator=estimator)
