"""What the records of `real_problems` say: gaps to the optimum, counts, and the figures that were to be reached."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import mannwhitneyu

from uhebo.types import Array
from uhebo_experiments.benchmarks.real_runs import CASES, COSTS, GROUPS, OURS
from uhebo_experiments.peers.ranking import FLOOR, LEVEL
from uhebo_experiments.problems.harsh import COUNTED
from uhebo_experiments.problems.practical import Practical
from uhebo_experiments.table import Record

FEW_SEEDS = 4
"""Runs of each below which no test over seeds can reach 5 %."""
PENALTY_RATIO, FAILURES, EDGE_GAP, COST_RATIO = 3.0, 4.0, 1e-3, 3.5
"""Aims: penalty against failure, failing suggestions, gap at the edge, cost of two constraints."""


@dataclass(frozen=True)
class Seen:
    """All runs of one library on one problem."""

    best: Array
    """(seeds, trials): smallest gap of a feasible trial so far, infinite before the first one."""
    lost: Array
    """(seeds, trials): whether the trial was infeasible or failed."""
    errors: tuple[str, ...]

    @property
    def final(self) -> Array:
        return np.asarray(self.best[:, -1])

    @property
    def median(self) -> float:
        return float(self.medians[-1])

    @property
    def medians(self) -> Array:
        """Over seeds, by trial. (NumPy's own warns of infinite values.)"""
        ordered, count = np.sort(self.best, axis=0), len(self.best)
        return np.asarray(0.5 * (ordered[(count - 1) // 2] + ordered[count // 2]))

    @property
    def last_lost(self) -> float:
        """Mean number of failures among the last suggestions of the failing region."""
        return float(self.lost[:, -COUNTED:].sum(axis=1).mean())


Board = Mapping[tuple[str, str], Seen]
"""(library, problem) -> its runs."""


def board(runs: Iterable[tuple[Record, list[Record]]]) -> dict[tuple[str, str], Seen]:
    """Sorted by seed."""
    found: dict[tuple[str, str], dict[int, list[Record]]] = defaultdict(dict)
    for cell, records in runs:
        if cell["problem"] in CASES:
            found[cell["entry"], cell["problem"]][cell["seed"]] = records
    return {
        key: _seen(CASES[key[1]], [by_seed[seed] for seed in sorted(by_seed)]) for key, by_seed in sorted(found.items())
    }


def _seen(case: Practical, runs: list[list[Record]]) -> Seen:
    best, lost = np.full((len(runs), case.trials), np.inf), np.zeros((len(runs), case.trials), dtype=bool)
    for i, records in enumerate(runs):
        for t, record in enumerate(records):
            lost[i, t] = "failed" in record or "infeasible" in record
            if not lost[i, t]:
                best[i, t] = max(record["value"] - case.optimum, FLOOR)
    errors = tuple(records[-1]["error"] for records in runs if "error" in records[-1])
    return Seen(np.minimum.accumulate(best, axis=1), lost, errors)


def gap_rows(seen: Board, group: str) -> tuple[list[str], list[list[str]]]:
    """Median, mean ± s.e. by problem and library; + where ours is significantly better, - where it is worse."""
    cases, entries = GROUPS[group]
    rows = []
    for name in cases:
        ours = seen.get((OURS, name))
        cells = [_cell(seen[entry, name], ours) if (entry, name) in seen else "not run" for entry in entries]
        rows.append([name, *cells])
    return ["problem", *entries], rows


def _cell(one: Seen, ours: Seen | None) -> str:
    finite = one.final[np.isfinite(one.final)]
    nothing = len(one.final) - len(finite)
    text = f"{number(one.median)}{'' if ours is None else mark(ours.final, one.final)}"
    if len(finite) > 1:
        text += f" ({number(finite.mean())} ± {number(finite.std(ddof=1) / np.sqrt(len(finite)))})"
    return text + (f", nothing feasible in {nothing} of {len(one.final)}" if nothing else "")


def number(value: float) -> str:
    return "none" if np.isinf(value) else f"{value:.2g}"


def mark(ours: Array, theirs: Array) -> str:
    """Of the rank test of Mann and Whitney: both have start-up points of their own, so seeds are not pairs."""
    if ours is theirs or np.array_equal(ours, theirs) or min(len(ours), len(theirs)) < FEW_SEEDS:
        return ""
    if mannwhitneyu(ours, theirs).pvalue >= LEVEL:
        return ""
    return " +" if mannwhitneyu(ours, theirs, alternative="less").pvalue < LEVEL else " -"


def lost_rows(seen: Board) -> tuple[list[str], list[list[str]]]:
    """Mean and largest number of infeasible trials in a run."""
    cases, entries = GROUPS["constrained"]
    rows = []
    for name in cases:
        counts = [seen[entry, name].lost.sum(axis=1) if (entry, name) in seen else None for entry in entries]
        rows.append([name, *("not run" if c is None else f"{c.mean():.1f} ({c.max()})" for c in counts)])
    return ["problem", *entries], rows


def failing_rows(seen: Board) -> tuple[list[str], list[list[str]]]:
    """How many of the counted suggestions failed, and what they found."""
    rows = []
    for entry in GROUPS["failing"][1]:
        if (entry, "failing") in seen:
            one = seen[entry, "failing"]
            worst = int(one.lost[:, -COUNTED:].sum(axis=1).max())
            rows.append([entry, f"{one.last_lost:.1f} ({worst})", number(one.median)])
    return ["library", f"failures of {COUNTED} (largest)", "median gap"], rows


def seed_rows(seen: Board) -> tuple[list[str], list[list[str]]]:
    """Seeds of each library, by group."""
    entries = list(dict.fromkeys(entry for _, of_group in GROUPS.values() for entry in of_group))
    rows = []
    for group, (cases, _) in GROUPS.items():
        row = [group]
        for entry in entries:
            counts = sorted({len(seen[entry, name].final) for name in cases if (entry, name) in seen})
            row.append("–" if not counts else "-".join(str(c) for c in dict.fromkeys((counts[0], counts[-1]))))
        rows.append(row)
    return ["group", *entries], rows


def cost_ratios(costs: Iterable[tuple[Record, list[Record]]]) -> dict[tuple[str, int], Array]:
    """(library, points) -> CPU seconds with two constraints over those without, by seed."""
    found: dict[tuple[str, int], list[float]] = defaultdict(list)
    for cell, records in costs:
        found[cell["entry"], cell["points"]] += [r["constrained"] / r["plain"] for r in records]
    return {key: np.array(values) for key, values in sorted(found.items())}


def aims(seen: Board, ratios: Mapping[tuple[str, int], Array]) -> tuple[list[str], list[list[str]]]:
    """What was to be reached, what was seen, and whether it was reached."""
    rows = [_level(seen, "constrained", 4), _not_worse(seen), _level(seen, "conditional", 3), _penalties(seen)]
    rows += [*_edge(seen), _many(seen)]
    for points in COSTS:
        worst = float(np.median(ratios[OURS, points])) if (OURS, points) in ratios else None
        text = f"two constraints cost at most {COST_RATIO:g} times a plain suggestion, {points} points"
        rows.append(_row(text, worst, None if worst is None else worst <= COST_RATIO, "{:.1f} times"))
    return ["aim", "seen", "reached"], rows


def _row(aim: str, value: float | None, reached: bool | None, shown: str = "{}") -> list[str]:
    return [
        aim,
        "not run" if value is None else shown.format(value),
        "–" if reached is None else "yes" if reached else "no",
    ]


def _level(seen: Board, group: str, aim: int) -> list[str]:
    cases, entries = GROUPS[group]
    text = f"{group}: median gap at most that of the best other library on {aim} of {len(cases)}"
    if any((OURS, name) not in seen for name in cases):
        return _row(text, None, None)
    others = [entry for entry in entries if entry not in (OURS, "random")]
    missing = [entry for entry in others if any((entry, name) not in seen for name in cases)]
    behind = [
        name
        for name in cases
        if any(seen[OURS, name].median > seen[e, name].median for e in others if (e, name) in seen)
    ]
    reached = len(cases) - len(behind)
    shown = f"{reached} of {len(cases)}" + (f"; behind on {', '.join(behind)}" if behind else "")
    shown += f"; {', '.join(missing)} not complete" if missing else ""
    return [text, shown, "no" if reached < aim else "–" if missing else "yes"]


def _not_worse(seen: Board) -> list[str]:
    text = "constrained: never worse than random points"
    names = [name for name in CASES if name in GROUPS["constrained"][0]]
    if any((entry, name) not in seen for entry in (OURS, "random") for name in names):
        return _row(text, None, None)
    worse = [name for name in names if seen[OURS, name].median > seen["random", name].median]
    return [text, f"worse on {', '.join(worse)}" if worse else "nowhere worse", "no" if worse else "yes"]


def _penalties(seen: Board) -> list[str]:
    names = list(GROUPS["penalties"][0])
    text = f"penalties: median gap at most {PENALTY_RATIO:g} times that with failures"
    if any((OURS, name) not in seen for name in names):
        return _row(text, None, None)
    medians = [seen[OURS, name].median for name in names]
    ratio = max(medians[1:]) / medians[0]
    return _row(text, ratio, ratio <= PENALTY_RATIO, "{:.2g} times at most")


def _edge(seen: Board) -> list[list[str]]:
    texts = (
        f"failing region: at most {FAILURES:g} of {COUNTED} suggestions fail",
        f"failing region: median gap at most {EDGE_GAP:g}",
    )
    if (OURS, "failing") not in seen:
        return [_row(text, None, None) for text in texts]
    one = seen[OURS, "failing"]
    return [
        _row(texts[0], one.last_lost, one.last_lost <= FAILURES, "{:.1f} on average"),
        _row(texts[1], one.median, one.median <= EDGE_GAP, "{:.2g}"),
    ]


def _many(seen: Board) -> list[str]:
    text = "20 and 30 parameters: median gap at most that of GPSampler"
    names = list(GROUPS["many"][0])
    if any((entry, name) not in seen for entry in (OURS, "optuna-gp") for name in names):
        return _row(text, None, None)
    pairs = [(seen[OURS, name].median, seen["optuna-gp", name].median) for name in names]
    shown = "; ".join(f"{number(ours)} against {number(theirs)}" for ours, theirs in pairs)
    return [text, shown, "yes" if all(ours <= theirs for ours, theirs in pairs) else "no"]
