"""CPU seconds for one suggestion with n observations, against Optuna's GPSampler and BoTorch, and in long logs.

    python -m uhebo_experiments.benchmarks.suggest [--quick] [--runs 5] [--page] [--out results/speed]

Hartmann6 data, uniform, new for each run, one thread. A run has all libraries in one process one after the other, so
that ratios are of one run. Each library is asked several times in a row, as in use (so warm starts count), and the mean
of all but the first, which starts cold, is taken. A median would read uhebo off between two fits: with many
observations it keeps hyperparameters for several suggestions. For the same reason it is asked more often there; the
others fit every time. uhebo and Optuna run as samplers of an in-memory study; BoTorch fits a SingleTaskGP and maximises
LogEI with 10 restarts and 512 raw samples. For `uhe` only its model steps are timed: its random steps cost nothing and
would flatter it.

Finished runs are kept, so it can be stopped and goes on; to measure anew, give another folder. `--page` runs nothing.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import optuna
from threadpoolctl import threadpool_limits

from uhebo import UHESampler
from uhebo.acquire.functions import AcquisitionName
from uhebo.gp.priors import PriorName
from uhebo.types import Array
from uhebo_experiments.benchmarks.common import days, hartmann6, made_with
from uhebo_experiments.page import Page
from uhebo_experiments.peers.runs import muted
from uhebo_experiments.runner import compute
from uhebo_experiments.table import CLOCK, Record, Table

DIMENSION = 6
DISTRIBUTIONS: dict[str, optuna.distributions.BaseDistribution] = {
    f"x{i}": optuna.distributions.FloatDistribution(0.0, 1.0) for i in range(DIMENSION)
}
SIZES, QUICK = (20, 50, 100, 200, 500, 1000), (20, 50, 100)
LONG, LONG_SIZES, IN_A_ROW = "long.jsonl.gz", (500, 1000, 2000, 5000), 40
RUNS_MADE = 5
Ask = Callable[[Array, Array, int], list[float]]
"""(X, y, repeats) -> CPU seconds of each suggestion."""


@dataclass(frozen=True)
class Clock:
    """Suggestions of every library at so many points, in one process."""

    points: int
    run: int


@dataclass(frozen=True)
class Long:
    """Suggestions of the default in a row, where the log is long."""

    points: int
    run: int


def with_sampler(make: Callable[[], optuna.samplers.BaseSampler], pending: int = 0) -> Ask:
    """Time a sampler on a study that holds the data; each suggestion is evaluated and told."""

    def ask(X: Array, y: Array, repeats: int) -> list[float]:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(direction="maximize", sampler=make())
        for row, value in zip(X, y, strict=True):
            params = dict(zip(DISTRIBUTIONS, map(float, row), strict=True))
            study.add_trial(optuna.create_trial(params=params, distributions=DISTRIBUTIONS, value=float(value)))
        rng = np.random.default_rng(0)
        for row in rng.random((pending, DIMENSION)):
            params = dict(zip(DISTRIBUTIONS, map(float, row), strict=True))
            running = optuna.trial.TrialState.RUNNING
            study.add_trial(optuna.create_trial(params=params, distributions=DISTRIBUTIONS, state=running))
        seconds = []
        for _ in range(repeats):
            start = time.process_time()
            trial = study.ask(DISTRIBUTIONS)
            seconds.append(time.process_time() - start)
            study.tell(trial, float(hartmann6(np.array([[trial.params[name] for name in DISTRIBUTIONS]]))[0]))
        return seconds

    return ask


def uhebo(method: str, acquisition: AcquisitionName, prior: PriorName, pending: int = 0) -> Ask:
    return with_sampler(
        lambda: UHESampler(method=method, acquisition=acquisition, prior=prior, seed=0, n_trials=2000), pending
    )


def botorch(X: Array, y: Array, repeats: int) -> list[float]:
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    bounds = torch.tensor([[0.0] * DIMENSION, [1.0] * DIMENSION], dtype=torch.float64)
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        model = SingleTaskGP(torch.tensor(X), torch.tensor(y)[:, None])
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        point, _ = optimize_acqf(LogExpectedImprovement(model, y.max()), bounds, q=1, num_restarts=10, raw_samples=512)
        seconds.append(time.process_time() - start)
        X, y = np.concatenate([X, point.numpy()]), np.append(y, hartmann6(point.numpy()))
    return seconds


DEFAULT, ALONE, PENDING = "uhebo auto (default)", "uhebo map + LogEI", "uhebo map + LogEI, 20 pending"
OURS: dict[str, Ask] = {
    DEFAULT: with_sampler(lambda: UHESampler(seed=0)),
    ALONE: uhebo("map", "log-ei", "dim-scaled"),
    "uhebo uhe (model steps)": uhebo("consistent-only", "ucb", "paper"),
    PENDING: uhebo("map", "log-ei", "dim-scaled", pending=20),
}
PEERS: dict[str, Ask] = {
    "Optuna GPSampler": with_sampler(lambda: optuna.samplers.GPSampler(seed=0)),
    "the same, told that values are exact": with_sampler(
        lambda: optuna.samplers.GPSampler(seed=0, deterministic_objective=True)
    ),
    "BoTorch LogEI": botorch,
}


def repeats(name: str, n: int) -> int:
    """How often a library is asked; ours often enough to have its share of fits among them."""
    if name in OURS:
        return 15 if n >= 1000 else 9
    return 3 if n >= 500 else 7


def points_of(n: int, run: int) -> tuple[Array, Array]:
    X = np.random.default_rng([run, n]).random((n, DIMENSION))
    return X, hartmann6(X)


def measured(libraries: Mapping[str, Ask], n: int, run: int) -> list[Record]:
    """Mean CPU seconds of a suggestion, the first one left out; one record per library."""
    import torch  # before the limit: it would not hold for a library that is loaded later

    torch.set_num_threads(1)
    X, y = points_of(n, run)
    with threadpool_limits(1):
        return [
            {"library": name, "seconds": statistics.mean(ask(X, y, repeats(name, n))[1:])}
            for name, ask in libraries.items()
        ]


@muted()
def run_clock(cell: Clock) -> list[Record]:
    found = measured(OURS | PEERS, cell.points, cell.run)
    found[0]["peers"] = {name: importlib.metadata.version(name) for name in ("botorch", "torch")}
    return found


def run_long(cell: Long) -> list[Record]:
    """All seconds of so many suggestions in a row, the first one, which is cold, included."""
    with threadpool_limits(1):
        return [{"seconds": [round(s, 5) for s in OURS[DEFAULT](*points_of(cell.points, cell.run), IN_A_ROW)]}]


Seconds = dict[str, dict[int, list[float]]]
"""Library -> n -> mean seconds of each run."""


def by_library(runs: Iterable[tuple[Record, list[Record]]]) -> Seconds:
    found: Seconds = {}
    for header, records in sorted(runs, key=lambda item: (item[0]["points"], item[0]["run"])):
        for record in records:
            found.setdefault(record["library"], {}).setdefault(header["points"], []).append(record["seconds"])
    return found


def ratio_rows(seconds: Seconds) -> list[list[str]]:
    """The fastest of the others in a run by ours in the same run: mean over runs, and the least and the largest."""
    rows = []
    for name in (name for name in OURS if name != PENDING):
        ratios = {n: np.min([seconds[peer][n] for peer in PEERS], axis=0) / seconds[name][n] for n in seconds[name]}
        rows.append([name, *(f"{each.mean():.1f}× ({each.min():.1f} to {each.max():.1f})" for each in ratios.values())])
    return rows


def pending_row(seconds: Seconds) -> list[str]:
    ratios = [np.mean(np.divide(seconds[PENDING][n], seconds[ALONE][n])) for n in seconds[ALONE]]
    return ["20 pending / none", *(f"{ratio:.2f}" for ratio in ratios)]


def long_rows(runs: Iterable[tuple[Record, list[Record]]]) -> list[list[str]]:
    """Of all suggestions of all runs; the last column is of the run in which it is the largest."""
    by_size: dict[int, list[list[float]]] = {}
    for header, records in runs:
        by_size.setdefault(header["points"], []).append(records[0]["seconds"])
    rows = []
    for n, taken in sorted(by_size.items()):
        worst = max(max(each) / statistics.median(each) for each in taken)
        every = np.concatenate(taken)
        rows.append([f"{n:,}", *(f"{s:.3g}" for s in (every.mean(), np.median(every), every.max(), worst))])
    return rows


def write(folder: Path) -> Path:
    """The page from the records."""
    runs, long = list(Table(folder / CLOCK)), list(Table(folder / LONG))
    page = Page("Seconds of a suggestion")
    peers = {k: v for _, records in runs for k, v in records[0]["peers"].items()}
    page.text(
        "Made by `python -m uhebo_experiments.benchmarks.suggest`, which `make bench` calls; runs of "
        f"{made_with([*runs, *long])}, {', '.join(f'{name} {version}' for name, version in peers.items())}. CPU "
        "seconds on Hartmann6, one thread."
    )
    seconds = by_library(runs)
    sizes = [f"n = {n:,}" for n in seconds[DEFAULT]]
    made = len(next(iter(seconds[DEFAULT].values())))
    page.heading("One suggestion")
    of_runs = f", and of {made} runs with points of their own" if made > 1 else ""
    page.text(f"Mean of several in a row without the first{of_runs}.")
    rows = [[name, *(f"{np.mean(each):.3g}" for each in taken.values())] for name, taken in seconds.items()]
    page.table(["library", *sizes], rows, section="seconds")
    page.text("The fastest of the others / uhebo, in the same run: mean of all runs (least to largest).")
    page.table(["", *sizes], ratio_rows(seconds), section="ratios")
    page.text("What pending points cost:")
    page.table(["", *sizes], [pending_row(seconds)], section="pending")
    if long:
        page.heading("Long logs")
        page.text(
            f"{IN_A_ROW} suggestions of the default in a row, the first, cold one included; all of "
            f"{len({header['run'] for header, _ in long})} runs ({days(long)}). The last column is the largest ratio "
            "in one run."
        )
        page.table(["n", "mean", "median", "worst", "worst / median"], long_rows(long), section="long")
    return page.write(folder, "speed")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="n up to 100, one run, no long logs")
    parser.add_argument("--runs", type=int, default=RUNS_MADE)
    parser.add_argument("--page", action="store_true", help="run nothing, write the page from what is there")
    parser.add_argument("--out", type=Path, default=Path("results/speed"))
    given = parser.parse_args(arguments)
    if given.runs < 1:
        parser.error("--runs is a number of at least 1")
    if not given.page:
        runs = 1 if given.quick else given.runs
        # One at a time: seconds taken side by side would be those of a loaded machine.
        cells = [Clock(n, run) for run in range(runs) for n in (QUICK if given.quick else SIZES)]
        compute(cells, Table(given.out / CLOCK), run_clock, jobs=1, label="seconds")
        if not given.quick:
            long = [Long(n, run) for run in range(runs) for n in LONG_SIZES]
            compute(long, Table(given.out / LONG), run_long, jobs=1, label="long logs")
    written = write(given.out)
    print(written.with_suffix(".md").read_text(encoding="utf-8"))
    print(f"wrote {written}")


if __name__ == "__main__":
    main()
