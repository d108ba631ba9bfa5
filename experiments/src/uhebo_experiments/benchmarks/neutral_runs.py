"""Runs of the neutral report: a library on a problem at a seed and a budget, and what random points reach on models."""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import optuna

from uhebo.errors import InvalidInputError, UheboError
from uhebo.numerics.threads import single_threaded
from uhebo_experiments.peers.neutral import LIBRARIES, PACKAGES, PLANNERS, make_library, takes
from uhebo_experiments.peers.relaxed import Relaxed
from uhebo_experiments.peers.runs import LONGEST_ERROR, muted
from uhebo_experiments.peers.setting import Library, Setting
from uhebo_experiments.problems.bayesmark import BATCH, BATCHES, TASKS
from uhebo_experiments.problems.neutral import MAKERS, neutral
from uhebo_experiments.problems.neutral_task import Task
from uhebo_experiments.revision import revision
from uhebo_experiments.table import Record

OURS = "uhebo"
BUDGETS = (30, 60, 150)
PROTOCOL = "bayesmark"
"""The family of all of bayesmark's tasks, 16 batches of 8."""
FAMILIES = (*MAKERS, PROTOCOL)
NOISE_STREAM, REFERENCE_STREAM = 11, 13
DIGITS = 12
REFERENCE_POINTS = BATCH * BATCHES
"""Random points of a reference, and as many of a search by TPE."""


@dataclass(frozen=True)
class Run:
    """A library on a problem."""

    library: str
    family: str
    problem: str
    seed: int
    budget: int

    @property
    def batch(self) -> int:
        return BATCH if self.family == PROTOCOL else 1

    @property
    def task(self) -> Task:
        return neutral("models" if self.family == PROTOCOL else self.family, self.problem, self.seed)

    def setting(self, task: Task) -> Setting:
        models = task.family == "models"
        return Setting(task.space, task.noisy, models, self.budget, self.batch, self.seed)


@dataclass(frozen=True)
class Reference:
    """What random points, and one search by TPE, reach on a task of bayesmark's."""

    problem: str


@single_threaded
@muted()
def run(cell: Run) -> list[Record]:
    """One record: where the best value so far changed, as [trial, value] of the first trial with it.

    `best` is the smallest value without noise of all points tried; `told` is that of the point whose told value was the
    smallest. Where the optimum is known both are distances to it. `seconds` are CPU seconds of ask and tell.

    An error of another library ends its run and not the comparison; the record says what happened.
    """
    task = cell.task
    library = make_library(cell.library, cell.setting(task))
    name = PACKAGES[cell.library.partition("-")[0]]
    version = revision() if name == "uhebo" else importlib.metadata.version(name)
    rng = np.random.default_rng([cell.seed, NOISE_STREAM])
    told: list[float] = []
    true: list[float] = []
    seconds = 0.0
    error: Exception | None = None
    while len(told) < cell.budget and error is None:
        count = min(cell.batch, cell.budget - len(told))
        start = time.process_time()
        try:
            points = library.ask(count)
            seconds += time.process_time() - start
            values = [task.evaluate(point, rng) for point in points]
            told += [value for value, _ in values]
            true += [value for _, value in values]
            start = time.process_time()
            library.tell(points, [value for value, _ in values])
        except Exception as problem:
            if cell.library == OURS or isinstance(problem, UheboError):
                raise
            error = problem
        seconds += time.process_time() - start
    record = {**reached(told, true, task.optimum), "seconds": round(seconds, 2), "version": version}
    if error is not None:
        record["error"] = f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
    return [record]


def reached(told: Sequence[float], true: Sequence[float], optimum: float | None) -> Record:
    """Where the best value so far changed, of all points and of the one that is best as told."""
    best: list[list[float]] = []
    by_told: list[list[float]] = []
    lowest = float("inf")
    for trial, (seen, value) in enumerate(zip(told, true, strict=True), 1):
        gap = float(f"{value - (optimum or 0.0):.{DIGITS}g}")
        if not best or gap < best[-1][1]:
            best.append([trial, gap])
        if seen < lowest:
            lowest = seen
            by_told.append([trial, gap])
    return {"best": best, "told": by_told}


def read_early(runs: Mapping[Run, Record]) -> dict[Run, Record]:
    """The same runs, and in place of missing shorter ones what the shortest longer one had come to by then, of
    libraries to which the number of trials is nothing."""
    plain = sorted((cell for cell in runs if cell.family != PROTOCOL), key=lambda cell: cell.budget)
    budgets, found = {cell.budget for cell in plain}, dict(runs)
    for cell in (cell for cell in plain if cell.library not in PLANNERS):
        for budget in (budget for budget in budgets if budget < cell.budget):
            early = {kept: [c for c in runs[cell][kept] if c[0] <= budget] for kept in ("best", "told")}
            found.setdefault(replace(cell, budget=budget), {**runs[cell], **early, "early": True})
    return found


@single_threaded
@muted()
def run_reference(cell: Reference) -> list[Record]:
    """`median` of random points, `best` of these and of a search by TPE: what scores are measured with."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    task = neutral("models", cell.problem, 0)
    rng, relaxed = np.random.default_rng([REFERENCE_STREAM, 0]), Relaxed(task.space)
    rows = rng.random((REFERENCE_POINTS, relaxed.width))
    values = [task.evaluate(relaxed.decode(row), rng)[0] for row in rows]
    setting = Setting(task.space, task.noisy, True, REFERENCE_POINTS, 1, REFERENCE_STREAM)
    search: Library = make_library("optuna-tpe", setting)
    found = []
    for _ in range(REFERENCE_POINTS):
        points = search.ask(1)
        found.append(task.evaluate(points[0], rng)[0])
        search.tell(points, found[-1:])
    return [{"median": float(np.median(values)), "best": min(*values, *found)}]


def problems_of(family: str) -> tuple[str, ...]:
    return TASKS if family == PROTOCOL else MAKERS[family][0]


def budgets_of(family: str, budgets: Iterable[int] = BUDGETS) -> tuple[int, ...]:
    return (BATCH * BATCHES,) if family == PROTOCOL else tuple(budgets)


def plan(
    seeds: int,
    libraries: Sequence[str] = tuple(LIBRARIES),
    families: Sequence[str] = FAMILIES,
    budgets: Sequence[int] = BUDGETS,
) -> list[Run]:
    """Runs of the comparison, seed by seed, so that what is stopped early has as many seeds everywhere. Libraries are
    left out where they are not meant for a task (`takes`), and have the longest run alone where the number of trials
    is nothing to them (`PLANNERS`)."""
    for what, known, given in (("library", tuple(LIBRARIES), libraries), ("family", FAMILIES, families)):
        if unknown := [one for one in given if one not in known]:
            raise InvalidInputError(f"unknown {what} {unknown[0]!r}; choose among {', '.join(known)}")
    cells = []
    for seed in range(seeds):
        for family in families:
            for name in problems_of(family):
                task = Run(OURS, family, name, seed, 1).task
                of_family = budgets_of(family, budgets)
                for budget in of_family:
                    running = [lib for lib in libraries if lib in PLANNERS or budget == max(of_family)]
                    made = [Run(library, family, name, seed, budget) for library in running]
                    cells += [cell for cell in made if takes(cell.library, cell.setting(task))]
    return cells
