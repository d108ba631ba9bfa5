"""The furnace story with its accidents: suggestions equal those of a study in which nothing went wrong."""

from __future__ import annotations

import csv
import io
import shlex
from typing import Any

import pytest

from tests.shell import Shell

SPACE = """direction = "maximize"
seed = 7
[parameters]
temperature = [700, 1000]
minutes = {type = "float", low = 5, high = 240, log = true}
gas = ["argon", "nitrogen"]
"""


def furnace(row: dict[str, str]) -> float:
    """A yield in per cent, between 10 and 70."""
    heat, time = (float(row["temperature"]) - 860) / 150, (float(row["minutes"]) - 80) / 120
    return round(10 + 60 / (1 + heat**2 + time**2) - (4 if row["gas"] == "argon" else 0), 1)


def batch(shell: Shell, file: str, count: int) -> list[dict[str, str]]:
    rows = list(csv.DictReader(io.StringIO(shell("suggest", file, "-n", str(count), "--csv"))))
    return [{**row, "value": str(furnace(row))} for row in rows]


def sheet(shell: Shell, rows: list[dict[str, str]], **changed: Any) -> str:
    """The rows as a CSV with a column of notes; values by number replaced by `changed`."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [*rows[0], "operator"])
    writer.writeheader()
    for row in rows:
        value = changed.get(f"t{row['number']}", row["value"])
        writer.writerow({**row, "value": value, "operator": "Ann"})
    return shell.write("sheet.csv", out.getvalue())


@pytest.mark.usefixtures("rough_importances")
def test_the_furnace_with_its_accidents(shell: Shell) -> None:
    shell.write("space.toml", SPACE)
    calm, lab = "calm.db", "lab.db"
    for file in (calm, lab):
        shell("create", file, "--space", "space.toml")

    # Ten experiments on the first day; in the lab the sheet is half filled, told, filled and told again.
    first = batch(shell, calm, 10)
    assert batch(shell, lab, 10) == first
    shell("tell", calm, "--csv", sheet(shell, first))
    shell("tell", lab, "--csv", sheet(shell, first, **{f"t{n}": "" for n in range(6, 10)}))
    assert "still waiting for a value: trial 6, 7, 8, 9" in shell.err
    shell("tell", lab, "--csv", sheet(shell, first))
    assert "told before, with the same outcome: trial 0" in shell.err
    assert "everything in it was told before" in shell.refuses("tell", lab, "--csv", "sheet.csv")

    # The second day: one bottle was empty, and somebody told it as failed; another was the wrong one; and a decimal
    # point was lost, by a second person at the same file.
    second = batch(shell, calm, 7)
    assert batch(shell, lab, 7) == second
    for number in ("10", "11"):
        shell("skip", calm, number)
    shell("tell", calm, "--csv", sheet(shell, second[2:]))
    shell("tell", lab, "10", "--failed")
    shell("tell", lab, "11", "33,3", "--note", "bottle B")
    typo = str(round(10 * float(second[4]["value"]), 1))
    shell("tell", lab, "--csv", sheet(shell, second[2:], **{f"t{second[4]['number']}": typo}))
    shell("skip", lab, "10", "--reason", "empty bottle")
    shell("drop", lab, "11", "--reason", "wrong bottle")
    found = shell.json("diagnose", lab)
    assert found["kind"] == "typo"
    assert found["commands"] == [f"uhebo amend lab.db {second[4]['number']} {float(second[4]['value']):.12g}"]
    assert f"$ {found['commands'][0]}" in shell("diagnose", lab)
    shell(*shlex.split(found["commands"][0])[1:])
    assert shell.json("diagnose", lab)["kind"] != "typo"

    # The best is measured once more.
    best = shell.json("best", lab)
    assert {key: best[key] for key in ("number", "value")} == {
        key: shell.json("best", calm)[key] for key in ("number", "value")
    }
    for file in (calm, lab):
        shell("tell", file, str(best["number"]), "60.2", "--again")

    assert [each["params"] for each in shell.json("suggest", lab, "-n", "2")] == [
        each["params"] for each in shell.json("suggest", calm, "-n", "2")
    ]
    assert [row["what"] for row in shell.json("log", lab)] == ["skip", "drop", "amend"]
    rows, quiet = shell.json("history", lab), shell.json("history", calm)
    assert [row["value"] for row in rows] == [row["value"] for row in quiet]
