"""Are verdicts and importances right? Thirty studies whose truth is known.

    python -m uhebo_experiments.benchmarks.verdicts [--seeds 6] [--out results/verdicts.md]

Five kinds of study, `--seeds` of each: smooth, noisy, misleading (the model's assumptions are visibly broken: a jump, a
fast wiggle in one part, trials in a heap, nothing but noise, a typo), too few trials, and a laboratory problem with
five factors, one of them a category. Half of the studies are sampled by the default, half at random. Printed: each
verdict beside those that would be right, and how many of the 90 % intervals of the importances hold the true total
Sobol index (of the noise-free function over the space, by `scipy.stats.sobol_indices`).
"""

from __future__ import annotations

import argparse
import datetime
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.stats import sobol_indices, uniform

import uhebo
from uhebo.diagnosis import Diagnosis, diagnose
from uhebo.space import SearchSpace
from uhebo.types import Array, Rng
from uhebo_experiments.benchmarks.common import table
from uhebo_experiments.revision import revision

Params = Mapping[str, Any]
TRUSTED, DOUBTED = ("trust",), ("caution", "do not trust")
ANY = TRUSTED + DOUBTED
LOG2_POINTS = 13
SERIES = 2028
"""Seed of the studies reported; how functions are weighed was chosen on the series 2026 and 2027."""


@dataclass(frozen=True)
class Known:
    """A study to be made: the noise-free function, what is added to it, how it is sampled, and the right verdicts."""

    kind: str
    name: str
    space: dict[str, BaseDistribution]
    truth: Callable[[Params], float]
    right: tuple[str, ...]
    trials: int
    noise: float = 0.0
    heap: bool = False
    """All but five trials in one corner of a fiftieth of the space."""
    typo: int | None = None
    """Number of a trial whose value is a hundred times too large."""
    importances: bool = True
    """Whether its intervals count; not where there is nothing to find but noise or an error."""


def _floats(count: int) -> dict[str, BaseDistribution]:
    return {name: FloatDistribution(0.0, 1.0) for name in "abcdef"[:count]}


LAB: dict[str, BaseDistribution] = {
    "temperature": FloatDistribution(20.0, 90.0),
    "loading": FloatDistribution(0.5, 10.0, log=True),
    "time": IntDistribution(1, 24),
    "solvent": CategoricalDistribution(["THF", "DMF", "water"]),
    "stirring": FloatDistribution(100.0, 900.0),
}


def lab_yield(p: Params) -> float:
    """Per cent, between 0 and about 80."""
    warm = math.exp(-(((p["temperature"] - 65.0) / 22.0) ** 2))
    loaded = 1.0 - math.exp(-p["loading"] / 2.0)
    late = 1.0 - math.exp(-p["time"] / 5.0)
    return 80.0 * warm * loaded * late * {"THF": 1.0, "DMF": 0.75, "water": 0.3}[p["solvent"]]


def smooth_in_two(p: Params, w: Array) -> float:
    return math.sin(5 * w[0] * p["a"]) + float(w[1]) * math.cos(4 * p["b"])


def smooth_in_three(p: Params, w: Array) -> float:
    return float(w[0] * p["a"] * p["b"] + 0.5 * w[1] * (p["b"] - 0.4) ** 2 + 0.3 * math.sin(4 * p["c"]))


def wiggle_in_one_part(p: Params, w: Array) -> float:
    return float(p["a"] + (math.sin(60 * p["a"]) if p["a"] > 0.5 + 0.1 * w[0] else 0.0))


def jumping(p: Params, w: Array) -> float:
    return float(0.3 * w[0] * p["a"] + 0.3 * w[1] * p["b"] + (p["a"] > 0.4 + 0.2 * w[2]))


def rough_in_six(p: Params, w: Array) -> float:
    return sum(math.sin(9 * w[i] * p[name] + i) for i, name in enumerate("abcdef"))


def studies(seeds: int = 6) -> list[Known]:
    """`seeds` of each kind."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng([SERIES, seed, 0])
        w = rng.uniform(0.5, 1.5, 6)
        smooth = partial(smooth_in_two, w=w), partial(smooth_in_three, w=w)
        wiggle, jump, rough = (partial(function, w=w) for function in (wiggle_in_one_part, jumping, rough_in_six))
        kind = seed % 2
        found += [
            Known("smooth", f"{2 + kind} parameters", _floats(2 + kind), smooth[kind], TRUSTED, 40),
            Known("noisy", f"{2 + kind} parameters", _floats(2 + kind), smooth[kind], ANY, 50, noise=0.1 + 0.05 * kind),
            (
                Known("misleading", "wiggle in one part", _floats(1), wiggle, DOUBTED, 40),
                Known("misleading", "jump", _floats(2), jump, DOUBTED, 40),
                Known("misleading", "trials in a heap", _floats(2), smooth[0], DOUBTED, 30, heap=True),
                Known("misleading", "only noise", _floats(2), lambda _: 0.0, DOUBTED, 40, 1.0, importances=False),
                Known("misleading", "typo", _floats(2), smooth[0], DOUBTED, 30, typo=7, importances=False),
                Known("misleading", "jump", _floats(2), jump, DOUBTED, 40),
            )[seed % 6],
            Known("too few", "6 parameters", _floats(6), rough, DOUBTED, 10 + seed),
            Known("laboratory", "5 factors", LAB, lab_yield, ANY, 19 + 3 * seed, noise=1.0),
        ]
    return found


def made(known: Known, seed: int) -> optuna.Study:
    """The study: by the default in even seeds, at random in odd ones and where the points themselves are the trap."""
    rng = np.random.default_rng([SERIES, seed, 1])
    own = seed % 2 == 0 and known.kind not in ("misleading", "too few")
    sampler = uhebo.UHESampler(seed=seed) if own else optuna.samplers.RandomSampler(seed=seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for number in range(known.trials):
        if known.heap and number >= 5:
            study.enqueue_trial({name: 0.7 + 0.02 * float(rng.random()) for name in known.space})
        trial = study.ask(known.space)
        value = known.truth(trial.params) + known.noise * float(rng.standard_normal())
        study.tell(trial, 100.0 * (1.0 + abs(value)) if number == known.typo else value)
    return study


def true_indices(known: Known) -> dict[str, float]:
    """Total Sobol indices of the noise-free function over the space."""
    space = SearchSpace.of(known.space)
    if len(space.names) == 1:
        return {space.names[0]: 1.0}

    def values(units: Array) -> Array:
        rows = units.T.copy()
        for column in space.domain.categorical:
            rows[:, column] = np.floor(rows[:, column] * space.domain.categories[column])
        return np.array([known.truth(space.decode(row)) for row in space.snap(rows)])

    rng: Rng = np.random.default_rng(0)
    indices = sobol_indices(func=values, n=2**LOG2_POINTS, dists=[uniform()] * len(space.names), random_state=rng)
    return dict(zip(space.names, np.clip(indices.total_order, 0.0, 1.0).tolist(), strict=True))


@dataclass(frozen=True)
class Checked:
    """A diagnosis beside the truth."""

    known: Known
    found: Diagnosis
    truth: dict[str, float]

    @property
    def right(self) -> bool:
        return self.found.verdict in self.known.right

    @property
    def covered(self) -> list[bool]:
        """For each parameter whether its interval holds the truth, to within half a per cent of the variation."""
        held = []
        for item in self.found.importance:
            assert item.total_low is not None
            assert item.total_high is not None
            held.append(item.total_low - 0.005 <= self.truth[item.name] <= item.total_high + 0.005)
        return held


def check(known: Known, seed: int) -> Checked:
    counted = known.importances
    return Checked(known, diagnose(made(known, seed), hmc=False), true_indices(known) if counted else {})


def report(checked: list[Checked]) -> str:
    """Verdicts and coverage by kind, then every study."""
    kinds = list(dict.fromkeys(item.known.kind for item in checked))
    rows = []
    for kind in [*kinds, "all"]:
        some = [item for item in checked if kind in (item.known.kind, "all")]
        held = [value for item in some if item.truth for value in item.covered]
        right = f"{sum(item.right for item in some)} of {len(some)}"
        rows.append([kind, right, f"{sum(held)} of {len(held)} ({np.mean(held):.0%})" if held else "-"])
    single = [
        [
            item.known.kind,
            item.known.name,
            str(item.known.trials),
            f"{item.found.verdict} ({item.found.kind})" + ("" if item.right else " **wrong**"),
            ", ".join(
                f"{row.name} {item.truth[row.name]:.2f} [{row.total_low:.2f}, {row.total_high:.2f}]"
                for row in item.found.importance
            )
            if item.truth
            else "-",
        ]
        for item in checked
    ]
    columns = ["kind", "study", "trials", "verdict", "true total index [90 % interval]"]
    return table(["kind", "right verdicts", "intervals that hold the truth"], rows) + "\n" + table(columns, single)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=6, help="studies of each kind")
    parser.add_argument("--out", type=Path, help="also write the tables to this file")
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    known = studies(options.seeds)
    checked = [check(item, index // 5) for index, item in enumerate(known)]
    text = report(checked)
    print(text)
    if options.out is not None:
        day = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
        options.out.write_text(f"# Verdicts on studies with known truth\n\nuhebo {revision()}, {day}.\n\n{text}")


if __name__ == "__main__":
    main()
