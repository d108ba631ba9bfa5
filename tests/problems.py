"""Problems with every kind of parameter, and what their trials must hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study

from uhebo import Categorical, Float, Int
from uhebo.optuna_.trial_log import ATTRIBUTE, ATTRIBUTE_LIMIT

TRIALS = 20
Objective = Callable[[optuna.Trial], float]
Direction = Literal["minimize", "maximize"]


@dataclass(frozen=True)
class Problem:
    """What a trial may hold, and what it is worth."""

    distributions: dict[str, BaseDistribution]
    objective: Objective


def flat(distributions: dict[str, BaseDistribution], value: Callable[..., float]) -> Problem:
    def objective(trial: optuna.Trial) -> float:
        return value(**{name: trial._suggest(name, distribution) for name, distribution in distributions.items()})

    return Problem(distributions, objective)


def conditional_value(trial: optuna.Trial) -> float:
    shared = trial.suggest_float("shared", -1, 1)
    kind = trial.suggest_categorical("kind", ["line", "bowl"])
    if kind == "line":
        return shared + 0.1 * trial.suggest_int("slope", 1, 64, log=True)
    return shared**2 + trial.suggest_float("width", 0.0, 1.0, step=0.25)


PROBLEMS = {
    "floats": flat({"x": Float(-5, 10), "y": Float(0, 15)}, lambda x, y: (x - 2) ** 2 + abs(y - 3)),
    "mixed": flat(
        {
            "rate": Float(1e-5, 1.0, log=True),
            "depth": Int(1, 50, log=True),
            "width": Int(-4, 12, step=4),
            "drop": Float(0.0, 0.9, step=0.1),
            "kind": Categorical(["a", None, 3, False]),
            "fixed": Int(7, 7),
        },
        lambda rate, depth, width, drop, kind, fixed: (
            (math.log10(rate) + 2) ** 2 + math.log(depth) + 0.1 * abs(width - fixed) + drop + (kind is not None)
        ),
    ),
    "categories": flat(
        {"a": Categorical(list("pqrs")), "b": Categorical([1, 2.5, None]), "c": Categorical([True, False])},
        lambda a, b, c: "srpq".index(a) + (b or 4) - c,
    ),
    "conditional": Problem(
        {
            "shared": Float(-1, 1),
            "kind": Categorical(["line", "bowl"]),
            "slope": Int(1, 64, log=True),
            "width": Float(0.0, 1.0, step=0.25),
        },
        conditional_value,
    ),
}


def check(study: Study, problem: Problem) -> None:
    """Every value belongs to its distribution and is the Python value the user is entitled to."""
    for trial in study.trials:
        for name, value in trial.params.items():
            distribution = problem.distributions[name]
            assert trial.distributions[name] == distribution
            if isinstance(distribution, CategoricalDistribution):
                assert any(type(value) is type(choice) and value == choice for choice in distribution.choices)
            elif isinstance(distribution, IntDistribution):
                assert type(value) is int
                assert distribution.low <= value <= distribution.high
                assert (value - distribution.low) % distribution.step == 0
            else:
                assert isinstance(distribution, FloatDistribution)
                assert type(value) is float
                assert distribution.low <= value <= distribution.high
                if distribution.step is not None:
                    assert value == float(str(round(value, 10)))  # 0.3, not 0.30000000000000004
                    steps = (value - distribution.low) / distribution.step
                    assert steps == pytest.approx(round(steps), abs=1e-9)
        record = trial.system_attrs[ATTRIBUTE]
        assert record["role"] in ("initial", "random", "model")
        assert (record["t"] == 0) == (record["role"] == "initial")
        assert len(str(record)) <= ATTRIBUTE_LIMIT
