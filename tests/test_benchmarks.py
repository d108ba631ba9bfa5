"""How the benchmarks measure, where that is easily got wrong; what they measure is theirs to say."""

from __future__ import annotations

from tests.conftest import require
from uhebo.types import Array
from uhebo_experiments.benchmarks.suggest import measured, repeats


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
