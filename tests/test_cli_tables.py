"""Tables on a terminal: no word of theirs is broken, whatever its width."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from uhebo.cli.fitting import fitted
from uhebo.cli.look import rate_in_words

COLUMNS = [
    "number",
    "temperature [°C]",
    "pressure [bar]",
    "catalyst",
    "stirring",
    "dilution",
    "origin",
    "expected value",
]
ROWS = [[str(i), "123.4", "1.25", "palladium", "350", "0.0856", "exploration", "48.6 ± 8.1"] for i in range(9, 15)]


def drawn(columns: list[str], rows: list[list[str]], width: int) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False, force_terminal=False)
    for table in fitted(columns, rows, width):
        console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 95, 120, 200])
def test_no_word_is_broken(width: int) -> None:
    text = drawn(COLUMNS, ROWS, width)
    assert max(map(len, text.splitlines())) <= width
    for word in ("temperature", "exploration", "palladium", "pressure", "dilution"):
        assert word in text
    assert text.count("0.0856") == text.count("exploration") == len(ROWS)


def test_rows_stand_side_by_side_where_columns_cannot() -> None:
    text = drawn(COLUMNS, ROWS, 80)
    first = [cell.strip() for cell in text.splitlines()[1].split("┃")[1:-1]]
    assert first == ["number", "9", "10", "11", "12"]
    assert "pressure [bar]" in text
    assert "┃ number" in drawn(COLUMNS[:3], ROWS and [row[:3] for row in ROWS], 80)


def test_names_and_values_stay_two_columns() -> None:
    text = drawn(["best", "largest"], [["storage", "x" * 90]], 80)
    assert text.count("storage") == 1


def test_a_rate_in_words_and_in_short() -> None:
    assert rate_in_words(46.2) == "46 trials per minute"
    assert rate_in_words(461.0, short=True) == "460/min"
    assert rate_in_words(0.05, short=True) == "3/h"
