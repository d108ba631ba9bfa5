"""What an estimator is, what it returns, what it says when it could not do its work, and the `Model` it belongs to."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Literal

from uhebo.gp.data import Data, Theta
from uhebo.gp.kernels import MATERN52, Kernel, named_kernel
from uhebo.gp.posterior import Posterior
from uhebo.gp.priors import Prior, named_prior
from uhebo.types import Array, Rng

EstimatorName = Literal["mle", "map", "consistent", "hmc"]
"""Those that are there from the start; `uhebo.estimate.register` adds others."""
NoiseTreatment = Literal["estimated", "none"]
Reading = Literal["observed", "distinct", "drawn"]
"""Pairs of the consistent loss: `uhebo.estimate.consistent` says which."""
DEFAULT_READING: Reading = "distinct"
"""Best over the paper's functions without noise and with 5 and 10 % of it (`results/readings`): without noise
`observed` is a little ahead, with noise it is far behind."""
OPTIONS = ("starts", "tolerance", "block_size", "reading")
"""Arguments of an estimator beside those that every one has: fresh starts of its climb, nats it may stop short of the
maximum, pairs in a block of a composite likelihood, and the reading of the consistent loss."""


class Failure(str, Enum):
    """Why a fit returned a fixed, moderate theta instead of an estimate; as a string, its name in the log."""

    cause: str
    remedy: str

    def __new__(cls, name: str, cause: str, remedy: str) -> Failure:
        member = str.__new__(cls, name)
        member._value_, member.cause, member.remedy = name, cause, remedy
        return member

    __str__ = str.__str__
    NO_DATA = "no data", "no trial had ended with a value yet", "the model starts with the first one"
    NO_LIKELIHOOD = (
        "moderate theta",
        "no hyperparameters tried gave a covariance matrix with a Cholesky factor",
        "remove repeated points with different values, or use a prior with a higher floor of the noise",
    )


@dataclass(frozen=True)
class Fit:
    """One theta, or several (HMC), the posteriors under them, and how the fit went."""

    estimator: str
    prior: str
    data: Data
    kernel: Kernel
    thetas: tuple[Theta, ...]
    log_posterior: float = math.nan
    """Value of the function maximised, at the theta returned (the best one for HMC); NaN if nothing was maximised."""
    converged: bool = True
    starts: int = 0
    evaluations: int = 0
    failures: int = 0
    """Evaluations whose covariance matrix had no Cholesky factor."""
    fallback: Failure | None = None
    """Why theta is the moderate one; None where it was fitted."""
    extra: Mapping[str, float] = field(default_factory=dict)
    """Figures of one estimator alone: acceptance and effective sample size, or the scaling."""
    variances: Array | None = field(default=None, repr=False)
    """Noise of each value beside theta's; None where there is none."""

    @cached_property
    def posteriors(self) -> tuple[Posterior, ...]:
        """`data` under each theta: worked out when first asked for, because it is O(n³) where the fit may be less."""
        return tuple(Posterior.of(self.data, theta, self.kernel, self.variances) for theta in self.thetas)

    @property
    def posterior(self) -> Posterior:
        return self.posteriors[0]

    @property
    def theta(self) -> Theta:
        return self.thetas[0]

    @property
    def jitter(self) -> float:
        return max(posterior.jitter for posterior in self.posteriors)


@dataclass(frozen=True)
class Estimator:
    """A way from data to theta: a name and a plain function `run(data, *, kernel, prior, rng, warm) -> Fit`."""

    name: str
    run: Callable[..., Fit]
    takes: frozenset[str] = frozenset()
    """Which of `OPTIONS` the function has as arguments too."""

    @classmethod
    def of(cls, name: str, run: Callable[..., Fit]) -> Estimator:
        """With the abilities that the signature of `run` shows."""
        parameters = inspect.signature(run).parameters
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            return cls(name, run, frozenset(OPTIONS))
        return cls(name, run, frozenset(OPTIONS) & parameters.keys())

    @property
    def climbs(self) -> bool:
        """Whether it maximises a function from given starts to a given tolerance."""
        return {"starts", "tolerance"} <= self.takes

    def __call__(
        self,
        data: Data,
        *,
        kernel: str | Kernel = MATERN52,
        prior: str | Prior = "paper",
        rng: Rng,
        warm: Theta | None = None,
        starts: int | None = None,
        tolerance: float | None = None,
        block_size: int | None = None,
        reading: Reading | None = None,
    ) -> Fit:
        """Run it; an option that it does not take is left out, one that is None is left to its own default."""
        given = {"starts": starts, "tolerance": tolerance, "block_size": block_size, "reading": reading}
        options = {name: value for name, value in given.items() if value is not None and name in self.takes}
        kernel, prior = named_kernel(kernel), named_prior(prior, data.dimension)
        fit = self.run(data, kernel=kernel, prior=prior, rng=rng, warm=warm, **options)
        return fit if fit.estimator == self.name else replace(fit, estimator=self.name)


@dataclass(frozen=True)
class Model:
    """What a method believes in: how theta is estimated, under which prior and kernel, and from which values."""

    estimator: str = "map"
    """Name of an estimator (`uhebo.estimate.ESTIMATORS`)."""
    prior: str | Prior = "paper"
    kernel: Kernel = MATERN52
    warped: bool = False
    """Whether values are warped towards a normal distribution before they are modelled (same order, same best)."""
    warps_several: tuple[bool, ...] = (False, True)
    """The same where there are several objectives: in turn, two suggestions each."""
    noise: NoiseTreatment = "estimated"
    """"none": the objective is deterministic, so the best value observed is what there is to improve on."""
    exact: bool = False
    """Whether theta is fitted to all data, for every suggestion, however many observations there are."""
    reading: Reading = DEFAULT_READING
    """Reading of the consistent loss, where theta or a second opinion is estimated by it."""

    def prior_for(self, dimension: int) -> Prior:
        """The prior of a space with so many parameters."""
        return named_prior(self.prior, dimension)

    def of_several(self, turn: int) -> Model:
        """The model of a study with several objectives, at this turn."""
        return replace(self, warped=self.warped and self.warps_several[turn % len(self.warps_several)])

    def by(self, estimator: str) -> Model:
        """The same model with theta by another estimator: a second opinion."""
        return replace(self, estimator=estimator)
