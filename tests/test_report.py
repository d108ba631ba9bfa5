"""Pictures and the one-file report: every kind of study, hostile text, and what a real browser makes of it."""

from __future__ import annotations

import base64
import csv
import errno
import io
import json
import re
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import optuna
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.study import Study
from optuna.trial import create_trial

from tests import browser
from tests.conftest import require
from tests.report_studies import STUDIES, by_random, csv_of, made, no_finished, written
from tests.waiting import wait_for
from uhebo.diagnosis import diagnose
from uhebo.diagnosis.importance import Importance
from uhebo.errors import InvalidInputError, MissingExtraError, UheboError
from uhebo.optuna_.believe import believe
from uhebo.optuna_.points import ORIGIN, REPEATS
from uhebo.optuna_.trial_log import ATTRIBUTE
from uhebo.report import figures, safe_file_name, theme, write_figures, write_report
from uhebo.report.chart import Area, Axis, Line, Points, Rods, Surface
from uhebo.report.html import report_html
from uhebo.report.marks import colours
from uhebo.report.model_plots import maps
from uhebo.report.plotly_ import template
from uhebo.report.plots import convergence, pictures, regret
from uhebo.report.summary import in_python
from uhebo.report.svg import svg, svg_file
from uhebo.report.text import ReportError, clean, in_csv, in_figure, in_markdown, in_plotly
from uhebo.report.view import StudyView, role_of

require("plotly", "pip install 'uhebo[plot]'")
pytestmark = pytest.mark.usefixtures("rough_importances")
optuna.logging.set_verbosity(optuna.logging.WARNING)

EVIL = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"
LINK = '<a href="http://evil.example/">click</a> & <b>bold</b> %{x}'
ALWAYS = {"convergence"}


@pytest.mark.parametrize("name", STUDIES)
def test_pictures_of_every_kind_of_study(name: str) -> None:
    drawn = made(name).drawn
    assert ALWAYS | STUDIES[name][1] <= set(drawn)
    for key, picture in drawn.items():
        assert len(picture.sentence) > 40, key
        ElementTree.fromstring(svg_file(picture.chart, picture.title))  # it is XML
        assert "nan" not in svg(picture.chart), key


def test_figures_are_plotlys_and_work_together_with_optunas() -> None:
    go = require("plotly.graph_objects", "pip install 'uhebo[plot]'")
    for name in ("laboratory", "two floats", "categorical only"):
        found = figures(made(name).study, made(name).diagnosis)
        assert set(found) == set(made(name).drawn)
        for key, figure in found.items():
            assert isinstance(figure, go.Figure), key
            drawn = json.loads(figure.to_json())
            assert drawn["layout"]["title"]["text"], key
            assert not {t["type"] for t in drawn["data"]} & {"scattergl", "parcoords", "splom"}, "WebGL needs eval"
    together = optuna.visualization.plot_optimization_history(made("two floats").study)
    count = len(together.data)
    together.add_traces(figures(made("two floats").study, made("two floats").diagnosis)["convergence"].data)
    assert len(together.data) > count
    together.update_layout(template=template("dark"))
    json.loads(together.to_json())


def test_pictures_are_written_for_a_paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("resvg_py", "pip install 'uhebo[plot]'")
    keys = ("map", "slice_1")
    monkeypatch.setattr("uhebo.report.html.pictures_of", lambda *_: [made("laboratory").drawn[key] for key in keys])
    written = write_figures(made("laboratory").study, tmp_path / "figures", diagnosis=made("laboratory").diagnosis)
    assert {path.name for path in written} == {f"{key}.{kind}" for key in keys for kind in ("svg", "png")}
    assert (tmp_path / "figures" / "map.png").read_bytes().startswith(b"\x89PNG")
    text = (tmp_path / "figures" / "slice_1.svg").read_text(encoding="utf-8")
    assert "var(" not in text
    assert "under way" in text


def test_one_parameter_has_no_map_and_one_trial_no_history() -> None:
    assert "map" not in made("one parameter").drawn
    assert not {"calibration", "lengthscales_1", "parallel"} & set(made("one trial").drawn)


def test_no_finished_trial_has_no_figures_and_a_report(tmp_path: Path) -> None:
    study = no_finished()
    assert figures(study) == {}
    text = write_report(study, tmp_path / "r.html").read_text()
    assert "No trial has finished" in text


def test_who_proposed_a_trial_is_said_in_the_readers_words() -> None:
    assert "your own experiments" in made("laboratory").chart("convergence").names
    assert "trials" in made("by TPE").chart("convergence").names
    assert "arms" not in made("by TPE").drawn
    assert {role_of(trial) for trial in made("by TPE").study.trials} == {"other"}
    study = optuna.create_study()
    study.enqueue_trial({"x": 0.5, "y": 2})
    assert role_of(study.trials[-1]) == "other"
    space: dict[str, BaseDistribution] = {"x": FloatDistribution(0, 1)}
    asked: tuple[tuple[dict[str, Any], str], ...] = (
        ({ORIGIN: "at random"}, "random"), ({ORIGIN: "near trial 3"}, "model"), ({REPEATS: 1}, "repeat")
    )  # fmt: skip
    for attributes, role in asked:
        trial = create_trial(params={"x": 0.1}, distributions=space, value=1.0, user_attrs=attributes)
        assert role_of(trial) == role


def test_experiments_under_way_are_in_the_pictures() -> None:
    belief = made("laboratory").diagnosis.belief
    assert belief is not None
    view = StudyView.of(made("laboratory").study, made("laboratory").diagnosis)
    assert list(view.pending) == [19, 20]
    low, middle, high = belief.quantiles(list(view.pending.values()), (0.05, 0.5, 0.95))
    points = made("laboratory").chart("convergence").layer("under way")
    assert isinstance(points, Points)
    assert points.x == [19, 20]
    assert points.y == pytest.approx(middle)
    assert points.along is not None
    assert points.along[0] == pytest.approx(low)
    assert points.along[1] == pytest.approx(high)
    for key in ("slice_1", "slice_5", "map", "map_uncertainty"):
        assert "under way" in made("laboratory").chart(key).names
    name = view.ranked[0]
    place = made("laboratory").chart("slice_1").layer("under way")
    assert isinstance(place, Points)
    assert list(place.x) == view.axes[name].positions([params[name] for params in view.pending.values()])


def test_convergence_is_the_running_best_in_both_directions() -> None:
    for direction, better in (("minimize", np.minimum), ("maximize", np.maximum)):
        study = by_random({"x": FloatDistribution(0, 1)}, lambda x: np.sin(9 * x), 12, direction)
        line = next(convergence(StudyView(study, made("constant").diagnosis))).chart.layer("best so far")
        assert isinstance(line, Line)
        running = better.accumulate([float(t.value or 0.0) for t in study.trials])
        assert all(running[int(n or 0)] == v for n, v in zip(line.x, line.y, strict=True))
        assert line.y[-1] == study.best_value


def test_values_far_out_on_the_bad_side_do_not_flatten_the_rest() -> None:
    for direction, sign in (("minimize", 1.0), ("maximize", -1.0)):
        study = by_random({"x": FloatDistribution(0, 1)}, lambda x, s=sign: s * (1e9 if x > 0.9 else x), 40, direction)
        chart = next(convergence(StudyView(study, made("constant").diagnosis))).chart
        assert chart.y.low < study.best_value < chart.y.high
        assert chart.y.high - chart.y.low < 100
        assert "beyond the axis" in chart.note


def test_regret_appears_with_a_known_optimum_on_a_log_axis() -> None:
    view = StudyView.of(made("two floats").study, made("two floats").diagnosis)
    chart = next(regret(view, 0.0)).chart
    line = chart.layer("regret")
    assert isinstance(line, Line)
    assert chart.y.log
    assert min(y for y in line.y if y is not None) == pytest.approx(view.study.best_value)
    assert "regret" not in made("two floats").drawn
    floored = next(regret(view, 1.0)).chart.layer("regret")
    assert isinstance(floored, Line)
    assert min(y for y in floored.y if y is not None) > 0, "better than the optimum said: floored, not lost"


def test_slices_go_through_the_model_and_the_best_point() -> None:
    view = StudyView.of(made("two floats").study, made("two floats").diagnosis)
    best, belief = view.best, view.diagnosis.belief
    assert best is not None
    assert belief is not None
    name = view.ranked[0]
    chart = made("two floats").chart("slice_1")
    line, band, star = (chart.layer(which) for which in ("median", "95 % interval", "best trial"))
    assert isinstance(line, Line)
    assert isinstance(band, Area)
    assert isinstance(star, Points)
    _, median, high = belief.quantiles({**best.params, name: line.x[60]}, (0.025, 0.5, 0.975))
    assert line.y[60] == pytest.approx(median)
    assert band.y[60] == pytest.approx(high)
    assert (star.x[0], star.y[0]) == (best.params[name], best.value)


def test_the_map_has_the_two_most_important_parameters() -> None:
    space = {name: FloatDistribution(0, 1) for name in ("idle", "weak", "strong")}
    study = by_random(space, lambda idle, weak, strong: 3 * np.sin(5 * strong) + weak + 0 * idle, 40)
    view = StudyView.of(study)
    assert view.ranked[:2] == ("strong", "weak")
    mean, deviation = (picture.chart for picture in maps(view))
    assert (mean.x.title, mean.y.title) == ("strong", "weak")
    surface = deviation.layer("uncertainty")
    assert isinstance(surface, Surface)
    assert surface.z.min() >= 0


def test_a_surface_is_drawn_the_right_way_up_and_hatched_where_it_is_infeasible() -> None:
    z = np.array([[0.0, 1.0], [2.0, 3.0]])  # rows go up
    pixels = colours(Surface([0.0, 1.0], [0.0, 1.0], z, ""))
    bright = [int(colour[i : i + 2], 16) for colour in (theme.SCALE[0], theme.SCALE[-1]) for i in (1, 3, 5)]
    corners = (*pixels[-1, 0], *pixels[0, -1])  # bottom left is the least, top right the most
    assert np.abs(np.array(corners, dtype=int) - bright).max() < 40
    hatched = colours(Surface([0.0, 1.0], [0.0, 1.0], z, "", spare=z - 1.5))
    red = (hatched == [0xCC, 0x3D, 0x3D]).all(axis=2)
    assert red[len(red) // 2 + 10 :].any()
    assert not red[: len(red) // 4, -len(red) // 4 :].any()


def test_arm_weights_are_those_that_were_recorded() -> None:
    line = made("two floats").chart("arms").layer("probability of the random arm")
    assert isinstance(line, Line)
    for number, weight in zip(line.x, line.y, strict=True):
        tags = made("two floats").study.trials[int(number or 0)].system_attrs[ATTRIBUTE]
        assert weight == pytest.approx(tags["p"] if tags["arm"] == 0 else 1 - tags["p"])


def test_lengthscales_show_what_was_recorded_against_map() -> None:
    study = made("two floats").study
    for rank, name in enumerate(StudyView.of(study, made("two floats").diagnosis).ranked, 1):
        chart = made("two floats").chart(f"lengthscales_{rank}")
        assert chart.names == ["consistent", "MAP, fitted afterwards"]
        line = chart.layer("consistent")
        assert isinstance(line, Line)
        theta = study.trials[int(line.x[0] or 0)].system_attrs[ATTRIBUTE]["theta"]
        assert line.y[0] == pytest.approx(np.exp(theta["xy".index(name)]))


def test_importances_have_the_intervals_of_the_diagnosis() -> None:
    chart = made("laboratory").chart("importance")
    bars, intervals = chart.layer("share of the variation"), chart.layer("90 % interval")
    assert isinstance(bars, Rods)
    assert isinstance(intervals, Points)
    assert intervals.across is not None
    found = made("laboratory").diagnosis.importance
    assert bars.length == [row.total for row in found]
    assert intervals.across == ([row.total_low for row in found], [row.total_high for row in found])


def test_damaged_tags_are_passed_over() -> None:
    study = optuna.create_study()
    damaged = ({"role": 7, "theta": "no"}, {"theta": [1e9] * 3, "p": "x", "arm": 0}, {"theta": 3, "arm": "b", "p": 2})
    for i in range(9):
        tags: dict[str, Any] = damaged[i % 3]
        trial = create_trial(
            params={"x": i / 9},
            distributions={"x": FloatDistribution(0, 1)},
            value=i / 9,
            system_attrs={ATTRIBUTE: tags},
        )
        study.add_trial(trial)
    found = {picture.key: picture.chart for picture in pictures(study)}
    assert "arms" not in found
    assert set(found["lengthscales_1"].names) == {"consistent, fitted afterwards", "MAP, fitted afterwards"}
    assert {role_of(trial) for trial in study.trials} == {"other"}


def test_calibration_agrees_with_the_diagnosis() -> None:
    calibration = made("two floats").diagnosis.calibration
    assert calibration is not None
    inside = np.abs(calibration.residuals) <= 1.959964
    assert f"{round(100 * inside.mean())} % of the values" in made("two floats").drawn["calibration"].sentence


@given(st.floats(-1e12, 1e12), st.floats(1e-9, 1e12), st.integers(2, 9))
def test_labels_of_an_axis_are_few_in_range_and_differ(low: float, span: float, most: int) -> None:
    high = low + span
    assume(span > 1e-9 * max(abs(low), abs(high)))
    ticks = Axis(low, high).labels(most)
    assert len(ticks) <= most
    slack = 1e-6 * span
    assert all(low - slack <= place <= high + slack for place, _ in ticks)
    if span > 1e-3 * max(abs(low), abs(high)):
        assert len({text for _, text in ticks}) == len(ticks)


@given(st.floats(-12, 12), st.floats(0.05, 20), st.integers(2, 8))
def test_labels_of_a_log_axis_are_few_and_in_range(low: float, decades: float, most: int) -> None:
    axis = Axis(10**low, 10 ** (low + decades), log=True)
    ticks = axis.labels(most)
    assert 1 <= len(ticks) <= most
    assert all(axis.low * 0.9 <= place <= axis.high * 1.1 for place, _ in ticks)


def test_colours_contrast_with_both_backgrounds() -> None:
    def luminance(colour: str) -> float:
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    def contrast(a: str, b: str) -> float:
        low, high = sorted((luminance(a), luminance(b)))
        return (high + 0.05) / (low + 0.05)

    drawn = {*theme.ROLE_COLOURS.values(), *theme.ESTIMATOR_COLOURS.values(), theme.GOOD, theme.BAD, theme.NEUTRAL}
    drawn |= {theme.PENDING, theme.INFEASIBLE, theme.WORST_LINE, theme.BEST_LINE}
    for mode, ink in theme.INK.items():
        assert contrast(ink["ink"], ink["paper"]) >= 7
        for colour in drawn:
            assert contrast(colour, ink["paper"]) >= 3, (colour, mode)
    css = (Path(theme.__file__).parent / "page.css").read_text()
    for block, ink in zip(re.findall(r"--paper:[^}]*", css), theme.INK.values(), strict=True):
        names = dict(re.findall(r"--([\w-]+): (#\w{6})", block))
        assert {name: names[name] for name in ink} == ink, "the page's colours are those of the pictures"
        for name in ("ink", "quiet", "link"):
            assert contrast(names[name], names["paper"]) >= 4.5
            assert contrast(names[name], names["card"]) >= 4.5
        for name in ("trust", "caution", "distrust"):
            assert contrast(names[name], names["on-verdict"]) >= 4.5


def test_too_many_objectives_are_refused() -> None:
    study = optuna.create_study(directions=["minimize"] * 5)
    with pytest.raises(InvalidInputError, match="up to 4 objectives"):
        figures(study)


def test_without_plotly_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> types.ModuleType:
        raise ImportError(name)

    study = made("two floats").study
    monkeypatch.setattr("uhebo.report.text.importlib.import_module", missing)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'uhebo[plot]'")) as caught:
        figures(study, made("two floats").diagnosis)
    assert isinstance(caught.value, UheboError)


def test_importing_the_package_loads_neither_plotly_nor_the_dashboard() -> None:
    import subprocess
    import sys

    heavy = ("plotly", "optuna_dashboard", "pandas", "jinja2", "mcp")
    code = f"import sys, uhebo.report; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


# --- text that came from others -------------------------------------------------------------------------------------


def hostile() -> Study:
    study = optuna.create_study(study_name=f"../../{EVIL}")
    study.set_user_attr(f"note {EVIL}", EVIL)
    study.set_user_attr("storage", "postgresql+psycopg://lab:hunter2@db.example/x")
    space = {
        EVIL: FloatDistribution(0, 1),
        LINK: CategoricalDistribution([EVIL, LINK, "=cmd|' /C calc'!A0", "\u202egnp.exe"]),
    }
    for i in range(14):
        params = {EVIL: (i + 0.5) / 14, LINK: space[LINK].choices[i % 4]}  # type: ignore[attr-defined]
        trial = create_trial(
            params=params,
            distributions=space,
            value=(i / 14 - 0.4) ** 2 + 0.1 * (i % 4),
            user_attrs={LINK: EVIL, "formula": "@SUM(A1)", "password": "mysql://u:hunter2@h/d"},
        )
        study.add_trial(trial)
    return study


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_row_44_45_hostile_text_makes_no_tags_and_no_password_is_shown() -> None:
    study = hostile()
    text = report_html(study)
    body = re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.DOTALL)
    page = Page(body)
    assert not [tag for tag, _ in page.tags if tag in ("img", "iframe", "object", "b")]
    assert not [attrs for _, attrs in page.tags if any(name.startswith("on") for name in attrs)]
    assert {a["href"] for tag, a in page.tags if tag == "a"} >= {"#main"}
    assert all(str(a["href"]).startswith(("#", "data:text/csv")) for tag, a in page.tags if tag == "a")
    assert text.count("<script") == 2
    assert "hunter2" not in text
    assert "hunter2" not in csv_of(text)
    assert "lab:***@db.example" in text


def test_row_44_figures_hold_no_live_tags() -> None:
    for key, figure in figures(hostile()).items():
        for text in strings(json.loads(figure.to_json())["layout"]):
            assert "<script" not in text, key
            assert "<a href" not in text, key
            assert "<img" not in text, key


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def test_text_for_each_place() -> None:
    assert len(in_figure("x" * 500)) <= 24
    assert in_plotly("%{x} <a>") == "% {x} &lt;a&gt;"
    assert in_figure("furnace_temperature_of_zone_1") != in_figure("furnace_temperature_of_zone_2")
    assert "<" not in in_markdown("<img src=x>")
    assert in_markdown("[a](javascript:x)").startswith(r"\[a\]\(")
    assert clean("a\x00b\u202ec\nd") == "a bc d"
    assert len(clean("x" * 10**6)) <= 2000


def test_csv_cells_start_no_formula() -> None:
    for text in ("=1+1", "+1", "-1", "@x", " =1", "\t=1"):
        assert in_csv(text).lstrip('"').startswith("'")
    assert in_csv(-1.5) == "-1.5"
    assert in_csv(None) == "None"
    assert next(csv.reader([in_csv('a,"b"')])) == ['a,"b"']


def test_the_csv_has_every_trial_exactly() -> None:
    study = made("mixed").study
    rows = list(csv.DictReader(io.StringIO(csv_of(report_html(study, diagnosis=made("mixed").diagnosis)))))
    assert len(rows) == len(study.trials)
    for row, trial in zip(rows, study.trials, strict=True):
        assert float(row["value"]) == trial.value
        assert float(row["lr"]) == trial.params["lr"]
        assert row["kind"] == trial.params["kind"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("../../etc/passwd", "etc-passwd.html"),
        ("/abs", "abs.html"),
        ("..", "study.html"),
        ("", "study.html"),
        ("con", "study-con.html"),
        (".hidden", "hidden.html"),
        ("a\\b:c*d", "a-b-c-d.html"),
        ("Ofen 3 – Lauf/2", "Ofen-3-Lauf-2.html"),
        ("x" * 500, "x" * 80 + ".html"),
    ],
)
def test_row_43_file_names_stay_where_they_are_put(name: str, expected: str) -> None:
    assert safe_file_name(name) == expected


def test_a_folder_gets_a_file_named_after_the_study(tmp_path: Path) -> None:
    study = optuna.create_study(study_name="../../outside")
    path = write_report(study, tmp_path)
    assert path.parent == tmp_path
    assert path.name == "outside-report.html"
    assert [p.name for p in tmp_path.iterdir()] == [path.name], "no temporary file is left"


# --- writing ----------------------------------------------------------------------------------------------------------


def test_a_full_disk_is_one_clear_error_and_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.html"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("uhebo.report.text.os.fsync", full)
    with pytest.raises(ReportError, match="No space left on device"):
        write_report(no_finished(), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportError, match="could not write"):
        write_report(no_finished(), tmp_path / "file" / "r.html")


def test_sixty_trials_of_five_factors_stay_below_600_kb() -> None:
    study = made("laboratory").study
    page = report_html(study, diagnosis=made("laboratory").diagnosis)
    # The pictures grow with the trials: three times as many of them.
    assert len(page.encode()) < 200_000
    assert "plotly" not in page.lower()


def test_the_first_screen_in_the_readers_words() -> None:
    page = report_html(made("laboratory").study, diagnosis=made("laboratory").diagnosis, place="'my lab.db'")
    first = page.partition('<main id="main">')[2].partition('id="more"')[0]
    shown = re.sub(r"<[^>]+>|<title>.*?</title>", " ", first)
    for word in ("surrogate", "HMC", "consistent", "steepness", "Sobol", "lengthscale", "posterior"):
        assert word.lower() not in shown.lower(), word
    assert re.search(r"<code>uhebo \w+ &#39;my lab.db&#39;", first)
    assert "Recommended" in first
    assert re.search(r'class="number">[\d.]+ ± [\d.]+<', first)
    in_python = report_html(made("laboratory").study, diagnosis=made("laboratory").diagnosis)
    assert "<code>study.optimize(objective, n_trials=" in in_python


def test_a_value_that_looks_mistyped_can_be_confirmed_from_the_report() -> None:
    study = optuna.create_study(study_name="furnace")
    for i, x in enumerate(np.linspace(0, 1, 20)):
        value = 30 + 5 * float(np.sin(3 * x))
        told = round(value * 10 if i == 7 else value, 3)
        study.add_trial(create_trial(params={"x": x}, distributions={"x": FloatDistribution(0, 1)}, value=told))
    assert diagnose(study).kind == "typo"
    told = study.trials[7].values[0]
    page = report_html(study, place="lab.db")
    assert "If the value is right as it is:" in page
    assert f"<code>uhebo amend lab.db 7 {told:g}</code>" in page
    assert f"<code>uhebo.amend(study, 7, {told:g})</code>" in report_html(study)


def test_a_best_trial_that_lacks_a_parameter_has_a_report() -> None:
    study = optuna.create_study(study_name="early")
    rng = np.random.default_rng(0)
    for x, y in rng.random((12, 2)).tolist():
        space: dict[str, BaseDistribution] = {name: FloatDistribution(0, 1) for name in "xy"}
        study.add_trial(create_trial(params={"x": x, "y": y}, distributions=space, value=x + y))
    study.add_trial(create_trial(params={"x": 0.1}, distributions={"x": FloatDistribution(0, 1)}, value=-1.0))
    assert "the model cannot judge it: it lacks a parameter" in report_html(study)


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("uhebo suggest STUDY -n 10", "study.optimize(objective, n_trials=10)"),
        ("uhebo suggest STUDY -n 3 --repeat-best", "study.enqueue_trial(study.best_params)"),
        ("uhebo amend STUDY 14 29.1", "uhebo.amend(study, 14, 29.1)"),
        ("uhebo amend STUDY 14 yield=29.1", "uhebo.amend(study, 14, {'yield': 29.1})"),
        ("uhebo amend STUDY 14 --failed", "uhebo.amend(study, 14, failed=True)"),
        ("uhebo extend STUDY 'a b=0.5:7.25'", "uhebo.extend(study, {'a b': (0.5, 7.25)})"),
        ("uhebo suggest STUDY --repeat 3", ""),
        ("uhebo drop STUDY 3", "uhebo.drop(study, 3)"),
        ("uhebo best STUDY", "uhebo.corrected(study).best_trial"),
        ("uhebo unknown STUDY", ""),
    ],
)
def test_next_steps_in_python(command: str, line: str) -> None:
    assert in_python(command) == line


def test_many_trials_make_no_large_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uhebo.report.table.MOST_ROWS", 50)
    study = optuna.create_study(study_name="large")
    rng = np.random.default_rng(0)
    space: dict[str, BaseDistribution] = {f"p{i}": FloatDistribution(0, 1) for i in range(6)}
    for _ in range(900):
        x = rng.random(6)
        params = {f"p{i}": float(v) for i, v in enumerate(x)}
        study.add_trial(create_trial(params=params, distributions=space, value=float(np.sin(5 * x).sum())))
    importance = tuple(Importance(f"p{i}", 1.0, 0.2, 0.2, 0.2, 0.1, 0.3) for i in range(6))
    diagnosis = replace(diagnose(optuna.create_study()), belief=believe(study), importance=importance)
    text = report_html(study, diagnosis=diagnosis)
    assert len(text) < 1.5e6
    assert "50 best of 900" in text
    assert len(csv_of(text).splitlines()) == 901


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browser.chromium(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The report of a study by name, written once."""
    return partial(written, tmp_path_factory.mktemp("pages"))


@pytest.mark.browser
def test_the_first_screen_has_verdict_best_progress_importances_and_the_next_command(
    driver: Any, pages: Callable[[str], Path]
) -> None:
    try:
        browser.resize(driver, 1400, 900)
        browser.open_report(driver, pages("laboratory"))
        parts = (".badge", ".commands code", ".choice .number", ".choice table", "#convergence", "#importance")
        for part in parts:
            bottom = driver.execute_script(
                "return document.querySelector(arguments[0]).getBoundingClientRect().bottom", part
            )
            assert 0 < bottom <= 900, part
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.browser
def test_row_44_hostile_text_is_text_in_the_page(driver: Any, tmp_path: Path) -> None:
    path = write_report(hostile(), tmp_path / "hostile.html", title=EVIL)
    browser.open_report(driver, path)
    assert driver.execute_script("return window.hacked") is None
    assert driver.execute_script("return document.querySelectorAll('img, iframe, object').length") == 0
    assert driver.execute_script("return document.querySelectorAll('svg a, .plot a[href]').length") == 0
    assert driver.execute_script("return document.querySelector('h1').textContent") == EVIL
    axis = driver.execute_script("return [...document.querySelectorAll('svg text')].map(e => e.textContent).join('|')")
    assert "</script" in axis
    assert "<a href" in axis
    assert driver.execute_script("return document.scripts.length") == 2
    assert "hunter2" not in driver.page_source
    # And where some text slips through, no script of it runs.
    path.write_text(path.read_text().replace("</main>", "<script>window.hacked=1</script></main>"))
    assert browser.console_errors(driver) == []
    browser.open_report(driver, path)
    assert driver.execute_script("return window.hacked") is None
    assert any("Content Security Policy" in message for message in browser.console_errors(driver))
    assert browser.hosts_asked(driver) == set()


def printed(driver: Any, path: Path) -> int:
    """Pages of A4."""
    browser.open_report(driver, path)
    made = driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"]
    return len(re.findall(rb"/Type\s*/Page[^s]", base64.b64decode(made)))


@pytest.mark.browser
def test_light_dark_and_print(driver: Any, pages: Callable[..., Path]) -> None:
    path = pages("laboratory")
    ink = "getComputedStyle(document.querySelector('#convergence text')).fill"
    paper = "getComputedStyle(document.body).backgroundColor"
    browser.open_report(driver, path, "dark")
    assert driver.execute_script(f"return {paper}") == "rgb(21, 24, 28)"
    assert driver.execute_script(f"return {ink}") == "rgb(163, 171, 181)"
    browser.prefer(driver, "light")
    assert driver.execute_script(f"return {paper}") == "rgb(255, 255, 255)"
    assert driver.execute_script(f"return {ink}") == "rgb(87, 96, 106)"
    browser.prefer(driver, "dark", "print")
    assert driver.execute_script(f"return {paper}") == "rgb(255, 255, 255)"
    assert driver.execute_script("return getComputedStyle(document.querySelector('.copy')).display") == "none"
    browser.prefer(driver, "light")
    assert printed(driver, path) <= 6
    assert printed(driver, pages("laboratory", brief=True)) == 1
    assert browser.console_errors(driver) == []


@pytest.mark.browser
def test_accessible_structure_and_keyboard(driver: Any, pages: Callable[[str], Path]) -> None:
    browser.open_report(driver, pages("laboratory"))
    run = driver.execute_script
    assert run("return document.documentElement.lang") == "en"
    assert run("return ['header', 'main', 'footer'].every(t => document.querySelector(t) !== null)")
    levels = run("return [...document.querySelectorAll('h1,h2,h3,h4')].map(e => +e.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    order = run("return [...document.querySelectorAll('h2')].map(e => e.id)")
    assert order == ["verdict", "best", "shape", "more"]
    assert run("return [...document.querySelectorAll('.plot')].every(e => e.ariaLabel.length > 40 && e.role === 'img')")
    assert run("return [...document.querySelectorAll('th')].every(e => e.scope !== '')")
    ids = run("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    keys = require("selenium.webdriver.common.keys", "").Keys
    body = driver.switch_to.active_element
    body.send_keys(keys.TAB)
    assert driver.switch_to.active_element.text == "Skip to the results"
    outline = run("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


@pytest.mark.browser
def test_the_downloads_arrive(driver: Any, pages: Callable[[str], Path], tmp_path: Path) -> None:
    study = made("laboratory").study
    browser.open_report(driver, pages("laboratory"))
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    driver.execute_script("document.getElementById('csv').click()")
    table = arrived(tmp_path, "furnace.csv")
    assert len(table.read_text(encoding="utf-8-sig").splitlines()) == len(study.trials) + 1
    for kind in ("svg", "png"):
        driver.execute_script(f"document.querySelector('#figure-map [data-save={kind}]').click()")
        image = arrived(tmp_path, f"furnace-map.{kind}")
        assert image.read_bytes().startswith(b"\x89PNG" if kind == "png" else b"<svg")
    assert b"var(--" not in (tmp_path / "furnace-map.svg").read_bytes()
    assert browser.console_errors(driver) == []


def arrived(folder: Path, name: str) -> Path:
    wait_for((folder / name).is_file)
    return folder / name
