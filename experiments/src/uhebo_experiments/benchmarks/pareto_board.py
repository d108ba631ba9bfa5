"""What the records of `uhebo bench pareto` say: hypervolumes, ranks, seconds, and what was to be reached."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import mannwhitneyu

from uhebo.types import Array
from uhebo_experiments.benchmarks.pareto_runs import RIVAL, SIZES, TRIALS
from uhebo_experiments.benchmarks.real_gaps import FEW_SEEDS, mark
from uhebo_experiments.benchmarks.real_runs import OURS
from uhebo_experiments.peers.ranking import LEVEL
from uhebo_experiments.peers.several import ENTRIES
from uhebo_experiments.problems.several import SEVERAL
from uhebo_experiments.table import Record

LEVEL_ON, SHARE_OF_TIME = 6, 0.2
"""Aims: problems on which ours is best or level with the best; seconds as a share of the rival's."""


@dataclass(frozen=True)
class Seen:
    """All runs of one library on one problem."""

    missing: Array
    """(seeds, trials): share of the largest hypervolume that is not covered yet."""
    errors: tuple[str, ...]

    @property
    def final(self) -> Array:
        return np.asarray(self.missing[:, -1])


Board = Mapping[tuple[str, str], Seen]
"""(library, problem) -> its runs."""


def board(runs: Iterable[tuple[Record, list[Record]]]) -> dict[tuple[str, str], Seen]:
    """Sorted by seed."""
    found: dict[tuple[str, str], dict[int, list[Record]]] = defaultdict(dict)
    for cell, records in runs:
        if cell["problem"] in SEVERAL and cell["entry"] in ENTRIES:
            found[cell["entry"], cell["problem"]][cell["seed"]] = records
    largest = {name: _largest(name, found) for name in SEVERAL}
    return {
        key: _seen(largest[key[1]], [by_seed[seed] for seed in sorted(by_seed)])
        for key, by_seed in sorted(found.items())
    }


def _largest(name: str, found: Mapping[tuple[str, str], Mapping[int, list[Record]]]) -> float:
    """Hypervolume of the true front, or of all feasible values in the records."""
    case = SEVERAL[name]
    if case.largest is not None:
        return case.largest
    values = [
        record["values"]
        for (_, problem), by_seed in found.items()
        if problem == name
        for records in by_seed.values()
        for record in records
        if "infeasible" not in record
    ]
    return case.hypervolume(np.unique(np.array(values), axis=0)) if values else 1.0


def _seen(largest: float, runs: list[list[Record]]) -> Seen:
    missing = np.ones((len(runs), TRIALS))
    for i, records in enumerate(runs):
        covered = [record["hypervolume"] for record in records[:TRIALS]]
        covered += [covered[-1]] * (TRIALS - len(covered))  # a run that ended early stays where it was
        missing[i] = 1.0 - np.array(covered) / largest
    errors = tuple(records[-1]["error"] for records in runs if "error" in records[-1])
    return Seen(missing, errors)


def ranks(seen: Board, problem: str) -> dict[str, float]:
    """Library -> expected rank of a run among one run of each other library: 1 + Σ over the others of the share of
    pairs of runs in which the other covers more (a tie is a half). Numbers of seeds may differ."""
    finals = {entry: seen[entry, problem].final for entry in ENTRIES if (entry, problem) in seen}
    return {
        entry: 1.0 + sum(_ahead(theirs, ours) for other, theirs in finals.items() if other != entry)
        for entry, ours in finals.items()
    }


def _ahead(theirs: Array, ours: Array) -> float:
    return float((np.sign(ours[:, None] - theirs[None, :]) + 1.0).mean() / 2.0)


def rank_rows(seen: Board) -> tuple[list[str], list[list[str]]]:
    """Mean rank by problem and library, and over problems that all libraries have."""
    by_problem = {name: ranks(seen, name) for name in SEVERAL}
    rows = [
        [name, *(f"{of[entry]:.1f}" if entry in of else "not run" for entry in ENTRIES)]
        for name, of in by_problem.items()
    ]
    complete = [of for of in by_problem.values() if len(of) == len(ENTRIES)]
    last = [f"mean of {len(complete)} ± s.e."]
    for entry in ENTRIES:
        of_entry = np.array([of[entry] for of in complete])
        last.append(_mean_error(of_entry) if len(of_entry) > 1 else "–")
    return ["problem", *ENTRIES], [*rows, last]


def _mean_error(sample: Array) -> str:
    return f"{sample.mean():.2f} ± {sample.std(ddof=1) / np.sqrt(len(sample)):.2f}"


def missing_rows(seen: Board) -> tuple[list[str], list[list[str]]]:
    """Median, mean ± s.e. in per cent; + where ours is significantly better, - where it is worse."""
    rows = []
    for name in SEVERAL:
        ours = seen.get((OURS, name))
        cells = [_cell(seen[entry, name], ours) if (entry, name) in seen else "not run" for entry in ENTRIES]
        rows.append([name, *cells])
    return ["problem", *ENTRIES], rows


def _cell(one: Seen, ours: Seen | None) -> str:
    share = 100.0 * one.final
    text = f"{np.median(share):.2g}{'' if ours is None else mark(ours.final, one.final)}"
    if len(share) > 1:
        text += f" ({share.mean():.2g} ± {share.std(ddof=1) / np.sqrt(len(share)):.2g})"
    return text


def seed_rows(seen: Board) -> tuple[list[str], list[list[str]]]:
    """Seeds of each library, the fewest and the most over problems."""
    row = []
    for entry in ENTRIES:
        counts = sorted({len(one.final) for (name, _), one in seen.items() if name == entry})
        row.append("–" if not counts else "-".join(str(c) for c in dict.fromkeys((counts[0], counts[-1]))))
    return ["", *ENTRIES], [["seeds", *row]]


def time_ratios(clock: Iterable[tuple[Record, list[Record]]]) -> dict[int, Array]:
    """Points -> our seconds over the rival's, by seed."""
    found: dict[int, list[float]] = defaultdict(list)
    for cell, records in clock:
        seconds = {record["entry"]: record["seconds"] for record in records}
        found[cell["points"]].append(seconds[OURS] / seconds[RIVAL])
    return {points: np.array(found[points]) for points in sorted(found)}


def share_of_time(ratios: Array) -> str:
    """The ratio of one number of points as the page has it everywhere: the median over seeds."""
    return f"{np.median(ratios):.2g}"


def time_rows(clock: Iterable[tuple[Record, list[Record]]]) -> tuple[list[str], list[list[str]]]:
    """Milliseconds of both and their ratio, median over seeds."""
    taken: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    runs = list(clock)
    for cell, records in runs:
        for record in records:
            taken[cell["points"]][record["entry"]].append(1000.0 * record["seconds"])
    ratios = time_ratios(runs)
    rows = [
        [str(n), *(f"{np.median(taken[n][entry]):.3g}" for entry in (OURS, RIVAL)), share_of_time(ratios[n])]
        for n in sorted(taken)
    ]
    return ["points", f"{OURS}, ms", f"{RIVAL}, ms", "ratio"], rows


def aims(seen: Board, ratios: Mapping[int, Array]) -> tuple[list[str], list[list[str]]]:
    """What was to be reached, what was seen, and whether it was reached."""
    rows = [_level_with_the_best(seen)]
    for n in SIZES:
        text = f"a suggestion for two objectives takes at most a fifth of GPSampler's time, {n} points"
        if n in ratios:
            reached = np.median(ratios[n]) <= SHARE_OF_TIME
            rows.append([text, f"{share_of_time(ratios[n])} of it", "yes" if reached else "no"])
        else:
            rows.append([text, "not run", "–"])
    return ["aim", "seen", "reached"], rows


def _level_with_the_best(seen: Board) -> list[str]:
    """On how many problems ours has the best mean rank, or is not significantly behind the one that has."""
    text = f"mean rank best, or not significantly different from the best, on {LEVEL_ON} of {len(SEVERAL)} problems"
    level, behind, few = 0, [], []
    for name in SEVERAL:
        of = ranks(seen, name)
        if OURS not in of:
            return [text, "not run", "–"]
        if len(of) < len(ENTRIES) or min(len(seen[entry, name].final) for entry in of) < FEW_SEEDS:
            few.append(name)
        leader = min(of, key=lambda entry: of[entry])
        if leader == OURS or not _worse(seen[OURS, name].final, seen[leader, name].final):
            level += 1
        else:
            behind.append(f"{name} ({leader})")
    shown = f"{level} of {len(SEVERAL)}" + (f"; behind on {', '.join(behind)}" if behind else "")
    where = "any problem" if len(few) == len(SEVERAL) else ", ".join(few)
    shown += f"; not all libraries have {FEW_SEEDS} seeds on {where}" if few else ""
    return [text, shown, "no" if level < LEVEL_ON else "–" if few else "yes"]


def _worse(ours: Array, theirs: Array) -> bool:
    """By the rank test of Mann and Whitney; with too few runs for it, whoever is ahead is better."""
    if min(len(ours), len(theirs)) < FEW_SEEDS:
        return bool(np.median(ours) > np.median(theirs))
    return bool(mannwhitneyu(ours, theirs, alternative="greater").pvalue < LEVEL / 2)
