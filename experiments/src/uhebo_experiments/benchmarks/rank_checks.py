"""Does the ranking of the comparison depend on how it was made? Its mean ranks, worked out in other ways.

    python -m uhebo_experiments.benchmarks.rank_checks [--results results/peers]

From the committed runs on the reporting set (needs no library but uhebo): as it is reported; without the three
functions on which there were runs of other libraries before the default was chosen, and without their noisy forms;
with all entries ranked in one pool; and by the median over seeds, that is, the rank of each library's median regret on
a problem instead of its mean rank over seeds. In brackets the p-value of Wilcoxon's test against uhebo, over problems,
not corrected.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from uhebo.types import Array
from uhebo_experiments.benchmarks.common import heading, table
from uhebo_experiments.peers.libraries import PEERS
from uhebo_experiments.peers.ranking import OURS, Board
from uhebo_experiments.peers.runs import PeerCell, run_peer
from uhebo_experiments.problems.sets import REPORTING
from uhebo_experiments.runner import compute
from uhebo_experiments.table import RUNS, Table

SEEN_BEFORE = ("hartmann6", "levy-4d", "ackley-5d")
"""In results/peers-earlier.csv, which is older than the choice."""


class OnePool(Board):
    """All entries among each other, several of ours included."""

    def ranks(self) -> dict[str, Array]:
        final = np.array([[self.regret[where, name][:, -1] for where in self.problems] for name in self.libraries])
        return dict(zip(self.libraries, rankdata(final, axis=0).mean(axis=2), strict=True))


def unseen(board: Board) -> Board:
    return replace(board, problems=tuple(name for name in board.problems if name.partition("~")[0] not in SEEN_BEFORE))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("results/peers"))
    options = parser.parse_args()
    cells = [PeerCell(library, name, seed, 50) for seed in range(10) for name in REPORTING for library in PEERS]
    board = Board.of(compute(cells, Table(options.results / RUNS), run_peer, jobs=1, label="runs"))
    ways = {
        "as reported": board,
        f"without {', '.join(SEEN_BEFORE)}": unseen(board),
        "one pool": OnePool(board.problems, board.libraries, board.regret),
        "median over seeds": board.medians(),
    }
    ranks = {way: by.mean_rank() for way, by in ways.items()}
    rows = []
    for name in sorted(board.libraries, key=lambda name: ranks["as reported"][name][0]):
        p = {way: "" if name == OURS else f" ({by.behind(name)[2]:.2g})" for way, by in ways.items()}
        rows.append([name, *(f"{ranks[way][name][0]:.2f}{p[way]}" for way in ways)])
    print(
        heading("Mean rank on the reporting set, in other ways", ("optuna",)), table(["library", *ways], rows), sep="\n"
    )


if __name__ == "__main__":
    main()
