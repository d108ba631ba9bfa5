"""What is said of points and of the model: one answer for the same data, who expects what, which trial, luck, bounds,
and no two sentences that contradict each other."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution

import uhebo
from tests.conftest import require
from tests.pages import ROOT
from tests.shell import Shell
from uhebo.report.text import rendered

SPACE = ("--param", "temperature=int:20:120", "--param", "minutes=float:5:240:log", "--direction", "maximize")
LUCKY = 2
"""Trial whose value is far above those of its neighbours, two degrees away on either side: expected there is about 46,
and at the recommended point 54, whatever the last digits of a processor."""
ROWS = [(30, 20.0, 11.0), (50, 60.0, 20.0), (52, 61.0, 61.0), (54, 62.0, 23.0), (75, 90.0, 38.0), (90, 120.0, 47.0),
        (105, 160.0, 55.0), (118, 200.0, 58.0), (120, 230.0, 59.0)]  # fmt: skip


@pytest.fixture
def lab(shell: Shell) -> Shell:
    """A study of nine trials whose best reading, trial 2, is a lucky one."""
    shell("create", "lab.db", *SPACE, "--seed", "1")
    rows = "".join(f"{t},{m},{y}\n" for t, m, y in ROWS)
    shell("tell", "lab.db", "--csv", shell.write("own.csv", "temperature,minutes,value\n" + rows))
    return shell


def settings(params: dict[str, Any]) -> list[str]:
    return [f"{name}={value}" for name, value in params.items()]


def test_the_recommended_point_depends_on_what_was_told_alone(lab: Shell) -> None:
    def figures(model: bool = False) -> dict[str, Any]:
        found: dict[str, Any] = lab.json("best", "lab.db")["recommended"]
        return {name: value for name, value in found.items() if model or name != "model"}

    before, in_python = figures(), uhebo.load("lab.db").recommended
    with_the_model = figures(model=True)
    lab("suggest", "lab.db", "-n", "3")
    assert figures(model=True) == with_the_model
    lab("skip", "lab.db", "9")
    lab("skip", "lab.db", "10")
    assert figures(model=True) == with_the_model
    lab("tell", "lab.db", "11", "--failed")
    assert figures() == before
    assert uhebo.load("lab.db").recommended == in_python
    lab("amend", "lab.db", str(LUCKY), "16")
    assert figures() != before


def test_best_and_predict_say_the_same_of_one_point_and_who_says_it(lab: Shell) -> None:
    found = lab.json("best", "lab.db")["recommended"]
    assert LUCKY not in found["numbers"]
    there = lab.json("predict", "lab.db", *settings(found["params"]))
    second, model = there["second_opinion"], there["expected"]["value"]
    assert (second["mean"], second["low"], second["high"]) == pytest.approx(
        (found["expected"], found["low"], found["high"])
    )
    assert (model["mean"], model["deviation"]) == pytest.approx((found["model"]["mean"], found["model"]["deviation"]))
    who = "the second opinion allows for more noise than it does"
    for shown in (lab("best", "lab.db"), lab("predict", "lab.db", *settings(found["params"]))):
        assert f"{second['mean']:.4g} (90 %: {second['low']:.4g} to {second['high']:.4g})" in shown
        assert who in shown
    recommended = uhebo.load("lab.db").recommended
    assert "by a second opinion that allows for more noise than the model" in str(recommended)
    assert "the model itself expects" in str(recommended)
    assert "by a second opinion, " in repr(recommended)
    assert repr(recommended).endswith("by the model")
    assert recommended.by_model == pytest.approx((model["mean"], model["deviation"]))


def test_a_lucky_reading_is_called_one_and_the_recommended_point_has_its_settings(lab: Shell) -> None:
    found = lab.json("best", "lab.db")["recommended"]
    number = found["numbers"][0]
    shown = lab("best", "lab.db")
    assert f"The best reading (trial {LUCKY}) may be a lucky one; what is recommended weighs all trials" in shown
    assert f"trial {number} (told: {ROWS[number][2]:g}), at temperature={ROWS[number][0]}, minutes=" in shown


def test_what_is_to_be_improved_on_is_one_trial(lab: Shell) -> None:
    said = lab.json("predict", "lab.db", "temperature=100", "minutes=100")
    number = said["improves_on_trial"]
    there = lab.json("predict", "lab.db", f"temperature={ROWS[number][0]}", f"minutes={ROWS[number][1]}")
    assert there["expected"]["value"]["mean"] == pytest.approx(said["improves_on"], rel=1e-3)
    lab("suggest", "lab.db")
    assert f"chance to improve on trial {number} (told: {ROWS[number][2]:g}; the model expects " in lab.err


def test_repeat_best_says_which_and_offers_the_other(lab: Shell) -> None:
    found = lab.json("best", "lab.db")["recommended"]
    lab("suggest", "lab.db", "--repeat-best", "-n", "2")
    assert f"trials 9, 10 repeat trial {LUCKY}, the best told (61)" in lab.err
    assert f"the recommended point is another one: uhebo suggest lab.db --repeat {found['numbers'][0]}" in lab.err
    lab("amend", "lab.db", str(LUCKY), "16")
    again = lab.json("best", "lab.db")
    assert again["number"] in again["recommended"]["numbers"]
    lab("suggest", "lab.db", "--repeat-best")
    assert "repeats trial 8, the best told (59), which is also the recommended point" in lab.err


def test_a_point_on_a_bound_is_told_with_the_command_that_widens_the_range(lab: Shell) -> None:
    lab("amend", "lab.db", str(LUCKY), "16")
    assert "widen" not in lab("best", "lab.db").replace("widen it", "", 1)  # one sentence for one bound
    assert "temperature = 120 is the highest value of its range; if higher ones are possible, widen it:" in lab(
        "best", "lab.db"
    )
    found = lab.json("best", "lab.db")
    assert found["number"] == 8
    (command,) = [each["command"] for each in found["at_bounds"]]
    assert command == "uhebo extend lab.db temperature=20:170"
    lab(*command.split()[1:])
    assert lab.json("best", "lab.db")["at_bounds"] == []
    assert lab.json("best", "lab.db")["recommended"]["numbers"]


def test_a_range_of_positive_values_is_widened_to_positive_ones(shell: Shell) -> None:
    shell("create", "low.db", "--param", "x=float:1:11", "--param", "n=int:1:40:log", "--seed", "1")
    rows = "".join(f"{1 + 2 * i},{1 + 5 * i},{i}\n" for i in range(6))
    shell("tell", "low.db", "--csv", shell.write("own.csv", "x,n,value\n" + rows))
    (found,) = shell.json("best", "low.db")["at_bounds"]  # n cannot be less than 1 on a logarithmic scale
    assert found["command"] == "uhebo extend low.db x=0.5:11"


def test_the_report_says_why_it_recommends_another_point_than_the_best_measured(lab: Shell) -> None:
    require("jinja2", "pip install 'uhebo[plot]'")
    lab("tell", "lab.db", "8", "60.2", "--again")
    lab("tell", "lab.db", "7", "58.6", "--again")
    lab("tell", "lab.db", str(LUCKY), "24", "--again")
    found = lab.json("best", "lab.db")["recommended"]
    lab("report", "lab.db", "-o", "lab.html")
    page = " ".join(re.sub("<[^>]*>", " ", (lab.folder / "lab.html").read_text("utf-8")).split())
    start = page.index("Recommended")
    first, measured = page[start : page.index("Best measured")], page[page.index("Best measured") :]
    assert f"trial {LUCKY} measured 61, but the best reading may be a lucky one" in first
    assert "by a second opinion that allows for more noise than the model" in first
    assert "the model itself expects" in first
    assert len(found["numbers"]) == 2
    assert f"measured 2 times: {'59.60 ± 0.60' if 8 in found['numbers'] else '58.30 ± 0.30'} on average" in first
    assert re.search(rf"measured 2 times: 4\d ± 1\d on average \(trials {LUCKY}, 11\)", measured)
    if 8 in found["numbers"]:
        assert "temperature = 120 is the highest value of its range" in first
        assert "uhebo extend lab.db temperature=20:170" in first


# ------------------------------------------------------------------------------------------------ the diagnosis


def study_of(seed: int, trials: int, noise: float, repeats: int, dimension: int = 2) -> optuna.Study:
    rng = np.random.default_rng(seed)
    names = "abcdefgh"[:dimension]
    rows = rng.random((trials, dimension))
    rows = np.concatenate([rows, rows[:repeats]])
    values = np.sin(5 * rows[:, 0]) + rows[:, -1] ** 2 + noise * rng.standard_normal(len(rows))
    study = optuna.create_study(sampler=uhebo.UHESampler(seed=0))
    for row, value in zip(rows, values, strict=True):
        params = dict(zip(names, row.tolist(), strict=True))
        space: dict[str, BaseDistribution] = dict.fromkeys(names, FloatDistribution(0.0, 1.0))
        study.add_trial(optuna.create_trial(params=params, distributions=space, value=float(value)))
    return study


SAYS = {
    "not known": "is not known yet|cannot be told without repeats",
    "little": "next to no noise|little noise|Noise is not the reason",
    "much": "looks like noise|noise drowns|it has found the noise|is estimated at",
}
"""What cannot be said of the noise at one time, but for an estimate whose size is open."""


@pytest.mark.usefixtures("rough_importances")
@pytest.mark.parametrize("noise", [0.0, 0.2, 2.0])
@pytest.mark.parametrize(("trials", "repeats"), [(6, 0), (6, 2), (14, 0), (14, 3), (30, 0)])
def test_of_the_noise_one_thing_is_said(trials: int, repeats: int, noise: float) -> None:
    found = uhebo.diagnose(study_of(trials, trials, noise, repeats), hmc=False)
    assert found.noise is not None
    said = " ".join([found.headline, *found.reasons, found.next_action, *(part.sentence for part in found.sections())])
    heard = {level for level, words in SAYS.items() if re.search(words, said)}
    assert len(heard - ({"not known"} if "drowns" in said or "looks like" in said else set())) <= 1, said
    assert ("not known" in heard and "is not known yet" in said) == (found.noise.scatter == "not known")
    assert "too few to tell noise" not in said
    if trials + repeats < 10 and not repeats:
        assert found.noise.scatter == "not known"
    if repeats and not noise:
        assert found.noise.scatter == "little"


@pytest.mark.usefixtures("short_chains", "rough_importances")
@pytest.mark.parametrize(("trials", "noise"), [(9, 0.1), (12, 1.5), (40, 0.0)])
def test_the_first_screen_has_25_lines_and_plain_words(trials: int, noise: float, shell: Shell) -> None:
    study = study_of(1, trials, noise, 0, dimension=7)
    kept = optuna.create_study(study_name="lab", storage=f"sqlite:///{shell.folder / 'lab.db'}", sampler=study.sampler)
    kept.add_trials(study.trials)
    shown = shell("diagnose", "lab.db")
    assert sum(max(1, math.ceil(len(line) / 78)) for line in shown.splitlines()) <= 25, shown
    verdict, first = shown.splitlines()[0], shown.index("Next: ")
    assert verdict.startswith("Verdict: ")
    assert first < shown.index("  $ uhebo ") < shown.index("What matters most") < shown.index("and 2 parameters less")
    assert "Every figure: uhebo diagnose lab.db --all" in shown
    whole = shell("diagnose", "lab.db", "--all")
    assert whole.startswith(shown[: shown.index("Every figure")])
    assert "What the model believes" in whole
    in_python = uhebo.diagnose(study)
    assert len(str(in_python).splitlines()) <= 30
    assert max(map(len, str(in_python).splitlines())) <= 80
    assert str(in_python).endswith("Every figure: the method .account() of this diagnosis")
    assert in_python.account().startswith(str(in_python).partition("\n\nWhat matters")[0])
    for text in (shown, str(in_python), repr(in_python)):
        assert not re.search("HMC|steepness|consistent|surrogate|lengthscale|MAP|R²", text)
    plain = shell.json("diagnose", "lab.db")
    assert {"further", "reasons", "hyperparameters", "calibration", "importance", "noise", "commands"} <= set(plain)
    assert plain["further"]
    assert " ".join(plain["further"]) in whole


# --------------------------------------------------------------------------------------------- units, notes, docs


def test_units_and_notes_are_wherever_values_are_shown(shell: Shell) -> None:
    require("jinja2", "pip install 'uhebo[plot]'")
    units = ("--unit", "temperature=°C", "--unit", "yield=%")
    space = ("--param", "temperature=int:20:120", "--param", "x=float:0:1", "--objective", "yield:maximize")
    shown = shell("create", "lab.db", *space, *units, "--seed", "1")
    assert "20 to 120 °C" in shown
    rows = "".join(f"{20 + 9 * i},0.{i},{30 + 4 * i},Ann\n" for i in range(10))
    header = "temperature [°C],x,yield [%],operator\n"
    shell("tell", "lab.db", "--csv", shell.write("own.csv", header + rows))
    assert "kept as notes: operator" in shell.err
    assert "°C" in shell("status", "lab.db")
    for text in (
        shell("best", "lab.db"),
        shell("suggest", "lab.db"),
        shell("suggest", "lab.db", "--csv"),
        shell("history", "lab.db"),
        shell("history", "lab.db", "--csv"),
    ):
        assert "temperature [°C]" in text
        assert "yield [%]" in text
    assert "Ann" in shell("history", "lab.db")
    assert "yield [%]" in shell("predict", "lab.db", "temperature=50", "x=0.3")
    shell("report", "lab.db", "-o", "lab.html")
    page = (shell.folder / "lab.html").read_text("utf-8")
    assert re.search(r'class="number">[\d.]+ ± [\d.]+ %<', page)
    assert "temperature [°C]" in page
    assert "yield [%]" in page
    assert "Ann" in page


def test_the_dashboards_note_explains_the_other_importances_and_its_age() -> None:
    require("jinja2", "pip install 'uhebo[plot]'")
    study = study_of(1, 14, 0.0, 0)
    view = {"several": False, "target": "value", "diagnosis": uhebo.diagnose(study, hmc=False)}
    note = rendered("note.md.j2", views=[view])
    for words in ("own card of importances is Optuna's", "depends on which points were tried", "uhebo watch"):
        assert words in note
    assert "Note and pictures were written when the dashboard was started" in note


def test_the_documentation_shows_the_product_and_compares_what_laboratories_use() -> None:
    for page, picture in (
        ("index.md", "report.png"),
        ("trust.md", "report.png"),
        ("shell.md", "watch.png"),
        ("tutorials/lab-scientist.md", "terminal.svg"),
    ):
        assert f"figures/{picture})" in (ROOT / "docs" / page).read_text("utf-8")
        assert (ROOT / "docs" / "figures" / picture).stat().st_size > 10_000
    compared = (ROOT / "docs" / "comparison.md").read_text("utf-8")
    assert all(f"**{name}**" in compared or f"| {name} |" in compared for name in ("Ax", "BayBE"))
