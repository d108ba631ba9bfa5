"""Constraints in the shell: declared, told by name and in CSV, shown, and refused where something is missing."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import optuna
import pytest

from tests.shell import Shell
from tests.waiting import LIMIT_S
from uhebo.cli.bounds import Bound
from uhebo.errors import InvalidInputError

pytestmark = pytest.mark.usefixtures("rough_importances")

SPACE = ("--param", "x=float:0:3", "--param", "y=float:0:3", "--seed", "1")


@pytest.fixture
def lab(shell: Shell) -> Shell:
    """A study that minimises x + y, with the product to be at least 1 and the sum at most 5."""
    shell("create", "lab.db", *SPACE, "--constraint", "product >= 1", "--constraint", "sum<=5.0")
    return shell


def rows(table: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table)))


def test_a_round_trip(lab: Shell) -> None:
    lab("suggest", "lab.db", "-n", "2")
    assert "VALUE product=NUMBER sum=NUMBER" in lab.err
    lab("tell", "lab.db", "0", "0.2", "product=-0.01", "sum=0.2")
    assert "no feasible trial among 1 finished; the nearest is trial 0 (product >= 1 is missed by 1.01)" in lab.err
    assert "missed by 1.01" in lab.refuses("best", "lab.db")
    lab("tell", "lab.db", "1", "3", "product=2", "sum=3")
    own = lab.write("own.csv", "x,y,product,sum,value\n1,1,1,2,2\n0,0,0,0,0\n3,3,9,6,6\n0.5,0.5,,,failed\n")
    lab("tell", "lab.db", "--csv", own)
    assert "best so far 2 (trial 2)" in lab.err
    assert lab.json("best", "lab.db")["number"] == 2
    assert "product" in lab("best", "lab.db")
    history = lab.json("history", "lab.db")
    assert [row.get("feasible") for row in history] == [False, True, True, False, False, None]
    assert history[4]["constraints"] == {"product >= 1": -8.0, "sum <= 5": 1.0}
    shown = lab.json("status", "lab.db")
    assert (shown["constraints"], shown["feasible"]) == (["product >= 1", "sum <= 5"], 2)
    assert "2 of 5 finished" in lab("status", "lab.db")

    table = lab("history", "lab.db", "--csv")
    assert [row["feasible"] for row in rows(table)] == ["no", "yes", "yes", "no", "no", ""]
    assert [row["product"] for row in rows(table)][:3] == ["-0.01", "2.0", "1.0"]
    lab("create", "again.db", *SPACE, "--constraint", "product >= 1", "--constraint", "sum <= 5")
    lab("tell", "again.db", "--csv", lab.write("all.csv", table))
    assert lab.json("best", "again.db")["value"] == 2.0
    assert rows(lab("history", "again.db", "--csv")) == [{**row, "number": row["number"]} for row in rows(table)]

    batch = rows(lab("suggest", "lab.db", "-n", "1", "--csv"))
    assert list(batch[0]) == ["number", "x", "y", "value", "product", "sum"]
    filled = "number,value,product,sum\n" + f"{batch[0]['number']},2.5,1.5,2.5\n"
    lab("tell", "lab.db", "--csv", lab.write("batch.csv", filled))
    found = lab.json("diagnose", "lab.db")
    assert found["feasibility"]["feasible"] == 3
    lab("report", "lab.db", "-o", "report.html")
    page = (lab.folder / "report.html").read_text(encoding="utf-8")
    assert "constraint product &gt;= 1" in page
    assert "<th" in page


def test_what_is_missing_or_wrong_is_refused_and_nothing_is_stored(lab: Shell) -> None:
    lab("suggest", "lab.db", "-n", "2")
    for others, said in (
        ((), "product is missing"),
        (("product=2",), "sum is missing"),
        (("product=nan", "sum=1"), "product is 'nan', expected a number"),
        (("product=two", "sum=1"), "product is 'two'"),
        (("product=2", "sum=1", "mass=3"), "'mass=3'; expected product=NUMBER sum=NUMBER"),
        (("product=2", "product=2", "sum=1"), "product is given twice"),
        (("product", "sum=1"), "'product'"),
    ):
        assert said in lab.refuses("tell", "lab.db", "0", "1.5", *others)
    for name, text, said in (
        ("a.csv", "number,value\n0,1\n", "column 'product' is missing"),
        ("b.csv", "number,value,product,sum\n0,1,1,1\n1,2,,1\n", "line 3: product is missing"),
        ("c.csv", "number,value,product,sum\n0,1,nan,1\n", "line 2: product is 'nan'"),
    ):
        assert said in lab.refuses("tell", "lab.db", "--csv", lab.write(name, text))
    assert {row["state"] for row in lab.json("history", "lab.db")} == {"running"}
    lab("tell", "lab.db", "0", "--failed")
    shell = lab
    shell("create", "plain.db", *SPACE)
    shell("suggest", "plain.db")
    assert "no constraints" in shell.refuses("tell", "plain.db", "0", "1", "product=2")


def test_constraints_are_declared_in_one_form(shell: Shell) -> None:
    for text, said in (
        ("purity", "such as 'purity >= 95'"),
        ("purity > 95", "such as"),
        ("purity >= much", "such as"),
        ("purity >= nan", "such as"),
        ("x >= 1", "parameter"),
        ("value <= 1", "column of our tables"),
    ):
        assert said in shell.refuses("create", "lab.db", *SPACE, "--constraint", text)
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
    done = shell.json("optimize", "limited_area:area", *SPACE, *limit, "--trials", "14", "--storage", "a.db")
    assert 2.0 <= done["best"]["value"] < 2.6
    assert done["best"]["feasible"]
    said = shell.refuses  # five failures end the run
    shell("optimize", "limited_area:forgetful", *SPACE, *limit, "--trials", "1", "--storage", "b.db", code=1)
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
    shell("optimize", *SPACE, *limit, "--trials", "2", "--storage", "p.db", "--", str(script), "{x}", "{y}")
    for trial in optuna.load_study(study_name="p", storage=f"sqlite:///{Path('p.db').absolute()}").trials:
        x, y = trial.params.values()
        assert trial.user_attrs["product"] == pytest.approx(-x * y, rel=1e-4)
        assert trial.value == pytest.approx(x)
        assert trial.system_attrs["constraints:product <= -1"] == pytest.approx(1 - x * y, abs=1e-3)


def test_a_worker_takes_constraints_too(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write("limited_area.py", FUNCTION)
    monkeypatch.syspath_prepend(str(shell.folder))
    shell("create", "w.db", *SPACE, "--constraint", "product >= 1", "--trials", "3")
    arguments = ("worker", "limited_area:area", "--storage", "w.db", "--spool", "spool")
    shell(*arguments, "--trials", "1", "--timeout", str(LIMIT_S))  # in a process that has no connection to the study
    shell(*arguments)
    found = shell.json("history", "w.db")
    assert [row["state"] for row in found] == ["finished"] * 3
    for row in found:
        x, y = row["params"].values()
        assert row["constraints"] == {"product >= 1": pytest.approx(1 - x * y)}
