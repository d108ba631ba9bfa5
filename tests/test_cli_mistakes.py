"""First mistakes in the shell: what people write who have not read its page, and the line they get."""
# ruff: noqa: E501  (one mistake per line, with its whole message)

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.shell import Shell

FUNCTIONS = """
def fine(lr):
    return lr

def misspelt(learning_rate, lr=None):
    return learning_rate

def two(lr, momentum):
    return lr

async def waits(lr):
    return lr

def nothing(lr):
    pass

def table(lr):
    return {"loss": lr}

def one(lr):
    return [lr]
"""
NEW = ("--param", "lr=0.1:1", "--trials", "2")


@pytest.fixture
def lab(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.syspath_prepend(shell.folder)
    monkeypatch.delitem(sys.modules, "mistaken", raising=False)
    shell.write("mistaken.py", FUNCTIONS)
    return shell


MISTAKES: list[tuple[tuple[str, ...], str]] = [
    (("optimize", "mistaken:misspelt", *NEW), "mistaken:misspelt needs 'learning_rate', and the space has 'lr'; parameters come by name: write def misspelt(lr), or def misspelt(**learning_rate)"),
    (("optimize", "mistaken:two", *NEW), "mistaken:two needs 'momentum', and the space has 'lr'; add it to the space, rename it, or give it a default"),
    (("optimize", "mistaken:fine", *NEW, "--param", "depth=1:9"), "the space has 'depth', and mistaken:fine takes 'lr'; rename it, or add it to the function"),
    (("optimize", "mistaken:waits", *NEW), "mistaken:waits is an async function; await it in a plain one: return asyncio.run(waits(…))"),
    (("optimize", *NEW, "--", "echo", "{lrr}"), "there is no parameter for {lrr} in the program's arguments; write {lr}"),
    (("create", ":memory:", *NEW), "the study file is ':memory:'; to keep nothing leave storage out, else give such as lab.db"),
    (("create", "sqlite://lab.db", *NEW), "sqlite://lab.db has a slash too few; write sqlite:///lab.db, or lab.db alone"),
    (("create", "lab.json", *NEW), "the study file is 'lab.json', and a study is a SQLite file; name it lab.db"),
    (("create", "lab.db", *NEW, "--direction", "max"), "direction is 'max'; did you mean maximize? Otherwise expected minimize or maximize"),
    (("create", "lab.db", *NEW, "--objective", "yield:max"), "--objective is 'yield:max'; did you mean yield:maximize? Otherwise expected NAME:minimize or NAME:maximize"),
]  # fmt: skip
IN_A_STUDY: list[tuple[tuple[str, ...], str]] = [
    (("worker", "--storage", "lab.db", "mistaken:two"), "mistaken:two needs 'momentum', and the space has 'lr'; add it to the space, rename it, or give it a default"),
    (("worker", "--storage", "lab.db", "--timeout", "60", "mistaken:two"), "mistaken:two needs 'momentum', and the space has 'lr'; add it to the space, rename it, or give it a default"),
    (("best", "lab"), "there is no file lab; did you mean lab.db? Or make a study with: uhebo create lab …"),
    (("best", "lba.db"), "there is no file lba.db; did you mean lab.db? Or make a study with: uhebo create lba.db …"),
]  # fmt: skip
USAGE: list[tuple[tuple[str, ...], str]] = [
    (("suggest", "lab.db", "4"), "; write -n 4"),
    (("suggest", "--storage", "lab.db"), "; the study comes by itself: uhebo suggest lab.db"),
    (("extend", "lab.db", "--param", "lr=0.01:10"), "; write the parameter by itself: lr=0.01:10"),
    (("worker", "--storage", "lab.db"), "What is optimised comes last: module:function, or -- and a program with its arguments"),
    (("optimize", *NEW), "What is optimised comes last: module:function, or -- and a program with its arguments"),
    (("optimize", "mistaken:fine", "--param", "lr=0.1:1", "--n-trials", "2"), "; write --trials N"),
]  # fmt: skip


def ids(rows: list[tuple[tuple[str, ...], str]]) -> list[str]:
    return [" ".join(command) for command, _ in rows]


@pytest.mark.parametrize(("command", "message"), MISTAKES, ids=ids(MISTAKES))
def test_first_mistakes(command: tuple[str, ...], message: str, lab: Shell) -> None:
    """One line, which says what to do, and no study is left behind: the corrected command would be refused for it."""
    before = files(lab.folder)
    assert lab.refuses(*command) == f"error: {message}\n"
    assert files(lab.folder) == before


@pytest.mark.parametrize(("command", "message"), IN_A_STUDY, ids=ids(IN_A_STUDY))
def test_first_mistakes_with_a_study(command: tuple[str, ...], message: str, lab: Shell) -> None:
    """The same where there is a study: no trial is taken."""
    lab("create", "lab.db", *NEW)
    assert lab.refuses(*command) == f"error: {message}\n"
    assert lab.json("status", "lab.db")["trials"] == {}


@pytest.mark.parametrize(("command", "remedy"), USAGE, ids=ids(USAGE))
def test_wrong_usage_comes_with_what_to_write(command: tuple[str, ...], remedy: str, lab: Shell) -> None:
    """After Typer's own words, which are broken into lines and framed on some terminals."""
    lab(*command, code=2)
    assert " ".join(remedy.split()) in " ".join(lab.err.replace("│", " ").split())


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("nothing", "end it with a return statement"),
        ("table", 'return one entry of it, such as d["loss"]'),
        ("one", "return float(…) of its only element"),
    ],
)
def test_what_is_no_value_fails_with_a_remedy(name: str, remedy: str, lab: Shell) -> None:
    lab("optimize", f"mistaken:{name}", *NEW, code=1)
    last = lab.err.splitlines()[-1]
    assert last.startswith("error: no trial has a value (2 failed): the value is ")
    assert last.endswith(f", expected a number; {remedy}")
    lab("create", "lab.db", *NEW)
    lab("worker", "--storage", "lab.db", "--spool", "spool", f"mistaken:{name}", code=1)
    last = "error: no trial of this worker has a value (2 failed); uhebo history lab.db says why each failed"
    assert lab.err.splitlines()[-1] == last
    for row in lab.json("history", "lab.db"):
        assert row["failure"].endswith(f", expected a number; {remedy}")


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name != "__pycache__"}
