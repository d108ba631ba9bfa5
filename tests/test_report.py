"""Pictures and the one-file report: every kind of study, hostile text, and what a real browser makes of it."""

from __future__ import annotations

import csv
import errno
import io
import json
import re
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import TrialState, create_trial

import uhebo
from tests import browser
from tests.conftest import require
from tests.waiting import wait_for
from uhebo.diagnosis import diagnose
from uhebo.diagnosis.importance import Importance
from uhebo.errors import InvalidInputError, MissingExtraError, UheboError
from uhebo.optuna_.believe import believe
from uhebo.optuna_.trial_log import ATTRIBUTE
from uhebo.report import figures, safe_file_name, theme, write_report
from uhebo.report.html import report_html
from uhebo.report.plots import pictures
from uhebo.report.text import ReportError, clean, in_csv, in_figure, in_markdown
from uhebo.report.view import StudyView, role_of

require("plotly", "pip install 'uhebo[plot]'")
pytestmark = pytest.mark.usefixtures("rough_importances")
optuna.logging.set_verbosity(optuna.logging.WARNING)

EVIL = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"
LINK = '<a href="http://evil.example/">click</a> & <b>bold</b> %{x}'
ALWAYS = {"convergence", "parallel"}


def bowl(x: float, y: float) -> float:
    return (x - 0.3) ** 2 + 2.0 * (y - 0.6) ** 2


def two_floats() -> Study:
    return uhebo.minimize(bowl, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 20, seed=1, method="uhe").study


def mixed() -> Study:
    def value(lr: float, depth: int, units: int, kind: str) -> float:
        return -float((np.log10(lr) + 3) ** 2) - 0.1 * (depth - 4) ** 2 - (kind == "b") - units / 1e4

    space = {
        "lr": uhebo.Float(1e-5, 1e-1, log=True),
        "depth": (1, 9),
        "units": uhebo.Int(8, 1024, log=True),
        "kind": ["a", "b", "c"],
    }
    return uhebo.maximize(value, space, 24, seed=2, method="uhe").study


def by_random(space: dict[str, Any], value: Callable[..., float], n: int, direction: Any = "minimize") -> Study:
    """A study without our tags."""
    study = optuna.create_study(direction=direction, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: value(**{k: trial._suggest(k, d) for k, d in space.items()}), n_trials=n)
    return study


def categorical_only() -> Study:
    space = {"a": CategoricalDistribution(["p", "q", None, 3.5, True]), "b": CategoricalDistribution(["u", "v"])}
    return by_random(space, lambda a, b: float(len(str(a))) + (b == "u"), 15)


def one_parameter() -> Study:
    return uhebo.minimize(lambda x: (x - 0.3) ** 2, {"x": (0.0, 1.0)}, 12, seed=0).study


def one_trial() -> Study:
    return uhebo.minimize(bowl, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 1, seed=0).study


def constant() -> Study:
    return uhebo.minimize(lambda x, y: 2.0 + 0 * x * y, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 10, seed=0).study


def no_finished() -> Study:
    study = optuna.create_study()
    study.ask({"x": FloatDistribution(0, 1)})
    study.add_trial(create_trial(state=TrialState.FAIL))
    return study


def by_tpe() -> Study:
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(lambda t: -bowl(t.suggest_float("x", 0, 1), t.suggest_int("y", 0, 4) / 4), n_trials=25)
    return study


def conditional() -> Study:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        return x + trial.suggest_float("extra", 0, 1) if trial.number % 2 else x

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=10)
    return study


def odd_values() -> Study:
    study = optuna.create_study()
    space = {"x": FloatDistribution(0, 1), "n": IntDistribution(1, 10**6, log=True)}
    for i, value in enumerate([1.0, float("inf"), -1.0, 1e12, float("-inf"), 0.5, 0.1, 0.2, 0.3, 0.25, 0.6, 0.7]):
        study.add_trial(create_trial(params={"x": i / 12, "n": 10 ** (i % 6 + 1)}, distributions=space, value=value))
    study.add_trial(create_trial(state=TrialState.PRUNED, params={"x": 0.5, "n": 3}, distributions=space))
    return study


STUDIES: dict[str, tuple[Callable[[], Study], set[str]]] = {
    "two floats": (
        two_floats,
        {"importance", "slice_1", "slice_2", "contour", "calibration", "coverage", "lengthscales", "arms"},
    ),
    "mixed": (mixed, {"importance", "slice_4", "contour", "calibration", "lengthscales", "arms"}),
    "categorical only": (categorical_only, {"slice_1", "slice_2", "contour", "calibration"}),
    "one parameter": (one_parameter, {"slice_1", "calibration"}),
    "by TPE": (by_tpe, {"slice_1", "slice_2", "contour", "calibration", "lengthscales"}),
    "conditional": (conditional, {"slice_1"}),
    "odd values": (odd_values, {"slice_1", "contour"}),
    "constant": (constant, {"convergence"}),
}


@pytest.fixture(scope="module")
def made() -> dict[str, Study]:
    return {name: make() for name, (make, _) in STUDIES.items()}


@pytest.mark.parametrize("name", STUDIES)
def test_figures_of_every_kind_of_study(name: str, made: dict[str, Study]) -> None:
    go = require("plotly.graph_objects", "pip install 'uhebo[plot]'")
    found = figures(made[name])
    assert ALWAYS | STUDIES[name][1] <= set(found)
    for key, figure in found.items():
        assert isinstance(figure, go.Figure), key
        drawn = json.loads(figure.to_json())
        assert drawn["layout"]["title"]["text"], key
        assert len(drawn["data"]) >= 1, key
        assert not {t["type"] for t in drawn["data"]} & {"scattergl", "parcoords", "splom"}, "WebGL needs eval"


def test_one_parameter_has_no_map_and_one_trial_no_history() -> None:
    assert "contour" not in figures(one_parameter())
    found = figures(one_trial())
    assert "convergence" in found
    assert not {"calibration", "lengthscales", "parallel"} & set(found)


def test_no_finished_trial_has_no_figures_and_a_report(tmp_path: Path) -> None:
    study = no_finished()
    assert figures(study) == {}
    text = write_report(study, tmp_path / "r.html").read_text()
    assert "No trial has finished" in text


def test_untagged_studies_have_no_arms_and_all_points_are_other() -> None:
    study = by_tpe()
    assert "arms" not in figures(study)
    assert {role_of(trial) for trial in study.trials} == {"other"}
    study.enqueue_trial({"x": 0.5, "y": 2})
    assert role_of(study.trials[-1]) == "other"


def test_convergence_is_the_running_best_in_both_directions() -> None:
    for direction, better in (("minimize", np.minimum), ("maximize", np.maximum)):
        study = by_random({"x": FloatDistribution(0, 1)}, lambda x: np.sin(9 * x), 30, direction)
        line = next(trace for trace in figures(study)["convergence"].data if trace.name == "best so far")
        running = better.accumulate([float(t.value or 0.0) for t in study.trials])
        assert all(running[n] == v for n, v in zip(line.x, line.y, strict=True))
        assert line.y[-1] == study.best_value


def test_values_far_out_on_the_bad_side_do_not_flatten_the_rest() -> None:
    for direction, sign in (("minimize", 1.0), ("maximize", -1.0)):
        study = by_random({"x": FloatDistribution(0, 1)}, lambda x, s=sign: s * (1e9 if x > 0.9 else x), 40, direction)
        low, high = figures(study)["convergence"].layout.yaxis.range
        assert low < study.best_value < high
        assert high - low < 100


def test_regret_appears_with_a_known_optimum_on_a_log_axis() -> None:
    study = two_floats()
    figure = figures(study, optimum=0.0)["regret"]
    assert figure.layout.yaxis.type == "log"
    assert min(figure.data[0].y) == pytest.approx(study.best_value)
    assert "regret" not in figures(study)
    assert min(figures(study, optimum=1.0)["regret"].data[0].y) > 0, "better than the optimum said: floored, not lost"


def test_slices_go_through_the_surrogate_and_the_best_point() -> None:
    study = two_floats()
    view = StudyView.of(study)
    best, belief = view.best, view.diagnosis.belief
    assert best is not None
    assert belief is not None
    name = view.ranked[0]
    figure = figures(study)["slice_1"]
    line = next(trace for trace in figure.data if trace.name == "median")
    point = {**best.params, name: line.x[60]}
    _, median, high = belief.quantiles(point, (0.025, 0.5, 0.975))
    assert line.y[60] == pytest.approx(median)
    band = next(trace for trace in figure.data if "95 %" in (trace.name or ""))
    assert band.y[60] == pytest.approx(high)
    star = next(trace for trace in figure.data if trace.name == "best trial")
    assert (star.x[0], star.y[0]) == (best.params[name], best.value)


def test_the_contour_has_the_two_most_important_parameters() -> None:
    space = {name: FloatDistribution(0, 1) for name in ("idle", "weak", "strong")}
    study = by_random(space, lambda idle, weak, strong: 3 * np.sin(5 * strong) + weak + 0 * idle, 40)
    assert StudyView.of(study).ranked[:2] == ("strong", "weak")
    figure = figures(study)["contour"]
    assert figure.layout.xaxis2.title.text == "strong"
    assert figure.layout.yaxis.title.text == "weak"
    deviation = figure.data[len(figure.data) // 2].z
    assert np.min(deviation) >= 0


def test_arm_weights_are_those_that_were_recorded() -> None:
    study = two_floats()
    line = figures(study)["arms"].data[0]
    for number, weight in zip(line.x, line.y, strict=True):
        tags = study.trials[number].system_attrs[ATTRIBUTE]
        assert weight == pytest.approx(tags["p"] if tags["arm"] == 0 else 1 - tags["p"])


def test_lengthscales_show_what_was_recorded_against_map() -> None:
    study = two_floats()
    traces = figures(study)["lengthscales"].data
    assert {trace.name for trace in traces} == {"consistent", "MAP, fitted afterwards"}
    shown = [trace for trace in traces if trace.name == "consistent"]
    for trace, name in zip(shown, StudyView.of(study).ranked, strict=True):
        theta = study.trials[trace.x[0]].system_attrs[ATTRIBUTE]["theta"]
        assert trace.y[0] == pytest.approx(np.exp(theta["xy".index(name)]))


def test_importances_have_the_intervals_of_the_diagnosis() -> None:
    study = two_floats()
    diagnosis = diagnose(study, hmc=False)
    bars = figures(study, diagnosis)["importance"].data[0]
    for row, total, above, below in zip(
        diagnosis.importance, bars.x, bars.error_x.array, bars.error_x.arrayminus, strict=True
    ):
        assert (total, total + above, total - below) == pytest.approx((row.total, row.total_high, row.total_low))


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
    found = figures(study)
    assert "arms" not in found
    assert {trace.name for trace in found["lengthscales"].data} == {
        "consistent, fitted afterwards",
        "MAP, fitted afterwards",
    }
    assert {role_of(trial) for trial in study.trials} == {"other"}


def test_calibration_agrees_with_the_diagnosis() -> None:
    study = two_floats()
    diagnosis = diagnose(study, hmc=False)
    assert diagnosis.calibration is not None
    picture = next(p for p in pictures(study, diagnosis) if p.key == "calibration")
    inside = np.abs(diagnosis.calibration.residuals) <= 1.959964
    assert f"{round(100 * inside.mean())} % of the values" in picture.sentence


def test_figures_work_together_with_optunas_own() -> None:
    study = two_floats()
    together = optuna.visualization.plot_optimization_history(study)
    count = len(together.data)
    together.add_traces(figures(study)["convergence"].data)
    assert len(together.data) > count
    together.update_layout(template=theme.template("dark"))
    json.loads(together.to_json())


def test_colours_contrast_with_both_backgrounds() -> None:
    def luminance(colour: str) -> float:
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    def contrast(a: str, b: str) -> float:
        low, high = sorted((luminance(a), luminance(b)))
        return (high + 0.05) / (low + 0.05)

    drawn = {*theme.ROLE_COLOURS.values(), *theme.ESTIMATOR_COLOURS.values(), theme.GOOD, theme.BAD, theme.NEUTRAL}
    for mode in ("light", "dark"):
        assert contrast(theme.INK[mode], theme.PAPER[mode]) >= 7
        for colour in (*drawn, theme.WORST_LINE, theme.BEST_LINE):
            assert contrast(colour, theme.PAPER[mode]) >= 3, (colour, mode)
    css = (Path(theme.__file__).parent / "page.css").read_text()
    for block in re.findall(r"--paper:[^}]*", css):
        names = dict(re.findall(r"--([\w-]+): (#\w{6})", block))
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

    study = two_floats()
    monkeypatch.setattr("uhebo.report.text.importlib.import_module", missing)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'uhebo[plot]'")) as caught:
        figures(study)
    assert isinstance(caught.value, UheboError)


def test_importing_the_package_loads_neither_plotly_nor_the_dashboard() -> None:
    import subprocess
    import sys

    code = "import sys, uhebo.report; print([m for m in ('plotly', 'optuna_dashboard', 'pandas') if m in sys.modules])"
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
    assert {a["href"] for tag, a in page.tags if tag == "a"} >= {"#main", "#best"}
    assert all(str(a["href"]).startswith(("#", "data:text/csv")) for tag, a in page.tags if tag == "a")
    assert text.count("<script") - require("plotly.offline", "").get_plotlyjs().count("<script") == 3
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
    assert in_figure("<b>%{x}") == "&lt;b&gt;% {x}"
    assert len(in_figure("x" * 500)) <= 24
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


def csv_of(page: str) -> str:
    import base64

    match = re.search(r'href="data:text/csv;charset=utf-8;base64,([^"]*)"', page)
    assert match is not None
    return base64.b64decode(match[1]).decode("utf-8-sig")


def test_the_csv_has_every_trial_exactly() -> None:
    study = mixed()
    rows = list(csv.DictReader(io.StringIO(csv_of(report_html(study)))))
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


def test_five_thousand_trials_stay_below_ten_megabytes(tmp_path: Path) -> None:
    study = optuna.create_study(study_name="large")
    rng = np.random.default_rng(0)
    space: dict[str, BaseDistribution] = {f"p{i}": FloatDistribution(0, 1) for i in range(6)}
    for _ in range(5000):
        x = rng.random(6)
        params = {f"p{i}": float(v) for i, v in enumerate(x)}
        study.add_trial(create_trial(params=params, distributions=space, value=float(np.sin(5 * x).sum())))
    importance = tuple(Importance(f"p{i}", 1.0, 0.2, 0.2, 0.2, 0.1, 0.3) for i in range(6))
    diagnosis = replace(diagnose(optuna.create_study()), belief=believe(study), importance=importance)
    path = write_report(study, tmp_path / "large.html", diagnosis=diagnosis)
    assert path.stat().st_size < 10e6
    text = path.read_text()
    assert "500 best of 5000" in text
    assert len(csv_of(text).splitlines()) == 5001


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browser.chromium(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def open_report(driver: Any, path: Path, scheme: str = "light") -> None:
    browser.prefer(driver, scheme)
    driver.get(path.as_uri())
    browser.wait_until(driver, "document.documentElement.dataset.ready !== undefined")


@pytest.mark.browser
def test_the_report_draws_every_figure_without_errors_or_requests(driver: Any, tmp_path: Path) -> None:
    for make in (mixed, by_tpe, categorical_only, no_finished, odd_values):
        study = make()
        path = write_report(study, tmp_path / "report.html")
        open_report(driver, path)
        expected = [picture.key for picture in pictures(study)]
        for key in expected:
            assert driver.execute_script(
                "const e = document.getElementById(arguments[0]); return e.querySelector('svg.main-svg') !== null &&"
                "e.getBoundingClientRect().height > 100 && e.querySelector('.trace, .contour, .hm, image') !== null",
                key,
            ), (make.__name__, key)
        assert driver.execute_script("return document.documentElement.dataset.ready") == str(len(expected))
        assert browser.console_errors(driver) == []
        assert browser.hosts_asked(driver) == set()


@pytest.mark.browser
def test_row_44_hostile_text_is_text_in_the_page(driver: Any, tmp_path: Path) -> None:
    path = write_report(hostile(), tmp_path / "hostile.html", title=EVIL)
    open_report(driver, path)
    assert driver.execute_script("return window.hacked") is None
    assert driver.execute_script("return document.querySelectorAll('img, iframe, object').length") == 0
    assert driver.execute_script("return document.querySelectorAll('svg a, .plot a[href]').length") == 0
    assert driver.execute_script("return document.querySelector('h1').textContent") == EVIL
    axis = driver.execute_script("return [...document.querySelectorAll('svg text')].map(e => e.textContent).join('|')")
    assert "</script" in axis
    assert "<a href" in axis
    assert driver.execute_script("return document.scripts.length") == 3
    assert "hunter2" not in driver.page_source
    assert browser.console_errors(driver) == []
    assert browser.hosts_asked(driver) == set()


@pytest.mark.browser
def test_the_policy_runs_no_other_script(driver: Any, tmp_path: Path) -> None:
    path = write_report(two_floats(), tmp_path / "r.html")
    path.write_text(path.read_text().replace("</main>", "<script>window.hacked=1</script></main>"))
    open_report(driver, path)
    assert driver.execute_script("return window.hacked") is None
    assert any("Content Security Policy" in message for message in browser.console_errors(driver))


@pytest.mark.browser
def test_light_dark_print_and_narrow(driver: Any, tmp_path: Path) -> None:
    path = write_report(mixed(), tmp_path / "r.html")
    ink = "getComputedStyle(document.querySelector('#convergence .xtitle')).fill"
    paper = "getComputedStyle(document.body).backgroundColor"
    open_report(driver, path, "dark")
    assert driver.execute_script(f"return {paper}") == "rgb(21, 24, 28)"
    assert driver.execute_script(f"return {ink}") == "rgb(230, 232, 235)"
    browser.prefer(driver, "light")
    browser.wait_until(driver, "document.documentElement.dataset.mode === 'light'")
    assert driver.execute_script(f"return {paper}") == "rgb(255, 255, 255)"
    assert driver.execute_script(f"return {ink}") == "rgb(31, 35, 40)"
    browser.prefer(driver, "dark", "print")
    assert driver.execute_script(f"return {paper}") == "rgb(255, 255, 255)"
    assert driver.execute_script("return getComputedStyle(document.querySelector('nav')).display") == "none"
    browser.prefer(driver, "light")
    pdf = driver.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert len(pdf) > 20_000
    metrics = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        driver.get(path.as_uri())
        browser.wait_until(driver, "document.documentElement.dataset.ready !== undefined")
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 400
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert browser.console_errors(driver) == []


@pytest.mark.browser
def test_accessible_structure_and_keyboard(driver: Any, tmp_path: Path) -> None:
    open_report(driver, write_report(two_floats(), tmp_path / "r.html"))
    run = driver.execute_script
    assert run("return document.documentElement.lang") == "en"
    assert run("return ['header', 'nav', 'main', 'footer'].every(t => document.querySelector(t) !== null)")
    levels = run("return [...document.querySelectorAll('h1,h2,h3,h4')].map(e => +e.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    order = run("return [...document.querySelectorAll('h2')].map(e => e.id)")
    assert order == ["best", "diagnosis", "pictures", "trials"]
    assert run("return [...document.querySelectorAll('.plot')].every(e => e.ariaLabel.length > 40 && e.role === 'img')")
    assert run("return [...document.querySelectorAll('th')].every(e => e.scope !== '')")
    assert run("return [...document.querySelectorAll('.plot [tabindex], .plot button, .plot a')].length") == 0
    ids = run("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    keys = require("selenium.webdriver.common.keys", "").Keys
    body = driver.switch_to.active_element
    body.send_keys(keys.TAB)
    assert driver.switch_to.active_element.text == "Skip to the results"
    outline = run("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    assert len({i for i in ids if not i.startswith(("clip", "topdefs", "defs", "g"))}) > 4


@pytest.mark.browser
def test_the_downloads_arrive(driver: Any, tmp_path: Path) -> None:
    study = two_floats()
    open_report(driver, write_report(study, tmp_path / "r.html"))
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    driver.execute_script("document.getElementById('csv').click()")
    table = arrived(tmp_path, safe_file_name(study.study_name, ".csv"))
    assert len(table.read_text(encoding="utf-8-sig").splitlines()) == len(study.trials) + 1
    driver.execute_script("document.getElementById('save-convergence').click()")
    image = arrived(tmp_path, safe_file_name(f"{study.study_name}-convergence", ".png"))
    assert image.read_bytes().startswith(b"\x89PNG")
    assert browser.console_errors(driver) == []


def arrived(folder: Path, name: str) -> Path:
    wait_for((folder / name).is_file)
    return folder / name
