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
    tuning = (ROOT / "results" / "tuning" / "tuning.md").read_text(encoding="utf-8")
    found = re.search(
        r"8 trials at once\. .*, (\d+) problems: .* a factor of ([\d.]+) in regret \(([\d.]+ to [\d.]+) within", tuning
    )
    assert found is not None
    count, factor, within = found.groups()
    page = text("scaling-out")
    assert f"is {factor} times that of one at a time (one standard error: {within}) in the geometric mean" in page
    assert f"[{count} problems]" in page
    assert f"cost a factor of {factor} in regret (one standard error: {within})" in text("how-it-decides")


def test_rates_beside_optunas_own_loop() -> None:
    table = (ROOT / "results" / "throughput" / "evaluation-0.md").read_text(encoding="utf-8")
    rows = {
        name: list(map(float, cells.split(" | ")))
        for name, cells in re.findall(r"^\| (.*? \| .*?) \| (.*) \|$", table, re.M)[2:]
    }
    ratios = [ratio for name, cells in rows.items() if "/" in name for ratio in cells]
    rates = [rate for name, cells in rows.items() if name.endswith("| worker") for rate in cells]
    default = [rate for name, cells in rows.items() if name.endswith("| auto") for rate in cells]
    page = text("scaling-out")
    assert f"stores {min(ratios):.1f} to {max(ratios):.1f} times as many trials per second as Optuna's own loop" in page
    assert f"({min(rates):.0f} to {max(rates):.0f} a second)" in page
    assert f"The default method comes to {min(default):.0f} to {max(default):.0f}:" in page


def test_nothing_was_lost_in_any_soak() -> None:
    reports = [json.loads(path.read_text()) for path in (ROOT / "results" / "soak").glob("*.json")]
    assert len(reports) >= 2
    for report in reports:
        assert report["acknowledged results lost"] == report["duplicate trial numbers"] == 0
        assert report["acknowledged results"] > 0
        assert report.get("wrong", []) == []
