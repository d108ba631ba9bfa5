"""Where the time of one suggestion goes, and how it grows with the number of observations and parameters.

    python -m uhebo_experiments.benchmarks.where_time_goes [--method auto] [--repeats 16]

CPU time on one thread, mean of `repeats` suggestions in a row after the first (which starts cold); data are uniform
points of a smooth function of all parameters. `fit` is the search for theta, `posterior` the factorisation of the
covariance at the theta found, `maximise` the search for the best point of the acquisition, `rest` everything else:
reading the study, checking, storing, and Optuna itself.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution

from uhebo import UHESampler
from uhebo.acquire.maximise import maximise
from uhebo.gp import Posterior
from uhebo.methods import Step
from uhebo.numerics.threads import single_threaded
from uhebo.types import Array
from uhebo_experiments.benchmarks.common import heading, table

SIZES = ((20, 6), (50, 6), (100, 6), (200, 6), (500, 6), (1000, 6), (2000, 6), (200, 2), (200, 20), (200, 50))
PARTS = ("fit", "posterior", "maximise")


def smooth(X: Array) -> Array:
    return np.asarray(np.cos(3.0 * X).sum(axis=1) + (X[:, 0] - 0.3) ** 2)


@contextlib.contextmanager
def clocks() -> Iterator[dict[str, float]]:
    """CPU seconds of each part, a part inside another counted once."""
    spent: dict[str, float] = defaultdict(float)
    inside: list[str] = []

    def clocked(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **options: Any) -> Any:
            start = time.process_time()
            inside.append(part)
            try:
                return function(*args, **options)
            finally:
                inside.pop()
                took = time.process_time() - start
                spent[part] += took
                if inside:
                    spent[inside[-1]] -= took

        return wrapper

    with (
        mock.patch.object(Step, "fit", clocked("fit", Step.fit)),
        mock.patch("uhebo.methods.step.maximise", clocked("maximise", maximise)),
        mock.patch.object(Posterior, "of", clocked("posterior", Posterior.of)),
    ):
        yield spent


@single_threaded
def measure(method: str, points: int, dimension: int, repeats: int) -> dict[str, float]:
    """Mean CPU milliseconds of each part."""
    space: dict[str, BaseDistribution] = {f"x{i}": FloatDistribution(0.0, 1.0) for i in range(dimension)}
    sampler = UHESampler(method=method, seed=0, n_startup_trials=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    X = np.random.default_rng(0).random((points, dimension))
    for row, value in zip(X, smooth(X), strict=True):
        params = dict(zip(space, map(float, row), strict=True))
        study.add_trial(optuna.create_trial(params=params, distributions=space, value=float(value)))
    total = 0.0
    with clocks() as spent:
        for number in range(repeats + 1):
            start = time.process_time()
            trial = study.ask(space)
            if number:
                total += time.process_time() - start
            else:
                spent.clear()
            study.tell(trial, float(smooth(np.array([list(trial.params.values())]))[0]))
    parts = {part: 1e3 * spent[part] / repeats for part in PARTS}
    return {**parts, "rest": 1e3 * total / repeats - sum(parts.values()), "all": 1e3 * total / repeats}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--repeats", type=int, default=16)
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rows = []
    for points, dimension in SIZES:
        spent = measure(options.method, points, dimension, options.repeats)
        rows.append([str(points), str(dimension), *(f"{spent[part]:.1f}" for part in (*PARTS, "rest", "all"))])
    print(heading(f"Milliseconds (CPU) of a suggestion by {options.method!r}, one thread", ("optuna",)))
    print(table(["n", "d", *PARTS, "rest", "all"], rows))


if __name__ == "__main__":
    main()
