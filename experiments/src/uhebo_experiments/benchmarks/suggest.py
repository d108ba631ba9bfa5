"""CPU seconds for one suggestion with n observations, against Optuna's GPSampler and BoTorch.

    python -m uhebo_experiments.benchmarks.suggest [--quick]

Hartmann6 data, uniform, one thread, all in one run. Each library is asked several times in a row, as in use (so warm
starts count), and the mean of all but the first, which starts cold, is taken. A median would read uhebo off between two
fits: with many observations it keeps hyperparameters for several suggestions. For the same reason it is asked more
often there; the others fit every time. uhebo and Optuna run as samplers of an in-memory study; BoTorch fits a
SingleTaskGP and maximises LogEI with 10 restarts and 512 raw samples. For `uhe` only its model steps are timed: its
random steps cost nothing and would flatter it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import optuna
from threadpoolctl import threadpool_limits

from uhebo import UHESampler
from uhebo.acquire.functions import AcquisitionName
from uhebo.gp.priors import PriorName
from uhebo.types import Array
from uhebo_experiments.benchmarks.common import hartmann6, heading, table

DIMENSION = 6
DISTRIBUTIONS: dict[str, optuna.distributions.BaseDistribution] = {
    f"x{i}": optuna.distributions.FloatDistribution(0.0, 1.0) for i in range(DIMENSION)
}
LONG, IN_A_ROW = (500, 1000, 2000, 5000), 40
OURS = ("uhebo auto (default)", "uhebo map + LogEI", "uhebo uhe (model steps)")
PEERS = ("Optuna GPSampler", "BoTorch LogEI")
Ask = Callable[[Array, Array, int], list[float]]
"""(X, y, repeats) -> CPU seconds of each suggestion."""


def with_sampler(make: Callable[[], optuna.samplers.BaseSampler], pending: int = 0) -> Ask:
    """Time a sampler on a study that holds the data; each suggestion is evaluated and told."""

    def ask(X: Array, y: Array, repeats: int) -> list[float]:
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


def repeats(name: str, n: int) -> int:
    """How often a library is asked; ours often enough to have its share of fits among them."""
    if name.startswith("uhebo"):
        return 15 if n >= 1000 else 9
    return 3 if n >= 500 else 7


def measured(libraries: Mapping[str, Ask], sizes: Sequence[int]) -> dict[tuple[str, int], float]:
    """(library, n) -> mean CPU seconds of a suggestion, the first one left out."""
    import torch  # before the limit: it would not hold for a library that is loaded later

    torch.set_num_threads(1)
    mean: dict[tuple[str, int], float] = {}
    with threadpool_limits(1):
        for n in sizes:
            X = np.random.default_rng(n).random((n, DIMENSION))
            y = hartmann6(X)
            for name, ask in libraries.items():
                mean[name, n] = statistics.mean(ask(X, y, repeats(name, n))[1:])
    return mean


def long_logs(ask: Ask) -> str:
    """Where the log is long: mean, median and worst of so many suggestions in a row, the first one, which is cold,
    included."""
    rows = []
    with threadpool_limits(1):
        for n in LONG:
            X = np.random.default_rng(n).random((n, DIMENSION))
            took = ask(X, hartmann6(X), IN_A_ROW)
            middle, worst = statistics.median(took), max(took)
            rows.append([f"{n:,}", *(f"{s:.3g}" for s in (statistics.mean(took), middle, worst, worst / middle))])
    return table([f"{OURS[0]}: n", f"mean of {IN_A_ROW}", "median", "worst", "worst / median"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="n up to 100 and fewer repeats")
    quick = parser.parse_args().quick
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sizes = (20, 50, 100) if quick else (20, 50, 100, 200, 500, 1000)
    libraries: dict[str, Ask] = {
        "uhebo auto (default)": with_sampler(lambda: UHESampler(seed=0)),
        "uhebo map + LogEI": uhebo("map", "log-ei", "dim-scaled"),
        "uhebo uhe (model steps)": uhebo("consistent-only", "ucb", "paper"),
        "uhebo map + LogEI, 20 pending": uhebo("map", "log-ei", "dim-scaled", pending=20),
        "Optuna GPSampler": with_sampler(lambda: optuna.samplers.GPSampler(seed=0)),
        "BoTorch LogEI": botorch,
    }
    print(heading("Seconds (CPU) per suggestion, Hartmann6, one thread", ("optuna", "botorch", "torch")))
    mean = measured(libraries, sizes)
    print(
        table(
            ["library", *(f"n = {n}" for n in sizes)],
            [[name, *(f"{mean[name, n]:.3g}" for n in sizes)] for name in libraries],
        )
    )
    rows = []
    for name in OURS:
        ratios = [min(mean[peer, n] for peer in PEERS) / mean[name, n] for n in sizes]
        rows.append([f"faster peer / {name}", *(f"{ratio:.1f}×" for ratio in ratios)])
    with_and_without = [mean["uhebo map + LogEI, 20 pending", n] / mean["uhebo map + LogEI", n] for n in sizes]
    rows.append(["20 pending / none", *(f"{ratio:.2f}" for ratio in with_and_without)])
    print(table(["ratio", *(f"n = {n}" for n in sizes)], rows))
    if not quick:
        print(long_logs(libraries[OURS[0]]))


if __name__ == "__main__":
    main()
