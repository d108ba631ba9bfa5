"""Does the search suffer when eight trials run at once?

    python -m uhebo_experiments.benchmarks.parallel [--methods auto uhe] [--seeds 10] [--budget 48] [--workers 8]
        [--problems branin …] [--batches]

Regret after an initial design of three points a parameter and `budget` evaluations more, one after the other and with
`workers` under way at any time, on the tuning set: of the best point, and the average over the points after the initial
design. Workers are simulated in one process: so many trials are running, one of them chosen at random (seeded)
finishes, and the next one is asked for with the others pending; with --batches all of them finish before the next are
asked for. Seeds 0 .. seeds-1 for both.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import optuna

import uhebo
from uhebo.methods.start_up import PER_PARAMETER
from uhebo.space import as_distributions
from uhebo.types import Array
from uhebo_experiments.benchmarks.common import heading, table
from uhebo_experiments.problems import problem
from uhebo_experiments.problems.sets import TUNING

FLOOR = 1e-3
"""Of the simple regret of random search: below it both have found the optimum."""
Regret = tuple[float, float]
"""Simple (of the best point) and average (of all points after the initial design)."""


def regret(name: str, method: str, seed: int, budget: int, workers: int, batches: bool = False) -> Regret:
    """Distance to the optimum, without noise, after `budget` evaluations beyond the initial design."""
    target = problem(name, seed=seed)
    assert target.optimum is not None
    space = as_distributions(target.space)
    initial = PER_PARAMETER * len(space)
    trials = initial + budget
    study = optuna.create_study(
        direction="maximize", sampler=uhebo.UHESampler(method=method, n_trials=trials, seed=seed)
    )
    order = np.random.default_rng([seed, workers])
    noise = target.noise * np.random.default_rng(seed).standard_normal(trials)
    values = np.empty(trials)
    running: list[optuna.Trial] = []
    for asked in range(trials):
        running.append(study.ask(space))
        if len(running) < workers and asked < trials - 1:
            continue
        kept = 0 if batches or asked == trials - 1 else workers - 1
        while len(running) > kept:
            trial = running.pop(int(order.integers(len(running))))
            values[trial.number] = target(**trial.params)
            study.tell(trial, float(values[trial.number] + noise[trial.number]))
    return float(target.optimum - values.max()), float(target.optimum - values[initial:].mean())


def regrets(name: str, method: str, seeds: int, budget: int, workers: int, batches: bool = False) -> Array:
    """(seeds, 2)"""
    return np.array([regret(name, method, seed, budget, workers, batches) for seed in range(seeds)])


def compare(
    problems: Sequence[str], methods: Sequence[str], seeds: int, budget: int, workers: int, batches: bool
) -> list[list[str]]:
    rows = []
    for method in methods:
        ratios = []
        for name in problems:
            scale = float(np.median(regrets(name, "random", seeds, budget, 1)[:, 0]))
            one, many = (regrets(name, method, seeds, budget, count, batches) for count in (1, workers))
            least = np.array([FLOOR * scale, 0.0])
            ratio = np.maximum(many.mean(axis=0), least) / np.maximum(one.mean(axis=0), least)
            ratios.append(ratio)
            cells = [
                f"{values[:, kind].mean():.3g} ± {values[:, kind].std(ddof=1) / np.sqrt(seeds):.2g}"
                for kind in (0, 1)
                for values in (one, many)
            ]
            rows.append([method, name, *cells[:2], f"{ratio[0]:.2f}", *cells[2:], f"{ratio[1]:.2f}"])
        both = np.exp(np.log(ratios).mean(axis=0))
        rows.append([method, "geometric mean", "", "", f"{both[0]:.2f}", "", "", f"{both[1]:.2f}"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=["auto", "uhe"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=48)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--batches", action="store_true", help="all under way finish before the next are asked for")
    parser.add_argument("--problems", nargs="+", default=list(TUNING))
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    title = f"Regret {options.budget} evaluations after the initial design, mean ± s.e. of seeds 0-{options.seeds - 1}"
    print(heading(title, ("optuna",)))
    many = f"batches of {options.workers}" if options.batches else f"{options.workers} at once"
    columns = ["method", "problem", "simple: one at a time", many, "ratio", "average: one at a time", many, "ratio"]
    size = (options.seeds, options.budget, options.workers)
    print(table(columns, compare(options.problems, options.methods, *size, options.batches)))
    print(f"A simple regret below {FLOOR:g} of random search's median counts as {FLOOR:g} of it.")


if __name__ == "__main__":
    main()
