"""Practical problems: their optima by methods nobody here wrote, and every library on them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from optuna.distributions import FloatDistribution
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import qmc

from tests.conftest import require
from uhebo.errors import InvalidInputError
from uhebo_experiments.benchmarks import real_runs
from uhebo_experiments.benchmarks.real_runs import CASES, GROUPS, Cost, Run, plan, run, run_cost
from uhebo_experiments.peers import practical as peers
from uhebo_experiments.peers.practical import ENTRIES
from uhebo_experiments.problems.conditional import CONDITIONAL
from uhebo_experiments.problems.constrained import CONSTRAINED, STEP
from uhebo_experiments.problems.harsh import BOWLS, FAILING
from uhebo_experiments.problems.practical import Evaluation, Params, along

CLOSE = 1e-6
MODULES = {"optuna-gp": "torch", "botorch": "botorch", "smac3": "smac"}


@pytest.mark.parametrize("name", CASES)
def test_the_best_point_has_the_best_value_and_no_sobol_point_beats_it(name: str) -> None:
    case = CASES[name]
    assert all(case.active(key, case.best) for key in case.best)
    slack = 1e-4 if name == "pipeline" else CLOSE  # the value of a trained model depends on the processor
    found = case.evaluate(case.best)
    assert found.value == pytest.approx(case.optimum, rel=slack, abs=slack)
    assert max(found.constraints, default=0.0) <= CLOSE
    points = qmc.Sobol(len(case.space), seed=1).random(4 if name == "pipeline" else 512)
    evaluations = [case.evaluate(case.decode(row)) for row in points]
    assert min(e.value for e in evaluations if e.feasible and e.value is not None) > case.optimum - slack


@pytest.mark.parametrize("name", [name for name in CONSTRAINED if name != "pressure-vessel"])
def test_sequential_quadratic_programming_finds_the_same_optimum(name: str) -> None:
    case = CONSTRAINED[name]
    bounds = [(d.low, d.high) for d in case.space.values() if isinstance(d, FloatDistribution)]
    low, high = np.array(bounds).T

    def at(x: np.ndarray) -> Evaluation:
        return case.evaluate(dict(zip(case.space, x, strict=True)))

    kept = {"type": "ineq", "fun": lambda x: -np.array(at(x).constraints)}
    ends = []
    for start in np.random.default_rng(0).random((12, len(low))):
        end = minimize(lambda x: at(x).value, low + start * (high - low), bounds=bounds, constraints=kept, tol=1e-10)
        if max(at(end.x).constraints) <= CLOSE:
            ends.append(end.fun)
    assert min(ends) == pytest.approx(case.optimum, rel=CLOSE, abs=CLOSE)


def test_the_best_vessel_among_all_sheets() -> None:
    """For each pair of sheets the shortest vessel of the volume, and the best radius: cost grows with length."""

    def cost(radius: float, shell: int, head: int) -> float:
        length = (1_296_000.0 - 4.0 / 3.0 * math.pi * radius**3) / (math.pi * radius**2)
        found = case.evaluate({"shell": shell, "head": head, "radius": radius, "length": min(max(length, 10.0), 200.0)})
        assert found.value is not None
        return found.value if length <= 200.0 else math.inf

    case = CONSTRAINED["pressure-vessel"]
    costs = []
    for shell in range(1, 40):
        for head in range(1, 20):
            largest = min(shell * STEP / 0.0193, head * STEP / 0.00954, 200.0)
            if largest > 40.0:  # thinner vessels cannot hold the volume
                inner = minimize_scalar(cost, bounds=(40.0, largest), args=(shell, head), method="bounded")
                costs += [cost(largest, shell, head), inner.fun]
    assert min(costs) == pytest.approx(case.optimum, rel=CLOSE)


def test_constraints_are_active_and_regions_as_small_as_said() -> None:
    for case in CONSTRAINED.values():
        assert max(case.evaluate(case.best).constraints) == pytest.approx(0.0, abs=1e-4), case.name
    shares = {name: case.feasible_share() for name, case in CONSTRAINED.items()}
    assert 0.01 < shares["islands"] < 0.02
    assert all(share > 0.02 for name, share in shares.items() if name != "islands")
    assert sum(len(case.evaluate(case.best).constraints) == 3 for case in CONSTRAINED.values()) == 2
    assert {len(case.space) for case in CONSTRAINED.values()} == {2, 4, 7}


@pytest.mark.parametrize("name", CONDITIONAL)
def test_parameters_are_there_in_their_branch_only(name: str) -> None:
    case = CONDITIONAL[name]
    seen = [case.decode(row) for row in np.random.default_rng(0).random((200, len(case.space)))]
    assert set().union(*seen) == set(case.space)
    for params in seen:
        for key in case.space:
            condition = case.conditions.get(key)
            there = condition is None or params.get(condition.parent) in condition.values
            assert (key in params) == there
    assert len({frozenset(params) for params in seen}) > 1


def test_shares_of_a_range() -> None:
    space = CONDITIONAL["shared"].space
    assert [along(space["depth"], share) for share in (0.0, 0.55, 1.0)] == [1, 7, 12]
    assert along(space["rate"], 0.5) == pytest.approx(1e-2)
    assert [along(space["kind"], share) for share in (0.0, 0.49, 0.5, 1.0)] == ["tree", "tree", "net", "net"]
    counts = np.bincount([along(space["depth"], share) for share in np.linspace(0, 1, 12_001)])[1:]
    assert counts.min() > 990


def test_what_fails_and_what_is_punished() -> None:
    beyond = {"x": 0.9, "y": 0.5}
    assert BOWLS["bowl-raise"].evaluate(beyond).value is None
    assert [BOWLS[f"bowl-{text}"].evaluate(beyond).value for text in ("1e3", "1e6", "1e12")] == [1e3, 1e6, 1e12]
    assert FAILING["failing"].evaluate(beyond).value is None
    assert not FAILING["failing"].evaluate(beyond).feasible
    assert len({bowl.evaluate({"x": 0.5, "y": 0.5}).value for bowl in BOWLS.values()}) == 1


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        *((entry, name) for entry in ("uhebo", "optuna-tpe", "random") for name in ("product", "nested", "failing")),
        ("optuna-gp", "product"),
        ("botorch", "product"),
        ("smac3", "nested"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_every_library_runs(entry: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every one asks for active parameters and hears what came of them."""
    if entry in MODULES:
        require(MODULES[entry], "pip install 'uhebo-experiments[peers]'")
    case = CASES[name]
    seen: list[frozenset[str]] = []

    def evaluate(params: Params) -> Evaluation:
        assert all(case.active(key, params) == (key in params) for key in case.space)
        assert all(case.space[key]._contains(case.space[key].to_internal_repr(params[key])) for key in params)
        seen.append(frozenset(params))
        return case.evaluate(params)

    monkeypatch.setattr(peers, "SOBOL_POINTS", 4)
    short = replace(case, evaluate=evaluate, trials=5 if entry in ("botorch", "smac3") else 12)
    monkeypatch.setitem(real_runs.CASES, name, short)
    records = run(Run(entry, name, 0))
    assert len(records) == short.trials == len(seen)
    assert "error" not in records[-1]
    for record in records:
        assert ("value" in record) != ("failed" in record)
        assert record["seconds"] >= 0.0
    assert records[0]["version"]
    if name == "product":
        assert {"infeasible" in record for record in records} == {True, False}


def test_constraints_reach_the_study() -> None:
    entry = ENTRIES["uhebo"](CONSTRAINED["rosen-suzuki"], 0)
    assert isinstance(entry, peers.OptunaEntry)
    params = entry.ask()
    entry.tell(params, CONSTRAINED["rosen-suzuki"].evaluate(params))
    (trial,) = entry.study.trials
    assert tuple(trial.constraints.values()) == CONSTRAINED["rosen-suzuki"].evaluate(params).constraints


def test_what_constraints_cost_is_measured_turn_by_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_runs, "TIMED", 2)
    (record,) = run_cost(Cost("optuna-tpe", 11, 0))
    assert record["constrained"] > 0.0
    assert record["plain"] > 0.0


def test_an_error_of_another_library_ends_its_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Breaking(peers.Random):
        told = 0

        def tell(self, params: Params, found: Evaluation) -> None:  # noqa: ARG002
            self.told += 1
            if self.told == 3:
                raise ZeroDivisionError("deep inside")

    monkeypatch.setitem(ENTRIES, "optuna-tpe", Breaking)
    records = run(Run("optuna-tpe", "product", 0))
    assert len(records) == 2
    assert records[-1]["error"] == "ZeroDivisionError: deep inside"
    monkeypatch.setitem(ENTRIES, "uhebo", Breaking)
    with pytest.raises(ZeroDivisionError):  # an error of ours is not for a footnote
        run(Run("uhebo", "product", 0))


def test_the_plan_goes_seed_by_seed_and_names_are_checked() -> None:
    cells = plan(2)
    assert len(cells) == len(set(cells)) == 2 * sum(len(cases) * len(entries) for cases, entries in GROUPS.values())
    assert [cell.seed for cell in cells] == sorted(cell.seed for cell in cells)
    assert {cell.entry for cell in plan(1, problems=["product"])} == set(GROUPS["constrained"][1])
    with pytest.raises(InvalidInputError, match="unknown entry 'gp'"):
        plan(1, ["gp"])
    with pytest.raises(InvalidInputError, match="unknown problem 'branin'"):
        plan(1, problems=["branin"])
