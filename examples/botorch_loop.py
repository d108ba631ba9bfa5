"""BoTorch: keep your loop, your SingleTaskGP and your acquisition; change how the hyperparameters are found.

    python examples/botorch_loop.py [--trials 15]

Two ways in one loop: odd steps fit a SingleTaskGP by the consistent loss, even steps take the whole model from uhebo.
Needs PyTorch: pip install torch==2.13.0, then pip install 'uhebo[botorch]'.
"""

from __future__ import annotations

import argparse

import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.test_functions import Hartmann

from uhebo.integrations.botorch import UHEModel, fit_consistent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=15)
    options = parser.parse_args()
    torch.manual_seed(0)
    problem = Hartmann(dim=3, negate=True)
    cube = problem.bounds.double()  # already the unit cube
    X = torch.rand(9, 3, dtype=torch.float64)
    Y = problem(X).unsqueeze(-1)
    for step in range(1, options.trials + 1):
        if step % 2:
            model = fit_consistent(SingleTaskGP(X, Y), seed=step)
        else:
            model = UHEModel.fitted(X, Y, estimator="consistent", seed=step)
        acquisition = LogExpectedImprovement(model, best_f=Y.max())
        point, _ = optimize_acqf(acquisition, cube, q=1, num_restarts=4, raw_samples=64)
        X, Y = torch.cat([X, point]), torch.cat([Y, problem(point).unsqueeze(-1)])
        print(f"step {step:2d}  {type(model).__name__:12s}  best {Y.max():.4f} of {problem.optimal_value:.4f}")


if __name__ == "__main__":
    main()
