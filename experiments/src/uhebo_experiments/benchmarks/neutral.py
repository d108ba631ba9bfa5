"""The neutral report: uhebo beside other libraries, each in its best setting, on problems nothing was chosen on.

    python -m uhebo_experiments.benchmarks.neutral [--families bbob-noisy,models] [--libraries uhebo,optuna-gp]
        [--budgets 30,60,150] [--seeds 10] [--jobs 2] [--out results/neutral]
    python -m uhebo_experiments.benchmarks.neutral --reference     what random points reach on models: once, first
    python -m uhebo_experiments.benchmarks.neutral --page          run nothing, write the page from what is there
    python -m uhebo_experiments.benchmarks.neutral --list          families, their problems, and how many runs there are

Run it once, when the choice is frozen. Finished runs are kept, and the same command goes on where it was stopped. Runs
go seed by seed. A table on the page has the libraries with as many seeds as ours, and a second one all of them at the
seeds that all have: slow libraries may have fewer.

Needs `pip install 'uhebo-experiments[neutral]'`, and for HEBO, which pins old versions of others,
`pip install pymoo disjoint-set && pip install --no-deps HEBO`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from uhebo_experiments.benchmarks.common import days
from uhebo_experiments.benchmarks.neutral_aims import aim_rows
from uhebo_experiments.benchmarks.neutral_board import (
    Group,
    Results,
    board,
    common,
    family_rows,
    lost_rows,
    pooled_rows,
    random_rows,
    score_rows,
    seconds_rows,
    shared_by_most,
)
from uhebo_experiments.benchmarks.neutral_runs import (
    BUDGETS,
    FAMILIES,
    OURS,
    PROTOCOL,
    REFERENCE_POINTS,
    Reference,
    Run,
    budgets_of,
    plan,
    problems_of,
    read_early,
    run,
    run_reference,
)
from uhebo_experiments.page import Page
from uhebo_experiments.peers.neutral import LIBRARIES, PLANNERS
from uhebo_experiments.peers.ranking import Board, regret_rows
from uhebo_experiments.problems.bayesmark import TASKS, TUNED_ON, is_fresh
from uhebo_experiments.runner import compute
from uhebo_experiments.table import RUNS, Record, Table

REFERENCES = "reference.jsonl.gz"
READ_EARLY = {60: (20, 40)}
"""Budget -> numbers of trials after which its runs are read beside its end."""
NOISY = ("bbob-noisy", "noisy")
PUBLISHED = "For orientation, published for the 108 tasks of the original: HEBO 100.1, TuRBO 98.0."


def read_runs(folder: Path) -> tuple[Results, dict[Reference, Record]]:
    """Runs and references of a folder."""
    runs = {
        Run(h["library"], h["family"], h["problem"], h["seed"], h["budget"]): records[0]
        for h, records in Table(folder / RUNS)
    }
    references = {Reference(h["problem"]): records[0] for h, records in Table(folder / REFERENCES)}
    return read_early(runs), references


def write(folder: Path) -> Path:
    """The page from the records in a folder."""
    results, references = read_runs(folder)
    best = {reference.problem: float(record["best"]) for reference, record in references.items()}
    page = Page("The neutral report: uhebo beside other libraries")
    versions = ", ".join(sorted({f"{cell.library} {record['version']}" for cell, record in results.items()}))
    page.text(
        "Made by `python -m uhebo_experiments.benchmarks.neutral` from runs of "
        f"{days([*Table(folder / RUNS), *Table(folder / REFERENCES)])}. Versions: {versions}. Each library is in its "
        "best documented setting for the task (`uhebo_experiments/peers/neutral.py` names them), with its own start, "
        "which counts. Ranks are of the regret of the best point tried, without its noise; 1 is best. p is of "
        "Wilcoxon's test over problems, corrected by Holm's method for the number of other libraries."
    )
    page.text(
        f"Told the number of trials: {', '.join(PLANNERS)}. The others search alike whatever it is, so a long run of "
        "theirs, read early, counts as the shorter one."
    )
    budgets = sorted({cell.budget for cell in results if cell.family != PROTOCOL})
    for budget in budgets:
        _budget(page, results, best, budget)
    if any(cell.family == PROTOCOL for cell in results):
        _scores(page, results, references)
    for line in _errors(results):
        page.text(line)
    page.heading("Every problem")
    page.text(f"log10 of the regret, mean ± s.e.; + where {OURS} is better by a test over seeds, - where it is worse.")
    for budget in budgets:
        _every_problem(page, results, best, budget)
    return page.write(folder, "neutral")


def _scores(page: Page, results: Results, references: Mapping[Reference, Record]) -> None:
    page.heading("bayesmark's score")
    page.text(
        f"100 is the best value known of each task ({REFERENCE_POINTS} random points, a search by TPE as long), 0 the "
        f"median random point. {PUBLISHED}"
    )
    page.table(*score_rows(results, references, TASKS), section="bayesmark")
    page.text(
        f"Tables of models trained on the data {' and '.join(TUNED_ON)} were among the problems on which candidates "
        "for the default were compared. Without their tasks:"
    )
    page.table(*score_rows(results, references, [name for name in TASKS if is_fresh(name)]), section="bayesmark-fresh")
    if missing := [name for name in TASKS if Reference(name) not in references]:
        page.text(f"Without a score, for want of a reference (`--reference`): {len(missing)} of {len(TASKS)} tasks.")


def _budget(page: Page, results: Results, best: dict[str, float], budget: int) -> None:
    families = [name for name in FAMILIES if name != PROTOCOL and common(results, name, budget)[0]]
    ends = {
        name: seen for name in families if (seen := board(results, [Group(name, budget, budget)], best, slow=False))
    }
    page.heading(f"{budget} trials")
    page.text(f"Families: {', '.join(_words(results, name, budget) for name in families)}.")
    if not ends:
        page.text(f"`{OURS}` has not run on a whole family beside another library, so there is nothing to compare.")
        return
    if stages := READ_EARLY.get(budget):
        page.text("What was to be reached:")
        page.table(*aim_rows(results, best, list(ends), budget, (*stages, budget)), section=f"aims-{budget}", wrap=True)
    if len(ends) > 1:
        _together(page, results, best, list(ends), budget)
    _families(page, results, best, list(ends), budget)
    page.text("Against random points:")
    page.table(*random_rows(ends), section=f"random-{budget}")
    page.text("Where we lose: the best library's median regret is less than half of ours; worst first.")
    page.table(*lost_rows(list(ends.values()), _parameters), section=f"lost-{budget}")
    page.text("CPU seconds of ask and tell in a whole run, median over runs; evaluations do not count:")
    page.table(*seconds_rows(results, budget), section=f"seconds-{budget}")


def _together(page: Page, results: Results, best: dict[str, float], families: Sequence[str], budget: int) -> None:
    """Families as one, and by the medians over seeds with p-values of their own: all of them under the libraries that
    have run them with all seeds, then those that most libraries share."""
    wide = shared_by_most(results, families, budget)
    for kind, names, slow in (("", families, False), ("-slow", wide, True)):
        seen = board(results, [Group(name, budget, budget) for name in names], best, slow=slow) if names else None
        if seen is None:
            continue
        page.text(f"Together ({', '.join(names)}; {len(seen.problems)} problems, {_seeds(seen)}):")
        page.table(*pooled_rows(seen), section=f"ranks-{budget}{kind}")
        if seen.seeds[1] > 1:
            page.text("The same by the median run of each library on each problem:")
            page.table(*pooled_rows(seen.medians()), section=f"medians-{budget}{kind}")


def _families(page: Page, results: Results, best: dict[str, float], families: Sequence[str], budget: int) -> None:
    """Mean ranks family by family, also before the end and by what was told; then by medians, then with those of fewer
    seeds."""
    page.text(
        f"Mean ranks family by family, of the best point tried. + where {OURS} is significantly better over the "
        "problems of the family, - where it is worse (Wilcoxon's test at 5 %, corrected by Holm's method)."
    )
    tables: dict[str, dict[str, Board]] = {"": {}, "-medians": {}, "-slow": {}, "-slow-medians": {}}
    for name in families:
        early = [at for at in READ_EARLY.get(budget, ()) if at < budget]
        groups = {f"{name}, after {at}": Group(name, budget, at) for at in (*early, budget)}
        if name in NOISY:
            groups[f"{name}, best as told"] = Group(name, budget, budget, "told")
        for words, group in groups.items():
            for slow, seen in _quick_and_all(results, [group], best):
                label = f"{words} ({_seeds(seen)})"
                tables[slow][label] = seen
                if seen.seeds[1] > 1:
                    tables[f"{slow}-medians"][label] = seen.medians()
    for kind, boards in tables.items():
        if boards:
            page.text({"": "Libraries with all seeds:", "-slow": "With those of fewer seeds:"}.get(kind, "By medians:"))
            page.table(*family_rows(boards), section=f"families-{budget}{kind}")


def _quick_and_all(results: Results, groups: Sequence[Group], best: dict[str, float]) -> list[tuple[str, Board]]:
    """The board of the libraries with all seeds, and under "-slow" the one of all libraries, where it has more."""
    quick, everybody = (board(results, groups, best, slow=slow) for slow in (False, True))
    found = [] if quick is None else [("", quick)]
    if everybody is not None and (quick is None or len(everybody.libraries) > len(quick.libraries)):
        found.append(("-slow", everybody))
    return found


def _every_problem(page: Page, results: Results, best: dict[str, float], budget: int) -> None:
    for name in (name for name in FAMILIES if name != PROTOCOL):
        if seen := board(results, [Group(name, budget, budget)], best, slow=False):
            page.text(f"{name}, {budget} trials, {_seeds(seen)}:")
            page.table(*regret_rows(seen))


def _seeds(seen: Board) -> str:
    fewest, most = seen.seeds
    return f"{fewest} to {most} seeds" if fewest < most else f"{most} seeds" if most > 1 else "1 seed"


def _words(results: Results, family: str, budget: int) -> str:
    libraries, seeds = common(results, family, budget, slow=False)
    absent = [name for name in LIBRARIES if name not in libraries]
    without = f"; fewer seeds, none, or not meant for it: {', '.join(absent)}" if absent else ""
    return f"{family} ({len(problems_of(family))} problems, {len(seeds)} seed{'s' if len(seeds) > 1 else ''}{without})"


def _parameters(where: str) -> str:
    family, _, name = where.partition(" ")
    return str(len(Run(OURS, family, name, 0, 1).task.space))


def _errors(results: Results) -> list[str]:
    """Errors of a library's own; its best value by then counts."""
    found: dict[tuple[str, str, str], int] = {}
    for cell, record in results.items():
        if "error" in record and "early" not in record:
            key = (cell.library, cell.family, record["error"])
            found[key] = found.get(key, 0) + 1
    return [f"`{library}` ended early on {family} in {n} runs: {text}" for (library, family, text), n in found.items()]


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", default=FAMILIES, type=_names, help=f"of {', '.join(FAMILIES)}; default all")
    parser.add_argument("--libraries", default=tuple(LIBRARIES), type=_names, help="default all")
    parser.add_argument("--budgets", default=BUDGETS, type=lambda text: tuple(map(int, text.split(","))))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--reference", action="store_true", help="what random points reach on models, and nothing else")
    parser.add_argument("--page", action="store_true", help="run nothing, write the page from what is there")
    parser.add_argument("--list", action="store_true", help="say what would run")
    parser.add_argument("--out", type=Path, default=Path("results/neutral"))
    given = parser.parse_args(arguments)
    if given.seeds < 1 or any(budget < 1 for budget in given.budgets):
        parser.error("--seeds and --budgets are numbers of at least 1")
    if given.reference:
        compute(
            [Reference(n) for n in TASKS], Table(given.out / REFERENCES), run_reference, jobs=given.jobs, label="tasks"
        )
        return
    if not given.page:
        cells = plan(given.seeds, given.libraries, given.families, given.budgets)
        if given.list:
            for family in given.families:
                of_family = [cell for cell in cells if cell.family == family]
                trials = sum(cell.budget for cell in of_family)
                print(f"{family}: {len(of_family)} runs, {trials} trials, budgets {budgets_of(family, given.budgets)}")
                print(f"    {', '.join(problems_of(family))}")
            return
        compute(cells, Table(given.out / RUNS), run, jobs=given.jobs, label="runs")
    print(f"wrote {write(given.out)}")


if __name__ == "__main__":
    main()
