"""What the report says: names of trials, headings with units, the states and columns of its table."""

from __future__ import annotations

import csv
import io
import re
from html import unescape
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial

from tests.conftest import require
from tests.report_studies import csv_of, made
from uhebo.cli.records import shown_state as in_the_shell
from uhebo.optuna_.lease import LEASE
from uhebo.report.chart import Axis, Chart, Points, Surface
from uhebo.report.html import report_html
from uhebo.report.plots import convergence
from uhebo.report.svg import svg
from uhebo.report.table import shown_state, table_of
from uhebo.report.view import StudyView

require("plotly", "pip install 'uhebo[plot]'")
pytestmark = pytest.mark.usefixtures("rough_importances")
optuna.logging.set_verbosity(optuna.logging.WARNING)
SPACE: dict[str, BaseDistribution] = {"x": FloatDistribution(0, 1)}


def seen(drawing: str) -> list[str]:
    """Texts of a drawing."""
    return [unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", drawing)]


def test_a_further_measurement_is_called_a_repeat_of_its_own_trial() -> None:
    view = StudyView.of(made("accidents").study, made("accidents").diagnosis)
    layer = made("accidents").chart("convergence").layer("repeat")
    assert isinstance(layer, Points)
    assert list(layer.x) == [21, 22]
    of = view.finished[-1].user_attrs["uhebo:repeats"]
    assert all(label.endswith(f", trial {of} once more") for label in layer.labels)
    page = report_html(made("accidents").study, diagnosis=made("accidents").diagnosis)
    assert "repeat of the best" not in page


def test_what_is_under_way_is_counted_as_in_the_heading(monkeypatch: pytest.MonkeyPatch) -> None:
    study, diagnosis = made("laboratory").study, made("laboratory").diagnosis
    assert "Squares: 2 under way" in next(convergence(StudyView.of(study, diagnosis))).sentence
    monkeypatch.setattr("uhebo.report.view.MOST_PENDING", 1)
    assert "Squares: 1 of the 2 under way" in next(convergence(StudyView.of(study, diagnosis))).sentence


def test_bars_end_at_the_axes() -> None:
    points = Points([0.5], [0.5], "", "#000000", along=([-9.0], [0.75]), across=([0.25], [9.0]))
    drawn = svg(Chart([points], Axis(0.0, 1.0), Axis(0.0, 1.0), height=100.0, width=200.0))
    frame = re.search(r'M([\d.]+) ([\d.]+)V([\d.]+)M\1 \3H([\d.]+)" stroke="var\(--quiet\)"', drawn)
    assert frame is not None
    left, top, bottom, right = map(float, frame.groups())
    across, along = re.findall(r"M([\d.]+) ([\d.]+)[HV]([\d.]+)", drawn.partition('stroke="#000000"')[0])[-2:]
    assert float(across[2]) == right
    assert float(along[1]) == bottom
    assert left < float(across[0])
    assert top < float(along[2])


def test_the_scale_of_a_map_says_what_its_colours_are_and_axes_have_units() -> None:
    for key, title in (("map", "expected yield [%]"), ("map_uncertainty", "uncertainty of yield [%]")):
        chart = made("accidents").chart(key)
        assert {chart.x.title, chart.y.title} <= {
            "temperature [°C]", "loading [g/L]", "catalyst", "pH", "residence_ti…nd_reactor"
        }  # fmt: skip
        texts = seen(svg(chart))
        assert texts.index(title) < texts.index(chart.y.title), "the name of the axis is next to it"
    assert "expected value" in seen(svg(made("two floats").chart("map")))
    assert made("accidents").chart("slice_1").y.title == "yield [%]"
    assert {"yield [%]", "temperature [°C]"} <= set(seen(svg(made("accidents").chart("parallel"))))


def test_a_long_name_has_a_row_of_its_own_above_the_scale() -> None:
    axes = Axis(0.0, 1.0), Axis(0.0, 1.0, "y")
    heights = []
    for title in ("value", "uncertainty of a_name_of_24_characters [a_long_unit]"):
        surface = Surface([0.0, 1.0], [0.0, 1.0], np.array([[0.0, 1.0], [2.0, 3.0]]), "", title=title)
        heights.append(float(svg(Chart([surface], *axes)).partition("viewBox=")[2].split()[3].rstrip('"')))
    assert heights[1] == heights[0] + 18.0


def test_states_are_those_of_the_shell() -> None:
    leased = {LEASE: {"worker": "w", "beat": 1}}
    options: list[dict[str, Any]] = [{"state": state} for state in TrialState if state != TrialState.COMPLETE]
    options += [{"state": TrialState.COMPLETE, "value": 1.0}, {"state": TrialState.RUNNING, "system_attrs": leased}]
    options += [{"state": TrialState.FAIL, "user_attrs": {f"uhebo:{why}": True}} for why in ("skipped", "dropped")]
    trials = [create_trial(params={"x": 0.5}, distributions=SPACE, **each) for each in options]
    assert [shown_state(trial) for trial in trials] == [in_the_shell(trial) for trial in trials]
    assert {"finished", "waiting", "running", "queued", "skipped", "dropped"} < {*map(shown_state, trials)}


def test_the_table_speaks_the_readers_words_with_units() -> None:
    study, diagnosis = made("accidents").study, made("accidents").diagnosis
    view = StudyView.of(study, diagnosis)
    table = table_of(view)
    first = [
        "trial", "state", "yield [%]", "yield error [%]", "temperature [°C]", "catalyst", "loading [g/L]",
        "residence_time_of_the_second_reactor", "pH", "proposed by",
    ]  # fmt: skip
    assert [column.title for column in table.page] == [*first, "notes"]
    besides = ["asked for", "reason", "corrected", "confirmed", "operator", "note"]
    assert [column.title for column in table.columns] == [*first, *besides]
    rows = [dict(zip(table.names, row, strict=True)) for row in table.rows]
    notes = [row[-1] for row in table.page_rows]
    assert [rows[i]["state"] for i in (2, 4, 5, 19, 20)] == ["finished", "failed", "dropped", "skipped", "queued"]
    assert (notes[5], notes[19]) == ("wrong bottle", "the bottle was empty")
    assert (rows[20]["pH"], rows[20]["catalyst"]) == (5.0, "Pd-C"), "in the queue, and where it will be"
    assert rows[2]["corrected"].endswith("-> 7.25 (typo)")
    assert notes[2] == f"corrected: {rows[2]['corrected']}"
    assert notes[3] == f"confirmed: yield {view.finished[3].values[0]:.6g}"
    assert (rows[21]["proposed by"], rows[21]["yield error"]) == ("repeat", 0.25)
    assert re.fullmatch(r"trial \d+ once more; operator: K. Åberg; note: =cloudy, see page 14", notes[21])
    page = report_html(study, diagnosis=diagnosis)
    assert "uhebo:" not in page
    assert not re.search(r"<td[^>]*>(complete|running|fail)</td>", page)
    assert next(csv.reader(io.StringIO(csv_of(page)))) == table.names
    assert "uhebo:" not in csv_of(page)
