"""Mistyped values and other accidents: named with their trials, and none where there is none; advice as commands."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import create_trial
from scipy.stats import qmc

import uhebo
from tests.shell import Shell
from uhebo.cli.app import loaded
from uhebo.diagnosis import Diagnosis
from uhebo.diagnosis.commands import with_batch
from uhebo.diagnosis.layout import _cuts
from uhebo.diagnosis.slips import Slip, slips_among
from uhebo.diagnosis.suspicious import enough, slips_in, standing
from uhebo.directions import name_objectives
from uhebo.gp.data import Domain
from uhebo.gp.kernels import MATERN52
from uhebo.optuna_.believe import model_of
from uhebo.types import Array
from uhebo_experiments.benchmarks import typos


def response(X: Array, noise: float = 0.5) -> Array:
    """A yield between 0 and 60."""
    rng = np.random.default_rng(7)
    return np.asarray(60 * np.exp(-4 * ((X - 0.4) ** 2).sum(axis=1)) + noise * rng.standard_normal(len(X)))


def points(n: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).random((n, 2))


def named(X: Array, y: Array) -> dict[int, float]:
    found = slips_among(np.arange(len(y)), X, y, Domain.cube(2), MATERN52, np.random.default_rng(0))
    return {slip.number: slip.meant for slip in found}


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("factor", [10.0, -1.0])
def test_a_slip_among_17_is_named_with_the_value_that_was_meant(factor: float, sign: float) -> None:
    X = points(17)
    y = sign * response(X)
    row = int(np.argsort(np.abs(y))[12])
    told = y.copy()
    told[row] *= factor
    assert named(X, told) == {row: pytest.approx(y[row], rel=1e-9)}
    assert named(X, y) == {}


def test_two_slips_do_not_hide_each_other() -> None:
    X = points(25)
    y = response(X)
    first, second = (int(row) for row in np.argsort(y)[[12, 18]])
    told = y.copy()
    told[first] *= 10.0
    told[second] *= 10.0
    assert named(X, told).keys() == {first, second}


def test_a_peak_that_a_search_climbs_is_no_slip() -> None:
    """Flat at 6, and a hill of 60 which most of the later trials are on."""
    X = np.vstack([points(15), 0.4 + 0.15 * (points(10, 2) - 0.5)])
    y = 6.0 + 54.0 * np.exp(-40 * ((X - 0.4) ** 2).sum(axis=1)) + 0.5 * np.random.default_rng(3).standard_normal(25)
    assert named(X, y) == {}


def loss(lr: float, depth: int, booster: str = "") -> float:
    """Of the README and of the tour: it grows a thousandfold towards the upper end of a logarithmic range."""
    return (lr - 0.01) ** 2 * 1e4 + abs(depth - 5) + (0.5 if booster == "dart" else 0.0)


def kinked(x: float, y: float) -> float:
    """Of "Can I trust it?"."""
    return (x - 0.3) ** 2 + abs(y - 0.7)


RATE: dict[str, Any] = {"lr": uhebo.Float(1e-5, 1e-1, log=True), "depth": (2, 12)}
SHOWN: dict[str, tuple[Callable[..., float], dict[str, Any], int]] = {
    "README": (loss, RATE, 30),
    "tour": (loss, {**RATE, "booster": ["gbtree", "dart"]}, 30),
    "trust": (kinked, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 25),
}


@pytest.mark.parametrize("page", SHOWN)
def test_no_value_of_an_example_is_called_mistyped(page: str) -> None:
    """Nobody typed them: `uhebo.minimize` called a function."""
    function, space, trials = SHOWN[page]
    for seed in range(10):
        study = uhebo.minimize(function, space, trials, seed=seed).study
        model = model_of(study)
        assert slips_in(study, model.history, model.step.model_used.kernel) == ()


@pytest.mark.usefixtures("rough_importances")
@pytest.mark.parametrize("page", SHOWN)
def test_the_verdict_on_an_example_is_not_that_a_value_was_mistyped(page: str) -> None:
    function, space, trials = SHOWN[page]
    assert uhebo.diagnose(uhebo.minimize(function, space, trials, seed=0).study, hmc=False).kind != "typo"


def test_large_values_that_explain_one_another_are_no_slips_and_a_hundred_times_is() -> None:
    """Growth towards a corner, where three trials are; and a slip in the middle."""
    X = np.vstack([0.7 * points(22), [[0.97, 0.95], [0.99, 0.8], [0.9, 0.99]]])
    y = 3.0 + np.exp(4.0 * X.sum(axis=1) - 2.0)
    assert named(X, y) == {}
    right = response(points(25))
    row = int(np.argsort(right)[15])
    told = right.copy()
    told[row] *= 100.0
    assert named(points(25), told) == {row: pytest.approx(right[row], rel=1e-9)}


@pytest.mark.parametrize("y", [np.ones(20), np.r_[np.ones(19), 10.0], np.arange(7.0)], ids=["equal", "but one", "few"])
def test_where_nothing_can_be_said_nothing_is(y: Array) -> None:
    assert named(points(len(y)), y) == {}


@pytest.mark.usefixtures("rough_importances")
def test_the_verdict_names_it_and_amending_heals_it() -> None:
    X = points(17)
    y = np.round(response(X), 1)
    row = int(np.argsort(y)[10])
    space: dict[str, BaseDistribution] = {"a": FloatDistribution(0.0, 1.0), "b": FloatDistribution(0.0, 1.0)}
    study = optuna.create_study(direction="maximize")
    for number, (point, value) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        told = 10 * value if number == row else value
        study.add_trial(create_trial(value=told, params=dict(zip("ab", point, strict=True)), distributions=space))
    found = uhebo.diagnose(study, hmc=False)
    assert (found.kind, found.verdict) == ("typo", "do not trust")
    assert f"trial {row}" in found.headline
    assert found.to_dict()["slips"][0]["meant"] == y[row]
    assert found.commands("lab.db") == (f"uhebo amend lab.db {row} {y[row]:.12g}",)
    assert found.confirmations("lab.db") == (f"uhebo amend lab.db {row} {10 * y[row]:.12g}",)
    assert found.confirmations("lab.db", "yield") == (f"uhebo amend lab.db {row} yield={10 * y[row]:.12g}",)
    uhebo.amend(study, row, found.slips[0].meant)
    assert uhebo.diagnose(study, hmc=False).kind != "typo"


def test_the_shell_warns_until_the_value_is_corrected_or_confirmed(shell: Shell) -> None:
    """At `tell`, `best` and `suggest`, with the two commands; both silence it."""
    shell("create", "lab.db", "--param", "a=float:0:1", "--param", "b=float:0:1", "--direction", "maximize")
    X = points(17)
    y = np.round(response(X), 1)
    row = int(np.argsort(y)[10])
    for number, (point, value) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        told = 10 * value if number == row else value
        sheet = f"a,b,value\n{point[0]},{point[1]},{told}\n"
        shell("tell", "lab.db", "--csv", shell.write("one.csv", sheet))
    wrong, right = f"uhebo amend lab.db {row} {10 * y[row]:.12g}", f"uhebo amend lab.db {row} {y[row]:.12g}"
    said = [f"careful: trial {row} has value", "it looks ten times too large", f"mistyped: {right};", f"right: {wrong}"]
    found = shell.json("best", "lab.db")["suspicious"]
    assert [(each["number"], each["if_mistyped"], each["if_right"]) for each in found] == [(row, right, wrong)]
    assert all(text in shell.err for text in said)
    shell("suggest", "lab.db", "--csv")
    assert all(text in shell.err for text in said)
    assert len(shell.json("tell", "lab.db", "17", "1.5")["suspicious"]) == 1
    shell(*shlex.split(wrong)[1:])
    assert "confirmed" in shell.err
    assert shell.json("best", "lab.db")["suspicious"] == []
    assert shell.json("diagnose", "lab.db")["kind"] != "typo"
    shell("restore", "lab.db", str(row))
    assert f"If the value is right as it is:\n  $ {wrong}\n" in shell("diagnose", "lab.db")
    assert shell.json("diagnose", "lab.db")["if_right"] == [wrong]
    assert shell.json("best", "lab.db")["suspicious"]
    shell(*shlex.split(right)[1:])
    assert "careful" not in shell.err
    assert shell.json("best", "lab.db")["suspicious"] == []


def test_a_value_is_named_unasked_only_if_it_was_when_it_was_told() -> None:
    """One that becomes suspicious as others are told, and was not then, is for `diagnose` to name."""
    X = points(20)
    y = response(X)
    row = int(np.argsort(y)[14])
    y[row] *= 10.0

    def look(order: Sequence[int]) -> tuple[Slip, ...]:
        rows = np.array(order)
        return slips_among(rows, X[rows], y[rows], Domain.cube(2), MATERN52, np.random.default_rng(0))

    assert [slip.number for slip in standing(look, range(20), 2)] == [row]
    assert standing(look, range(enough(2) - 1), 2) == []
    late = standing(lambda order: look(order) if len(order) == 20 else (), range(20), 2)
    assert [slip.number for slip in late] == ([row] if row == 19 else [])


def test_the_benchmark_counts_what_it_planted() -> None:
    known = typos.responses()
    study = typos.made(known[1], 1)
    found = typos.outcomes(study)
    assert [item.slip for item in found] == list(typos.SLIPS)
    assert "| all | 1 |" in typos.report(found)
    planted = study.y.copy()
    planted[study.row] *= 10.0
    assert "| 1 | 0.0% | 100.0% | 100.0% |" in typos.tells([study])
    assert [item.named for item in found][1] == (study.row in {slip.number for slip in study.found(10.0)})


def test_the_benchmark_counts_who_is_accused_in_searches_of_functions() -> None:
    cell = typos.Search("choices", 1, 2041)
    records = typos.search(cell)
    header = {"family": cell.family, "seed": cell.seed, "series": cell.series}
    assert typos.accused(header, records, judge=False) == typos.accused(header, records, judge=True)
    shown = typos.of_functions([("choices", False), ("poles", True), ("poles", False)])
    assert "| choices | 1 | 0.0% |" in shown
    assert "| poles | 2 | 50.0% |" in shown
    assert "| all | 3 | 33.3% |" in shown


@pytest.mark.usefixtures("rough_importances")
@pytest.mark.parametrize(
    ("action", "commands"),
    [
        ("Run 12 random points: the data are clustered.", ["suggest lab.db -n 12 --random"]),
        ("Run 10 more trials, and ask again.", ["suggest lab.db -n 10"]),
        ("Run 9 more trials, some of them at random.", ["suggest lab.db -n 6", "suggest lab.db -n 3 --random"]),
        ("Run 5 more trials, and repeat the best point.", ["suggest lab.db -n 5", "suggest lab.db -n 3 --repeat-best"]),
        ("Stop, or look for less than 0.1: further search promises little.", ["best lab.db"]),
        ("Move the upper bound of x outwards if you can.", ["extend lab.db x=0:1.5"]),
        ("Move the lower bound of x outwards if you can.", ["extend lab.db x=-0.5:1"]),
        ("Go on with 5 more trials, or choose a point of the front.", ["suggest lab.db -n 5", "best lab.db"]),
        ("Check that the parameters reach the experiment.", ["history lab.db"]),
    ],
)
def test_every_advice_is_a_command_that_exists(clean: Diagnosis, action: str, commands: list[str]) -> None:
    found = replace(clean, kind="weak", next_action=action).commands("lab.db")
    assert list(found) == [f"uhebo {command}" for command in commands]
    for command in found:
        words = shlex.split(command.partition(" >")[0])
        known = " ".join(option for parameter in loaded(words[1]).params for option in parameter.opts)
        assert all(word in known for word in words if word.startswith("-"))


@pytest.fixture(scope="module")
def clean() -> Diagnosis:
    study = optuna.create_study()
    for x in np.linspace(0.0, 1.0, 7).tolist():
        study.add_trial(create_trial(value=x * x, params={"x": x}, distributions={"x": FloatDistribution(0.0, 1.0)}))
    return uhebo.diagnose(study, hmc=False)


# ---------------------------------------------------------------------------------------------------- accidents


def _study(rows: list[dict[str, float]], values: list[float], high: float = 1.0) -> optuna.Study:
    study = optuna.create_study(direction="maximize")
    for params, value in zip(rows, values, strict=True):
        space: dict[str, BaseDistribution] = {name: FloatDistribution(0.0, high) for name in params}
        study.add_trial(create_trial(value=value, params=params, distributions=space))
    return study


def _rows(n: int, high: float = 1.0) -> list[dict[str, float]]:
    return [dict(zip("ab", point, strict=True)) for point in (high * qmc.Halton(2, seed=1).random(n)).tolist()]


def _smooth(params: dict[str, float]) -> float:
    return 50.0 + 30.0 * math.sin(3.0 * params["a"]) - 20.0 * params["b"] ** 2


@pytest.mark.usefixtures("rough_importances")
def test_nearly_equal_settings_with_different_values_are_named() -> None:
    rows = _rows(20)
    values = [_smooth(row) for row in rows]
    rows.append({"a": rows[4]["a"] + 0.01, "b": rows[4]["b"]})
    values.append(0.84 * values[4])
    found = uhebo.diagnose(_study(rows, values), hmc=False)
    assert (found.kind, found.verdict) == ("contradiction", "caution")
    assert "trials 4 and 20" in found.headline
    assert found.commands("lab.db") == tuple(f"uhebo suggest lab.db --repeat {n}" for n in (4, 20))


@pytest.mark.usefixtures("rough_importances")
def test_exchanged_settings_are_named() -> None:
    rows = _rows(22)
    values = [_smooth(row) for row in rows]
    row = max(range(22), key=lambda i: abs(rows[i]["a"] - rows[i]["b"]))
    right = rows[row]
    rows[row] = {"a": right["b"], "b": right["a"]}
    study = _study(rows, values)
    found = uhebo.diagnose(study, hmc=False)
    assert found.kind == "swapped"
    (command,) = found.commands("lab.db")
    assert command == f"uhebo amend lab.db {row} a={right['a']:.12g} b={right['b']:.12g}"
    uhebo.amend(study, row, params=right)
    assert uhebo.diagnose(study, hmc=False).kind != "swapped"


@pytest.mark.usefixtures("rough_importances")
@pytest.mark.parametrize("seed", [3, 6, 11])
def test_settings_beside_a_jump_are_not_taken_for_exchanged_ones(seed: int) -> None:
    rows = [{"a": a, "b": b} for a, b in np.random.default_rng(seed).random((40, 2)).tolist()]
    study = _study(rows, [0.3 * row["a"] + 0.3 * row["b"] + (row["a"] > 0.6) for row in rows])
    assert uhebo.diagnose(study, hmc=False).accidents.swapped == ()


@pytest.mark.usefixtures("rough_importances")
def test_exchanged_results_are_named() -> None:
    study = optuna.create_study(directions=["maximize", "minimize"])
    name_objectives(study, ["yield", "cost"])
    for number, params in enumerate(_rows(20)):
        told = [_smooth(params), 3.0 + params["a"] + 2.0 * params["b"]]
        space: dict[str, BaseDistribution] = {name: FloatDistribution(0.0, 1.0) for name in params}
        study.add_trial(create_trial(values=told[:: -1 if number == 6 else 1], params=params, distributions=space))
    found = uhebo.diagnose(study, objective="yield", hmc=False)
    assert found.kind == "swapped"
    right = study.trials[6].values[::-1]
    (command,) = found.commands("lab.db", "yield")
    assert command == f"uhebo amend lab.db 6 yield={right[0]:.12g} cost={right[1]:.12g}"


@pytest.mark.usefixtures("rough_importances")
def test_a_drift_over_time_and_none() -> None:
    rows, noise = _rows(40), np.random.default_rng(2).normal(0.0, 0.5, 40)
    still = [_smooth(row) + float(e) for row, e in zip(rows, noise, strict=True)]
    found = uhebo.diagnose(_study(rows, [value - 0.6 * i for i, value in enumerate(still)]), hmc=False)
    assert (found.kind, found.verdict) == ("drift", "caution")
    assert found.accidents.drift is not None
    assert abs(found.accidents.drift.change + 0.6 * 39) < 3 * found.accidents.drift.deviation
    assert found.commands("lab.db")[0] == "uhebo suggest lab.db --repeat 0"
    assert uhebo.diagnose(_study(rows, still), hmc=False).accidents.drift is None


@pytest.mark.usefixtures("rough_importances")
def test_a_factor_that_never_moved_or_moves_no_more() -> None:
    rows = [{**row, "c": 0.25} for row in _rows(30)]
    found = uhebo.diagnose(_study(rows, [_smooth(row) for row in rows]), hmc=False)
    assert (found.kind, found.verdict) == ("stuck", "caution")
    assert found.commands("lab.db") == ("uhebo suggest lab.db --fix c=1",)
    study = _study(rows, [_smooth(row) for row in rows])
    study.enqueue_trial({**rows[0], "c": 0.75})
    waiting = study.ask({name: FloatDistribution(0.0, 1.0) for name in "abc"})
    found = uhebo.diagnose(study, hmc=False)
    assert found.next_action.startswith(f"Make trial {waiting.number}, which waits and has another value of c")
    assert found.commands("lab.db") == ("uhebo status lab.db",)
    rows = [{**row, "c": 0.25 if i > 20 else i / 40} for i, row in enumerate(_rows(30))]
    found = uhebo.diagnose(_study(rows, [_smooth(row) for row in rows]), hmc=False)
    assert found.kind != "stuck"
    assert any("c was 0.25 in each of the latest 9 trials" in reason for reason in found.reasons)


@pytest.mark.usefixtures("rough_importances")
def test_an_infinite_value_that_counts_as_the_best_is_no_result() -> None:
    rows = _rows(16)
    values = [_smooth(row) for row in rows[:-1]]
    found = uhebo.diagnose(_study(rows, [*values, math.inf]), hmc=False)
    assert (found.kind, found.verdict) == ("outlier", "do not trust")
    assert found.commands("lab.db") == ("uhebo amend lab.db 15 --failed",)
    assert uhebo.diagnose(_study(rows, [*values, -math.inf]), hmc=False).kind != "outlier"


@pytest.mark.usefixtures("rough_importances")
def test_what_repeats_contradict_is_not_called_noise() -> None:
    """Values that no model follows, and repeats that agree: it is not noise that hides the signal."""
    rows = _rows(24)
    values = np.random.default_rng(3).normal(50.0, 10.0, 24).tolist()
    rows, values = [*rows, rows[0], rows[5]], [*values, values[0] + 0.1, values[5] - 0.2]
    found = uhebo.diagnose(_study(rows, values), hmc=False)
    assert found.noise is not None
    assert found.noise.agreeing
    assert found.kind == "weak"
    assert not any("noise drowns" in text for text in (found.headline, *found.reasons))


@pytest.mark.parametrize(
    ("action", "batch", "said"),
    [
        ("Go on with 10 more trials.", 3, "Go on with 10 more trials (3 now)."),
        ("Go on with 10 more trials.", 12, "Go on with 10 more trials."),
        ("Go on with 10 more trials.", None, "Go on with 10 more trials."),
        ("Run 9 more trials, some of them at random.", 3, "Run 9 more trials, some of them at random."),
    ],
)
def test_advice_says_how_many_trials_its_command_begins(action: str, batch: int | None, said: str) -> None:
    assert with_batch(action, batch) == said


def test_no_cut_goes_through_a_setting_that_was_made_several_times() -> None:
    column = np.sort(np.concatenate([np.linspace(0.0, 1.0, 12), np.full(12, 0.55)]))
    cuts = [cut for cut, _ in _cuts(column, 3)]
    assert cuts
    assert 0.55 not in cuts
