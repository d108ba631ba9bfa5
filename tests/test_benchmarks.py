"""How the benchmarks measure, where that is easily got wrong, and that the tables of the pages follow from records."""

from __future__ import annotations

import re

import numpy as np
import optuna
import pytest

from tests.conftest import require
from tests.pages import ROOT
from uhebo.space import SearchSpace
from uhebo.types import Array
from uhebo_experiments.benchmarks import choose, compare, fit_readings
from uhebo_experiments.benchmarks.designs import GROUPS, VARIANTS, case_of, cell_of, design_of
from uhebo_experiments.benchmarks.many_parameters import PRIORS, PROBLEMS, Run, tables
from uhebo_experiments.benchmarks.suggest import measured, repeats
from uhebo_experiments.benchmarks.verdicts import check, report, studies
from uhebo_experiments.table import RUNS, Table

DESIGNS = ROOT / "results" / "designs"
VERDICTS = ROOT / "results" / "verdicts.md"


def test_a_suggestion_is_a_mean_without_the_cold_one_and_on_one_thread_from_the_first_library_on() -> None:
    torch = require("torch", "pip install torch==2.13.0")
    before = torch.get_num_threads()
    threads: list[int] = []

    def library(X: Array, y: Array, asked: int) -> list[float]:
        assert X.shape == (len(y), 6)
        threads.append(torch.get_num_threads())
        return [100.0, *([1.0] * (asked - 2)), 5.0]  # the cold one, those between two fits, one with a fit

    try:
        torch.set_num_threads(2)
        seconds = measured({"uhebo": library, "other": library}, (20,))
    finally:
        torch.set_num_threads(before)
    assert threads == [1, 1]
    assert seconds == {("uhebo", 20): (7 + 5) / 8, ("other", 20): (5 + 5) / 6}


def test_ours_is_asked_often_enough_to_fit() -> None:
    """Theta is kept for up to six suggestions with 1,000 observations, pending ones or not."""
    assert repeats("uhebo map + LogEI, 20 pending", 1000) == repeats("uhebo auto (default)", 1000) == 15
    assert repeats("BoTorch LogEI", 1000) == 3


def test_the_committed_tables_follow_from_the_committed_records() -> None:
    results = ROOT / "results"
    runs, peaks = Table(results / "reproduction" / RUNS), Table(results / "peaks" / RUNS)
    made = choose.tables(choose.read_runs(runs)) | compare.tables(runs, peaks, results / "peers-earlier.csv")
    committed = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "tables").iterdir()}
    assert made == committed


def test_fits_of_readings_are_ratios_to_map_on_the_same_points() -> None:
    small = {"map": [1.0, 2.0, 1.0], "observed": [1.0, 3.0, 3.0], "distinct": [0.5, 1.0, 0.5], "drawn": [2.0, 4.0, 2.0]}
    large = {name: [4.0 * s for s in taken] for name, taken in small.items()}
    assert fit_readings.rows({100: small, 200: large}) == [
        ["100", "1000.0", "1.50×", "0.50×", "2.00×", ""],
        ["200", "4000.0", "1.50×", "0.50×", "2.00×", "2.00"],
    ]


# Initial designs


def test_every_run_of_the_page_is_there() -> None:
    table = Table(DESIGNS / RUNS)
    names = sum(GROUPS.values(), ())
    cells = [cell_of(variant, name, seed) for seed in (0, 19) for name in names for variant in VARIANTS]
    assert all(len(table.records(cell) or ()) == cell.trials for cell in cells)
    page = (DESIGNS / "designs.md").read_text(encoding="utf-8")
    assert all(f"| {design}: {rule} |" in page for design, rule in VARIANTS)


@pytest.mark.parametrize("name", ["branin", "mixed-8d", "bowl-20d"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_runs_begin_with_the_design(variant: tuple[str, str], name: str) -> None:
    cell = cell_of(variant, name, 3)
    case = case_of(name, 3)
    space = SearchSpace.of(case.space)
    values = [case(**space.decode(row)) for row in design_of(space, cell)]
    records = Table(DESIGNS / RUNS).records(cell)
    assert records is not None
    assert [record["best"] for record in records[: cell.points]] == pytest.approx(np.maximum.accumulate(values))


def test_the_page_of_many_parameters_follows_from_its_records() -> None:
    folder = DESIGNS.parent / "many_parameters"
    page, table = (folder / "many_parameters.md").read_text(encoding="utf-8"), Table(folder / RUNS)
    seeds = int(page.partition("seeds 0-")[2].split()[0]) + 1
    cells = [Run(prior, name, seed) for seed in range(seeds) for name in PROBLEMS for prior in PRIORS]
    results = {cell: records for cell in cells if (records := table.records(cell)) is not None}
    assert len(results) == len(cells)
    assert tables(results, seeds) in page


# Verdicts and importances against the truth


def test_verdicts_are_right_and_intervals_hold_the_truth() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    known = studies(2)
    checked = [check(item, index // 5) for index, item in enumerate(known)]
    assert [item.known.name for item in checked if not item.right] == []
    held = [value for item in checked if item.truth for value in item.covered]
    assert np.mean(held) >= 0.8
    rows = report(checked).splitlines()
    assert f"| all | 10 of 10 | {sum(held)} of {len(held)}" in "\n".join(rows)
    # The committed page has the same studies first: same verdicts, and the same truth to two digits.
    committed = VERDICTS.read_text(encoding="utf-8").splitlines()
    for row in rows[-len(known) :]:
        name = row.partition(" (")[0]
        assert any(line.startswith(name) for line in committed), row


def test_the_committed_page_keeps_the_promise() -> None:
    right, held = re.findall(r"^\| all \| 30 of (\d+) \| .*\((\d+)%\) \|$", VERDICTS.read_text(encoding="utf-8"), re.M)[
        0
    ]
    assert int(right) == 30
    assert int(held) >= 80
