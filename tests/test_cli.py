"""The shell, command by command, in this process: what it prints, what it keeps, and what it refuses in one line."""

from __future__ import annotations

import errno
import itertools
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import optuna
import pytest
import sqlalchemy
from optuna.storages import RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from tests.shell import Shell
from tests.waiting import LIMIT_S
from uhebo.cli import app, main, settings
from uhebo.cli.objective import TAIL_BYTES, environment_names
from uhebo.cli.output import percent
from uhebo.cli.reading import last_number
from uhebo.cli.records import parsed, texts
from uhebo.cli.space_file import parse_param
from uhebo.cli.tables import MAX_BYTES, MAX_ROWS
from uhebo.errors import EvaluationFailed, InvalidInputError
from uhebo.space import Categorical, Float, Int
from uhebo.storage import database
from uhebo.storage.explain import printable

SPACE = ("--param", "x=float:0:1", "--param", "n=int:1:9", "--param", "gas=cat:argon,nitrogen")


@pytest.fixture(scope="module")
def study_of_three(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a study with three suggested trials, made once: making it takes longer than most tests with it."""
    file = tmp_path_factory.mktemp("lab") / "lab.db"
    for command in (("create", str(file), *SPACE, "--seed", "1", "--startup", "3"), ("suggest", str(file), "-n", "3")):
        with pytest.raises(SystemExit) as left:
            main(command)
        assert not left.value.code
    return file.read_bytes()


@pytest.fixture
def lab(shell: Shell, study_of_three: bytes) -> Shell:
    """With a study of three suggested trials in lab.db."""
    (shell.folder / "lab.db").write_bytes(study_of_three)
    return shell


@pytest.mark.parametrize("file", ["lab.db", "lab.log", "lab.jsonl", "sqlite:///lab.db", "odd {name} %41?#.db"])
def test_ask_and_tell(shell: Shell, file: str) -> None:
    shell("create", file, *SPACE, "--direction", "maximize", "--seed", "1", "--startup", "3")
    first = shell.json("suggest", file, "-n", "3")
    assert [s["number"] for s in first] == [0, 1, 2]
    for suggestion in first:
        shell("tell", file, str(suggestion["number"]), str(-suggestion["params"]["x"]))
    batch = shell.json("suggest", file, "-n", "4")
    assert len({tuple(s["params"].values()) for s in batch}) == 4  # under way, so not suggested again
    best = shell.json("best", file)
    assert best["value"] == max(-s["params"]["x"] for s in first)
    assert best["direction"] == "maximize"
    status = shell.json("status", file)
    assert status["trials"] == {"finished": 3, "waiting": 4}
    assert status["settings"] == {"seed": 1, "n_startup_trials": 3}
    assert len(list(shell.folder.iterdir())) == 1  # one file, no lock left behind


def test_the_sampler_is_rebuilt_by_every_command(shell: Shell) -> None:
    """Eight commands give what one call gives: the settings are in the file."""
    values = [0.3, -1.0, 2.0, 0.5, 0.7, -0.2]
    shell("create", "lab.db", *SPACE, "--seed", "5", "--method", "map", "--trials", "20", "--startup", "3")
    for number, value in enumerate(values):
        assert shell.json("suggest", "lab.db")[0]["number"] == number
        shell("tell", "lab.db", str(number), str(value))
    from uhebo import UHESampler

    study = optuna.create_study(sampler=UHESampler(seed=5, method="map", n_trials=20, n_startup_trials=3))
    space = {"x": Float(0, 1), "n": Int(1, 9), "gas": Categorical(["argon", "nitrogen"])}
    for value in values:
        study.tell(study.ask(space), value)
    assert [row["params"] for row in shell.json("history", "lab.db")] == [t.params for t in study.trials]


def test_a_drawn_seed_is_kept(shell: Shell) -> None:
    shell("create", "lab.db", *SPACE)
    assert isinstance(shell.json("status", "lab.db")["settings"]["seed"], int)


def test_the_suggested_csv_comes_back_filled_in(lab: Shell) -> None:
    lines = lab("suggest", "lab.db", "-n", "2", "--csv").splitlines()
    assert lines[0] == "number,x,n,gas,value"
    lab.write("batch.csv", "\n".join([lines[0], lines[1] + "0.5", lines[2] + "failed"]) + "\n")
    assert lab.json("tell", "lab.db", "--csv", "batch.csv")["told"] == 2
    history = lab.json("history", "lab.db")
    assert [row["state"] for row in history[3:]] == ["finished", "failed"]
    assert history[3]["value"] == 0.5


def test_row_15_known_experiments(lab: Shell) -> None:
    lab.write("known.csv", "gas;n;x;yield;operator\nargon;3;0.25;1.5;Ann\n\nnitrogen;4.0;1;2.5;Bob\n")
    told = lab.json("tell", "lab.db", "--csv", "known.csv", "--value-column", "yield", "--ignore-extra")
    assert (told["told"], told["added"]) == (0, 2)
    rows = lab("history", "lab.db", "--last", "2", "--csv").splitlines()
    assert rows == ["number,state,value,x,n,gas", "3,finished,1.5,0.25,3,argon", "4,finished,2.5,1.0,4,nitrogen"]
    # A program may return an infinite value, and so the history of its study has one; an experiment has none.
    lab.write("program.csv", "number,state,value,x,n,gas\n0,finished,inf,1.0,4,argon\n")
    lab("tell", "lab.db", "--csv", "program.csv")
    assert lab.json("history", "lab.db", "--last", "1")[0]["value"] == "inf"  # JSON has no infinity
    lab.write("own.csv", "x,n,gas,value\n0.5,4,argon,inf\n")
    for given in (("0", "inf"), ("0", "-1e999"), ("--csv", "own.csv")):
        assert "not a number that an experiment gives; a trial that gave no value is told with --failed" in lab.refuses(
            "tell", "lab.db", *given
        )
    assert "value is '45%', expected a number; write 45, without the unit" in lab.refuses("tell", "lab.db", "0", "45%")


def test_what_spreadsheets_write(shell: Shell) -> None:
    """Booleans in capitals, whole numbers without their .0, decimal commas, columns that were once clicked on."""
    space = ("--param", "x=float:0:1", "--param", "on=cat:true,false", "--param", "size=cat:1.0,2.5,words")
    shell("create", "lab.db", *space)
    shell.write("excel.csv", "x;on;size;value;;\r\n0,25;FALSE;1;-1,5e1;;\r\n1;WAHR;2,5;2;;\r\n")
    assert "line 3: on is 'WAHR', expected one of true, false" in shell.refuses("tell", "lab.db", "--csv", "excel.csv")
    shell.write("excel.csv", "x;on;size;value;;\r\n0,25;FALSE;1;-1,5e1;;\r\n1;True;2,5;failed;;;\r\n")
    assert shell.json("tell", "lab.db", "--csv", "excel.csv")["added"] == 2
    first, second = shell.json("history", "lab.db")
    assert (first["params"], first["value"]) == ({"x": 0.25, "on": False, "size": 1.0}, -15.0)
    assert (second["params"], second["state"]) == ({"x": 1.0, "on": True, "size": 2.5}, "failed")
    shell.write("named.csv", "x,on,size,value,\n0.5,true,words,1,remark\n")
    shell("tell", "lab.db", "--csv", "named.csv", "--ignore-extra")
    shell.write("comma.csv", 'number;x;value\n3,0;"0,5";1,25\n')
    shell("suggest", "lab.db")
    assert "trial 3 was suggested with" in shell.refuses("tell", "lab.db", "--csv", "comma.csv")
    shell.write("comma.csv", "number;value\n3,0;1,25\n")
    shell("tell", "lab.db", "--csv", "comma.csv")
    assert shell.json("history", "lab.db")[3]["value"] == 1.25


def test_a_history_is_told_to_another_study(lab: Shell) -> None:
    """How a wrong value is corrected and a range widened: everything into a new study."""
    lab("tell", "lab.db", "0", "0.5")
    lab("tell", "lab.db", "1", "--failed")
    lab.write("known.csv", "x,n,gas,value\n0.125,3,argon,7\n0.25,4,argon,failed\n")
    lab("tell", "lab.db", "--csv", "known.csv")
    study = optuna.load_study(study_name="lab", storage="sqlite:///lab.db")
    study.add_trial(optuna.create_trial(state=TrialState.FAIL))  # before it had a point
    study._storage.remove_session()
    was = lab.json("history", "lab.db")
    lab.write("all.csv", lab("history", "lab.db", "--csv"))
    assert "4 of 4 experiments are in this study already" in lab.refuses("tell", "lab.db", "--csv", "all.csv")
    lab("create", "new.db", "--param", "x=float:0:2", *SPACE[2:], "--seed", "1")
    lab("suggest", "new.db")
    told = lab.json("tell", "new.db", "--csv", "all.csv")
    assert (told["told"], told["added"], told["passed_over"]) == (0, 4, 2)
    assert "not imported: lines 4, 7, of experiments that gave no result (not done yet, skipped" in lab.err
    now = lab.json("history", "new.db")[1:]
    assert [(row["state"], row["value"], row["params"]) for row in now] == [
        (row["state"], row["value"], row["params"]) for row in was if row["number"] in (0, 1, 3, 4)
    ]
    assert "4 of 4 experiments are in this study" in lab.refuses("tell", "new.db", "--csv", "all.csv")


def test_a_history_may_be_corrected_and_keeps_reasons(script: Shell) -> None:
    script("optimize", "objective:mixed", *SPACE, "--trials", "8", "--seed", "2", "--method", "random")
    script("suggest", "study.db")
    lines = script("history", "study.db", "--csv").splitlines()
    assert lines[0] == "number,state,value,x,n,gas,failure"
    assert "failure" in script("history", "study.db")
    lines[-1] = lines[-1].replace("waiting,", "waiting,42.5")  # it was measured after all
    script.write("all.csv", "\n".join(lines) + "\n")
    script("create", "new.db", *SPACE)
    assert script.json("tell", "new.db", "--csv", "all.csv")["added"] == 9
    before, after = script.json("history", "study.db"), script.json("history", "new.db")
    assert after[:8] == before[:8]
    assert after[8]["value"] == 42.5
    assert "failure" not in script("history", "new.db", "--last", "1", "--csv")
    script.write("space.toml", "[parameters]\nfailure = [0, 1]\n")
    assert "cannot be named 'failure'" in script.refuses("create", "b.db", "--space", "space.toml")


def test_a_spreadsheet_may_round_a_suggestion_but_not_change_it(lab: Shell) -> None:
    x, n, gas = lab.json("history", "lab.db")[0]["params"].values()
    lab.write("other.csv", f"number,x,n,gas,value\n0,{(x + 0.3) % 1},{n},{gas},1\n")
    assert "trial 0 was suggested with" in lab.refuses("tell", "lab.db", "--csv", "other.csv")
    lab.write("rounded.csv", f"\ufeffnumber,x,n,gas,value\n0,{x:.3f},{n}.0,{gas},1\n")
    lab("tell", "lab.db", "--csv", "rounded.csv")
    assert lab.json("best", "lab.db")["params"]["x"] == x


def test_one_value(lab: Shell) -> None:
    lab("tell", "lab.db", "0", "-0.5")
    lab("tell", "lab.db", "1", "-1e-3")
    lab("tell", "lab.db", "2", "--failed")
    assert [row["value"] for row in lab.json("history", "lab.db")] == [-0.5, -1e-3, None]
    assert "-0.5" in lab("best", "lab.db")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("9", "1"), "there is no trial 9; waiting for a value: 0, 1, 2"),
        (("x", "1"), "trial number is 'x'"),
        (("-1", "1"), "there is no trial -1"),
        (("0", "much"), "value is 'much', expected a number"),
        (("0", ""), "value is empty"),
        (("0", "nan"), "not a number"),
        (("0", "1,234"), "value is '1,234', expected a number with a decimal point"),
    ],
)
def test_row_13_a_wrong_value_is_refused_and_the_trial_still_waits(
    lab: Shell, args: tuple[str, ...], says: str
) -> None:
    assert says in lab.refuses("tell", "lab.db", *args)
    assert lab.json("status", "lab.db")["trials"] == {"waiting": 3}


def test_row_14_told_twice(lab: Shell) -> None:
    lab("tell", "lab.db", "0", "1")
    assert "trial 0 is finished already with value 1.0" in lab.refuses("tell", "lab.db", "0", "2")
    assert lab.json("best", "lab.db")["value"] == 1.0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x,n,gas,yield\n0.5,1,argon,1\n", "column 'value' is missing (--value-column names another)"),
        ("x,n,gass,value\n0.5,1,argon,1\n", "unknown column 'gass'; did you mean 'gas'? Expected x, n, gas"),
        ("x,n,value\n0.5,1,1\n", "column 'gas' is missing"),
        ("x,n,gas\n0.5,1,argon\n", "column 'value' is missing"),
        ("x,x,value\n1,1,1\n", "column 'x' is there twice"),
        ("x,n,gas,value\n0.5,1,argon,1\n0.5,1,argon,high\n", "line 3: value is 'high'"),
        ("x,n,gas,value\n0.5,1,argon,\n", "line 2: value is empty"),
        ("x,n,gas,value\n0.5,1,argon,NaN\n", "line 2: value is 'NaN'"),
        ("x,n,gas,value,,\n0.5,1,argon,1,,2\n", "a column without a name has cells"),
        ("x;n;gas;value\n0,5;1;argon;1.234,5\n", "value is '1.234,5', expected a number with a decimal point"),
        ("number,state,value,x,n,gas\n0,odd,1,0.5,1,argon\n", "line 2: state is 'odd', expected one of finished"),
        ("number,state,value,x,n,gas\n0,finished,,0.5,1,argon\n", "line 2: value is empty"),
        ("number,state,value,x,n,gas\n0,running,,0.5,1,argon\n", "no row with a result"),
        ("number,state,value,x,n\n0,finished,1,0.5,1\n", "column 'gas' is missing"),
        ("x,n,gas,value\n1.5,1,argon,1\n", "line 2: x is 1.5, outside the space: expected a number from 0.0 to 1.0"),
        ("x,n,gas,value\n0.5,2.5,argon,1\n", "line 2: n is '2.5', expected an integer from 1 to 9"),
        ("x,n,gas,value\n0.5,10,argon,1\n", "line 2: n is 10, outside the space"),
        ("x,n,gas,value\n0.5,,argon,1\n", "line 2: n is empty"),
        ("x,n,gas,value\n0.5,inf,argon,1\n", "line 2: n is 'inf'"),
        ("x,n,gas,value\n0.5,1,helium,1\n", "line 2: gas is 'helium', expected one of argon, nitrogen"),
        ("x,n,gas,value\n0.5,1,argon\n", "line 2: 3 cells, expected 4"),
        ("number,value\n0,1\n7,1\n", "line 3: there is no trial 7"),
        ("number,value\n0,1\n0,2\n", "line 3: trial 0 is in line 2 already"),
        ("number,value\n1.5,1\n", "trial number is '1.5'"),
        ("x,n,gas,value\n", "no rows"),
        ("", "is empty"),
        ('x,n,gas,value\n0.5,1,"argon,1\n', "not valid CSV"),
        ("x,n,gas,value\n" + "9" * 140_000 + ",1,argon,1\n", "not valid CSV"),
    ],
)
def test_row_15_a_wrong_csv_is_named_and_nothing_is_stored(lab: Shell, text: str, says: str) -> None:
    lab.write("results.csv", text)
    line = lab.refuses("tell", "lab.db", "--csv", "results.csv")
    assert says in line
    assert "results.csv" in line
    assert lab.json("status", "lab.db")["trials"] == {"waiting": 3}


def test_row_42_files_have_a_limit(lab: Shell) -> None:
    lab.write("big.csv", "x" * (MAX_BYTES + 1))
    assert "larger than 10 MB" in lab.refuses("tell", "lab.db", "--csv", "big.csv")
    assert "larger than 10 MB" in lab.refuses("create", "new.db", "--space", "big.csv")
    lab.write("long.csv", "x,n,gas,value\n" + "0.5,1,argon,1\n" * (MAX_ROWS + 1))
    assert "more than 100,000 rows" in lab.refuses("tell", "lab.db", "--csv", "long.csv")
    lab.write("deep.json", "[" * 200_000)
    assert "nested too deeply" in lab.refuses("create", "new.db", "--space", "deep.json")
    lab.write("deep.toml", "a = " + "[" * 200_000)
    lab.refuses("create", "new.db", "--space", "deep.toml")
    (lab.folder / "odd.csv").write_bytes(b"gas\n\x81\x90\n")
    assert "is not text in UTF-8" in lab.refuses("tell", "lab.db", "--csv", "odd.csv")
    assert not (lab.folder / "new.db").exists()


@pytest.mark.parametrize(
    "args",
    [
        ("tell", "lab.db"),
        ("tell", "lab.db", "0"),
        ("tell", "lab.db", "0", "1", "--failed"),
        ("tell", "lab.db", "0", "1", "--csv", "a.csv"),
        ("tell", "lab.db", "--falied", "0"),
        ("suggest",),
        ("suggest", "lab.db", "-n", "many"),
        ("invent", "lab.db"),
    ],
)
def test_wrong_usage_is_code_2(lab: Shell, args: tuple[str, ...]) -> None:
    lab(*args, code=2)
    assert "Usage: uhebo" in lab.err


# ---------------------------------------------------------------------------------------------------- study files


def test_files_that_are_no_study(shell: Shell) -> None:
    shell.write("notes.db", "these are my notes about the furnace\n")
    shell.write("notes.log", "2024-01-01 furnace on\n")
    shell.write("deep.jsonl", "[" * 200_000 + "\n")
    (shell.folder / "folder.db").mkdir()
    with closing(sqlite3.connect(shell.folder / "music.db")) as other, other:
        other.execute("create table albums (title text)")
    before = {path.name: path.read_bytes() for path in shell.folder.iterdir() if path.is_file()}
    for args in (("suggest",), ("best",), ("create", *SPACE), ("dashboard",)):
        command, *rest = args
        assert "not a SQLite database" in shell.refuses(command, "notes.db", *rest)
        assert "not a journal" in shell.refuses(command, "notes.log", *rest)
        assert "not a journal" in shell.refuses(command, "deep.jsonl", *rest)
        assert "something else (tables albums)" in shell.refuses(command, "music.db", *rest)
        assert "is a folder" in shell.refuses(command, "folder.db", *rest)
    assert {path.name: path.read_bytes() for path in shell.folder.iterdir() if path.is_file()} == before
    assert "there is no file lab.db; make a study with: uhebo create lab.db" in shell.refuses("best", "lab.db")
    assert "there is no folder" in shell.refuses("create", "no/lab.db", *SPACE)
    assert "there is no file none.toml" in shell.refuses("create", "lab.db", "--space", "none.toml")
    assert "there is no file none.csv" in _after_create(shell).refuses("tell", "lab.db", "--csv", "none.csv")
    assert "is a folder" in shell.refuses("tell", "lab.db", "--csv", "folder.db")
    assert "give a path" in shell.refuses("best", "")


def _after_create(shell: Shell) -> Shell:
    shell("create", "lab.db", *SPACE)
    return shell


def test_an_empty_file_is_no_study_but_may_become_one(shell: Shell) -> None:
    shell.write("lab.db", "")
    shell.refuses("suggest", "lab.db")
    shell("create", "lab.db", *SPACE)
    shell("suggest", "lab.db")


def test_a_study_is_not_made_twice(lab: Shell) -> None:
    assert "holds a study 'lab' already" in lab.refuses("create", "lab.db", *SPACE)
    lab("create", "lab.db", *SPACE, "--study", "second")
    assert "holds 2 studies: lab, second; choose one with --study" in lab.refuses("suggest", "lab.db")
    assert "no study 'third'; it holds: lab, second" in lab.refuses("suggest", "lab.db", "--study", "third")
    assert lab.json("suggest", "lab.db", "--study", "second")[0]["number"] == 0


def test_a_locked_file_is_waited_for_and_then_said(lab: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LOCK_WAIT_S", 0.1)
    with closing(sqlite3.connect(lab.folder / "lab.db", isolation_level=None)) as other:
        other.execute("begin exclusive")
        assert "lab.db: the study file is locked by another program" in lab.refuses("tell", "lab.db", "0", "1")
        other.execute("rollback")
        other.execute("begin immediate")  # readers get in, writers do not
        line = lab.refuses("tell", "lab.db", "0", "1")
        assert "locked by another program" in line
        assert "not stored: trial 0: 1.0" in line
        other.execute("rollback")
    lab("tell", "lab.db", "0", "1")


def test_a_folder_that_may_not_be_written(shell: Shell) -> None:
    shell("create", "elsewhere.db", *SPACE)  # everything that is needed is imported while root may still read it
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)  # root may write anywhere
        try:
            assert "folder is there and may be written" in shell.refuses("create", f"{name}/lab.db", *SPACE)
            assert "Permission denied" in shell.refuses("create", f"{name}/lab.log", *SPACE)
        finally:
            os.seteuid(user)
            folder.chmod(0o755)
        assert not list(folder.iterdir())


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call it, and SQLite gets no further page: what a full disk does, by SQLite's own limit."""
    original = RDBStorage.__init__

    def limited(self: RDBStorage, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)

        @sqlalchemy.event.listens_for(self.engine, "checkout")
        def limit(connection: Any, *_: Any) -> None:
            connection.execute("pragma max_page_count = 1")  # SQLite takes the size the file has

        self.engine.dispose()

    return lambda: monkeypatch.setattr(RDBStorage, "__init__", limited)


def test_row_35_a_full_disk(lab: Shell, full_disk: Any) -> None:
    lab.write("known.csv", "x,n,gas,value\n" + "0.5,1,argon,1.25\n" * 300)
    full_disk()
    line = lab.refuses("tell", "lab.db", "--csv", "known.csv")
    assert "the disk is full" in line
    assert "not stored: line" in line
    stored = int(line.split("; stored ")[1].split(" of")[0])
    assert lab.json("status", "lab.db")["trials"].get("finished", 0) == stored  # what is said to be stored is
    with closing(sqlite3.connect(lab.folder / "lab.db")) as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)


def test_row_35_a_full_disk_while_optimising(lab: Shell, full_disk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    full_disk()
    monkeypatch.syspath_prepend(lab.folder)
    lab.write("objective_full.py", "def f(**params):\n    return 0.125\n")
    lab("optimize", "objective_full:f", "--storage", "lab.db", "--trials", "500", code=1)
    assert lab.err.splitlines()[-1].startswith("error: the disk is full")
    assert lab.json("history", "lab.db")


def test_row_35_a_value_that_can_not_be_stored_is_on_stderr(lab: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(lab.folder)
    lab.write("objective_lost.py", "def f(**params):\n    return 0.125\n")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "lab.db")

    monkeypatch.setattr(optuna.study.Study, "tell", full)
    lab("optimize", "objective_lost:f", "--storage", "lab.db", "--more", "1", code=1)
    kept, error = [line for line in lab.err.splitlines() if line][-2:]  # the bar of older rich leaves an empty one
    assert kept.startswith("not stored: trial 3, value 0.125, parameters {'x':")
    assert error.startswith("error: lab.db: the disk is full")


def test_a_full_disk_under_a_journal_leaves_no_half_made_study(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(JournalFileBackend, "append_logs", full)
    assert "the disk is full" in shell.refuses("create", "lab.log", *SPACE)
    assert not (shell.folder / "lab.log").exists()


def test_row_26_names_of_every_kind_come_back(shell: Shell) -> None:
    """Emoji, right-to-left, SQL, markup and terminal codes as names and choices; row 26 of the faults."""
    names = ["🔥", "درجة", "x'; drop table trials; --", "[red]x[/red]", "a=b", "two\nlines", "\x1b[2Jclear"]
    choices = ["نعم", "1", "", "a,b", '"q"', " padded "]
    content = {"parameters": {name: [0.0, 1.0] for name in names} | {"c": {"type": "cat", "choices": [*choices, 1]}}}
    shell.write("space.json", json.dumps(content))
    study = "../../etc/'; drop table studies; -- 🔥"
    for file in ("lab.db", "lab.log"):
        shell("create", file, "--space", "space.json", "--study", study, "--seed", "0")
        suggested = shell.json("suggest", file, "-n", "8")
        assert list(suggested[0]["params"]) == [*names, "c"]
        lines = shell("suggest", file, "-n", "8", "--csv")
        rows = lines.rstrip("\n").removesuffix(",")
        shell.write("batch.csv", lines.replace(",\n", ",0.5\n") if rows else "")
        assert shell.json("tell", file, "--csv", "batch.csv")["told"] == 8
        assert shell.json("status", file)["study"] == study
        for table in (shell("history", file), shell("best", file), shell("status", file)):
            assert "\x1b" not in table
        assert "[red]x[/red]" in shell("history", file)
        assert len({row["params"]["c"] for row in shell.json("history", file)}) > 2


def test_row_43_study_names_are_no_paths(shell: Shell) -> None:
    shell("create", "lab.db", *SPACE, "--study", "../../escape", "--seed", "0")
    shell("report", "lab.db")
    assert [path.name for path in shell.folder.glob("*.html")] == ["escape-report.html"]


def test_a_report_goes_only_where_a_report_belongs(lab: Shell) -> None:
    for output in ("lab.db", "report", "none/report.html", "../lab.db"):
        assert "report" in lab.refuses("report", "lab.db", "-o", output)
    lab("suggest", "lab.db")


def test_row_45_passwords_are_never_shown(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    for url in (
        "postgresql+psycopg://me:sec:ret/@word@127.0.0.1:1/x",
        "postgresql+nodriver://me:secret@127.0.0.1/x",
        "nosuch://me:secret@127.0.0.1/x?password=secret",
        "mysql://:secret@127.0.0.1/x",
    ):
        for debug in ("", "1"):
            monkeypatch.setenv("UHEBO_DEBUG", debug)
            shell("best", url, code=1) if debug else shell.refuses("best", url)
            assert "sec" not in shell.err.replace("security", "")
            assert "ret/" not in shell.err
            assert "word@" not in shell.err


def test_a_study_made_in_python(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    made = optuna.create_study(storage="sqlite:///mine.db", study_name="mine")
    assert "no search space" in shell.refuses("suggest", "mine.db")
    assert "no finished trial" in shell.refuses("best", "mine.db")
    made.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    assert set(shell.json("suggest", "mine.db")[0]["params"]) == {"x"}
    made.set_user_attr(settings.ATTRIBUTE, {"space": 3})
    assert "cannot be read" in shell.refuses("suggest", "mine.db")
    optuna.create_study(storage="sqlite:///two.db", directions=["minimize", "maximize"])
    assert "no search space" in shell.refuses("suggest", "two.db")
    made._storage.remove_session()
    monkeypatch.setattr(optuna, "load_study", _raise(ZeroDivisionError("what\nis this")))
    assert "unexpected ZeroDivisionError: what (UHEBO_DEBUG=1" in shell.refuses("suggest", "mine.db")
    monkeypatch.setenv("UHEBO_DEBUG", "1")
    with pytest.raises(SystemExit):
        main(["suggest", "mine.db"])
    assert "Traceback" in shell.capsys.readouterr().err


def test_the_space_of_a_study_made_in_python_is_that_of_its_finished_trials(shell: Shell) -> None:
    made = optuna.create_study(storage="sqlite:///mine.db", study_name="mine")

    def objective(trial: optuna.Trial) -> float:
        lr = trial.suggest_float("lr", 0, 1)
        if trial.number % 3 == 0:
            raise ValueError("between two suggestions")
        return lr + trial.suggest_int("depth", 1, 5)

    made.optimize(objective, n_trials=1, catch=ValueError)
    assert set(shell.json("suggest", "mine.db")[0]["params"]) == {"lr"}  # nothing better is known yet
    made.optimize(objective, n_trials=5, catch=ValueError)
    made.ask({"lr": Float(0, 1)})  # another program has only begun to ask
    assert set(shell.json("suggest", "mine.db")[0]["params"]) == {"lr", "depth"}
    assert "other parameters" not in shell.err
    made.tell(made.ask({"lr": Float(0, 1), "width": Int(1, 5)}), 1.0)
    assert set(shell.json("suggest", "mine.db")[0]["params"]) == {"lr", "width"}
    assert shell.err.count("going on with") == 1
    assert "other parameters or ranges than trial 9, the latest; going on with its: lr, width" in shell.err
    made._storage.remove_session()


def _raise(error: BaseException) -> Any:
    def raising(*_: Any, **__: Any) -> Any:
        raise error

    return raising


def test_a_suggestion_cut_short_is_not_left_running(lab: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings.ShellSampler, "sample_relative", _raise(KeyboardInterrupt()))
    lab("suggest", "lab.db", code=130)
    assert lab.json("status", "lab.db")["trials"] == {"waiting": 3, "failed": 1}


def test_a_first_batch_is_spread(shell: Shell) -> None:
    """Nothing has been told yet, and the space is known."""
    shell("create", "first.db", "--param", "t=20.0:120.0", "--param", "s=cat:a,b", "--seed", "1")
    points = shell.json("suggest", "first.db", "-n", "4")
    assert sorted(point["params"]["s"] for point in points) == ["a", "a", "b", "b"]
    at = sorted(point["params"]["t"] for point in points)
    assert min(b - a for a, b in itertools.pairwise(at)) > 10.0


# ---------------------------------------------------------------------------------------------------- spaces


@pytest.mark.parametrize(
    ("text", "distribution"),
    [
        ("lr=float:1e-5:1e-1:log", Float(1e-5, 1e-1, log=True)),
        ("t=float:0:10:step=0.5", Float(0, 10, step=0.5)),
        ("depth=int:2:12", Int(2, 12)),
        ("size=int:2:12:step=2", Int(2, 12, step=2)),
        ("x=0.1:0.9", Float(0.1, 0.9)),
        ("k=1:5", Int(1, 5)),
        ("s=cat:adam,sgd", Categorical(["adam", "sgd"])),
        ("b=cat:16,32,true,null", Categorical([16, 32, True, None])),
        ('q=cat:"1",1', Categorical(["1", 1])),
    ],
)
def test_param_options(text: str, distribution: Any) -> None:
    assert parse_param(text) == (text.partition("=")[0], distribution)


@pytest.mark.parametrize(
    "text",
    [
        *("x", "=float:0:1", "x=float", "x=float:0", "x=float:a:b", "x=float:1:0", "x=float:0:1:lgo", "x=1:2:3"),
        *("x=float:0:1:log", "x=float:1:2:log=2", "x=int:0.5:1", "x=cat:a,a", "x=double:0:1", "value=float:0:1"),
        *("x=float:0:inf", "x=float:0:1:step="),
    ],
)
def test_wrong_param_options(shell: Shell, text: str) -> None:
    shell.refuses("create", "lab.db", "--param", text)
    assert not (shell.folder / "lab.db").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no [parameters]"),
        ("[parameters]", "no [parameters]"),
        ("x = [0.0, 1.0]", "unknown key 'x'"),
        ("[parameters]\nx = 3", "parameter 'x' is 3"),
        ("[parameters]\nx = [1, 2, 3]", "categorical"),
        ("[parameters]\nx = {low = 1, high = 2}", "type is missing; write {type = "),
        ("[parameters]\nx = {type = 'float', low = 1}", "'high' is missing"),
        ("[parameters]\nx = {type = 'float', low = 1, hihg = 2}", "unknown key 'hihg'"),
        ("[parameters]\nx = {type = 'float', low = 1, high = 2, log = 'yes'}", "log is 'yes'"),
        ("[parameters]\nx = {type = 'int', low = 1.5, high = 2}", "parameter 'x': low is 1.5; expected an integer"),
        ("[parameters]\nx = {type = 'categorical', choices = [[1], [2]]}", "'x'"),
        ("[parameters]\nnumber = [1, 2]", "cannot be named 'number'"),
        ("seed = 'one'\n[parameters]\nx = [0.0, 1.0]", "seed is 'one', expected a whole number"),
        ("seed = true\n[parameters]\nx = [0.0, 1.0]", "seed is True"),
        ("direction = 'up'\n[parameters]\nx = [0.0, 1.0]", "direction is 'up'"),
        ("method = 'magic'\n[parameters]\nx = [0.0, 1.0]", "unknown method 'magic'"),
        ("[parameters\n", "not valid"),
    ],
)
def test_wrong_space_files(shell: Shell, text: str, says: str) -> None:
    shell.write("space.toml", text)
    line = shell.refuses("create", "lab.db", "--space", "space.toml")
    assert says in line
    assert not (shell.folder / "lab.db").exists()


def test_options_win_over_the_space_file(shell: Shell) -> None:
    shell.write(
        "space.toml", "seed = 1\nmethod = 'map'\ndeterministic = true\n[parameters]\nx = [0, 5]\ny = [0.0, 1]\n"
    )
    made = shell.json("create", "lab.db", "--space", "space.toml", "--param", "z=cat:a,b", "--seed", "2")
    assert made["settings"] == {"method": "map", "seed": 2, "deterministic": True}
    assert {name: d["type"] for name, d in made["parameters"].items()} == {"x": "int", "y": "float", "z": "categorical"}
    assert "given twice" in shell.refuses("create", "b.db", "--space", "space.toml", "--param", "x=float:0:1")
    assert "needs parameters" in shell.refuses("create", "b.db")


def test_choices_as_text_and_back() -> None:
    distribution = Categorical(["1", 1, "true", 2.5, None, "", "word", ' "x"'])
    assert [parsed("c", text, distribution) for text in texts(distribution)] == list(distribution.choices)
    assert len(set(texts(distribution))) == len(distribution.choices)
    assert parsed("b", "True", Categorical([True, False])) is True
    assert parsed("b", "FALSE", Categorical(["true", "false"])) == "false"
    assert parsed("b", "1", Categorical([1.0, 2.0])) == 1.0
    assert parsed("b", "True", Categorical([True, "True"])) == "True"
    with pytest.raises(InvalidInputError, match="b is 'TRUE'"):  # which one?
        parsed("b", "TRUE", Categorical([True, "True"]))
    with pytest.raises(InvalidInputError, match="b is 'maybe'"):
        parsed("b", "maybe", Categorical([True, False]))


def test_printable() -> None:
    assert printable("ok 🔥 نعم \x1b[2J\u202e") == "ok 🔥 نعم \\x1b[2J\\u202e"


# ---------------------------------------------------------------------------------------------------- optimize


@pytest.fixture
def script(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.syspath_prepend(shell.folder)
    monkeypatch.delitem(sys.modules, "objective", raising=False)
    shell.write(
        "objective.py",
        "import time\n"
        "def good(x, n, gas):\n    print('noise')\n    return (x - 0.3) ** 2 + n\n"
        "def mixed(x, n, gas):\n    return 'text' if n % 2 else [1.0, 2.0] if n == 4 else x\n"
        "def none(**_):\n    return None\n"
        "def slow(**_):\n    time.sleep(30)\n"
        "def leave(**_):\n    raise SystemExit(3)\n"
        "def ctrl_c(x, n, gas):\n    if n > 3:\n        raise KeyboardInterrupt\n    return x\n"
        "def prunes(x, n, gas, trial):\n    import optuna\n    trial.set_user_attr('n', n)\n"
        "    if trial.number % 2:\n        raise optuna.TrialPruned\n    return x\n"
        "nothing = 3\n",
    )
    return shell


def test_the_end_of_a_finite_space(script: Shell) -> None:
    script("create", "e.db", "--param", "gas=cat:argon,nitrogen", "--deterministic", "--seed", "0")
    script("suggest", "e.db")
    script("tell", "e.db", "0", "1.5")
    script("suggest", "e.db")
    assert "all 2 points of the space have been tried" in script.refuses("suggest", "e.db")
    script.write("few.toml", "deterministic = true\n[parameters]\nx = [1, 2]\nn = [1, 2]\ngas = ['a']\n")
    done = script.json("optimize", "objective:good", "--space", "few.toml", "--trials", "9", "--storage", "f.db")
    assert done["trials"] == {"finished": 4}  # and none without a point
    assert "all 4 points of the space have been tried" in script.err


def test_a_function_that_takes_the_trial_may_prune(script: Shell) -> None:
    done = script.json("optimize", "objective:prunes", *SPACE, "--trials", "6", "--seed", "0", "--storage", "p.db")
    assert done["trials"] == {"finished": 3, "pruned": 3}


def test_optimising_a_function(script: Shell) -> None:
    done = script.json("optimize", "objective:good", *SPACE, "--trials", "12", "--seed", "0", "--storage", "a.db")
    assert "noise" in script.err  # what the function prints does not get into the JSON
    assert done["trials"] == {"finished": 12}
    assert done["best"]["value"] < 2.5
    assert script.json("status", "a.db")["settings"]["n_trials"] == 12
    again = script.json("optimize", "objective:good", "--more", "2", "--storage", "a.db")
    assert again["trials"] == {"finished": 14}
    assert "going on with study 'a'" in script.err
    assert "another seed" in script.refuses("optimize", "objective:good", "--seed", "3", "--storage", "a.db")
    other = script.refuses("optimize", "objective:good", "--param", "x=float:0:1", "--storage", "a.db")
    assert "another space" in other


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (("--method", "nonsense"), "unknown method 'nonsense'"),
        (("--acquisition", "nonsense"), "unknown acquisition 'nonsense'"),
        (("--startup", "-1"), "n_startup_trials is -1"),
        (("--direction", "max"), "direction is 'max'"),
        (("--method", "map"), "another method (auto, not map)"),
        (("--acquisition", "ucb"), "another acquisition (log-ei, not ucb)"),
        (("--startup", "4"), "another n_startup_trials (9, not 4)"),
        (("--deterministic",), "another deterministic (False, not True)"),
        (("--direction", "maximize"), "another direction (minimize, not maximize)"),
    ],
)
def test_a_study_that_exists_keeps_its_settings_also_those_left_out(
    script: Shell, option: tuple[str, ...], says: str
) -> None:
    script("create", "a.db", *SPACE, "--seed", "1")
    assert says in script.refuses("optimize", "objective:good", *option, "--trials", "1", "--storage", "a.db")
    same = ("--method", "auto", "--acquisition", "log-ei", "--startup", "9", "--noisy", "--seed", "1")
    script("optimize", "objective:good", *same, "--trials", "1", "--storage", "a.db")


def test_a_study_made_in_python_takes_the_settings_that_are_given(script: Shell) -> None:
    made = optuna.create_study(storage="sqlite:///mine.db", study_name="mine")
    command = ("optimize", "objective:good", "--storage", "mine.db", "--trials", "1")
    assert "no search space" in script.refuses(*command)
    space = {"x": Float(0, 1), "n": Int(1, 9), "gas": Categorical(["argon", "nitrogen"])}
    made.tell(made.ask(space), 1.0)
    assert "another space" in script.refuses(*command, "--param", "x=float:0:1")
    assert "unknown method" in script.refuses(*command, "--method", "nonsense")
    assert script.json("status", "mine.db")["settings"] == {"seed": 0}
    script(*command, "--seed", "5", "--method", "random")
    assert "kept in it from now on: method random, seed 5" in script.err
    assert script.json("status", "mine.db")["settings"] == {"seed": 5, "method": "random"}
    assert "another seed (5, not 6)" in script.refuses(*command, "--seed", "6")
    optuna.create_study(storage="sqlite:///empty.db", study_name="empty")
    script("optimize", "objective:good", "--storage", "empty.db", "--trials", "1", *SPACE)
    made._storage.remove_session()


def test_the_number_of_trials(script: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option's, else the space file's, else 60."""
    monkeypatch.setattr("uhebo.cli.optimise.TRIALS", 5)
    script.write(
        "space.toml", "n_trials = 3\nmethod = 'random'\n[parameters]\nx = [0.0, 1]\nn = [1, 2]\ngas = ['a', 'b']"
    )
    found = []
    for number, options in enumerate((["--space", "space.toml", "--trials", "2"], ["--space", "space.toml"], SPACE)):
        done = script.json("optimize", "objective:good", *options, "--storage", f"{number}.db")
        found.append((done["trials"], script.json("status", f"{number}.db")["settings"]["n_trials"]))
    assert found == [({"finished": count}, count) for count in (2, 3, 5)]
    script.write("none.toml", "n_trials = 0\n[parameters]\nx = [0.0, 1]\n")
    assert "n_trials in the space file is 0" in script.refuses("optimize", "objective:good", "--space", "none.toml")
    assert "else 60" in " ".join(script("optimize", "--help").split())


def test_failing_trials(script: Shell) -> None:
    done = script.json("optimize", "objective:mixed", *SPACE, "--trials", "10", "--seed", "2", "--method", "random")
    assert done["trials"]["failed"] + done["trials"]["finished"] == 10
    reasons = [row["failure"] for row in script.json("history", "study.db") if row["state"] == "failed"]
    assert "the value is 'text', expected a number; that is text: return the number itself" in reasons
    for name, says in (("none", "'None'"), ("leave", "SystemExit: 3"), ("slow", "no value after 0.05 s")):
        file = f"{name}.db"
        script("optimize", f"objective:{name}", *SPACE, "--timeout", "0.05", "--storage", file, code=1)
        last = script.err.splitlines()[-1]
        assert last.startswith("error: the first 5 trials all failed")
        assert says in last
        assert script.json("status", file)["trials"] == {"failed": 5}


def test_an_interrupted_run_keeps_what_was_done(script: Shell) -> None:
    out = script("optimize", "objective:ctrl_c", *SPACE, "--seed", "1", "--method", "random", "--json", code=130)
    done = json.loads(out)
    assert done["interrupted"] is True
    assert done["trials"].get("failed") == 1
    assert "running" not in done["trials"]


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (["objective:absent"], "has no 'absent'"),
        (["objective:nothing"], "expected a function"),
        (["absent_module:f"], "importing absent_module failed"),
        (["objective.py:good"], "write objective:good"),
        (["./absent.sh"], "not a program"),
        (["./objective.py"], "chmod +x"),
    ],
)
def test_targets_that_are_none(script: Shell, target: list[str], says: str) -> None:
    assert says in script.refuses("optimize", *target, *SPACE)
    assert not (script.folder / "study.db").exists()


def test_wrong_numbers_for_optimize(script: Shell) -> None:
    script.refuses("optimize", "objective:good", *SPACE, "--trials", "0")
    script.refuses("optimize", "objective:good", *SPACE, "--timeout", "-1")
    script.refuses("optimize", "objective:good")
    script("optimize", code=2)


def _executable(shell: Shell, name: str, body: str) -> str:
    path = shell.folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return f"./{name}"


def test_optimising_a_program(shell: Shell) -> None:
    body = 'echo "epoch 7"; echo "$UHEBO_TRIAL $UHEBO_PARAM_N $1 $2" >> seen; echo "loss: $UHEBO_PARAM_X (best)"'
    program = _executable(shell, "train.sh", body)
    done = shell.json("optimize", *SPACE, "--trials", "3", "--seed", "1", "--", program, "--gas={gas}", "{other}")
    history = shell.json("history", "study.db")
    assert [row["value"] for row in history] == [row["params"]["x"] for row in history]
    assert done["best"]["value"] == min(row["value"] for row in history)
    seen = [f"{r['number']} {r['params']['n']} --gas={r['params']['gas']} {{other}}" for r in history]
    assert (shell.folder / "seen").read_text().splitlines() == seen


@pytest.mark.parametrize(
    ("body", "limit", "says"),
    [
        ("echo oops >&2; exit 3", LIMIT_S, "exit code 3: oops"),
        ("echo no number here", LIMIT_S, "printed no number"),
        ("echo nan", LIMIT_S, "NaN"),
        ("sleep 3600", 0.3, "no value after 0.3 s"),
    ],
)
def test_programs_that_fail(shell: Shell, monkeypatch: pytest.MonkeyPatch, body: str, limit: float, says: str) -> None:
    monkeypatch.setattr("uhebo.cli.trial_loop.HOPELESS", 2)
    program = _executable(shell, "bad.sh", body)
    shell("optimize", *SPACE, "--timeout", str(limit), "--", program, code=1)
    assert says in shell.err.splitlines()[-1]


def test_a_program_that_can_not_start_ends_the_run(shell: Shell) -> None:
    program = shell.folder / "empty.bin"
    program.write_bytes(b"\x00\x01")
    program.chmod(0o755)
    shell("optimize", *SPACE, "--", "./empty.bin", code=1)
    assert "cannot be started" in shell.err.splitlines()[-1]
    assert shell.json("status", "study.db")["trials"] == {"failed": 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("epoch 3\naccuracy = 0.93\n", 0.93),
        ("0.93.", 0.93),
        ("v1.2.3 loss -1.5E-3 after 12s", -1.5e-3),
        ("loss .5 on cuda0", 0.5),
        ("93%", 93.0),
        ("-inf", float("-inf")),
        ("banana 4\nInfinite loop", 4.0),
        (" energy =  0.1234D-03", 0.1234e-3),
        ("energy -1.5d+02 of resnet-50 in 2D", -150.0),
        ("\x1b[1;32m0.75\x1b[0m", 0.75),
        ("loss\x1b[32m0.75\x1b[0m\x1b]0;title 3\x07\x1b[2K\x1b(B\r", 0.75),
        ("-\x1b[1m0.5\x1b[0m", -0.5),
        ("10\x1b[2K0.5", 0.5),
        ("loss \N{MINUS SIGN}0.5", -0.5),
        ("(3, 0.25), [1,-2], {a:1,b:2}", 2.0),
        ("loss 0.5 after 1,234s", 0.5),
        ("loss,0.25", 0.25),
    ],
)
def test_the_last_printed_number(text: str, value: float) -> None:
    assert last_number(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "loss: 1,234.56",
        "1.234,56",
        "0,5",
        "1'234.5",
        "1_234.5",
        "0.1234-103",
        "2024-05-17",
        "1.2.3",
        "3,0.25",
        "1,5e-3",
    ],
)
def test_a_printed_number_that_may_mean_several_is_none(text: str) -> None:
    """And the number before it is not taken in its place."""
    with pytest.raises(EvaluationFailed, match="more than one way; let it print the value last, as a plain number"):
        last_number(f"epoch 3\n{text}\n")


def test_long_output_takes_no_longer() -> None:
    for piece in ("1", "1,", "-", "1.", "\x1b[", "e1", "_"):
        with pytest.raises(EvaluationFailed):
            last_number(piece * (TAIL_BYTES // len(piece)) + "x")


def test_no_printed_number() -> None:
    for text in ("", "none", "nan", "1.2.3"):
        with pytest.raises(EvaluationFailed):
            last_number(text)


def test_names_in_the_environment() -> None:
    assert environment_names(["lr", "Batch size"]) == {
        "lr": "UHEBO_PARAM_LR",
        "Batch size": "UHEBO_PARAM_BATCH_SIZE",
    }
    with pytest.raises(InvalidInputError, match="would both be UHEBO_PARAM_A_B"):
        environment_names(["a-b", "a_b"])


# ---------------------------------------------------------------------------------------------------- the rest


def test_methods_lists_all_with_a_sentence(shell: Shell) -> None:
    from uhebo import METHODS

    listed = shell.json("methods")
    assert list(listed) == list(METHODS)
    assert all(len(sentence) > 10 for sentence in listed.values())
    assert "uhe" in shell("methods")


def test_both_formats_are_too_many(lab: Shell) -> None:
    assert "choose one" in lab.refuses("history", "lab.db", "--json", "--csv")
    assert "expected 1 to" in lab.refuses("suggest", "lab.db", "-n", "0")
    assert "--last" in lab.refuses("history", "lab.db", "--last", "0")


def test_row_46_the_dashboard_stays_on_this_machine(lab: Shell) -> None:
    assert "--allow-remote" in _last_line(lab, "dashboard", "lab.db", "--host", "0.0.0.0", "--port", "0")
    assert "--port is 99999" in lab.refuses("dashboard", "lab.db", "--port", "99999")


def test_version_and_completion(shell: Shell) -> None:
    from uhebo import __version__

    assert shell("--version").strip() == f"uhebo {__version__}"
    assert "--install-completion" in shell("--help")


def test_states_have_names() -> None:
    from uhebo.cli.records import STATES

    assert set(STATES) == set(TrialState)


def _last_line(shell: Shell, *args: str) -> str:
    """The error of a command that says what it does before it fails."""
    shell(*args, code=1)
    return shell.err.splitlines()[-1]


# Commands of other packages


class Broken:
    name, value = "weather", "weather.cli:forecast"

    def load(self) -> None:
        raise ModuleNotFoundError("No module named 'weather'")


def test_a_broken_plug_in_is_one_line_and_only_when_it_is_called(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(app.PLUGINS, "bench", Broken())
    assert "bench" in shell("--help")
    line = shell.refuses("bench", "peers")
    assert "`uhebo bench` comes from the plug-in weather.cli:forecast, which cannot be loaded" in line
    monkeypatch.delitem(app.PLUGINS, "bench")
    assert "pip install uhebo-experiments" in shell.refuses("bench", "peers", "--seeds", "1")


def test_the_list_of_commands_says_what_each_says_and_loads_none_of_them() -> None:
    for name, (_, line) in app.COMMANDS.items():
        assert app.loaded(name).help.partition("\n")[0] == line
    code = (
        "import sys, typer; before = set(sys.modules)\n"  # older typer loads rich itself
        "import uhebo.cli.app; print({'optuna', 'numpy', 'rich', 'uhebo_experiments'} & (set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_wrong_usage_shows_no_password(shell: Shell) -> None:
    shell("best", "lab.db", "postgresql://me:hunter2@h/x", code=2)
    assert "extra argument" in shell.err
    assert "hunter2" not in shell.err


@pytest.mark.parametrize(
    ("chance", "said"),
    [
        (0.0, "less than 0.1 %"),
        (0.004, "0.4 %"),
        (0.38, "38 %"),
        (0.994, "99 %"),
        (0.996, "more than 99 %"),
        (1.0, "more than 99 %"),
    ],
)
def test_a_chance_in_per_cent(chance: float, said: str) -> None:
    assert percent(chance) == said
