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
]  # fmt: skip
IN_A_STUDY: list[tuple[tuple[str, ...], str]] = [
    (("worker", "--storage", "lab.db", "mistaken:two"), "mistaken:two needs 'momentum', and the space has 'lr'; add it to the space, rename it, or give it a default"),
    (("worker", "--storage", "lab.db", "--timeout", "60", "mistaken:two"), "mistaken:two needs 'momentum', and the space has 'lr'; add it to the space, rename it, or give it a default"),
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
