"""How many points before the first model, and which: initial designs of `auto` on tuning problems.

    python -m uhebo_experiments.benchmarks.designs [--seeds 20] [--jobs 1] [--out results/designs]

A variant is a design (uniform; spread, as shipped: `uhebo.acquire.design`; a Latin hypercube) and a rule for its size,
of the number of parameters d and of trials T. All trials count, those of the design included. The table has the mean
rank of a variant among all over problems and seeds, by the best value after T trials, with its distance to the first
variant ± standard error over the seeds; and for each problem the mean of log10 of the regret (for problems whose
optimum is not known, minus the best value). A + or - marks a significant difference from the first variant
(Wilcoxon's test, paired by seed, 5 %). Finished runs are kept.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.stats import qmc, rankdata

from uhebo.acquire.design import emptiest_point
from uhebo.acquire.maximise import Explored
from uhebo.numerics.threads import single_threaded
from uhebo.space import SearchSpace
from uhebo.types import Array
from uhebo_experiments.benchmarks.common import heading, table, versions
from uhebo_experiments.paired import compare
from uhebo_experiments.peers.libraries import OptunaPeer, our_sampler
from uhebo_experiments.peers.ranking import FLOOR, LEVEL
from uhebo_experiments.problems import Problem, problem
from uhebo_experiments.runner import NOISE_STREAM, compute
from uhebo_experiments.table import RUNS, Record, Table

Rule = Callable[[int, int], int]
RULES: dict[str, Rule] = {
    "3d, half of T": lambda d, T: min(3 * d, T // 2),
    "3d, 10": lambda d, T: min(3 * d, 10, T // 2),
    "3d, a sixth of T": lambda d, T: min(3 * d, max(4, T // 6)),
    "d + 1, 10": lambda d, T: min(d + 1, 10, T // 2),
}
"""Rule -> number of points, of d parameters and T trials: the smallest of the figures named."""
VARIANTS: tuple[tuple[str, str], ...] = (
    ("uniform", "3d, half of T"),
    ("spread", "3d, half of T"),
    ("uniform", "3d, 10"),
    ("spread", "3d, 10"),
    ("latin", "3d, 10"),
    ("spread", "3d, a sixth of T"),
    ("spread", "d + 1, 10"),
)
FEW, MANY = 30, 60
"""Trials of problems with up to ten parameters, and of those with more."""
GROUPS = {
    "smooth": ("branin", "hartmann3", "gp-2d-0.3", "camel"),
    "rough": ("deceptive", "h1", "gp-4d-0.3", "gp-6d-0.5"),
    "mixed, noisy": ("mixed-5d", "mixed-8d", "rosenbrock-4d", "gp-3d-0.3~0.1"),
    "many parameters": ("bowl-20d", "bowl-30d", "gp-20d-1.0", "dixon-price-20d"),
}


def bowl(dimension: int, seed: int) -> Problem:
    """-Σ (x_i - c_i)², c uniform in the middle half of the cube."""
    centre = 0.25 + 0.5 * np.random.default_rng([seed, dimension]).random(dimension)
    names = [f"x{i}" for i in range(dimension)]

    def function(**params: float) -> float:
        return -float(sum((params[name] - float(c)) ** 2 for name, c in zip(names, centre, strict=True)))

    return Problem(f"bowl-{dimension}d", dict.fromkeys(names, FloatDistribution(0.0, 1.0)), function, optimum=0.0)


def mixed(dimension: int, seed: int) -> Problem:
    """A sample path of lengthscale 0.5 whose columns are in turn a float, an integer of 2-12 and four choices, whose
    order along the path is drawn."""
    path, rng = problem(f"gp-{dimension}d-0.5", seed=seed), np.random.default_rng([seed, dimension])
    kinds = (FloatDistribution(0.0, 1.0), IntDistribution(2, 12), CategoricalDistribution(tuple("abcd")))
    space = {name: kinds[i % 3] for i, name in enumerate(path.space)}
    codes = {name: dict(zip("abcd", (rng.permutation(4) / 3.0).tolist(), strict=True)) for name in path.space}

    def position(name: str, value: float | str) -> float:
        if isinstance(value, str):
            return float(codes[name][value])
        return (value - 2) / 10 if isinstance(space[name], IntDistribution) else value

    def function(**params: float | str) -> float:
        return float(path(**{name: position(name, value) for name, value in params.items()}))

    return Problem(f"mixed-{dimension}d", space, function)


@cache
def case_of(name: str, seed: int) -> Problem:
    kind, _, size = name.partition("-")
    own = {"bowl": bowl, "mixed": mixed}.get(kind)
    return problem(name, seed=seed) if own is None else own(int(size[:-1]), seed)


@dataclass(frozen=True)
class Run:
    """A design of so many points on a problem at a seed."""

    design: str
    points: int
    problem: str
    seed: int
    trials: int


def design_of(space: SearchSpace, cell: Run) -> Array:
    rng = np.random.default_rng([cell.seed, cell.points])
    if cell.design == "uniform":
        return space.snap(space.domain.uniform(rng, cell.points))
    if cell.design == "latin":
        points = qmc.LatinHypercube(space.domain.dimension, rng=rng).random(cell.points)
        for column in space.domain.categorical:
            points[:, column] = np.floor(points[:, column] * space.domain.categories[column])
        return space.snap(points)
    rows = np.empty((0, space.domain.dimension))
    for _ in range(cell.points):
        rows = np.concatenate([rows, emptiest_point(Explored(space, rows, rows[:0]), rows, rng)[None]])
    return rows


@single_threaded
def run(cell: Run) -> list[Record]:
    """The best value, without noise, after each trial."""
    case = case_of(cell.problem, cell.seed)
    space = SearchSpace.of(case.space)
    design = [space.decode(row) for row in design_of(space, cell)]
    peer = OptunaPeer(case.space, cell.seed, our_sampler("auto", cell.trials))
    noise = np.random.default_rng([cell.seed, NOISE_STREAM])
    best, records = -np.inf, []
    for i in range(cell.trials):
        params = design[i] if i < len(design) else peer.ask()
        value = case(**params)
        peer.tell(params, value + case.noise * float(noise.standard_normal()))
        best = max(best, value)
        records.append({"best": best})
    return records


def trials_of(name: str) -> int:
    return MANY if name in GROUPS["many parameters"] else FEW


def cell_of(variant: tuple[str, str], name: str, seed: int) -> Run:
    design, rule = variant
    trials = trials_of(name)
    return Run(design, RULES[rule](case_of(name, 0).dimension, trials), name, seed, trials)


def final(results: Mapping[Run, list[Record]], variant: tuple[str, str], name: str, seeds: int) -> Array:
    """By seed, to be small: log10 of the regret, or minus the best value where the optimum is not known."""
    values = []
    for seed in range(seeds):
        best, top = results[cell_of(variant, name, seed)][-1]["best"], case_of(name, seed).optimum
        values.append(-best if top is None else np.log10(max(top - best, FLOOR)))
    return np.array(values)


def tables(results: Mapping[Run, list[Record]], seeds: int) -> str:
    """Mean ranks over all problems and by group, then one table per group."""
    names = sum(GROUPS.values(), ())
    values = {(v, p): final(results, v, p, seeds) for v in VARIANTS for p in names}
    ranks = {p: rankdata([values[v, p] for v in VARIANTS], axis=0) for p in names}
    title = {v: f"{v[0]}: {v[1]}" for v in VARIANTS}
    rows = []
    for i, v in enumerate(VARIANTS):
        over = np.mean([ranks[p][i] for p in names], axis=0)
        behind = over - np.mean([ranks[p][0] for p in names], axis=0)
        error = behind.std(ddof=1) / np.sqrt(seeds)
        groups = [f"{np.mean([ranks[p][i] for p in group]):.2f}" for group in GROUPS.values()]
        rows.append([title[v], f"{over.mean():.2f}", "–" if i == 0 else f"{behind.mean():.2f} ± {error:.2f}", *groups])
    made = [table(["design: size, the smallest of", "mean rank", "minus the first's", *GROUPS], rows)]
    for group, members in GROUPS.items():
        rows = []
        for v in VARIANTS:
            cells = [f"{values[v, p].mean():.2f}{mark(values[v, p], values[VARIANTS[0], p])}" for p in members]
            rows.append([title[v], *cells])
        made.append(table([group, *members], rows))
    return "\n".join(made)


def mark(variant: Array, first: Array) -> str:
    """Whether a variant differs from the first."""
    if np.array_equal(variant, first) or compare(variant, first).p >= LEVEL:
        return ""
    return " +" if variant.mean() < first.mean() else " -"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/designs"))
    options = parser.parse_args()
    names = sum(GROUPS.values(), ())
    cells = [cell_of(v, p, s) for s in range(options.seeds) for p in names for v in VARIANTS]
    results = compute(cells, Table(options.out / RUNS), run, jobs=options.jobs, label="runs")
    made = tables(results, options.seeds)
    print(heading(f"initial designs of `auto`, seeds 0-{options.seeds - 1}", ("optuna",)), made, sep="\n")
    dated = f"{datetime.date.today().isoformat()}; {versions(('optuna',))}; seeds 0-{options.seeds - 1}"
    (options.out / "designs.md").write_text(f"{dated}\n\n{made}", encoding="utf-8")


if __name__ == "__main__":
    main()
