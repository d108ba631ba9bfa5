"""`UHERegressor`: the Gaussian process of uhebo as a scikit-learn regressor."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uhebo import checks
from uhebo.belief import Outcome, OutcomeBelief, Units
from uhebo.errors import InvalidInputError, MissingExtraError
from uhebo.estimate import DEFAULT_READING, READINGS, EstimatorName, Fit, Reading, named_estimator
from uhebo.gp import Data, Prior, named_prior
from uhebo.gp.kernels import Kernel, KernelName, named_kernel
from uhebo.gp.priors import PriorName
from uhebo.numerics.threads import single_threaded
from uhebo.types import Array, Rng

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise MissingExtraError("UHERegressor needs scikit-learn 1.6 or later: pip install 'uhebo[sklearn]'") from error


class UHERegressor(RegressorMixin, BaseEstimator):
    """Gaussian-process regression with a stationary ARD kernel, hyperparameters by any of uhebo's estimators.

    Inputs are scaled to the unit cube by the range of the training data (a column without spread stays where it is) and
    targets are standardised; predictions are in the units of `y`. Time grows with the cube of the number of rows.

    Args:
        estimator: how the hyperparameters are found: "map", "mle", "consistent" or "hmc" (predictions are then averaged
            over its draws). "consistent" suits points that were chosen by an optimiser, crowded around an optimum,
            rather than drawn at random.
        kernel: "matern52", "matern32" or "se".
        prior: a name ("dim-scaled", "precise", "shared-scale", "paper", "paper-scale", "paper-ev", "flat") or a
            `uhebo.gp.Prior`.
        random_state: an integer makes the fit repeatable.
        reading: of the consistent loss: "observed", "distinct" or "drawn".

    Attributes:
        lengthscales_: one for each column, in the units of `X`.
        signal_variance_, noise_variance_: of the latent function and of the noise, in units of `y` squared; infinite
            where that is beyond the range of doubles (`y` around 1e154 and more).
        log_posterior_: the maximum found: value of the log posterior (or log likelihood) at the hyperparameters.
        fit_: the `uhebo.estimate.Fit`, in the units of the unit cube and the standardised targets.
        n_features_in_, feature_names_in_: as in scikit-learn.

    Example:
        >>> import numpy as np
        >>> from uhebo import UHERegressor
        >>> X = np.linspace(0, 1, 20)[:, None]
        >>> mean, deviation = UHERegressor(random_state=0).fit(X, np.sin(6 * X[:, 0])).predict(X, return_std=True)
        >>> bool(np.abs(mean - np.sin(6 * X[:, 0])).max() < 0.05)
        True
    """

    @checks.by_name()
    def __init__(
        self,
        *,
        estimator: EstimatorName | str = "map",
        kernel: KernelName | Kernel = "matern52",
        prior: PriorName | Prior = "dim-scaled",
        random_state: Any = None,
        reading: Reading = DEFAULT_READING,
    ) -> None:
        self.estimator = estimator
        self.kernel = kernel
        self.prior = prior
        self.random_state = random_state
        self.reading = reading

    @checks.by_name()
    @single_threaded
    def fit(self, X: ArrayLike, y: ArrayLike, noise: ArrayLike | None = None) -> "UHERegressor":
        """Find the hyperparameters on X (n, d) and y (n,), and condition on them.

        Args:
            X: inputs, one row each.
            y: targets.
            noise: standard deviation of the noise of each target, in the units of `y`, or one for all; NaN where it is
                not known. Such a target has this noise, and the others the one that is estimated; where all are known,
                what is estimated comes on top. (Standard deviations, not variances as `alpha` of scikit-learn's
                `GaussianProcessRegressor`.)
        """
        kernel = named_kernel(self.kernel)
        estimate = named_estimator(self.estimator)
        checks.choice("reading", self.reading, READINGS)
        inputs, targets = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self._low = inputs.min(axis=0)
        spread = np.ptp(inputs, axis=0)
        self._width = np.where(spread > 0.0, spread, 1.0)
        told = np.full(len(targets), noise) if noise is not None and np.ndim(noise) == 0 else noise
        units, data = Units.of(Data.of(self._scaled(inputs), targets, deviations=told), sign=1.0, warped=False)
        prior = named_prior(self.prior, data.dimension)
        rng = _generator(self.random_state)
        self.fit_: Fit = estimate(data, kernel=kernel, prior=prior, rng=rng, reading=self.reading)
        self._believed = OutcomeBelief(Outcome(), units, self.fit_)
        theta = self.fit_.theta
        self.lengthscales_ = theta.ell * self._width
        # A product of floats that is too large is infinite; a power would be an error, and predictions need no square.
        self.signal_variance_ = data.scale * theta.v * data.scale
        self.noise_variance_ = data.scale * theta.s2 * data.scale
        self.log_posterior_ = self.fit_.log_posterior
        return self

    @single_threaded
    def predict(self, X: ArrayLike, return_std: bool = False, return_cov: bool = False) -> Any:
        """Mean of the latent function at the rows of X, (m,); with `return_std` its deviation, or its covariance.

        The noise is left out: an observation at x has the variance deviation² + `noise_variance_`.
        """
        if return_std and return_cov:
            raise InvalidInputError("return_std and return_cov are both set; expected at most one of them")
        inputs = self._checked(X)
        mean, deviation = self._believed.predict(inputs)
        if not return_cov:
            return (mean, deviation) if return_std else mean
        # Over all thetas: E[cov] + cov[mean].
        means = np.array([posterior.predict(inputs)[0] for posterior in self.fit_.posteriors])
        centred, scale = means - means.mean(axis=0), self.fit_.data.scale
        within = np.mean([posterior.covariance(inputs) for posterior in self.fit_.posteriors], axis=0)
        with np.errstate(over="ignore"):
            covariance = scale * (within + centred.T @ centred / len(means)) * scale
        if not np.isfinite(covariance).all():
            raise InvalidInputError(
                f"y has a standard deviation of {scale:.4g}, and covariances in units of y squared are beyond the "
                "range of doubles; use return_std, or divide y by a constant before the fit"
            )
        return mean, covariance

    @single_threaded
    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Any = 0) -> Array:
        """Joint samples of the latent function at the rows of X, (m, n_samples)."""
        n_samples = checks.integer("n_samples", n_samples, 1)
        inputs, rng = self._checked(X), _generator(random_state)
        posteriors = self.fit_.posteriors
        counts = rng.multinomial(n_samples, np.full(len(posteriors), 1.0 / len(posteriors)))
        drawn = [p.sample(inputs, rng, int(n)) for p, n in zip(posteriors, counts, strict=True) if n]
        return self._believed.units.told(rng.permutation(np.concatenate(drawn)).T)

    def _checked(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        return self._scaled(np.asarray(validate_data(self, X, dtype=np.float64, reset=False)))

    def _scaled(self, inputs: Array) -> Array:
        return np.asarray((inputs - self._low) / self._width)


def _generator(random_state: Any) -> Rng:
    """NumPy's generator for scikit-learn's kind of seed."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
