"""Hypervolume and its expected improvement: against BoTorch, Monte Carlo, high precision and finite differences."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import require
from uhebo.acquire.hypervolume import log_ehvi, log_partial_improvement
from uhebo.numerics.front import added_hypervolume, boxes, front_above, hypervolume, non_dominated


def by_inclusion_exclusion(front: np.ndarray, reference: np.ndarray) -> float:
    """Σ over subsets of (-1)^(size+1) Π_i (smallest entry of the subset - reference)."""
    total = 0.0
    for size in range(1, len(front) + 1):
        for subset in itertools.combinations(front, size):
            total -= (-1.0) ** size * float((np.min(subset, axis=0) - reference).prod())
    return total


@given(st.integers(2, 4).flatmap(lambda m: st.lists(st.tuples(*[st.integers(-2, 4)] * m), max_size=7)))
def test_hypervolume_of_small_fronts_with_ties(rows: list[tuple[int, ...]]) -> None:
    if not rows:
        return
    Y, reference = np.array(rows, dtype=float), np.zeros(len(rows[0]))
    above = np.unique(Y[(Y > 0).all(axis=1)], axis=0)
    assert hypervolume(Y, reference) == pytest.approx(by_inclusion_exclusion(above, reference), abs=1e-9)


@given(st.integers(2, 4).flatmap(lambda m: st.lists(st.tuples(*[st.integers(0, 4)] * m), min_size=1, max_size=8)))
def test_boxes_are_disjoint_and_fill_what_is_not_dominated(rows: list[tuple[int, ...]]) -> None:
    Y = np.array(rows, dtype=float)
    reference = np.zeros(Y.shape[1])
    lower, upper = boxes(front_above(Y, reference), reference)
    grid = np.array(list(itertools.product(np.arange(0.5, 5.0), repeat=Y.shape[1])))
    inside = ((grid[:, None] > lower) & (grid[:, None] < upper)).all(axis=2).sum(axis=1)
    dominated = np.any(np.all(Y[None] >= grid[:, None], axis=2), axis=1)
    assert (inside == ~dominated).all()


@pytest.mark.parametrize("m", [2, 3, 4])
def test_points_one_by_one_add_up_to_the_hypervolume(m: int) -> None:
    rng = np.random.default_rng(m)
    Y, reference = rng.integers(0, 6, (14, m)).astype(float), np.full(m, 0.5)
    total = sum(added_hypervolume(Y[i], Y[:i], reference) for i in range(len(Y)))
    ideal, (lower, upper) = Y.max(axis=0), boxes(front_above(Y, reference), reference)
    free = np.maximum(np.minimum(upper, ideal) - lower, 0.0).prod(axis=1).sum()
    assert total == pytest.approx(hypervolume(Y, reference))
    assert total == pytest.approx((ideal - reference).prod() - free)


def test_many_rows_are_compared_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    Y = np.random.default_rng(0).integers(0, 9, (200, 3)).astype(float)
    Y[0] = [np.inf, -np.inf, 0.0]
    expected = non_dominated(Y)
    monkeypatch.setattr("uhebo.numerics.front.BLOCK", 16)
    np.testing.assert_array_equal(non_dominated(Y), expected)


def test_non_dominated_rows() -> None:
    Y = np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 2.0], [1.0, 1.0], [0.5, 1.0]])
    assert non_dominated(Y).tolist() == [True, True, True, True, False]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("m", [2, 3, 4])
def test_ehvi_and_hypervolume_agree_with_botorch(m: int) -> None:
    torch = require("torch", "pip install torch==2.13.0")
    require("botorch", "pip install 'uhebo[botorch]'")
    from botorch.acquisition.multi_objective.analytic import ExpectedHypervolumeImprovement
    from botorch.utils.multi_objective.box_decompositions import NondominatedPartitioning
    from botorch.utils.multi_objective.hypervolume import Hypervolume
    from botorch.utils.testing import MockModel, MockPosterior

    rng = np.random.default_rng(m)
    Y, reference = rng.normal(size=(12, m)), np.full(m, -1.0)
    front = front_above(Y, reference)
    assert hypervolume(Y, reference) == pytest.approx(
        Hypervolume(torch.tensor(reference)).compute(torch.tensor(front)), rel=1e-10
    )
    lower, upper = boxes(front, reference)
    partitioning = NondominatedPartitioning(ref_point=torch.tensor(reference), Y=torch.tensor(Y))
    for mean, deviation in zip(rng.normal(size=(5, m)), rng.uniform(0.2, 2.0, (5, m)), strict=True):
        posterior = MockPosterior(
            mean=torch.tensor(mean).view(1, 1, m), variance=torch.tensor(deviation**2).view(1, 1, m)
        )
        oracle = ExpectedHypervolumeImprovement(MockModel(posterior), reference.tolist(), partitioning)
        value = float(log_ehvi(mean[:, None], deviation[:, None], lower, upper)[0][0])
        assert math.exp(value) == pytest.approx(float(oracle(torch.zeros(1, 1, 1))), rel=1e-8)


def test_ehvi_is_the_mean_improvement() -> None:
    rng = np.random.default_rng(0)
    Y, reference = rng.normal(size=(6, 3)), np.full(3, -1.5)
    mean, deviation = np.array([0.3, -0.2, 0.5]), np.array([0.6, 1.0, 0.4])
    before = hypervolume(Y, reference)
    draws = mean + deviation * rng.normal(size=(4000, 3))
    gains = np.array([hypervolume(np.vstack([Y, draw]), reference) - before for draw in draws])
    value = math.exp(log_ehvi(mean[:, None], deviation[:, None], *boxes(front_above(Y, reference), reference))[0][0])
    assert abs(value - gains.mean()) < 4.0 * gains.std() / math.sqrt(len(gains))


@pytest.mark.parametrize("distance", [-30.0, -5.0, 0.0, 3.0, 30.0])
@pytest.mark.parametrize("width", [1e-12, 1e-5, 1e-2, 1.0, 50.0, math.inf])
def test_partial_improvement_in_the_tails(distance: float, width: float) -> None:
    """Against the integral of Φ((μ - z)/σ) from l to u in 60 digits."""
    mpmath = require("mpmath", "it comes with PyTorch")
    mean, deviation, low = distance * 0.7, 0.7, 0.0
    with mpmath.workdps(60):

        def log_d(mean_: Any, deviation_: Any) -> Any:
            def ei_at(at: float) -> Any:
                if at == math.inf:
                    return mpmath.mpf(0)
                u = (mean_ - at) / deviation_
                return deviation_ * (mpmath.npdf(u) + u * mpmath.ncdf(u))

            return mpmath.log(ei_at(low) - ei_at(mpmath.mpf(low) + mpmath.mpf(width) if width < math.inf else width))

        m, s = mpmath.mpf(mean), mpmath.mpf(deviation)
        expected = float(log_d(m, s))
        by_mean = float(mpmath.diff(lambda x: log_d(x, s), m, h=mpmath.mpf(10) ** -20))
        by_deviation = float(mpmath.diff(lambda x: log_d(m, x), s, h=mpmath.mpf(10) ** -20))
    found = log_partial_improvement(
        np.array([mean]), np.array([deviation]), np.array([[low]]), np.array([[low + width]])
    )
    value, up, spread = (float(part[0, 0]) for part in found)
    assert value == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert up == pytest.approx(by_mean, rel=1e-4, abs=1e-9)
    assert spread == pytest.approx(by_deviation, rel=1e-3, abs=1e-6)


def test_gradient_of_log_ehvi_by_finite_differences() -> None:
    rng = np.random.default_rng(1)
    Y, reference = rng.normal(size=(8, 3)), np.full(3, -1.0)
    lower, upper = boxes(front_above(Y, reference), reference)
    means, deviations = rng.normal(size=(3, 6)), rng.uniform(0.1, 1.0, (3, 6))
    _, by_mean, by_deviation = log_ehvi(means, deviations, lower, upper)
    for i in range(3):
        step = np.zeros((3, 1))
        step[i] = 1e-6
        up = (
            log_ehvi(means + step, deviations, lower, upper)[0] - log_ehvi(means - step, deviations, lower, upper)[0]
        ) / 2e-6
        spread = (
            log_ehvi(means, deviations + step, lower, upper)[0] - log_ehvi(means, deviations - step, lower, upper)[0]
        ) / 2e-6
        assert np.allclose(up, by_mean[i], rtol=1e-5, atol=1e-7)
        assert np.allclose(spread, by_deviation[i], rtol=1e-5, atol=1e-7)
