"""Constraints, failures, penalties, branches, many parameters: uhebo beside other libraries, every one at its defaults.

    python -m uhebo_experiments.benchmarks.real_problems [--seeds 20] [--entries uhebo,optuna-gp] [--problems branches]
        [--jobs 1] [--page] [--out results/real_problems]

Runs what is missing, seed by seed, and writes the page and its figures; `--page` writes from what is there. Finished
runs are kept, so it can be stopped and goes on.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from uhebo_experiments.benchmarks.common import days, ended_early, entry_versions
from uhebo_experiments.benchmarks.real_figures import draw_curves, draw_region
from uhebo_experiments.benchmarks.real_gaps import (
    aims,
    board,
    cost_ratios,
    failing_rows,
    gap_rows,
    lost_rows,
    seed_rows,
)
from uhebo_experiments.benchmarks.real_runs import CASES, COSTLY, COSTS, OURS, Cost, plan, run, run_cost
from uhebo_experiments.page import Page
from uhebo_experiments.peers.ranking import FLOOR
from uhebo_experiments.problems.harsh import COUNTED, START
from uhebo_experiments.runner import compute
from uhebo_experiments.style import png_inches
from uhebo_experiments.table import RUNS, Table

CLOCK = "costs.jsonl.gz"
COST_SEEDS = 5
WORDS = {
    "constrained": "Six problems under outcome constraints (`trial.set_constraint`), 60 trials. SMAC3 has none and is "
    "left out; so is Ax, whose model and acquisition are BoTorch's.",
    "conditional": "Four problems with parameters that only some trials have, 60 trials. SMAC3 is its facade for "
    "hyperparameters, told of the conditions; BoTorch has no model for them.",
    "penalties": "A bowl on the unit square, a fifth of which fails (`raise`) or returns a large number; 40 trials.",
    "failing": "A bowl that fails for x > 0.7, where it is lowest; 25 trials.",
    "many": "Σ (x_i - c_i)² / i over the unit cube, 60 trials, all defaults.",
}


def write(folder: Path) -> Path:
    """The page and its figures from the records in a folder."""
    runs, costs = list(Table(folder / RUNS)), list(Table(folder / CLOCK))
    seen, ratios = board(runs), cost_ratios(costs)
    page = Page("Constraints, failures, penalties, branches: uhebo beside other libraries")
    page.text(
        "Made by `python -m uhebo_experiments.benchmarks.real_problems` from runs of "
        f"{days((*runs, *costs))}. Versions: {entry_versions((*runs, *costs))}. Every library runs at "
        "its defaults with its own start-up points, which count; uhebo is told the number of trials. Seeds:"
    )
    page.table(*seed_rows(seen))
    page.heading("What was to be reached")
    page.table(*aims(seen, ratios), section="aims")
    page.heading("Gap to the optimum")
    page.text(
        "Median over seeds of the best feasible value's distance to the optimum (mean ± s.e. of the seeds with a "
        f"feasible point); smaller than {FLOOR:g} counts as {FLOOR:g}. A + marks a library that {OURS} is "
        "significantly better than, a - one that is better (test of Mann and Whitney, 5 %, not corrected for the "
        "number of tests). `none`: half of the runs had no feasible point."
    )
    for group, words in WORDS.items():
        page.text(words)
        page.table(*gap_rows(seen, group), section=group)
    drawn = draw_curves(seen, folder)
    page.figure(drawn.name, "Gap by trial", "Median over seeds.", png_inches(drawn))
    page.heading("Infeasible trials")
    page.text("Mean number of a run's trials that were infeasible, and the largest, of 60.")
    page.table(*lost_rows(seen), section="infeasible")
    page.heading("The failing region")
    page.text(f"Of the suggestions {START + 1} to {START + COUNTED}, mean number that failed.")
    page.table(*failing_rows(seen), section="failing-suggestions")
    page.heading("What two constraints cost")
    page.text(
        "CPU seconds of ask + tell over those of the same study without constraints, turn by turn in one process."
    )
    rows = [
        [entry, str(points), f"{r.mean():.1f} ± {r.std(ddof=1) / len(r) ** 0.5:.1f}"]
        for (entry, points), r in ratios.items()
        if len(r) > 1
    ]
    page.table(["library", "points", "ratio"], rows, section="cost")
    region = draw_region(folder)
    page.figure(
        region.name,
        "A feasible region found",
        "The problem `gramacy`: values (grey lines), the feasible region (shaded) and its boundary as the model sees "
        "it after 30 trials.",
        png_inches(region),
    )
    page.heading("The problems")
    page.table(["problem", "parameters", "constraints", "what it is"], problem_rows())
    for (entry, name), one in seen.items():
        for sentence in ended_early(entry, name, one.errors, len(one.final)):
            page.text(sentence)
    return page.write(folder, "real_problems")


def problem_rows() -> list[list[str]]:
    return [
        [name, str(len(case.space)), str(len(case.evaluate(case.best).constraints)), case.about]
        for name, case in CASES.items()
    ]


def compare_real(
    folder: Path,
    *,
    seeds: int = 20,
    entries: Sequence[str] | None = None,
    problems: Sequence[str] | None = None,
    jobs: int = 1,
    progress: bool = True,
) -> Path:
    """Run what is missing and write the page; returns it."""
    cells = plan(seeds, entries, problems)
    compute(cells, Table(folder / RUNS), run, jobs=jobs, progress=progress, label="runs")
    if problems is None:
        chosen = [entry for entry in COSTLY if entries is None or entry in entries]
        timed = [Cost(e, n, s) for s in range(min(seeds, COST_SEEDS)) for e in chosen for n in COSTS]
        # One at a time: seconds taken side by side would be those of a loaded machine.
        compute(timed, Table(folder / CLOCK), run_cost, jobs=1, progress=progress, label="costs")
    return write(folder)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--entries", type=lambda text: text.split(","), help="libraries; default all")
    parser.add_argument("--problems", type=lambda text: text.split(","), help="default all")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--page", action="store_true", help="run nothing, write the page from what is there")
    parser.add_argument("--out", type=Path, default=Path("results/real_problems"))
    given = parser.parse_args(arguments)
    page = (
        write(given.out)
        if given.page
        else compare_real(given.out, seeds=given.seeds, entries=given.entries, problems=given.problems, jobs=given.jobs)
    )
    print(f"wrote {page}")


if __name__ == "__main__":
    main()
