"""How long a fit takes, and how good it is, against BoTorch and scikit-learn.

    python -m uhebo_experiments.benchmarks.fit [--quick]

One thread everywhere, 6-D (Hartmann6 at uniform points), y standardised. All three libraries maximise the same thing:
the log marginal likelihood of a zero-mean GP with a Matérn-5/2 ARD kernel, no prior, inside one box, from three starts.
What each of them found is evaluated by one likelihood (ours), so a difference is one of optimisation only. Times are
processor time: with one thread that is the time on an idle machine, and it stays so when others use the machine too.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from uhebo.estimate import consistent_estimate, map_estimate
from uhebo.estimate.consistent import BLOCK_SIZE
from uhebo.estimate.fit import fresh_starts, log_posterior
from uhebo.gp import Data, Theta, named_prior
from uhebo_experiments.benchmarks.common import hartmann6, heading, table

STARTS = 3
DIMENSION = 6
SIZES = (20, 50, 100, 200, 500, 1000)
FLAT = named_prior("flat", DIMENSION)


def data_set(n: int, seed: int) -> Data:
    X = np.random.default_rng([seed, n]).random((n, DIMENSION))
    return Data.of(X, hartmann6(X))


def fit_ours(data: Data, seed: int) -> Theta:
    # With the posterior, which the peers' fits leave ready for prediction as well.
    return map_estimate(data, prior=FLAT, rng=np.random.default_rng(seed), starts=STARTS).posterior.theta


def fit_sklearn(data: Data, seed: int) -> Theta:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    kernel = ConstantKernel(1.0, FLAT.signal_bounds) * Matern(
        [0.5] * DIMENSION, FLAT.lengthscale_bounds, nu=2.5
    ) + WhiteKernel(1e-3, FLAT.noise_bounds)
    model = GaussianProcessRegressor(kernel, alpha=0.0, n_restarts_optimizer=STARTS - 1, random_state=seed)
    model.fit(data.X, data.y)
    v, *ell, s2 = np.exp(model.kernel_.theta)
    return Theta.of(ell, v, s2)


def fit_botorch(data: Data, seed: int) -> Theta:
    """`fit_gpytorch_mll` from the starting points our own fit uses; the best end is kept."""
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.constraints import Interval
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood
    from gpytorch.means import ZeroMean
    from gpytorch.mlls import ExactMarginalLogLikelihood

    X, y = torch.tensor(data.X), torch.tensor(data.y)[:, None]
    rng = np.random.default_rng(seed)
    rng.permutation(len(data))  # our fit draws this first
    ends = []
    for start in fresh_starts(DIMENSION, STARTS, rng):
        base = MaternKernel(2.5, ard_num_dims=DIMENSION, lengthscale_constraint=Interval(*FLAT.lengthscale_bounds))
        kernel = ScaleKernel(base, outputscale_constraint=Interval(*FLAT.signal_bounds))
        likelihood = GaussianLikelihood(noise_constraint=Interval(*FLAT.noise_bounds))
        model = SingleTaskGP(
            X, y, likelihood=likelihood, covar_module=kernel, mean_module=ZeroMean(), outcome_transform=None
        )
        natural = torch.tensor(np.exp(start))
        base.lengthscale, kernel.outputscale, likelihood.noise = natural[:DIMENSION], natural[-2], natural[-1]
        mll = ExactMarginalLogLikelihood(likelihood, model)
        fit_gpytorch_mll(mll)
        model.train()
        with torch.no_grad():
            ends.append((mll(model(X), y[:, 0]).item(), base, kernel, likelihood))
    _, base, kernel, likelihood = max(ends, key=lambda end: end[0])
    return Theta.of(base.lengthscale.detach().numpy()[0], kernel.outputscale.item(), likelihood.noise.item())


def seconds(function: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Median processor time of some calls, and the last one's answer."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        answer = function()
        times.append(time.process_time() - begin)
    return median(times), answer


def peers_rows(sizes: Iterable[int]) -> Iterable[list[str]]:
    for n in sizes:
        seeds, ours_repeats, peer_repeats = (5, 5, 2) if n <= 100 else (3, 3, 1) if n <= 200 else (1, 3, 1)
        times: dict[str, list[float]] = {"ours": [], "botorch": [], "sklearn": []}
        better: dict[str, list[float]] = {"botorch": [], "sklearn": []}
        for seed in range(seeds):
            data = data_set(n, seed)
            target = log_posterior(data, "matern52", FLAT)
            reached = {}
            for name, fit in (("ours", fit_ours), ("botorch", fit_botorch), ("sklearn", fit_sklearn)):
                repeats = ours_repeats if name == "ours" else peer_repeats
                spent, theta = seconds(partial(fit, data, seed), repeats)
                times[name].append(spent)
                reached[name] = float(target(theta.to_log()[None])[0][0])
            for name in better:
                better[name].append(reached["ours"] - reached[name])
        ours = median(times["ours"])
        ratios = {name: median(b / o for b, o in zip(times[name], times["ours"], strict=True)) for name in better}
        yield [
            str(n),
            f"{1e3 * ours:.1f} ms",
            f"{1e3 * median(times['botorch']):.0f} ms",
            f"{1e3 * median(times['sklearn']):.0f} ms",
            f"{ratios['botorch']:.1f}×",
            f"{ratios['sklearn']:.1f}×",
            f"{median(better['botorch']):+.3f}",
            f"{median(better['sklearn']):+.3f}",
        ]


def map_seconds(data: Data, prior: str, repeats: int, seed: int) -> float:
    return seconds(lambda: map_estimate(data, prior=prior, rng=np.random.default_rng(seed)), repeats)[0]


def consistent_seconds(data: Data, prior: str, block_size: int | None, repeats: int, seed: int) -> float:
    def fit() -> object:
        return consistent_estimate(data, prior=prior, rng=np.random.default_rng(seed), block_size=block_size)

    return seconds(fit, repeats)[0]


def consistent_rows(quick: bool) -> Iterable[list[str]]:
    for prior in ("flat", "paper", "dim-scaled"):
        for n in (20, 50, 100, 200) if quick else (20, 50, 100, 200, 1000):
            block_size = BLOCK_SIZE if n > 200 else None
            ratios, maps = [], []
            for seed in range(5 if n <= 200 else 3):
                data, repeats = data_set(n, seed), 3 if n <= 200 else 1
                maps.append(map_seconds(data, prior, repeats, seed))
                ratios.append(consistent_seconds(data, prior, block_size, repeats, seed) / maps[-1])
            how = "exact" if block_size is None else f"blocks of {BLOCK_SIZE}"
            yield [prior, str(n), how, f"{1e3 * median(maps):.1f} ms", f"{median(ratios):.2f}×"]


def growth_rows(sizes: tuple[int, ...]) -> Iterable[list[str]]:
    spent = {}
    for n in sizes:
        spent[n] = median(consistent_seconds(data_set(n, seed), "dim-scaled", BLOCK_SIZE, 1, seed) for seed in range(3))
        exponent = math.log(spent[n] / spent[sizes[0]]) / math.log(n / sizes[0]) if n > sizes[0] else math.nan
        yield [str(n), f"{spent[n]:.2f} s", "" if math.isnan(exponent) else f"{exponent:.2f}"]


MEMORY_SCRIPT = """
import pathlib, re, numpy as np
import uhebo.estimate.fit as fit
from uhebo.gp import Data
# Not getrusage: Linux hands its ru_maxrss on to a child process, so here it would be the peak of this benchmark.
def peak(): return int(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1]) / 1024
before = peak()
fit.MAX_ROUNDS = 4
X = np.random.default_rng(0).random((2000, 20))
fit.map_estimate(Data.of(X, np.sin(3 * X).sum(axis=1)), prior="dim-scaled", rng=np.random.default_rng(0)).posterior
print(before, peak())
"""


def memory_rows() -> Iterable[list[str]]:
    out = subprocess.run([sys.executable, "-c", MEMORY_SCRIPT], check=True, capture_output=True, text=True).stdout
    before, peak = map(float, out.split())
    yield [f"{peak:.0f} MiB", f"{before:.0f} MiB", f"{peak - before:.0f} MiB"]


def import_rows() -> Iterable[list[str]]:
    spent = {}
    for module in ("uhebo", "optuna"):
        script = f"import time; import {module}; print(time.process_time())"
        command = [sys.executable, "-c", script]
        runs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(5)]
        spent[module] = median(float(out) for out in runs)
    yield [f"{spent['uhebo']:.2f} s", f"{spent['optuna']:.2f} s", f"{spent['uhebo'] / spent['optuna']:.2f}×"]


def show(columns: list[str], rows: Iterable[list[str]]) -> None:
    print(table(columns, list(rows)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="n up to 200 only, about two minutes")
    quick = parser.parse_args().quick
    import torch

    torch.set_num_threads(1)
    print(heading("Fits, Hartmann6 data, one thread, CPU time", ("botorch", "gpytorch", "torch", "scikit-learn")))
    warnings.simplefilter("ignore")  # the peers warn of bounds reached and of retries
    with threadpool_limits(1):
        heads = ["n", "uhebo", "BoTorch", "scikit-learn", "BoTorch / uhebo", "scikit-learn / uhebo"]
        heads += ["log likelihood, uhebo - BoTorch", "uhebo - scikit-learn"]
        show(heads, peers_rows([n for n in SIZES if n <= 200 or not quick]))
        show(["prior", "n", "consistent loss (M = 2n)", "map", "consistent / map"], consistent_rows(quick))
        sizes = (500, 1000) if quick else (500, 1000, 2000, 4000)
        show(
            ["n", f"consistent in blocks of {BLOCK_SIZE}", f"growth exponent since n = {sizes[0]}"], growth_rows(sizes)
        )
    show(["peak memory, n = 2000, d = 20", "after import", "of the fit"], memory_rows())
    show(["import uhebo", "import optuna", "ratio"], import_rows())


if __name__ == "__main__":
    main()
