"""The report and the dashboard of several objectives: the front, its uncertainty, trade-offs, each objective."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.study import Study
from optuna.trial import create_trial

from tests import browser
from tests.conftest import require
from tests.report_studies import trade_off
from uhebo.diagnosis import diagnose, diagnose_each
from uhebo.diagnosis.expected import Opinions
from uhebo.diagnosis.tradeoffs import in_words, trade_offs
from uhebo.optuna_.fronts import front_trials, middle_of
from uhebo.pareto_result import ParetoResult
from uhebo.report import dashboard, write_report
from uhebo.report.fronts import front_pictures, views_of
from uhebo.report.html import report_html
from uhebo.report.plots import pictures

require("plotly", "pip install 'uhebo[plot]'")
pytestmark = pytest.mark.usefixtures("rough_importances")
EVIL = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"


@pytest.fixture(scope="module")
def two() -> Study:
    return trade_off(["yield", "cost"], ["maximize", "minimize"])


@pytest.fixture(scope="module")
def each(two: Study) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"THETAS": 2, "BURN_IN": 5, "LOG2_POINTS": 6}.items():
            patch.setattr(f"uhebo.diagnosis.importance.{name}", value)
        return diagnose_each(two, hmc=False)


def test_each_objective_is_diagnosed_as_by_itself(two: Study, each: Any) -> None:
    assert list(each) == ["yield", "cost"]
    alone = diagnose(two, objective="cost", hmc=False)
    assert alone.headline == each["cost"].headline
    assert alone.belief is not None
    np.testing.assert_allclose(alone.belief.theta.ell, each["cost"].belief.theta.ell)


def test_the_front_is_drawn_with_what_the_models_believe(two: Study, each: Any) -> None:
    chart = next(picture.chart for picture in pictures(two, each) if picture.key == "front")
    front = front_trials(two)
    traces: dict[str, Any] = {name: chart.layer(name) for name in chart.names}
    assert [*zip(traces["front"].x, traces["front"].y, strict=True)] == [tuple(trial.values) for trial in front]
    reached = traces["reached"]
    assert reached.steps
    assert list(reached.x) == sorted(reached.x, reverse=True), "yield is maximised: from its best down"
    assert len(reached.x) == len(front)
    opinions = Opinions.of(two)
    for axis, bars, name in (("x", "across", "yield"), ("y", "along", "cost")):
        middle, low, high = np.array([opinions.predicted(trial.params)[name] for trial in front]).T
        np.testing.assert_allclose(getattr(traces["expected there"], axis), middle)
        np.testing.assert_allclose(getattr(traces["expected there"], bars), (low, high))
    band = traces["front by the models"]
    assert min(band.x) >= min(traces["front"].x) - 1e-9
    others = sum(len(trace.x) for name, trace in traces.items() if name == "trials")
    assert others == len(two.trials) - len(front)


def test_pictures_of_the_search_and_of_each_objective(two: Study, each: Any) -> None:
    found = {picture.key: picture for picture in pictures(two, each)}
    result = ParetoResult(two)
    volume: Any = found["hypervolume"].chart.layer("hypervolume")
    assert volume.y[-1] == pytest.approx(result.hypervolume[-1])
    for index, name in enumerate(("yield", "cost")):
        keys = {key.removeprefix(f"objective_{index}_") for key in found if key.startswith(f"objective_{index}_")}
        assert {"importance", "slice_1", "slice_2", "slice_3", "map", "calibration", "coverage"} <= keys
        assert found[f"objective_{index}_slice_1"].title.startswith(f"{name}: slice along ")
        middle = middle_of(two, front_trials(two))
        assert (
            f"the values of trial {middle.number}, middle of the front" in found[f"objective_{index}_slice_1"].sentence
        )


def test_the_report_of_two_objectives(two: Study, each: Any, tmp_path: Path) -> None:
    page = write_report(two, tmp_path / "report.html", diagnosis=each).read_text(encoding="utf-8")
    assert "To maximise <em>yield</em> and to minimise <em>cost</em>:" in page
    assert "<strong>cost:</strong>" in page
    assert "Middle of the front" in page
    for sentence in in_words(two):
        assert f"<li>{sentence}</li>" in page
    rows = re.findall(r"<tr><td[^>]*>(\d+)</td>", page)
    assert set(map(int, rows)) >= {trial.number for trial in front_trials(two)}
    assert "value_0" not in page


def test_three_objectives_pairwise_and_hostile_names() -> None:
    study = trade_off([EVIL, "<b>b</b>", "c"], ["maximize", "minimize", "minimize"], count=12)
    page = report_html(study, diagnosis=diagnose_each(study, hmc=False))
    assert "<img src=x" not in page
    assert "<script>window.hacked" not in page
    for pair in ("0_1", "0_2", "1_2"):
        assert f'id="front_{pair}"' in page


def test_too_little_for_a_front(tmp_path: Path) -> None:
    empty = trade_off(["a", "b"], ["maximize", "minimize"], count=0)
    assert pictures(empty) == []
    assert "No trial has finished" in write_report(empty, tmp_path / "a.html").read_text(encoding="utf-8")
    assert in_words(empty) == ["No trial is on the front yet."]
    one = trade_off(["a", "b"], ["maximize", "minimize"], count=1)
    assert "no trade-off shows yet" in in_words(one)[0]
    assert [picture.key for picture in pictures(one)] == ["front"]
    none = trade_off(["a", "b"], ["maximize", "minimize"], count=6, system_attrs={"constraints": [1.0]})
    judged = diagnose_each(none, hmc=False)
    assert "front" in [picture.key for picture in pictures(none, judged)]
    page = report_html(none, diagnosis=judged)
    assert "None of 6 finished trials keeps the constraints" in page


def test_trade_offs_have_the_slope_of_the_front() -> None:
    study = optuna.create_study(directions=["minimize"] * 3)
    rng = np.random.default_rng(0)
    for a, b in rng.random((20, 2)) / 2.0:
        values = [100.0 * a, b, 3.0 - a - 2.0 * b]  # a plane: 10 less of the first is 0.1 more of the last
        study.add_trial(create_trial(params={}, distributions={}, values=values))
    found = {(each.gained, each.lost): each for each in trade_offs(study)}
    slopes = {("value_0", "value_1"): -1 / 200, ("value_0", "value_2"): -1 / 100, ("value_1", "value_2"): -2.0}
    for pair, slope in slopes.items():
        assert found[pair].price / found[pair].step == pytest.approx(slope, rel=1e-6)
    assert str(found["value_0", "value_2"]).endswith("5 less value_0 costs about 0.05 more value_2, the others held")


@pytest.fixture
def only_the_front(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the pictures, which are many, those that one objective does not have."""
    monkeypatch.setattr("uhebo.report.plots.several_pictures", lambda views: [*front_pictures(views)])


@pytest.mark.usefixtures("only_the_front")
def test_the_dashboard_has_a_note_on_each_and_the_front(two: Study, each: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    served = require("optuna_dashboard", "pip install 'uhebo[dashboard]'")
    monkeypatch.setattr(dashboard, "views_of", lambda study, hmc: views_of(study, each))  # noqa: ARG005
    dashboard.annotate_study(two)
    note = served.get_note(two)
    assert "## The model of yield" in note
    assert "## The model of cost" in note
    kept = two._storage.get_study_system_attrs(two._study_id)
    assert any("uhebo-front" in key for key in kept)


@pytest.mark.browser
@pytest.mark.usefixtures("only_the_front")
def test_a_browser_draws_it(two: Study, each: Any, tmp_path: Path) -> None:
    page = write_report(two, tmp_path / "report.html", diagnosis=each)
    with browser.chromium(tmp_path) as driver:
        driver.get(page.as_uri())
        browser.wait_until(driver, "document.documentElement.dataset.ready")
        assert driver.execute_script("return document.querySelectorAll('.plot svg').length") == 1
        assert browser.console_errors(driver) == []
        # No label of the front is cut: each lies within its figure.
        outside = driver.execute_script(
            "const box = document.getElementById('front').getBoundingClientRect();"
            "return [...document.querySelectorAll('#front text')].filter(t => t.textContent).map(t => "
            "[t.textContent, t.getBoundingClientRect()]).filter(([_, r]) => r.width && (r.left < box.left - 1 || "
            "r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1)).map(([text]) => text)"
        )
        assert outside == []
