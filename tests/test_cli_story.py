"""Whole stories in the shell: the scientist's from an empty folder, every example in a help text, the whole guide."""

from __future__ import annotations

import csv
import inspect
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import uhebo
from tests.conftest import require
from tests.pages import README, blocks, commands, run_blocks
from tests.shell import Shell
from tests.waiting import LIMIT_S, wait_for
from uhebo.cli.settings import effective
from uhebo.cli.space_file import Kept
from uhebo.optuna_.sampler import UHESampler
from uhebo.space import as_distributions

GUIDE = Path(__file__).parent.parent / "docs" / "shell.md"
COMMANDS = [
    "create",
    "suggest",
    "tell",
    "predict",
    "amend",
    "drop",
    "skip",
    "restore",
    "extend",
    "log",
    "best",
    "history",
    "status",
    "optimize",
    "worker",
    "diagnose",
    "report",
    "watch",
    "dashboard",
    "mcp",
]
COMMANDS += ["methods", "bench", "problems", "reproduce"]  # the last three from the second distribution

WITHOUT_RESULTS = ("report", "watch", "dashboard", "mcp", "bench", "reproduce")
"""Commands that write files or serve pages, and print nothing."""


def _environment() -> dict[str, str]:
    source = str(Path(uhebo.__file__).parent.parent)
    return {**os.environ, "PYTHONPATH": source, "UHEBO_DEBUG": ""}


def test_the_scientists_story(shell: Shell, tmp_path: Path) -> None:
    """create, suggest a batch, tell by CSV, suggest again, diagnose, report: from an empty folder."""
    (tmp_path / "space.toml").write_text(
        'direction = "maximize"\nseed = 3\n[parameters]\ntemperature = [700, 1000]\nminutes = [5.0, 240.0]\n'
    )
    shell("create", "lab.db", "--space", "space.toml")
    batch = list(csv.DictReader(shell("suggest", "lab.db", "-n", "8", "--csv").splitlines()))
    assert len(batch) == 8
    for row in batch:  # the furnace
        row["value"] = str(90 - abs(float(row["temperature"]) - 850) / 10 - abs(float(row["minutes"]) - 60) / 20)
    with (tmp_path / "batch.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(batch[0]))
        writer.writeheader()
        writer.writerows(batch)
    told = json.loads(shell("tell", "lab.db", "--csv", "batch.csv", "--json"))
    assert (told["told"], told["finished"]) == (8, 8)
    assert told["best"]["value"] == max(float(row["value"]) for row in batch)
    again = json.loads(shell("suggest", "lab.db", "-n", "2", "--json"))
    assert [suggestion["number"] for suggestion in again] == [8, 9]
    found = json.loads(shell("diagnose", "lab.db", "--json"))
    assert found["verdict"] in ("trust", "caution", "do not trust")
    shell("report", "lab.db", "-o", "report.html")
    assert "temperature" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["batch.csv", "lab.db", "report.html", "space.toml"]


def test_ctrl_c(tmp_path: Path) -> None:
    """As a program: exit code 130 within seconds, the trials that were done are kept, the child is gone."""
    script = tmp_path / "train.sh"
    script.write_text('#!/bin/sh\nif [ "$UHEBO_TRIAL" = 2 ]; then echo $$ > pid; sleep 3600; fi\necho 1.5\n')
    script.chmod(0o755)
    args = ["optimize", "--param", "x=float:0:1", "--json", "--", "./train.sh"]
    # A shell that starts the tests in the background makes everything below it ignore Ctrl-C.
    listening = "import signal, runpy; signal.signal(signal.SIGINT, signal.default_int_handler); "
    command = [sys.executable, "-c", listening + "runpy.run_module('uhebo.cli', run_name='__main__')", *args]
    with subprocess.Popen(command, cwd=tmp_path, env=_environment(), stdout=-1, stderr=-1, text=True) as process:
        try:
            pid = tmp_path / "pid"
            wait_for(lambda: pid.exists() and pid.read_text(), lambda: "" if process.poll() is None else "it ended")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=LIMIT_S)
        finally:
            process.kill()
    assert process.returncode == 130, err
    assert json.loads(out)["trials"] == {"finished": 2, "failed": 1}
    wait_for(lambda: not _runs(int(pid.read_text())))


def _runs(pid: int) -> bool:
    """Whether a process is there and not merely waiting for somebody to ask how it ended."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


# ---------------------------------------------------------------------------------------------------- accidents

FURNACE = """direction = "maximize"
seed = 7
[parameters]
temperature = [700, 1000]
minutes = {type = "float", low = 5, high = 240, log = true}
gas = ["argon", "nitrogen"]
"""


def furnace(row: dict[str, str]) -> float:
    """A yield in per cent, between 10 and 70."""
    heat, time = (float(row["temperature"]) - 860) / 150, (float(row["minutes"]) - 80) / 120
    gas = {"argon": -4, "nitrogen": 0, "helium": 3}[row["gas"]]
    return round(10 + 60 / (1 + heat**2 + time**2) + gas + (5 if row.get("catalyst") == "Pd" else 0), 1)


def furnace_batch(shell: Shell, file: str, count: int) -> list[dict[str, str]]:
    rows = list(csv.DictReader(io.StringIO(shell("suggest", file, "-n", str(count), "--csv"))))
    return [{**row, "value": str(furnace(row))} for row in rows]


def furnace_sheet(shell: Shell, rows: list[dict[str, str]], **changed: Any) -> str:
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
    shell.write("space.toml", FURNACE)
    calm, lab = "calm.db", "lab.db"
    for file in (calm, lab):
        shell("create", file, "--space", "space.toml")

    # Ten experiments on the first day; in the lab the sheet is half filled, told, filled and told again.
    first = furnace_batch(shell, calm, 10)
    assert furnace_batch(shell, lab, 10) == first
    shell("tell", calm, "--csv", furnace_sheet(shell, first))
    shell("tell", lab, "--csv", furnace_sheet(shell, first, **{f"t{n}": "" for n in range(6, 10)}))
    assert "still waiting for a value: trials 6, 7, 8, 9" in shell.err
    shell("tell", lab, "--csv", furnace_sheet(shell, first))
    assert "told before, with the same outcome: trials 0, 1, 2, 3, 4, 5" in shell.err
    assert "everything in it was told before" in shell.refuses("tell", lab, "--csv", "sheet.csv")

    # The second day: one bottle was empty, and somebody told it as failed; another was the wrong one; and a decimal
    # point was lost, by a second person at the same file.
    second = furnace_batch(shell, calm, 7)
    assert furnace_batch(shell, lab, 7) == second
    for number in ("10", "11"):
        shell("skip", calm, number)
    shell("tell", calm, "--csv", furnace_sheet(shell, second[2:]))
    shell("tell", lab, "10", "--failed")
    shell("tell", lab, "11", "33,3", "--note", "bottle B")
    shell("skip", lab, "12")
    shell("restore", lab, "12")  # it was the bottle beside it
    typo = str(round(10 * float(second[4]["value"]), 1))
    shell("tell", lab, "--csv", furnace_sheet(shell, second[2:], **{f"t{second[4]['number']}": typo}))
    remedy = f"uhebo amend lab.db {second[4]['number']} {float(second[4]['value']):.12g}"
    assert f"careful: trial {second[4]['number']} has value" in shell.err
    assert f"if it was mistyped: {remedy};" in shell.err
    shell("skip", lab, "10", "--reason", "empty bottle")
    shell("drop", lab, "11", "--reason", "wrong bottle")
    found = shell.json("diagnose", lab)
    assert found["kind"] == "typo"
    assert found["commands"] == [remedy]
    assert f"$ {found['commands'][0]}" in shell("diagnose", lab)
    shell(*shlex.split(found["commands"][0])[1:])
    assert shell.json("diagnose", lab)["kind"] != "typo"

    # The best is measured once more, and it lies near a bound: the range is widened. In the lab it is first narrowed by
    # mistake. A gas is delivered, and a catalyst tried; none of the runs so far had one.
    best = shell.json("best", lab)
    assert {key: best[key] for key in ("number", "value")} == {
        key: shell.json("best", calm)[key] for key in ("number", "value")
    }
    shell("extend", lab, "temperature=800:900")
    assert "outside the space now" in shell.err
    for file in (calm, lab):
        shell("tell", file, str(best["number"]), "60.2", "--again")
        shell("extend", file, "temperature=700:1100", "gas=+helium", "catalyst=cat:none,Pd", "--had", "catalyst=none")

    # Two people ask, and tell at the same moment.
    asked = {file: [shell.json("suggest", file)[0] for _ in range(2)] for file in (calm, lab)}
    assert [each["params"] for each in asked[lab]] == [each["params"] for each in asked[calm]]
    assert {each["number"] for each in asked[lab]} == {18, 19}
    told = [(str(each["number"]), str(furnace(each["params"]))) for each in asked[lab]]
    for number, value in told:
        shell("tell", calm, number, value)
    command = [sys.executable, "-m", "uhebo.cli", "tell", lab]
    both = [subprocess.Popen([*command, *each], cwd=shell.folder, env=_environment(), stderr=-1) for each in told]
    for process in both:
        assert process.communicate(timeout=LIMIT_S)[1].endswith(b"\n")
        assert process.returncode == 0

    last = {file: shell.json("suggest", file, "-n", "3") for file in (calm, lab)}
    assert [each["params"] for each in last[lab]] == [each["params"] for each in last[calm]]
    assert {*last[lab][0]["params"]} == {"temperature", "minutes", "gas", "catalyst"}
    log = shell.json("log", lab)
    assert [row["what"] for row in log] == [
        *("skip", "restore", "amend"),  # of trial 12, whose value is told as an amendment
        *("skip", "drop", "amend"),
        *["extend"] * 4,
    ]
    rows, quiet = shell.json("history", lab), shell.json("history", calm)
    assert [row["number"] for row in rows] == list(range(23))
    assert [(row["value"], row["params"]) for row in rows] == [(row["value"], row["params"]) for row in quiet]


# ---------------------------------------------------------------------------------------------------- examples


def _prepare(shell: Shell, command: str) -> None:
    """A folder in which the examples of one command make sense."""
    shell.write("space.toml", "seed = 1\n[parameters]\nlr = [0.001, 0.1]\ndepth = [2, 12]\n")
    shell.write("train.py", "def loss(lr, depth):\n    return (lr * 10 - 1) ** 2 + (depth - 6) ** 2\n")
    script = shell.folder / "train.sh"
    script.write_text('#!/bin/sh\necho "$2"\n')
    script.chmod(0o755)
    if command in ("create", "optimize", "uhebo"):
        return
    shell.write("known.csv", "lr,depth,value\n0.01,3,0.5\n0.02,9,0.7\n0.07,5,0.2\n")
    shell.write("results.csv", "number,value\n5,0.4\n6,0.3\n")
    shell("create", "lab.db", "--space", "space.toml")
    shell("tell", "lab.db", "--csv", "known.csv")
    shell("suggest", "lab.db", "-n", "4")


def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Servers that are asked for their first page and then ended, instead of waited for."""
    from urllib.request import urlopen

    from uhebo.report.serve import Serving

    pages: list[str] = []

    def fetch(running: Serving) -> None:
        with urlopen(running.url, timeout=LIMIT_S) as answer:
            pages.append(answer.read().decode())

    monkeypatch.setattr(Serving, "wait", fetch)
    server = require("mcp.server.mcpserver", "pip install 'uhebo[mcp]'").MCPServer
    monkeypatch.setattr(server, "run", lambda *_, **__: None)
    return pages


def examples(help_text: str) -> list[list[str]]:
    return [shlex.split(line)[2:] for line in help_text.splitlines() if line.strip().startswith("$ uhebo")]


@pytest.mark.parametrize("command", ["uhebo", *COMMANDS])
def test_every_example_in_help_runs(shell: Shell, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    help_text = shell("--help") if command == "uhebo" else shell(command, "--help")
    found = examples(help_text)
    assert found, f"{command} --help has no example"
    pages = _no_waiting(monkeypatch)
    _prepare(shell, command)
    monkeypatch.setenv("URL", f"sqlite:///{shell.folder / 'shared.db'}")
    for args in found:
        if command in ("create", "optimize"):
            for file in ("lab.db", "study.db"):
                (shell.folder / file).unlink(missing_ok=True)
        if "--port" in args:
            args[args.index("--port") + 1] = "0"  # the port of the example may be taken here
        if "--trials" in args:
            args[args.index("--trials") + 1] = "10"  # the budget of the example takes a minute
        shell(*args)
    assert bool(pages) == (command in ("dashboard", "watch"))


@pytest.mark.parametrize("command", ["create", "optimize"])
def test_help_names_the_defaults_that_there_are(shell: Shell, command: str) -> None:
    text = " ".join(shell(command, "--help").split())
    assumed = effective(Kept(as_distributions({"x": (0.0, 1.0)}), {}))
    assert f"lists them. Default: {assumed['method']}." in text
    assert f"(auto: {assumed['acquisition']}, else ucb)" in text
    method = inspect.signature(UHESampler.__init__).parameters["method"]
    assert assumed["method"] == method.default


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_on_a_screen_and_results_come_as_json(shell: Shell, command: str) -> None:
    text = shell(command, "--help")
    assert len(text.splitlines()) <= 40
    assert "$ uhebo" in text
    assert ("--json" in text) == (command not in WITHOUT_RESULTS)


JSON_OF = {
    "create": ("new.db", "--param", "x=float:0:1"),
    "suggest": ("lab.db",),
    "tell": ("lab.db", "3", "0.82"),
    "predict": ("lab.db", "lr=0.02", "depth=6"),
    "amend": ("lab.db", "0", "0.41"),
    "drop": ("lab.db", "0"),
    "skip": ("lab.db", "4"),
    "restore": ("lab.db", "0"),
    "extend": ("lab.db", "depth=2:16"),
    "log": ("lab.db",),
    "best": ("lab.db",),
    "history": ("lab.db",),
    "status": ("lab.db",),
    "optimize": ("train:loss", "--storage", "lab.db", "--more", "1"),
    "worker": ("--storage", "lab.db", "--spool", "spool", "--trials", "9", "train:loss"),
    "diagnose": ("lab.db",),
    "methods": (),
    "problems": (),
}
"""Of each command that prints, arguments with which it does."""


@pytest.mark.usefixtures("rough_importances")
def test_all_that_prints_prints_json_and_nothing_else(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """One study, in the order of the table."""
    assert [*JSON_OF] == [name for name in COMMANDS if name not in WITHOUT_RESULTS]
    monkeypatch.syspath_prepend(str(shell.folder))
    _prepare(shell, "best")
    for command, args in JSON_OF.items():
        assert json.loads(shell(command, *args, "--json"))


def test_help_names_every_command(shell: Shell) -> None:
    listed = re.findall(r"^  (\w+) {2,}\w", shell("--help").partition("Commands:")[2], re.M)
    assert listed == COMMANDS


# ---------------------------------------------------------------------------------------------------- the guide


def test_the_guide_runs_as_written(shell: Shell) -> None:
    """Each block with a title is written to that file, each line after `$ ` is run, in order, in one folder."""
    found = blocks(GUIDE)
    assert run_blocks(found, shell) == len(found)
    assert sum(len(commands(block)) for block in found if block.language == "console") >= 15
    assert shell.json("best", "lab.db")["value"] == 63.4
    assert shell.json("best", "lab2.db")["value"] == 63.4
    assert shell.json("status", "script.db")["trials"] == {"finished": 5}
    with (shell.folder / "batch.csv").open(newline="") as file:
        assert [row["number"] for row in csv.DictReader(file)] == ["2", "3", "4", "5"]


def test_the_guides_space_table(shell: Shell) -> None:
    """Every line in the table of parameters is one that a space file may have."""
    rows = re.findall(r"^\| `(\w+ = .+?)` \|", GUIDE.read_text(encoding="utf-8"), re.M)
    assert len(rows) == 6
    shell.write("space.toml", "[parameters]\n" + "\n".join(rows))
    made: dict[str, Any] = shell.json("create", "lab.db", "--space", "space.toml")
    assert len(made["parameters"]) == 6
    paragraph = GUIDE.read_text(encoding="utf-8").partition("`--param` says")[2].partition("\n\n")[0]
    for option in re.findall(r"`(\w+=[\w.:,=-]+)`", paragraph):
        shell("create", f"{option[:2]}.db".replace("=", "_"), "--param", option)


def test_the_readmes_commands_run(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The furnace story of the README, in order, in one folder."""
    pages = _no_waiting(monkeypatch)
    ran = []
    for block in blocks(README):
        for line in commands(block) if block.language == "console" else ():
            args = shlex.split(line, comments=True)[1:]
            shell(*args, *(["--port", "0"] if args[0] == "watch" else []))
            ran.append(args[0])
    assert ran == ["create", "suggest", "tell", "suggest", "diagnose", "report", "watch"]
    assert pages
    assert (shell.folder / "report.html").stat().st_size > 15_000
