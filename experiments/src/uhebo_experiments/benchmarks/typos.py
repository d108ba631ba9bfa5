"""Are mistyped values found, and right ones left alone? Slips planted into studies of 12 to 60 trials.

    python -m uhebo_experiments.benchmarks.typos [--studies 200] [--out results/typos.md]

A laboratory problem with five factors and five classics, their values brought to a response between 5 and 95 with noise
of 1.5, as a yield in per cent has. Half of the studies are made by the default, half at random. In each one trial,
drawn at random, gets its value ten times too large, and in a copy of wrong sign; a third copy stays as it is. A slip
counts as found if its trial is named, whatever its size: ten times almost nothing cannot be seen, and is among them.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution

import uhebo
from uhebo.diagnosis.slips import Slip, slips_among
from uhebo.gp.kernels import MATERN52
from uhebo.space import SearchSpace
from uhebo.types import Array
from uhebo_experiments.benchmarks.common import table
from uhebo_experiments.benchmarks.verdicts import LAB, lab_yield
from uhebo_experiments.problems import problem

CLASSICS = ("branin", "hartmann3", "hartmann6", "styblinski-tang-3d", "levy-4d")
SLIPS = {"none": 1.0, "ten times": 10.0, "sign": -1.0}
LOW, HIGH, NOISE, LAB_NOISE = 5.0, 95.0, 1.5, 1.0
FEWEST, MOST = 12, 60
SERIES = 2029
"""Seed of the studies reported; the limits were chosen on others."""


@dataclass(frozen=True)
class Response:
    """What is measured at a point, without noise."""

    name: str
    space: Mapping[str, BaseDistribution]
    value: Callable[[dict[str, Any]], float]
    noise: float


def responses() -> list[Response]:
    found = [Response("laboratory", LAB, lab_yield, LAB_NOISE)]
    for name in CLASSICS:
        function = problem(name)
        space = SearchSpace.of(function.space)
        rows = space.domain.uniform(np.random.default_rng(0), 500)
        seen = [function(**space.decode(row)) for row in rows]
        low, width = min(seen), max(seen) - min(seen)

        def value(p: dict[str, Any], f: Any = function, low: float = low, width: float = width) -> float:
            return float(LOW + (HIGH - LOW) * (f(**p) - low) / width)

        found.append(Response(name, function.space, value, NOISE))
    return found


@dataclass(frozen=True)
class Study:
    """Points and values of a study, and the trial in which a slip is to be planted."""

    response: str
    space: SearchSpace
    X: Array
    y: Array
    row: int

    def found(self, factor: float) -> tuple[Slip, ...]:
        """What is named where the value of that trial is multiplied by this."""
        told = self.y.copy()
        told[self.row] *= factor
        numbers, rng = np.arange(len(told)), np.random.default_rng(0)
        return slips_among(numbers, self.X, told, self.space.domain, MATERN52, 1.0, rng)


def made(response: Response, seed: int) -> Study:
    """By the default in even seeds, at random in odd ones."""
    rng = np.random.default_rng([SERIES, seed])
    sampler = uhebo.UHESampler(seed=seed) if seed % 2 == 0 else optuna.samplers.RandomSampler(seed=seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for _ in range(int(rng.integers(FEWEST, MOST + 1))):
        trial = study.ask(dict(response.space))
        study.tell(trial, response.value(trial.params) + response.noise * float(rng.standard_normal()))
    trials, space = study.trials, SearchSpace.of(response.space)
    y = np.array([trial.value for trial in trials], dtype=np.float64)
    return Study(response.name, space, space.encode_many([t.params for t in trials]), y, int(rng.integers(len(y))))


@dataclass(frozen=True)
class Outcome:
    """One study with one slip, or none."""

    response: str
    slip: str
    named: bool
    """The planted trial is named; where none was planted, any."""
    right: bool
    """The value that was told before is given back."""
    others: bool
    """A trial without a slip is named."""


def outcomes(study: Study) -> list[Outcome]:
    result = []
    for slip, factor in SLIPS.items():
        found = study.found(factor)
        mine = [each for each in found if each.number == study.row and factor != 1.0]
        right = any(np.isclose(each.meant, study.y[study.row], rtol=1e-9) for each in mine)
        others = len(found) > len(mine)
        result.append(Outcome(study.response, slip, bool(mine) if factor != 1.0 else bool(found), right, others))
    return result


def report(found: list[Outcome]) -> str:
    """Shares by slip, and by response."""
    names = list(dict.fromkeys(item.response for item in found))
    rows = []
    for name in [*names, "all"]:
        some = [item for item in found if name in (item.response, "all")]
        shares = {}
        for slip in SLIPS:
            of_it = [item for item in some if item.slip == slip]
            shares[slip] = f"{np.mean([item.named for item in of_it]):.1%}"
        planted = [item for item in some if item.slip != "none" and item.named]
        right = f"{np.mean([item.right for item in planted]):.1%}" if planted else "-"
        wrong = np.mean([item.others for item in some if item.slip != "none"])
        count = str(sum(item.slip == "none" for item in some))
        rows.append([name, count, shares["ten times"], shares["sign"], right, f"{wrong:.1%}", shares["none"]])
    columns = ["response", "studies", "ten times: named", "sign: named", "of those, the right value given"]
    return table([*columns, "another trial accused too", "without a slip: accused"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=200, help="studies, each with both slips and without")
    parser.add_argument("--out", type=Path, default=Path("results/typos.md"))
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    known = responses()
    found: list[Outcome] = []
    for seed in range(args.studies):
        found += outcomes(made(known[seed % len(known)], seed))
    day = datetime.datetime.now(tz=datetime.timezone.utc).date()
    head = (
        f"# Mistyped values\n\nuhebo {uhebo.__version__}, {day}; {args.studies} studies of {FEWEST} to {MOST} trials.\n"
    )
    args.out.write_text(f"{head}\n{report(found)}\n", encoding="utf-8")
    print(args.out.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
