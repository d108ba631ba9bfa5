"""`uhebo bench peers`: run what is missing, and write figure, tables and page."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from uhebo.errors import InvalidInputError
from uhebo_experiments.page import Page
from uhebo_experiments.peers.libraries import PEERS
from uhebo_experiments.peers.ranking import OURS, Board, clock_rows, draw_board, part_rows, rank_rows, regret_rows
from uhebo_experiments.peers.runs import ENOUGH_S, MANY_POINTS, ClockCell, PeerCell, run_clock, run_peer
from uhebo_experiments.problems.sets import problem_set
from uhebo_experiments.runner import compute
from uhebo_experiments.style import png_inches
from uhebo_experiments.table import CLOCK, RUNS, Record, Table, Task

MODULES = {
    "optuna-cma": "cmaes",
    "botorch-logei": "botorch",
    "botorch-qlognei": "botorch",
    "optuna-gp": "torch",
    "optuna-gp-det": "torch",
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
    """Tables of records, the figure, and `peers.md` / `peers.html`; returns the latter."""
    names = problem_set(set_name)
    for name in libraries:
        if name not in PEERS:
            raise InvalidInputError(f"unknown library {name!r}; choose among {', '.join(PEERS)}")
    cells = [PeerCell(library, name, seed, budget) for seed in range(seeds) for name in names for library in libraries]
    runs, timings = Table(folder / RUNS), Table(folder / CLOCK)
    results = compute(cells, runs, run_peer, jobs=jobs, progress=progress, label="runs")
    clock: dict[ClockCell, list[Record]] = {}
    timed = libraries
    for n in sorted(sizes):
        # One at a time: seconds taken side by side would be those of a loaded machine.
        cells_n = [ClockCell(library, n) for library in timed]
        found = compute(cells_n, timings, run_clock, jobs=1, progress=progress, label=f"seconds, n = {n}")
        clock |= found
        timed = tuple(cell.library for cell in cells_n if found[cell][0]["seconds"] <= SLOW_S)
    board = Board.of(results)
    drawn = draw_board(board, clock, folder)
    page = Page(f"uhebo beside other libraries: the set “{set_name}”")
    versions = sorted({f"{cell.library} {records[0]['version']}" for cell, records in results.items()})
    page.text(
        f"Made by `uhebo bench peers --set {set_name} --seeds {seeds} --budget {budget}` from runs of "
        f"{_days([*_headers(runs, results), *_headers(timings, clock)])}. "
        f"Versions: {', '.join(versions)}. {seeds} seeds; T = {budget} "
        "evaluations after 3d uniform points told to all; one thread."
    )
    page.text(
        "Each library runs at its defaults with its own random start switched off. Exceptions: `uhebo` is told the "
        "number of trials, as our users are asked to (`uhebo-open` is not); SMAC3 is its `BlackBoxFacade`, told "
        "`deterministic=True` everywhere (it evaluates no point twice); BoTorch is never told that values are exact; "
        "`optuna-gp-det` is told `deterministic_objective=True` where there is no noise; bayesian-optimization may "
        "repeat a point; CMA-ES takes its starting point alone from the initial design; BoTorch and "
        "bayesian-optimization see integers and categories relaxed to the unit cube."
    )
    page.figure(
        drawn.name,
        "Peers",
        "Left: mean rank ± s.e. over problems, each method of ours alone among the other libraries. Middle: log "
        "regret, scaled for each problem so that the initial design is at 1 and the best library's end at 0. Right: "
        "CPU seconds (mean, without the first).",
        png_inches(drawn),
    )
    page.heading("Mean rank of the final regret ± s.e.")
    page.text(
        "1 is best. Means over seeds and problems, each method of ours alone among the other libraries; errors and p "
        "(Wilcoxon's test on the difference; corrected for the number of other libraries by Holm's method) are over "
        "problems. By medians: the mean over problems of the rank of each library's median regret over seeds. The last "
        "column counts problems on which a test over "
        f"seeds finds {OURS} better than the library, cannot tell, or finds it worse (+, no mark and - below)."
    )
    page.table(*rank_rows(board), section="ranks")
    page.text("The same on parts of the set, with the number of problems:")
    page.table(*part_rows(board), section="parts")
    page.heading("log10 of the final regret, mean ± s.e.")
    page.text(
        "Of the best point evaluated, by its value without noise, which on noisy problems (~) no user would know. "
        "Against the known optimum, else the best value any library has seen (a run that reached it counts with half "
        "the smallest gap seen). "
        f"A + marks a problem on which {OURS} is better than the library, a - one on which it is "
        "worse: Wilcoxon's test on log regret paired by seed, 5 %, not corrected for the number of tests."
    )
    page.table(*regret_rows(board), section="regret")
    for line in _errors(results):
        page.text(line)
    page.heading("CPU seconds for ask + tell with n points told (Hartmann6)")
    page.text(
        "Mean of up to four suggestions in a row on each of four sets of points (of up to fourteen on one set from "
        f"{MANY_POINTS:,} points on, where ours does not fit at each); of other libraries fewer, but two at least, "
        f"once a set has taken {ENOUGH_S:g} s. The first suggestion on each set is in the second table: it knows of no "
        f"fit before it. Not timed with more points: a library that took more than {SLOW_S:g} s."
    )
    page.table(*clock_rows(clock, libraries), section="seconds")
    page.heading("The same for the first suggestion")
    page.table(*clock_rows(clock, libraries, "first"), section="first")
    if OURS not in libraries:
        page.text(f"`{OURS}` itself was not among the libraries compared.")
    return page.write(folder, "peers")


def _errors(results: Mapping[PeerCell, list[Record]]) -> list[str]:
    """What ended in an error of the library's own, and counts with the best value it had by then."""
    return [
        f"`{cell.library}` ended early on {cell.problem} (seed {cell.seed}): {records[-1]['error']}"
        for cell, records in results.items()
        if "error" in records[-1]
    ]


def _headers(table: Table, tasks: Iterable[Task]) -> list[Record]:
    return [header for task in tasks if (header := table.header(task)) is not None]


def _days(headers: Sequence[Record]) -> str:
    """The days on which these were run."""
    days = sorted({header["date"] for header in headers})
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
