"""`minimize`, `maximize` and the `Result` they return."""

from __future__ import annotations

import builtins
import math
import re
import sys
import threading
import time
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

import uhebo
from tests.conftest import require
from tests.waiting import LIMIT_S
from uhebo import Categorical, Float, Int, Result, UHESampler
from uhebo.errors import InvalidInputError, UheboError
from uhebo.methods import Proposal, Step
from uhebo.optuna_.trial_log import ATTRIBUTE

PANDAS = "pip install pandas"
SPACE = {"x": (-1.0, 2.0), "y": (0.0, 1.0)}


def bowl(x: float, y: float) -> float:
    return (x - 0.4) ** 2 + (y - 0.7) ** 2


def params(result: Result) -> list[dict[str, Any]]:
    return [trial.params for trial in result.study.trials]


# One call


def test_fn_is_called_with_keywords_named_as_in_the_space() -> None:
    calls: list[dict[str, Any]] = []

    def fn(**given: Any) -> float:
        calls.append(given)
        return float(given["lr"])

    space = {
        "lr": Float(1e-5, 1e-1, log=True),
        "depth": (2, 12),
        "width": Int(8, 64, step=8),
        "kind": ["adam", None],
        "flag": Categorical([True, False]),
    }
    result = uhebo.minimize(fn, space, 12, seed=0)
    assert [list(call) for call in calls] == [list(space)] * 12
    assert calls == params(result)
    for call in calls:
        assert type(call["lr"]) is float
        assert type(call["depth"]) is int
        assert call["width"] in range(8, 65, 8)
        assert call["kind"] in ("adam", None)
        assert type(call["flag"]) is bool


@pytest.mark.parametrize("method", ["uhe", "map"])
def test_minimize_and_maximize_find_the_same_point(method: str) -> None:
    low = uhebo.minimize(bowl, SPACE, 30, seed=0, method=method, acquisition="log-ei")
    high = uhebo.maximize(lambda x, y: -bowl(x, y), SPACE, 30, seed=0, method=method, acquisition="log-ei")
    assert params(low) == params(high)
    assert low.best_value == -high.best_value
    assert low.best_value < (1e-3 if method == "map" else 0.1)


def test_a_seed_fixes_everything_and_none_nothing() -> None:
    assert params(uhebo.minimize(bowl, SPACE, 9, seed=3)) == params(uhebo.minimize(bowl, SPACE, 9, seed=3))
    assert params(uhebo.minimize(bowl, SPACE, 9, seed=3)) != params(uhebo.minimize(bowl, SPACE, 9, seed=4))
    assert params(uhebo.minimize(bowl, SPACE, 2)) != params(uhebo.minimize(bowl, SPACE, 2))


def test_options_reach_the_sampler() -> None:
    def corner(step: Step) -> Proposal:
        return Proposal(np.zeros(step.history.space.domain.dimension), {"role": "mine"})

    result = uhebo.minimize(bowl, SPACE, 4, seed=0, method=corner, n_startup_trials=2)
    assert params(result)[2:] == [{"x": -1.0, "y": 0.0}] * 2
    assert result.study.trials[-1].system_attrs[ATTRIBUTE]["role"] == "mine"
    assert params(uhebo.minimize(bowl, SPACE, 9, seed=0, kernel="se")) != params(uhebo.minimize(bowl, SPACE, 9, seed=0))


def stop_after_five(study: Study, trial: FrozenTrial) -> None:
    if trial.number == 4:
        study.stop()


def test_the_budget_is_known_to_the_bandit() -> None:
    def probability(n_trials: int) -> float:
        options: dict[str, Any] = {"method": "uhe", "seed": 0, "n_startup_trials": 2}
        result = uhebo.minimize(bowl, SPACE, n_trials, callbacks=[stop_after_five], **options)
        return float(result.study.trials[4].system_attrs[ATTRIBUTE]["p"])

    assert probability(8) != probability(60)


# Storage


def test_trials_that_wait_are_part_of_the_budget() -> None:
    storage = optuna.storages.InMemoryStorage()
    study = optuna.create_study(storage=storage, study_name="s")
    for i in range(5):
        study.enqueue_trial({"x": i / 5, "y": 0.5})
    result = uhebo.minimize(bowl, SPACE, 8, seed=0, storage=storage, study_name="s")
    assert len(result.study.trials) == 8
    assert result.study.sampler._n_trials == 8  # type: ignore[union-attr]


def test_a_study_is_resumed_by_its_name(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    options: dict[str, Any] = {"seed": 5, "storage": storage, "study_name": "bowl", "method": "map"}
    first = uhebo.minimize(bowl, SPACE, 12, **options)
    second = uhebo.minimize(bowl, SPACE, 4, **options)
    assert len(first.study.trials) == len(second.study.trials) == 16
    assert params(second) == params(uhebo.minimize(bowl, SPACE, 16, seed=5, method="map"))
    assert len(uhebo.minimize(bowl, SPACE, 1, storage=storage).study.trials) == 17  # the only one in the file
    with pytest.raises(InvalidInputError, match=r"study 'bowl' was made to minimize; call uhebo\.minimize"):
        uhebo.maximize(bowl, SPACE, 1, storage=storage, study_name="bowl")


@pytest.mark.parametrize("file", ["study.db", "study.log"])
def test_a_file_without_a_name_is_one_study_as_in_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    monkeypatch.chdir(tmp_path)
    options: dict[str, Any] = {"seed": 5, "storage": file, "method": "map"}
    uhebo.minimize(bowl, SPACE, 12, **options)
    again = uhebo.minimize(bowl, SPACE, 4, **options)
    assert again.study.study_name == "study"
    assert params(again) == params(uhebo.minimize(bowl, SPACE, 16, seed=5, method="map"))
    assert uhebo.load(file).best_value == again.best_value
    with pytest.raises(InvalidInputError, match="study 'study' was made to minimize"):
        uhebo.maximize(bowl, SPACE, 1, storage=file)


def test_trials_of_another_search_in_a_named_study_are_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    where: dict[str, Any] = {"storage": tmp_path / "study.db", "study_name": "s", "seed": 0}
    uhebo.minimize(lambda dropout, width: dropout - width, {"dropout": (0.0, 0.8), "width": (0.0, 1.0)}, 6, **where)
    mixed = uhebo.minimize(lambda drop, width: drop - width, {"drop": (0.0, 0.8), "width": (0.0, 1.0)}, 6, **where)
    assert "6 trials of study 's' have parameters that this space has not (dropout)" in caplog.text
    mixed.report(tmp_path / "report.html")


def test_a_file_without_a_name_refuses_what_is_not_clear(tmp_path: Path) -> None:
    place = tmp_path / "study.db"
    uhebo.minimize(bowl, SPACE, 3, seed=0, storage=place)
    other = {"z": (0.0, 1.0)}
    with pytest.raises(InvalidInputError, match=r"holds a study with other parameters \(x, y\); give another file"):
        uhebo.minimize(lambda z: z, other, 3, storage=place)
    assert len(uhebo.minimize(lambda z: z, other, 3, seed=0, storage=place, study_name="z").study.trials) == 3
    with pytest.raises(InvalidInputError, match="holds 2 studies: study, z; choose one with study_name="):
        uhebo.minimize(bowl, SPACE, 3, storage=place)
    wider = {**SPACE, "more": (0.0, 1.0)}  # a parameter that came later
    kept = uhebo.minimize(lambda x, y, more: bowl(x, y) + more, wider, 2, storage=place, study_name="study")
    assert len(kept.study.trials) == 5


def test_objectives_without_a_name_are_one_study_too(tmp_path: Path) -> None:
    for trials in (3, 6):
        found = uhebo.optimize(
            lambda x: (x, -x), {"x": (0.0, 1.0)}, 3, directions=["minimize"] * 2, seed=0, storage=tmp_path / "two.db"
        )
        assert len(found.study.trials) == trials
    assert found.study.study_name == "two"


def test_a_storage_object_is_taken_too() -> None:
    storage = optuna.storages.InMemoryStorage()
    uhebo.minimize(bowl, SPACE, 3, seed=0, storage=storage, study_name="a")
    assert len(optuna.load_study(study_name="a", storage=storage).trials) == 3


# Workers, time, callbacks


def test_two_jobs() -> None:
    threads: set[int] = set()
    both = threading.Barrier(2)

    def fn(x: float, y: float) -> float:
        if threading.get_ident() not in threads:
            threads.add(threading.get_ident())
            both.wait(LIMIT_S)  # for the other thread's first trial
        return bowl(x, y)

    result = uhebo.minimize(fn, SPACE, 16, seed=0, n_jobs=2)
    assert len(threads) == 2
    assert [trial.number for trial in result.study.trials] == list(range(16))
    assert len({tuple(p.values()) for p in params(result)}) == 16


def test_a_timeout_starts_no_new_trial() -> None:
    def fn(x: float, y: float) -> float:
        time.sleep(1.1)
        return bowl(x, y)

    result = uhebo.minimize(fn, SPACE, 1000, seed=0, method="random", timeout=1.0)
    assert len(result.study.trials) == 1
    assert not result.interrupted


def test_callbacks_see_every_trial_and_may_stop() -> None:
    seen: list[int] = []

    def look(study: Study, trial: FrozenTrial) -> None:
        assert len(study.trials) == trial.number + 1
        seen.append(trial.number)

    result = uhebo.minimize(bowl, SPACE, 20, seed=0, callbacks=[look, stop_after_five])
    assert seen == [0, 1, 2, 3, 4]
    assert len(result.study.trials) == 5
    assert not result.interrupted


@pytest.mark.filterwarnings("ignore:Progress bar is experimental")
@pytest.mark.parametrize("progress", [True, False, None])
def test_progress(progress: bool | None, capfd: pytest.CaptureFixture[str]) -> None:
    before = optuna.logging.get_verbosity()
    uhebo.minimize(bowl, SPACE, 3, seed=0, progress=progress)
    assert ("3/3" in capfd.readouterr().err) == bool(progress)  # standard error is no terminal here
    assert optuna.logging.get_verbosity() == before


def test_optuna_is_as_talkative_after_an_error_as_before() -> None:
    optuna.logging.set_verbosity(optuna.logging.DEBUG)
    with pytest.raises(ZeroDivisionError):
        uhebo.minimize(lambda x, y: (x + y) / 0, SPACE, 3)
    assert optuna.logging.get_verbosity() == optuna.logging.DEBUG


# Interrupted


def interrupted_at(number: int, **options: Any) -> Result:
    calls = 0

    def fn(x: float, y: float) -> float:
        nonlocal calls
        calls += 1
        if calls == number:
            raise KeyboardInterrupt
        return bowl(x, y)

    return uhebo.minimize(fn, SPACE, 20, seed=0, **options)


def test_ctrl_c_keeps_what_was_done() -> None:
    result = interrupted_at(8)
    states = [trial.state for trial in result.study.trials]
    assert states == [TrialState.COMPLETE] * 7 + [TrialState.FAIL]
    assert result.interrupted
    assert "(interrupted)" in repr(result)
    assert result.best_value == min(bowl(**p) for p in params(result)[:7])


def test_ctrl_c_in_the_first_trial() -> None:
    result = interrupted_at(1)
    assert result.interrupted
    with pytest.raises(InvalidInputError, match="no trial has finished with a value"):
        _ = result.best_value


def test_ctrl_c_while_a_suggestion_is_made() -> None:
    def interrupt(step: Step) -> Proposal:
        raise KeyboardInterrupt(step.slot.number)

    result = uhebo.minimize(bowl, SPACE, 9, seed=0, method=interrupt, n_startup_trials=3)
    assert result.interrupted
    assert [t.state for t in result.study.trials] == [TrialState.COMPLETE] * 3 + [TrialState.FAIL]


def test_ctrl_c_leaves_the_trials_of_other_workers_alone() -> None:
    storage = optuna.storages.InMemoryStorage()
    study = optuna.create_study(storage=storage, study_name="shared", sampler=UHESampler(seed=0))
    elsewhere = study.ask()
    result = interrupted_at(3, storage=storage, study_name="shared")
    assert [t.state.name for t in result.study.trials] == ["RUNNING", "COMPLETE", "COMPLETE", "FAIL"]
    study.tell(elsewhere, 1.0)


# Failing


def test_an_error_of_fn_ends_the_run_and_fails_its_trial() -> None:
    storage = optuna.storages.InMemoryStorage()

    def fn(x: float, y: float) -> float:
        raise ArithmeticError(f"mine at {x}, {y}")

    with pytest.raises(ArithmeticError, match="mine"):
        uhebo.minimize(fn, SPACE, 5, storage=storage, study_name="s")
    assert [t.state for t in optuna.load_study(study_name="s", storage=storage).trials] == [TrialState.FAIL]


@pytest.mark.parametrize("catch", [ArithmeticError, (ArithmeticError, KeyError)])
def test_errors_that_are_caught_fail_their_trial_only(
    catch: Any, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    def fn(x: float, y: float) -> float:
        if x < 0.5:
            raise ZeroDivisionError("no oven")
        return bowl(x, y)

    result = uhebo.minimize(fn, SPACE, 10, seed=0, catch=catch)
    assert "failed: ZeroDivisionError: no oven" in caplog.text  # in one line, not as a traceback
    assert "Traceback" not in caplog.text + capfd.readouterr().err
    assert len(result.study.trials) == 10
    assert all((t.state == TrialState.FAIL) == (t.params["x"] < 0.5) for t in result.study.trials)


def test_constraints_as_the_shell_has_them_are_refused_with_the_way_out() -> None:
    given: Any = ["purity >= 95"]
    with pytest.raises(InvalidInputError, match=r"expected a function of the parameters .* subject_to"):
        uhebo.minimize(bowl, SPACE, 5, constraints=given)


def test_fn_may_prune() -> None:
    def fn(x: float, y: float) -> float:
        if x < 0.5:
            raise optuna.TrialPruned
        return bowl(x, y)

    states = [trial.state for trial in uhebo.minimize(fn, SPACE, 10, seed=0).study.trials]
    assert set(states) == {TrialState.PRUNED, TrialState.COMPLETE}


# The result


def test_fields_of_the_result() -> None:
    result = uhebo.minimize(bowl, SPACE, 8, seed=0)
    assert isinstance(result.study, Study)
    assert result.best_params == result.study.best_params
    assert result.best_value == bowl(**result.best_params) == result.study.best_value
    result.best_params["x"] = 99.0
    assert result.best_params["x"] != 99.0


def test_history_is_a_data_frame() -> None:
    pandas = require("pandas", PANDAS)
    result = uhebo.minimize(lambda x, y: math.nan if x < 0 else bowl(x, y), SPACE, 12, seed=0)
    frame = result.history
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["number", "state", "value", "x", "y"]
    assert frame["number"].tolist() == list(range(12))
    assert set(frame["state"]) == {"complete", "fail"}
    assert frame["value"].min() == result.best_value


def test_history_is_records_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    result = uhebo.maximize(bowl, SPACE, 4, seed=0)
    genuine = builtins.__import__

    def without_pandas(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return genuine(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    records = result.history
    assert isinstance(records, list)
    assert records[2] == {"number": 2, "state": "complete", "value": bowl(**params(result)[2]), **params(result)[2]}


def test_history_keeps_parameters_that_are_called_like_its_own_columns() -> None:
    require("pandas", PANDAS)
    result = uhebo.minimize(lambda value, state: value ** len(state), {"value": (1.0, 2.0), "state": ["on"]}, 4, seed=0)
    assert list(result.history.columns) == ["number", "state", "value", "param_value", "param_state"]
    np.testing.assert_allclose(result.history["value"], result.history["param_value"] ** 2)


def test_repr_says_what_was_found() -> None:
    low, high = (f(bowl, SPACE, 7, seed=0) for f in (uhebo.minimize, uhebo.maximize))
    assert str(low).startswith(f"Result of 7 trials, 7 finished\n  smallest value  {low.best_value:.6g}  (trial ")
    assert f"x = {low.best_params['x']!r}" in str(low)
    assert "largest value" in str(high)
    nothing = uhebo.minimize(lambda x, y: math.nan * (x + y), SPACE, 2, seed=0)
    assert str(nothing) == "Result of 2 trials, 0 finished\n  no trial has finished with a value"
    assert repr(nothing) == "Result of 2 trials, 0 finished: no trial has finished with a value"


class Tags(HTMLParser):
    """Elements that are open and not closed, and all text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)
        assert all(not name.startswith("on") for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.usefixtures("rough_importances", "short_chains")
def test_what_a_notebook_shows_is_escaped_and_whole_and_a_repr_is_one_line() -> None:
    """A name and a choice that would be markup are text; no colour of text is set, so that dark pages are readable."""
    bad = "<script>alert(1)</script>"
    space = {"x": (0.0, 1.0), bad: ["<b>", "&amp;"]}
    one = uhebo.minimize(lambda **given: given["x"] + (given[bad] == "<b>"), space, 12, seed=0)
    two = uhebo.optimize(
        lambda **given: (given["x"], 1 - given["x"]), space, 8, seed=0, directions={bad: "minimize", "y": "minimize"}
    )
    nothing = uhebo.minimize(lambda x: math.nan * x, {"x": (0.0, 1.0)}, 1, seed=0)
    shown: list[Any] = [one, one.belief, one.diagnose(), two, two.belief, nothing]
    for each in shown:
        page = Tags(each._repr_html_())
        assert page.open == []
        assert not page.seen & {"script", "b", "img", "link", "style", "a"}
        assert set(re.findall(r"[;\"](?:color|background):([^;\"]+)", each._repr_html_())) <= {"inherit", "none"}
        assert each is nothing or bad in page.text
        assert "\n" not in repr(each)
        assert 20 < len(repr(each)) <= 200
    assert f"{one.best_value:.6g}" in Tags(one._repr_html_()).text
    assert shown[2].next_action in Tags(shown[2]._repr_html_()).text
    assert two._repr_html_().count("<tr>") == 1 + len(two.front)


@pytest.mark.parametrize("kernel", [True, False])
def test_progress_is_shown_in_a_notebook(
    kernel: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shell = SimpleNamespace(config={"IPKernelApp": {}} if kernel else {})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    uhebo.minimize(bowl, SPACE, 3, seed=0)
    assert ("3/3" in capfd.readouterr().err) == kernel


@pytest.mark.parametrize("run", [uhebo.minimize, uhebo.maximize])
def test_the_surrogate_predicts_in_the_units_of_the_objective(run: Any) -> None:
    result = run(lambda x, y: 1000 + 50 * bowl(x, y), SPACE, 25, seed=0, method="random")
    points = params(result)
    values = np.array([1000 + 50 * bowl(**p) for p in points])
    mean, deviation = result.surrogate.predict(points)
    np.testing.assert_allclose(mean, values, atol=1.0)
    assert mean.shape == deviation.shape == (25,)
    assert (deviation >= 0).all()
    assert deviation.max() < 0.1 * values.std()
    single, spread = result.surrogate.predict({"x": 0.4, "y": 0.7})
    assert type(single) is type(spread) is float
    assert single == pytest.approx(1000.0, abs=3.0)
    assert result.surrogate is result.surrogate
    far = result.surrogate.predict({"x": -1.0, "y": 0.0})[1]
    assert far > deviation.min()


def test_the_surrogate_covers_mixed_spaces() -> None:
    space: dict[str, Any] = {"n": Int(1, 100, log=True), "kind": ["a", "b"], "fixed": (3, 3)}
    result = uhebo.minimize(lambda n, kind, fixed: math.log(n) + (kind == "b") * fixed, space, 20, seed=0, method="map")
    low = result.surrogate.predict({"n": 10, "kind": "a", "fixed": 3})[0]
    high = result.surrogate.predict({"n": 10, "kind": "b", "fixed": 3})[0]
    assert high - low > 1.0
    with pytest.raises(InvalidInputError, match="parameter 'kind' is 'c'"):
        result.surrogate.predict({"n": 10, "kind": "c", "fixed": 3})
    with pytest.raises(InvalidInputError, match="parameter 'n' is missing"):
        result.surrogate.predict({"kind": "a"})


def test_there_is_no_surrogate_of_nothing() -> None:
    with pytest.raises(InvalidInputError, match="a model needs a finished trial"):
        _ = uhebo.minimize(lambda x, y: math.nan * (x + y), SPACE, 2, seed=0).surrogate
    with pytest.raises(InvalidInputError, match="a parameter that can vary"):
        _ = uhebo.minimize(lambda k: k, {"k": (1, 1)}, 2, seed=0).surrogate


# Initial points, and functions that take the trial


def test_initial_points_come_first_and_count(tmp_path: Path) -> None:
    place, points = tmp_path / "study.db", [{"x": 1, "y": 0.25}, {"y": 0.5, "x": 0.0}, {"x": 1.0, "y": 0.25}]
    options: dict[str, Any] = {"seed": 0, "storage": place, "study_name": "s", "initial": points}
    result = uhebo.minimize(bowl, SPACE, 8, **options)
    assert params(result)[:3] == points
    assert type(params(result)[0]["x"]) is float
    assert len(result.study.trials) == 8
    roles = [trial.system_attrs.get(ATTRIBUTE, {}).get("role") for trial in result.study.trials]
    assert roles[:3] == [None] * 3
    assert roles[-1] == "model"
    again = uhebo.minimize(bowl, SPACE, 3, **{**options, "initial": [*points, {"x": 2.0, "y": 1.0}]})
    assert params(again)[8:9] == [{"x": 2.0, "y": 1.0}]
    assert len(again.study.trials) == 11


def test_a_function_with_an_argument_trial_gets_it() -> None:
    def fn(x: float, y: float, trial: optuna.Trial) -> float:
        trial.set_user_attr("sum", x + y)
        trial.report(x, 0)
        if trial.number == 2:
            raise optuna.TrialPruned
        return bowl(x, y)

    trials = uhebo.minimize(fn, SPACE, 5, seed=0).study.trials
    assert [t.user_attrs["sum"] for t in trials] == [sum(t.params.values()) for t in trials]
    assert [t.state for t in trials].count(TrialState.PRUNED) == 1
    assert trials[2].state == TrialState.PRUNED
    named = uhebo.minimize(lambda trial: trial, {"trial": (0.0, 1.0)}, 3, seed=0)  # a parameter of that name
    assert [t.value for t in named.study.trials] == [t.params["trial"] for t in named.study.trials]


def test_callables_whose_arguments_cannot_be_seen_are_called() -> None:
    assert uhebo.minimize(lambda **given: given["x"], {"x": (0.0, 1.0)}, 2, seed=0).best_value >= 0.0
    assert uhebo.minimize(max, {"key": ["a"]}, 1, seed=0, catch=TypeError).study.trials[0].state == TrialState.FAIL


def test_a_stored_study_is_opened_again(tmp_path: Path) -> None:
    place = tmp_path / "study.db"
    first = uhebo.minimize(bowl, SPACE, 9, seed=0, storage=place, study_name="a")
    again = uhebo.load(place)
    assert (again.best_value, again.best_params) == (first.best_value, first.best_params)
    assert again.belief.predict({"x": 0.0, "y": 0.0}) == first.belief.predict({"x": 0.0, "y": 0.0})
    uhebo.minimize(bowl, SPACE, 1, storage=place, study_name="b")
    with pytest.raises(InvalidInputError, match="holds 2 studies: a, b; choose one with study_name="):
        uhebo.load(place)
    assert len(uhebo.load(place, "a").study.trials) == 9
    with pytest.raises(InvalidInputError, match="holds no study 'c'; it holds: a, b"):
        uhebo.load(place, "c")
    with pytest.raises(InvalidInputError, match="there is no file"):
        uhebo.load(tmp_path / "other.db")


# Misuse


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("no function", SPACE), {}, "fn is 'no function'; expected a function"),
        ((bowl, [("x", 0, 1)]), {}, "expected a dict"),
        ((bowl, {"x": 3}), {}, "parameter 'x': got 3, expected"),
        ((bowl, {"x": (1, 0)}), {}, "parameter 'x': low=1 is above high=0"),
        ((bowl, SPACE, 0), {}, "n_trials is 0; expected an integer >= 1"),
        ((bowl, SPACE, 2.5), {}, r"n_trials is 2\.5"),
        ((bowl, SPACE, True), {}, "n_trials is True"),
        ((bowl, SPACE), {"seed": "abc"}, "seed is 'abc'"),
        ((bowl, SPACE), {"method": "bayes"}, "unknown method 'bayes'; choose one of auto, uhe"),
        ((bowl, SPACE), {"acquisition": "kg"}, "unknown acquisition 'kg'"),
        ((bowl, SPACE), {"n_iter": 5}, "imize has no option 'n_iter'; did you mean n_trials[?]"),
        (
            (bowl, SPACE),
            {"wholly_unknown": 5},
            "imize has no option 'wholly_unknown'; its options are acq",
        ),
        ((bowl, SPACE), {"exact": 1}, "exact is 1; expected True or False"),
        ((bowl, SPACE), {"progress": "no"}, "progress is 'no'; expected True or False"),
        (
            (bowl, SPACE),
            {"independent_sampler": "random"},
            "independent_sampler is 'random'; expected an",
        ),
        ((bowl, {"x": (0.0, 1.0)}), {}, "fn needs 'y', and the space has 'x'; add it to the space"),
        ((lambda x, /: x, {"x": (0.0, 1.0)}), {}, "fn takes 'x' by position only"),
        ((bowl, SPACE), {"initial": [3]}, "point 0 of initial is 3; expected a dict"),
        ((bowl, SPACE), {"initial": [{"x": 0.0, "y": 0.1}, {"x": 0.0}]}, "point 1 of initial lacks 'y'; expected x, y"),
        ((bowl, SPACE), {"initial": [{"x": 0.0, "y": 0.1, "z": 1}]}, "point 0 of initial has a parameter 'z'"),
        (
            (bowl, SPACE),
            {"initial": [{"x": 5, "y": 0.1}]},
            "point 0 of initial: parameter 'x' is 5, expected",
        ),
        ((bowl, SPACE, 1), {"initial": [{"x": 0, "y": 0.1}] * 2}, "initial has 2 points to evaluate and n_trials is 1"),
        ((bowl, SPACE), {"prior": "mine"}, "prior"),
        ((bowl, SPACE), {"kernel": "linear"}, "kernel"),
        ((bowl, SPACE), {"n_jobs": "2"}, "n_jobs is '2'"),
        ((bowl, SPACE), {"callbacks": [3]}, "callbacks is .3.; expected a list of functions"),
    ],
)
@pytest.mark.parametrize("run", [uhebo.minimize, uhebo.maximize])
def test_misuse_is_a_typed_and_readable_error(run: Any, arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as caught:
        run(*arguments, **options)
    assert isinstance(caught.value, (UheboError, ValueError))
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
@pytest.mark.parametrize("run", [uhebo.minimize, uhebo.maximize])
def test_choices_that_a_storage_can_not_hold_are_refused_at_once(run: Any, tmp_path: Path) -> None:
    storage, asked = f"sqlite:///{tmp_path / 'study.db'}", []

    def fn(a: Any) -> float:
        asked.append(a)
        return float(a[0])

    space = {"a": [(1, 2), (2, 3), (4, 5)]}
    for place in (storage, optuna.storages.RDBStorage(storage)):
        with pytest.raises(
            InvalidInputError, match=r"'a': the choice \(1, 2\) is a tuple, .*name the choices by strings"
        ):
            run(fn, space, 5, seed=0, storage=place, study_name="q")
    assert asked == []
    assert optuna.get_all_study_names(storage) == []
    for memory in (None, optuna.storages.InMemoryStorage()):
        best = run(fn, space, 5, seed=0, storage=memory, when_exhausted="repeat").best_params["a"]
        assert best in space["a"]
    assert len(asked) == 10
    plain = {"b": [None, True, 2, 0.5, "name", np.float64(1.5)]}
    assert len(run(lambda b: float(b is None), plain, 3, seed=0, storage=storage).study.trials) == 3


def test_a_misused_call_leaves_no_study_behind(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    with pytest.raises(InvalidInputError):
        uhebo.minimize(bowl, {"x": (1, 0)}, 3, storage=storage, study_name="s")
    with pytest.raises(InvalidInputError):
        uhebo.minimize("fn", SPACE, 3, storage=storage, study_name="s")  # type: ignore[arg-type]
    misused: tuple[dict[str, Any], ...] = (
        {"n_trials": 0},
        {"kernl": "se"},
        {"method": "nope"},
        {"n_jobs": 0},
        {"seed": "abc"},
    )
    for options in misused:
        with pytest.raises(InvalidInputError):
            uhebo.minimize(bowl, SPACE, storage=storage, study_name="s", **options)
    assert optuna.get_all_study_names(storage) == []
