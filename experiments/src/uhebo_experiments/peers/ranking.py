"""Libraries side by side: ranks, regret, wins and losses, seconds; as tables and as one figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from uhebo.types import Array
from uhebo_experiments.paired import FEWEST, compare
from uhebo_experiments.peers.libraries import GAUSSIAN_PROCESSES, OUR_METHODS
from uhebo_experiments.peers.runs import ClockCell, PeerCell
from uhebo_experiments.problems import problem
from uhebo_experiments.problems.sets import FIDELITIES
from uhebo_experiments.style import pyplot, save
from uhebo_experiments.table import Record

FLOOR = 1e-10
"""Regret below this counts as it: what is left is rounding."""
LEVEL = 0.05
OURS = "uhebo"


@dataclass(frozen=True)
class Board:
    """Final and running regret of each library on each problem."""

    problems: tuple[str, ...]
    libraries: tuple[str, ...]
    regret: Mapping[tuple[str, str], Array]
    """(problem, library) -> (seeds, 1 + T), column 0 after the initial design."""

    @classmethod
    def of(cls, results: Mapping[PeerCell, list[Record]]) -> Board:
        """Regret against the known optimum; else against the best that any library has seen, and not below half the
        smallest gap to it (one validation example more or less), or a run that got there would count as endless digits.
        """
        problems = tuple(dict.fromkeys(cell.problem for cell in results))
        libraries = tuple(dict.fromkeys(cell.library for cell in results))
        best = {name: max(r[-1]["best"] for cell, r in results.items() if cell.problem == name) for name in problems}
        floors = {
            name: 0.5
            * min(
                (
                    best[name] - r["best"]
                    for cell, records in results.items()
                    if cell.problem == name
                    for r in records
                    if best[name] - r["best"] > FLOOR
                ),
                default=FLOOR,
            )
            for name in problems
        }
        groups: dict[tuple[str, str], list[Array]] = {}
        for cell in sorted(results, key=lambda c: c.seed):
            records = results[cell]
            optimum = problem(cell.problem, seed=cell.seed, fidelity=FIDELITIES.get(cell.problem)).optimum
            top = best[cell.problem] if optimum is None else optimum
            floor = floors[cell.problem] if optimum is None else FLOOR
            start = sum(record["t"] == 0 for record in records)
            values = np.array([record["best"] for record in records[start - 1 :]])
            groups.setdefault((cell.problem, cell.library), []).append(np.maximum(top - values, floor))
        return cls(problems, libraries, {key: np.array(rows) for key, rows in groups.items()})

    @property
    def seeds(self) -> tuple[int, int]:
        """The fewest and the most on a problem."""
        counts = [len(runs) for runs in self.regret.values()]
        return min(counts), max(counts)

    def ranks(self) -> dict[str, Array]:
        """Library -> rank of its final regret, mean over seeds, by problem; ties share their mean rank.

        A method of ours has no other of ours beside it, or the number of our entries would move everybody's rank: each
        is ranked among the other libraries, and these among themselves and `uhebo`.
        """
        from scipy.stats import rankdata

        def of(pool: Sequence[str]) -> dict[str, Array]:
            by_problem = [
                rankdata([self.regret[where, name][:, -1] for name in pool], axis=0).mean(axis=1)
                for where in self.problems
            ]
            return dict(zip(pool, np.transpose(by_problem), strict=True))

        others = [name for name in self.libraries if name not in OUR_METHODS]
        ours = [name for name in self.libraries if name in OUR_METHODS]
        if not others or not ours:
            return of(self.libraries)
        ours.sort(key=lambda name: name == OURS)  # last, so that the others' ranks are those beside it
        ranks: dict[str, Array] = {}
        for name in ours:
            ranks |= of([name, *others])
        return {name: ranks[name] for name in self.libraries}

    def mean_rank(self) -> dict[str, tuple[float, float]]:
        """Library -> mean rank over problems and seeds, and its standard error over problems."""
        return {name: _mean_error(by_problem) for name, by_problem in self.ranks().items()}

    def medians(self) -> Board:
        """The median run of each library on each problem: what its outliers do to the ranks is left out."""
        middle = {key: np.median(runs, axis=0, keepdims=True) for key, runs in self.regret.items()}
        return replace(self, regret=middle)

    def behind(self, rival: str) -> tuple[float, float, float]:
        """Mean over problems of how far a rival's rank is behind ours, its standard error, and Wilcoxon's p-value."""
        ranks = self.ranks()
        effect = compare(ranks[OURS], ranks[rival])
        return *_mean_error(ranks[rival] - ranks[OURS]), effect.p

    def log_regret(self, where: str, library: str) -> tuple[float, float]:
        """Mean ± s.e. of log10 of the final regret."""
        return _mean_error(np.log10(self.regret[where, library][:, -1]))

    def outcome(self, where: str, rival: str) -> str:
        """ "win", "tie" or "loss" of ours against a rival: Wilcoxon's test on log regret, paired by seed, at 5 %."""
        ours, theirs = (np.log10(self.regret[where, name][:, -1]) for name in (OURS, rival))
        effect = compare(ours, theirs)
        if effect.ahead + effect.behind < FEWEST or effect.p >= LEVEL:
            return "tie"
        return "win" if np.median(theirs - ours) > 0 or (np.median(theirs - ours) == 0 and effect.mean > 0) else "loss"

    def record(self, rival: str) -> tuple[int, int, int]:
        """Wins, ties and losses of ours against a rival over the problems."""
        outcomes = [self.outcome(where, rival) for where in self.problems]
        return outcomes.count("win"), outcomes.count("tie"), outcomes.count("loss")


COLOURS = ["#0072B2", "#3c9ad0", "#8fd0f0", "#7f7f7f", "#E69F00", "#b07800", "#F0E442", "#CC79A7", "#D55E00", "#A04000",
           "#009E73", "#882255", "#332288", "#bbbbbb"]  # fmt: skip


def draw_board(board: Board, clock: Mapping[ClockCell, list[Record]], folder: Path) -> Path:
    """Mean rank, log regret as the search goes on, and CPU seconds per suggestion against n."""
    colour = dict(zip(board.libraries, COLOURS, strict=False))
    with pyplot() as new_figure:
        figure, axes = new_figure(9.6, 3.5, 1, 3, width_ratios=[1.0, 1.1, 1.1])
        ranks = sorted(board.mean_rank().items(), key=lambda item: -item[1][0])
        names = [name for name, _ in ranks]
        bars, lines, clocks = axes[0]
        bars.barh(names, [m for _, (m, _) in ranks], xerr=[e for _, (_, e) in ranks], color=[colour[n] for n in names])
        bars.set(xlabel="mean rank of the final regret", title="rank (smaller is better)", xlim=(0.5, None))
        for name in board.libraries:
            lines.plot(_progress(board, name), color=colour[name], lw=2.2 if name == OURS else 1.2, label=name)
        lines.set(xlabel="iteration", ylabel="share of log regret still to go", title="progress, mean of all problems")
        for name in board.libraries:
            points = sorted((c.points, r[0]["seconds"]) for c, r in clock.items() if c.library == name)
            if points:
                x, y = zip(*points, strict=True)
                clocks.plot(x, y, "o-", ms=3, color=colour[name], lw=2.2 if name == OURS else 1.2)
        clocks.set(xscale="log", yscale="log", xlabel="observations n", ylabel="CPU s for ask + tell, 6-D")
        clocks.set_title("time for a suggestion")
        figure.legend(*lines.get_legend_handles_labels(), loc="outside lower center", ncols=7)
        return save(figure, folder, "peers")


def _progress(board: Board, library: str) -> Array:
    """Mean over problems of log regret, scaled so that the initial design has 1 and the best library's end 0."""
    curves = []
    for where in board.problems:
        logs = {name: np.log10(board.regret[where, name]).mean(axis=0) for name in board.libraries}
        end = min(float(curve[-1]) for curve in logs.values())
        start = max(float(curve[0]) for curve in logs.values())
        curves.append((logs[library] - end) / max(start - end, 1e-12))
    length = min(len(curve) for curve in curves)
    return np.asarray(np.mean([curve[:length] for curve in curves], axis=0))


def rank_rows(board: Board) -> tuple[list[str], list[list[str]]]:
    """Table of mean ranks, best library first, and of the ranks of median runs; against ours how far behind, its
    p-value, the same corrected for the number of other libraries, and wins/ties/losses."""
    ranks, median = board.mean_rank(), board.medians().mean_rank()
    names = _best_first(board)
    rivals = [name for name in names if name != OURS] if OURS in names else []
    behind = {name: board.behind(name) for name in rivals}
    corrected = holm({name: p for name, (*_, p) in behind.items() if name not in OUR_METHODS})
    rows = []
    for name in names:
        against = ["–"] * 4
        if name in rivals:
            mean, error, p = behind[name]
            record = " / ".join(map(str, board.record(name)))
            holms = f"{corrected[name]:.2g}" if name in corrected else "–"
            against = [_plus_minus((mean, error)), f"{p:.2g}", holms, record]
        rows.append([name, _plus_minus(ranks[name]), f"{median[name][0]:.2f}", *against])
    return [
        "library",
        "mean rank",
        "by medians",
        f"behind {OURS}",
        "p",
        "p, corrected",
        f"{OURS} better / open / worse",
    ], rows


def holm(p: Mapping[str, float]) -> dict[str, float]:
    """p-values of several tests, corrected so that the level is the chance of any false alarm at all: Holm (1979)."""
    found: dict[str, float] = {}
    largest = 0.0
    for rank, name in enumerate(sorted(p, key=lambda name: p[name])):
        largest = max(largest, min(1.0, (len(p) - rank) * p[name]))
        found[name] = largest
    return found


def part_rows(board: Board) -> tuple[list[str], list[list[str]]]:
    """Table of mean ranks ± s.e. on parts of the set: functions, noisy ones, models (whose optimum is not known)."""
    parts: dict[str, list[int]] = {}
    for index, where in enumerate(board.problems):
        case = problem(where, fidelity=FIDELITIES.get(where))
        part = "models" if case.optimum is None else "noisy functions" if case.noise else "functions"
        parts.setdefault(part, []).append(index)
    ranks = board.ranks()
    rows = [[name, *(_plus_minus(_mean_error(ranks[name][i])) for i in parts.values())] for name in _best_first(board)]
    return ["library", *(f"{part} ({len(indices)})" for part, indices in parts.items())], rows


def regret_rows(board: Board) -> tuple[list[str], list[list[str]]]:
    """Table of log10 regret (mean ± s.e.), one row per problem; best library first."""
    libraries = _best_first(board)
    marks = {"win": " +", "tie": "", "loss": " -"}
    rows = []
    for where in board.problems:
        rows.append([where])
        for name in libraries:
            mark = marks[board.outcome(where, name)] if OURS in libraries and name != OURS else ""
            rows[-1].append(_plus_minus(board.log_regret(where, name)) + mark)
    return ["problem", *libraries], rows


def _best_first(board: Board) -> list[str]:
    ranks = board.mean_rank()
    return sorted(board.libraries, key=lambda name: ranks[name][0])


def clock_rows(
    clock: Mapping[ClockCell, list[Record]], libraries: Sequence[str], which: Literal["seconds", "first"] = "seconds"
) -> tuple[list[str], list[list[str]]]:
    """Table of CPU seconds for ask + tell; the last row compares ours with the fastest other Gaussian process."""
    sizes = sorted({cell.points for cell in clock})
    seconds = {(cell.library, cell.points): records[0][which] for cell, records in clock.items()}
    rows = [
        [name, *(f"{seconds[name, n]:.3g}" if (name, n) in seconds else "–" for n in sizes)]
        for name in libraries
        if any((name, n) in seconds for n in sizes)
    ]
    if any(name == OURS for name, _ in seconds):
        rows.append([f"fastest other GP / {OURS}", *(_times_faster(seconds, n) for n in sizes)])
    return ["library", *(f"n = {n}" for n in sizes)], rows


def _times_faster(seconds: Mapping[tuple[str, int], float], n: int) -> str:
    others = [seconds[name, n] for name in GAUSSIAN_PROCESSES if (name, n) in seconds]
    return f"{min(others) / seconds[OURS, n]:.1f}×" if others and (OURS, n) in seconds else "–"


def _mean_error(sample: Array) -> tuple[float, float]:
    return float(sample.mean()), float(sample.std(ddof=1) / np.sqrt(len(sample))) if len(sample) > 1 else 0.0


def _plus_minus(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.2f} ± {pair[1]:.2f}"
