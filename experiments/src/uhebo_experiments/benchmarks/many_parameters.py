"""Priors of lengthscales where there are more than ten parameters: `auto` with each of them, at its defaults.

    python -m uhebo_experiments.benchmarks.many_parameters [--seeds 8] [--page] [--out results/many_parameters]

Sixty trials, all of them counted. The table has the mean over seeds of log10 of the final regret, the mean rank among
the priors over problems and seeds, and by how much it differs from the first prior's ± standard error over problems. A
+ or - marks a significant difference from the first prior (Wilcoxon's test, paired by seed, 5 %; none can be seen
with fewer than six seeds). Finished runs are kept. `additive-20d` and `additive-30d`, on which `real_problems` reports,
are not among these.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from uhebo.gp.priors import MANY, PriorName
from uhebo.numerics.threads import single_threaded
from uhebo.optuna_.sampler import UHESampler
from uhebo.types import Array
from uhebo_experiments.benchmarks.common import hartmann6, heading, made_with, table
from uhebo_experiments.paired import compare
from uhebo_experiments.peers.libraries import OptunaPeer
from uhebo_experiments.peers.ranking import FLOOR, LEVEL
from uhebo_experiments.problems import Problem, problem
from uhebo_experiments.problems.synthetic import box
from uhebo_experiments.runner import compute
from uhebo_experiments.table import RUNS, Record, Table

PRIORS: tuple[PriorName, ...] = ("dim-scaled", "shared-scale")
"""The default when these figures were made comes first."""
TRIALS = 60
PROBLEMS = (
    *(f"{kind}-{d}d" for kind in ("levy", "ackley", "rosenbrock", "styblinski-tang") for d in (15, 25)),
    *(f"{kind}-{d}d" for kind in ("ridge", "ellipsoid", "sparse-hartmann6") for d in (15, 25)),
    "sparse-bowl-20d",
    "gp-15d-1.0",
    "gp-15d-4.0",
    "gp-25d-2.5",
)


def quadratic(name: str, dimension: int, seed: int) -> Problem:
    """-|A (x - c)|², c in the middle half of the cube. A `ridge` has four random rows, and a little of the identity; an
    `ellipsoid` has random axes of squared lengths from 1 to 100; of a `sparse-bowl` three parameters matter."""
    rng = np.random.default_rng([seed, dimension])
    centre = 0.25 + 0.5 * rng.random(dimension)
    if name == "ridge":
        rows = rng.standard_normal((4, dimension)) * 2.0 / np.sqrt(dimension)
        matrix = np.concatenate([rows, np.sqrt(0.3 / dimension) * np.eye(dimension)])
    elif name == "ellipsoid":
        axes, _ = np.linalg.qr(rng.standard_normal((dimension, dimension)))
        matrix = 10.0 ** np.linspace(0.0, -1.0, dimension)[:, None] * axes
    else:
        weights = np.zeros(dimension)
        weights[[1, dimension // 2, dimension - 2]] = 1.0, 1.7, 0.7
        matrix = np.diag(weights)
    bounds = [(0.0, 1.0)] * dimension

    def value(X: Array) -> Array:
        return np.asarray(-(((X - centre) @ matrix.T) ** 2).sum(axis=1))

    return box(f"{name}-{dimension}d", value, bounds, 0.0, [centre.tolist()], "a quadratic function")


def sparse_hartmann6(dimension: int, seed: int) -> Problem:
    """Of the parameters six matter."""
    columns = np.sort(np.random.default_rng([seed, dimension]).permutation(dimension)[:6])
    best = np.full(dimension, 0.5)
    best[columns] = [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]
    bounds, name = [(0.0, 1.0)] * dimension, f"sparse-hartmann6-{dimension}d"
    about = "Hartmann's function of six of the parameters"
    return box(name, lambda X: hartmann6(X[:, columns]), bounds, 3.32237, [best.tolist()], about)


@cache
def case_of(name: str, seed: int) -> Problem:
    """The problem; those with random numbers in them are others at each seed."""
    kind, _, size = name.rpartition("-")
    if kind in ("ridge", "ellipsoid", "sparse-bowl"):
        return quadratic(kind, int(size[:-1]), seed)
    if kind == "sparse-hartmann6":
        return sparse_hartmann6(int(size[:-1]), seed)
    return problem(name, seed=seed)


def mark(variant: Array, first: Array) -> str:
    """Whether a variant differs from the first."""
    if np.array_equal(variant, first) or compare(variant, first).p >= LEVEL:
        return ""
    return " +" if variant.mean() < first.mean() else " -"


@dataclass(frozen=True)
class Run:
    """`auto` with a prior on a problem at a seed."""

    prior: PriorName
    problem: str
    seed: int


@single_threaded
def run(cell: Run) -> list[Record]:
    """The regret of the best value after each trial."""
    case = case_of(cell.problem, cell.seed)
    assert case.dimension > MANY
    assert case.optimum is not None
    peer = OptunaPeer(case.space, cell.seed, lambda seed, _: UHESampler(seed=seed, n_trials=TRIALS, prior=cell.prior))
    best, records = -np.inf, []
    for _ in range(TRIALS):
        params = peer.ask()
        value = case(**params)
        peer.tell(params, value)
        best = max(best, value)
        records.append({"regret": case.optimum - best})
    return records


def final(results: Mapping[Run, list[Record]], prior: PriorName, name: str, seeds: int) -> Array:
    """log10 of the regret, by seed."""
    regrets = [results[Run(prior, name, seed)][-1]["regret"] for seed in range(seeds)]
    return np.asarray(np.log10(np.maximum(regrets, FLOOR)))


def tables(results: Mapping[Run, list[Record]], seeds: int) -> str:
    """One row per problem, and the mean ranks."""
    values = {(prior, name): final(results, prior, name, seeds) for prior in PRIORS for name in PROBLEMS}
    rows = [
        [name, *(f"{values[p, name].mean():.2f}{mark(values[p, name], values[PRIORS[0], name])}" for p in PRIORS)]
        for name in PROBLEMS
    ]
    ranks = np.array([rankdata([values[p, name] for p in PRIORS], axis=0).mean(axis=1) for name in PROBLEMS])
    behind = ranks - ranks[:, :1]
    errors = behind.std(axis=0, ddof=1) / np.sqrt(len(PROBLEMS))
    cells = [
        f"{rank:.2f}" + (f" ({b:+.2f} ± {e:.2f})" if i else "")
        for i, (rank, b, e) in enumerate(zip(ranks.mean(axis=0), behind.mean(axis=0), errors, strict=True))
    ]
    return table(["problem", *PRIORS], [*rows, ["mean rank", *cells]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--page", action="store_true", help="run nothing, write the page from what is there")
    parser.add_argument("--out", type=Path, default=Path("results/many_parameters"))
    options = parser.parse_args()
    cells = [Run(prior, name, seed) for seed in range(options.seeds) for name in PROBLEMS for prior in PRIORS]
    kept = Table(options.out / RUNS)
    if options.page:
        results = {cell: records for cell in cells if (records := kept.records(cell)) is not None}
    else:
        results = compute(cells, kept, run, jobs=1, label="runs")
    made = tables(results, options.seeds)
    print(heading(f"priors of more than ten parameters, seeds 0-{options.seeds - 1}", ("optuna",)), made, sep="\n")
    dated = f"{made_with(kept)}; seeds 0-{options.seeds - 1}"
    (options.out / "many_parameters.md").write_text(f"{dated}\n\n{made}", encoding="utf-8")


if __name__ == "__main__":
    main()
