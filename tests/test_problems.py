"""Every problem: its maximisers reach the maximum, no other point beats it, and it runs through `uhebo.maximize`."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
from scipy.stats import qmc

import uhebo
from uhebo.errors import InvalidInputError, UheboError
from uhebo.space import SearchSpace
from uhebo_experiments.problems import PROBLEMS, Problem, problem, real
from uhebo_experiments.problems.synthetic import Path

SYNTHETIC = ["branin", "hartmann3", "deceptive", "h1", "h1-100", "h1-outside", "deceptive-3d", "gp-2d-0.2", "gp-3d-0.3"]
SYNTHETIC += ["gp-2d-0.05x1", "warped-2d-0.3"]
REAL = ["lr-vehicle", "xgboost-australian", "xgboost-kc1", "rf-wilt"]


def sobol_values(case: Problem, count: int = 2**13) -> np.ndarray:
    space = SearchSpace.of(case.space)
    rows = qmc.Sobol(case.dimension, seed=0).random(count)
    points = np.array([list(space.decode(row).values()) for row in rows])
    assert case.rows is not None
    return case.rows(points)


@pytest.mark.parametrize("name", SYNTHETIC)
def test_maximisers_reach_the_maximum_and_nothing_beats_it(name: str) -> None:
    case = problem(name)
    assert case.optimum is not None
    for point in case.maximisers:
        assert SearchSpace.of(case.space).contains(point)
        assert case(**point) == pytest.approx(case.optimum, abs=1e-7)
    assert sobol_values(case).max() <= case.optimum + 1e-9


def test_values_the_specification_names() -> None:
    """Branin, Hartmann3 and h1 to the digits the specification gives; the corners of Deceptive's pieces."""
    assert problem("branin").optimum == pytest.approx(-0.397887, abs=1e-6)
    assert problem("hartmann3").optimum == pytest.approx(3.862780, abs=1e-6)
    assert problem("h1").optimum == pytest.approx(2.0, abs=1e-6)
    one_dimensional = problem("deceptive-1d")  # alpha = 1/2
    for x, g in ((0.0, 0.8), (0.4, 0.0), (0.5, 1.0), (0.6, 0.0), (1.0, 0.8), (0.2, 0.4), (0.8, 0.4)):
        assert one_dimensional(x1=x) == pytest.approx(g**2, abs=1e-12)


def test_a_sample_path_has_the_covariance_of_its_kernel() -> None:
    """Over many paths, the covariance of two points at distance r is the Matérn-5/2 kernel of r/ell."""
    points = np.array([[0.2, 0.3], [0.2, 0.5], [0.6, 0.3]])
    values = [Path.draw(2, 0.3, np.random.default_rng(seed))(points) for seed in range(1000)]
    r = np.linalg.norm(points[:, None] - points[None], axis=-1) / 0.3
    expected = (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)
    np.testing.assert_allclose(np.cov(np.array(values).T), expected, atol=0.12)
    assert problem("gp-2d-0.3", seed=1).optimum != problem("gp-2d-0.3", seed=2).optimum


@pytest.mark.parametrize("name", REAL)
def test_real_problems_run_at_low_fidelity(name: str, monkeypatch: pytest.MonkeyPatch, data_sets: pathlib.Path) -> None:
    if name.startswith("xgboost"):
        pytest.importorskip("xgboost")
    monkeypatch.setenv(real.DATA_FOLDER, str(data_sets))
    case = problem(name, fidelity=20)
    assert case.fidelity == 20
    result = uhebo.maximize(case.function, case.space, 4, seed=0, method="random")
    assert 0.2 < result.best_value <= 1.0


def test_training_statistics_come_from_the_training_part_alone(
    monkeypatch: pytest.MonkeyPatch, data_sets: pathlib.Path
) -> None:
    monkeypatch.setenv(real.DATA_FOLDER, str(data_sets))
    parts = real.split("vehicle")
    np.testing.assert_allclose(parts.train_X.mean(axis=0), 0.0, atol=1e-9)
    assert np.abs(parts.test_X.mean(axis=0)).max() > 1e-3
    assert len(parts.test_y) == round(846 / 3)


def test_missing_data_are_named_with_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    def no_network(**_: object) -> None:
        raise OSError("no route to host")

    monkeypatch.setenv(real.DATA_FOLDER, str(tmp_path))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", no_network)
    with pytest.raises(UheboError, match=r"vehicle.*UHEBO_DATA.*vehicle\.csv"):
        real.load("vehicle")


def test_unknown_problems_are_refused_by_name() -> None:
    with pytest.raises(InvalidInputError, match=r"unknown problem 'brannin'.*branin"):
        problem("brannin")
    assert all(name == problem(name).name for name in PROBLEMS)
