"""Studies of every kind for the tests of pictures and reports, each with its diagnosis and pictures, made once."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import TrialState, create_trial

import uhebo
from uhebo.diagnosis import Diagnosis, diagnose
from uhebo.directions import name_objectives
from uhebo.optuna_.noise import NOISE
from uhebo.optuna_.points import REPEATS
from uhebo.report import write_report
from uhebo.report.chart import Chart
from uhebo.report.plots import pictures
from uhebo.report.theme import Picture


def bowl(x: float, y: float) -> float:
    return (x - 0.3) ** 2 + 2.0 * (y - 0.6) ** 2


def two_floats() -> Study:
    return uhebo.minimize(bowl, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 20, seed=1, method="uhe").study


def mixed() -> Study:
    def value(lr: float, depth: int, units: int, kind: str) -> float:
        return -float((np.log10(lr) + 3) ** 2) - 0.1 * (depth - 4) ** 2 - (kind == "b") - units / 1e4

    space = {
        "lr": uhebo.Float(1e-5, 1e-1, log=True),
        "depth": (1, 9),
        "units": uhebo.Int(8, 1024, log=True),
        "kind": ["a", "b", "c"],
    }
    return uhebo.maximize(value, space, 24, seed=2, method="uhe").study


def by_random(space: dict[str, Any], value: Callable[..., float], n: int, direction: Any = "minimize") -> Study:
    """A study without our tags."""
    study = optuna.create_study(direction=direction, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: value(**{k: trial._suggest(k, d) for k, d in space.items()}), n_trials=n)
    return study


def categorical_only() -> Study:
    space = {"a": CategoricalDistribution(["p", "q", None, 3.5, True]), "b": CategoricalDistribution(["u", "v"])}
    return by_random(space, lambda a, b: float(len(str(a))) + (b == "u"), 15)


def one_parameter() -> Study:
    return uhebo.minimize(lambda x: (x - 0.3) ** 2, {"x": (0.0, 1.0)}, 12, seed=0).study


def one_trial() -> Study:
    return uhebo.minimize(bowl, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 1, seed=0).study


def constant() -> Study:
    return uhebo.minimize(lambda x, y: 2.0 + 0 * x * y, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 10, seed=0).study


def no_finished() -> Study:
    study = optuna.create_study()
    study.ask({"x": FloatDistribution(0, 1)})
    study.add_trial(create_trial(state=TrialState.FAIL))
    return study


def by_tpe() -> Study:
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(lambda t: -bowl(t.suggest_float("x", 0, 1), t.suggest_int("y", 0, 4) / 4), n_trials=25)
    return study


def conditional() -> Study:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        return x + trial.suggest_float("extra", 0, 1) if trial.number % 2 else x

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=10)
    return study


def odd_values() -> Study:
    study = optuna.create_study()
    space = {"x": FloatDistribution(0, 1), "n": IntDistribution(1, 10**6, log=True)}
    for i, value in enumerate([1.0, float("inf"), -1.0, 1e12, float("-inf"), 0.5, 0.1, 0.2, 0.3, 0.25, 0.6, 0.7]):
        study.add_trial(create_trial(params={"x": i / 12, "n": 10 ** (i % 6 + 1)}, distributions=space, value=value))
    study.add_trial(create_trial(state=TrialState.PRUNED, params={"x": 0.5, "n": 3}, distributions=space))
    return study


def laboratory() -> Study:
    """Five factors, one with a long name; failures, experiments of one's own, and two under way."""

    def measured(temperature: float, catalyst: str, loading: float, hours: int, ph: float) -> float:
        bump = np.exp(-(((temperature - 82.0) / 35.0) ** 2)) * {"Pd-C": 1.0, "Ni": 0.8, "Fe": 0.5}[catalyst]
        return float(60.0 * bump * (1.0 - np.exp(-loading)) * (1.0 - 0.02 * (ph - 6.5) ** 2) + hours / 9.0)

    long = "residence_time_of_the_second_reactor"
    space: dict[str, BaseDistribution] = {
        "temperature": FloatDistribution(20, 120),
        "catalyst": CategoricalDistribution(["Pd-C", "Ni", "Fe"]),
        "loading": FloatDistribution(0.05, 5, log=True),
        long: IntDistribution(1, 9),
        "pH": FloatDistribution(3, 9),
    }
    study = optuna.create_study(study_name="furnace", direction="maximize", sampler=uhebo.UHESampler(seed=1))
    name_objectives(study, ["yield"])
    rng = np.random.default_rng(0)
    for i in range(18):
        trial = study.ask(space)
        value = measured(*trial.params.values()) + float(rng.normal(0.0, 0.5))
        if i == 4:
            study.tell(trial, state=TrialState.FAIL)
        else:
            study.tell(trial, value)
    params = {"temperature": 85.0, "catalyst": "Pd-C", "loading": 4.0, long: 8, "pH": 6.4}
    study.add_trial(create_trial(params=params, distributions=space, value=63.0))
    study.ask(space)
    study.enqueue_trial({**params, "pH": 5.0})
    return study


def accidents() -> Study:
    """The same with units, all that people note and correct, a further measurement, and one that was not run."""
    study = laboratory()
    uhebo.extend(study, units={"temperature": "°C", "loading": "g/L", "yield": "%"})
    best = max((trial for trial in study.trials if trial.values), key=lambda trial: trial.values[0])
    for _ in range(2):
        study.add_trial(
            create_trial(
                params=best.params,
                distributions=best.distributions,
                value=best.values[0] - 0.4,
                user_attrs={REPEATS: best.number, NOISE: 0.25, "operator": "K. Åberg", "note": "=cloudy, see page 14"},
            )
        )
    uhebo.amend(study, 2, 7.25, reason="typo")
    uhebo.amend(study, 3, study.trials[3].values[0])
    uhebo.drop(study, 5, "wrong bottle")
    uhebo.skip(study, 19, "the bottle was empty")
    return study


TRADE_OFF: dict[str, BaseDistribution] = {
    "x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0), "kind": CategoricalDistribution(["a", "b"])
}  # fmt: skip


def trade_off(names: list[str], directions: Any, count: int = 14, **attributes: Any) -> Study:
    """A study of a trade-off between `x` and the rest, at random points."""
    study = optuna.create_study(directions=[*directions])
    name_objectives(study, names)
    rng = np.random.default_rng(0)
    for _ in range(count):
        x, y, kind = float(rng.random()), float(rng.random()), str(rng.choice(["a", "b"]))
        wanted = [50.0 * x * (2.0 - x) - y, x + 0.1 * y + 0.01 * (kind == "b"), (x - 0.5) ** 2 + y, x * y]
        values = wanted[: len(names)]
        params = {"x": x, "y": y, "kind": kind}
        study.add_trial(create_trial(params=params, distributions=TRADE_OFF, values=values, **attributes))
    return study


STUDIES: dict[str, tuple[Callable[[], Study], set[str]]] = {
    "laboratory": (
        laboratory,
        {"importance", *(f"slice_{i}" for i in range(1, 6)), "map", "map_uncertainty", "calibration", "parallel"},
    ),
    "accidents": (
        accidents,
        {"importance", *(f"slice_{i}" for i in range(1, 6)), "map", "map_uncertainty", "calibration", "parallel"},
    ),
    "two floats": (
        two_floats,
        {"importance", "slice_1", "slice_2", "map", "calibration", "coverage", "lengthscales_1", "arms"},
    ),
    "mixed": (mixed, {"importance", "slice_4", "map", "calibration", "lengthscales_4"}),
    "categorical only": (categorical_only, {"slice_1", "slice_2", "map", "calibration"}),
    "one parameter": (one_parameter, {"slice_1", "calibration"}),
    "by TPE": (by_tpe, {"slice_1", "slice_2", "map", "calibration", "lengthscales_1"}),
    "conditional": (conditional, {"slice_1"}),
    "odd values": (odd_values, {"slice_1", "map"}),
    "constant": (constant, {"convergence"}),
    "one trial": (one_trial, {"convergence"}),
}


@dataclass(frozen=True)
class Made:
    """A study with its diagnosis and its pictures, made once for all tests."""

    study: Study
    diagnosis: Diagnosis
    drawn: dict[str, Picture]

    def chart(self, key: str) -> Chart:
        return self.drawn[key].chart


@cache
def made(name: str) -> Made:
    with pytest.MonkeyPatch.context() as patch:
        for setting, value in {"THETAS": 2, "BURN_IN": 5, "LOG2_POINTS": 6}.items():
            patch.setattr(f"uhebo.diagnosis.importance.{setting}", value)
        study = STUDIES[name][0]()
        diagnosis = diagnose(study, hmc=False)
        return Made(study, diagnosis, {picture.key: picture for picture in pictures(study, diagnosis)})


def written(folder: Path, name: str, brief: bool = False) -> Path:
    """The report of a study by name, written once into this folder."""
    path = folder / f"{name}{'-brief' * brief}.html"
    if not path.exists():
        write_report(made(name).study, path, diagnosis=made(name).diagnosis, place="lab.db", brief=brief)
    return path


def csv_of(page: str) -> str:
    """The table that a page offers for download."""
    match = re.search(r'href="data:text/csv;charset=utf-8;base64,([^"]*)"', page)
    assert match is not None
    return base64.b64decode(match[1]).decode("utf-8-sig")
