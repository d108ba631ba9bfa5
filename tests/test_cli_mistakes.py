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
    (("create", "lab.db", "--param", "t=float:0,5:10:log"), "--param is 't=float:0,5:10:log'; numbers have a decimal point here: write t=float:0.5:10:log"),
    (("create", "lab.db", "--param", "t=1:1,000"), "--param is 't=1:1,000'; numbers have a decimal point here, and nothing between thousands: write t=1:1.000"),
]  # fmt: skip
IN_A_STUDY: list[tuple[tuple[str, ...], str]] = [
    (("worker", "--storage", "lab.db", "mistaken:two"), "mistaken:two needs 'momentum', and the space has 'lr'; add it to the space, rename it, or give it a default"),
    (("worker", "--storage", "lab.db", "--timeout", "60", "mistaken:two"), "mistaken:two needs 'momentum', and the space has 'lr'; add it to the space, rename it, or give it a default"),
    (("best", "lab"), "there is no file lab; did you mean lab.db? Or make a study with: uhebo create lab …"),
    (("best", "lba.db"), "there is no file lba.db; did you mean lab.db? Or make a study with: uhebo create lba.db …"),
]  # fmt: skip
LATER = "leave the trial waiting until the number is there; in a sheet leave all results of its row empty; for a value below a detection limit enter the limit, or half of it; if it never comes: --failed"
CARRY = "make a new study and carry the trials over: uhebo history lab.db --csv > all.csv, uhebo create new.db …, uhebo tell new.db --csv all.csv"
TOLD = ("tell", "lab.db", "1", "yield=40")
WITH_TWO_OBJECTIVES: list[tuple[tuple[str, ...], str]] = [
    (("suggest", "lab.db", "--repeat-best"), "there is no single best trial to repeat: with several objectives the best ones are a front; uhebo best lab.db lists it, and --repeat NUMBER repeats one of its trials"),
    ((*TOLD, "impurity=", "pressure=3"), f"impurity is empty, expected a number; {LATER}"),
    ((*TOLD, "impurity=NaN", "pressure=3"), f"impurity is 'NaN', which is not a number that an experiment gives; {LATER}"),
    ((*TOLD, "impurity=n.d.", "pressure=3"), f"impurity is 'n.d.', expected a number; {LATER}"),
    ((*TOLD, "impurity=<0.1", "pressure=3"), f"impurity is '<0.1', expected a number; {LATER}"),
    ((*TOLD, "pressure=3"), "impurity is missing; expected yield=NUMBER impurity=NUMBER pressure=NUMBER; if it is not there yet, tell all of them later: the trial waits"),
    ((*TOLD, "impurity=2", "pressure=2.68±0.05"), "pressure is '2.68±0.05'; an error is told of objectives only, and pressure has a limit: write 2.68"),
    ((*TOLD, "impurity=2", "pressure=2.68", "--error", "0.3"), "--error is of one value; with several objectives write it after the value: yield=81.2±0.3"),
    (("tell", "lab.db", "1", "yield", "=", "79.9"), "a name and its value are one word, without spaces around =; write yield=79.9"),
    (("tell", "lab.db", "1", "yield=", "79.9", "impurity", "=2"), "a name and its value are one word, without spaces around =; write yield=79.9 impurity=2"),
    (("amend", "lab.db", "0", "yield", "=", "79.9"), "a name and its value are one word, without spaces around =; write yield=79.9"),
    (("extend", "lab.db", "time", "=", "1:9"), "a name and its value are one word, without spaces around =; write time=1:9"),
    (("tell", "lab.db", "2", "yield=1", "impurity=1", "pressure=1"), "trial 2 has failed already; uhebo amend corrects it, and --again tells a further measurement"),
    (("tell", "lab.db", "0", "yield=1", "impurity=1", "pressure=1"), "trial 0 is finished already with values 40.0, 2.0; uhebo amend corrects it, and --again tells a further measurement"),
    (("extend", "lab.db", "impurity=maximize"), f"the direction of a study cannot be changed in place; {CARRY}"),
    (("extend", "lab.db", "yield=0:1"), f"an objective of a study cannot be changed in place; {CARRY}"),
    (("extend", "lab.db", "pressure=0:5"), f"the limit of a constraint cannot be changed in place; {CARRY}"),
]  # fmt: skip
SHEETS: list[tuple[str, str]] = [
    ("number,yield,impurity,pressure,error\n1,40,2,3,1\n", ": column 'error' does not say which value it is of; name it 'yield error' or 'impurity error'"),
    ("number,yield,impurity,pressure,yield_error\n1,40,2,3,1\n", ": unknown column 'yield_error'; did you mean 'yield error'? Else rename it to keep it as a note"),
    ("number,yield,impurity,pressure,Error of yield\n1,40,2,3,1\n", ": unknown column 'Error of yield'; did you mean 'yield error'? Else rename it to keep it as a note"),
    ("number,yield,impurity,pressure,Pressure error [bar]\n1,40,2,3,1\n", ": column 'pressure error' cannot be used: errors are told of objectives only, and pressure has a limit; take it out, rename it to keep it as a note, or import with --ignore-extra"),
    ("temperature [K],time,yield,impurity,pressure\n300,1,40,2,3\n", ": column 'temperature [K]' is in K, and the study has temperature in °C; convert the column, or correct its heading (uhebo extend --unit corrects the unit in the study)"),
    ("number,yield,impurity,pressure,yield error [g]\n1,40,2,3,1\n", ": column 'yield error [g]' is in g, and the study has yield error in %; convert the column, or correct its heading (uhebo extend --unit corrects the unit in the study)"),
    ("number,yeild,impurity,pressure\n1,40,2,3\n", ": unknown column 'yeild'; did you mean 'yield'? Expected temperature, time, yield, impurity, pressure, and if you like number"),
    ("number,yield,impurities,pressure\n1,40,2,3\n", ": column 'impurity' is missing; is it what you call 'impurities'? Rename that; it has number, yield, impurities, pressure"),
    ("number,Yield,YIELD,impurity,pressure\n1,40,2,3,1\n", ": column 'yield' is there twice; drop one"),
    ("number,yield,impurity,pressure\n1,40,,3\n", ", line 2: impurity is empty; until it is there leave all results of the row (yield, impurity, pressure) empty, and the trial waits; for a value below a detection limit enter the limit, or half of it; nothing was stored"),
    ("temperature,time,yield,impurity,pressure\n30,1,40,,\n", ", line 2: impurity and pressure are empty; until they are there leave the row out; for a value below a detection limit enter the limit, or half of it; nothing was stored"),
    ("number,yield,impurity,pressure\n1,40,n.d.,3\n", f", line 2: impurity is 'n.d.', expected a number; {LATER}; nothing was stored"),
]  # fmt: skip
TWO = 'objectives = {yield = "maximize", impurity = "minimize"}\n'
ONE_PARAMETER = "[parameters]\nx = [0.0, 1.0]\n"
SPACE_FILES: list[tuple[str, str]] = [
    (f"{ONE_PARAMETER}{TWO}", "objectives stands below [parameters], where it would be a parameter; move it above [parameters]"),
    (f"{ONE_PARAMETER}constraints = ['a <= 1']\n", "constraints stands below [parameters], where it would be a parameter; move it above [parameters]"),
    (f"{ONE_PARAMETER}seed = 1\n", "seed stands below [parameters], where it would be a parameter; move it above [parameters]"),
    ("[parameters]\nx = {low = 0, high = 1}\n", """parameter 'x': type is missing; write {type = "float", low = …, high = …}: "float" for numbers, "int" for whole numbers, "categorical" for choices"""),
    ("[parameters]\nx = {choices = [1, 2]}\n", """parameter 'x': type is missing; write {type = "categorical", choices = […]}: "float" for numbers, "int" for whole numbers, "categorical" for choices"""),
    (f"{TWO}reference_point = [20, 5]\n{ONE_PARAMETER}", "reference_point is [20, 5]; expected a number for each objective by its name, such as {yield = 20, impurity = 5}"),
    (f"{TWO}reference_point = 20\n{ONE_PARAMETER}", "reference_point is 20; expected a number for each objective by its name, such as {yield = NUMBER, impurity = NUMBER}"),
    (f"{TWO}reference = [20, 5]\n{ONE_PARAMETER}", "unknown key 'reference'; did you mean reference_point? Otherwise expected [parameters] and any of direction, method, seed, n_trials, n_startup_trials, acquisition, reading, deterministic, when_exhausted, subject_to, reference_point, constraints, objectives, units"),
    (f"objectives = ['yield', 'impurity']\n{ONE_PARAMETER}", """objectives is ['yield', 'impurity']; expected each with its direction, such as {yield = "maximize", impurity = "minimize"}"""),
    (f"objectives = ['yield:minimize', 'impurity']\n{ONE_PARAMETER}", """objectives is ['yield:minimize', 'impurity']; expected each with its direction, such as {yield = "minimize", impurity = "minimize"}"""),
]  # fmt: skip
USAGE: list[tuple[tuple[str, ...], str]] = [
    (("suggest", "lab.db", "4"), "; write -n 4"),
    (("suggest", "--storage", "lab.db"), "; the study comes by itself: uhebo suggest lab.db"),
    (("extend", "lab.db", "--param", "lr=0.01:10"), "; write the parameter by itself: lr=0.01:10"),
    (("extend", "lab.db", "--direction", "minimize"), f"; the direction of a study cannot be changed in place: {CARRY}"),
    (("extend", "lab.db", "--constraint", "a <= 1"), f"; the constraints of a study cannot be changed in place: {CARRY}"),
    (("tell", "lab.db", "2", "yield=7.4", "--failed"), "a failed trial has no value: leave out yield=7.4, or leave out --failed"),
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


@pytest.fixture
def two(shell: Shell) -> Shell:
    """A study with two objectives and a limit: trial 0 is finished, 1 waits, 2 failed."""
    units = """constraints = ["pressure <= 4"]\nunits = {temperature = "°C", yield = "%"}\n"""
    parameters = "[parameters]\ntemperature = [20.0, 90.0]\ntime = {type = 'float', low = 0.5, high = 10, log = true}\n"
    shell("create", "lab.db", "--space", shell.write("space.toml", f"{TWO}{units}{parameters}"), "--seed", "1")
    shell("suggest", "lab.db", "-n", "3")
    shell("tell", "lab.db", "0", "yield=40", "impurity=2", "pressure=3")
    shell("tell", "lab.db", "2", "--failed")
    return shell


@pytest.mark.parametrize(("command", "message"), WITH_TWO_OBJECTIVES, ids=ids(WITH_TWO_OBJECTIVES))
def test_mistakes_with_two_objectives(command: tuple[str, ...], message: str, two: Shell) -> None:
    assert two.refuses(*command) == f"error: {message}\n"
    assert [row["state"] for row in two.json("history", "lab.db")] == ["finished", "waiting", "failed"]
    assert two.json("log", "lab.db") == []


@pytest.mark.parametrize(("text", "message"), SHEETS, ids=[text.partition("\n")[0] for text, _ in SHEETS])
def test_mistakes_in_a_sheet(text: str, message: str, two: Shell) -> None:
    assert two.refuses("tell", "lab.db", "--csv", two.write("a.csv", text)) == f"error: a.csv{message}\n"
    assert [row["state"] for row in two.json("history", "lab.db")] == ["finished", "waiting", "failed"]


@pytest.mark.parametrize(("text", "message"), SPACE_FILES, ids=[message[:40] for _, message in SPACE_FILES])
def test_mistakes_in_a_space_file(text: str, message: str, shell: Shell) -> None:
    space = shell.write("space.toml", text)
    assert shell.refuses("create", "lab.db", "--space", space) == f"error: space.toml: {message}\n"
    assert files(shell.folder) == {"space.toml"}


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
