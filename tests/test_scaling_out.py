"""What "Scaling out" says in short is what "Measurements" and the records have at length."""

from __future__ import annotations

import json
import re

from tests.pages import ROOT


def text(name: str) -> str:
    return " ".join((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8").split())


def row(start: str) -> list[str]:
    """Cells of the row of a table of "Measurements" that begins like this."""
    page = (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")
    (line,) = re.findall(rf"^\| {re.escape(start)} \|(.*)\|$", page, re.M)
    return [cell.strip() for cell in line.split("|")]


def test_calls_per_trial() -> None:
    page = text("scaling-out")
    peer, same, default = (row(name)[:2] for name in (
        "Optuna's `optimize`, random points", "`uhebo.work`, the same sampler", "`uhebo.work`, the default method",
    ))  # fmt: skip
    assert f"it sends {same[0]} commits and {same[1]} statements per trial" in page
    assert f"Optuna's `optimize` sends {peer[0]} and {peer[1]}" in page
    assert f"adds {int(default[0]) - int(same[0])} commits" in page


def test_regret_with_eight_at_once() -> None:
    page = text("scaling-out")
    simple, average = row("geometric mean")[2], row("geometric mean")[5]
    assert f"regret of the best point is {simple} times that of one at a time" in page
    assert f"the average regret {average} times" in page
    assert "geometric mean of 13 problems" in page


def test_nothing_was_lost_in_any_soak() -> None:
    reports = [json.loads(path.read_text()) for path in (ROOT / "results" / "soak").glob("*.json")]
    assert len(reports) >= 2
    for report in reports:
        assert report["acknowledged results lost"] == report["duplicate trial numbers"] == 0
        assert report["acknowledged results"] > 0
        assert report.get("wrong", []) == []
