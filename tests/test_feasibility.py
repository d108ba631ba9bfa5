"""Constraints in the verdict and in the report: what is called best is feasible."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pytest
from optuna.study import Study
from optuna.trial import create_trial

from tests.conftest import require
from uhebo import Float
from uhebo.acquire.limits import at_least
from uhebo.diagnosis import Diagnosis, diagnose
from uhebo.diagnosis.feasibility import ConstraintModel
from uhebo.diagnosis.prospects import chance_of_improvement
from uhebo.gp import Data, Domain, Posterior, Theta
from uhebo.report.html import report_html
from uhebo.report.plots import pictures
from uhebo.report.view import StudyView

pytestmark = pytest.mark.usefixtures("rough_importances")


def hyperbola(least: float = 1.0, noise: float | None = None) -> Study:
    """min x + y where x y >= least on [0, 3]²; the best values are at the lower corner, where nothing is feasible."""
    rng = np.random.default_rng(0)
    study = optuna.create_study()
    for x, y in [(0.0, 0.0), (0.0, 0.5), (0.3, 0.0), *rng.uniform(0, 3, (26, 2)).tolist()]:
        told = least - x * y if noise is None else noise * float(rng.standard_normal())
        study.add_trial(
            create_trial(
                value=x + y,
                params={"x": x, "y": y},
                distributions={"x": Float(0, 3), "y": Float(0, 3)},
                system_attrs={"constraints:product": told},
            )
        )
    return study


@pytest.fixture(scope="module")
def constrained() -> tuple[Study, Diagnosis]:
    study = hyperbola()
    return study, diagnose(study, hmc=False)


def product(study: Study, number: int | None) -> float:
    assert number is not None
    return float(np.prod(list(study.trials[number].params.values())))


def test_the_verdict_speaks_of_the_best_feasible_point(constrained: tuple[Study, Diagnosis]) -> None:
    study, found = constrained
    assert found.feasibility is not None
    feasible = [t for t in study.trials if product(study, t.number) >= 1]
    best = min(feasible, key=lambda t: t.value or 0.0)
    assert found.prospects is not None
    assert (found.prospects.best_number, found.prospects.best_value) == (best.number, best.value)
    assert found.search.best_at_bound == ()
    assert "bound" not in found.next_action
    assert (found.feasibility.feasible, found.feasibility.trials) == (len(feasible), len(study.trials))
    (model,) = found.feasibility.constraints
    assert model.right >= len(study.trials) - 1
    assert f"{len(feasible)} trials of {len(study.trials)} are feasible" in str(found)
    assert found.to_dict()["feasibility"]["feasible"] == len(feasible)


def test_nothing_feasible_is_never_trusted_and_the_nearest_is_named() -> None:
    study = hyperbola(least=20.0)
    found = diagnose(study, hmc=False)
    nearest = max(range(len(study.trials)), key=lambda number: product(study, number))
    assert (found.kind, found.verdict) == ("nothing-feasible", "caution")
    assert found.prospects is not None
    assert found.prospects.best_value is None
    assert found.prospects.chance == pytest.approx(0.0, abs=0.02)
    assert f"trial {nearest}: product is missed by" in found.reasons[0]
    assert "relax product" in found.next_action
    page = report_html(study, diagnosis=found)
    assert "keeps the constraints" in page
    assert StudyView.of(study, found).best is None


def test_a_constraint_that_is_noise_is_said() -> None:
    found = diagnose(hyperbola(noise=1.0), hmc=False)
    assert found.kind == "constraints"
    assert "product" in found.headline


def test_a_model_is_poor_if_neither_values_nor_sides_are_predicted() -> None:
    assert ConstraintModel("c", told=20, kept=5, right=15, r2=0.1).poor
    assert not ConstraintModel("c", told=20, kept=5, right=19, r2=0.1).poor  # a pass or fail of 0 and 1, say
    assert not ConstraintModel("c", told=20, kept=5, right=15, r2=0.9).poor
    assert not ConstraintModel("c", told=20, kept=20, right=20, r2=-0.1).poor


def test_the_chance_to_improve_counts_what_is_feasible() -> None:
    domain = Domain((0,))
    rng = np.random.default_rng(0)
    X = np.linspace(0, 1, 9)[:, None]
    rising = Posterior.of(Data.of(X, X[:, 0], domain), Theta.of([0.5], 1.0, 1e-4))
    points = domain.uniform(rng, 64)
    incumbent = np.array([0.5])

    def chance(threshold: float, incumbent: np.ndarray | None = incumbent) -> float | None:
        falling = Posterior.of(Data.of(X, -X[:, 0], domain), Theta.of([0.5], 1.0, 1e-4))
        limits = (at_least((falling,), threshold),)
        return chance_of_improvement([rising], incumbent, points, 0.05, np.random.default_rng(1), limits=limits)

    assert chance_of_improvement([rising], incumbent, points, 0.05, np.random.default_rng(1)) == 1.0
    assert chance(-9.0) == 1.0  # nothing is excluded
    assert chance(0.0) == pytest.approx(0.0, abs=0.01)  # above 0.5 nothing is feasible
    assert chance(0.0, None) == 1.0  # below it something is
    assert chance(9.0, None) == 0.0


def test_pictures_mark_the_infeasible_and_count_the_feasible(constrained: tuple[Study, Diagnosis]) -> None:
    require("jinja2", "pip install 'uhebo[plot]'")
    study, found = constrained
    drawn = {picture.key: picture for picture in pictures(study, found)}
    traces: dict[str, Any] = {name: drawn["convergence"].chart.layer(name) for name in drawn["convergence"].chart.names}
    assert found.feasibility is not None
    assert len(traces["infeasible"].x) == found.feasibility.trials - found.feasibility.feasible
    assert found.prospects is not None
    assert traces["best so far"].y[-1] == found.prospects.best_value
    assert all(product(study, number) < 1 for number in traces["infeasible"].x)
    slice_: dict[str, Any] = {name: drawn["slice_1"].chart.layer(name) for name in drawn["slice_1"].chart.names}
    assert any(value is not None for value in slice_["likely infeasible"].y)
    assert slice_["best trial"].y == [found.prospects.best_value]
    surface: Any = drawn["map"].chart.layer("expected")
    assert (surface.spare < 0.0).any()
    assert (surface.spare > 0.0).any()
    page = report_html(study, diagnosis=found)
    assert "constraint product" in page
    assert "of the feasible" in page
