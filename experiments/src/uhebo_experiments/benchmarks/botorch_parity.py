"""A SingleTaskGP fitted by the consistent loss against our own `consistent-only`: the same regret?

    python -m uhebo_experiments.benchmarks.botorch_parity [--seeds 10] [--steps 30]

Both start from the same 3d random points and use UCB with 1.96 deviations, a Matérn-5/2 kernel and the paper's prior.
BoTorch fits with `fit_gpytorch_mll` from one start and maximises with `optimize_acqf`. Regret is the simple one, that
of the best point so far. Prints the mean and s.e. of its logarithm for both, and of the paired difference.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import optuna

import uhebo
from uhebo.types import Array
from uhebo_experiments.benchmarks.common import heading, table
from uhebo_experiments.problems import problem
from uhebo_experiments.problems.synthetic import Problem

PROBLEMS = ("branin", "hartmann3")
DEVIATIONS = 1.96
LEAST = 1e-9
"""Regrets are cut off here before the logarithm."""


def ours(target: Problem, seed: int, steps: int) -> tuple[Array, Array]:
    """Points in the unit cube (n, d) and values (n,) of `consistent-only`."""
    trials = 3 * target.dimension + steps
    options: dict[str, Any] = {"acquisition": "ucb", "beta": DEVIATIONS, "prior": "paper", "kernel": "matern52"}
    result = uhebo.maximize(target, target.space, trials, seed=seed, method="consistent-only", **options)
    rows = [[trial.params[name] for name in target.space] for trial in result.study.trials]
    low, high = bounds(target)
    return (np.array(rows) - low) / (high - low), np.array([trial.value for trial in result.study.trials])


def botorch(target: Problem, X: Array, y: Array, seed: int, steps: int) -> Array:
    """Values (n,) after `steps` more points by BoTorch from the design (X, y)."""
    import torch
    from botorch.acquisition import UpperConfidenceBound
    from botorch.optim import optimize_acqf

    from uhebo.integrations.botorch import fit_consistent

    torch.manual_seed(seed)
    torch.set_num_threads(1)  # matrices of 80 rows: threads cost more than they save
    cube = torch.stack([torch.zeros(target.dimension), torch.ones(target.dimension)]).double()
    low, high = bounds(target)
    for step in range(steps):
        model = single_task_gp(X, y)
        fit_consistent(model, prior="paper", seed=1000 * seed + step)
        acquisition = UpperConfidenceBound(model, beta=DEVIATIONS**2)
        point, _ = optimize_acqf(acquisition, cube, q=1, num_restarts=4, raw_samples=128)
        row = point.numpy()
        natural = (low + row * (high - low))[0]
        value = target(**dict(zip(target.space, map(float, natural), strict=True)))
        X, y = np.concatenate([X, row]), np.append(y, value)
    return y


def single_task_gp(X: Array, y: Array) -> Any:
    """A SingleTaskGP with the kernel, the box and the zero mean of our engine, started at a moderate theta."""
    import torch
    from botorch.models import SingleTaskGP
    from gpytorch.constraints import GreaterThan
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood
    from gpytorch.means import ZeroMean

    kernel = MaternKernel(2.5, ard_num_dims=X.shape[1], lengthscale_constraint=GreaterThan(5e-3))
    model = SingleTaskGP(
        torch.from_numpy(X),
        torch.from_numpy(y)[:, None],
        likelihood=GaussianLikelihood(noise_constraint=GreaterThan(1e-6)),
        covar_module=ScaleKernel(kernel, outputscale_constraint=GreaterThan(1e-3)),
        mean_module=ZeroMean(),
    )
    model.covar_module.base_kernel.lengthscale = 0.5
    model.covar_module.outputscale = 1.0
    model.likelihood.noise = 1e-3
    return model


def bounds(target: Problem) -> tuple[Array, Array]:
    pairs: list[Any] = [(d.low, d.high) for d in target.space.values()]  # type: ignore[attr-defined]
    low, high = np.array(pairs, dtype=np.float64).T
    return low, high


def log_regrets(name: str, seed: int, steps: int) -> tuple[float, float]:
    """log10 of the simple regret of ours and of BoTorch's."""
    target = problem(name)
    assert target.optimum is not None
    X, y = ours(target, seed, steps)
    initial = 3 * target.dimension
    theirs = botorch(target, X[:initial], y[:initial], seed, steps)
    ends = [float(np.log10(max(target.optimum - values.max(), LEAST))) for values in (y, theirs)]
    return ends[0], ends[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rows = []
    for name in PROBLEMS:
        found = []
        for seed in range(options.seeds):
            found.append(log_regrets(name, seed, options.steps))
            print(f"{name} seed {seed}: {found[-1][0]:.2f} {found[-1][1]:.2f}", flush=True)
        pairs = np.array(found)
        columns = [*pairs.T, pairs[:, 1] - pairs[:, 0]]
        error = np.sqrt(options.seeds)
        rows.append([name, *(f"{c.mean():.2f} ± {c.std(ddof=1) / error:.2f}" for c in columns)])
    title = f"log10 simple regret after {options.steps} steps, mean ± s.e. of seeds 0-{options.seeds - 1}"
    print(heading(title, ("botorch", "gpytorch", "torch", "optuna")))
    print(table(["problem", "uhebo consistent-only", "SingleTaskGP, consistent loss", "difference"], rows))


if __name__ == "__main__":
    main()
