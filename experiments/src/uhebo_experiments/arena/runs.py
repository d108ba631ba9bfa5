"""Cells of the arena: a method on a problem at a seed, and how long it takes for a suggestion beside MAP."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import optuna

from uhebo import UHESampler
from uhebo.errors import InvalidInputError
from uhebo.methods import METHODS
from uhebo.methods.start_up import PER_PARAMETER
from uhebo.numerics.threads import single_threaded
from uhebo.optuna_.trial_log import ATTRIBUTE
from uhebo_experiments.cells import Cell
from uhebo_experiments.problems import problem
from uhebo_experiments.runner import run_cell
from uhebo_experiments.table import Record
from uhebo_experiments.variants import VARIANTS, method_named

RIGHT = ("gp-2d-0.15", "gp-2d-0.3", "gp-3d-0.3")
"""The prior is right: functions drawn from the GP that is fitted, with lengthscales where every prior has some mass. A
seed is a function."""
MISLEADING = ("h1", "deceptive", "warped-2d-0.3", "gp-2d-0.05x1", "hartmann3~0.1")
"""It misleads: a narrow peak among waves, slopes that lead away, a function that varies fast in one corner alone, two
lengthscales twenty times apart, and much noise."""
BUDGET = 40
"""Iterations after 3d uniform points. With 20 seeds and all methods the arena takes about an hour on two processors,
most of it in the methods that draw hyperparameters by HMC."""
BASELINE = "map"
BY_HMC = ("hmc", "scorebo", "fb-log-ei")
"""Methods that draw hyperparameters: these may take as long as it takes."""
TIMED_ON, TIMED_AT = "gp-3d-0.3", 100
"""Problem and number of points of a timed suggestion."""
TIMED, MOST_ASKED = 4, 16
"""Suggestions by a model that are timed (the first is not counted), and suggestions asked for at most."""
DIGITS = 6


@dataclass(frozen=True)
class Bout:
    """A method on a problem at a seed."""

    method: str
    problem: str
    seed: int
    budget: int


@dataclass(frozen=True)
class Pace:
    """Suggestions of a method and of the baseline on the same points, turn by turn in one process."""

    method: str
    seed: int


@single_threaded
def run_bout(cell: Bout) -> list[Record]:
    """One record: simple regret after the initial design and after each iteration (without noise), CPU seconds in all.

    The sampler has the defaults of the method, `reading` included.
    """
    records = run_cell(Cell(cell.problem, cell.method, cell.seed, cell.budget, None, (("reading", None),)))
    optimum = problem(cell.problem, seed=cell.seed).optimum
    assert optimum is not None  # the arena has no others
    best = [record["incumbent"] for record in records[-cell.budget - 1 :]]
    regret = [float(f"{max(optimum - value, 0.0):.{DIGITS}g}") for value in best]
    return [{"regret": regret, "seconds": round(sum(record["seconds"] for record in records), 3)}]


@single_threaded
def run_pace(cell: Pace) -> list[Record]:
    """Mean CPU seconds of a suggestion by a model, of the method and of the baseline."""
    studies = [_told(cell.method, cell.seed), _told(BASELINE, cell.seed)]
    case = problem(TIMED_ON, seed=cell.seed)
    took: list[list[float]] = [[], []]
    skipped: list[list[float]] = [[], []]
    for _ in range(MOST_ASKED):
        for study, by_model, at_random in zip(studies, took, skipped, strict=True):
            if len(by_model) < TIMED:
                start = time.process_time()
                trial = study.ask(dict(case.space))
                seconds = time.process_time() - start
                study.tell(trial, case(**trial.params))
                role = study.get_trials(deepcopy=False)[-1].system_attrs.get(ATTRIBUTE, {}).get("role")
                (at_random if role == "random" else by_model).append(seconds)
    method, baseline = (counted(*of) for of in zip(took, skipped, strict=True))
    return [{"seconds": method, "baseline": baseline}]


def counted(by_model: Sequence[float], at_random: Sequence[float]) -> float:
    """Mean seconds of suggestions by a model but the first, which knows of no fit before; of all where no model is."""
    return statistics.mean(by_model[1:] if len(by_model) > 1 else (*by_model, *at_random))


def _told(method: str, seed: int) -> optuna.Study:
    """A study of a method with points that it has not asked for."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    case = problem(TIMED_ON, seed=seed)
    sampler = UHESampler(
        method=method_named(method),
        n_trials=2 * TIMED_AT,
        n_startup_trials=PER_PARAMETER * case.dimension,
        seed=seed,
    )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for row in np.random.default_rng([seed, 2]).random((TIMED_AT, case.dimension)):
        params = dict(zip(case.space, map(float, row), strict=True))
        study.add_trial(optuna.create_trial(params=params, distributions=dict(case.space), value=case(**params)))
    return study


def known(methods: Iterable[str] | None) -> tuple[str, ...]:
    """The methods to run: all in the sampler's table by default; also variants and what `uhebo.register` was told."""
    chosen = tuple(METHODS if methods is None else methods)
    if unknown := [name for name in chosen if name not in METHODS and name not in VARIANTS]:
        raise InvalidInputError(f"unknown method {unknown[0]!r}; choose among {', '.join((*METHODS, *VARIANTS))}")
    return chosen


def plan(seeds: int, methods: Sequence[str], problems: Sequence[str], budget: int) -> list[Bout]:
    """Seeds come first: what is there after a while is fair to all."""
    return [Bout(m, name, seed, budget) for seed in range(seeds) for name in problems for m in methods]
