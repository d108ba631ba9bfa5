"""Verdicts and importances against the truth, on some of the studies of `uhebo_experiments.benchmarks.verdicts`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import optuna

from uhebo_experiments.benchmarks.verdicts import check, report, studies

PAGE = Path(__file__).parents[1] / "results" / "verdicts.md"


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
    committed = PAGE.read_text(encoding="utf-8").splitlines()
    for row in rows[-len(known) :]:
        name = row.partition(" (")[0]
        assert any(line.startswith(name) for line in committed), row


def test_the_committed_page_keeps_the_promise() -> None:
    right, held = re.findall(r"^\| all \| 30 of (\d+) \| .*\((\d+)%\) \|$", PAGE.read_text(encoding="utf-8"), re.M)[0]
    assert int(right) == 30
    assert int(held) >= 80
