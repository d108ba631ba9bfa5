"""SPEC §8 measured again, on i.i.d. data from a GP whose theta is known."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from uhebo.estimate import Reading, consistent_estimate, map_estimate
from uhebo.estimate.fit import STEP_GAIN
from uhebo.gp import Data, Domain
from uhebo.gp.kernels import KERNELS, squared_distance
from uhebo.types import Array

SEEDS = 16
ELL = 0.2


def known_gp(n: int, noise: float, seed: int) -> Data:
    """Observations at uniform points in one dimension, kept in the units of the truth."""
    rng = np.random.default_rng([seed, n])
    X = rng.random((n, 1))
    covariance = KERNELS["matern52"].value(squared_distance(X, X, np.array([ELL]), Domain.cube(1))) + noise * np.eye(n)
    return Data(X, np.linalg.cholesky(covariance) @ rng.standard_normal(n), Domain.cube(1), 0.0, 1.0)


def errors(name: Literal["map"] | Reading, n: int, noise: float) -> Array:
    """(log ell, log v, log s2) minus the truth by MAP or a reading of the consistent loss, one row a seed."""
    estimate = map_estimate if name == "map" else partial(consistent_estimate, reading=name, tolerance=STEP_GAIN)
    rows = [estimate(known_gp(n, noise, seed), prior="flat", rng=np.random.default_rng(seed)) for seed in range(SEEDS)]
    return np.array([fit.theta.to_log() for fit in rows]) - np.log([ELL, 1.0, noise])


def size(error: Array) -> float:
    """Mean absolute error of log ell and log s2; noise that was not seen at all counts as a tenth of the truth."""
    return float(np.abs(np.maximum(error[:, [0, 2]], np.log(0.1))).mean())


def test_error_of_drawn_falls_with_n_and_distinct_agrees_with_map() -> None:
    by_map, distinct, drawn = (
        {n: errors(name, n, noise=1e-4) for n in (40, 160)} for name in ("map", "distinct", "drawn")
    )
    assert size(drawn[160]) < 0.8 * size(drawn[40])
    for n in (40, 160):
        # Label error is noise to this loss: it finds too much of it, and lengthscales that are too short.
        assert np.median(drawn[n][:, 2]) > 1.0
        assert np.median(drawn[n][:, 0]) < np.median(by_map[n][:, 0])
        assert size(drawn[n]) > 2.0 * size(by_map[n])
        gap = np.abs(np.median(distinct[n] - by_map[n], axis=0))
        assert (gap < 0.2).all()
        assert size(distinct[n]) < 1.5 * size(by_map[n])
    assert size(distinct[160]) < size(distinct[40])


def test_kept_copies_push_the_noise_to_its_floor() -> None:
    """A limit of `observed`: k copies of a value have no spread, so noise that is there is not seen, at any n."""
    for n in (40, 160):
        assert np.median(errors("observed", n, noise=0.05)[:, 2]) < np.log(0.1)
        assert np.median(errors("distinct", n, noise=0.05)[:, 2]) > np.log(0.5)


def test_noise_shared_within_a_cell_is_read_as_short_signal() -> None:
    """A limit of `drawn`: its labels repeat the noise of one observation over a Voronoi cell.

    With M = 2n every cell holds about two pseudo-points, so observation noise looks like signal as wide as a cell. On
    noisy data in one dimension the error therefore does not fall with n, while `distinct` and `map` stay unbiased.
    """
    drawn = {n: errors("drawn", n, noise=0.05) for n in (40, 160)}
    assert size(drawn[160]) > 0.8 * size(drawn[40])
    assert np.median(drawn[160][:, 0]) < -0.8
    for name in ("map", "distinct"):
        assert np.abs(np.median(errors(name, 160, noise=0.05), axis=0)[[0, 2]]).max() < 0.2
