"""The default on the problems whose global peak is easily missed, and on two smooth ones.

    python -m uhebo_experiments.benchmarks.peaks [--libraries uhebo] [--seeds 20] [--budget 50] [--out results/peaks]

Mean ± standard error of the final regret, and in how many runs the global peak was found: a regret below 0.15 on
Deceptive and 0.1 on h1. Same harness and initial design as `uhebo bench peers`; finished runs are kept. These problems
are in the tuning set: they say what the default was chosen to do, not how it does elsewhere.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from uhebo_experiments.benchmarks.common import heading, table
from uhebo_experiments.peers.ranking import Board
from uhebo_experiments.peers.runs import PeerCell, run_peer
from uhebo_experiments.runner import compute
from uhebo_experiments.table import RUNS, Table

PEAKS = {"branin": None, "hartmann3": None, "deceptive": 0.15, "h1": 0.1}
"""Problem -> regret below which the global peak was found."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", nargs="+", default=["uhebo"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--budget", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--out", type=Path, default=Path("results/peaks"))
    options = parser.parse_args()
    cells = [
        PeerCell(library, name, seed, options.budget)
        for seed in range(options.seeds)
        for name in PEAKS
        for library in options.libraries
    ]
    board = Board.of(compute(cells, Table(options.out / RUNS), run_peer, jobs=options.jobs, label="runs"))
    rows = []
    for library in options.libraries:
        row = [library]
        for name, found in PEAKS.items():
            final = board.regret[name, library][:, -1]
            hits = "" if found is None else f" ({np.sum(final < found)}/{len(final)})"
            row.append(f"{final.mean():.2g} ± {final.std(ddof=1) / np.sqrt(len(final)):.1g}{hits}")
        rows.append(row)
    print(heading(f"Regret at T = {options.budget}, seeds 0-{options.seeds - 1} (runs on the peak)", ("optuna",)))
    print(table(["library", *PEAKS], rows))


if __name__ == "__main__":
    main()
