"""For researchers: an estimator and a strategy of your own, each a plain function, used like ours.

    python examples/add_a_method.py [--trials 25]

An estimator gives the Gaussian process its hyperparameters; a strategy says what the next point is. Both are compared
with what is there already, on the same problem and seeds.
"""

from __future__ import annotations

import argparse

import numpy as np

import uhebo
from uhebo import estimate
from uhebo.estimate import Fit, map_estimate
from uhebo.gp import Data, Kernel, Prior, Theta
from uhebo.methods import Proposal, Step
from uhebo.types import Rng
from uhebo_experiments import problem


# An estimator: (data, *, kernel, prior, rng, warm) -> Fit. This one fits half of the data, drawn at random, several
# times over and keeps the lengthscales in the middle: one crowd of points near the optimum does not decide them.
def median_of_halves(
    data: Data, *, kernel: Kernel, prior: Prior, rng: Rng, warm: Theta | None = None, rounds: int = 5
) -> Fit:
    thetas = []
    for _ in range(rounds):
        rows = rng.choice(len(data), size=max(1, len(data) // 2), replace=False)
        fit = map_estimate(data.subset(rows), kernel=kernel, prior=prior, rng=rng, warm=warm, starts=1)
        thetas.append(fit.theta.to_log())
    middle = Theta.from_log(np.median(thetas, axis=0))
    return Fit("median-of-halves", prior.name, data, kernel, (middle,), fit.log_posterior, fit.converged, rounds, 0, 0)


# A strategy: Step -> Proposal. It sees the history and its own place in it, and ends in step.random() or step.model().
# This one explores when the last three model points brought nothing new.
def random_when_stuck(step: Step) -> Proposal:
    values = [trial.y for trial in step.history.finished if trial.y is not None]
    stuck = len(values) > 3 and max(values[-3:]) < max(values[:-3])
    if stuck and step.slot.t % 2:
        return step.random(why="stuck")  # tags are stored with the trial
    return step.model("median-of-halves")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=25)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    estimate.register("median-of-halves", median_of_halves)
    uhebo.register("random-when-stuck", random_when_stuck)
    target = problem("branin")
    for method in ("random-when-stuck", "map", "random"):
        found = [
            uhebo.maximize(target, target.space, options.trials, seed=seed, method=method).best_value
            for seed in range(options.seeds)
        ]
        print(f"{method:18s} best of {options.trials} trials, median of {options.seeds} seeds: {np.median(found):.3f}")
    print(f"{'':18s} the maximum is {target.optimum:.3f}")


if __name__ == "__main__":
    main()
