"""Several objectives and constraints in the shell: declared, told by name and in CSV, shown, refused where wrong."""

from __future__ import annotations

import csv
import io
import re
import sys
from pathlib import Path

import hypothesis
import numpy as np
import optuna
import pytest
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import create_trial

import uhebo
from tests.shell import Shell
from tests.waiting import LIMIT_S
from uhebo.cli.bounds import Bound
from uhebo.cli.live import line_of
from uhebo.cli.reading import Reading
from uhebo.diagnosis.tradeoffs import trade_offs
from uhebo.errors import EvaluationFailed, InvalidInputError
from uhebo.optuna_.believe import believe
from uhebo.optuna_.points import promising_point
from uhebo.pareto_result import ParetoResult

pytestmark = pytest.mark.usefixtures("rough_importances")

SPACE = ("--param", "x=float:0:1", "--param", "y=float:0:1", "--seed", "1", "--startup", "4")
GOALS = ("--objective", "yield:maximize", "--objective", "cost:minimize")


@pytest.fixture
def lab(shell: Shell) -> Shell:
    shell("create", "lab.db", *SPACE, *GOALS)
    return shell


def rows(table: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table)))


OWN = """x,y,yield,cost
0.1,0.1,30,1
0.3,0.2,50,2
0.5,0.3,65,4
0.7,0.4,75,7
0.9,0.5,80,11
0.2,0.9,20,9
0.4,0.4,,failed
"""


def test_a_round_trip(lab: Shell) -> None:
    assert "maximize yield, minimize cost" in lab.err
    lab("suggest", "lab.db", "-n", "2")
    assert "uhebo tell lab.db 0 yield=NUMBER cost=NUMBER" in lab.err
    assert "has no finished trial" in lab.refuses("best", "lab.db", "--json")
    lab("tell", "lab.db", "0", "cost=4.1", "yield=-8.5")  # in any order
    assert "1 on the front" in lab.err
    assert lab.json("history", "lab.db")[0]["values"] == {"yield": -8.5, "cost": 4.1}
    lab("tell", "lab.db", "--csv", lab.write("own.csv", OWN))
    assert "added 7; 7 finished; 5 on the front" in lab.err

    found = lab.json("best", "lab.db")
    assert found["objectives"] == {"yield": "maximize", "cost": "minimize"}
    assert {row["number"] for row in found["front"]} == {2, 3, 4, 5, 6}
    assert found["front"][0]["values"] == {"yield": 30.0, "cost": 1.0}
    assert found["reference_point"] == {"yield": -8.5, "cost": 11.0}
    # From (50, 2) to (75, 7).
    said = "Near the middle of the front, from trial 3 to trial 5, 25 more yield costs 5 more cost."
    assert found["trade_offs"] == [said]
    shown = lab("best", "lab.db")
    assert "yield (maximize)" in shown
    assert said in shown
    assert "maximize yield, minimize cost" in lab("status", "lab.db")
    assert lab.json("status", "lab.db")["front"] == 5

    table = lab("history", "lab.db", "--csv")
    assert list(rows(table)[0]) == ["number", "state", "yield", "cost", "x", "y"]
    lab("create", "again.db", *SPACE, *GOALS)
    lab("tell", "again.db", "--csv", lab.write("all.csv", table))
    again = lab.json("best", "again.db")
    assert [row["values"] for row in again["front"]] == [row["values"] for row in found["front"]]
    assert "in this study already" in lab.refuses("tell", "again.db", "--csv", "all.csv")

    batch = rows(lab("suggest", "lab.db", "--csv"))
    assert list(batch[0]) == ["number", "x", "y", "yield", "cost"]
    lab("tell", "lab.db", "--csv", lab.write("batch.csv", f"number,cost,yield\n{batch[0]['number']},3,55\n"))
    study = optuna.load_study(study_name="lab", storage="sqlite:///lab.db")
    assert study.metric_names == ["yield", "cost"]
    result = uhebo.load("lab.db")
    assert isinstance(result, ParetoResult)
    assert len(result.front) == 6
    assert study.trials[-1].values == [55.0, 3.0]

    each = lab.json("diagnose", "lab.db")
    assert set(each) == {"yield", "cost"}
    assert lab.json("diagnose", "lab.db", "--objective", "cost") == each["cost"]
    assert each["cost"] != each["yield"]
    assert "the study has yield, cost" in lab.refuses("diagnose", "lab.db", "--objective", "time")


def test_what_is_missing_or_wrong_is_refused_and_nothing_is_stored(lab: Shell) -> None:
    lab("suggest", "lab.db", "-n", "2")
    for given, said in (
        (("81.2",), "told was '81.2'; expected yield=NUMBER cost=NUMBER"),
        (("81.2", "4.1"), "told was '81.2'"),
        (("yield=81.2",), "cost is missing"),
        (("yield=81.2", "cost="), "cost is empty"),
        (("yield=nan", "cost=4"), "yield is 'nan', which is not a number"),
        (("yield=81", "cost=four"), "cost is 'four'"),
        (("yield=81", "cost=4", "time=3"), "told was 'time=3'; expected yield=NUMBER cost=NUMBER"),
        (("yield=81", "yield=82", "cost=4"), "yield is given twice"),
        (("Yield=81", "cost=4"), "did you mean yield=81?"),
    ):
        assert said in lab.refuses("tell", "lab.db", "0", *given)
    for number, (text, said) in enumerate((
        ("number,yield\n0,1\n", "column 'cost' is missing"),
        ("number,value\n0,1\n", "column 'yield' is missing"),
        ("number,yield,cost\n0,1,2\n1,2,\n", "line 3: cost is empty"),
        ("number,yield,cost\n0,1,2\n1,nan,2\n", "line 3: yield is 'nan'"),
        ("number,yield,cost\n0,1,2\n1,failed,2\n", "a trial fails as a whole"),
    )):  # fmt: skip
        assert said in lab.refuses("tell", "lab.db", "--csv", lab.write(f"{number}.csv", text))
    ok = lab.write("ok.csv", "number,yield,cost\n0,1,2\n")
    assert "--value-column is for one" in lab.refuses("tell", "lab.db", "--csv", ok, "--value-column", "yield")
    assert {row["state"] for row in lab.json("history", "lab.db")} == {"waiting"}
    lab("tell", "lab.db", "0", "--failed")


def test_objectives_are_declared_in_one_form(shell: Shell) -> None:
    one, two = ("--objective", "a:maximize"), ("--objective", "b:minimize")
    for arguments, said in (
        (("--objective", "yield"), "expected NAME:minimize or NAME:maximize"),
        (("--objective", "yield:up"), "expected NAME:minimize or NAME:maximize"),
        ((*one, "--objective", "a:minimize"), "objective 'a' is given twice"),
        ((*one, "--objective", "x:minimize"), "'x' has the name of a parameter"),
        ((*one, "--objective", "number:minimize"), "'number' has the name of"),
        ((*one, "--objective", "b=c:minimize"), "without = < > :"),
        ((*one, *two, "--direction", "maximize"), "a direction and objectives were both given"),
        ((*one, *two, "--constraint", "a >= 3"), "about the objective 'a'"),
        ((*one, *two, "--method", "uhe"), "optimises one objective, and there are 2"),
        ((*one, *two, "--acquisition", "ucb"), "expected gain of hypervolume"),
        ((*one, *two, "--reference", "a=1"), "the reference point is of a; expected one for each of a, b"),
        ((*one, *two, "--reference", "a=1", "--reference", "b=nan"), "the reference of b is 'nan'"),
        ((*one, "--reference", "a=1"), "give --objective"),
        ([w for n in "abcde" for w in ("--objective", f"{n}:minimize")], "there are 5 objectives"),
    ):
        assert said in shell.refuses("create", "lab.db", *SPACE, *arguments)
    assert not (shell.folder / "lab.db").exists()
    end = "[parameters]\nx = [0.0, 1.0]\n"
    for name, text, said in (
        ("list.toml", f'objectives = ["a"]\n{end}', 'such as {a = "maximize"}'),
        ("way.toml", f'objectives = {{a = "up"}}\n{end}', "the direction of 'a' is 'up'"),
        ("both.toml", f'direction = "minimize"\n[objectives]\na = "minimize"\n{end}', "both given"),
        ("a.json", '{"objectives": {"a": "minimize", "a": "maximize"}, "parameters": {"x": [0, 1]}}', "twice"),
    ):
        assert said in shell.refuses("create", "bad.db", "--space", shell.write(name, text))
    space = shell.write("s.toml", f'{end}[objectives]\nyield = "maximize"\n"unit cost" = "minimize"\n')
    shell("create", "lab.db", "--space", space, "--objective", "time:maximize", "--objective", "unit cost:maximize")
    shown = shell.json("status", "lab.db")["objectives"]
    assert shown == {"yield": "maximize", "unit cost": "maximize", "time": "maximize"}  # an option wins
    shell("suggest", "lab.db")
    shell("tell", "lab.db", "0", "unit cost=3", "yield=2", "time=1")


def test_one_objective_with_a_name(shell: Shell) -> None:
    shell("create", "lab.db", *SPACE, "--objective", "yield:maximize", "--constraint", "purity >= 95")
    shell("suggest", "lab.db", "-n", "3")
    assert "0 yield=NUMBER purity=NUMBER" in shell.err
    shell("tell", "lab.db", "0", "41.5", "purity=96")
    shell("tell", "lab.db", "1", "purity=97", "yield=44")
    shell("tell", "lab.db", "--csv", shell.write("a.csv", "number,yield,purity\n2,43,99\n"))
    shell("tell", "lab.db", "--csv", shell.write("b.csv", "x,y,value,purity\n0.5,0.5,20,99\n"))
    found = shell.json("best", "lab.db")
    assert (found["value"], found["direction"]) == (44.0, "maximize")
    assert "yield" in shell("best", "lab.db")
    assert list(rows(shell("history", "lab.db", "--csv"))[0])[:3] == ["number", "state", "yield"]


FUNCTIONS = """
def both(x, y):
    return {"cost": x + y, "yield": x * (2 - x) + y / 9}

def pair(x, y):
    return x * (2 - x) + y / 9, x + y

def half(x, y):
    return {"yield": x}

def broken(x, y):
    return float("nan"), x
"""


def test_part_of_the_space_near_a_trial_and_a_shared_setting_with_several_objectives(lab: Shell) -> None:
    lab("tell", "lab.db", "--csv", lab.write("own.csv", OWN.replace("0.4,0.4,,failed\n", "")))
    fixed = [row["params"] for row in lab.json("suggest", "lab.db", "-n", "3", "--fix", "x=0.25")]
    assert {params["x"] for params in fixed} == {0.25}
    assert len({params["y"] for params in fixed}) == 3
    (near,) = lab.json("suggest", "lab.db", "--near", "2")
    assert abs(near["params"]["x"] - 0.5) <= 0.1
    assert abs(near["params"]["y"] - 0.3) <= 0.1
    shared = [row["params"] for row in lab.json("suggest", "lab.db", "-n", "3", "--same", "y")]
    assert len({params["y"] for params in shared}) == 1
    assert len({params["x"] for params in shared}) == 3


def test_the_point_of_a_part_gains_hypervolume() -> None:
    """Of all of the space it is nearly the point that the method would take, and so with a reference point."""
    study = optuna.create_study(directions=["maximize", "maximize"], sampler=uhebo.UHESampler(seed=1))
    space: dict[str, BaseDistribution] = {"x": FloatDistribution(0.0, 1.0)}
    for x in (0.0, 0.2, 0.45, 0.8, 1.0):
        study.add_trial(create_trial(values=[x, 1.0 - x * x], params={"x": x}, distributions=space))
    belief = believe(study)
    nothing, rng = np.empty((0, 1)), np.random.default_rng(0)
    widest = promising_point(belief.space, belief, nothing, rng)["x"]
    assert 0.45 < widest < 0.8
    # Nothing below this reference point counts: only large x are worth a trial.
    assert promising_point(belief.space, belief, nothing, rng, reference=(0.85, 0.0))["x"] > 0.85
    pending = belief.space.encode({"x": widest})[None]
    assert abs(promising_point(belief.space, belief, pending, rng)["x"] - widest) > 0.05


def test_optimize_and_workers_take_what_functions_return(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write("trade.py", FUNCTIONS)
    monkeypatch.syspath_prepend(str(shell.folder))
    reference = ("--reference", "cost=1.5", "--reference", "yield=0.5")
    done = shell.json("optimize", "trade:both", *SPACE, *GOALS, *reference, "--trials", "6", "--storage", "a.db")
    assert done["trials"] == {"finished": 6}
    assert done["reference_point"] == {"yield": 0.5, "cost": 1.5}
    assert "on the front" in shell.err
    shell("optimize", "trade:pair", "--storage", "a.db", "--more", "1", *GOALS)
    for row in shell.json("history", "a.db"):
        x, y = row["params"].values()
        assert row["values"] == {"yield": pytest.approx(x * (2 - x) + y / 9), "cost": pytest.approx(x + y)}
    for function, said in (("half", '"yield": number, "cost": number'), ("broken", "yield is NaN")):
        shell("optimize", f"trade:{function}", "--storage", "a.db", "--more", "1", code=1)
        assert said in shell.err
        assert "every trial of this run failed" in shell.err
        assert shell.json("history", "a.db")[-1]["values"] == {"yield": None, "cost": None}
    for given, said in (
        (("--objective", "yield:minimize", "--objective", "cost:minimize"), "other objectives (yield:maximize, cost"),
        (("--objective", "yield:maximize"), "other objectives"),
        (
            (*GOALS, "--reference", "yield=9", "--reference", "cost=1"),
            "another reference_point ([0.5, 1.5]",
        ),
        (("--direction", "maximize"), "another direction (2 objectives"),
    ):
        assert said in shell.refuses("optimize", "trade:both", "--storage", "a.db", *given)

    shell("create", "w.db", *SPACE, *GOALS, "--constraint", "mass <= 3", "--trials", "3")
    shell.write("trade2.py", "def both(x, y):\n    return {'cost': x + y, 'yield': x, 'mass': 2 * y}\n")
    arguments = ("worker", "trade2:both", "--storage", "w.db", "--spool", "spool", "--log", "log")
    shell(*arguments, "--trials", "2", "--timeout", str(LIMIT_S))
    shell(*arguments)
    for row in shell.json("history", "w.db"):
        x, y = row["params"].values()
        assert row["values"] == {"yield": x, "cost": x + y}
        assert row["constraints"] == {"mass <= 3": pytest.approx(2 * y - 3)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yield=81.2 cost=4.1", (81.2, 4.1)),
        ("cost: -4.1\nyield : 8.12e1\n", (81.2, -4.1)),
        ('{"yield": 81.2,\n "cost": 4.1}', (81.2, 4.1)),
        ("yield 3\nepoch 7\nyield 81.2, cost 4.1.\ndone in 12s", (81.2, 4.1)),
        ("yield=81.2%\ntotal cost=9\ncost=$4.1", (81.2, 4.1)),
        ("\x1b[1myield\x1b[0m=81.2 cost=0.41D+01", (81.2, 4.1)),
        ("yield=81.2", "no cost; let it print yield=NUMBER cost=NUMBER"),
        ("yield=81.2 cost=high", "'high' for cost"),
        ("yield=81.2 cost=1,234.5", "'1,234.5' for cost"),
        ("yield=nan cost=4", "yield is NaN"),
        ("81.2 4.1", "no yield"),
    ],
)
def test_what_a_program_prints(text: str, expected: tuple[float, ...] | str) -> None:
    reading = Reading(("yield", "cost"), ())
    if isinstance(expected, tuple):
        assert reading.printed(text, None) == expected
    else:
        with pytest.raises(EvaluationFailed, match=expected):
            reading.printed(text, None)


def test_one_objective_with_a_name_is_read_by_it() -> None:
    reading = Reading(("loss",), ())
    assert reading.printed("loss=0.3\ntook 12", None) == 0.3
    with pytest.raises(EvaluationFailed, match="no loss; let it print loss=NUMBER"):
        reading.printed("0.3", None)
    assert [reading.value(given, None) for given in (0.3, {"loss": 0.3}, {"value": 0.3})] == [0.3] * 3
    assert Reading((), ()).printed("loss=0.3\ntook 12", None) == 12.0


def test_a_longer_name_is_not_taken_for_a_shorter_one() -> None:
    assert Reading(("cost", "total cost"), ()).printed("cost=3\ntotal cost=9", None) == (3.0, 9.0)


def test_a_study_of_optunas(shell: Shell) -> None:
    study = optuna.create_study(storage="sqlite:///mine.db", study_name="mine", directions=["minimize", "maximize"])
    study.optimize(lambda t: (t.suggest_float("x", 0, 1), t.params["x"] ** 2), n_trials=3)
    assert list(shell.json("best", "mine.db")["objectives"]) == ["value_0", "value_1"]
    shell("suggest", "mine.db")
    shell("tell", "mine.db", "3", "value_0=0.5", "value_1=0.2")
    five = optuna.create_study(storage="sqlite:///five.db", directions=["minimize"] * 5)
    five.optimize(lambda t: [t.suggest_float("x", 0, 1)] * 5, n_trials=1)
    assert "up to 4 objectives and this study has 5" in shell.refuses("suggest", "five.db")
    assert "value_4" in shell("history", "five.db")


@hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture], max_examples=50)
@hypothesis.given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=3, max_size=12, unique=True))
def test_trade_offs_of_two_are_between_trials_of_the_front(values: list[tuple[int, int]]) -> None:
    """Also at its ends, where a slope would promise what no trial has."""
    study = optuna.create_study(directions=["maximize", "minimize"])
    for pair in values:
        study.add_trial(create_trial(params={}, distributions={}, values=[float(v) for v in pair]))
    front = {trial.number: trial.values for trial in study.best_trials}
    for each in trade_offs(study):
        assert each.to is not None
        here, there = front[each.trial], front[each.to]
        assert (there[0] - here[0], there[1] - here[1]) == (each.step, each.price)
        assert each.step > 0
        assert each.price > 0


# ---------------------------------------------------------------------------------------------------- constraints

BOUNDED = ("--param", "x=float:0:3", "--param", "y=float:0:3", "--seed", "1")


@pytest.fixture
def limited(shell: Shell) -> Shell:
    """A study that minimises x + y, with the product to be at least 1 and the sum at most 5."""
    shell("create", "lab.db", *BOUNDED, "--constraint", "product >= 1", "--constraint", "sum<=5.0")
    return shell


def test_a_round_trip_with_constraints(limited: Shell) -> None:
    limited("suggest", "lab.db", "-n", "2")
    assert "VALUE product=NUMBER sum=NUMBER" in limited.err
    limited("tell", "lab.db", "0", "0.2", "product=-0.01", "sum=0.2")
    assert "no feasible trial among 1 finished; the nearest is trial 0 (product >= 1 is missed by 1.01)" in limited.err
    assert "missed by 1.01" in limited.refuses("best", "lab.db")
    limited("tell", "lab.db", "1", "3", "product=2", "sum=3")
    own = limited.write("own.csv", "x,y,product,sum,value\n1,1,1,2,2\n0,0,0,0,0\n3,3,9,6,6\n0.5,0.5,,,failed\n")
    limited("tell", "lab.db", "--csv", own)
    assert "best so far 2 (trial 2)" in limited.err
    assert limited.json("best", "lab.db")["number"] == 2
    assert "product" in limited("best", "lab.db")
    history = limited.json("history", "lab.db")
    assert [row.get("feasible") for row in history] == [False, True, True, False, False, None]
    assert history[4]["constraints"] == {"product >= 1": -8.0, "sum <= 5": 1.0}
    shown = limited.json("status", "lab.db")
    assert (shown["constraints"], shown["feasible"]) == (["product >= 1", "sum <= 5"], 2)
    assert "2 of 5 finished" in limited("status", "lab.db")

    table = limited("history", "lab.db", "--csv")
    assert [row["feasible"] for row in rows(table)] == ["no", "yes", "yes", "no", "no", ""]
    assert [row["product"] for row in rows(table)][:3] == ["-0.01", "2.0", "1.0"]
    limited("create", "again.db", *BOUNDED, "--constraint", "product >= 1", "--constraint", "sum <= 5")
    limited("tell", "again.db", "--csv", limited.write("all.csv", table))
    assert limited.json("best", "again.db")["value"] == 2.0
    assert rows(limited("history", "again.db", "--csv")) == [{**row, "number": row["number"]} for row in rows(table)]

    batch = rows(limited("suggest", "lab.db", "-n", "1", "--csv"))
    assert list(batch[0]) == ["number", "x", "y", "value", "product", "sum"]
    filled = "number,value,product,sum\n" + f"{batch[0]['number']},2.5,1.5,2.5\n"
    limited("tell", "lab.db", "--csv", limited.write("batch.csv", filled))
    found = limited.json("diagnose", "lab.db")
    assert found["feasibility"]["feasible"] == 3
    limited("report", "lab.db", "-o", "report.html")
    page = (limited.folder / "report.html").read_text(encoding="utf-8")
    assert "constraint product &gt;= 1" in page
    assert "<th" in page


def test_what_is_missing_or_wrong_is_refused_and_nothing_is_stored_with_constraints(limited: Shell) -> None:
    limited("suggest", "lab.db", "-n", "2")
    for others, said in (
        ((), "product is missing"),
        (("product=2",), "sum is missing"),
        (("product=nan", "sum=1"), "product is 'nan', expected a number"),
        (("product=two", "sum=1"), "product is 'two'"),
        (("product=2", "sum=1", "mass=3"), "'mass=3'; expected product=NUMBER sum=NUMBER"),
        (("product=2", "product=2", "sum=1"), "product is given twice"),
        (("product", "sum=1"), "'product'"),
    ):
        assert said in limited.refuses("tell", "lab.db", "0", "1.5", *others)
    for name, text, said in (
        ("a.csv", "number,value\n0,1\n", "column 'product' is missing"),
        (
            "b.csv",
            "number,value,product,sum\n0,1,1,1\n1,2,,1\n",
            "line 3: product is empty; until it is there leave all results of the row (value, product, sum) empty",
        ),
        ("c.csv", "number,value,product,sum\n0,1,nan,1\n", "line 2: product is 'nan'"),
    ):
        assert said in limited.refuses("tell", "lab.db", "--csv", limited.write(name, text))
    assert {row["state"] for row in limited.json("history", "lab.db")} == {"waiting"}
    limited("tell", "lab.db", "0", "--failed")
    shell = limited
    shell("create", "plain.db", *BOUNDED)
    shell("suggest", "plain.db")
    assert "no constraints" in shell.refuses("tell", "plain.db", "0", "1", "product=2")


def test_constraints_are_declared_in_one_form(shell: Shell) -> None:
    for text, said in (
        ("purity", "such as 'purity >= 95'"),
        ("dose > 95", "with >= or <=, such as 'dose >= 95'"),
        ("purity >= much", "such as"),
        ("purity >= nan", "such as"),
        ("x >= 1", "parameter"),
        ("value <= 1", "column of our tables"),
    ):
        assert said in shell.refuses("create", "lab.db", *BOUNDED, "--constraint", text)
    space = shell.write("s.toml", 'constraints = ["flow rate <= 2.5"]\n[parameters]\nx = [0.0, 1.0]\n')
    shell("create", "lab.db", "--space", space)
    assert shell.json("status", "lab.db")["constraints"] == ["flow rate <= 2.5"]
    bad = shell.write("bad.toml", 'constraints = "a <= 1"\n[parameters]\nx = [0.0, 1.0]\n')
    assert "expected a list" in shell.refuses("create", "bad.db", "--space", bad)
    assert str(Bound.parse(" pH>=7.10 ")) == "pH >= 7.1"
    with pytest.raises(InvalidInputError, match="expected what is measured"):
        Bound.parse("a <= b <= 3")


FUNCTION = """
def area(x, y):
    return {"value": x + y, "product": x * y}

def forgetful(x, y):
    return {"value": x + y}
"""


def test_optimize_takes_constraints_from_a_function(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write("limited_area.py", FUNCTION)
    monkeypatch.syspath_prepend(str(shell.folder))
    limit = ("--constraint", "product >= 1")
    done = shell.json("optimize", "limited_area:area", *BOUNDED, *limit, "--trials", "14", "--storage", "a.db")
    assert 2.0 <= done["best"]["value"] < 2.6
    assert done["best"]["feasible"]
    said = shell.refuses  # five failures end the run
    shell("optimize", "limited_area:forgetful", *BOUNDED, *limit, "--trials", "1", "--storage", "b.db", code=1)
    assert "product is missing" in shell.err
    assert "its value was" in shell.err
    assert "other constraints" in said("optimize", "limited_area:area", "--storage", "a.db", "--constraint", "z <= 1")


@pytest.mark.parametrize(
    "line", ['echo "product=$p"', 'echo "{\\"product\\": $p}"', 'echo "product: 7"; echo "product $p"']
)
def test_optimize_takes_constraints_from_a_program(shell: Shell, line: str) -> None:
    script = shell.folder / "run.sh"
    script.write_text(f'#!/bin/sh\np=$(awk "BEGIN {{print -$1 * $2}}")\n{line}\necho "done, value $1"\n')
    script.chmod(0o755)
    limit = ("--constraint", "product <= -1")
    shell("optimize", *BOUNDED, *limit, "--trials", "2", "--storage", "p.db", "--", str(script), "{x}", "{y}")
    for trial in optuna.load_study(study_name="p", storage=f"sqlite:///{Path('p.db').absolute()}").trials:
        x, y = trial.params.values()
        assert trial.user_attrs["product"] == pytest.approx(-x * y, rel=1e-4)
        assert trial.value == pytest.approx(x)
        assert trial.system_attrs["constraints:product <= -1"] == pytest.approx(1 - x * y, abs=1e-3)


def test_a_worker_has_a_live_line_on_a_terminal(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write("bowl.py", "def loss(x):\n    if x > 0.9:\n        raise ValueError('hot')\n    return x * x\n")
    monkeypatch.syspath_prepend(str(shell.folder))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    shell("create", "w.db", "--param", "x=float:0:1", "--trials", "4", "--seed", "1")
    work = ("worker", "--storage", "w.db", "--spool", "spool", "bowl:loss")
    shell(*work, "--trials", "1")
    assert " done, " not in shell.err  # a pipe
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shell(*work, "--trials", "2", "--quiet")
    assert " done, " not in shell.err
    shell(*work)
    assert re.search(r"[23] of 4 done, [01] running.*, best so far [\d.e-]+ \(trial \d\)", shell.err)
    study = optuna.load_study(study_name="w", storage="sqlite:///w.db")
    assert line_of(study, 6).startswith("4 of 6 done, 0 running")
    assert re.search(r" left, [\d.]+/(min|h|d)$", line_of(study, 6))


def test_a_worker_goes_on_with_a_further_choice(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A choice that the storage does not know is kept beside the trial, and is read back by other workers."""
    shell.write("gases.py", "def loss(gas, x):\n    return x + (gas != 'helium')\n")
    monkeypatch.syspath_prepend(str(shell.folder))
    shell("create", "w.db", "--param", "gas=cat:argon,neon", "--param", "x=float:0:1", "--trials", "9", "--seed", "1")
    work = ("worker", "--storage", "w.db", "--spool", "spool", "gases:loss")
    shell(*work, "--trials", "3")
    shell("extend", "w.db", "gas=+helium")
    shell(*work)
    rows = shell.json("history", "w.db")
    assert [row["state"] for row in rows] == ["finished"] * 9
    assert "helium" in {row["params"]["gas"] for row in rows}
    assert all(row["value"] == row["params"]["x"] + (row["params"]["gas"] != "helium") for row in rows)
    optimize = shell.json("optimize", "gases:loss", "--storage", "w.db", "--more", "1")
    assert optimize["best"]["params"]["gas"] == "helium"


def test_a_worker_takes_constraints_too(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write("limited_area.py", FUNCTION)
    monkeypatch.syspath_prepend(str(shell.folder))
    shell("create", "w.db", *BOUNDED, "--constraint", "product >= 1", "--trials", "3")
    arguments = ("worker", "limited_area:area", "--storage", "w.db", "--spool", "spool")
    shell(*arguments, "--trials", "1", "--timeout", str(LIMIT_S))  # in a process that has no connection to the study
    shell(*arguments)
    found = shell.json("history", "w.db")
    assert [row["state"] for row in found] == ["finished"] * 3
    for row in found:
        x, y = row["params"].values()
        assert row["constraints"] == {"product >= 1": pytest.approx(1 - x * y)}
