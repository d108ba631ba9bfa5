"""Is "settled" settled, and is what is recommended the best? Two hundred generated studies whose truth is known.

    python -m uhebo_experiments.benchmarks.settled [--seeds 200] [--jobs 1] [--page] [--out results/settled]

Each study is a sample path of a GP in 1 to 4 dimensions with a drawn lengthscale, exact or with noise, searched by the
default. After 15, 20 and 30 trials the model says how likely ten more improve the best by more than epsilon; then ten
more are run, and the truth is looked up: whether the best of them is better, without noise, by more than that, than
the point that was the best by the model. After 40 trials the
recommended point is compared with the truth: whether its interval holds the value there, whether no point tried is
better by more than epsilon, and how far its value and that of the best measurement are from the best of the points
tried. Finished studies are kept.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import optuna

import uhebo
from uhebo.diagnosis.opinions import open_noise_prior, theta_chain
from uhebo.diagnosis.prospects import look_ahead
from uhebo.diagnosis.recommendation import recommend
from uhebo.numerics.threads import single_threaded
from uhebo.optuna_.believe import model_of
from uhebo_experiments.page import Page
from uhebo_experiments.problems import Problem, problem
from uhebo_experiments.runner import compute
from uhebo_experiments.table import RUNS, Record, Table

CHECKS, AHEAD, TRIALS = (15, 20, 30), 10, 40
LENGTHSCALES, NOISES = (0.15, 0.3, 0.6), ("", "~0.05", "~0.15")
BANDS = (0.0, 0.01, 0.05, 0.2, 0.5, 0.8, 1.0)
"""Edges of the groups in which chances are compared with what happened."""


@dataclass(frozen=True)
class Run:
    """A generated study: `seed` draws its dimension, lengthscale, noise and path."""

    seed: int


def problem_of(cell: Run) -> Problem:
    rng = np.random.default_rng([2029, cell.seed])
    dimension = int(rng.integers(1, 5))
    lengthscale = LENGTHSCALES[int(rng.integers(len(LENGTHSCALES)))] * math.sqrt(dimension)
    noise = NOISES[cell.seed % len(NOISES)]
    return problem(f"gp-{dimension}d-{lengthscale:.2f}{noise}", seed=10_000 + cell.seed)


@single_threaded
def run(cell: Run) -> list[Record]:
    """The chances said and what came of them, and the recommendation at the end."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    drawn = problem_of(cell)
    study = optuna.create_study(
        direction="maximize", sampler=uhebo.UHESampler(n_trials=TRIALS, seed=cell.seed, space=dict(drawn.space))
    )
    noise = np.random.default_rng([2030, cell.seed])
    truths: list[float] = []
    said: dict[int, tuple[float, float, float]] = {}
    for done in range(1, TRIALS + 1):
        trial = study.ask(dict(drawn.space))
        truths.append(drawn(**trial.params))
        study.tell(trial, truths[-1] + drawn.noise * float(noise.standard_normal()))
        if done in CHECKS:
            said[done] = _chance(study, truths, cell.seed)
    records: list[Record] = []
    for done, (chance, epsilon, held) in said.items():
        improved = max(truths[done : done + AHEAD]) - held > epsilon
        records.append({"kind": "chance", "trials": done, "chance": chance, "improved": improved, "noise": drawn.noise})
    found = recommend(study)
    there = truths[found.numbers[0]]
    records.append(
        {
            "kind": "recommended",
            "noise": drawn.noise,
            "held": found.interval[0] <= there <= found.interval[1],
            "chance": found.chance,
            "is_best": there >= max(truths) - found.epsilon,
            "short": (max(truths) - there) / (max(truths) - min(truths)),
            "short_of_best": (max(truths) - truths[study.best_trial.number]) / (max(truths) - min(truths)),
        }
    )
    return records


def _chance(study: optuna.Study, truths: Sequence[float], seed: int) -> tuple[float, float, float]:
    """The chance as `StopWhenSettled` has it, its epsilon, and the true value of the best point by the model."""
    belief = model_of(study).believe()
    draws = theta_chain(belief, np.random.default_rng([seed, 2]), open_noise_prior(len(belief.theta.ell))).draws
    found = look_ahead(belief, draws, None, np.random.default_rng([seed, 5]))
    best = int(np.argmax(belief.objective.smoothed))
    return float("nan") if found.chance is None else found.chance, found.epsilon, truths[int(belief.numbers[best])]


def chance_rows(records: Sequence[Record]) -> list[list[str]]:
    """For each band of chances said: how many, the mean said, the share that improved."""
    said = [r for r in records if r["kind"] == "chance" and r["chance"] is not None]
    rows = []
    for low, high in pairwise(BANDS):
        inside = [r for r in said if low <= r["chance"] < high or (high == 1.0 and r["chance"] == 1.0)]
        if inside:
            improved = sum(bool(r["improved"]) for r in inside)
            mean = float(np.mean([r["chance"] for r in inside]))
            rows.append([f"{low:.0%} to {high:.0%}", f"{len(inside)}", f"{mean:.1%}", f"{improved / len(inside):.1%}"])
    return rows


def recommended_rows(records: Sequence[Record]) -> list[list[str]]:
    """Exact and noisy studies: coverage, chance said and true, and how far the two points are from the best tried."""
    kinds: dict[str, Callable[[Record], bool]] = {
        "exact": lambda r: r["noise"] == 0.0,
        "noisy": lambda r: r["noise"] > 0.0,
    }
    rows = []
    for name, belongs in kinds.items():
        found = [r for r in records if r["kind"] == "recommended" and belongs(r)]
        if found:
            mean = {key: float(np.mean([float(r[key]) for r in found])) for key in found[0] if key != "kind"}
            shares = [f"{mean[key]:.0%}" for key in ("held", "chance", "is_best")]
            rows.append([name, f"{len(found)}", *shares, f"{mean['short']:.2%}", f"{mean['short_of_best']:.2%}"])
    return rows


def write(folder: Path) -> Path:
    """The page from the records."""
    runs = list(Table(folder / RUNS))
    records = [record for _, found in runs for record in found]
    page = Page("Settled, recommended: what was said and what was true")
    days = sorted({header["date"] for header, _ in runs})
    made = sorted({header["versions"]["uhebo"] for header, _ in runs})
    page.text(
        f"Made by `python -m uhebo_experiments.benchmarks.settled` from {len(runs)} studies of {TRIALS} trials, "
        f"{', '.join(days)}, uhebo {', '.join(made)}."
    )
    page.heading("The chance that ten more trials improve the best")
    page.table(["chance said", "times", "mean said", "improved"], chance_rows(records), section="chance")
    page.heading("The recommended point")
    page.text("Distances are to the best of the points tried, as shares of the range of the true values tried.")
    head = ["studies", "number", "90 % interval holds", "chance said", "is the best", "distance", "of best measured"]
    page.table(head, recommended_rows(records), section="recommended")
    return page.write(folder, "settled")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("results/settled"))
    options = parser.parse_args(arguments)
    if not options.page:
        compute([Run(seed) for seed in range(options.seeds)], Table(options.out / RUNS), run, jobs=options.jobs)
    print(f"wrote {write(options.out)}")


if __name__ == "__main__":
    main()
