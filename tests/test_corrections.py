"""Trials corrected after the fact: amended, dropped, skipped, restored; what every reader then sees."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial

import uhebo
from tests.shell import Shell
from uhebo.errors import InvalidInputError
from uhebo.optuna_.changes import LONGEST_REASON
from uhebo.optuna_.corrections import AMENDED, Change, applied, read_changes
from uhebo.optuna_.trial_log import read_history
from uhebo.report.view import StudyView
from uhebo.space import SearchSpace

pytestmark = pytest.mark.usefixtures("rough_importances")

SPACE: dict[str, BaseDistribution] = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}


def bowl(params: dict[str, Any]) -> float:
    return float((params["x"] - 0.3) ** 2 + (params["y"] - 0.6) ** 2)


def begun(n: int = 10, method: str = "auto", wrong: float | None = None, **kept: Any) -> optuna.Study:
    """A study with `n` values told; the last one wrong, if that is asked for."""
    study = optuna.create_study(sampler=uhebo.UHESampler(method=method, seed=3, n_startup_trials=4), **kept)
    for number in range(n):
        trial = study.ask(SPACE)
        study.tell(trial, wrong if wrong is not None and number == n - 1 else bowl(trial.params))
    return study


def suggested(study: optuna.Study, count: int = 3) -> list[dict[str, Any]]:
    """The next points, each told."""
    found = []
    for _ in range(count):
        trial = study.ask(SPACE)
        found.append(trial.params)
        study.tell(trial, bowl(trial.params))
    return found


@pytest.mark.parametrize("method", ["auto", "uhe", "portfolio"])
def test_suggestions_are_as_if_the_value_had_been_right(method: str) -> None:
    right, typo = begun(method=method), begun(method=method, wrong=12.5)
    uhebo.amend(typo, 9, right.trials[9].value, reason="typo")
    assert typo.trials[9].value == 12.5  # Optuna's own trial stays as it was told
    assert suggested(typo) == suggested(right)


def test_a_suggestion_made_from_a_wrong_value_leaves_no_theta_behind() -> None:
    """Its point stays, as do the values; what it had learnt from the wrong value goes."""
    study = begun(wrong=12.5)
    misled, batch = study.ask(SPACE), 8
    study.tell(misled, bowl(misled.params))
    uhebo.amend(study, 9, 0.1)
    later = study.ask(SPACE)
    history = read_history(uhebo.corrected(study), SearchSpace.of(SPACE), 4)
    assert ["theta" in history.by_number[n].tags for n in (batch, misled.number, later.number)] == [True, False, True]


def test_dropping_is_as_if_the_trial_had_been_skipped() -> None:
    told, skipped = begun(9), begun(9)
    for study in (told, skipped):
        study.ask(SPACE)
    told.tell(9, -50.0)
    uhebo.drop(told, 9, "typo")
    uhebo.skip(skipped, 9, "no time")
    assert suggested(told) == suggested(skipped)
    assert {trial.state for trial in uhebo.corrected(told).trials[9:10]} == {TrialState.FAIL}


def test_restore_takes_back_the_latest_change_only() -> None:
    study = begun(6, wrong=9.0)
    uhebo.amend(study, 5, 1.0)
    uhebo.amend(study, 5, 2.0)
    uhebo.drop(study, 5)
    seen = []
    for _ in range(3):
        uhebo.restore(study, 5)
        seen.append(uhebo.corrected(study).trials[5].value)
    assert seen == [2.0, 1.0, 9.0]
    with pytest.raises(InvalidInputError, match="no change to take back"):
        uhebo.restore(study, 5)
    assert [change.what for change in uhebo.changes(study)] == ["amend", "amend", "drop"] + ["restore"] * 3
    assert study.trials[5].value == 9.0


def test_every_reader_sees_the_correction(tmp_path: Path) -> None:
    study = begun(wrong=-50.0, study_name="lab", storage=f"sqlite:///{tmp_path / 'lab.db'}")
    result = uhebo.load(tmp_path / "lab.db")
    before = result.belief.predict(study.trials[9].params)
    uhebo.amend(study, 9, 0.5, reason="sign")
    best = min(trial.value or 0.0 for trial in study.trials[:9])
    assert (result.best_value, uhebo.corrected(study).best_value, study.best_value) == (best, best, -50.0)
    assert abs(result.belief.predict(study.trials[9].params)[0] - before[0]) > 1.0
    assert result.history["value"][9] == 0.5
    view = StudyView.of(study)
    assert view.values[9] == 0.5
    assert view.best is not None
    assert view.best.value == best
    assert view.diagnosis.prospects is not None
    assert view.diagnosis.prospects.best_value == pytest.approx(best)
    assert "value -50.0 -> 0.5 (sign)" in uhebo.corrected(study).trials[9].user_attrs[AMENDED]
    uhebo.drop(study, 9)
    assert result.history["state"][9] == "dropped"
    assert view.diagnosis.trials.failed == uhebo.diagnose(study, hmc=False).trials.failed == 0


def test_what_was_failed_or_skipped_may_have_a_value_after_all_and_the_other_way_round() -> None:
    study = begun(5)
    for state in ("failed", "skipped"):
        trial = study.ask(SPACE)
        if state == "failed":
            study.tell(trial, state=TrialState.FAIL)
        else:
            uhebo.skip(study, trial.number)
        uhebo.amend(study, trial.number, 0.25)
    uhebo.amend(study, 0, failed=True, reason="leak")
    read = uhebo.corrected(study).trials
    assert [trial.value for trial in read[5:]] == [0.25, 0.25]
    history = read_history(study, SearchSpace.of(SPACE), 4)
    assert [trial.state for trial in history.trials] == ["failed", *["finished"] * 6]


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_parameters_constraints_and_several_objectives() -> None:
    study = optuna.create_study(directions=["minimize", "maximize"])
    study.set_metric_names(["cost", "yield"])
    limits = {"constraints:purity": 0.5}
    study.add_trial(
        create_trial(values=[1.0, 2.0], params={"x": 0.1}, distributions={"x": SPACE["x"]}, system_attrs=limits)
    )
    uhebo.amend(study, 0, {"yield": 3.0}, constraints={"purity": -0.5}, params={"x": 0.2}, attributes={"note": "B"})
    trial = uhebo.corrected(study).trials[0]
    assert (trial.values, trial.params) == ([1.0, 3.0], {"x": 0.2})
    assert (trial.system_attrs["constraints:purity"], trial.user_attrs["note"]) == (-0.5, "B")
    (change,) = uhebo.changes(study)
    assert change.was == {"x": 0.1, "yield": 2.0}
    for wrong, said in (
        ({"value": {"mass": 1.0}}, "no objective 'mass'"),
        ({"value": 1.0}, "1 values for 2 objectives"),
        ({"value": [1.0, float("nan")]}, "yield is nan"),
        ({"params": {"z": 1}}, "no parameter 'z'"),
        ({"params": {"x": 7.0}}, "outside of"),
        ({"constraints": {"mass": 1.0}}, "'purity'"),
        ({}, "nothing was given"),
        ({"value": [1.0, 3.0]}, "already; there is nothing to amend"),
        ({"value": [1.0, 1.0], "failed": True}, "one of the two"),
        ({"attributes": {"note": "n" * 3000}}, "too long"),
        ({"value": [1.0, 1.0], "reason": "n" * (LONGEST_REASON + 1)}, "characters"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            uhebo.amend(study, 0, **wrong)
    assert len(uhebo.changes(study)) == 1


def test_what_cannot_be_changed_is_refused() -> None:
    study = begun(3)
    running = study.ask(SPACE).number
    changing: list[Callable[[int], Any]] = [
        lambda number: uhebo.amend(study, number, 1.0),
        lambda number: uhebo.drop(study, number),
        lambda number: uhebo.restore(study, number),
    ]
    for change in changing:
        with pytest.raises(InvalidInputError, match=f"trial {running} is under way"):
            change(running)
        with pytest.raises(InvalidInputError, match="there is no trial 99"):
            change(99)
    uhebo.skip(study, running)
    with pytest.raises(InvalidInputError, match="amend it if it has a value"):
        uhebo.restore(study, running)
    uhebo.drop(study, 0)
    for again in changing[:2]:
        with pytest.raises(InvalidInputError, match="dropped"):
            again(0)


def test_changes_made_at_the_same_time_both_count_and_what_others_write_is_none() -> None:
    entries = {
        "uhebo:change:000001:bb": {"trial": 1, "what": "drop"},
        "uhebo:change:000001:aa": {"trial": 0, "what": "amend", "values": [7.0]},
        "uhebo:change:000002:aa": {"trial": "one", "what": "amend"},
        "uhebo:change:000003:aa": {"trial": 0, "what": "explode"},
        "uhebo:change:000004:aa": None,
        "uhebo:change:x": {"trial": 0, "what": "drop"},
    }
    changes = read_changes(entries)
    assert [(change.trial, change.what) for change in changes] == [(0, "amend"), (1, "drop")]
    trials = begun(2).trials
    assert [trial.value for trial in applied(changes, trials)] == [7.0, None]
    assert applied([Change(5, "drop")], trials) == trials


def test_in_the_shell(shell: Shell) -> None:
    shell("create", "lab.db", "--param", "x=float:0:3", "--direction", "maximize", "--constraint", "purity >= 95")
    shell("suggest", "lab.db", "-n", "5")
    for number, value in enumerate(("4.1", "291", "30", "5")):
        shell("tell", "lab.db", str(number), value, "purity=91")
    made = shell.json("amend", "lab.db", "1", "29.1", "purity=96.1", "--reason", "typo")
    assert (made["was"], made["now"]) == ({"value": 291.0, "purity": 91.0}, {"value": 29.1, "purity": 96.1})
    assert "trial 1: value 291.0 -> 29.1, purity 91.0 -> 96.1; best so far 29.1 (trial 1)" in shell.err
    assert shell.json("best", "lab.db")["value"] == 29.1
    shell("amend", "lab.db", "0", "-0.5")
    shell("amend", "lab.db", "2", "x=2.5", "note=bottle B")
    shell("drop", "lab.db", "3", "--reason", "wrong bottle")
    shell("skip", "lab.db", "4")
    rows = shell.json("history", "lab.db")
    assert [row["state"] for row in rows] == ["finished"] * 3 + ["dropped", "skipped"]
    assert [row["value"] for row in rows] == [-0.5, 29.1, 30.0, None, None]
    assert (rows[2]["params"], rows[1]["feasible"]) == ({"x": 2.5}, True)
    assert shell.json("status", "lab.db")["trials"] == {"finished": 3, "dropped": 1, "skipped": 1}
    shell("restore", "lab.db", "3")
    assert shell.json("history", "lab.db")[3]["value"] == 5.0
    log = shell.json("log", "lab.db")
    assert [(row["trial"], row["what"]) for row in log] == [
        (1, "amend"), (0, "amend"), (2, "amend"), (3, "drop"), (4, "skip"), (3, "restore"),
    ]  # fmt: skip
    assert all(row["time"] for row in log)
    assert "wrong bottle" in shell("log", "lab.db")
    # A history with corrections is told to another study as corrected; what was left out is passed over.
    shell("drop", "lab.db", "3")
    table = shell.write("all.csv", shell("history", "lab.db", "--csv"))
    shell("create", "again.db", "--param", "x=float:0:3", "--direction", "maximize", "--constraint", "purity >= 95")
    assert json.loads(shell("tell", "again.db", "--csv", table, "--json"))["added"] == 3
    assert "amend it if it has a value" in shell.refuses("restore", "lab.db", "4")
    assert "skipped already" in shell.refuses("skip", "lab.db", "4")
    assert "nothing called 'mass' in trial 1; it has value, purity, x, note" in shell.refuses(
        "amend", "lab.db", "1", "mass=3"
    )
    assert "twice" in shell.refuses("amend", "lab.db", "1", "3", "value=4")
    assert "x is '7', " not in shell.refuses("amend", "lab.db", "1", "x=7")
    assert "the trial number is 'one'" in shell.refuses("drop", "lab.db", "one")
    assert "purity is 'much'" in shell.refuses("amend", "lab.db", "1", "purity=much")


def test_the_dashboard_shows_what_is_right() -> None:
    from uhebo.optuna_.corrected import CorrectedStorage

    study = begun(4, wrong=9.0)
    uhebo.amend(study, 3, 0.5)
    storage = CorrectedStorage(study._storage)
    study_id = storage.get_study_id_from_name(study.study_name)
    assert [trial.value for trial in storage.get_all_trials(study_id)][3] == 0.5
    assert storage.get_n_trials(study_id, state=TrialState.COMPLETE) == 4
    loaded = optuna.load_study(study_name=study.study_name, storage=storage)
    loaded.add_trial(create_trial(value=0.0, params={"x": 0.3, "y": 0.6}, distributions=SPACE))
    assert (study.best_value, loaded.best_value, len(study.trials)) == (0.0, 0.0, 5)
