"""`uhebo bench peers`: run what is missing, and write figure, tables and page."""

from __future__ import annotations

import datetime
import importlib.util
from pathlib import Path

from uhebo.errors import InvalidInputError
from uhebo.experiments.cells import Record
from uhebo.experiments.page import Page
from uhebo.experiments.peer_runs import MANY_POINTS, ClockCell, PeerCell, run_clock, run_peer
from uhebo.experiments.peers import PEERS
from uhebo.experiments.ranking import OURS, Board, board_rows, clock_rows, draw_board
from uhebo.experiments.runner import compute
from uhebo.experiments.sets import problem_set
from uhebo.experiments.style import png_inches

MODULES = {
    "optuna-cma": "cmaes",
    "botorch-logei": "botorch",
    "botorch-qlognei": "botorch",
    "optuna-gp": "torch",
    "bayes-opt": "bayes_opt",
    "scikit-optimize": "skopt",
    "smac3": "smac",
}
"""What a library needs besides Optuna."""
SLOW_S = 5.0
"""A library that takes longer than this for a suggestion is not timed with more points."""


def installed() -> tuple[str, ...]:
    """Libraries that can run here."""
    return tuple(name for name in PEERS if name not in MODULES or importlib.util.find_spec(MODULES[name]) is not None)


def positive_sizes(text: str) -> tuple[int, ...]:
    """The numbers of a comma-separated list."""
    try:
        sizes = tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise InvalidInputError(f"--sizes is {text!r}; expected numbers separated by commas, such as 20,200") from error
    if any(size < 1 for size in sizes):
        raise InvalidInputError(f"--sizes is {text!r}; expected numbers of at least 1")
    return sizes


def compare_peers(
    set_name: str,
    libraries: tuple[str, ...],
    *,
    seeds: int,
    budget: int,
    sizes: tuple[int, ...],
    jobs: int,
    folder: Path,
    progress: bool = True,
) -> Path:
    """Records under `cells/`, the figure, and `peers.md` / `peers.html`; returns the latter."""
    names = problem_set(set_name)
    for name in libraries:
        if name not in PEERS:
            raise InvalidInputError(f"unknown library {name!r}; choose among {', '.join(PEERS)}")
    cells = [PeerCell(library, name, seed, budget) for seed in range(seeds) for name in names for library in libraries]
    results = compute(cells, folder / "cells", run_peer, jobs=jobs, progress=progress, label="runs")
    clock: dict[ClockCell, list[Record]] = {}
    timed = libraries
    for n in sorted(sizes):
        # One at a time: seconds taken side by side would be those of a loaded machine.
        cells_n = [ClockCell(library, n) for library in timed]
        found = compute(cells_n, folder / "cells", run_clock, jobs=1, progress=progress, label=f"seconds, n = {n}")
        clock |= found
        timed = tuple(cell.library for cell in cells_n if found[cell][0]["seconds"] <= SLOW_S)
    board = Board.of(results)
    drawn = draw_board(board, clock, folder)
    page = Page(f"uhebo beside other libraries: the set “{set_name}”")
    versions = sorted({f"{cell.library} {records[0]['version']}" for cell, records in results.items()})
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    page.text(
        f"Made by `uhebo bench peers --set {set_name} --seeds {seeds} --budget {budget}` on {today}. Versions: "
        f"{', '.join(versions)}. {seeds} seeds; T = {budget} evaluations after 3d uniform points told to all; one "
        "thread; each library at its defaults."
    )
    page.figure(
        drawn.name,
        "Peers",
        "Left: mean rank ± s.e. over problems. Middle: log regret, scaled for each problem so that the initial design "
        "is at 1 and the best library's end at 0. Right: CPU seconds.",
        png_inches(drawn),
    )
    page.heading("log10 of the final regret, mean ± s.e.")
    page.text(
        "Against the known optimum, else the best value any library has seen (a run that reached it counts with the "
        f"smallest gap seen). A + marks a problem on which {OURS} is better than the library, a - one on which it is "
        "worse: Wilcoxon's test on log regret paired by seed, 5 %, not corrected for the number of tests."
    )
    page.table(*board_rows(board), section="regret")
    page.heading("CPU seconds for ask + tell with n points told (Hartmann6)")
    page.text(
        "Median of three in a row on each of four sets of points (on one set from "
        f"{MANY_POINTS:,} points on). Not timed with more points: a library that took more than {SLOW_S:g} s."
    )
    page.table(*clock_rows(clock, libraries), section="seconds")
    if OURS not in libraries:
        page.text(f"`{OURS}` itself was not among the libraries compared.")
    return page.write(folder, "peers")
