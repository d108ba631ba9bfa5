"""Every line of the page "Limits" is tried: a limit that is gone must leave the page."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution

import uhebo
from tests.pages import ROOT
from tests.waiting import LIMIT_S
from uhebo.errors import InvalidInputError
from uhebo.optuna_.believe import believe
from uhebo_experiments.benchmarks.real_runs import CASES

SQUARE: dict[str, Any] = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
TRIED: dict[str, Callable[[], object]] = {}


def limit(name: str) -> Callable[[Callable[[], object]], Callable[[], object]]:
    """A function that tries the limit of this name: what it asserts is what the page says."""

    def keep(function: Callable[[], object]) -> Callable[[], object]:
        TRIED[name] = function
        return function

    return keep


def total(x: float, y: float) -> float:
    return x + y


@limit("more than four objectives")
def five() -> None:
    with pytest.raises(InvalidInputError, match="expected 2 to 4"):
        uhebo.optimize(lambda x, y: (x, y, x, y, x), SQUARE, n_trials=3, directions=["minimize"] * 5)


@limit("several objectives with the paper's methods")
def paper_of_two() -> None:
    with pytest.raises(InvalidInputError, match="optimises one objective"):
        uhebo.optimize(lambda x, y: (x, y), SQUARE, n_trials=3, directions=["minimize"] * 2, method="uhe")


@limit('equations between continuous parameters (`"x + y == 1"`)')
def equation() -> None:
    with pytest.raises(InvalidInputError, match="measure zero"):
        uhebo.minimize(total, SQUARE, n_trials=3, subject_to="x + y == 1")


@limit("parameters without bounds, sets, free text")
def spaces() -> None:
    for given in ((0.0, float("inf")), {1, 2}, "anything"):
        wrong: Any = {"x": given}
        with pytest.raises(InvalidInputError, match="parameter 'x'"):
            uhebo.minimize(lambda x: x, wrong, n_trials=3)


def study_of(states: list[optuna.trial.TrialState]) -> optuna.Study:
    study = optuna.create_study(sampler=uhebo.UHESampler(seed=0))
    for i, state in enumerate(states):
        x = (i + 0.5) / len(states)
        done = state == optuna.trial.TrialState.COMPLETE
        study.add_trial(
            optuna.create_trial(
                state=state,
                params={"x": x},
                distributions={"x": FloatDistribution(0.0, 1.0)},
                value=(x - 0.4) ** 2 if done else None,
                intermediate_values={0: 1.0},
            )
        )
    return study


@limit("learning from pruned trials")
def pruned() -> None:
    complete, gone = optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED
    assert len(believe(study_of([complete] * 6 + [gone] * 3)).objective.data) == 6


@limit("learning from another task")
def other_task() -> None:
    complete = optuna.trial.TrialState.COMPLETE
    assert len(believe(study_of([complete] * 7)).objective.data) == 7  # all of them, whatever they come from


@limit("a guarantee of convergence")
def guarantee() -> None:
    with pytest.raises(InvalidInputError, match="the theorems are about uhe, ra"):
        uhebo.UHESampler(n_trials=20, guarantee=True)
    with pytest.raises(InvalidInputError, match="needs n_trials"):
        uhebo.UHESampler(method="uhe", guarantee=True)


POINTS = """
import numpy as np, uhebo
from threadpoolctl import threadpool_info
found = uhebo.minimize(lambda x, y: (x - 0.3) ** 2 + x * (y - 0.7) ** 2, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 10, seed=4)
print(*{each.get("architecture") for each in threadpool_info()}, *(repr(t.params["x"]) for t in found.study.trials))
"""


def points(processor: str) -> list[str]:
    """The kernels that OpenBLAS took, and the points of a search with them."""
    environment = {**os.environ, "OPENBLAS_CORETYPE": processor, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", POINTS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=LIMIT_S)
    return done.stdout.split()


@limit("the same points on every processor")
def repeated() -> None:
    """The linear algebra of two processors, on one that can do both."""
    old, again, new = points("Nehalem"), points("Nehalem"), points("Haswell")
    assert old == again
    if (old[0], new[0]) != ("Nehalem", "Haswell"):
        pytest.skip("needs NumPy with OpenBLAS on an x86-64 processor of 2013 or later")
    assert old[1:] != new[1:]
    np.testing.assert_allclose([float(x) for x in old[1:]], [float(x) for x in new[1:]], atol=1e-3)


@limit("values that change with time")
def drift() -> None:
    """The number of a trial is no input of the model."""
    belief = believe(study_of([optuna.trial.TrialState.COMPLETE] * 5))
    assert belief.space.names == ("x",)


@limit("many parameters")
def many() -> None:
    space: Any = {f"x{i}": (0.0, 1.0) for i in range(40)}
    result = uhebo.minimize(lambda **x: float(np.sum(list(x.values()))), space, n_trials=12, seed=0)
    assert len(result.best_params) == 40


@pytest.mark.parametrize("name", TRIED)
def test_a_limit_is_as_the_page_says(name: str) -> None:
    TRIED[name]()


def test_the_page_has_these_limits_and_no_others() -> None:
    rows = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8").partition("## Not tried")[0].splitlines()
    named = [row.split(" | ")[0].removeprefix("| ") for row in rows if row.startswith("| ")][2:]
    assert named == list(TRIED)


def test_as_many_parameters_as_the_page_says_were_measured() -> None:
    page = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    assert f"**More than {max(len(case.space) for case in CASES.values())} parameters.**" in page
