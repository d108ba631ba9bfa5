"""Mistyped values: named with their trials, several at once, and none where there is none."""

from __future__ import annotations

import shlex
from dataclasses import replace

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import create_trial

import uhebo
from uhebo.cli.app import loaded
from uhebo.diagnosis import Diagnosis
from uhebo.diagnosis.slips import slips_among
from uhebo.gp.data import Domain
from uhebo.gp.kernels import MATERN52
from uhebo.types import Array
from uhebo_experiments.benchmarks import typos


def response(X: Array, noise: float = 0.5) -> Array:
    """A yield between 0 and 60."""
    rng = np.random.default_rng(7)
    return np.asarray(60 * np.exp(-4 * ((X - 0.4) ** 2).sum(axis=1)) + noise * rng.standard_normal(len(X)))


def points(n: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).random((n, 2))


def named(X: Array, y: Array, sign: float = 1.0) -> dict[int, float]:
    found = slips_among(np.arange(len(y)), X, y, Domain.cube(2), MATERN52, sign, np.random.default_rng(0))
    return {slip.number: slip.meant for slip in found}


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("factor", [10.0, -1.0])
def test_a_slip_among_17_is_named_with_the_value_that_was_meant(factor: float, sign: float) -> None:
    X = points(17)
    y = sign * response(X)
    row = int(np.argsort(np.abs(y))[12])
    told = y.copy()
    told[row] *= factor
    assert named(X, told, sign) == {row: pytest.approx(y[row], rel=1e-9)}
    assert named(X, y, sign) == {}


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
    uhebo.amend(study, row, found.slips[0].meant)
    assert uhebo.diagnose(study, hmc=False).kind != "typo"


def test_the_benchmark_counts_what_it_planted() -> None:
    known = typos.responses()
    study = typos.made(known[1], 1)
    found = typos.outcomes(study)
    assert [item.slip for item in found] == list(typos.SLIPS)
    assert "| all | 1 |" in typos.report(found)
    planted = study.y.copy()
    planted[study.row] *= 10.0
    assert [item.named for item in found][1] == (study.row in {slip.number for slip in study.found(10.0)})


@pytest.mark.usefixtures("rough_importances")
@pytest.mark.parametrize(
    ("action", "commands"),
    [
        ("Run 12 random points: the data are clustered.", ["suggest lab.db -n 12 --random"]),
        ("Run 10 more trials, and ask again.", ["suggest lab.db -n 10"]),
        ("Run 9 more trials, some of them at random.", ["suggest lab.db -n 6", "suggest lab.db -n 3 --random"]),
        ("Run 5 more trials, and repeat the best point.", ["suggest lab.db -n 5", "suggest lab.db -n 3 --repeat-best"]),
        ("Stop, or look for less than 0.1: further search promises little.", ["best lab.db"]),
        ("Move the upper bound of x outwards if you can.", ["history lab.db --csv > all.csv"]),
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
