"""What each ingredient of `auto` is worth: leave one out, and run the problems it was chosen on.

    python -m uhebo_experiments.benchmarks.ablation [--seeds 10] [--budget 50] [--jobs -1] [--out results/ablation]
        [--lost]

With `--lost` it is the problems of the reporting set that another library did better on, to understand why; it came
after the report, and nothing was or may be chosen by it.

The mean over seeds of log10 of the final regret on each problem, and the mean rank of a variant among
all over problems and seeds (1 is best), with its distance to the whole recipe's ± standard error over the seeds, which
says nothing of other problems. A variant that differs significantly from the whole recipe on a problem (Wilcoxon's
test, paired by seed, 5 %) is marked + where it is better and - where it is worse. Finished runs are kept.

The incumbent is not a field of the recipe: its variant runs the whole recipe on steps that improve on the best observed
value. `UHESampler(deterministic=True)` does so too, but repeats no point either, which would be a second difference.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from uhebo.gp import Posterior
from uhebo.methods import Proposal, Step
from uhebo.methods.auto import RECIPE, Recipe, auto
from uhebo.methods.start_up import PER_PARAMETER
from uhebo.numerics.threads import single_threaded
from uhebo.types import Array
from uhebo_experiments.benchmarks.common import heading, table, versions
from uhebo_experiments.paired import compare
from uhebo_experiments.peers.libraries import OptunaPeer, our_sampler
from uhebo_experiments.peers.ranking import FLOOR, LEVEL
from uhebo_experiments.peers.runs import drive
from uhebo_experiments.problems import problem
from uhebo_experiments.problems.sets import FIDELITIES, TUNING
from uhebo_experiments.runner import compute
from uhebo_experiments.table import RUNS, Record, Table

GROUPS = {
    "smooth": ("branin", "hartmann3", "gp-2d-0.3", "camel"),
    "rough": ("deceptive", "h1", "gp-2d-0.1", "gp-4d-0.3"),
    "more parameters": ("rosenbrock-4d", "gp-6d-0.5", "dixon-price-20d"),
    "noisy": ("gp-3d-0.3~0.1", "camel~0.1"),
}
assert sorted(sum(GROUPS.values(), ())) == sorted(TUNING)
LOST = {"lost": ("goldstein-price", "levy-4d~0.1", "ackley-20d", "rf-wilt")}
BEST_SEEN, HALF_A_STEP = 0.9851208927464352, 0.000309981401115933
"""Of rf-wilt, whose optimum is not known: the best value in results/peers, and half the smallest gap to it there. The
comparison with other libraries takes regret in the same way."""
WHOLE, OBSERVED = "auto", "incumbent by observed values"
VARIANTS = {
    WHOLE: RECIPE,
    "never explores": replace(RECIPE, turns=()),
    "no second opinion": replace(RECIPE, turns=("gap", "line")),
    "no gaps": replace(RECIPE, turns=("opinion", "line")),
    "no optimistic lines": replace(RECIPE, turns=("opinion", "gap")),
    "explores without being stuck": replace(RECIPE, patience=0),
    "no endgame": replace(RECIPE, endgame=0.0),
    "no random points": replace(RECIPE, first_random=None),
    "values not warped": replace(RECIPE, model=replace(RECIPE.model, warped=False)),
    "prior of the paper": replace(RECIPE, model=replace(RECIPE.model, prior="paper")),
    "prior `precise` in any dimension": replace(RECIPE, model=replace(RECIPE.model, prior="precise")),
    "UCB instead of LogEI": replace(RECIPE, acquisition="ucb"),
    "consistent instead of MAP": replace(RECIPE, model=RECIPE.model.by("consistent")),
    OBSERVED: RECIPE,
}


class ObservedIncumbent(Step):
    """A step that improves on the best observed value, a lucky draw of the noise or not."""

    def _incumbent(self, posteriors: tuple[Posterior, ...]) -> float:  # noqa: ARG002
        return float(self.data.y.max())


def by_observed_values(step: Step, recipe: Recipe) -> Proposal:
    """`auto` without the noise-aware incumbent."""
    return auto(ObservedIncumbent(step.history, step.settings, step.slot), recipe)


@dataclass(frozen=True)
class Run:
    """A variant on a problem at a seed."""

    variant: str
    problem: str
    seed: int
    budget: int


@single_threaded
def run(cell: Run) -> list[Record]:
    """The best value after the initial design and after each iteration."""
    case = problem(cell.problem, seed=cell.seed, fidelity=FIDELITIES.get(cell.problem))
    trials = PER_PARAMETER * case.dimension + cell.budget
    strategy = by_observed_values if cell.variant == OBSERVED else auto
    method = partial(strategy, recipe=VARIANTS[cell.variant])
    records = drive(OptunaPeer(case.space, cell.seed, our_sampler(method, trials)), case, cell.seed, trials)
    return [{"t": record["t"], "best": record["best"]} for record in records[-cell.budget - 1 :]]


@cache
def optimum(name: str, seed: int) -> float | None:
    """Of a sample path it has to be searched for, so it is kept."""
    return problem(name, seed=seed, fidelity=FIDELITIES.get(name)).optimum


def final_regret(results: Mapping[Run, list[Record]], variant: str, name: str) -> Array:
    """By seed."""
    values = []
    for cell, records in results.items():
        if (cell.variant, cell.problem) == (variant, name):
            top, best = optimum(name, cell.seed), records[-1]["best"]
            values.append(max(BEST_SEEN - best, HALF_A_STEP) if top is None else max(top - best, FLOOR))
    return np.log10(values)


def tables(results: Mapping[Run, list[Record]], groups: Mapping[str, tuple[str, ...]]) -> str:
    """One table per group of problems, one row per variant, in the order of mean rank over all."""
    problems = sum(groups.values(), ())
    logs = {(v, p): final_regret(results, v, p) for v in VARIANTS for p in problems}
    by_seed = np.mean([rankdata([logs[v, p] for v in VARIANTS], axis=0) for p in problems], axis=0)
    ranks = dict(zip(VARIANTS, by_seed, strict=True))
    order = sorted(VARIANTS, key=lambda v: ranks[v].mean())
    rows = [[v, f"{ranks[v].mean():.2f}", behind(ranks[v], ranks[WHOLE])] for v in order]
    made = [table(["variant", "mean rank over all problems", f"behind `{WHOLE}`"], rows)]
    for group, names in groups.items():
        rows = [[v, *(f"{logs[v, p].mean():.2f}{mark(logs[v, p], logs[WHOLE, p])}" for p in names)] for v in order]
        made.append(table([group, *names], rows))
    return "\n".join(made)


def behind(variant: Array, whole: Array) -> str:
    """By how much a variant's rank is larger, with its standard error over the seeds."""
    difference = variant - whole
    if not difference.any():
        return "–"
    return f"{difference.mean():.2f} ± {difference.std(ddof=1) / np.sqrt(len(difference)):.2f}"


def mark(variant: Array, whole: Array) -> str:
    """Whether a variant differs from the whole recipe."""
    if np.array_equal(variant, whole) or compare(variant, whole).p >= LEVEL:
        return ""
    return " +" if variant.mean() < whole.mean() else " -"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--out", type=Path, help="results/ablation, or results/ablation-lost")
    parser.add_argument("--lost", action="store_true", help="problems on which another library did better")
    options = parser.parse_args()
    groups, out = (LOST, "results/ablation-lost") if options.lost else (GROUPS, "results/ablation")
    folder = options.out or Path(out)
    names = sum(groups.values(), ())
    cells = [Run(v, p, s, options.budget) for s in range(options.seeds) for p in names for v in VARIANTS]
    results = compute(cells, Table(folder / RUNS), run, jobs=options.jobs, label="runs")
    title = f"log10 regret of `auto` without one ingredient, T = {options.budget}, seeds 0-{options.seeds - 1}"
    made = tables(results, groups)
    print(heading(title, ("optuna",)), made, sep="\n")
    dated = f"{datetime.date.today().isoformat()}; {versions(('optuna',))}; seeds 0-{options.seeds - 1}"
    (folder / "ablation.md").write_text(f"{dated}\n\n{made}", encoding="utf-8")


if __name__ == "__main__":
    main()
