"""The tables of the appendix "Measurements": other libraries beside ours, from records.

    python -m uhebo_experiments.benchmarks.compare [--results results/reproduction] [--peaks results/peaks]
        [--earlier results/peers-earlier.csv] [--out docs/tables/peers.md]

`results/peers-earlier.csv` has one line for each run of another library: final simple regret after the initial
design and a number of evaluations, and the median CPU seconds of an evaluation (ask and tell). The page says how they
were made; the program that made them is not here, so they can be read again but not run again. Our own rows come from
the cells of the experiments, read off at the same number of evaluations, and that of the default from the records of
`uhebo_experiments.benchmarks.peaks`.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from uhebo_experiments.benchmarks.choose import LEAST_SEEDS, label, optimum
from uhebo_experiments.benchmarks.common import sections, table
from uhebo_experiments.table import RUNS, Table

PAPER = ("branin", "hartmann3", "deceptive", "h1")
EVALUATIONS = 50
DEFAULT = "auto"
OURS = (DEFAULT, "uhe", "map")
LIBRARIES = {
    "smac": "SMAC3 2.4.1, BlackBoxFacade",
    "skopt": "scikit-optimize 0.10.2",
    "optuna-gp": "Optuna 5.0.0, GPSampler",
    "optuna-gp-det": "the same, deterministic",
    "optuna-tpe": "Optuna 5.0.0, TPESampler",
    "optuna-cma": "Optuna 5.0.0, CmaEsSampler",
    "botorch-logei": "BoTorch 0.18.1, LogEI",
    "botorch-ucb": "BoTorch 0.18.1, UCB",
    "bayes_opt": "bayes_opt 3.4.0",
    "hebo": "HEBO 0.3.6",
    "sobol": "Sobol points",
    "random": "random points",
}

Losses = Mapping[tuple[str, str], Sequence[float]]
"""(library or method, problem) -> final regrets."""


def read_peers(path: Path) -> tuple[dict[tuple[str, str], list[float]], dict[str, list[float]]]:
    """Regrets, and median seconds of each run by library."""
    losses: dict[tuple[str, str], list[float]] = defaultdict(list)
    seconds: dict[str, list[float]] = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            losses[row["library"], row["problem"]].append(float(row["regret"]))
            seconds[row["library"]].append(float(row["cpu_seconds"]))
    return losses, seconds


def read_default(table: Table) -> dict[tuple[str, str], list[float]]:
    """Regret of the default method."""
    tops = optima()
    losses: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for cell, records in table:
        name = cell["problem"]
        if cell["library"] == "uhebo" and cell["budget"] == EVALUATIONS and name in tops:
            losses[DEFAULT, name][cell["seed"]] = tops[name] - records[-1]["best"]
    return by_seed(losses)


def read_ours(table: Table) -> dict[tuple[str, str], list[float]]:
    """Regret of our methods after as many evaluations as the others had, from runs that went at least that far."""
    losses: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    tops = optima()
    for cell, records in table:
        name = cell["problem"]
        if name not in tops or label(cell) not in OURS or cell["budget"] < EVALUATIONS:
            continue
        at = next((record for record in records if record.get("t") == EVALUATIONS), None)
        if at is not None:
            losses[label(cell), name][cell["seed"]] = tops[name] - at["incumbent"]
    return {key: values for key, values in by_seed(losses).items() if len(values) >= LEAST_SEEDS}


def optima() -> dict[str, float]:
    return {name: best for name in PAPER if (best := optimum(name)) is not None}


def by_seed(losses: Mapping[tuple[str, str], Mapping[int, float]]) -> dict[tuple[str, str], list[float]]:
    return {key: [of[seed] for seed in sorted(of)] for key, of in losses.items()}


def figure(values: Sequence[float] | None) -> str:
    if not values:
        return "–"
    error = f" ± {statistics.stdev(values) / len(values) ** 0.5:.2g}" if len(values) > 1 else ""
    return f"{np.mean(values):.3g}{error} ({len(values)})"


def rows(names: Mapping[str, str], losses: Losses, problems: Sequence[str]) -> list[list[str]]:
    found = [[shown, *(figure(losses.get((name, problem))) for problem in problems)] for name, shown in names.items()]
    return [row for row in found if any(cell != "–" for cell in row[1:])]


def tables(runs: Table, peaks: Table, earlier: Path) -> dict[str, str]:
    """Name of the section -> Markdown."""
    peers, seconds = read_peers(earlier)
    ours = {**read_ours(runs), **read_default(peaks)}
    mine = rows({method: f"**uhebo** `{method}`" for method in OURS}, ours, PAPER)
    return {
        "regret": table(["library", *PAPER], [*mine, *rows(LIBRARIES, peers, PAPER)]),
        "seconds": table(
            ["library", "CPU seconds"],
            [[shown, f"{statistics.median(seconds[name]):.2g}"] for name, shown in LIBRARIES.items()],
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("results/reproduction"))
    parser.add_argument("--peaks", type=Path, default=Path("results/peaks"))
    parser.add_argument("--earlier", type=Path, default=Path("results/peers-earlier.csv"))
    parser.add_argument("--out", type=Path, default=Path("docs/tables/peers.md"))
    given = parser.parse_args()
    text = sections(tables(Table(given.results / RUNS), Table(given.peaks / RUNS), given.earlier))
    given.out.write_text(text, encoding="utf-8")
    print(f"{given.out}\n\n{text}")


if __name__ == "__main__":
    main()
