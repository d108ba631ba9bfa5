"""What the runs of the neutral report say: ranks, where we lose, scores by bayesmark's rule."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from uhebo.types import Array
from uhebo_experiments.benchmarks.neutral_runs import FAMILIES, OURS, PROTOCOL, Reference, Run, problems_of
from uhebo_experiments.paired import FEWEST
from uhebo_experiments.peers.ranking import LEVEL, Board, holm, rank_rows
from uhebo_experiments.problems.bayesmark import run_loss, score
from uhebo_experiments.table import Record

FLOOR = 1e-8
"""Distance to the optimum below which it counts as found, as COCO has it."""
BEHIND = 2.0
"""Times the best library's median regret beyond which a problem is one where we lose."""
RUNS_TIMED = 5
"""Runs of a family below which their seconds say little."""
Results = Mapping[Run, Record]


@dataclass(frozen=True)
class Group:
    """Runs of a family at a budget, read after so many trials."""

    family: str
    budget: int
    at: int
    kept: str = "best"
    """"best" or "told": which of the points is judged."""


def value_at(record: Record, at: int, kept: str) -> float:
    """The value kept after so many trials; the first one where the run had ended with none before."""
    changes = record[kept]
    return float(next((value for trial, value in reversed(changes) if trial <= at), changes[0][1]))


def seeds_of(results: Results, family: str, budget: int) -> dict[str, set[int]]:
    """Library -> seeds at which it has run on every problem of a family."""
    names = set(problems_of(family))
    seen: dict[tuple[str, int], set[str]] = defaultdict(set)
    for cell in results:
        if (cell.family, cell.budget) == (family, budget):
            seen[cell.library, cell.seed].add(cell.problem)
    found: dict[str, set[int]] = defaultdict(set)
    for (library, seed), problems in seen.items():
        if problems >= names:
            found[library].add(seed)
    return found


def common(results: Results, family: str, budget: int, *, slow: bool = True) -> tuple[list[str], list[int]]:
    """Libraries that have run on every problem at some seed, ours first, and the seeds that all of them have.

    Without the slow ones: those that have at least the seeds that ours has.
    """
    seeds = seeds_of(results, family, budget)
    if not slow:
        seeds = {name: own for name, own in seeds.items() if own >= seeds.get(OURS, set())}
    libraries = sorted(seeds, key=lambda name: (name != OURS, name))
    shared = set.intersection(*seeds.values()) if seeds else set()
    return libraries, sorted(shared)


def shared_by_most(results: Results, families: Sequence[str], budget: int) -> tuple[str, ...]:
    """Of the families that share a library with fewer seeds than ours, or with fewer families, those with the most
    other libraries times problems; none where no library has fewer."""
    names = {family: set(common(results, family, budget)[0]) for family in families}
    quick = set.intersection(*(set(common(results, family, budget, slow=False)[0]) for family in families))
    shared: dict[tuple[str, ...], set[str]] = {
        some: set.intersection(*(names[family] for family in some))
        for count in range(1, len(families) + 1)
        for some in combinations(families, count)
    }

    def runs(some: tuple[str, ...]) -> int:
        return len(shared[some] - {OURS}) * sum(len(problems_of(family)) for family in some)

    return max((some for some, libraries in shared.items() if libraries - quick), key=runs, default=())


def board(results: Results, groups: Sequence[Group], best: Mapping[str, float], *, slow: bool = True) -> Board | None:
    """Regret of the libraries that have run in all these groups, at the seeds that they all have of each; None where
    ours and another one have none in common.

    Where no optimum is known (models), it is above the best value seen, at least half the smallest distance to it.
    `best` are best values by problem that are known otherwise.
    """
    parts = [common(results, group.family, group.budget, slow=slow)[0] for group in groups]
    libraries = [name for name in parts[0] if all(name in names for names in parts)]
    if OURS not in libraries or len(libraries) < 2:
        return None
    regret: dict[tuple[str, str], Array] = {}
    for group in groups:
        have = seeds_of(results, group.family, group.budget)
        seeds = sorted(set.intersection(*(have[library] for library in libraries)))
        if not seeds:
            return None
        for name in problems_of(group.family):
            label = f"{group.family} {name}"
            runs = {
                library: np.array(
                    [
                        value_at(results[Run(library, group.family, name, seed, group.budget)], group.at, group.kept)
                        for seed in seeds
                    ]
                )
                for library in libraries
            }
            floor, lowest = FLOOR, 0.0
            if group.family in ("models", PROTOCOL):
                floor, lowest = floor_and_lowest([*np.concatenate(list(runs.values())), best.get(name, np.inf)])
            for library, values in runs.items():
                regret[label, library] = np.maximum(values - lowest, floor)[:, None]
    return Board(tuple(dict.fromkeys(where for where, _ in regret)), tuple(libraries), regret)


def floor_and_lowest(values: Iterable[float]) -> tuple[float, float]:
    """Half the smallest distance of these values to the smallest one, and that one."""
    found = np.array(list(values))
    lowest = float(found.min())
    above = found[np.isfinite(found)] - lowest
    above = above[above > FLOOR]
    return (0.5 * float(above.min()) if len(above) else FLOOR), lowest


def family_rows(boards: Mapping[str, Board]) -> tuple[list[str], list[list[str]]]:
    """Mean ranks, one row per board and one column per library, the best over all rows first; + where ours is
    significantly better over problems, - where it is worse (Holm's method in each row)."""
    ranks = {label: {name: rank for name, (rank, _) in seen.mean_rank().items()} for label, seen in boards.items()}
    names = {name for of_row in ranks.values() for name in of_row}
    order = sorted(names, key=lambda name: np.mean([of_row[name] for of_row in ranks.values() if name in of_row]))
    rows = []
    for label, seen in boards.items():
        marks = {
            name: "" if p >= LEVEL else " +" if mean > 0.0 else " -" for name, (mean, p) in against_ours(seen).items()
        }
        cells = [f"{ranks[label][name]:.2f}{marks.get(name, '')}" if name in ranks[label] else "–" for name in order]
        rows.append([label, *cells])
    return ["family", *order], rows


def against_ours(seen: Board) -> dict[str, tuple[float, float]]:
    """Library -> how far its rank is behind ours, and the p-value over problems, corrected by Holm's method."""
    behind = {name: seen.behind(name) for name in seen.libraries if name != OURS}
    p = holm({name: found[2] for name, found in behind.items()})
    return {name: (found[0], p[name]) for name, found in behind.items()}


def pooled_rows(seen: Board) -> tuple[list[str], list[list[str]]]:
    """`rank_rows` without the columns that so few seeds cannot fill: ranks of medians, and tests over seeds."""
    head, rows = rank_rows(seen)
    kept = [i for i, name in enumerate(head) if not (
        (name == "by medians" and seen.seeds[1] == 1) or ("worse" in name and seen.seeds[1] < FEWEST)
    )]  # fmt: skip
    return [head[i] for i in kept], [[row[i] for i in kept] for row in rows]


def lost_rows(boards: Sequence[Board], parameters: Callable[[str], str]) -> tuple[list[str], list[list[str]]]:
    """Problems on which the best library's median regret is less than half of ours, worst first, and who is better by
    a test over seeds."""
    rows: list[tuple[float, list[str]]] = []
    for seen, where in ((one, where) for one in boards for where in one.problems):
        medians = {name: float(np.median(seen.regret[where, name][:, -1])) for name in seen.libraries}
        first = min((name for name in seen.libraries if name != OURS), key=lambda name: medians[name])
        ratio = medians[OURS] / medians[first]
        if ratio < BEHIND or math.isclose(ratio, BEHIND):  # twice the floor is what is next to the best value seen
            continue
        better = [name for name in seen.libraries if name != OURS and seen.outcome(where, name) == "loss"]
        shown = [f"{medians[OURS]:.3g}", f"{medians[first]:.3g}", first, f"{ratio:.3g}", ", ".join(better) or "–"]
        rows.append((-ratio, [where, parameters(where), *shown]))
    head = ["problem", "parameters", f"median of {OURS}", "of the best", "which is", "ratio", "better by a test"]
    few = all(seen.seeds[1] < FEWEST for seen in boards)
    columns = len(head) - few  # no test over so few seeds can find a difference
    return head[:columns], [row[:columns] for _, row in sorted(rows)]


def random_rows(boards: Mapping[str, Board]) -> tuple[list[str], list[list[str]]]:
    """Ours against random points, family by family."""
    rows = []
    for name, seen in boards.items():
        if "random" not in seen.libraries:
            continue
        ranks = seen.ranks()
        mean, error, p = seen.behind("random")
        middle = seen.medians().regret
        worse = [w for w in seen.problems if middle[w, OURS][0, 0] > middle[w, "random"][0, 0]]
        verdict = "worse" if mean < 0.0 and p < 0.05 else "not worse" if mean >= 0.0 else "behind, within chance"
        worst = ", ".join(where.partition(" ")[2] for where in worse) or "none"
        rows.append([name, f"{ranks[OURS].mean():.2f}", f"{mean:+.2f} ± {error:.2f}", f"{p:.2g}", verdict, worst])
    return [
        "family",
        "mean rank",
        "random behind",
        "p, uncorrected",
        "verdict",
        "problems on which random ends lower",
    ], rows


def seconds_rows(results: Results, budget: int) -> tuple[list[str], list[list[str]]]:
    """CPU seconds of ask and tell of a whole run: median over the runs of each family where there are at least
    `RUNS_TIMED`, quickest library first."""
    taken: dict[tuple[str, str], list[float]] = defaultdict(list)
    for cell, record in results.items():
        if cell.budget == budget and "early" not in record and "error" not in record:
            taken[cell.library, cell.family].append(record["seconds"])
    taken = {key: seconds for key, seconds in taken.items() if len(seconds) >= RUNS_TIMED}
    families = list(dict.fromkeys(family for family in FAMILIES if any(family == of for _, of in taken)))
    middle = {key: float(np.median(seconds)) for key, seconds in taken.items()}
    libraries = sorted(
        {name for name, _ in taken}, key=lambda name: min(middle.get((name, of), np.inf) for of in families)
    )
    rows = [
        [name, *(f"{middle[name, of]:.2g}" if (name, of) in middle else "–" for of in families)] for name in libraries
    ]
    return ["library", *families], rows


def score_rows(
    results: Results, references: Mapping[Reference, Record], tasks: Sequence[str]
) -> tuple[list[str], list[list[str]]]:
    """Scores by bayesmark's rule over some tasks, best first, at the seeds of each library."""
    budget = max((cell.budget for cell in results if cell.family == PROTOCOL), default=0)
    found = []
    for library, seeds in seeds_of(results, PROTOCOL, budget).items():
        losses = {
            name: [
                run_loss(
                    value_at(results[Run(library, PROTOCOL, name, seed, budget)], budget, "told"),
                    references[Reference(name)]["best"],
                    references[Reference(name)]["median"],
                )
                for seed in sorted(seeds)
            ]
            for name in tasks
            if Reference(name) in references
        }
        if losses:
            mean = score(losses)
            by_task = np.array([100.0 * (1.0 - np.mean(of_task)) for of_task in losses.values()])
            error = float(by_task.std(ddof=1) / np.sqrt(len(by_task))) if len(by_task) > 1 else 0.0
            found.append((-mean, [library, f"{mean:.2f} ± {error:.2f}", f"{np.median(by_task):.2f}", str(len(seeds)),
                                  str(len(losses))]))  # fmt: skip
    return ["library", "score ± s.e. over tasks", "median over tasks", "runs of each task", "tasks"], [
        row for _, row in sorted(found)
    ]
