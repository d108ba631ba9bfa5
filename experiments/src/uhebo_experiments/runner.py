"""Run cells (problem, method, seed, budget) in parallel, each finished one on disk at once; stop and continue at will.

Cells are run by joblib: processes on one machine by default, or whatever backend the caller has chosen with joblib's
own `parallel_config` (Dask, Ray). Workers hand their records back and only this process writes, so that a cluster
needs no shared folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import optuna

from uhebo.methods.start_up import PER_PARAMETER
from uhebo.optuna_.sampler import UHESampler
from uhebo.optuna_.trial_log import ATTRIBUTE
from uhebo_experiments.cells import Cell
from uhebo_experiments.problems import problem
from uhebo_experiments.table import Record, Table, Task
from uhebo_experiments.variants import method_named

AnyTask = TypeVar("AnyTask", bound=Task)
NOISE_STREAM = 3
"""Noise of a problem is a stream of its own for each seed, the same for all methods."""


def run_cell(cell: Cell) -> list[Record]:
    """One study from start to end through the shipped sampler: one record per trial, the initial design first."""
    case = problem(cell.problem, seed=cell.seed, fidelity=cell.fidelity)
    initial = PER_PARAMETER * case.dimension
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # also in a worker process, where nobody has done so
    sampler = UHESampler(
        method=method_named(cell.method),
        n_trials=initial + cell.budget,
        n_startup_trials=initial,
        seed=cell.seed,
        penalties="keep",  # a classifier's accuracy where nothing was learnt is a value, not a failure
        **cell.sampler_options,
    )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    records: list[Record] = []
    noise = np.random.default_rng([cell.seed, NOISE_STREAM])
    incumbent = float("-inf")
    for _ in range(initial + cell.budget):
        start = time.process_time()  # suggestions run on one thread; other processes do not count
        trial = study.ask(dict(case.space))
        seconds = time.process_time() - start
        true = case(**trial.params)
        value = true + case.noise * float(noise.standard_normal()) if case.noise else true
        study.tell(trial, value)
        incumbent = max(incumbent, true)
        tags = study.get_trials(deepcopy=False)[-1].system_attrs.get(ATTRIBUTE, {})
        records.append(
            {
                "number": trial.number,
                "params": trial.params,
                "value": value,
                "incumbent": incumbent,
                **({"true": true} if case.noise else {}),
                "seconds": round(seconds, 6),
                **{name: tags[name] for name in ("t", "role", "arm", "p", "estimator", "theta", "g") if name in tags},
            }
        )
    return records


def run(
    cells: Sequence[Cell], table: Table, *, jobs: int = -1, progress: bool = True, label: str = "cells"
) -> dict[Cell, list[Record]]:
    """Records of every cell, computing those that are not in the table yet."""
    return compute(cells, table, run_cell, jobs=jobs, progress=progress, label=label)


def compute(
    cells: Sequence[AnyTask],
    table: Table,
    work: Callable[..., list[Record]],
    given: Callable[[AnyTask], tuple[Any, ...]] = lambda _: (),
    *,
    jobs: int = -1,
    progress: bool = True,
    label: str = "cells",
) -> dict[AnyTask, list[Record]]:
    """The same for any kind of cell: its records are `work(cell, *given(cell))`.

    `given` is called in this process, so that a cluster needs no shared folder.
    """
    done = {cell: records for cell in cells if (records := table.records(cell)) is not None}
    missing = [cell for cell in dict.fromkeys(cells) if cell not in done]
    if not missing:
        return {cell: done[cell] for cell in cells}
    results = _shown(_computed(missing, work, given, jobs), len(cells), len(done), label if progress else "")
    try:
        for cell, records in results:
            table.add(cell, records)
            done[cell] = records
    finally:  # also when interrupted
        table.pack()
    return {cell: done[cell] for cell in cells}


def _computed(
    cells: Sequence[AnyTask],
    work: Callable[..., list[Record]],
    given: Callable[[AnyTask], tuple[Any, ...]],
    jobs: int,
) -> Iterator[tuple[AnyTask, list[Record]]]:
    """Cells as they finish, in any order."""
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(_labelled)(cell, work, given(cell)) for cell in cells
    )


def _labelled(cell: AnyTask, work: Callable[..., list[Record]], given: tuple[Any, ...]) -> tuple[AnyTask, list[Record]]:
    return cell, work(cell, *given)


def _shown(results: Iterator[Any], total: int, completed: int, label: str) -> Iterator[Any]:
    """The same results with a bar that says how long the rest will take."""
    if not label:
        yield from results
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns) as bar:
        task = bar.add_task("cells", total=total, completed=completed)
        for result in results:
            yield result
            bar.advance(task)
