"""Every row of `faults.md` has a test whose name carries its number: `test_row_07_…`, or `test_row_04_05_…`."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TABLE = Path(__file__).with_name("faults.md")
ROWS = [int(row) for row in re.findall(r"^\| (\d+) \|", TABLE.read_text(encoding="utf-8"), re.M)]
NUMBERS = re.compile(r"test_row((?:_\d\d?)+)(?=_|$)")


def rows_of(name: str) -> list[int]:
    """The row numbers that a test's name carries."""
    found = NUMBERS.match(name)
    return [int(number) for number in found[1].split("_")[1:]] if found else []


@cache
def named_by_row() -> dict[int, list[str]]:
    """Row -> the tests that carry its number."""
    found: dict[int, list[str]] = {row: [] for row in ROWS}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for row in rows_of(node.name):
                    found.setdefault(row, []).append(f"{path.name}::{node.name}")
    return found


def test_rows_are_numbered_from_one() -> None:
    assert list(range(1, len(ROWS) + 1)) == ROWS


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_a_test(row: int) -> None:
    assert named_by_row()[row], f"no test is named test_row_{row:02d}_…"


def test_there_are_no_other_rows() -> None:
    assert set(named_by_row()) == set(ROWS)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("test_row_07_huge", [7]),
        ("test_row_04_05_non_finite_values", [4, 5]),
        ("test_row_23_1000_categories", [23]),
        ("test_rows", []),
        ("test_something_row_3", []),
    ],
)
def test_names_are_read_as_they_are_meant(name: str, rows: list[int]) -> None:
    assert rows_of(name) == rows
