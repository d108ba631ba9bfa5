"""The GP core against scikit-learn and GPyTorch, against finite differences and against brute force."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

import uhebo
from tests.conftest import require
from uhebo.estimate import map_estimate
from uhebo.gp import (
    KERNELS,
    Data,
    Domain,
    Kernel,
    LogMarginalLikelihood,
    LogPosterior,
    Posterior,
    Theta,
    named_prior,
)
from uhebo.gp.kernels import squared_distance
from uhebo.gp.likelihood import BATCH_SIZE
from uhebo.gp.priors import PRIORS
from uhebo.types import Array
from uhebo_experiments.theory import information_gain_growth

SIZES = (BATCH_SIZE // 2, 2 * BATCH_SIZE + 11)
"""One for each of the two ways the likelihood is computed."""
MIXED = Domain((0, 4, 0, 3))


def made_up(domain: Domain, n: int, seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    X = domain.uniform(rng, n)
    return Data.of(X, np.sin(5 * X[:, 0]) + X[:, -1] + 0.1 * rng.standard_normal(n), domain)


def likelihood(data: Data, kernel: str) -> LogMarginalLikelihood:
    return LogMarginalLikelihood([(data.X, data.y)], kernel, data.domain)


def sklearn_model(kernel: str, theta: Theta) -> Any:
    stationary = RBF(theta.ell) if kernel == "se" else Matern(theta.ell, nu=2.5 if kernel == "matern52" else 1.5)
    return GaussianProcessRegressor(
        ConstantKernel(theta.v) * stationary + WhiteKernel(theta.s2), alpha=0, optimizer=None
    )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n", SIZES)
def test_agrees_with_scikit_learn(kernel: str, n: int) -> None:
    data = made_up(Domain.cube(3), n)
    theta = Theta.of([0.3, 0.8, 1.7], 1.3, 0.02)
    oracle = sklearn_model(kernel, theta).fit(data.X, data.y)
    # scikit-learn orders its parameters as (v, ell, s2).
    expected, gradient = oracle.log_marginal_likelihood(oracle.kernel_.theta, eval_gradient=True)
    value, ours = likelihood(data, kernel)(theta.to_log()[None])
    np.testing.assert_allclose(value[0], expected, rtol=1e-6)
    np.testing.assert_allclose(ours[0], [*gradient[1:4], gradient[0], gradient[4]], rtol=1e-6, atol=1e-6)

    query = np.random.default_rng(1).random((20, 3))
    mean, deviation = oracle.predict(query, return_std=True)
    our_mean, our_variance = Posterior.of(data, theta, kernel).predict(query)
    np.testing.assert_allclose(our_mean, mean, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(our_variance, deviation**2 - theta.s2, rtol=1e-6, atol=1e-9)


@pytest.mark.gpytorch
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n", SIZES)
def test_agrees_with_gpytorch(kernel: str, n: int) -> None:
    torch = require("torch", "pip install torch==2.13.0")
    gpytorch = require("gpytorch", "pip install 'uhebo[botorch]'")
    data = made_up(Domain.cube(3), n)
    theta = Theta.of([0.3, 0.8, 1.7], 1.3, 0.02)
    double = torch.float64
    base = gpytorch.kernels.RBFKernel if kernel == "se" else gpytorch.kernels.MaternKernel
    options = {} if kernel == "se" else {"nu": 2.5 if kernel == "matern52" else 1.5}
    covariance = gpytorch.kernels.ScaleKernel(base(ard_num_dims=3, **options)).to(double)
    covariance.base_kernel.lengthscale = torch.tensor(theta.ell, dtype=double)
    covariance.outputscale = torch.tensor(theta.v, dtype=double)
    X, y = torch.tensor(data.X), torch.tensor(data.y)
    noisy = covariance(X).to_dense() + theta.s2 * torch.eye(n, dtype=double)
    parameters = [covariance.base_kernel.raw_lengthscale, covariance.raw_outputscale]
    log_likelihood = torch.distributions.MultivariateNormal(torch.zeros(n, dtype=double), noisy).log_prob(y)
    raw = torch.autograd.grad(log_likelihood, parameters)
    value, ours = likelihood(data, kernel)(theta.to_log()[None])
    np.testing.assert_allclose(value[0], log_likelihood.item(), rtol=1e-6)
    # d/d log θ = θ · d/dθ, and GPyTorch's raw parameter has θ = softplus(raw), so dθ/draw = 1 - e^{-θ}.
    for gradient, natural, mine in zip(raw, (theta.ell, theta.v), (ours[0][:3], ours[0][3]), strict=True):
        softplus_slope = 1.0 - np.exp(-np.asarray(natural))
        np.testing.assert_allclose(mine, gradient.numpy().ravel() / softplus_slope * natural, rtol=1e-6, atol=1e-6)

    query = torch.tensor(np.random.default_rng(1).random((20, 3)))
    with torch.no_grad():
        cross = covariance(X, query).to_dense()
        mean = cross.T @ torch.linalg.solve(noisy, y)
        variance = theta.v - (cross * torch.linalg.solve(noisy, cross)).sum(dim=0)
    our_mean, our_variance = Posterior.of(data, theta, kernel).predict(query.numpy())
    np.testing.assert_allclose(our_mean, mean.numpy(), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(our_variance, variance.numpy(), rtol=1e-6, atol=1e-9)


def central_difference(function: Any, point: Array, step: float = 1e-5) -> Array:
    columns = []
    for i in range(len(point)):
        offset = np.zeros(len(point))
        offset[i] = step
        columns.append((np.asarray(function(point + offset)) - np.asarray(function(point - offset))) / (2 * step))
    return np.array(columns)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("prior", list(PRIORS))
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("domain", [Domain.cube(4), MIXED], ids=["numeric", "mixed"])
def test_log_posterior_gradient(kernel: str, prior: str, n: int, domain: Domain) -> None:
    data = made_up(domain, n)
    target = LogPosterior(likelihood(data, kernel), named_prior(prior, 4))
    point = np.log([0.3, 0.9, 0.5, 2.0, 1.3, 0.02])
    _, gradient = target(point[None])
    numeric = central_difference(lambda p: target(p[None])[0][0], point)
    np.testing.assert_allclose(gradient[0], numeric, rtol=1e-5, atol=1e-5)


def test_both_ways_and_blocks_agree() -> None:
    data = made_up(MIXED, BATCH_SIZE)
    more = made_up(MIXED, BATCH_SIZE + 1)
    thetas = np.log([[0.3, 0.9, 0.5, 2.0, 1.3, 0.02], [0.8, 0.1, 0.5, 1.0, 0.7, 0.1]])
    for kernel in KERNELS:
        small, large = likelihood(data, kernel)(thetas), likelihood(more, kernel)(thetas)
        both = LogMarginalLikelihood([(data.X, data.y), (more.X, more.y)], kernel, MIXED)(thetas)
        one_by_one = [likelihood(data, kernel)(row[None]) for row in thetas]
        np.testing.assert_allclose(both[0], small[0] + large[0], rtol=1e-12)
        np.testing.assert_allclose(both[1], small[1] + large[1], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(small[0], [value[0] for value, _ in one_by_one], rtol=1e-12)


def test_fisher_information_is_the_mean_curvature() -> None:
    """The expected Hessian, checked by averaging outer products of the score over data drawn from the model."""
    rng = np.random.default_rng(0)
    X = rng.random((25, 2))
    theta = np.log([0.4, 0.7, 1.2, 0.1])
    covariance = 1.2 * KERNELS["matern52"].value(
        squared_distance(X, X, np.array([0.4, 0.7]), Domain.cube(2))
    ) + 0.1 * np.eye(25)
    scores = [
        LogMarginalLikelihood([(X, y)], "matern52", Domain.cube(2))(theta[None])[1][0]
        for y in rng.multivariate_normal(np.zeros(25), covariance, 4000)
    ]
    expected = LogMarginalLikelihood([(X, np.zeros(25))], "matern52", Domain.cube(2)).fisher(theta[None])[0]
    np.testing.assert_allclose(np.cov(np.array(scores).T), expected, rtol=0.12, atol=0.12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_posterior_gradients_in_x(kernel: str) -> None:
    for domain in (Domain.cube(4), MIXED):
        posterior = Posterior.of(made_up(domain, 30), Theta.of([0.3, 0.9, 0.5, 2.0], 1.3, 0.02), kernel)
        for point in domain.uniform(np.random.default_rng(2), 4):
            _, _, mean_gradient, variance_gradient = posterior.predict_with_gradient(point[None])
            numeric = central_difference(lambda p, at=posterior: np.ravel(at.predict(p[None])), point)
            numeric[domain.categorical] = 0.0  # a category has no neighbourhood
            np.testing.assert_allclose(mean_gradient[0], numeric[:, 0], rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(variance_gradient[0], numeric[:, 1], rtol=1e-5, atol=1e-5)


def test_gradient_is_finite_at_a_data_point() -> None:
    data = made_up(Domain.cube(4), 30)
    posterior = Posterior.of(data, Theta.of([0.3] * 4, 1.0, 1e-6))
    for values in posterior.predict_with_gradient(data.X):
        assert np.isfinite(values).all()


def test_leave_one_out_agrees_with_brute_force() -> None:
    data = made_up(MIXED, 25)
    theta = Theta.of([0.3, 0.9, 0.5, 2.0], 1.3, 0.02)
    mean, variance, density = Posterior.of(data, theta).leave_one_out()
    for i in range(len(data)):
        others = np.delete(np.arange(len(data)), i)
        left, spread = Posterior.of(data.subset(others), theta).predict(data.X[[i]])
        total = spread[0] + theta.s2
        np.testing.assert_allclose([mean[i], variance[i]], [left[0], total], rtol=1e-8)
        expected = -0.5 * (np.log(2 * np.pi * total) + (data.y[i] - left[0]) ** 2 / total)
        np.testing.assert_allclose(density[i], expected, rtol=1e-8)


def test_joint_samples_have_the_posterior_moments() -> None:
    posterior = Posterior.of(made_up(Domain.cube(4), 20), Theta.of([0.5] * 4, 1.0, 0.01))
    query = np.random.default_rng(3).random((6, 4))
    samples = posterior.sample(query, np.random.default_rng(4), 20_000)
    mean, variance = posterior.predict(query)
    np.testing.assert_allclose(samples.mean(axis=0), mean, atol=0.03)
    np.testing.assert_allclose(np.cov(samples.T), posterior.covariance(query), atol=0.03)
    np.testing.assert_allclose(np.diag(posterior.covariance(query)), variance, atol=1e-9)


def rational_quadratic(r2: Array, exp: Any = np.exp) -> Array:  # noqa: ARG001
    """(1 + r2/4)^-2, a mixture of squared exponentials."""
    return np.asarray((1.0 + 0.25 * r2) ** -2.0)


def rational_quadratic_and_slope(r2: Array) -> tuple[Array, Array]:
    inner = 1.0 + 0.25 * r2
    return inner**-2.0, -0.5 * inner**-3.0


RATIONAL = Kernel("rational", rational_quadratic, rational_quadratic_and_slope, smoothness=math.inf)


@pytest.mark.parametrize("kernel", [*KERNELS.values(), RATIONAL], ids=lambda kernel: kernel.name)
def test_the_slope_of_a_kernel_is_its_derivative(kernel: Kernel) -> None:
    r2, step = np.linspace(1e-3, 30.0, 50), 1e-6
    value, slope = kernel.value_and_slope(r2.copy())
    np.testing.assert_allclose(value, kernel.formula(r2), rtol=1e-12)
    np.testing.assert_allclose(kernel.value(r2.copy()), kernel.formula(r2), rtol=1e-12)
    numeric = (kernel.formula(r2 + step) - kernel.formula(r2 - step)) / (2 * step)
    np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-9)
    at_zero = kernel.value_and_slope(np.zeros(1))
    assert at_zero[0][0] == 1.0
    assert np.isfinite(at_zero[1]).all()


def test_a_new_kernel_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """It fits, predicts, suggests and has a bound on its regret, by its name or as a value."""
    monkeypatch.setitem(KERNELS, "rational", RATIONAL)
    for n in SIZES:
        test_log_posterior_gradient("rational", "paper", n, MIXED)
    test_posterior_gradients_in_x("rational")
    data = made_up(Domain.cube(2), 20)
    by_name, by_value = (
        map_estimate(data, kernel=kernel, rng=np.random.default_rng(0)) for kernel in ("rational", RATIONAL)
    )
    assert by_name.kernel is RATIONAL
    assert by_name.converged
    np.testing.assert_array_equal(by_name.theta.to_log(), by_value.theta.to_log())
    assert information_gain_growth(100, 2, "rational") == information_gain_growth(100, 2, "se")
    kernels: tuple[Any, ...] = ("rational", RATIONAL)  # by its name, which a type checker does not know
    found = [
        uhebo.minimize(lambda x: (x - 0.3) ** 2, {"x": (0.0, 1.0)}, 12, seed=0, kernel=kernel).best_params
        for kernel in kernels
    ]
    assert found[0] == found[1]
