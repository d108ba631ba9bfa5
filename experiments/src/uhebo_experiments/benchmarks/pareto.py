"""Several objectives: uhebo beside other libraries, every one at its defaults; the command is `uhebo bench pareto`.

Runs what is missing, seed by seed, and writes the page and its figures. Finished runs are kept, so it can be stopped
and goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from uhebo_experiments.benchmarks.common import days, ended_early, entry_versions
from uhebo_experiments.benchmarks.pareto_board import (
    Board,
    aims,
    board,
    missing_rows,
    rank_rows,
    seed_rows,
    time_ratios,
    time_rows,
)
from uhebo_experiments.benchmarks.pareto_runs import (
    AFTER,
    RIVAL,
    SIZES,
    START,
    TIMED_ON,
    TRIALS,
    Clock,
    plan,
    run,
    run_clock,
)
from uhebo_experiments.benchmarks.real_runs import OURS
from uhebo_experiments.page import Page
from uhebo_experiments.peers.several import ENTRIES
from uhebo_experiments.problems.several import SEVERAL
from uhebo_experiments.runner import compute
from uhebo_experiments.style import png_inches, pyplot, save
from uhebo_experiments.table import CLOCK, RUNS, Table

SEEDS = 20
CLOCK_SEEDS = 3
LOOK: dict[str, tuple[str, str, Any]] = {
    OURS: ("uhebo", "#0072B2", "-"),
    "optuna-gp": ("GPSampler", "#D55E00", "--"),
    "optuna-nsga2": ("NSGA-II", "#CC79A7", (0, (3, 1))),
    "optuna-tpe": ("TPE", "#E69F00", "-."),
    "botorch": ("BoTorch qLogNEHVI", "#009E73", (0, (4, 1, 1, 1, 1, 1))),
}
"""Library -> its name in print, colour, dashes."""
COLUMNS = 3
SMALLEST = 1e-4
"""Share missing at which curves are cut off: some of the largest hypervolumes are known to four digits only."""


def write(folder: Path) -> Path:
    """The page and its figures from the records in a folder."""
    runs, clock = list(Table(folder / RUNS)), list(Table(folder / CLOCK))
    seen, ratios = board(runs), time_ratios(clock)
    page = Page("Several objectives: uhebo beside other libraries")
    page.text(
        f"Made by `uhebo bench pareto` from runs of {days((*runs, *clock))}. Versions: "
        f"{entry_versions(runs)}. {TRIALS} evaluations: {START} to start with and {AFTER} after them. Every library "
        "runs at its defaults with its own start-up points, which count; uhebo is told the number of trials, and "
        "nobody the reference point."
    )
    page.table(*seed_rows(seen), section="seeds")
    page.heading("What was to be reached")
    page.table(*aims(seen, ratios), section="aims")
    page.heading("Mean rank")
    page.text(
        "Rank of a run's hypervolume among one run of each other library, expected over all pairs of runs; 1 is best. "
        "Hypervolumes are those of the feasible points evaluated, by their values without noise."
    )
    page.table(*rank_rows(seen), section="ranks")
    page.heading("Hypervolume that is missing")
    page.text(
        "Per cent of the true front's hypervolume that is not covered at the end: median over seeds (mean ± s.e.). A + "
        f"marks a library that {OURS} is significantly better than, a - one that is better (test of Mann and Whitney, "
        "5 %, not corrected for the number of tests). Of `trees` the true front is not known; that of all points in "
        "the records counts as it."
    )
    page.table(*missing_rows(seen), section="missing")
    drawn = draw(seen, folder)
    caption = f"Share of the hypervolume not covered yet, median over seeds; below {SMALLEST:g} it is cut off."
    page.figure(drawn.name, "Hypervolume by trial", caption, png_inches(drawn))
    page.heading("Time of a suggestion")
    page.text(
        f"CPU milliseconds of ask + tell on {TIMED_ON} with so many uniform points told, both in one process: "
        "medians over seeds. The first suggestion is not counted."
    )
    page.table(*time_rows(clock), section="seconds")
    page.heading("The problems")
    page.table(["problem", "parameters", "objectives", "reference point", "what it is"], problem_rows())
    for (entry, name), one in seen.items():
        for sentence in ended_early(entry, name, one.errors, len(one.final)):
            page.text(sentence)
    return page.write(folder, "pareto")


def problem_rows() -> list[list[str]]:
    return [
        [name, str(len(case.space)), str(case.objectives), ", ".join(f"{r:g}" for r in case.reference), case.about]
        for name, case in SEVERAL.items()
    ]


def draw(seen: Board, folder: Path) -> Path:
    """A panel per problem: the median over seeds of what is missing."""
    rows = -(-len(SEVERAL) // COLUMNS)
    with pyplot() as make:
        figure, axes = make(8.0, 2.1 * rows, rows, COLUMNS)
        handles: dict[str, Any] = {}
        for axis, name in zip(axes.flat, SEVERAL, strict=False):
            for entry in ENTRIES:
                if (entry, name) in seen:
                    label, colour, dashes = LOOK[entry]
                    middle = np.maximum(np.median(seen[entry, name].missing, axis=0), SMALLEST)
                    (handles[label],) = axis.plot(
                        np.arange(1, TRIALS + 1), middle, color=colour, linestyle=dashes, label=label
                    )
            axis.set(title=name, yscale="log", xlim=(1, TRIALS))
        for axis in axes[:, 0]:
            axis.set_ylabel("share missing")
        for axis in axes[-1]:
            axis.set_xlabel("trial")
        if handles:
            figure.legend(handles.values(), handles, loc="outside lower center", ncols=len(handles))
        return save(figure, folder, "pareto")


def compare_pareto(
    folder: Path,
    *,
    seeds: int = SEEDS,
    entries: Sequence[str] | None = None,
    problems: Sequence[str] | None = None,
    jobs: int = 1,
    progress: bool = True,
) -> Path:
    """Run what is missing and write the page; returns it."""
    cells = plan(seeds, entries, problems)
    compute(cells, Table(folder / RUNS), run, jobs=jobs, progress=progress, label="runs")
    if problems is None and (entries is None or {OURS, RIVAL} <= set(entries)):
        timed = [Clock(n, s) for s in range(min(seeds, CLOCK_SEEDS)) for n in SIZES]
        # One at a time: seconds taken side by side would be those of a loaded machine.
        compute(timed, Table(folder / CLOCK), run_clock, jobs=1, progress=progress, label="seconds")
    return write(folder)
