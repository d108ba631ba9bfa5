"""The tables of the methods in the appendix "Measurements", from the records of finished runs.

    python -m uhebo_experiments.benchmarks.choose [--results results/reproduction] [--out docs/tables/methods.md]

Reads every run in the table, whichever methods and problems there are, and writes Markdown: final regret (or best
value, where the optimum is unknown), which methods do not differ significantly from the best one, and the time of a
suggestion. Run it again when there are more records. A method with fewer than ten seeds on a problem is left out and
named.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon

from uhebo.errors import UheboError
from uhebo.methods import METHODS
from uhebo.optuna_.believe import EARLIER_READING
from uhebo_experiments.benchmarks.common import sections, table
from uhebo_experiments.problems import problem
from uhebo_experiments.reproduce.plan import EXACT, H1_READINGS
from uhebo_experiments.table import CLOCK, RUNS, Record, Table

LEAST_SEEDS = 10
READING = "distinct"
"""Reading of the consistent loss in the tables: the default of the paper's methods."""
LEVEL = 0.05


@dataclass(frozen=True)
class Run:
    """What is needed of one cell."""

    problem: str
    method: str
    seed: int
    budget: int
    best: float
    seconds: float
    """Median CPU time of its suggestions by a model (of all, where it has none)."""
    date: str


Runs = Mapping[tuple[str, str], Sequence[Run]]
"""(problem, method) -> runs, by seed."""


def read_run(cell: Record, records: list[Record]) -> Run | None:
    records = [record for record in records if record.get("t", 0) >= 1]
    if not records:
        return None
    # On sample paths each seed has an optimum of its own; other readings of the paper have a page of their own.
    other = label(cell) != cell["method"] or cell["method"] not in METHODS
    if cell["problem"].startswith("gp-") or cell["problem"] in H1_READINGS or other:
        return None
    by_model = [record for record in records if record.get("role") == "model"] or records
    return Run(
        problem=cell["problem"] if cell["fidelity"] is None else f"{cell['problem']}@{cell['fidelity']}",
        method=label(cell),
        seed=cell["seed"],
        budget=cell["budget"],
        best=records[-1]["incumbent"],
        seconds=statistics.median(record["seconds"] for record in by_model),
        date=cell["date"],
    )


def label(cell: Record) -> str:
    """Name of the method; `exact` is how the paper runs it, and the reading is that of the tables: without saying."""
    options = {"reading": EARLIER_READING, **dict(cell["options"])}
    if options["reading"] == READING or cell["method"] not in EXACT:
        del options["reading"]
    return " ".join([str(cell["method"]), *(f"{name}={value}" for name, value in options.items() if name != "exact")])


def read_runs(table: Table) -> dict[tuple[str, str], list[Run]]:
    """All runs, at each problem's budget with the most of them."""
    found = [run for cell, records in table if (run := read_run(cell, records)) is not None]
    counts: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for run in found:
        counts[run.problem][run.budget] += 1
    budget = {name: max(sizes, key=lambda size: (sizes[size], size)) for name, sizes in counts.items()}
    runs: dict[tuple[str, str], dict[int, Run]] = defaultdict(dict)
    for run in found:
        if run.budget == budget[run.problem]:
            runs[run.problem, run.method][run.seed] = run
    return {key: [by_seed[seed] for seed in sorted(by_seed)] for key, by_seed in runs.items()}


def optimum(name: str) -> float | None:
    """The largest value, where it is known; a problem that only old records know has none."""
    try:
        return problem(name.partition("@")[0]).optimum
    except UheboError:
        return None


def losses(runs: Sequence[Run], best: float | None) -> dict[int, float]:
    """Seed -> what is to be small: regret, or minus the best value."""
    return {run.seed: (0.0 if best is None else best) - run.best for run in runs}


def equal_to_best(of: Mapping[str, Mapping[int, float]]) -> tuple[str, list[str]]:
    """The method with the least mean loss, and those that do not differ from it by a paired Wilcoxon test."""
    leader = min(of, key=lambda method: float(np.mean(list(of[method].values()))))
    equal = []
    for method in of:
        shared = sorted(of[leader].keys() & of[method].keys())
        differences = np.array([of[method][seed] - of[leader][seed] for seed in shared])
        if method != leader and (not differences.any() or wilcoxon(differences).pvalue >= LEVEL):
            equal.append(method)
    return leader, equal


def ordered(methods: set[str]) -> list[str]:
    known = list(METHODS)
    return sorted(methods, key=lambda m: (known.index(m.split()[0]) if m.split()[0] in known else len(known), m))


def tables(runs: Runs, timed: Runs) -> dict[str, str]:
    """Name of the section -> Markdown; the times are those of `timed`, runs on one machine side by side."""
    enough = {key: value for key, value in runs.items() if len(value) >= LEAST_SEEDS}
    names = sorted({name for name, _ in enough}, key=lambda name: (optimum(name) is None, name))
    methods = ordered({method for _, method in enough})
    loss = {key: losses(value, optimum(key[0])) for key, value in enough.items()}
    per_problem = {name: {m: loss[name, m] for m in methods if (name, m) in loss} for name in names}
    leaders = {name: equal_to_best(of) for name, of in per_problem.items()}
    known = [name for name in names if optimum(name) is not None]
    unknown = [name for name in names if optimum(name) is None]
    parts = {
        "regret": _figures(enough, known, methods, leaders) if known else "No records yet.\n",
        "values": _figures(enough, unknown, methods, leaders) if unknown else "No records yet.\n",
        "leaders": _leaders(leaders, enough),
        "seconds": _seconds(timed),
    }
    left_out = sorted(f"`{method}` on {name} ({len(value)})" for (name, method), value in runs.items()
                      if len(value) < LEAST_SEEDS)  # fmt: skip
    note = f"Fewer than {LEAST_SEEDS} seeds yet, so left out: {', '.join(left_out)}.\n" if left_out else ""
    return {**parts, "note": (_provenance(enough) + "\n" + note) if enough else note or "No records yet.\n"}


def _figures(
    runs: Runs, names: Sequence[str], methods: Sequence[str], leaders: Mapping[str, tuple[str, list[str]]]
) -> str:
    rows = []
    for method in methods:
        row = [f"`{method}`"]
        for name in names:
            of = runs.get((name, method))
            row.append(
                "–" if of is None else _figure(of, optimum(name), method in (leaders[name][0], *leaders[name][1]))
            )
        if any(cell != "–" for cell in row[1:]):
            rows.append(row)
    return table(["method", *names], rows)


def _figure(runs: Sequence[Run], best: float | None, leading: bool) -> str:
    values = np.array([(best - run.best) if best is not None else run.best for run in runs])
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    text = f"{values.mean():.3g} ± {error:.2g}" if best is not None else f"{values.mean():.4f} ± {error:.2g}"
    return f"**{text}**" if leading else text


def _leaders(leaders: Mapping[str, tuple[str, list[str]]], runs: Runs) -> str:
    rows = []
    for name, (leader, equal) in leaders.items():
        case = problem(name.partition("@")[0])
        budget = runs[name, leader][0].budget
        rows.append([
            name, case.about, f"{case.dimension}", f"{budget}", f"`{leader}`", ", ".join(f"`{m}`" for m in equal) or "–"
        ])  # fmt: skip
    columns = ["problem", "what it is like", "d", "T", "best on average", "not significantly different"]
    return table(columns, rows) if rows else "No records yet.\n"


def _seconds(runs: Runs) -> str:
    rows = []
    for method in ordered({method for _, method in runs}):
        seconds = [run.seconds for (_, of), value in runs.items() if of == method for run in value]
        rows.append([f"`{method}`", f"{1000 * statistics.median(seconds):.3g}"])
    return table(["method", "milliseconds"], rows) if rows else "No records yet.\n"


def _provenance(runs: Runs) -> str:
    every = [run for value in runs.values() for run in value]
    dates = sorted({run.date for run in every})
    seeds = sorted({len(value) for value in runs.values()})
    span = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    number = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    return (
        f"{len(every)} runs, {number} seeds for each method and problem, T iterations after 3*d* uniform points that "
        f"all methods of a seed share; run {span}. Made by `python -m uhebo_experiments.benchmarks.choose`.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("results/reproduction"))
    parser.add_argument("--out", type=Path, default=Path("docs/tables/methods.md"))
    given = parser.parse_args()
    runs, timed = (read_runs(Table(given.results / name)) for name in (RUNS, CLOCK))
    text = sections(tables(runs, timed))
    given.out.write_text(text, encoding="utf-8")
    print(f"{given.out}\n\n{text}")


if __name__ == "__main__":
    main()
