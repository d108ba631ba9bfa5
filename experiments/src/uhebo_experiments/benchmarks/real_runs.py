"""Cells of `real_problems`: a library on a practical problem, and what constraints cost a suggestion."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from uhebo.errors import InvalidInputError
from uhebo.numerics.threads import single_threaded
from uhebo_experiments.peers.practical import ENTRIES, OptunaEntry, version
from uhebo_experiments.peers.runs import LONGEST_ERROR, muted
from uhebo_experiments.problems.conditional import CONDITIONAL
from uhebo_experiments.problems.constrained import CONSTRAINED
from uhebo_experiments.problems.harsh import BOWLS, FAILING, MANY
from uhebo_experiments.problems.practical import Evaluation, Practical
from uhebo_experiments.table import Record

OURS = "uhebo"
OPTUNA = (OURS, "optuna-gp", "optuna-tpe", "random")
GROUPS: dict[str, tuple[dict[str, Practical], tuple[str, ...]]] = {
    "constrained": (CONSTRAINED, (*OPTUNA, "botorch")),
    "conditional": (CONDITIONAL, (*OPTUNA, "smac3")),
    "penalties": (BOWLS, OPTUNA),
    "failing": (FAILING, OPTUNA),
    "many": (MANY, OPTUNA),
}
"""Group -> its problems and who is compared on them."""
CASES = {name: case for cases, _ in GROUPS.values() for name, case in cases.items()}
DIGITS = 12
"""Of a value in the records."""
COSTS = (20, 60)
"""Numbers of points at which a suggestion is timed with two constraints and without."""
COSTLY = (OURS, "optuna-gp")
TIMED = 6
"""Suggestions in a row on a set of points, the first of which is not counted."""


@dataclass(frozen=True)
class Run:
    """A library on a problem at a seed."""

    entry: str
    problem: str
    seed: int


@dataclass(frozen=True)
class Cost:
    """Suggestions with two constraints and without, at so many points."""

    entry: str
    points: int
    seed: int


@single_threaded
@muted()
def run(cell: Run) -> list[Record]:
    """One record per trial: its value, whether it is infeasible or failed, and CPU seconds of ask + tell.

    An error of another library ends its run and not the comparison; the last record says what happened.
    """
    case = CASES[cell.problem]
    entry = ENTRIES[cell.entry](case, cell.seed)
    records: list[Record] = []
    for _ in range(case.trials):
        start = time.process_time()
        try:
            params = entry.ask()
            asked = time.process_time() - start
            found = case.evaluate(params)
            start = time.process_time()
            entry.tell(params, found)
        except Exception as error:
            if cell.entry == OURS or not records:
                raise
            records[-1]["error"] = f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
            break
        seconds = round(asked + time.process_time() - start, 4)
        records.append({**_outcome(found), "seconds": seconds, **({"role": r} if (r := entry.role) else {})})
    records[0]["version"] = version(cell.entry)
    return records


def _outcome(found: Evaluation) -> Record:
    if found.value is None:
        return {"failed": True}
    value = float(f"{found.value:.{DIGITS}g}")
    return {"value": value} if found.feasible else {"value": value, "infeasible": True}


@single_threaded
@muted()
def run_cost(cell: Cost) -> list[Record]:
    """CPU seconds of ask + tell on `rosen-suzuki` under its first two constraints and under none, turn by turn."""
    case = CONSTRAINED["rosen-suzuki"]
    entries = [ENTRIES[cell.entry](replace(case, trials=2 * cell.points), cell.seed) for _ in range(2)]
    took: tuple[list[float], list[float]] = ([], [])
    rng = np.random.default_rng([cell.seed, 2])
    for row in rng.random((cell.points, len(case.space))):
        params = case.decode(row)
        for entry, count in zip(entries, (2, 0), strict=True):
            assert isinstance(entry, OptunaEntry)
            entry.add(params, _some(case.evaluate(params), count))
    for _ in range(TIMED):
        for entry, count, seconds in zip(entries, (2, 0), took, strict=True):
            start = time.process_time()
            asked = entry.ask()
            entry.tell(asked, _some(case.evaluate(asked), count))
            seconds.append(time.process_time() - start)
    constrained, plain = (float(np.mean(seconds[1:])) for seconds in took)
    return [{"constrained": constrained, "plain": plain, "version": version(cell.entry)}]


def _some(found: Evaluation, constraints: int) -> Evaluation:
    return Evaluation(found.value, found.constraints[:constraints])


def plan(seeds: int, entries: Iterable[str] | None = None, problems: Iterable[str] | None = None) -> list[Run]:
    """Cells of the comparison, seed by seed, so that all that is stopped early has as many seeds everywhere."""
    for name, known, given in (("entry", ENTRIES, entries), ("problem", CASES, problems)):
        if unknown := [one for one in given or () if one not in known]:
            raise InvalidInputError(f"unknown {name} {unknown[0]!r}; choose among {', '.join(known)}")
    return [
        Run(entry, name, seed)
        for seed in range(seeds)
        for cases, of_group in GROUPS.values()
        for name in cases
        for entry in of_group
        if (entries is None or entry in entries) and (problems is None or name in problems)
    ]
