"""Several objectives away from one Python process: resumed, replayed, by many workers, from programs, in the shell."""

from __future__ import annotations

import multiprocessing
import sys
from functools import partial
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.study import Study

import uhebo
from tests.shell import Shell
from tests.waiting import LIMIT_S
from tests.worker_control import FORKS, in_processes
from uhebo import UHESampler
from uhebo.optuna_.constraints import constraints_of
from uhebo.optuna_.endings import SKIPPED
from uhebo.workers.trials import OVER

DIRECTIONS: Any = ["minimize", "minimize", "maximize"]
TRIALS, BREAK = 14, 9
GOALS = ("--objective", "yield:maximize", "--objective", "cost:minimize")
SPACE = ("--param", "x=float:0:1", "--param", "y=float:0:1", "--seed", "1", "--startup", "4")


def objective(trial: optuna.Trial) -> tuple[float, float, float]:
    """A mixed space with a branch, a constraint, a failure and three objectives."""
    x = trial.suggest_float("x", 0.0, 1.0)
    steps = trial.suggest_int("steps", 1, 64, log=True)
    kind = trial.suggest_categorical("kind", ["a", "b"])
    extra = trial.suggest_float("extra", 0.0, 1.0) if kind == "b" else 0.2
    trial.set_user_attr("limit", x + extra - 1.5)
    if trial.number == 5:
        return float("nan"), 0.0, 0.0
    return (x - 0.3) ** 2 + extra, steps / 64 + 0.1 * x, -abs(x - extra) + steps / 100


def limits(trial: optuna.trial.FrozenTrial) -> tuple[float]:
    return (trial.user_attrs["limit"],)


def sampler() -> UHESampler:
    return UHESampler(seed=3, n_trials=TRIALS, n_startup_trials=5, constraints_func=limits)


def go_on(storage: str, n_trials: int) -> None:
    """In a process of its own."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        storage=storage, study_name="three", sampler=sampler(), load_if_exists=True, directions=DIRECTIONS
    )
    study.optimize(objective, n_trials=n_trials)


@pytest.fixture(scope="module")
def whole() -> Study:
    study = optuna.create_study(directions=DIRECTIONS, sampler=sampler())
    study.optimize(objective, n_trials=TRIALS)
    return study


def test_two_processes_in_turn_do_what_one_does(whole: Study, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'three.db'}"
    fresh = multiprocessing.get_context("spawn")  # nothing inherited, not even the seed of hashes
    in_processes(partial(go_on, storage, BREAK), context=fresh)
    in_processes(partial(go_on, storage, TRIALS - BREAK), context=fresh)
    resumed = optuna.load_study(storage=storage, study_name="three").trials
    for one, other in zip(whole.trials, resumed, strict=True):
        assert one.params == pytest.approx(other.params, abs=1e-9)
        assert constraints_of(one) == pytest.approx(constraints_of(other), abs=1e-9)
    assert [trial.state.name for trial in resumed].count("FAIL") == 1


@pytest.mark.parametrize("number", [6, BREAK, TRIALS - 1])
def test_a_suggestion_is_worked_out_from_the_log_alone(whole: Study, number: int) -> None:
    again = optuna.create_study(directions=DIRECTIONS, sampler=sampler())
    again.add_trials(whole.trials[:number])
    trial = again.ask()
    objective(trial)
    assert trial.params == pytest.approx(whole.trials[number].params, abs=1e-9)


def two(x: float, y: float) -> tuple[float, float]:
    return x * (2 - x) + y / 9, x + y


def run_worker(storage: str) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    towards: Any = {"yield": "maximize", "cost": "minimize"}
    uhebo.work(two, space, 16, storage=storage, study_name="two", directions=towards, seed=0, n_startup_trials=4)


def test_two_workers_at_once_share_a_front(tmp_path: Path) -> None:
    """Every trial once, no point twice, and the front is that of all their trials."""
    storage = f"sqlite:///{tmp_path / 'two.db'}"
    in_processes(partial(run_worker, storage), partial(run_worker, storage), context=FORKS)
    result = uhebo.load(storage)
    assert isinstance(result, uhebo.pareto_result.ParetoResult)
    run = [trial for trial in result.study.trials if trial.user_attrs.get(SKIPPED) != OVER]
    assert [trial.state.name for trial in run] == ["COMPLETE"] * 16
    assert len({tuple(trial.params.values()) for trial in run}) == 16
    assert [trial.number for trial in result.front] == [trial.number for trial in result.study.best_trials]
    assert len(result.front) >= 4


def test_workers_take_one_direction_or_several(tmp_path: Path) -> None:
    given: dict[str, Any] = {"storage": str(tmp_path / "two.db"), "study_name": "two"}
    with pytest.raises(uhebo.errors.InvalidInputError, match="both given; directions is for several objectives"):
        uhebo.work(two, {"x": (0, 1)}, 3, direction="minimize", directions=["minimize"] * 2, **given)
    assert not (tmp_path / "two.db").exists()


# Programs


PROGRAM = """
import sys
x, y = map(float, sys.argv[1:3])
print("epoch 1 yield=0.0")
print(f"cost={x + y}")
print(f"yield={x * (2 - x) + y / 9}")
"""


def test_programs_that_print_several_numbers(shell: Shell) -> None:
    program = (sys.executable, str(shell.write("trade.py", PROGRAM)), "{x}", "{y}")
    shell("optimize", *SPACE, *GOALS, "--trials", "4", "--storage", "run.db", "--", *program)
    shell("create", "work.db", *SPACE, *GOALS, "--trials", "4")
    shell("worker", "--storage", "work.db", "--timeout", str(LIMIT_S), "--", *program)
    for file in ("run.db", "work.db"):
        rows = shell.json("history", file)
        assert len(rows) == 4
        for row in rows:
            x, y = row["params"].values()
            assert row["values"] == {"yield": pytest.approx(x * (2 - x) + y / 9), "cost": pytest.approx(x + y)}


# The shell


FILE = """objectives = {yield = "maximize", cost = "minimize"}
reference_point = {yield = 0.3, cost = 1.5}
seed = 1

[parameters]
x = {type = "float", low = 0, high = 1}
"""
RESULTS = (
    "x,yield,cost\n0.0,0.02,0.0\n0.2,0.36,0.2\n0.2,0.40,0.18\n0.4,0.64,0.4\n0.7,0.91,0.7\n0.9,0.99,0.9\n1.0,0.97,1.1\n"
)


@pytest.fixture
def lab(shell: Shell) -> Shell:
    shell("create", "lab.db", "--space", shell.write("space.toml", FILE))
    shell("tell", "lab.db", "--csv", shell.write("known.csv", RESULTS))
    return shell


def test_the_reference_point_of_a_space_file(lab: Shell) -> None:
    found = lab.json("best", "lab.db")
    assert found["reference_point"] == {"yield": 0.3, "cost": 1.5}
    assert "Not better than the reference point (yield 0.3, cost 1.5) in every objective: trial 0." in lab(
        "best", "lab.db"
    )


def test_best_says_what_was_measured_again_and_what_is_on_a_bound(lab: Shell) -> None:
    said = lab("best", "lab.db")
    assert "Trials 1 and 2 measured the same point, on average yield 0.380 ± 0.020, cost 0.190 ± 0.010." in said
    assert "On the front, x = 0 is the lowest value of its range" in said
    found = lab.json("best", "lab.db")
    assert [1, 2] in [each["numbers"] for each in found["recommended"]]


def test_one_point_of_the_front_is_picked(lab: Shell) -> None:
    given = ("--within", "cost <= 0.5", "--weight", "yield=1")
    assert "trial │ 3" in " ".join(lab("best", "lab.db", *given).split())
    found = lab.json("best", "lab.db", *given, "--by", "measured")
    assert found["values"] == {"yield": 0.64, "cost": 0.4}
    low, high = found["predicted"]["cost"][1:]
    assert low <= 0.4 <= high


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--within", "cost < 1"), "--within is 'cost < 1'; expected what is measured and its limit with >= or <="),
        (("--within", "price <= 1"), "there is no objective 'price'; the objectives are yield, cost"),
        (("--within", "cost <= -1"), "no point of the front is within"),
        (("--weight", "yield"), "--weight is 'yield'; expected NAME=NUMBER, such as yield=2"),
        (("--weight", "yield=1", "--by", "luck"), "unknown by 'luck'; choose one of measured, expected"),
    ],
)
def test_a_point_that_cannot_be_picked(lab: Shell, given: tuple[str, ...], message: str) -> None:
    assert message in lab.refuses("best", "lab.db", *given)


def test_one_objective_has_no_front_to_pick_from(shell: Shell) -> None:
    shell("create", "one.db", *SPACE)
    assert "this study has one objective" in shell.refuses("best", "one.db", "--weight", "value=1")


def test_predict_has_a_second_opinion_on_each_objective(lab: Shell) -> None:
    found = lab.json("predict", "lab.db", "x=0.3")["second_opinion"]
    assert list(found) == ["yield", "cost"]
    assert found["cost"]["low"] < 0.3 < found["cost"]["high"]
    assert lab("predict", "lab.db", "x=0.3").count("second opinion") >= 2
