"""`uhebo bench hyperparameters`: run what is missing, and write the page and its figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from uhebo.errors import InvalidInputError
from uhebo_experiments.arena.board import Board, problem_rows, rows, time_aim, verdict
from uhebo_experiments.arena.figure import draw
from uhebo_experiments.arena.runs import (
    BASELINE,
    BUDGET,
    MISLEADING,
    RIGHT,
    TIMED_AT,
    TIMED_ON,
    Pace,
    known,
    plan,
    run_bout,
    run_pace,
)
from uhebo_experiments.benchmarks.common import days
from uhebo_experiments.page import Page
from uhebo_experiments.problems import problem
from uhebo_experiments.runner import compute
from uhebo_experiments.style import png_inches
from uhebo_experiments.table import CLOCK, RUNS, Table

SEEDS = 20
PACES = 3
"""Sets of points on which suggestions are timed."""


def compete(
    folder: Path | str,
    *,
    seeds: int = SEEDS,
    methods: Sequence[str] | None = None,
    problems: Sequence[str] = (*RIGHT, *MISLEADING),
    budget: int = BUDGET,
    jobs: int = -1,
    progress: bool = True,
) -> Path:
    """Run every method (or those named) on every problem, keep what is finished, write the page; returns it.

    Earlier results in the folder stay on the page, so use another folder for another `budget`.
    """
    folder, chosen = Path(folder), known(methods)
    if unknown := [name for name in problems if name not in (*RIGHT, *MISLEADING)]:
        raise InvalidInputError(f"unknown problem {unknown[0]!r}; the arena has {', '.join((*RIGHT, *MISLEADING))}")
    cells = plan(seeds, chosen, problems, budget)
    compute(cells, Table(folder / RUNS), run_bout, jobs=jobs, progress=progress, label="runs")
    paces = [Pace(method, seed) for seed in range(min(seeds, PACES)) for method in chosen]
    # One at a time: seconds taken side by side would be those of a loaded machine.
    compute(paces, Table(folder / CLOCK), run_pace, jobs=1, progress=progress, label="seconds")
    return write(folder)


def read_board(folder: Path | str) -> Board:
    """Read the arena's records in a folder."""
    return Board.of(Table(Path(folder) / RUNS), Table(Path(folder) / CLOCK))


def write(folder: Path) -> Path:
    """The page and its figure from the records in a folder."""
    runs = list(Table(folder / RUNS))
    board = read_board(folder)
    page = Page("Unknown hyperparameters: every method where the prior is right, and where it misleads")
    counts = sorted({len(by_seed) for by_seed in board.shares.values()})
    seeds = "no" if not counts else "-".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    budgets = sorted({cell["budget"] for cell, _ in runs})
    versions = sorted({cell["versions"]["uhebo"] for cell, _ in runs})
    page.text(
        f"Made by `uhebo bench hyperparameters` from runs of {days(runs)}, uhebo {', '.join(versions)}. {seeds} seeds, "
        f"T = {', '.join(map(str, budgets))} iterations after 3d points, each method at its defaults. All share the "
        "initial design of a seed, but `auto`, which has its own."
    )
    drawn = draw(board, folder)
    caption = (
        "Mean over problems of the simple regret after the last iteration, as a share of the mean regret of the "
        "initial designs, with 95 % bootstrap intervals over seeds. Left of and below the dotted lines a method is "
        "better than MAP."
    )
    page.figure(drawn.name, "The arena", caption, png_inches(drawn))
    page.heading("Regret that is left")
    page.text(
        f"The same in numbers. Beside MAP: better or worse where the bootstrap interval of the mean difference and "
        "Wilcoxon's test, paired by seed, agree at 5 % (not corrected for the number of methods). Time: CPU seconds of "
        f"a suggestion by the model with {TIMED_AT} points told, in units of MAP's in the same process."
    )
    page.table(*rows(board), section="methods")
    page.table(*time_aim(board), section="time")
    page.heading("By problem")
    page.text("Mean over seeds of the share of regret that is left; the prior is right in the first three.")
    page.table(*problem_rows(board), section="problems")
    page.heading("In words")
    for method in board.complete():
        if method != BASELINE:
            page.text(verdict(board, method))
    page.heading("The problems")
    page.table(["problem", "parameters", "side", "what it is"], _described())
    page.text(f"Suggestions are timed on {TIMED_ON}.")
    return page.write(folder, "hyperparameters")


def _described() -> list[list[str]]:
    made = []
    for side, names in (("right", RIGHT), ("misleads", MISLEADING)):
        for name in names:
            case = problem(name)
            about = case.about.replace("sample path 0", "sample paths")
            made.append([name, str(case.dimension), side, about])
    return made
