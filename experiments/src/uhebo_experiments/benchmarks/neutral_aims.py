"""What the neutral report was to reach, and whether it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from uhebo_experiments.benchmarks.neutral_board import Group, Results, against_ours, board, shared_by_most
from uhebo_experiments.benchmarks.neutral_runs import OURS
from uhebo_experiments.peers.ranking import LEVEL, Board

NOISY_AND_MIXED = ("bbob-noisy", "noisy", "bbob-mixint", "models")
"""Families on which ours is to be level with the best at every stage."""
Found = tuple[bool, str]
"""Whether an aim was reached, and what was seen."""
AIMS = (
    "first by mean rank",
    "first by the median run",
    "significantly ahead of all others but one",
    "noise and mixed families: level with the best at every stage",
    "on no family worse than random points",
)


def aim_rows(
    results: Results, best: Mapping[str, float], families: Sequence[str], budget: int, stages: Sequence[int]
) -> tuple[list[str], list[list[str]]]:
    """Aims, and what was seen: under the libraries with all seeds on all families, and under most libraries on the
    families that they share."""
    head, rows = ["aim"], [[aim] for aim in AIMS]
    for names, slow in ((tuple(families), False), (shared_by_most(results, families, budget), True)):
        seen = board(results, [Group(name, budget, budget) for name in names], best, slow=slow) if names else None
        if seen is None:
            continue
        head.append(f"{len(seen.libraries)} entries, {len(seen.problems)} problems: {', '.join(names)}")
        level = [name for name in names if name in NOISY_AND_MIXED]
        found = [
            *_first(seen),
            _level(results, best, level, budget, stages, slow),
            _never_worse(results, best, names, budget, slow),
        ]
        for row, (reached, text) in zip(rows, found, strict=True):
            row.append(f"{'yes' if reached else 'no'}: {text}")
    return head, rows


def _first(seen: Board) -> list[Found]:
    """By mean rank, by medians, and told apart from all others but one."""
    rows = []
    for one in (seen, seen.medians()):
        ranks = one.mean_rank()
        leader = min(ranks, key=lambda name: ranks[name][0])
        second = min((name for name in ranks if name != OURS), key=lambda name: ranks[name][0])
        rows.append((leader == OURS, f"{ranks[OURS][0]:.2f}; {second} {ranks[second][0]:.2f}"))
    level = [name for name, (mean, p) in against_ours(seen).items() if not (mean > 0.0 and p < LEVEL)]
    return [*rows, (len(level) <= 1, f"of all but {', '.join(level)}" if level else "of all")]


def _level(
    results: Results, best: Mapping[str, float], families: Sequence[str], budget: int, stages: Sequence[int], slow: bool
) -> Found:
    """Whether the library with the best mean rank is significantly ahead of ours on a family at some stage."""
    behind = []
    for name in families:
        for at in stages:
            seen = board(results, [Group(name, budget, at)], best, slow=slow)
            if seen is None:
                continue
            ranks, tests = seen.mean_rank(), against_ours(seen)
            leader = min(ranks, key=lambda library: ranks[library][0])
            if leader != OURS and tests[leader][1] < LEVEL:
                behind.append(f"{name} after {at} ({leader})")
    return not behind, f"behind on {', '.join(behind)}" if behind else f"after {', '.join(map(str, stages))}"


def _never_worse(
    results: Results, best: Mapping[str, float], families: Sequence[str], budget: int, slow: bool
) -> Found:
    worse = []
    for name in families:
        seen = board(results, [Group(name, budget, budget)], best, slow=slow)
        if seen is not None and "random" in seen.libraries:
            mean, _, p = seen.behind("random")
            if mean < 0.0 and p < LEVEL:
                worse.append(name)
    return not worse, f"worse on {', '.join(worse)}" if worse else "better or level"
