"""The page "real problems": its numbers follow from the records, and a tiny comparison runs from end to end."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from tests.shell import Shell
from uhebo_experiments.benchmarks import real_problems, real_runs
from uhebo_experiments.benchmarks.real_gaps import aims, board, failing_rows, gap_rows, mark
from uhebo_experiments.benchmarks.real_problems import CLOCK, compare_real, write
from uhebo_experiments.benchmarks.real_runs import CASES, GROUPS, OURS
from uhebo_experiments.peers.ranking import FLOOR
from uhebo_experiments.table import RUNS, Record, Table

RESULTS = Path(__file__).parents[1] / "results" / "real_problems"
Runs = list[tuple[Record, list[Record]]]


def fabricated(levels: dict[str, float], seeds: int = 6) -> Runs:
    """Runs of all libraries on all problems, whose gaps end at a level."""
    runs: Runs = []
    for cases, entries in GROUPS.values():
        for name, case in cases.items():
            for entry in entries:
                for seed in range(seeds):
                    gap = levels.get(entry, 1.0) * (1.0 + 0.01 * seed)
                    records: list[Record] = [{"value": case.optimum + gap, "version": "1"}] * case.trials
                    runs.append(({"entry": entry, "problem": name, "seed": seed}, records))
    return runs


def test_aims_are_reached_by_who_is_ahead_and_not_by_who_is_behind() -> None:
    ratios = {(OURS, points): np.array([2.0, 2.5]) for points in real_runs.COSTS}
    _, ahead = aims(board(fabricated({OURS: 1e-4})), ratios)
    assert {row[2] for row in ahead} == {"yes"}
    _, behind = aims(board(fabricated({OURS: 3.0})), {key: 2.0 * value for key, value in ratios.items()})
    said = {row[0].partition(":")[0]: row[2] for row in behind}
    assert said["constrained"] == said["conditional"] == said["20 and 30 parameters"] == "no"
    assert behind[-1][1:] == ["4.5 times", "no"]
    assert "behind on product, gramacy" in behind[0][1]
    alone = board(run for run in fabricated({OURS: 1e-4}) if run[0]["entry"] in (OURS, "optuna-tpe", "random"))
    _, unsure = aims(alone, {})
    assert unsure[0][1:] == ["6 of 6; optuna-gp, botorch not complete", "–"]
    _, missing = aims({}, {})
    assert {tuple(row[1:]) for row in missing} == {("not run", "–")}


def test_the_best_so_far_is_the_best_feasible_one() -> None:
    values: list[Record] = [{"value": 1.5, "infeasible": True}, {"value": 3.0}, {"value": 2.25}, {"value": 2.5}]
    runs: Runs = [
        ({"entry": OURS, "problem": "product", "seed": 0}, values),
        ({"entry": OURS, "problem": "product", "seed": 1}, [{"value": 1.0, "infeasible": True}, {"failed": True}]),
    ]
    seen = board(runs)[OURS, "product"]
    assert seen.best[0, :4].tolist() == [np.inf, 1.0, 0.25, 0.25]
    assert seen.final.tolist() == [0.25, np.inf]
    assert seen.lost.sum(axis=1).tolist() == [1, 2]
    _, rows = gap_rows({(OURS, "product"): seen}, "constrained")
    assert rows[0][1].endswith("nothing feasible in 1 of 2")


def test_marks_say_who_is_better() -> None:
    low, high = np.linspace(0.1, 0.2, 10), np.linspace(1.0, 2.0, 10)
    assert mark(low, high) == " +"
    assert mark(high, low) == " -"
    assert mark(low, low + 0.001) == ""
    assert mark(low[:3], high[:3]) == ""


def test_a_tiny_comparison_from_end_to_end(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped and started again it runs nothing twice; the shell's command writes the same page."""
    for name in CASES:
        monkeypatch.setitem(real_runs.CASES, name, replace(CASES[name], trials=8))
    monkeypatch.setattr("uhebo_experiments.benchmarks.real_figures.SHOWN", 8)
    again = partial(
        compare_real,
        tmp_path / "real",
        seeds=1,
        entries=["random", OURS],
        problems=["product", "branches", "failing"],
        progress=False,
    )
    page = again()
    text = page.with_suffix(".md").read_text(encoding="utf-8")
    assert "| product | " in text
    assert "not run" in text
    for name in ("gaps.png", "gaps.pdf", "region.png", "region.pdf", RUNS):
        assert (tmp_path / "real" / name).stat().st_size > 0
    monkeypatch.setattr("uhebo_experiments.runner._computed", lambda *_: pytest.fail("run twice"))
    assert again().read_text() == page.read_text()
    assert "choose peers, real-problems" in shell.refuses("bench", "problems")
    assert "unknown entry 'gp'" in shell.refuses("bench", "real-problems", "--libraries", "gp")


@pytest.fixture(scope="module")
def runs() -> Runs:
    return list(Table(RESULTS / RUNS))


def test_the_committed_page_follows_from_the_committed_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (RUNS, CLOCK):
        shutil.copy(RESULTS / name, tmp_path)
    for name in ("gaps.png", "region.png"):
        shutil.copy(RESULTS / name, tmp_path)
    monkeypatch.setattr(real_problems, "draw_curves", lambda _, folder: folder / "gaps.png")
    monkeypatch.setattr(real_problems, "draw_region", lambda folder: folder / "region.png")
    made = write(tmp_path)
    committed = (RESULTS / "real_problems.md").read_text(encoding="utf-8")
    assert made.with_suffix(".md").read_text(encoding="utf-8") == committed


def test_medians_on_the_page_by_plain_arithmetic(runs: Runs) -> None:
    """The first number of every cell, worked out without the code of the page."""
    page = (RESULTS / "real_problems.md").read_text(encoding="utf-8")
    lines = page[page.index("## Gap to the optimum") :].splitlines()
    checked = 0
    for cases, entries in GROUPS.values():
        for name, case in cases.items():
            line = next(line for line in lines if line.startswith(f"| {name} | "))
            for entry, cell in zip(entries, line.strip("| ").split(" | ")[1:], strict=True):
                finals = []
                for header, records in runs:
                    if (header["entry"], header["problem"]) == (entry, name):
                        kept = [r["value"] for r in records if "value" in r and "infeasible" not in r]
                        finals.append(max(min(kept, default=np.inf) - case.optimum, FLOOR))
                said = re.split(r"[ ,]", cell)[0]
                if finals:
                    expected = median(finals)
                    assert said == ("none" if np.isinf(expected) else f"{expected:.2g}"), (name, entry)
                    checked += 1
    assert checked > 30


def test_records_beat_no_optimum(runs: Runs) -> None:
    """A feasible value below what is called the optimum would mean that it is none."""
    for header, records in runs:
        case = CASES[header["problem"]]
        kept = [r["value"] for r in records if "value" in r and "infeasible" not in r]
        slack = 2e-4 if case.name == "pipeline" else 1e-6 * max(1.0, abs(case.optimum))
        assert min(kept, default=np.inf) > case.optimum - slack, (header, min(kept))


def test_failures_are_counted_after_the_start() -> None:
    records: list[Record] = [{"failed": True}] * 10 + [{"value": 0.05}] * 12 + [{"failed": True}] * 3
    runs: Runs = [({"entry": OURS, "problem": "failing", "seed": s}, records) for s in range(2)]
    assert failing_rows(board(runs))[1] == [[OURS, "3.0 (3)", "0.01"]]
