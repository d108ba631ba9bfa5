"""The consistent loss as a GPyTorch marginal log likelihood.

M ≥ n points x' are drawn uniformly in the unit cube, and each has its nearest training point x̂'; the value is the log
marginal likelihood of pairs made of them under the model's own mean, kernel and noise, plus a log prior:

    ( log N(y(x̂'); m(x), K(x, x) + s2 I) + log p(θ) ) / number of pairs

with x = x̂' or x = x' by the reading (`uhebo.estimate.consistent`). GPyTorch divides every marginal log likelihood by
the number of points, so this one is divided by that of the pairs; times it, it is the value of
`uhebo.estimate.consistent_estimate` for the same points, labels, prior, kernel and θ.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from botorch.fit import fit_gpytorch_mll
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import ScaleKernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood

from uhebo import checks
from uhebo.errors import InvalidInputError
from uhebo.estimate import DEFAULT_READING, READINGS, Reading
from uhebo.gp import Data, Domain, Prior, named_prior
from uhebo.gp.priors import Density
from uhebo.integrations.botorch.model import check_in_cube


class ConsistentMarginalLogLikelihood(ExactMarginalLogLikelihood):
    """The consistent loss for a `SingleTaskGP` (or another exact GP), to be given to `fit_gpytorch_mll`.

    The points x' are drawn once, here: an optimiser needs the same function at every call. Make a new object for every
    fit. They live in the unit cube of the model's inputs after its input transform, so use `Normalize` with the bounds
    of the search space, or train on inputs that are in the unit cube already.

    Args:
        likelihood: the model's Gaussian likelihood, with one noise for all points or with given ones.
        model: an exact GP; with several outputs they share their inputs.
        prior: None for the priors registered with the model, or one of uhebo's by name or value ("paper" is the
            paper's). A uhebo prior is a density of log θ, and covers the lengthscales, the output scale of a
            `ScaleKernel` and the noise.
        pseudo_points: M, at least n; default 2n.
        seed: of the draw of x'; None for a new draw each time.
        reading: "observed", "distinct" or "drawn".

    Attributes:
        pseudo_inputs: inputs of the pairs without repetition: x', (M, d), or the nearest training points.
        nearest: row of the training point that each of them has its label from.
        copies: how many times each stands in the loss.

    Example:
        >>> mll = ConsistentMarginalLogLikelihood(model.likelihood, model, seed=0)  # doctest: +SKIP
        >>> fit_gpytorch_mll(mll)  # doctest: +SKIP
    """

    def __init__(
        self,
        likelihood: Any,
        model: Any,
        *,
        prior: str | Prior | None = None,
        pseudo_points: int | None = None,
        seed: int | None = None,
        reading: Reading = DEFAULT_READING,
    ) -> None:
        super().__init__(likelihood, model)
        checks.choice("reading", reading, READINGS)
        inputs = _inputs(model)
        count, dimension = inputs.shape
        self.prior = None if prior is None else named_prior(prior, dimension)
        points = 2 * count if pseudo_points is None else pseudo_points
        checks.integer("pseudo_points", points, count, also=", the number of observations: the loss needs M >= n")
        # Labels are row numbers, so that the pairs say which training point each has its label from.
        observed = Data(inputs.cpu().double().numpy(), np.arange(float(count)), Domain.cube(dimension), 0.0, 1.0)
        pairs = READINGS[reading](observed, points, np.random.default_rng(seed))
        copies = np.ones(len(pairs.y)) if pairs.copies is None else pairs.copies
        self.register_buffer("pseudo_inputs", torch.from_numpy(pairs.X).to(inputs))
        self.register_buffer("nearest", torch.from_numpy(pairs.y.astype(np.int64)).to(inputs.device))
        self.register_buffer("copies", torch.from_numpy(copies).to(inputs))

    def forward(self, function_dist: Any, target: Any, *params: Any, **kwargs: Any) -> Any:  # noqa: ARG002
        """The loss with labels from `target`; the distribution at the training inputs is not what is scored.

        k copies of a pair are one with noise s2/k, and what `uhebo.gp.likelihood` says beside.
        """
        at, copies = self.pseudo_inputs, self.copies
        latent = MultivariateNormal(self.model.mean_module(at), self.model.covar_module(at))
        noise = self.likelihood.noise
        if isinstance(self.likelihood, FixedNoiseGaussianLikelihood):
            noise = noise[..., self.nearest]
        noisy = MultivariateNormal(latent.mean, latent.lazy_covariance_matrix.add_diagonal(noise / copies))
        value = noisy.log_prob(target[..., self.nearest])
        value = value - 0.5 * ((copies - 1) * (2 * math.pi * noise).log() + copies.log()).sum(dim=-1)
        if self.prior is None:
            value = self._add_other_terms(value, params)
        else:
            for parameters, density in self._densities(self.prior):
                log_prior = _LogDensity.apply(parameters.log(), density)
                value = value + log_prior.reshape(*value.shape, -1).sum(dim=-1)
        return value / self.copies.sum()

    def _densities(self, prior: Prior) -> Iterator[tuple[Any, Density]]:
        """(parameters, density) for each part of θ that the model has."""
        kernel = self.model.covar_module
        if isinstance(kernel, ScaleKernel):
            yield kernel.outputscale, prior.signal
            kernel = kernel.base_kernel
        if getattr(kernel, "lengthscale", None) is None:
            raise InvalidInputError(
                f"a uhebo prior needs lengthscales and {type(kernel).__name__} has none; use a Matern or RBF kernel, "
                "alone or in a ScaleKernel, or prior=None for the model's own priors"
            )
        yield kernel.lengthscale, prior.lengthscale
        if not isinstance(self.likelihood, FixedNoiseGaussianLikelihood):
            yield self.likelihood.noise, prior.noise


class _LogDensity(torch.autograd.Function):
    """A density of uhebo at every entry of a tensor, with the derivative it comes with."""

    @staticmethod
    def forward(ctx: Any, u: Any, density: Density) -> Any:
        value, slope = density(u.detach().cpu().double().numpy())
        ctx.save_for_backward(torch.as_tensor(slope).to(u))
        return torch.as_tensor(value).to(u)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple[Any, None]:
        (slope,) = ctx.saved_tensors
        return gradient * slope, None


def fit_consistent(
    model: Any,
    *,
    prior: str | Prior | None = None,
    pseudo_points: int | None = None,
    seed: int | None = None,
    reading: Reading = DEFAULT_READING,
    **options: Any,
) -> Any:
    """Fit an existing `SingleTaskGP` by the consistent loss, in place, and return it.

    `options` go to `botorch.fit_gpytorch_mll`; the others are those of `ConsistentMarginalLogLikelihood`.
    """
    mll = ConsistentMarginalLogLikelihood(
        model.likelihood, model, prior=prior, pseudo_points=pseudo_points, seed=seed, reading=reading
    )
    fit_gpytorch_mll(mll, **options)
    return model


def _inputs(model: Any) -> Any:
    """Training inputs (n, d) as the kernel sees them, i.e. after the input transform."""
    inputs = model.train_inputs[0]
    if model.training and hasattr(model, "transform_inputs"):  # in evaluation mode BoTorch stores them transformed
        inputs = model.transform_inputs(inputs)
    inputs = inputs.detach()
    first = inputs.reshape(-1, *inputs.shape[-2:])[0]
    if not bool((inputs == first).all()):
        raise InvalidInputError("the batches of this model have different inputs; fit one model for each")
    if not len(first):
        raise InvalidInputError("the model has no training data; the consistent loss needs at least one observation")
    remedy = "give the model input_transform=Normalize(d, bounds=...) with the bounds of the search space"
    check_in_cube(first, f"{remedy}, or scale the inputs")
    return first
