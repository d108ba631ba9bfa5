"""Several objectives: warp and reference point of the default, compared on problems that `uhebo bench pareto` has not.

    python -m uhebo_experiments.benchmarks.front_recipe [--seeds 8] [--page] [--out results/front_recipe]

Sixty trials, all of them counted. The table has the mean hypervolume over seeds ± standard error, and the mean rank of
each variant over problems and seeds. A + or - marks a significant difference from the first variant, the default
(Wilcoxon's test, paired by seed, 5 %). Finished runs are kept.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import optuna
from scipy.stats import rankdata

from uhebo.methods import METHODS
from uhebo.methods.auto import MODEL, Recipe, auto
from uhebo.numerics.front import hypervolume
from uhebo.numerics.threads import single_threaded
from uhebo.optuna_.sampler import UHESampler
from uhebo.types import Array
from uhebo_experiments.benchmarks.common import heading, made_with, table
from uhebo_experiments.benchmarks.many_parameters import mark
from uhebo_experiments.problems.several import Outcome, cube, dtlz2, zdt, zdt1_shape
from uhebo_experiments.runner import compute
from uhebo_experiments.table import RUNS, Record, Table

TRIALS = 60
WARPED, PLAIN, OTHER = (replace(MODEL, warps_several=turns) for turns in ((True,), (False,), (True, False)))
VARIANTS = {
    "default": Recipe(),
    "other turns": Recipe(model=OTHER),
    "plain": Recipe(model=PLAIN),
    "plain, wide": Recipe(model=PLAIN, margins=(0.5,)),
    "plain, close": Recipe(model=PLAIN, margins=(0.05,)),
    "warped": Recipe(model=WARPED),
    "warped, wide": Recipe(model=WARPED, margins=(0.5,)),
}
"""Which values are warped, and how far the reference point is from the front."""


def plane(x: Array) -> Array:
    """(1 + g)(x1 x2, x1 (1 - x2), 1 - x1), g = Σ (x_j - 0.7)²: a flat front of three objectives."""
    return np.asarray((1.0 + ((x[2:] - 0.7) ** 2).sum()) * np.array([x[0] * x[1], x[0] * (1.0 - x[1]), 1.0 - x[0]]))


def shell(x: Array) -> Array:
    """A part of a sphere, (1 + 3 mean |x_j - 0.3|) times its radius."""
    a, b = 0.5 * np.pi * x[:2]
    unit = np.array([np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)])
    return np.asarray((1.0 + 3.0 * np.abs(x[2:] - 0.3).mean()) * unit)


def pieces(x: Array, objectives: int) -> Array:
    """DTLZ7 (Deb et al. 2005): a front in 2^(m-1) pieces."""
    f, size = x[: objectives - 1], 2.0 + 9.0 * x[objectives - 1 :].mean()
    return np.append(f, size * objectives - (f * (1.0 + np.sin(3.0 * np.pi * f))).sum())


def valley(x: Array) -> Array:
    """Rosenbrock's function and that of Styblinski and Tang: long tails."""
    z, w = 4.0 * x - 2.0, 10.0 * x - 5.0
    rosenbrock = (100.0 * (z[1:] - z[:-1] ** 2) ** 2 + (1.0 - z[:-1]) ** 2).sum()
    return np.array([rosenbrock, 0.5 * (w**4 - 16.0 * w**2 + 5.0 * w).sum()])


def tail(x: Array) -> Array:
    """Goldstein and Price's function, which spans five orders of magnitude, and a cone."""
    a, b = 4.0 * x - 2.0
    first = 1.0 + (a + b + 1) ** 2 * (19 - 14 * a + 3 * a**2 - 14 * b + 6 * a * b + 3 * b**2)
    second = 30.0 + (2 * a - 3 * b) ** 2 * (18 - 32 * a + 12 * a**2 + 48 * b - 36 * a * b + 27 * b**2)
    return np.array([first * second, 40.0 * (x[0] - 0.8) ** 2 + 10.0 * abs(x[1] - 0.9)])


def row(x: Array, function: Callable[..., Outcome], **given: object) -> Array:
    """A problem of the report's, with other parameters and objectives."""
    return np.array(function({str(i): value for i, value in enumerate(x)}, **given).values)


PROBLEMS: Mapping[str, tuple[Callable[[Array], Array], int, tuple[float, ...]]] = {
    "plane": (plane, 6, (1.1,) * 3),
    "shell": (shell, 5, (1.2,) * 3),
    "pieces-2": (partial(pieces, objectives=2), 6, (15.0,) * 2),
    "pieces-3": (partial(pieces, objectives=3), 5, (15.0,) * 3),
    "circle": (partial(row, function=dtlz2, objectives=2), 4, (1.1,) * 2),
    "convex": (partial(row, function=zdt, shape=zdt1_shape), 3, (11.0,) * 2),
    "valley": (valley, 3, (500.0, 0.0)),
    "tail": (tail, 2, (1000.0, 15.0)),
}
"""Name -> function of a row of the cube (all objectives are minimised), parameters, reference point."""


@dataclass(frozen=True)
class Run:
    variant: str
    problem: str
    seed: int


@single_threaded
def run(cell: Run) -> list[Record]:
    """The hypervolume of all sixty trials."""
    function, dimension, reference = PROBLEMS[cell.problem]
    recipe = VARIANTS[cell.variant]
    method = replace(METHODS["auto"], propose=partial(auto, recipe=recipe), model=recipe.model)
    sampler = UHESampler(method=method, seed=cell.seed, n_trials=TRIALS)
    study = optuna.create_study(directions=["minimize"] * len(reference), sampler=sampler)
    found = []
    for _ in range(TRIALS):
        trial = study.ask(cube(dimension))
        values = function(np.array(list(trial.params.values())))
        found.append(values)
        study.tell(trial, values.tolist())
    return [{"hypervolume": hypervolume(-np.array(found), -np.array(reference))}]


def tables(results: Mapping[Run, list[Record]], seeds: int) -> str:
    """One row per problem, and the mean ranks."""
    found = {
        (v, name): np.array([results[Run(v, name, seed)][0]["hypervolume"] for seed in range(seeds)])
        for v in VARIANTS
        for name in PROBLEMS
    }
    rows = [
        [
            name,
            *(
                f"{found[v, name].mean():.4g} ± {found[v, name].std(ddof=1) / np.sqrt(seeds):.2g}"
                + mark(-found[v, name], -found["default", name])
                for v in VARIANTS
            ),
        ]
        for name in PROBLEMS
    ]
    ranks = np.array([rankdata([-found[v, name] for v in VARIANTS], axis=0).mean(axis=1) for name in PROBLEMS])
    return table(["problem", *VARIANTS], [*rows, ["mean rank", *(f"{rank:.2f}" for rank in ranks.mean(axis=0))]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--page", action="store_true", help="run nothing, write the page from what is there")
    parser.add_argument("--out", type=Path, default=Path("results/front_recipe"))
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    cells = [Run(v, name, seed) for seed in range(options.seeds) for name in PROBLEMS for v in VARIANTS]
    kept = Table(options.out / RUNS)
    if options.page:
        results = {cell: records for cell in cells if (records := kept.records(cell)) is not None}
    else:
        results = compute(cells, kept, run, jobs=2, label="runs")
    made = tables(results, options.seeds)
    dated = f"{made_with(kept)}; seeds 0-{options.seeds - 1}"
    (options.out / "front_recipe.md").write_text(f"{dated}\n\n{made}", encoding="utf-8")
    print(heading(f"several objectives, seeds 0-{options.seeds - 1}", ("optuna",)), made, sep="\n")


if __name__ == "__main__":
    main()
