"""What to try next, asked for in a person's own way, with what the model expects of it; and what the shell understood,
or refuses because it can be understood in two ways (FIELD C4, C5, C7)."""

from __future__ import annotations

import csv
import io
import os
import signal
import warnings
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import create_trial

import uhebo
from tests.shell import Shell
from uhebo.cli.settings import ask
from uhebo.cli.space_file import Kept
from uhebo.cli.spreadsheets import kept_cells
from uhebo.diagnosis.outlook import outlook
from uhebo.errors import UheboWarning
from uhebo.optuna_.batches import usual_batch
from uhebo.storage.explain import plus_minus
from uhebo.storage.places import study_at

SPACE = ("--param", "x=float:0:1", "--param", "n=1:9", "--param", "gas=cat:argon,helium", "--direction", "maximize")


def response(x: float, n: int, gas: str) -> float:
    return 50 - 80 * (x - 0.3) ** 2 - (n - 6) ** 2 - 5 * (gas == "argon")


@pytest.fixture
def lab(shell: Shell) -> Shell:
    """Fourteen experiments of one's own."""
    shell("create", "lab.db", *SPACE, "--seed", "1")
    rng = np.random.default_rng(0)
    points = [(float(rng.random()), int(rng.integers(1, 10)), str(rng.choice(["argon", "helium"]))) for _ in range(14)]
    rows = [f"{x},{n},{gas},{response(x, n, gas)}" for x, n, gas in points]
    shell("tell", "lab.db", "--csv", shell.write("own.csv", "x,n,gas,value\n" + "\n".join(rows) + "\n"))
    return shell


def test_suggestions_say_where_they_come_from_and_what_is_expected(lab: Shell) -> None:
    lab("create", "new.db", *SPACE, "--seed", "1")
    (first,) = lab.json("suggest", "new.db")
    assert first["origin"] == "start-up"
    assert "expected" not in first
    (found,) = lab.json("suggest", "lab.db")
    assert found["origin"] == "model"
    expected = found["expected"]["value"]
    assert abs(expected["mean"] - response(**found["params"])) < 5 * max(expected["deviation"], 2.0)
    assert expected["low"] < expected["mean"] < expected["high"]
    assert 0.0 < found["chance_to_improve"] < 1.0
    shown = lab("suggest", "lab.db", "-n", "2")
    for words in ("origin", "expected value", "chance to improve", "±", "model"):
        assert words in shown
    assert lab("suggest", "lab.db", "--csv").startswith("number,x,n,gas,value\n")


def test_the_chance_to_improve_is_that_of_the_posterior(lab: Shell) -> None:
    """Against draws of the latent function at the point, mean and deviation as the belief has them."""
    lab("suggest", "lab.db")
    with study_at("lab.db", None) as study:
        params = [trial.params for trial in study.trials[-1:]]
        (found,) = outlook(study, params)
        objective = uhebo.load("lab.db").belief.objective
        mean, deviation = objective.moments(uhebo.load("lab.db").belief.space.encode_many(params))
    draws = mean[0] + deviation[0] * np.random.default_rng(0).standard_normal(20_000)
    assert found.improves == pytest.approx(np.mean(draws > objective.smoothed.max()), abs=0.02)


def test_fixed_near_random_and_once_more(lab: Shell) -> None:
    fixed = lab.json("suggest", "lab.db", "-n", "3", "--fix", "gas=argon", "--fix", "n=2")
    assert {(each["params"]["gas"], each["params"]["n"]) for each in fixed} == {("argon", 2)}
    assert {each["origin"] for each in fixed} == {"gas=argon, n=2"}
    assert abs(fixed[0]["params"]["x"] - 0.3) < 0.2  # the best there is along the rest
    assert len({each["params"]["x"] for each in fixed}) == 3
    base = lab.json("history", "lab.db")[4]["params"]
    near = lab.json("suggest", "lab.db", "--near", "4")[0]
    assert abs(near["params"]["x"] - base["x"]) <= 0.1 + 1e-9
    assert near["params"]["gas"] == base["gas"]
    best = lab.json("best", "lab.db")
    twice = lab.json("suggest", "lab.db", "-n", "2", "--repeat-best")
    assert [each["params"] for each in twice] == [best["params"]] * 2
    assert twice[0]["origin"] == f"the best once more (trial {best['number']})"
    spread = lab.json("suggest", "lab.db", "-n", "8", "--random")
    assert len({each["params"]["x"] for each in spread}) == 8
    assert {each["origin"] for each in spread} == {"at random"}
    for each in (*fixed, near, *twice, *spread):
        lab("tell", "lab.db", str(each["number"]), str(response(**each["params"])))
    assert lab.json("status", "lab.db")["trials"] == {"finished": 28}


def test_what_was_made_before_an_interruption_is_shown(lab: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    def third_time_terminated(study: optuna.Study, kept: Kept) -> optuna.Trial:
        nonlocal asked
        asked += 1
        if asked == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return ask(study, kept)

    monkeypatch.setattr("uhebo.cli.suggest.ask", third_time_terminated)
    shown = lab("suggest", "lab.db", "-n", "5", "--csv", code=143)
    assert [line.partition(",")[0] for line in shown.splitlines()] == ["number", "14", "15"]
    assert "2 of 5 were made, and wait; to take them back: uhebo skip lab.db 14-15" in lab.err
    lab("skip", "lab.db", "14-15")


def test_numbers_have_the_same_digits_wherever_people_read_them(lab: Shell) -> None:
    (asked,) = lab.json("suggest", "lab.db")
    sheet = lab("suggest", "lab.db", "--fix", "n=3", "--csv").splitlines()[1].split(",")
    number, short = sheet[0], sheet[1]
    lab("tell", "lab.db", number, "99")
    row = next(line for line in lab("history", "lab.db").splitlines() if f"│ {number} " in line)
    assert f" {short} " in row
    assert f" {short} " in lab("best", "lab.db")
    full = list(csv.DictReader(io.StringIO(lab("history", "lab.db", "--csv"))))
    assert float(full[asked["number"]]["x"]) == asked["params"]["x"]


def test_the_history_is_tidy_at_bounds() -> None:
    space: dict[str, BaseDistribution] = {"t": FloatDistribution(5.0, 240.0, log=True)}
    for given, kept in (
        (5.000000000000001, 5.0),
        (239.99999999999997, 240.0),
        (0.1 + 0.2 + 5, 5.3),
        (8.56492 / 3, None),
    ):
        value = given if given >= 5.0 else given + 5.0
        trial = create_trial(value=1.0, params={"t": value}, distributions=space)
        assert kept_cells(trial, ["t"]) == [value if kept is None else kept]


def test_an_empty_study_is_called_by_its_name(shell: Shell) -> None:
    shell("create", "new.db", *SPACE)
    assert "uhebo tell new.db NUMBER VALUE" in shell.refuses("best", "new.db")


def test_the_same_seed_asks_the_same(lab: Shell) -> None:
    asked = []
    for name in ("a.db", "b.db"):
        lab("create", name, *SPACE, "--seed", "4")
        asked.append([each["params"] for each in lab.json("suggest", name, "-n", "3", "--random")])
    assert asked[0] == asked[1]


def test_what_cannot_be_asked_is_refused(lab: Shell) -> None:
    for given, said in (
        (("--fix", "n=20"), "n is 20, outside the space"),
        (("--fix", "mass=1"), "there is no parameter in 'mass=1'; expected x=VALUE n=VALUE gas=VALUE"),
        (("--near", "99"), "there is no trial 99"),
        (("--random", "--repeat-best"), "choose one"),
    ):
        assert said in lab.refuses("suggest", "lab.db", *given)
    lab("create", "new.db", *SPACE)
    assert "there is no single best trial to repeat" in lab.refuses("suggest", "new.db", "--repeat-best")
    assert lab.json("suggest", "new.db", "--fix", "n=3")[0]["params"]["n"] == 3
    assert "there is no model yet" in lab.refuses("predict", "new.db", "x=0.5", "n=3", "gas=argon")


def test_predict(lab: Shell) -> None:
    found = lab.json("predict", "lab.db", "x=0,3", "n=6", "gas=helium")
    assert abs(found["expected"]["value"]["mean"] - 50.0) < 5.0
    shown = lab("predict", "lab.db", "x=0.3", "n=6", "gas=helium")
    for words in ("value, model", "±", "90 %", "second opinion", "chance to improve", "without noise"):
        assert words in shown
    assert "gas is missing" in lab.refuses("predict", "lab.db", "x=0.3", "n=6")
    assert "x is 3.0, outside the space" in lab.refuses("predict", "lab.db", "x=3", "n=6", "gas=helium")
    assert "given twice" in lab.refuses("predict", "lab.db", "x=0.3", "x=0.4", "n=6", "gas=helium")


@pytest.mark.parametrize(
    ("mean", "deviation", "shown"),
    [
        (502.1, 731.0, "502 ± 731"),
        (48.561, 8.12, "48.6 ± 8.1"),
        (0.01234, 0.00056, "0.01234 ± 0.00056"),
        (2e9, 3e7, "2e+09 ± 3e+07"),
    ],
)
def test_as_many_digits_as_the_deviation_allows(mean: float, deviation: float, shown: str) -> None:
    assert plus_minus(mean, deviation) == shown


def test_no_two_of_a_batch_are_nearly_the_same(lab: Shell) -> None:
    """Where the model has settled, it would ask for one place several times."""
    rng = np.random.default_rng(1)
    rows = [f"{0.3 + 0.02 * rng.standard_normal()},{n},helium" for n in (5, 6, 6, 6, 7)]
    table = [f"{row},{response(float(row.split(',')[0]), int(row.split(',')[1]), 'helium')}" for row in rows]
    lab("tell", "lab.db", "--csv", lab.write("near.csv", "x,n,gas,value\n" + "\n".join(table) + "\n"))
    batch = lab.json("suggest", "lab.db", "-n", "6")
    for i, one in enumerate(batch):
        for other in batch[:i]:
            a, b = one["params"], other["params"]
            assert a["gas"] != b["gas"] or a["n"] != b["n"] or abs(a["x"] - b["x"]) > 0.03


def test_a_batch_that_shares_a_setting_and_one_trial_once_more(lab: Shell) -> None:
    batch = lab.json("suggest", "lab.db", "-n", "4", "--same", "n", "--same", "gas")
    assert len({(each["params"]["n"], each["params"]["gas"]) for each in batch}) == 1
    assert len({each["params"]["x"] for each in batch}) == 4
    fixed = lab.json("suggest", "lab.db", "-n", "2", "--same", "gas", "--fix", "n=4")
    assert {each["params"]["n"] for each in fixed} == {4}
    # An exploration point is not asked what the whole batch shares.
    lab("create", "own.db", *SPACE, "--seed", "1", "--method", "random")
    lab("tell", "own.db", "--csv", "own.csv")
    for _ in range(3):
        first, other = lab.json("suggest", "own.db", "-n", "2", "--same", "n")
        assert first["origin"] == "exploration"
        assert 5 <= first["params"]["n"] == other["params"]["n"] <= 7
    (again,) = lab.json("suggest", "lab.db", "--repeat", "3")
    assert again["params"] == lab.json("history", "lab.db")[3]["params"]
    assert again["origin"] == "this one once more (trial 3)"
    assert "--same is 'mass'" in lab.refuses("suggest", "lab.db", "--same", "mass")
    lab("suggest", "lab.db")
    assert "chance to improve on" in lab.err
    assert "mean ± its standard deviation" in lab.err


# ---------------------------------------------------------------------------------------------------- understood

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
    assert not (shell.folder / "study.db").exists(), "what was refused leaves no study behind"
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


def test_units_what_waits_and_how_many_at_once_are_said(shell: Shell) -> None:
    shell("create", "lab.db", "--param", "t=float:40:120", "--unit", "t=°C", "--direction", "maximize", "--seed", "1")
    shell("suggest", "lab.db", "-n", "3")
    assert "usually" not in shell.err
    waiting = shell.json("status", "lab.db")["waiting"]
    assert [each["number"] for each in waiting] == [0, 1, 2]
    table = shell("status", "lab.db")
    assert "waiting for a value" in table
    assert "t [°C]" in table
    assert "3 waiting" in table
    for number in range(3):
        shell("tell", "lab.db", str(number), str(number))
    table = shell("status", "lab.db")
    assert "waiting" not in table
    assert "rate" not in table  # people have none
    shell("suggest", "lab.db", "-n", "10")
    assert "10 at once, usually 3 in this study" in shell.err
    shell("suggest", "lab.db")
    assert "10 other experiments wait for a value already: uhebo status lab.db" in shell.err
    for text in ("70 C", "70 °C", "70°C"):
        assert "expected a number from 40.0 to 120.0; write 70, without the unit" in shell.refuses(
            "predict", "lab.db", f"t={text}"
        )
        assert "write 70, without the unit" in shell.refuses("suggest", "lab.db", "--fix", f"t={text}")
    assert "write 23,1, without the unit" in shell.refuses("tell", "lab.db", "3", "23,1 %")


def test_the_usual_batch_is_that_of_the_log() -> None:
    study = optuna.create_study()
    assert usual_batch(study.trials) is None
    study.add_trial(create_trial(value=1.0))  # one's own, and never asked for
    assert usual_batch(study.trials) is None
    for size in (10, 4, 4, 1):
        for trial in [study.ask() for _ in range(size)]:
            study.tell(trial, 1.0)
    assert usual_batch(study.trials) == 4
