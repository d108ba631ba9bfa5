"""Trials corrected after the fact: amended, dropped, skipped, restored; what every reader then sees."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial

import uhebo
from tests.shell import Shell
from uhebo.errors import InvalidInputError
from uhebo.optuna_.changes import LONGEST_REASON
from uhebo.optuna_.corrections import AMENDED, Change, applied, confirmed, read_changes
from uhebo.optuna_.extensions import BESIDE
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
        ({"params": {"x": 7.0}}, "x is 7.0; expected a number from 0.0 to 1.0"),
        ({"constraints": {"mass": 1.0}}, "'purity'"),
        ({}, "nothing was given"),
        ({"value": [1.0, 1.0], "failed": True}, "one of the two"),
        ({"attributes": {"note": "n" * 3000}}, "too long"),
        ({"value": [1.0, 1.0], "reason": "n" * (LONGEST_REASON + 1)}, "characters"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            uhebo.amend(study, 0, **wrong)
    assert len(uhebo.changes(study)) == 1


def test_a_trial_that_was_skipped_while_it_waited_can_be_restored_and_told() -> None:
    """It waits again, its place counts as under way, and it takes a value, a failure or another skip."""
    study, calm = begun(6), begun(6)
    numbers = [study.ask(SPACE).number for _ in range(3)]
    assert [calm.ask(SPACE).number for _ in range(3)] == numbers
    for number in numbers:
        uhebo.skip(study, number, "empty")
        uhebo.restore(study, number)
    read = uhebo.corrected(study).trials
    assert [trial.state for trial in read[6:]] == [TrialState.RUNNING] * 3
    # The model sees them as it would have: under way.
    states = [trial.state for trial in read_history(study, SearchSpace.of(SPACE), 9).trials]
    assert states == [trial.state for trial in read_history(calm, SearchSpace.of(SPACE), 9).trials]
    with pytest.raises(InvalidInputError, match="as it was told"):
        uhebo.restore(study, numbers[0])
    uhebo.amend(study, numbers[0], 0.25)
    uhebo.amend(study, numbers[1], failed=True, reason="leak")
    uhebo.skip(study, numbers[2])
    calm.tell(numbers[0], 0.25)
    calm.tell(numbers[1], state=TrialState.FAIL)
    uhebo.skip(calm, numbers[2])
    states = [trial.state for trial in read_history(study, SearchSpace.of(SPACE), 9).trials]
    assert states == [trial.state for trial in read_history(calm, SearchSpace.of(SPACE), 9).trials]
    assert states[6:] == ["finished", "failed", "abandoned"]
    assert uhebo.corrected(study).ask(SPACE).params == uhebo.corrected(calm).ask(SPACE).params
    uhebo.restore(study, numbers[0])
    assert uhebo.corrected(study).trials[numbers[0]].state == TrialState.RUNNING


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_value_that_is_amended_to_itself_is_confirmed() -> None:
    study = begun(4)
    value = study.trials[2].value
    change = uhebo.amend(study, 2, value)
    assert (change.what, change.of_data) == ("confirm", False)
    assert confirmed(study, "value") == {2}
    with pytest.raises(InvalidInputError, match="confirmed; there is nothing to amend"):
        uhebo.amend(study, 2, value)
    uhebo.amend(study, 2, -3.0)
    assert confirmed(study, "value") == frozenset()
    uhebo.restore(study, 2)
    assert confirmed(study, "value") == {2}
    uhebo.restore(study, 2)
    assert confirmed(study, "value") == frozenset()
    two = optuna.create_study(directions=["minimize", "maximize"])
    two.set_metric_names(["cost", "yield"])
    two.add_trial(create_trial(values=[1.0, 2.0], params={"x": 0.1}, distributions={"x": SPACE["x"]}))
    uhebo.amend(two, 0, {"yield": 2.0})
    assert not confirmed(two, "cost", 0)
    assert confirmed(two, "yield", 1) == {0}
    uhebo.amend(two, 0, [1.0, 2.0])
    assert confirmed(two, "cost", 0) == {0}


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
    assert "skipped already" in shell.refuses("skip", "lab.db", "4")
    # A skip of a trial that waits is taken back, and the trial is told as any other.
    shell("restore", "lab.db", "4")
    assert "waits for its value again" in shell.err
    assert shell.json("status", "lab.db")["trials"] == {"finished": 3, "dropped": 1, "waiting": 1}
    shell("tell", "lab.db", "4", "6±0.5", "purity=96", "--note", "found it")
    row = shell.json("history", "lab.db")[4]
    assert (row["state"], row["value"], row["feasible"]) == ("finished", 6.0, True)
    assert "found it" in shell("history", "lab.db", "--csv")
    assert "value error" in shell("history", "lab.db", "--csv")
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


# ---------------------------------------------------------------------------------------------------- the space


def _kinds() -> dict[str, BaseDistribution]:
    return {"x": FloatDistribution(0.0, 1.0), "gas": CategoricalDistribution(["argon", "nitrogen"])}


def _measured(params: dict[str, Any]) -> float:
    return float((params["x"] - 1.4) ** 2 + 0.3 * (params.get("gas") == "argon") + 0.1 * params.get("stir", 0))


@pytest.mark.parametrize("place", ["memory", "sqlite", "journal"])
def test_a_space_extended_in_place_is_as_if_it_had_been_so_from_the_start(tmp_path: Path, place: str) -> None:
    """A wider range, a further choice and a further factor: suggestions equal those of a study made with them, with
    the same trials under the same numbers."""
    storage: Any = None
    if place == "sqlite":
        storage = f"sqlite:///{tmp_path / 'lab.db'}"
    if place == "journal":
        storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(tmp_path / "lab.log")))
    made = uhebo.UHESampler(seed=3, n_startup_trials=4)
    study = optuna.create_study(study_name="lab", storage=storage, sampler=made)
    for _ in range(7):
        trial = study.ask(_kinds())
        study.tell(trial, _measured(trial.params))
    uhebo.extend(study, {"x": (0.0, 2.0)}, reason="the best lay at the bound")
    uhebo.extend(study, {"gas": ["argon", "nitrogen", "helium"], "stir": (0, 5)}, had={"stir": 2})
    wide = uhebo.corrected(study)
    space = wide.trials[-1].distributions
    assert space["gas"] == CategoricalDistribution(["argon", "nitrogen", "helium"])
    assert {trial.params["stir"] for trial in wide.trials} == {2}
    always = optuna.create_study(sampler=uhebo.UHESampler(seed=3, n_startup_trials=4))
    for each in wide.trials:
        always.add_trial(each)
    seen = set()
    for _ in range(6):
        here, there = wide.ask(space), always.ask(space)
        assert here.params == there.params
        seen.add(here.params["gas"])
        for asked, told in ((wide, here), (always, there)):
            asked.tell(told, _measured(told.params) - 2.0 * (told.params["gas"] == "helium"))
    assert "helium" in seen
    # Optuna's own study shows what its storage can hold, and what it cannot beside the trial.
    beside = [trial for trial in study.trials if "gas" not in trial.params]
    assert beside
    assert all(trial.user_attrs[BESIDE] == {"gas": "helium"} for trial in beside)
    assert [trial.params for trial in uhebo.corrected(study).trials] == [trial.params for trial in always.trials]
    assert [(each.name, each.trials) for each in uhebo.extensions(study)] == [("x", 7), ("gas", 7), ("stir", 7)]
    assert uhebo.corrected(study).best_trial.params == always.best_trial.params


def test_a_narrower_range_leaves_trials_out_until_it_is_wide_again() -> None:
    study = begun(8)
    used = len(read_history(study, SearchSpace.of(SPACE), 4).finished)
    uhebo.extend(study, {"x": (0.4, 1.0)})
    outside = sum(trial.params["x"] < 0.4 for trial in study.trials)
    assert outside
    assert uhebo.diagnose(study, hmc=False).trials.usable == used - outside
    asked = uhebo.corrected(study).ask({**SPACE, "x": FloatDistribution(0.4, 1.0)})
    assert asked.params["x"] >= 0.4
    uhebo.skip(study, asked.number)
    uhebo.extend(study, {"x": (0.0, 1.0)})
    assert uhebo.diagnose(study, hmc=False).trials.usable == used


def test_a_search_goes_on_in_the_extended_space(tmp_path: Path) -> None:
    space: dict[str, Any] = {"x": (0.0, 1.0), "gas": ["argon", "nitrogen"]}
    place = str(tmp_path / "lab.db")
    kept: dict[str, Any] = {"storage": place, "study_name": "lab", "seed": 1}
    uhebo.minimize(lambda x, gas: _measured({"x": x, "gas": gas}), space, 4, **kept)
    wider = {"x": (0.0, 2.0), "gas": ["argon", "nitrogen", "helium"]}
    uhebo.extend(uhebo.load(place).study, wider)
    found = uhebo.minimize(lambda x, gas: x + (gas != "helium"), wider, 8, **kept)
    assert found.best_params["gas"] == "helium"
    assert len(found.study.trials) == 12


def test_what_cannot_be_extended_is_refused() -> None:
    study = begun(5)
    for given, said in (
        (({"x": (0.0, 1.0)},), "there is nothing to change"),
        (({"x": (2.0, 1.0)},), "parameter 'x': low=2.0 is above high=1.0"),
        (({"z": (0, 4)},), "5 trials were made without it; say which value they had"),
        (({},), "nothing was given to change"),
    ):
        with pytest.raises(InvalidInputError, match=re.escape(said)):
            uhebo.extend(study, *given)
    with pytest.raises(InvalidInputError, match="let it be among the values"):
        uhebo.extend(study, {"z": (0, 4)}, had={"z": 9})
    with pytest.raises(InvalidInputError, match="each trial has its own value"):
        uhebo.extend(study, {"x": (0.0, 2.0)}, had={"x": 0.5})
    assert not uhebo.extensions(study)
    study.set_user_attr("uhebo:space:000001:ab", {"name": 3, "after": "nonsense"})
    assert uhebo.corrected(study).trials == study.trials


def test_extending_in_the_shell(shell: Shell) -> None:
    shell("create", "lab.db", "--param", "t=20:90", "--param", "gas=cat:argon,neon", "--seed", "1", "--unit", "t=°C")
    shell("suggest", "lab.db", "-n", "3")
    for number in range(3):
        shell("tell", "lab.db", str(number), str(5 + number))
    assert shell.json("extend", "lab.db", "t=20:120", "--reason", "safe")[0]["now"] == "an integer from 20 to 120"
    shell("extend", "lab.db", "gas=+helium")
    assert "say which value they had" in shell.refuses("extend", "lab.db", "stir=0:9")
    shell("extend", "lab.db", "stir=0:9", "--had", "stir=3", "--unit", "t=K")
    asked = shell.json("suggest", "lab.db", "--fix", "gas=helium", "--fix", "t=110")[0]
    assert (asked["params"]["gas"], asked["params"]["t"], asked["number"]) == ("helium", 110, 3)
    shell("tell", "lab.db", "3", "9.5")
    rows = shell.json("history", "lab.db")
    assert [row["params"]["stir"] for row in rows[:3]] == [3] * 3
    assert rows[3]["params"] == asked["params"]
    own = shell.write("own.csv", "t,gas,stir,value\n115,helium,4,3.5\n")
    shell("tell", "lab.db", "--csv", own)
    assert shell.json("history", "lab.db")[4]["params"] == {"t": 115, "gas": "helium", "stir": 4}
    shell("drop", "lab.db", "4")
    edited = '[parameters]\nt = [20, 150]\ngas = ["argon", "neon", "helium"]\nstir = [0, 9]\n'
    made = shell.json("extend", "lab.db", "--space", shell.write("space.toml", edited))
    assert [(each["name"], each["now"]) for each in made] == [("t", "an integer from 20 to 150")]
    assert "there is nothing to change" in shell.refuses("extend", "lab.db", "--space", "space.toml")
    log = shell("log", "lab.db")
    for words in ("argon, neon, helium", "always 3", "in K", "safe"):
        assert words in log
    assert "no range; expected t=low:high" in shell.refuses("extend", "lab.db", "t=hot")
    assert "t is given twice" in shell.refuses("extend", "lab.db", "t=1:2", "t=1:3")
    shell("extend", "lab.db", "t=60:120")
    assert "left out of the model: trial" in shell.err
    table = shell.write("all.csv", shell("history", "lab.db", "--csv"))
    shell("create", "new.db", "--param", "t=20:120", "--param", "gas=cat:argon,neon,helium", "--param", "stir=0:9")
    assert json.loads(shell("tell", "new.db", "--csv", table, "--json"))["added"] == 4


def test_columns_keep_their_order_when_a_choice_is_added(shell: Shell) -> None:
    shell("create", "lab.db", "--param", "gas=cat:argon,neon", "--param", "x=float:0:1", "--seed", "1")
    shell("suggest", "lab.db", "-n", "2")
    shell("extend", "lab.db", "gas=+helium")
    sheet = shell("suggest", "lab.db", "-n", "2", "--fix", "gas=helium", "--csv")
    assert sheet.startswith("number,gas,x,value\n")
    assert shell("history", "lab.db", "--csv").startswith("number,state,value,gas,x\n")
    assert [list(row["params"]) for row in shell.json("history", "lab.db")] == [["gas", "x"]] * 4
    shell("tell", "lab.db", "3", "1")
    best = shell("best", "lab.db")
    assert best.index("gas") < best.index("x  ")
