"""How long a fit of the consistent loss takes under each reading, beside a MAP fit in the same run.

    python -m uhebo_experiments.benchmarks.fit_readings [--sizes 100,200,500,1000,2000] [--sets 5]

Hartmann6 at uniform points, the paper's prior, one thread, processor time, M = 2n, the loss in full or in blocks as the
sampler takes it. A ratio is the median over sets of points, on each of which the fits take turns. The growth is the
power of n with which the time of `distinct` grows from one size to the next. To be reached: `observed` and `distinct`
within 1.3 times MAP at n = 200, and linear growth from n = 500 on.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median

import numpy as np
from threadpoolctl import threadpool_limits

from uhebo.estimate import READINGS, Reading, consistent_estimate, default_block_size, map_estimate
from uhebo.gp import Data
from uhebo_experiments.benchmarks.common import heading, table
from uhebo_experiments.benchmarks.fit import data_set, seconds

SIZES, SETS = (100, 200, 500, 1000, 2000), 5
PRIOR = "paper"
REPEATS = 3
WITHIN = 1.3
"""Aim: times MAP."""


def measured(n: int, sets: int) -> dict[str, list[float]]:
    """Seconds of a fit by MAP and under each reading, by set of points."""
    took: dict[str, list[float]] = {}
    for seed in range(sets):
        data = data_set(n, seed)
        took.setdefault("map", []).append(seconds(partial(_map, data, seed), REPEATS)[0])
        for reading in READINGS:
            took.setdefault(reading, []).append(seconds(partial(_consistent, data, seed, reading), REPEATS)[0])
    return took


def _map(data: Data, seed: int) -> object:
    return map_estimate(data, prior=PRIOR, rng=np.random.default_rng(seed))


def _consistent(data: Data, seed: int, reading: Reading) -> object:
    rng, size = np.random.default_rng(seed), default_block_size(len(data))
    return consistent_estimate(data, prior=PRIOR, rng=rng, block_size=size, reading=reading)


def rows(took: Mapping[int, Mapping[str, Sequence[float]]]) -> list[list[str]]:
    """Milliseconds of MAP, ratios to it, and growth, one row per size."""
    made: list[list[str]] = []
    before: int | None = None
    for n, of in took.items():
        ratios = [median(a / b for a, b in zip(of[reading], of["map"], strict=True)) for reading in READINGS]
        growth = ""
        if before is not None:
            grown = median(of["distinct"]) / median(took[before]["distinct"])
            growth = f"{math.log(grown) / math.log(n / before):.2f}"
        made.append([str(n), f"{1e3 * median(of['map']):.1f}", *(f"{ratio:.2f}×" for ratio in ratios), growth])
        before = n
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=lambda text: [int(n) for n in text.split(",")], default=list(SIZES))
    parser.add_argument("--sets", type=int, default=SETS, help="sets of points")
    given = parser.parse_args(arguments)
    with threadpool_limits(1):
        took = {n: measured(n, given.sets) for n in sorted(given.sizes)}
    print(heading("A fit by reading, beside MAP: Hartmann6 data, one thread, CPU time", ("threadpoolctl",)))
    print(table(["n", "MAP, ms", *(f"{reading} / MAP" for reading in READINGS), "growth of distinct"], rows(took)))
    print(f"Aim: observed and distinct within {WITHIN:g}× at n = 200.")


if __name__ == "__main__":
    main()
