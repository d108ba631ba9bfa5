"""What the records of the arena say: regret where the prior is right and where it misleads, against MAP, and time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from uhebo.types import Array
from uhebo_experiments.arena.runs import BASELINE, BY_HMC, MISLEADING, RIGHT
from uhebo_experiments.paired import compare, interval
from uhebo_experiments.table import Record

Side = Literal["right", "misleading"]
SIDES: dict[Side, tuple[str, ...]] = {"right": RIGHT, "misleading": MISLEADING}
MOST_TIMES = 10.0
"""Aim: time of a suggestion in units of MAP's, for methods without HMC."""


@dataclass(frozen=True)
class Board:
    """Final regret of every method, as a share of the regret after the initial design."""

    methods: tuple[str, ...]
    shares: Mapping[tuple[str, str], Mapping[int, float]]
    """(method, problem) -> seed -> final regret over the mean regret of the initial designs on that problem."""
    times: Mapping[str, float]
    """Method -> time of a suggestion in units of MAP's; those that were timed."""

    @classmethod
    def of(
        cls, runs: Iterable[tuple[Record, list[Record]]], paces: Iterable[tuple[Record, list[Record]]] = ()
    ) -> Board:
        """From the tables of runs and of seconds, in the order in which methods come there."""
        final: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
        first: dict[str, list[float]] = defaultdict(list)
        for cell, records in runs:
            regret = records[0]["regret"]
            final[cell["method"], cell["problem"]][cell["seed"]] = regret[-1]
            first[cell["problem"]].append(regret[0])
        ratios: dict[str, list[float]] = defaultdict(list)
        for cell, records in paces:
            ratios[cell["method"]] += [record["seconds"] / record["baseline"] for record in records]
        shares = {
            key: {seed: value / float(np.mean(first[key[1]])) for seed, value in by_seed.items()}
            for key, by_seed in final.items()
        }
        methods = tuple(dict.fromkeys(method for method, _ in final))
        return cls(methods, shares, {method: float(np.median(ratio)) for method, ratio in ratios.items()})

    def problems(self, side: Side) -> tuple[str, ...]:
        """Problems of a side that are in the records."""
        return tuple(name for name in SIDES[side] if any(problem == name for _, problem in self.shares))

    def seeds(self, method: str, side: Side) -> tuple[int, ...]:
        """Seeds at which a method was run on all problems of a side."""
        found = [set(self.shares.get((method, name), ())) for name in self.problems(side)]
        return tuple(sorted(set.intersection(*found))) if found else ()

    def sample(self, method: str, side: Side, seeds: Sequence[int] | None = None) -> Array:
        """Mean over a side's problems of the share of regret that is left, by seed."""
        chosen = self.seeds(method, side) if seeds is None else seeds
        rows = [[self.shares[method, name][seed] for seed in chosen] for name in self.problems(side)]
        return np.mean(rows, axis=0) if rows else np.zeros(0)

    def against(self, method: str, side: Side) -> str:
        """ "better", "worse" or "undecided" compared with MAP, paired by seed."""
        seeds = sorted(set(self.seeds(method, side)) & set(self.seeds(BASELINE, side)))
        if not seeds:
            return "undecided"
        return compare(self.sample(method, side, seeds), self.sample(BASELINE, side, seeds)).outcome

    def complete(self) -> tuple[str, ...]:
        """Methods with at least one seed on both sides, by the mean over all problems, best first."""
        found = [method for method in self.methods if all(self.seeds(method, side) for side in SIDES)]
        return tuple(sorted(found, key=lambda m: sum(float(self.sample(m, side).mean()) for side in SIDES)))


def rows(board: Board) -> tuple[list[str], list[list[str]]]:
    """A row per method: regret on both sides, beside MAP, and time."""
    made = []
    for method in board.complete():
        row = [f"`{method}`"]
        for side in SIDES:
            row += [_with_interval(board.sample(method, side)), _word(board, method, side)]
        times = board.times.get(method)
        made.append([*row, "–" if times is None else f"{times:.2g}"])
    return ["method", "prior right", "beside MAP", "prior misleads", "beside MAP", "time, MAP = 1"], made


def _word(board: Board, method: str, side: Side) -> str:
    return "–" if method == BASELINE else board.against(method, side)


def _with_interval(sample: Array) -> str:
    text = f"{sample.mean():.2g}"
    if len(sample) > 1:
        low, high = interval(sample)
        text += f" [{low:.2g}, {high:.2g}]"
    return text


def problem_rows(board: Board) -> tuple[list[str], list[list[str]]]:
    """Mean share of regret left, by problem."""
    names = [name for side in SIDES for name in board.problems(side)]
    made = []
    for method in board.complete():
        shares = [list(board.shares[method, name].values()) for name in names]
        made.append([f"`{method}`", *(f"{np.mean(values):.2g}" for values in shares)])
    return ["method", *names], made


def time_aim(board: Board) -> tuple[list[str], list[list[str]]]:
    """What was to be reached in time, what was seen, and whether it was reached."""
    text = f"no method above {MOST_TIMES:g} times MAP's time, but those by HMC"
    times = {method: ratio for method, ratio in board.times.items() if method not in BY_HMC}
    if not times:
        return ["aim", "seen", "reached"], [[text, "not run", "–"]]
    slowest = max(times, key=lambda method: times[method])
    seen = f"{times[slowest]:.2g} times at most (`{slowest}`)"
    return ["aim", "seen", "reached"], [[text, seen, "yes" if times[slowest] <= MOST_TIMES else "no"]]


def verdict(board: Board, method: str) -> str:
    """Compare a method with MAP in three sentences."""
    if method not in board.complete():
        return f"{method}: not run on all problems of both sides."
    words = {"right": "Where the prior is right", "misleading": "Where it misleads"}
    said = []
    for side in SIDES:
        ours = f"{100.0 * board.sample(method, side).mean():.2g} %"
        beside = ""
        if method != BASELINE and board.seeds(BASELINE, side):
            theirs = f"{100.0 * board.sample(BASELINE, side).mean():.2g} %"
            beside = f" against {theirs} of MAP's: {board.against(method, side)}"
        said.append(f"{words[side]} it leaves {ours} of the regret of the initial design{beside}.")
    if method in board.times:
        said.append(f"A suggestion takes {board.times[method]:.2g} times as long as MAP's.")
    return f"{method}: " + " ".join(said)
