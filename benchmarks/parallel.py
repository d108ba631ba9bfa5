"""Does the search suffer when eight trials run at once?

    python -m benchmarks.parallel [--methods uhe auto] [--seeds 10] [--budget 48] [--workers 8]

Simple regret after `budget` evaluations, one after the other and with `workers` under way at any time, on the problems
that methods are tuned on. Workers are simulated in one process: so many trials are running, one of them chosen at
random (seeded) finishes, and the next one is asked for with the others pending. Seeds 0 .. seeds-1 for both.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import optuna

import uhebo
from benchmarks.common import heading, table
from uhebo.experiments import problem
from uhebo.gp.domain import Array
from uhebo.space import as_distributions

PROBLEMS = ("branin", "hartmann3", "deceptive", "h1")
FLOOR = 1e-3
"""Of the range between the median of random search and the optimum: below it both have found it."""


def regret(name: str, method: str, seed: int, budget: int, workers: int) -> float:
    """Distance of the best value to the optimum after `budget` evaluations."""
    target = problem(name, seed=seed)
    assert target.optimum is not None
    space = as_distributions(target.space)
    study = optuna.create_study(
        direction="maximize", sampler=uhebo.UHESampler(method=method, n_trials=budget, seed=seed)
    )
    order = np.random.default_rng([seed, workers])
    running: list[optuna.Trial] = []
    best = -np.inf
    for asked in range(budget):
        running.append(study.ask(space))
        while len(running) == workers or (asked == budget - 1 and running):
            trial = running.pop(int(order.integers(len(running))))
            value = float(target(**trial.params))
            study.tell(trial, value)
            best = max(best, value)
    return float(target.optimum - best)


def regrets(name: str, method: str, seeds: int, budget: int, workers: int) -> Array:
    return np.array([regret(name, method, seed, budget, workers) for seed in range(seeds)])


def compare(methods: Sequence[str], seeds: int, budget: int, workers: int) -> list[list[str]]:
    rows = []
    for method in methods:
        ratios = []
        for name in PROBLEMS:
            scale = float(np.median(regrets(name, "random", seeds, budget, 1)))
            one, many = (regrets(name, method, seeds, budget, count) for count in (1, workers))
            floor = FLOOR * scale
            ratio = max(float(many.mean()), floor) / max(float(one.mean()), floor)
            ratios.append(ratio)
            error = [values.std(ddof=1) / np.sqrt(seeds) for values in (one, many)]
            rows.append(
                [method, name]
                + [f"{v.mean():.3g} ± {e:.2g}" for v, e in zip((one, many), error, strict=True)]
                + [f"{scale:.3g}", f"{ratio:.2f}"]
            )
        rows.append([method, "geometric mean", "", "", "", f"{np.exp(np.mean(np.log(ratios))):.2f}"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=["uhe", "auto"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=48)
    parser.add_argument("--workers", type=int, default=8)
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    title = f"Simple regret after {options.budget} evaluations, mean ± s.e. of seeds 0-{options.seeds - 1}"
    print(heading(title, ("optuna",)))
    columns = ["method", "problem", "one at a time", f"{options.workers} at once", "random search (median)", "ratio"]
    print(table(columns, compare(options.methods, options.seeds, options.budget, options.workers)))
    print(f"A regret below {FLOOR:g} of random search's counts as {FLOOR:g} of it.")


if __name__ == "__main__":
    main()
