"""Changes in the shell: several trials at once, the space taken back, what lies outside it, what was never made."""

from __future__ import annotations

import optuna
import pytest

import uhebo
from tests.shell import Shell
from uhebo.errors import InvalidInputError


@pytest.fixture
def lab(shell: Shell) -> Shell:
    """Six suggestions, of which two are told."""
    space = ("--param", "temperature=20:90", "--param", "x=float:0:1")
    shell("create", "lab.db", *space, "--seed", "1", "--unit", "x=g")
    shell("suggest", "lab.db", "-n", "6")
    for number in (0, 1):
        shell("tell", "lab.db", str(number), str(5 + number))
    return shell


def states(lab: Shell) -> list[str]:
    return [row["state"] for row in lab.json("history", "lab.db")]


def test_several_trials_at_once_all_or_none(lab: Shell) -> None:
    assert "trial 1 is finished, with the value 6" in lab.refuses("skip", "lab.db", "3-5", "1")
    assert "there is no trial 9; the study has 0 to 5" in lab.refuses("skip", "lab.db", "3-9")
    assert "trial 4 is given twice" in lab.refuses("skip", "lab.db", "4", "3-5")
    assert "5-3 is no span" in lab.refuses("skip", "lab.db", "5-3")
    assert "expected a whole number such as 3, or several: 20-25" in lab.refuses("skip", "lab.db", "3,4")
    assert states(lab) == ["finished"] * 2 + ["waiting"] * 4
    made = lab.json("skip", "lab.db", "2", "4-5")
    assert [each["trial"] for each in made] == [2, 4, 5]
    assert "trials 2, 4, 5: skipped" in lab.err
    assert "trial 4 was skipped already" in lab.refuses("skip", "lab.db", "3-4")
    assert states(lab) == ["finished"] * 2 + ["skipped", "waiting", "skipped", "skipped"]
    lab("drop", "lab.db", "0-1", "--reason", "wrong bottle")
    assert "uhebo restore lab.db 0-1 takes them back" in lab.err
    assert "trial 3 is under way" in lab.refuses("restore", "lab.db", "0", "3")
    lab("restore", "lab.db", "0-2", "4")
    assert "trials 0, 1, 2, 4: restored, and wait for their value again" in lab.err
    assert states(lab) == ["finished"] * 2 + ["waiting"] * 3 + ["skipped"]


def test_a_trial_that_was_skipped_is_restored_rather_than_told_again(lab: Shell) -> None:
    lab("skip", "lab.db", "3")
    said = lab.refuses("tell", "lab.db", "3", "7")
    assert "trial 3 is skipped already; uhebo restore takes that back, and it can be told" in said
    lab("restore", "lab.db", "3")
    lab("tell", "lab.db", "3", "7")
    lab("drop", "lab.db", "3")
    assert "trial 3 is dropped already; uhebo restore takes that back\n" in lab.refuses("tell", "lab.db", "3", "8")


def test_a_sheet_says_what_was_skipped(lab: Shell) -> None:
    wrong = lab.write("sheet.csv", "number,value\n2,7.5\n3,skipped\n1,skipped\n")
    assert "trial 1 is finished already" in lab.refuses("tell", "lab.db", "--csv", wrong)
    own = lab.write("own.csv", "temperature,x,value\n30,0.5,skipped\n")
    assert "skipped is said of a suggested trial" in lab.refuses("tell", "lab.db", "--csv", own)
    assert states(lab) == ["finished"] * 2 + ["waiting"] * 4
    sheet = lab.write("sheet.csv", "number,value,lot\n2,7.5,\n3,Skipped,A-7\n4,failed,\n5,,\n")
    shown = lab("tell", "lab.db", "--csv", sheet, "--dry-run")
    assert "skipped" in shown
    told = lab.json("tell", "lab.db", "--csv", sheet)
    assert (told["told"], told["skipped"], told["waiting"]) == (2, 1, 1)
    assert states(lab) == ["finished"] * 3 + ["skipped", "failed", "waiting"]
    assert "A-7" in lab("history", "lab.db", "--csv")
    more = lab.write("sheet.csv", "number,value,lot\n2,7.5,\n3,skipped,A-7\n4,failed,\n5,3,\n")
    told = lab.json("tell", "lab.db", "--csv", more)
    assert (told["told"], told["skipped"], told["told_before"]) == (1, 0, 3)
    lab("restore", "lab.db", "3")
    assert states(lab)[3] == "waiting"


def test_what_waits_outside_a_narrower_range_is_said(lab: Shell) -> None:
    rows = lab.json("history", "lab.db")
    cut = sorted(row["params"]["temperature"] for row in rows)[3]
    lab("extend", "lab.db", f"temperature={cut}:90")
    outside = [row["number"] for row in rows if row["params"]["temperature"] < cut]
    waiting = [number for number in outside if number > 1]
    assert waiting
    told = [number for number in outside if number <= 1]
    them = "them" if len(waiting) > 1 else "it"
    named = f"trial{'s' * (len(waiting) > 1)} {', '.join(map(str, waiting))}"
    assert f"waiting outside: {named}; skip {them}, or tell {them}: " in lab.err
    assert ("left out of the model: trial" in lab.err) == bool(told)
    lab("tell", "lab.db", str(waiting[0]), "3")
    assert f"trial {waiting[0]} lies outside the space as it is now, and does not count" in lab.err
    inside = next(row["number"] for row in rows if row["number"] not in outside and row["number"] > 1)
    lab("tell", "lab.db", str(inside), "3")
    assert "outside" not in lab.err


def test_a_misspelt_parameter_is_asked_about(lab: Shell) -> None:
    assert "did you mean temperature?" in lab.refuses("extend", "lab.db", "tempeature=20:95")
    assert "did you mean temperature?" in lab.refuses("extend", "lab.db", "tempeature=20:95", "--had", "tempeature=20")
    lab("extend", "lab.db", "temperature2=float:0:1", "--had", "temperature2=0")
    assert lab.json("status", "lab.db")["parameters"]["temperature2"]["type"] == "float"


FILE = """objectives = {yield = "maximize", impurity = "minimize"}
constraints = ["pressure <= 4"]
subject_to = ["x + y <= 1.5"]
reference_point = {yield = 20, impurity = 5}
seed = 1
[units]
x = "g"
[parameters]
x = [0.0, 1.0]
y = [0.0, 2.0]
gas = ["argon", "neon"]
flow = [0.0, 3.0]
"""
CARRY = (
    "make a new study and carry the trials over: uhebo history lab.db --csv > all.csv, uhebo create new.db …, uhebo "
    "tell new.db --csv all.csv"
)


@pytest.mark.parametrize(
    ("was", "now", "differs"),
    [
        ("<= 4", "<= 5", "constraints pressure <= 5 (in the study pressure <= 4)"),
        (
            'impurity = "minimize"',
            'impurity = "maximize"',
            "objectives yield maximize, impurity maximize (in the study yield maximize, impurity minimize)",
        ),
        (
            'objectives = {yield = "maximize", impurity = "minimize"}',
            'direction = "minimize"',
            "direction minimize (in the study yield maximize, impurity minimize)",
        ),
        ("= 5}", "= 6.5}", "reference_point yield 20, impurity 6.5 (in the study yield 20, impurity 5)"),
        ("seed = 1", "seed = 2", "seed 2 (in the study 1)"),
        ("x + y", "x + 2 * y", "subject_to ['x + 2 * y <= 1.5'] (in the study ['x + y <= 1.5'])"),
        (
            "seed = 1",
            "seed = 1\nn_trials = 9",
            "n_trials 9 (in the study none, and uhebo optimize --trials 9 goes on to 9)",
        ),
        (
            "flow = [0.0, 3.0]",
            "flow = {type = 'float', low = 0, high = 3, when = \"gas == 'neon'\"}",
            "the condition of flow gas == 'neon' (in the study none)",
        ),
    ],
)
def test_a_space_file_that_says_something_else_is_refused(shell: Shell, was: str, now: str, differs: str) -> None:
    """Also where a parameter in it is to change: nothing does."""
    shell("create", "lab.db", "--space", shell.write("space.toml", FILE))
    before = shell.json("status", "lab.db")
    for text in (FILE, FILE.replace('["argon", "neon"]', '["argon", "neon", "helium"]')):
        edited = shell.write("edited.toml", text.replace(was, now))
        assert shell.refuses("extend", "lab.db", "--space", edited) == (
            f"error: edited.toml differs from the study: {differs}; extend changes parameters and units only, and "
            f"nothing was changed: write it as it is in the study, or {CARRY}\n"
        )
    assert shell.json("status", "lab.db") == before


def test_units_in_a_space_file_are_changed_and_what_it_leaves_out_is_said(shell: Shell) -> None:
    shell("create", "lab.db", "--space", shell.write("space.toml", FILE))
    assert "there is nothing to change" in shell.refuses("extend", "lab.db", "--space", "space.toml")
    edited = FILE.replace('x = "g"', 'x = "kg"\nz = "mm"').replace('constraints = ["pressure <= 4"]\n', "")
    made = shell.json("extend", "lab.db", "--space", shell.write("edited.toml", edited + "z = [1, 9]\n"))
    assert [(each["name"], each["now"]) for each in made] == [
        ("z", "an integer from 1 to 9"), ("x", "in kg"), ("z", "in mm"),
    ]  # fmt: skip
    assert shell.err == "note: edited.toml has no constraints; the study keeps pressure <= 4\n"
    assert "x [kg],y,gas,flow,z [mm]" in shell("suggest", "lab.db", "--csv")
    # What was given as an option need not be in the file.
    shell(
        "create",
        "b.db",
        "--space",
        shell.write("b.toml", "[parameters]\nx = [0.0, 1.0]\n"),
        "--direction",
        "maximize",
        "--seed",
        "7",
    )
    assert len(shell.json("extend", "b.db", "--space", shell.write("b.toml", "[parameters]\nx = [0.0, 2.0]\n"))) == 1


def test_errors_of_values_in_the_log(shell: Shell) -> None:
    """In the words of the tables; the error of one objective leaves that of another as it was."""
    shell("create", "lab.db", "--space", shell.write("space.toml", FILE))
    shell("suggest", "lab.db")
    shell("tell", "lab.db", "0", "yield=40", "impurity=2", "pressure=3")
    shell("amend", "lab.db", "0", "yield=40±1", "impurity=2±0.12")
    assert "trial 0: yield error not told -> 1.0, impurity error not told -> 0.12" in shell.err
    shell("amend", "lab.db", "0", "impurity=2.5±0.3")
    assert "trial 0: impurity 2.0 -> 2.5, impurity error 0.12 -> 0.3" in shell.err
    study = uhebo.load("lab.db").study
    assert uhebo.corrected(study).trials[0].user_attrs["uhebo:noise"] == [1.0, 0.3]
    assert "uhebo:noise" not in shell("log", "lab.db")
    shell("restore", "lab.db", "0")
    assert "impurity error 0.12" in shell("log", "lab.db")
    # As version 0.2 wrote it.
    entry = {
        "trial": 0,
        "what": "amend",
        "attributes": {"uhebo:noise": [None, 0.5]},
        "now": {"uhebo:noise": [None, 0.5]},
    }
    study.set_user_attr("uhebo:change:000009:abcd", entry)
    assert shell.json("history", "lab.db")[0]["amended"].endswith("error nothing -> not told, 0.5")
    assert "uhebo:noise" not in shell("log", "lab.db")


def test_the_space_is_taken_back(lab: Shell) -> None:
    before = lab.json("status", "lab.db")["parameters"]
    asked = lab.json("suggest", "lab.db")[0]["params"]
    lab("skip", "lab.db", "6")
    assert "there is no change of 'x' in the space to take back" in lab.refuses("restore", "lab.db", "x")
    lab("extend", "lab.db", "stir=float:0:9", "--had", "stir=3")
    lab("extend", "lab.db", "temperature=20:95", "x=0:2", "--unit", "x=kg")
    assert lab.json("suggest", "lab.db", "--fix", "stir=5", "--fix", "x=1.5")[0]["number"] == 7
    assert "trial 7 has values other than 3" in lab.refuses("restore", "lab.db", "stir")
    lab("restore", "lab.db", "x")
    assert "without a unit" not in lab("status", "lab.db")
    said = lab.refuses("restore", "lab.db", "x")
    assert "trial 7 has values that are not" in said
    assert "skip or drop them first" in said
    lab("skip", "lab.db", "7")
    lab("restore", "lab.db", "stir", "--reason", "a slip")
    lab("restore", "lab.db", "temperature")
    assert lab.json("restore", "lab.db", "x")[0]["what"] == "restore"
    assert lab.json("status", "lab.db")["parameters"] == before
    assert "of x there is" not in lab.refuses("restore", "lab.db", "stir")
    assert all(set(row["params"]) == {"temperature", "x"} for row in lab.json("history", "lab.db"))
    log = lab.json("log", "lab.db")
    assert [each["what"] for each in log if "name" in each] == ["extend"] * 4 + ["restore"] * 4
    again = lab.json("suggest", "lab.db")[0]["params"]
    assert set(again) == set(asked)
    # The name is free again, also for something else.
    lab("extend", "lab.db", "stir=cat:slow,fast", "--had", "stir=fast")
    assert lab.json("history", "lab.db")[0]["params"]["stir"] == "fast"
    assert lab.json("suggest", "lab.db")[0]["params"]["stir"] in ("slow", "fast")


def test_the_space_is_taken_back_from_python() -> None:
    study = optuna.create_study(sampler=uhebo.UHESampler(seed=3, n_startup_trials=4))
    kinds = {"x": uhebo.Float(0.0, 1.0), "n": uhebo.Int(1, 5)}
    for _ in range(6):
        trial = study.ask(kinds)
        study.tell(trial, trial.params["x"])
    uhebo.extend(study, {"z": (0.0, 4.0)}, had={"z": 1.0})
    assert set(uhebo.corrected(study).trials[0].params) == {"x", "n", "z"}
    made = uhebo.restore(study, "z", "never there")
    assert (made.name, made.restores, made.reason) == ("z", True, "never there")
    assert uhebo.corrected(study).trials[0].params == study.trials[0].params
    assert set(uhebo.corrected(study).ask(kinds).params) == {"x", "n"}
    with pytest.raises(InvalidInputError, match="the space is as it was made"):
        uhebo.restore(study, "z")
    assert [each.restores for each in uhebo.extensions(study)] == [False, True]
