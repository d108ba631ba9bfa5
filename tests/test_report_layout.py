"""The report as a browser lays it out: nothing cut, overprinted or left empty, on screens and on paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import create_trial

from tests import browser
from tests.conftest import require
from tests.report_studies import made, trade_off, written
from uhebo.diagnosis import diagnose, diagnose_each
from uhebo.report import write_report

require("plotly", "pip install 'uhebo[plot]'")
pytestmark = [pytest.mark.usefixtures("rough_importances"), pytest.mark.browser]
optuna.logging.set_verbosity(optuna.logging.WARNING)

PAPER = 695
"""Pixels between the margins of a sheet of A4."""
LOOKS = [*((width, scheme, "") for width in (400, 696, 800, 1400) for scheme in ("light", "dark")),
         (PAPER, "light", "print"), (PAPER, "dark", "print")]  # fmt: skip
OPEN = "for (const part of document.querySelectorAll('details')) { part.open = true; }"

CUT = """
const wrong = [];
for (const plot of document.querySelectorAll('.plot svg')) {
  const name = plot.parentElement.id, box = plot.getBoundingClientRect();
  const texts = [...plot.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
  for (const [text, r] of texts) {
    if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1) {
      wrong.push('cut in ' + name + ': ' + text);
    }
  }
  texts.forEach(([a, r], i) => texts.slice(i + 1).forEach(([b, s]) => {
    const wide = Math.min(r.right, s.right) - Math.max(r.left, s.left);
    const high = Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top);
    if (wide > 1 && high > 3) { wrong.push('overprinted in ' + name + ': ' + a + ' / ' + b); }
  }));
}
return wrong;
"""

HOLES = """
const holes = [], parts = 'h3, p, table, li, svg, figcaption';
for (const grid of document.querySelectorAll('.figures')) {
  const items = [...grid.querySelectorAll('.choice, figure')].filter(e => e.checkVisibility());
  const rows = new Map();
  for (const item of items) {
    const box = item.getBoundingClientRect(), key = Math.round(box.top);
    const seen = [...item.querySelectorAll(parts)].filter(e => e.checkVisibility() && !e.classList.contains('unseen'));
    const bottom = Math.max(...seen.map(e => e.getBoundingClientRect().bottom));
    rows.set(key, [...(rows.get(key) || []), { name: item.id || item.className, box, bottom }]);
  }
  const all = grid.getBoundingClientRect();
  for (const [top, row] of rows) {
    const bottom = Math.max(...row.map(each => each.bottom));
    for (const each of row) {
      const empty = bottom - each.bottom;
      if (empty > 0.4 * (bottom - top)) { holes.push('below ' + each.name + ': ' + empty); }
    }
    const wide = row.reduce((sum, each) => sum + each.box.width, 0);
    if (grid.classList.contains('first') && wide < all.width / 2) { holes.push('beside ' + row[0].name); }
  }
}
return holes;
"""

WIDE = """
return [...document.querySelectorAll('table, pre, .scroll')].map(e => [e, e.getBoundingClientRect()])
  .filter(([e, r]) => r.right > document.documentElement.clientWidth + 1 || e.scrollWidth > e.clientWidth + 1)
  .map(([e, r]) => e.className + ' ' + e.textContent.trim().slice(0, 60) + ' ' + r.right);
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browser.chromium(tmp_path_factory.mktemp("browser")) as opened:
        yield opened
        opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.mark.parametrize("name", ["laboratory", "accidents", "mixed", "categorical only", "odd values"])
def test_nothing_is_cut_or_overprinted_at_any_width_and_on_paper(driver: Any, folder: Path, name: str) -> None:
    for width, scheme, media in LOOKS:
        browser.resize(driver, width, 900)
        browser.open_report(driver, written(folder, name), scheme, media)
        assert driver.execute_script(OPEN + CUT) == [], (width, scheme, media)
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width, (width, media)
    assert driver.execute_script("return document.documentElement.dataset.ready") == str(len(made(name).drawn))
    assert browser.console_errors(driver) == []
    assert browser.hosts_asked(driver) == set()


@pytest.mark.parametrize("name", ["laboratory", "accidents", "mixed", "one parameter", "one trial", "by TPE"])
@pytest.mark.parametrize("brief", [False, True])
def test_no_part_of_the_page_is_left_empty(driver: Any, folder: Path, name: str, brief: bool) -> None:
    for width, scheme, media in LOOKS:
        browser.resize(driver, width, 900)
        browser.open_report(driver, written(folder, name, brief), scheme, media)
        assert driver.execute_script(HOLES) == [], (width, scheme, media)


@pytest.mark.parametrize("names", [["yield", "cost"], ["yield", "cost", "waste"]])
def test_no_part_of_a_page_of_several_objectives_is_left_empty(driver: Any, tmp_path: Path, names: list[str]) -> None:
    study = trade_off(names, ["maximize", *["minimize"] * (len(names) - 1)])
    path = write_report(study, tmp_path / "r.html", diagnosis=diagnose_each(study, hmc=False), place="lab.db")
    for width, scheme, media in LOOKS:
        browser.resize(driver, width, 900)
        browser.open_report(driver, path, scheme, media)
        assert driver.execute_script(HOLES) == [], (width, scheme, media)
        assert driver.execute_script(OPEN + CUT) == [], (width, scheme, media)


def test_holes_are_found(driver: Any, folder: Path) -> None:
    browser.resize(driver, 800, 900)
    browser.open_report(driver, written(folder, "laboratory"))
    for parts in ("display: block; columns: 2", "display: grid; grid-template-columns: 2fr 3fr; max-width: none"):
        broken = f"for (const e of document.querySelectorAll('.first, .choices')) {{ e.style.cssText = '{parts}'; }}"
        assert driver.execute_script(broken + HOLES) != []


@pytest.mark.parametrize("name", ["laboratory", "accidents", "mixed", "odd values"])
def test_no_table_is_wider_than_its_sheet_of_paper(driver: Any, folder: Path, name: str) -> None:
    browser.resize(driver, PAPER, 1000)
    browser.open_report(driver, written(folder, name), media="print")
    assert driver.execute_script(OPEN + WIDE) == []
    assert driver.execute_script("return document.querySelectorAll('#trials .crowded').length") == 0


def test_a_table_of_many_factors_is_on_paper_too(driver: Any, tmp_path: Path) -> None:
    study, rng = optuna.create_study(), np.random.default_rng(0)
    space: dict[str, BaseDistribution] = {f"factor_{i}": FloatDistribution(0, 1) for i in range(24)}
    for _ in range(6):
        params = {name: float(rng.random()) for name in space}
        study.add_trial(create_trial(params=params, distributions=space, value=float(rng.random())))
    nothing = diagnose(optuna.create_study(), hmc=False)
    browser.resize(driver, PAPER, 1000)
    browser.open_report(driver, write_report(study, tmp_path / "r.html", diagnosis=nothing), media="print")
    assert driver.execute_script(OPEN + WIDE) == []
