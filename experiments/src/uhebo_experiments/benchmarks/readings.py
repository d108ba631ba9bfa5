"""Which reading of the consistent loss UHE-BO should have: the paper's functions without noise, and with it.

    python -m uhebo_experiments.benchmarks.readings [--seeds 20] [--budget 50] [--jobs -1] [--out results/readings]

Final simple regret (of the best point evaluated, by its value without noise) of `uhe` under each reading, and of `map`;
noise has a deviation of 5 % or 10 % of the function's range. Seed by seed against MAP: better or worse where the
bootstrap interval of the mean and Wilcoxon's test agree. The last table has the mean rank of the four over problems and
seeds, by noise. Finished runs are kept; what is missing at a seed leaves that seed out everywhere.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from uhebo.estimate import READINGS
from uhebo.types import Array
from uhebo_experiments.benchmarks.common import heading, table
from uhebo_experiments.cells import Cell
from uhebo_experiments.paired import compare
from uhebo_experiments.reproduce.curves import curves
from uhebo_experiments.reproduce.plan import SYNTHETIC
from uhebo_experiments.runner import run
from uhebo_experiments.table import RUNS, Record, Table

NOISES = ("", "~0.05", "~0.1")
"""Suffixes of a problem's name: no noise, and noise as a share of its range."""
RIVAL = "map"
ENTRIES = (*READINGS, RIVAL)


def cell(problem: str, entry: str, seed: int, budget: int) -> Cell:
    """MAP, or UHE-BO under a reading."""
    if entry == RIVAL:
        return Cell(problem, RIVAL, seed, budget)
    return Cell(problem, "uhe", seed, budget, None, (("reading", entry),))


def plan(seeds: int, budget: int) -> list[Cell]:
    """Seeds come first: what is there after a while is fair to all."""
    names = [name + noise for noise in NOISES for name in SYNTHETIC]
    return [cell(name, entry, seed, budget) for seed in range(seeds) for name in names for entry in ENTRIES]


def finals(results: Mapping[Cell, list[Record]], seeds: Sequence[int], budget: int) -> dict[tuple[str, str], Array]:
    """(problem, entry) -> final regret by seed."""
    names = [name + noise for noise in NOISES for name in SYNTHETIC]
    found: dict[tuple[str, str], Array] = {}
    for name in names:
        for entry in ENTRIES:
            cells = [cell(name, entry, seed, budget) for seed in seeds]
            ((curve,)) = curves({c: results[c] for c in cells}, cells).values()
            found[name, entry] = curve.final
    return found


def tables(found: Mapping[tuple[str, str], Array]) -> str:
    """Regret by noise and problem, and mean ranks."""
    made = []
    for noise in NOISES:
        label = f"noise of {float(noise[1:]):.0%} of the range" if noise else "no noise"
        rows = []
        for entry in ENTRIES:
            row = [f"`uhe`, {entry}" if entry != RIVAL else "`map`"]
            for name in SYNTHETIC:
                ours, theirs = found[name + noise, entry], found[name + noise, RIVAL]
                mark = "" if entry == RIVAL else {"better": " +", "worse": " -"}.get(compare(ours, theirs).outcome, "")
                row.append(f"{np.mean(ours):.2g} (median {np.median(ours):.2g}){mark}")
            rows.append(row)
        made.append(table([label, *SYNTHETIC], rows))
    rows = []
    for entry in ENTRIES:
        row = [f"`uhe`, {entry}" if entry != RIVAL else "`map`"]
        for noise in NOISES:
            ranks = [rankdata([found[name + noise, e] for e in ENTRIES], axis=0) for name in SYNTHETIC]
            of_entry = np.mean(ranks, axis=0)[ENTRIES.index(entry)]
            row.append(f"{of_entry.mean():.2f} ± {of_entry.std(ddof=1) / np.sqrt(len(of_entry)):.2f}")
        rows.append(row)
    made.append(table(["mean rank of four (1 is best)", "no noise", "5 %", "10 %"], rows))
    return "\n".join(made)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--budget", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--out", type=Path, default=Path("results/readings"))
    parser.add_argument("--so-far", action="store_true", help="run nothing, judge the seeds that are complete")
    options = parser.parse_args()
    store, cells = Table(options.out / RUNS), plan(options.seeds, options.budget)
    if options.so_far:
        results = {c: records for c in cells if (records := store.records(c)) is not None}
    else:
        results = run(cells, store, jobs=options.jobs, label="runs")
    seeds = [s for s in range(options.seeds) if all(c in results for c in cells if c.seed == s)]
    title = f"Final regret of UHE-BO by reading, T = {options.budget}, {len(seeds)} seeds"
    text = heading(title, ("optuna",)) + "\n" + tables(finals(results, seeds, options.budget))
    print(text)
    (options.out / "readings.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
