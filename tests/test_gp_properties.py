"""Properties every kernel matrix and posterior must have, on data sets Hypothesis makes up."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from uhebo.gp import KERNELS, Data, Domain, LogMarginalLikelihood, Posterior, Theta
from uhebo.gp.kernels import squared_distance

kernels = st.sampled_from(list(KERNELS))
seeds = st.integers(0, 2**32 - 1)
domains = st.lists(st.sampled_from([0, 0, 0, 2, 5]), min_size=1, max_size=5).map(lambda c: Domain(tuple(c)))


def random_case(domain: Domain, seed: int) -> tuple[Data, Theta]:
    """Data with some duplicates, and a theta, both random."""
    rng = np.random.default_rng(seed)
    X = domain.uniform(rng, int(rng.integers(1, 90)))
    X = X[rng.integers(0, len(X), len(X))] if rng.random() < 0.3 else X
    theta = Theta.of(10 ** rng.uniform(-2, 1.5, domain.dimension), 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-6, 0))
    return Data.of(X, rng.standard_normal(len(X)), domain), theta


@given(domains, seeds, kernels)
def test_kernel_matrices_are_symmetric_and_positive_semidefinite(domain: Domain, seed: int, kernel: str) -> None:
    data, theta = random_case(domain, seed)
    matrix = KERNELS[kernel].value(squared_distance(data.X, data.X, theta.ell, domain))
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-14)
    np.testing.assert_allclose(np.diag(matrix), 1.0)
    assert np.linalg.eigvalsh(matrix).min() > -1e-9 * len(data)


@given(domains, seeds, kernels)
def test_posterior_variance_lies_between_zero_and_the_prior(domain: Domain, seed: int, kernel: str) -> None:
    data, theta = random_case(domain, seed)
    posterior = Posterior.of(data, theta, kernel)
    query = np.concatenate([data.X, domain.uniform(np.random.default_rng(seed), 20)])
    mean, variance = posterior.predict(query)
    assert np.isfinite(mean).all()
    assert (variance >= 0.0).all()
    assert (variance <= theta.v * (1 + 1e-9)).all()
    # Equal up to what the condition number v/s2 leaves of double precision.
    np.testing.assert_allclose(posterior.predict_with_gradient(query)[1], variance, atol=1e-8 * theta.v)


@given(domains, seeds, kernels)
def test_order_of_the_data_does_not_matter(domain: Domain, seed: int, kernel: str) -> None:
    data, theta = random_case(domain, seed)
    theta = Theta(theta.ell, theta.v, max(theta.s2, 1e-4))
    rng = np.random.default_rng(seed)
    shuffled = data.subset(rng.permutation(len(data)))
    query = domain.uniform(rng, 10)
    for one, other in zip(
        Posterior.of(data, theta, kernel).predict(query),
        Posterior.of(shuffled, theta, kernel).predict(query),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-6)
    values = [LogMarginalLikelihood([(d.X, d.y)], kernel, domain)(theta.to_log()[None])[0][0] for d in (data, shuffled)]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-7, atol=1e-6)


@given(domains, seeds, kernels, st.integers(1, 4))
@settings(max_examples=60)
def test_growing_equals_refitting(domain: Domain, seed: int, kernel: str, added: int) -> None:
    data, theta = random_case(domain, seed)
    theta = Theta(theta.ell, theta.v, max(theta.s2, 1e-4))
    old = max(0, len(data) - added)
    grown = Posterior.of(data.subset(np.arange(old)), theta, kernel)
    for row in range(old, len(data)):
        grown = grown.grow(data.X[[row]], data.y[[row]])
    at_once = Posterior.of(data.subset(np.arange(old)), theta, kernel).grow(data.X[old:], data.y[old:])
    refitted = Posterior.of(data, theta, kernel)
    query = domain.uniform(np.random.default_rng(seed), 10)
    for posterior in (grown, at_once):
        np.testing.assert_allclose(posterior.factor, refitted.factor, atol=1e-7 * np.sqrt(theta.v))
        for one, other in zip(posterior.predict(query), refitted.predict(query), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)
