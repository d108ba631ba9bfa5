"""How the benchmarks measure, where that is easily got wrong, and that the tables of the pages follow from records."""

from __future__ import annotations

from tests.conftest import require
from tests.pages import ROOT
from uhebo.types import Array
from uhebo_experiments.benchmarks import choose, compare, fit_readings
from uhebo_experiments.benchmarks.suggest import measured, repeats
from uhebo_experiments.table import RUNS, Table


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
