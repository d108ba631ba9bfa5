"""The posterior of uhebo's engine as a BoTorch `Model`, with gradients, so that any BoTorch acquisition can use it."""

from typing import Any

import numpy as np
import torch
from botorch.models.model import FantasizeMixin, Model
from botorch.posteriors import GPyTorchPosterior
from gpytorch.distributions import MultivariateNormal
from linear_operator.utils.cholesky import psd_safe_cholesky

from uhebo.checks import choice
from uhebo.errors import InvalidInputError
from uhebo.estimate import DEFAULT_READING, READINGS, Reading, named_estimator
from uhebo.gp import Data, Kernel, Posterior, Prior

LARGEST = 1e150
"""Standard deviation of the targets; the square of a larger one is too close to the end of doubles, or beyond it."""
TINY = 1e-30
"""Least squared distance: the root has no derivative at 0, and the kernel's there is 0 anyway."""
SLACK = 1e-6
"""Distance by which single precision and a rounded transform may leave the unit cube."""


class UHEModel(Model, FantasizeMixin):
    """A fitted Gaussian process of uhebo as a BoTorch `Model`: inputs in the unit cube, predictions in the units of y.

    Larger y is better, as everywhere in BoTorch; for a study that is minimised the values have the other sign.
    Hyperparameters are fixed; a new fit is a new model. Categorical columns hold codes and have no gradient.

    Args:
        posterior: of the engine, e.g. `uhebo.estimate.consistent_estimate(data, rng=rng).posterior`, or
            `result.surrogate.posterior` of a finished search.

    Example:
        >>> model = UHEModel.fitted(train_X, train_Y, estimator="consistent", seed=0)  # doctest: +SKIP
        >>> point, value = optimize_acqf(LogExpectedImprovement(model, train_Y.max()), …)  # doctest: +SKIP
    """

    likelihood = None
    """BoTorch's fantasies look whether each observation has a noise of its own here; ours have one in common."""

    def __init__(self, posterior: Posterior) -> None:
        super().__init__()
        data, theta = posterior.data, posterior.theta
        self.kernel = posterior.kernel
        self.location, self.scale = data.location, data.scale
        if self.scale > LARGEST:
            raise InvalidInputError(
                f"train_Y has a standard deviation of {self.scale:.4g}, expected at most {LARGEST}, because BoTorch's "
                "models give variances, which would overflow; divide train_Y by a constant"
            )
        self.signal, self.jitter = theta.v, posterior.jitter
        self.noise = theta.s2 if data.noise is None else float(data.noise.grown(1).under(theta.s2)[-1])
        self.categorical = tuple(int(column) for column in data.domain.categorical)
        arrays = (data.X, theta.ell, posterior.factor, posterior.whitened)
        self._hold(*(torch.from_numpy(np.array(values, dtype=np.float64, order="C")) for values in arrays))

    def _hold(self, *tensors: Any) -> "UHEModel":
        """Keep the tensors where `to` finds them, and be ready to predict."""
        for name, values in zip(("train_X", "lengthscales", "factor", "whitened"), tensors, strict=True):
            self.register_buffer(name, values)
        self.eval()
        return self

    @classmethod
    def fitted(
        cls,
        train_X: Any,
        train_Y: Any,
        *,
        estimator: str = "consistent",
        kernel: str | Kernel = "matern52",
        prior: str | Prior = "paper",
        seed: int | None = None,
        reading: Reading = DEFAULT_READING,
    ) -> "UHEModel":
        """Fit hyperparameters with an estimator of uhebo to train_X (n, d) in the unit cube and train_Y (n,) or (n, 1).

        `reading` is that of the consistent loss. "hmc" gives several hyperparameters and is refused: make one model for
        each of `Fit.posteriors`.
        """
        choice("reading", reading, READINGS)
        data = Data.of(train_X.detach().cpu().numpy(), train_Y.detach().cpu().numpy())
        remedy = "scale train_X with botorch.utils.transforms.normalize and the bounds of the search space"
        check_in_cube(data.X, remedy)
        rng = np.random.default_rng(seed)
        fit = named_estimator(estimator)(data, kernel=kernel, prior=prior, rng=rng, reading=reading)
        if len(fit.thetas) > 1:
            raise InvalidInputError(
                f"{estimator!r} gives {len(fit.thetas)} hyperparameters and a model has one; "
                "make a UHEModel of each of Fit.posteriors"
            )
        return cls(fit.posterior)

    @property
    def num_outputs(self) -> int:
        """One."""
        return 1

    @property
    def batch_shape(self) -> Any:
        """Empty, or the batches of observations this model was conditioned on."""
        return self.train_X.shape[:-2]

    @property
    def train_inputs(self) -> tuple[Any, ...]:
        """The observed points, as GPyTorch's models have them."""
        return (self.train_X,)

    @property
    def train_targets(self) -> Any:
        """The observed values in units of y: L (L⁻¹ y), standardisation undone."""
        return self.location + self.scale * (self.factor @ self.whitened.unsqueeze(-1)).squeeze(-1)

    def posterior(
        self,
        X: Any,
        output_indices: list[int] | None = None,
        observation_noise: bool | Any = False,
        posterior_transform: Any = None,
    ) -> Any:
        """Joint posterior at X (batch, q, d), with gradients in X; `observation_noise` adds the noise, or a tensor."""
        if output_indices not in (None, [0]):
            raise InvalidInputError(f"output_indices={output_indices}; this model has one output, expected [0]")
        points = X.to(self.train_X)
        half = self._half(points)
        mean = (half * self.whitened.unsqueeze(-1)).sum(dim=-2)
        covariance = self._prior(points, points) - half.transpose(-1, -2) @ half
        mean, covariance = self.location + self.scale * mean, self.scale**2 * covariance
        if isinstance(observation_noise, torch.Tensor):
            covariance = covariance + torch.diag_embed(observation_noise.squeeze(-1).expand(mean.shape))
        elif observation_noise:
            covariance = covariance + torch.diag_embed(torch.full_like(mean, self.noise * self.scale**2))
        posterior = GPyTorchPosterior(MultivariateNormal(mean, covariance))
        return posterior if posterior_transform is None else posterior_transform(posterior)

    def condition_on_observations(self, X: Any, Y: Any, **kwargs: Any) -> "UHEModel":  # noqa: ARG002
        """A new model with the observations X (batch, q, d) and Y (batch, q, 1), in units of y, added to this one's.

        L_new = [[L, 0], [Bᵀ, C]]  with  B = L⁻¹ k(X_old, X),  C Cᵀ = k(X, X) + s2 I - Bᵀ B.
        """
        X, Y = X.to(self.train_X), Y.to(self.train_X)
        batch = torch.broadcast_shapes(X.shape[:-2], Y.shape[:-2], self.batch_shape)
        X, y = X.expand(*batch, *X.shape[-2:]), Y.expand(*batch, *Y.shape[-2:]).squeeze(-1)
        y = (y - self.location) / self.scale
        old, new = self.train_X.shape[-2], X.shape[-2]
        below = self._half(X)
        block = self._prior(X, X) - below.transpose(-1, -2) @ below
        block = block + (self.noise + self.jitter) * torch.eye(new).to(X)
        corner = psd_safe_cholesky(block)
        grown = type(self).__new__(type(self))
        Model.__init__(grown)
        for name in ("kernel", "location", "scale", "signal", "noise", "jitter", "categorical"):
            setattr(grown, name, getattr(self, name))
        factor = X.new_zeros(*batch, old + new, old + new)
        factor[..., :old, :old] = self.factor
        factor[..., old:, :old] = below.transpose(-1, -2)
        factor[..., old:, old:] = corner
        whitened = self.whitened.expand(*batch, old)
        residual = y.unsqueeze(-1) - below.transpose(-1, -2) @ whitened.unsqueeze(-1)
        added = torch.linalg.solve_triangular(corner, residual, upper=False).squeeze(-1)
        points = torch.cat([self.train_X.expand(*batch, *self.train_X.shape[-2:]), X], dim=-2)
        return grown._hold(points, self.lengthscales, factor, torch.cat([whitened, added], dim=-1))

    def _half(self, X: Any) -> Any:
        """L⁻¹ k(X_old, X), (batch, n, q)."""
        return torch.linalg.solve_triangular(self.factor, self._prior(self.train_X, X), upper=False)

    def _prior(self, a: Any, b: Any) -> Any:
        """The kernel between the rows of a and of b, as `uhebo.gp.kernels` defines it, times the signal."""
        difference = a.unsqueeze(-2) - b.unsqueeze(-3)
        if self.categorical:
            codes = torch.zeros(a.shape[-1], dtype=torch.bool, device=a.device)
            codes[list(self.categorical)] = True
            difference = torch.where(codes, (difference != 0).to(difference), difference)
        r2 = (difference / self.lengthscales).square().sum(dim=-1)
        return self.signal * self.kernel.formula(r2.clamp_min(TINY), exp=torch.exp)


def check_in_cube(inputs: Any, advice: str) -> None:
    """Refuse inputs outside the unit cube, in whose units priors are; a fit there ends in a confident, wrong model."""
    low, high = (float(inputs.min()), float(inputs.max())) if len(inputs) else (0.0, 1.0)
    if low < -SLACK or high > 1.0 + SLACK:
        raise InvalidInputError(f"training inputs range from {low:.4g} to {high:.4g}, expected the unit cube: {advice}")
