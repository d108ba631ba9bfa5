"""Run cells (problem, method, seed, budget) in parallel, each finished one on disk at once; stop and continue at will.

Cells are run by joblib: processes on one machine by default, or whatever backend the caller has chosen with joblib's
own `parallel_config` (Dask, Ray). Workers hand their records back and only this process writes files, so that a
cluster needs no shared folder.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import optuna

from uhebo.errors import UheboError
from uhebo.experiments import problem
from uhebo.experiments.cells import Cell, Record, read_cell, write_cell
from uhebo.sampler import INITIAL_PER_DIMENSION, UHESampler
from uhebo.trial_log import ATTRIBUTE


def run_cell(cell: Cell) -> list[Record]:
    """One study from start to end through the shipped sampler: one record a trial, the initial design first."""
    case = problem(cell.problem, seed=cell.seed, fidelity=cell.fidelity)
    initial = INITIAL_PER_DIMENSION * case.dimension
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # also in a worker process, where nobody has done so
    sampler = UHESampler(
        method=cell.method,
        n_trials=initial + cell.budget,
        n_startup_trials=initial,
        seed=cell.seed,
        **dict(cell.options),
    )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    records: list[Record] = []
    incumbent = float("-inf")
    for _ in range(initial + cell.budget):
        start = time.perf_counter()
        trial = study.ask(dict(case.space))
        seconds = time.perf_counter() - start
        value = case(**trial.params)
        study.tell(trial, value)
        incumbent = max(incumbent, value)
        tags = study.get_trials(deepcopy=False)[-1].system_attrs.get(ATTRIBUTE, {})
        records.append(
            {
                "number": trial.number,
                "params": trial.params,
                "value": value,
                "incumbent": incumbent,
                "seconds": round(seconds, 6),
                **{name: tags[name] for name in ("t", "role", "arm", "p", "estimator", "theta", "g") if name in tags},
            }
        )
    return records


def run(cells: Sequence[Cell], folder: Path, *, jobs: int = -1, progress: bool = True) -> dict[Cell, list[Record]]:
    """Records of every cell, computing those that are not in `folder` yet (or are there in part only)."""
    done = {cell: records for cell in cells if (records := read_cell(folder, cell)) is not None}
    missing = [cell for cell in dict.fromkeys(cells) if cell not in done]
    for cell, records in _shown(_computed(missing, jobs), len(cells), len(done), progress):
        write_cell(folder, cell, records)
        done[cell] = records
    return {cell: done[cell] for cell in cells}


def _computed(cells: Sequence[Cell], jobs: int) -> Iterator[tuple[Cell, list[Record]]]:
    """Cells as they finish, in any order."""
    if not cells:
        return
    try:
        from joblib import Parallel, delayed
    except ImportError as error:
        raise UheboError("running experiments needs joblib: pip install 'uhebo[experiments]'") from error
    yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed(_labelled)(cell) for cell in cells)


def _labelled(cell: Cell) -> tuple[Cell, list[Record]]:
    return cell, run_cell(cell)


def _shown(results: Iterator[Any], total: int, completed: int, progress: bool) -> Iterator[Any]:
    """The same results with a bar that says how long the rest will take."""
    if not progress:
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

    columns = (TextColumn("cells"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns) as bar:
        task = bar.add_task("cells", total=total, completed=completed)
        for result in results:
            yield result
            bar.advance(task)
