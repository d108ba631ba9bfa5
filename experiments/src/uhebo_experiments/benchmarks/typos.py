"""Are mistyped values found, and right ones left alone? Slips planted into studies of 12 to 60 trials; and searches of
functions that nobody typed.

    python -m uhebo_experiments.benchmarks.typos [--studies 200] [--searches 40] [--jobs 1] [--judge | --tells]
                                                 [--series 2043] [--out results/typos]

A laboratory problem with five factors and five classics, their values brought to a response between 5 and 95 with noise
of 1.5, as a yield in per cent has. Half of the studies are made by the default, half at random. In each one trial,
drawn at random, gets its value ten times too large, and in a copy of wrong sign; a third copy stays as it is. A slip
counts as found if its trial is named, whatever its size: ten times almost nothing cannot be seen, and is among them.
The searches are of functions as programs compute them (`code_like`), so many of each family; there, every value that
is named is named wrongly.

Finished studies are kept, with their points and values; `--judge` looks for slips in them anew. `--tells` looks at
every tell, from the first to the last, as the shell does (`uhebo.diagnosis.suspicious`), and counts studies in which
anybody was accused at any time: looking often finds more by chance.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from scipy.optimize import minimize

import uhebo
from uhebo.diagnosis.slips import Slip, slips_among
from uhebo.diagnosis.suspicious import enough, standing
from uhebo.gp.kernels import MATERN52
from uhebo.numerics.threads import single_threaded
from uhebo.space import SearchSpace
from uhebo.types import Array
from uhebo_experiments.benchmarks.code_like import FAMILIES, NOT_CHOSEN_ON, searched, space_of
from uhebo_experiments.benchmarks.common import table
from uhebo_experiments.benchmarks.verdicts import LAB, lab_yield
from uhebo_experiments.problems import problem
from uhebo_experiments.revision import revision
from uhebo_experiments.runner import compute
from uhebo_experiments.table import RUNS, Record, Table

CLASSICS = ("branin", "hartmann3", "hartmann6", "styblinski-tang-3d", "levy-4d")
SLIPS = {"none": 1.0, "ten times": 10.0, "sign": -1.0}
LOW, HIGH, NOISE, LAB_NOISE = 5.0, 95.0, 1.5, 1.0
FEWEST, MOST = 12, 60
DRAWS, STARTS = 2000, 5
"""Points at which a classic is looked at for its extremes, and climbs."""
SERIES = 2043
"""Seed of what is reported; the limits were chosen on series 2041 and 2042, without the families `NOT_CHOSEN_ON`."""


@dataclass(frozen=True)
class Response:
    """What is measured at a point, without noise."""

    name: str
    space: Mapping[str, BaseDistribution]
    value: Callable[[dict[str, Any]], float]
    noise: float


def _extremes(function: Callable[..., float], space: SearchSpace) -> tuple[float, float]:
    """Smallest and largest value over the space, corners included: draws, and climbs from the best of them."""
    d = space.domain.dimension
    rng = np.random.default_rng(0)
    corners = np.array(list(product((0.0, 1.0), repeat=d)))
    rows = np.concatenate([corners, rng.random((DRAWS, d))])
    seen = np.array([function(**space.decode(row)) for row in rows])
    found = []
    for sign in (1.0, -1.0):
        starts = rows[np.argsort(sign * seen)[:STARTS]]
        ends = [minimize(lambda u: sign * function(**space.decode(u)), x, bounds=[(0.0, 1.0)] * d) for x in starts]  # noqa: B023
        found.append(sign * min(float(end.fun) for end in ends))
    return found[0], found[1]


@cache
def responses() -> list[Response]:
    found = [Response("laboratory", LAB, lab_yield, LAB_NOISE)]
    for name in CLASSICS:
        function = problem(name)
        space = SearchSpace.of(function.space)
        low, high = _extremes(function, space)
        width = high - low

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
        return self.among(factor, range(len(self.y)))

    def among(self, factor: float, numbers: Sequence[int]) -> tuple[Slip, ...]:
        """The same among some of the trials."""
        told, rows = self.y.copy(), np.sort(np.array(numbers, dtype=np.intp))
        told[self.row] *= factor
        rng = np.random.default_rng(0)
        return slips_among(rows, self.X[rows], told[rows], self.space.domain, MATERN52, rng)

    def at_every_tell(self, factor: float) -> list[set[int]]:
        """What the shell names after each tell, from the first at which it looks."""
        look = cache(lambda until: self.among(factor, range(until)))
        d, n = self.space.domain.dimension, len(self.y)
        lengths = range(enough(d), n + 1)
        found = (standing(lambda order: look(len(order)), range(length), d) for length in lengths)
        return [{slip.number for slip in named} for named in found]


def made(response: Response, seed: int, series: int = SERIES) -> Study:
    """By the default in even seeds, at random in odd ones."""
    rng = np.random.default_rng([series, seed])
    drawn = 1000 * series + seed
    sampler = uhebo.UHESampler(seed=drawn) if seed % 2 == 0 else optuna.samplers.RandomSampler(seed=drawn)
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


@dataclass(frozen=True)
class Run:
    """A study: `seed` draws its response, its length and the trial with the slip."""

    seed: int
    series: int = SERIES


@single_threaded
def run(cell: Run) -> list[Record]:
    """The study first, then what was named in it."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    known = responses()
    study = made(known[cell.seed % len(known)], cell.seed, cell.series)
    kept: Record = {"response": study.response, "row": study.row, "X": study.X.tolist(), "y": study.y.tolist()}
    return [kept, *map(asdict, outcomes(study))]


@dataclass(frozen=True)
class Search:
    """A search of a function; `seed` draws its constants and its length."""

    family: str
    seed: int
    series: int = SERIES


@single_threaded
def search(cell: Search) -> list[Record]:
    """The study first, then whether anything was named in it."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = space_of(cell.family, cell.seed, cell.series)
    trials = [t for t in searched(cell.family, cell.seed, cell.series).trials if t.value is not None]
    y = np.array([trial.value for trial in trials], dtype=np.float64)
    study = Study(cell.family, space, space.encode_many([trial.params for trial in trials]), y, 0)
    return [{"X": study.X.tolist(), "y": y.tolist()}, {"accused": bool(study.found(1.0))}]


def accused(header: Record, records: Sequence[Record], judge: bool) -> bool:
    """Whether anything was named in a search then, or is named now."""
    if not judge:
        return bool(records[1]["accused"])
    space = space_of(header["family"], header["seed"], header["series"])
    study = Study(header["family"], space, np.array(records[0]["X"]), np.array(records[0]["y"]), 0)
    return bool(study.found(1.0))


def of_functions(found: Sequence[tuple[str, bool]]) -> str:
    """Shares of searches in which a value was named, by family."""
    rows = []
    for name in [*dict.fromkeys(family for family, _ in found), "all"]:
        some = [named for family, named in found if name in (family, "all")]
        rows.append([name, str(len(some)), f"{np.mean(some):.1%}"])
    return table(["functions", "searches", "accused"], rows)


def read(records: Sequence[Record], judge: bool) -> list[Outcome]:
    """What was found in a study then, or what is found in it now."""
    return outcomes(kept_study(records)) if judge else [Outcome(**record) for record in records[1:]]


def kept_study(records: Sequence[Record]) -> Study:
    """The study of these records."""
    space = next(each.space for each in responses() if each.name == records[0]["response"])
    points, values = np.array(records[0]["X"]), np.array(records[0]["y"])
    return Study(records[0]["response"], SearchSpace.of(space), points, values, records[0]["row"])


@single_threaded
def tells(studies: Sequence[Study]) -> str:
    """Shares of studies by what is said at their tells."""
    clean = [any(study.at_every_tell(1.0)) for study in studies]
    slipped = [(study.row, study.at_every_tell(SLIPS["ten times"]), study.space.domain.dimension) for study in studies]
    told = [row in after[max(row + 1 - enough(d), 0)] for row, after, d in slipped if after]
    last = [row in after[-1] for row, after, _ in slipped if after]
    shares = [f"{np.mean(each):.1%}" for each in (clean, told, last)]
    columns = ["studies", "without a slip: accused at any tell", "ten times: named when told", "named at the end"]
    return table(columns, [[str(len(studies)), *shares]])


def write(folder: Path, studies: int, searches: int, series: int = SERIES, judge: bool = False) -> Path:
    """The page from the records."""
    runs = [each for each in Table(folder / RUNS) if each[0]["series"] == series]
    planted = [each for each in runs if "family" not in each[0] and each[0]["seed"] < studies]
    order = list(FAMILIES)
    clean = [each for each in runs if "family" in each[0] and each[0]["seed"] < searches]
    clean.sort(key=lambda each: (order.index(each[0]["family"]), each[0]["seed"]))
    found = [outcome for _, records in planted for outcome in read(records, judge)]
    named = [(header["family"], accused(header, records, judge)) for header, records in clean]
    days = sorted({header["date"] for header, _ in [*planted, *clean]})
    versions = revision() if judge else ", ".join(sorted({header["versions"]["uhebo"] for header, _ in runs}))
    section = f"<!-- --8<-- [start:typos] -->\n\n{report(found)}\n{of_functions(named)}\n<!-- --8<-- [end:typos] -->"
    head = (
        f"# Mistyped values\n\nMade by `python -m uhebo_experiments.benchmarks.typos` from {len(planted)} studies of "
        f"{FEWEST} to {MOST} trials and {len(clean)} searches of functions (series {series}), {', '.join(days)}, "
        f"uhebo {versions}. Not looked at when limits were chosen: {', '.join(NOT_CHOSEN_ON)}."
    )
    path = folder / "typos.md"
    path.write_text(f"{head}\n\n{section}\n", encoding="utf-8")
    return path


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=200, help="studies, each with both slips and without")
    parser.add_argument("--searches", type=int, default=40, help="searches of functions of each family")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--judge", action="store_true", help="look for slips anew in the studies that are there")
    parser.add_argument("--tells", action="store_true", help="look at every tell of the studies that are there")
    parser.add_argument("--series", type=int, default=SERIES, help="seed of the studies")
    parser.add_argument("--out", type=Path, default=Path("results/typos"))
    options = parser.parse_args(arguments)
    kept, series = Table(options.out / RUNS), options.series
    compute([Run(seed, series) for seed in range(options.studies)], kept, run, jobs=options.jobs)
    if options.tells:
        runs = [records for header, records in kept if header["series"] == series and "family" not in header]
        print(tells([kept_study(records) for records in runs[: options.studies]]))
        return
    cells = [Search(family, seed, series) for family in FAMILIES for seed in range(options.searches)]
    compute(cells, kept, search, jobs=options.jobs)
    page = write(options.out, options.studies, options.searches, series, options.judge)
    print(page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
