"""`uhebo bench pareto`: its problems against an oracle, its numbers from records, a tiny comparison from end to end."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from tests.conftest import require
from tests.shell import Shell
from uhebo_experiments.benchmarks import front_recipe, pareto, pareto_board, pareto_runs
from uhebo_experiments.benchmarks.pareto_board import (
    aims,
    board,
    missing_rows,
    rank_rows,
    ranks,
    time_ratios,
    time_rows,
)
from uhebo_experiments.benchmarks.pareto_runs import RIVAL, SIZES, TRIALS, run
from uhebo_experiments.benchmarks.real_runs import OURS, Run
from uhebo_experiments.peers.several import ENTRIES
from uhebo_experiments.problems.several import SEVERAL
from uhebo_experiments.table import CLOCK, RUNS, Record, Table

RESULTS = Path(__file__).parents[1] / "results" / "pareto"
Runs = list[tuple[Record, list[Record]]]
ORACLES = {
    "zdt1": ("ZDT1", (6,)),
    "zdt2": ("ZDT2", (6,)),
    "zdt3": ("ZDT3", (6,)),
    "dtlz2": ("DTLZ2", (6, 3)),
    "branin-currin": ("BraninCurrin", ()),
    "vehicle-safety": ("VehicleSafety", ()),
    "c2-dtlz2": ("C2DTLZ2", (6, 2)),
}


@pytest.mark.parametrize("name", ORACLES)
def test_problems_are_those_of_botorch(name: str) -> None:
    torch = require("torch", "pip install torch==2.13.0")
    require("botorch", "pip install 'uhebo[botorch]'")
    from botorch.test_functions import multi_objective

    kind, given = ORACLES[name]
    oracle, case = getattr(multi_objective, kind)(*given), SEVERAL[name]
    rows = np.random.default_rng(0).random((200, len(case.space)))
    points = [case.decode(row) for row in rows]
    X = torch.tensor([list(point.values()) for point in points], dtype=torch.double)
    found = [case.evaluate(point) for point in points]
    values = oracle.evaluate_true(X).numpy()
    if name == "zdt3":  # BoTorch's lacks the factor g
        values[:, 1] *= 1.0 + 9.0 * rows[:, 1:].mean(axis=1)
    np.testing.assert_allclose([one.values for one in found], values, atol=1e-12)
    assert case.reference == pytest.approx(oracle.ref_point.tolist())
    assert case.largest == pytest.approx(oracle.max_hv)
    if name == "c2-dtlz2":
        slack = oracle.evaluate_slack_true(X).numpy()
        np.testing.assert_allclose([one.constraints for one in found], -slack, atol=1e-12)


def test_a_forest_is_judged_by_errors_and_by_comparisons() -> None:
    require("sklearn", "pip install uhebo-experiments")
    case = SEVERAL["trees"]
    stump = case.evaluate({"trees": 3, "depth": 1, "features": 8, "leaf": 1})
    assert stump.values[1] == 3.0  # one comparison in each tree, whatever the digit
    forest = case.evaluate({"trees": 10, "depth": 12, "features": 8, "leaf": 1})
    assert forest.values[0] < 0.1 < stump.values[0]
    assert 30.0 < forest.values[1] <= 120.0


def fabricated(covered: dict[str, float], seeds: int = 6) -> Runs:
    """Runs of all libraries on all problems that cover a share of the hypervolume."""
    runs: Runs = []
    for name, case in SEVERAL.items():
        largest = case.largest or float(np.prod(case.reference))
        ideal = [0.0] * case.objectives
        for entry in ENTRIES:
            for seed in range(seeds):
                volume = (covered.get(entry, 0.5) - 0.001 * seed) * largest
                records: list[Record] = [{"values": ideal, "hypervolume": volume, "version": "1"}] * TRIALS
                runs.append(({"entry": entry, "problem": name, "seed": seed, "date": "today"}, records))
    return runs


def test_aims_are_reached_by_who_is_ahead_and_not_by_who_is_behind() -> None:
    fast = time_ratios(
        ({"points": n}, [{"entry": OURS, "seconds": 1.0}, {"entry": RIVAL, "seconds": 8.0}]) for n in SIZES
    )
    _, ahead = aims(board(fabricated({OURS: 0.9})), fast)
    assert {row[2] for row in ahead} == {"yes"}
    assert ahead[1][1] == "0.12 of it"
    _, behind = aims(board(fabricated({OURS: 0.4})), {n: np.array([0.3]) for n in SIZES})
    assert {row[2] for row in behind} == {"no"}
    assert behind[0][1].startswith("0 of 9; behind on zdt1 (optuna-gp)")
    _, few = aims(board(fabricated({OURS: 0.9}, seeds=2)), {})
    assert [row[2] for row in few] == ["–"] * 4


def test_aims_and_times_have_one_ratio() -> None:
    """Where the median and the mean over seeds differ."""
    clock: Runs = [
        ({"points": n}, [{"entry": OURS, "seconds": ours}, {"entry": RIVAL, "seconds": 10.0}])
        for n in SIZES
        for ours in (1.0, 1.2, 4.1)
    ]
    _, reached = aims(board(fabricated({OURS: 0.9})), time_ratios(clock))
    assert {row[1] for row in reached[1:]} == {"0.12 of it"}
    assert {tuple(row[1:]) for row in time_rows(clock)[1]} == {("1.2e+03", "1e+04", "0.12")}


def test_ranks_are_expectations_over_pairs_of_runs() -> None:
    seen = board(fabricated({OURS: 0.9, "botorch": 0.2}))
    found = ranks(seen, "zdt1")
    assert (found[OURS], found["botorch"]) == (1.0, 5.0)
    assert found[RIVAL] == pytest.approx(3.0)  # level with two others
    assert sum(found.values()) == pytest.approx(15.0)
    assert rank_rows(seen)[1][-1][1] == "1.00 ± 0.00"
    assert missing_rows(seen)[1][0][1].startswith("10 (10 ± ")
    assert missing_rows(seen)[1][0][2].startswith("50 + (")


def test_a_run_records_values_without_noise_and_the_volume_of_feasible_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pareto_runs, "TRIALS", 14)
    case = SEVERAL["c2-dtlz2"]
    records = run(Run("optuna-nsga2", case.name, 0))
    kept = [record["values"] for record in records if "infeasible" not in record]
    assert 0 < len(kept) < len(records)
    best = max((1.1 - np.array(kept)).prod(axis=1))  # a bound that needs no hypervolume
    assert best <= records[-1]["hypervolume"] < 0.4
    assert records[-1]["hypervolume"] == pytest.approx(case.hypervolume(np.array(kept)))
    noisy = run(Run("optuna-tpe", "branin-currin-noisy", 1))
    exact = run(Run("optuna-tpe", "branin-currin", 1))
    assert noisy[0]["values"] == exact[0]["values"]


def test_a_tiny_comparison_from_end_to_end(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped and started again it runs nothing twice; the shell's command writes the same page."""
    for module in (pareto, pareto_board, pareto_runs):
        monkeypatch.setattr(module, "TRIALS", 7)
    page = pareto.compare_pareto(
        tmp_path / "pareto",
        seeds=1,
        entries=[OURS, "optuna-nsga2"],
        problems=["zdt1", "branin-currin-noisy"],
        progress=False,
    )
    text = page.with_suffix(".md").read_text(encoding="utf-8")
    assert re.search(r"\| zdt1 \| [0-9.]+ \| not run \| [0-9.]+ \| not run", text)
    for name in ("pareto.png", "pareto.pdf", RUNS):
        assert (tmp_path / "pareto" / name).stat().st_size > 0
    monkeypatch.setattr("uhebo_experiments.runner._computed", lambda *_: pytest.fail("run twice"))
    monkeypatch.setattr(pareto, "draw", lambda _, folder: folder / "pareto.png")
    shell("bench", "pareto", "--page", "--out", str(tmp_path / "pareto"))
    assert "wrote" in shell.err
    assert page.with_suffix(".md").read_text(encoding="utf-8") == text
    assert "unknown library 'gp'; choose among uhebo" in shell.refuses("bench", "pareto", "--libraries", "gp")
    assert "--page is not for peers" in shell.refuses("bench", "peers", "--page")


def test_the_committed_page_follows_from_the_committed_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (RUNS, CLOCK, "pareto.png"):
        if (RESULTS / name).exists():
            shutil.copy(RESULTS / name, tmp_path)
    monkeypatch.setattr(pareto, "draw", lambda _, folder: folder / "pareto.png")
    made = pareto.write(tmp_path)
    committed = (RESULTS / "pareto.md").read_text(encoding="utf-8")
    assert made.with_suffix(".md").read_text(encoding="utf-8") == committed


def test_medians_on_the_page_by_plain_arithmetic() -> None:
    """The first number of every cell, worked out without the code of the page; volumes by staircases."""
    page = (RESULTS / "pareto.md").read_text(encoding="utf-8")
    lines = page[page.index("[start:missing]") :].splitlines()
    runs = list(Table(RESULTS / RUNS))
    checked = 0
    for name in ("zdt1", "c2-dtlz2", "branin-currin-noisy"):
        case = SEVERAL[name]
        line = next(line for line in lines if line.startswith(f"| {name} | "))
        for entry, cell in zip(ENTRIES, line.strip("| ").split(" | ")[1:], strict=True):
            finals = []
            for header, records in runs:
                if (header["entry"], header["problem"]) == (entry, name):
                    kept = sorted(tuple(r["values"]) for r in records if "infeasible" not in r)
                    volume, lowest = 0.0, case.reference[1]
                    for first, second in kept:  # from left to right, each step down adds a rectangle
                        if first < case.reference[0] and second < lowest:
                            volume += (case.reference[0] - first) * (lowest - second)
                            lowest = second
                    finals.append(100.0 * (1.0 - volume / (case.largest or 1.0)))
            if finals:
                assert cell.split(" ")[0] == f"{median(finals):.2g}", (name, entry)
                checked += 1
    assert checked >= 9


@pytest.mark.parametrize(
    ("page", "start"),
    [
        ("several-objectives.md", "**Where it loses.**"),
        ("comparison.md", "- **Three objectives, and a front in pieces.**"),
    ],
)
def test_losses_in_words_are_those_of_the_records(page: str, start: str) -> None:
    """Each problem on which a library is significantly ahead is named with it, and no other problem is named."""
    seen = board(Table(RESULTS / RUNS))
    header, rows = missing_rows(seen)
    lost = {(row[0], entry) for row in rows for entry, cell in zip(header[1:], row[1:], strict=True) if " - " in cell}
    text = (RESULTS.parents[1] / "docs" / page).read_text(encoding="utf-8")
    said = re.split(r"\n\n|\n- |\. On the other", text[text.index(start) :])[0].replace("\n", " ")
    found = re.findall(r"on `([a-z0-9-]+)` `?([A-Za-z-]+(?: [A-Za-z]+)?)`? (?:covers|does)", said, re.IGNORECASE)
    names = {label: entry for entry, (label, *_) in pareto.LOOK.items()}
    assert {(problem, names[label]) for problem, label in found} == lost


def test_the_page_of_the_recipe_follows_from_its_records() -> None:
    folder = RESULTS.parent / "front_recipe"
    cells = [
        front_recipe.Run(v, name, seed)
        for v in front_recipe.VARIANTS
        for name in front_recipe.PROBLEMS
        for seed in range(6)
    ]
    table = Table(folder / RUNS)
    results = {cell: records for cell in cells if (records := table.records(cell)) is not None}
    assert len(results) == len(cells)
    assert front_recipe.tables(results, 6) in (folder / "front_recipe.md").read_text(encoding="utf-8")
    assert not set(front_recipe.PROBLEMS) & set(SEVERAL)
