"""Cells of `uhebo bench pareto`: a library on a problem with several objectives, and seconds of a suggestion."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from uhebo.errors import InvalidInputError, UheboError
from uhebo.numerics.threads import single_threaded
from uhebo_experiments.benchmarks.real_runs import DIGITS, OURS, Run
from uhebo_experiments.peers.practical import version
from uhebo_experiments.peers.runs import LONGEST_ERROR, muted
from uhebo_experiments.peers.several import ENTRIES
from uhebo_experiments.problems.several import SEVERAL, Outcome
from uhebo_experiments.runner import NOISE_STREAM
from uhebo_experiments.table import Record

START, AFTER = 10, 60
"""Trials to start with, as many as most libraries draw before their first model, and trials after them."""
TRIALS = START + AFTER
RIVAL = "optuna-gp"
"""Whose seconds ours are compared with: the other sampler of Optuna's with a model of the same kind."""
TIMED_ON = "zdt1"
SIZES = (50, 200, 500)
"""Numbers of points at which a suggestion is timed."""
ASKED = {OURS: 7, RIVAL: 4}
"""Suggestions in a row on a set of points, the first of which is not counted. Ours more: it does not fit every time
where there are many points, and must not be read off between two fits."""


@dataclass(frozen=True)
class Clock:
    """Suggestions of ours and of the rival at so many points, in one process."""

    points: int
    seed: int


@single_threaded
@muted()
def run(cell: Run) -> list[Record]:
    """One record per trial: values without noise, whether it is infeasible, the hypervolume of all feasible values so
    far, and CPU seconds of ask + tell.

    An error of another library ends its run and not the comparison; the last record says what happened.
    """
    case = SEVERAL[cell.problem]
    entry = ENTRIES[cell.entry](case, cell.seed, TRIALS)
    noise = np.random.default_rng([cell.seed, NOISE_STREAM])
    records: list[Record] = []
    kept: list[tuple[float, ...]] = []
    volume = 0.0
    for _ in range(TRIALS):
        start = time.process_time()
        try:
            params = entry.ask()
            asked = time.process_time() - start
            found = case.evaluate(params)
            told = found
            if case.noise:
                errors = np.array(case.noise) * noise.standard_normal(case.objectives)
                told = replace(found, values=tuple((np.array(found.values) + errors).tolist()))
            start = time.process_time()
            entry.tell(params, told)
        except Exception as error:
            if cell.entry == OURS or not records or isinstance(error, UheboError):
                raise
            records[-1]["error"] = f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
            break
        seconds = round(asked + time.process_time() - start, 4)
        if found.feasible:
            kept.append(found.values)
            volume = case.hypervolume(np.array(kept))
        records.append({**_outcome(found), "hypervolume": rounded(volume), "seconds": seconds})
    records[0]["version"] = version(cell.entry)
    return records


def _outcome(found: Outcome) -> Record:
    values = [rounded(value) for value in found.values]
    return {"values": values} if found.feasible else {"values": values, "infeasible": True}


def rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


@single_threaded
@muted()
def run_clock(cell: Clock) -> list[Record]:
    """Mean CPU seconds of ask + tell with so many uniform points told, one record per library."""
    case = SEVERAL[TIMED_ON]
    rows = np.random.default_rng([cell.seed, 2]).random((cell.points, len(case.space)))
    told = [case.decode(row) for row in rows]
    records: list[Record] = []
    for name, asked in ASKED.items():
        entry = ENTRIES[name](case, cell.seed, 2 * cell.points)  # half of a known budget is left
        for params in told:
            entry.tell(params, case.evaluate(params))
        took = []
        for _ in range(asked):
            start = time.process_time()
            point = entry.ask()
            entry.tell(point, case.evaluate(point))
            took.append(time.process_time() - start)
        records.append({"entry": name, "seconds": statistics.mean(took[1:]), "version": version(name)})
    return records


def plan(seeds: int, entries: Iterable[str] | None = None, problems: Iterable[str] | None = None) -> list[Run]:
    """Cells of the comparison, seed by seed, so that all that is stopped early has as many seeds everywhere."""
    for name, known, given in (("library", ENTRIES, entries), ("problem", SEVERAL, problems)):
        if unknown := [one for one in given or () if one not in known]:
            raise InvalidInputError(f"unknown {name} {unknown[0]!r}; choose among {', '.join(known)}")
    return [
        Run(entry, name, seed)
        for seed in range(seeds)
        for name in (SEVERAL if problems is None else problems)
        for entry in (ENTRIES if entries is None else entries)
    ]
