"""What is read off the records: simple regret after each iteration, and the CPU seconds of the suggestions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from uhebo.types import Array
from uhebo_experiments.cells import Cell
from uhebo_experiments.problems import problem
from uhebo_experiments.table import Record

Results = Mapping[Cell, list[Record]]


@dataclass(frozen=True)
class Curves:
    """Simple regret of one method on one problem: (seeds, 1 + T), column 0 after the initial design."""

    seeds: tuple[int, ...]
    regret: Array
    seconds: Array
    """CPU seconds a run spent on its suggestions after the initial design, (seeds,)."""

    @property
    def final(self) -> Array:
        return np.asarray(self.regret[:, -1])

    def mean(self) -> Array:
        return np.asarray(self.regret.mean(axis=0))

    def error(self) -> Array:
        """Standard error of the mean; 0 for a single seed."""
        count = len(self.seeds)
        return np.asarray(self.regret.std(axis=0, ddof=1) / np.sqrt(count)) if count > 1 else 0.0 * self.regret[0]


def references(results: Results) -> dict[str, float]:
    """Best value of each problem: its known optimum, else the best that any of these runs has seen."""
    best: dict[str, float] = {}
    for cell, records in results.items():
        best[cell.problem] = max(best.get(cell.problem, -np.inf), records[-1]["incumbent"])
    known = {name: problem(name).optimum for name in best if not name.startswith("gp-")}
    return {name: value if known.get(name) is None else float(known[name] or 0.0) for name, value in best.items()}


def curves(results: Results, cells: Iterable[Cell]) -> dict[tuple[str, str], Curves]:
    """(problem, method) -> its curves, over the given cells; sample paths are measured against their own maxima."""
    best = references(results)
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in dict.fromkeys(cells):
        groups.setdefault((cell.problem, cell.method), []).append(cell)
    return {key: _curves(results, sorted(group, key=lambda c: c.seed), best) for key, group in groups.items()}


def _curves(results: Results, group: list[Cell], best: Mapping[str, float]) -> Curves:
    regrets, seconds = [], []
    for cell in group:
        records = results[cell]
        reference = best[cell.problem]
        if cell.problem.startswith("gp-"):
            optimum = problem(cell.problem, seed=cell.seed).optimum
            reference = reference if optimum is None else optimum
        start = sum(record["t"] == 0 for record in records)
        incumbents = np.array([record["incumbent"] for record in records[max(start - 1, 0) :]])
        regrets.append(np.maximum(reference - incumbents, 0.0))
        seconds.append(sum(record["seconds"] for record in records[start:]))
    return Curves(tuple(cell.seed for cell in group), np.array(regrets), np.array(seconds))
