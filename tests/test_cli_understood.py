"""The shell says what it understood, and refuses what can be understood in two ways (FIELD C5, C7)."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import uhebo
from tests.shell import Shell
from uhebo.errors import UheboWarning

LR = ("--param", "lr=float:1e-4:0.1:log", "--param", "depth=2:12")


def test_create_shows_the_space(shell: Shell) -> None:
    when = "gas == 'argon'"
    step = f'{{type = "float", low = 0, high = 1, step = 0.25, when = "{when}"}}'
    shell.write("space.toml", f"[parameters]\nt = {step}\ngas = ['argon', 'helium']\n")
    shown = " ".join(shell("create", "lab.db", *LR, "--space", "space.toml").split())
    for words in (
        "lr │ number │ 0.0001 to 0.1 │ logarithmic │ any",
        "depth │ whole number │ 2 to 12 │ linear │ 11",
        "t │ number │ 0.0 to 1.0 in steps of 0.25, where gas == 'argon' │ linear │ 5",
        "gas │ choice │ argon, helium │ - │ 2",
    ):
        assert words in shown


@pytest.mark.parametrize("given", [("--param", "share=0:1"), ("--space", "space.toml")])
def test_whole_numbers_from_0_to_1_are_refused_with_both_spellings(shell: Shell, given: tuple[str, str]) -> None:
    shell.write("space.toml", "[parameters]\nshare = [0, 1]\n")
    said = shell.refuses("create", "lab.db", *given)
    assert "share=float:0:1 or share=int:0:1" in said
    assert not (shell.folder / "lab.db").exists()


def test_two_directions_are_refused(shell: Shell) -> None:
    said = shell.refuses("create", "lab.db", *LR, "--direction", "minimize", "--direction", "maximize")
    assert "--direction is given 2 times" in said


@pytest.mark.parametrize(("given", "warned"), [((0, 1), True), ([1e-5, 1e-1], True), ((0, 2), False), ([1, 2], False)])
def test_python_warns_of_what_it_may_have_misread(given: Any, warned: bool) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UheboWarning)
        uhebo.minimize(lambda x: float(x), {"x": given}, n_trials=2, seed=0, progress=False)
    assert [each.category for each in said if "says what it is" in str(each.message)] == [UheboWarning] * warned
    assert all(each.filename == __file__ for each in said if "says what it is" in str(each.message))


def train(shell: Shell, body: str = 'echo "$1"') -> str:
    path = shell.folder / "train.sh"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return "./train.sh"


def test_a_placeholder_that_is_no_parameter(shell: Shell) -> None:
    program = train(shell)
    said = shell.refuses("optimize", *LR, "--trials", "1", "--", program, "{lr}", "{Depth}")
    assert "there is no parameter for {Depth} in the program's arguments; write {lr}, {depth}" in said
    shell("optimize", *LR, "--trials", "1", "--", program, "{lr}", "{epochs}")
    assert "{epochs} is no parameter and is passed as it is" in shell.err
    shell("optimize", *LR, "--trials", "2", "--", program, "{lr}", "awk { print }")
    assert "no parameter" not in shell.err


def test_a_run_without_a_value_is_an_error(shell: Shell) -> None:
    program = train(shell, "echo broken >&2; exit 3")
    shell("optimize", *LR, "--trials", "2", "--", program, code=1)
    assert shell.err.splitlines()[-1] == "error: no trial has a value (2 failed): exit code 3: broken"


def test_going_on_means_to_the_budget_and_more_means_more(shell: Shell) -> None:
    shell.write("train.py", "def loss(lr, depth):\n    return lr\n")
    command = ("optimize", "train:loss", "--storage", "study.db")
    shell(*command, *LR, "--trials", "4", "--method", "random")
    shell(*command, "--trials", "6")
    assert shell.json("status", "study.db")["trials"] == {"finished": 6}
    shell(*command, "--trials", "6")
    assert "6 of 6 trials are done already; --more N adds some" in shell.err
    shell(*command, "--more", "2")
    assert shell.json("status", "study.db")["trials"] == {"finished": 8}
    assert "choose one" in shell.refuses(*command, "--more", "2", "--trials", "3")
