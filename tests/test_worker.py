"""Workers: the budget, the leases, the spool, the child processes, the command and the status; and a small soak."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.storages import RDBStorage
from optuna.study import Study
from optuna.trial import TrialState
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

import uhebo
from tests.long.soak import SMALL, is_done, verdict
from tests.postgres import Server
from tests.shell import Shell
from tests.waiting import LIMIT_S, is_alive, wait_for
from tests.worker_control import ROOT, environment, storage_at, together, trials_in
from tests.worker_processes import SPACE, STUDY
from uhebo.cli.settings import keep
from uhebo.cli.space_file import Kept
from uhebo.errors import CannotEvaluate, EvaluationFailed, InvalidInputError
from uhebo.optuna_.endings import FAILURE, SKIPPED
from uhebo.optuna_.gaps import suggest
from uhebo.optuna_.lease import LEASE, Lease, deaths, progress
from uhebo.optuna_.trial_log import ATTRIBUTE
from uhebo.space import as_distributions
from uhebo.storage.database import open_database
from uhebo.storage.retry import DatabaseAway, Retry, is_transient
from uhebo.workers import Options
from uhebo.workers.apart import Apart
from uhebo.workers.spool import Spool, Unsent
from uhebo.workers.stop import Stop
from uhebo.workers.trials import OVER, SharedTrials, Taken
from uhebo.workers.watch import Watch
from uhebo_experiments.benchmarks.storage_calls import calls_per_trial


def quick(x: float, y: float) -> float:
    return x + y


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'study.db'}"


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options(heartbeat=0.1, grace=0.3, spool=tmp_path / "unsent", log=tmp_path / "events.jsonl")


def study_in(url: str) -> tuple[Study, RDBStorage]:
    storage = open_database(url)
    return optuna.create_study(storage=storage, study_name=STUDY, load_if_exists=True), storage


def work(url: str, trials: int, options: Options, fn: Any = quick, **more: Any) -> uhebo.workers.Worked:
    return uhebo.work(fn, SPACE, trials, storage=url, study_name=STUDY, options=options, **{"seed": 0, **more})


def events(options: Options) -> list[dict[str, Any]]:
    assert options.log is not None
    return [json.loads(line) for line in options.log.read_text().splitlines()]


# The budget


def test_a_worker_uses_the_budget_and_a_second_one_finds_nothing_left(url: str, options: Options) -> None:
    assert work(url, 9, options).stored == 9
    assert work(url, 9, options).stored == 0
    assert work(url, 11, options).stored == 2
    trials = trials_in(url)
    assert [trial.number for trial in trials] == list(range(11))
    assert {trial.system_attrs[ATTRIBUTE]["role"] for trial in trials} >= {"initial", "model"}
    assert [e["event"] for e in events(options)][:4] == ["started", "took", "returned", "stored"]


def pruned_above_a_half(x: float, trial: optuna.Trial) -> float:
    trial.set_user_attr("seen", trial.number)
    trial.report(2 * x, 7)
    if x > 0.5:
        raise optuna.TrialPruned
    return x


@pytest.mark.parametrize("apart", [{}, {"own_process": True}, {"timeout": LIMIT_S}], ids=str)
def test_a_function_that_takes_the_trial_gets_it_and_may_prune(url: str, options: Options, apart: Any) -> None:
    options = replace(options, **apart)
    uhebo.work(pruned_above_a_half, {"x": (0.0, 1.0)}, 6, storage=url, study_name=STUDY, seed=0, options=options)
    trials = trials_in(url)
    assert [trial.user_attrs["seen"] for trial in trials] == list(range(6))
    states = [TrialState.PRUNED if trial.params["x"] > 0.5 else TrialState.COMPLETE for trial in trials]
    assert [trial.state for trial in trials] == states
    assert len(set(states)) == 2
    assert all(t.value == 2 * t.params["x"] for t in trials if t.state == TrialState.PRUNED)  # as Optuna has it


def test_a_worker_ends_when_every_point_has_been_tried(url: str, options: Options) -> None:
    given: dict[str, Any] = {"storage": url, "study_name": STUDY, "seed": 0, "deterministic": True, "options": options}
    done = uhebo.work(lambda a: float(a), {"a": [3, 1, 2]}, 9, **given)
    assert (done.stored, done.exhausted) == (3, True)
    assert sorted(trial.params["a"] for trial in trials_in(url)) == [1, 2, 3]
    again = uhebo.work(lambda a: float(a), {"a": [3, 1, 2]}, 5, when_exhausted="repeat", **given)
    assert (again.stored, again.exhausted) == (2, False)


def test_a_function_in_a_process_of_its_own_may_prune(url: str, options: Options) -> None:
    def prunes(**_: float) -> float:
        raise optuna.TrialPruned

    assert work(url, 2, replace(options, timeout=LIMIT_S), prunes).failed == 0
    assert [trial.state for trial in trials_in(url)] == [TrialState.PRUNED] * 2


def test_a_function_that_does_not_fit_the_space_leaves_no_file(url: str, options: Options, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="fn needs 'unknown'"):
        work(url, 2, options, lambda unknown: float(unknown))
    assert not (tmp_path / "study.db").exists()


@pytest.mark.parametrize("kind", ["postgresql", "sqlite"])
def test_workers_share_one_budget_exactly(kind: str, url: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if kind == "postgresql":
        url = request.getfixturevalue("postgres").new_database()
    found = together("budget", tmp_path, url)
    assert sum(each["stored"] for each in found) == 12
    assert [trial.number for trial in trials_in(url)] == list(range(12))


def test_a_budget_may_be_a_number_of_numpys_and_a_wrong_one_leaves_no_file(
    url: str, options: Options, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match=r"n_trials is 2\.5; expected an integer >= 1"):
        work(url, 2.5, options)  # type: ignore[arg-type]
    assert not (tmp_path / "study.db").exists()
    assert work(url, np.int64(3), options).stored == 3  # type: ignore[arg-type]


def test_two_threads_on_one_storage_have_budgets_of_their_own(url: str, options: Options) -> None:
    """Each study's budget is checked in its own thread's transactions, not in all of the storage's."""
    storage = open_database(url)
    begin = threading.Barrier(2)

    def run(budget: int) -> int:
        begin.wait()
        name, quiet = f"study {budget}", replace(options, log=None)
        return uhebo.work(quick, SPACE, budget, storage=storage, study_name=name, seed=0, options=quiet).stored

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, (2, 10))) == [2, 10]


def new_trial(study: Study, lease: Lease, budget: int = 10) -> Taken:
    taken, _ = SharedTrials(study).take(lease, budget, lambda: False)
    assert taken is not None
    return taken


def test_workers_in_haste_evaluate_no_more_than_the_budget(url: str) -> None:
    """Both have seen one trial of two: one is created too many, and known by its number; a raised one counts anew."""
    study, _ = study_in(url)
    trials, me = SharedTrials(study), Lease("me")
    new_trial(study, me)
    seen = study.get_trials()
    first = new_trial(study, me, 2)
    study.get_trials = lambda **_: seen  # type: ignore[method-assign]
    second = new_trial(study, me, 2)
    del study.get_trials
    assert [trials.is_over(taken, number, 2) for taken, number in ((first, 1), (second, 2))] == [False, True]
    assert study.trials[2].user_attrs[SKIPPED] == OVER
    assert trials.take(me, 2, lambda: False) == (None, True)
    third = new_trial(study, me, 3)
    assert not trials.is_over(third, 3, 3)
    assert trials.take(me, 3, lambda: False) == (None, True)


def test_failed_trials_and_points_added_by_hand_count(url: str, options: Options) -> None:
    study, _ = study_in(url)
    space = as_distributions(SPACE)
    study.add_trial(optuna.create_trial(params={"x": 0.5, "y": 0.5}, distributions=space, value=1.0))

    def sometimes(x: float, y: float) -> float:
        if x < 0.5:
            raise ValueError("left half")
        return y

    done = work(url, 10, options, sometimes, sampler=RandomSampler(seed=0))
    assert done.stored + done.failed == 9
    assert done.failed
    assert len(trials_in(url)) == 10


def test_a_value_that_is_none_fails_its_trial_and_the_worker_goes_on(url: str, options: Options) -> None:
    def odd(x: float, y: float) -> Any:
        return y if x < 0.7 else "much"

    done = work(url, 10, options, odd, sampler=RandomSampler(seed=0))
    assert done.failed
    assert done.stored
    reasons = {trial.user_attrs[FAILURE] for trial in trials_in(url) if trial.state == TrialState.FAIL}
    assert all("returned 'much'" in reason for reason in reasons)


def test_points_of_the_user_go_first(url: str, options: Options) -> None:
    study, _ = study_in(url)
    study.enqueue_trial({"x": 0.125, "y": 0.75})
    study.enqueue_trial({"x": 0.875})
    work(url, 4, options)
    first, second, *_ = trials_in(url)
    assert first.params == {"x": 0.125, "y": 0.75}
    assert second.params["x"] == 0.875
    assert len(trials_in(url)) == 4


def test_trials_that_no_worker_holds_are_left_alone(url: str, options: Options) -> None:
    """A person who asked `uhebo suggest` may take days; the worker does not wait for that, nor take it away."""
    study, _ = study_in(url)
    study.ask(as_distributions(SPACE))
    assert work(url, 4, options).stored == 3
    assert [trial.state.name for trial in trials_in(url)] == ["RUNNING", *["COMPLETE"] * 3]


def test_a_study_that_was_made_for_the_other_direction_is_refused(url: str, options: Options) -> None:
    work(url, 2, options)
    with pytest.raises(InvalidInputError, match="was made to minimize; give direction='minimize', or use another name"):
        work(url, 4, options, direction="maximize")
    assert len(trials_in(url)) == 2
    optuna.create_study(storage=url, study_name="two", directions=["minimize", "maximize"])
    with pytest.raises(InvalidInputError, match="study has 2"):
        uhebo.work(quick, SPACE, 4, storage=url, study_name="two", options=options)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"direction": "max"}, "unknown direction 'max'; did you mean 'maximize'[?]"),
        ({"aquisition": "ucb"}, "work has no option 'aquisition'; did you mean acquisition[?]"),
        ({"method": "bayes"}, "unknown method 'bayes'"),
    ],
)
def test_misuse_of_work_is_a_typed_and_readable_error(
    given: dict[str, Any], message: str, url: str, options: Options, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        work(url, 2, options, **given)
    assert not (tmp_path / "study.db").exists()


# Leases


def test_a_trial_is_given_up_after_some_deaths(url: str, options: Options) -> None:
    study, storage = study_in(url)
    taken = new_trial(study, Lease("dead", grace=0.3))
    for name in ("lost:first", "lost:second", "lost:third", "lost:slow", "back:slow"):
        storage.set_trial_system_attr(taken.trial_id, f"uhebo:{name}", True)
    assert work(url, 3, options).stored == 2
    trials = trials_in(url)
    assert [trial.state.name for trial in trials] == ["FAIL", "COMPLETE", "COMPLETE"]
    assert trials[0].user_attrs[FAILURE] == "4 workers died with this trial"
    assert [e["event"] for e in events(options) if e.get("trial") == 0] == ["given up"]


def test_a_lease_changes_hands_only_with_what_was_seen(url: str) -> None:
    study, _ = study_in(url)
    trials = SharedTrials(study)
    watch = Watch(trials, Options(heartbeat=1, grace=2))
    watch.held = new_trial(study, Lease("first"))
    (seen,) = trials.held()
    assert watch.beat()  # after which what was seen is old
    assert not trials.requeue(seen)
    (seen,) = trials.held()
    assert trials.requeue(seen)
    assert not trials.requeue(seen)
    assert deaths(study.trials[0]) == 1
    assert not watch.beat()
    (waiting,) = study.get_trials(states=(TrialState.WAITING,))
    taken = trials.adopt(waiting, Lease("second"))
    assert taken is not None
    assert taken.lease.worker == "second"
    assert trials.adopt(waiting, Lease("third")) is None
    (held,) = trials.held()
    assert Lease.of(held) == replace(taken.lease, at=held.system_attrs[LEASE]["at"])
    assert deaths(held) == 0  # the first has shown that it lives


def test_a_beat_whose_answer_got_lost_is_no_reason_to_give_up(url: str) -> None:
    study, _ = study_in(url)
    watch = Watch(SharedTrials(study), Options(heartbeat=1, grace=2))
    watch.held = taken = new_trial(study, Lease("me"))
    assert SharedTrials(study).beat(taken.trial_id, taken.lease)  # written, and never heard of
    assert watch.beat()


def test_a_thread_that_asks_for_a_connection_while_it_is_given_up_gets_one(postgres: Server) -> None:
    """The pool was emptied under it, and it waited for 30 s, which cost workers their trials."""
    url = postgres.new_database()
    study_in(url)[1].engine.dispose()
    storage = open_database(url, one_connection=True)
    storage.engine.pool.recreate = lambda: pytest.fail("another pool")  # type: ignore[method-assign]
    trials = SharedTrials(optuna.load_study(study_name=STUDY, storage=storage))
    asking: list[threading.Thread] = []

    def ask(*_: object) -> None:
        if not asking:
            asking.append(threading.Thread(target=trials.held, daemon=True))
            asking[0].start()
            asking[0].join(0.2)  # until it waits, or has what it wants

    for moment in ("close", "close_detached"):
        event.listen(storage.engine, moment, ask)
    trials.held()
    trials.give_way()
    (thread,) = asking
    wait_for(lambda: not thread.is_alive())
    trials.give_way()
    name = url.rpartition("/")[2]
    wait_for(lambda: postgres.execute(f"select count(*) from pg_stat_activity where datname = '{name}'") == [(0,)])


def test_two_beats_at_once_are_no_reason_to_give_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that was slow to suggest beats in its own thread; it left its trial if the other did just then."""
    study, _ = study_in(url)
    trials, both = SharedTrials(study), threading.Barrier(2)
    watch = Watch(trials, Options(heartbeat=1, grace=2))
    watch.held = new_trial(study, Lease("me"))
    beat = trials.beat

    def together(trial_id: int, lease: Lease) -> Lease | None:
        with suppress(threading.BrokenBarrierError):
            both.wait(0.5)  # the second comes only where nothing keeps it out
        return beat(trial_id, lease)

    monkeypatch.setattr(trials, "beat", together)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: watch.beat(), range(2))) == [True, True]


@pytest.mark.parametrize("change", ["fail", "hand_back", "prune"])
def test_a_worker_taken_for_dead_changes_nothing_of_the_one_that_took_over(change: str, url: str) -> None:
    """FIELD D2: it wakes and fails, or is told to stop, while the other evaluates the same trial."""
    study, _ = study_in(url)
    trials = SharedTrials(study)
    late = new_trial(study, Lease("late"))
    (seen,) = trials.held()
    assert trials.requeue(seen)
    (waiting,) = study.get_trials(states=(TrialState.WAITING,))
    other = trials.adopt(waiting, Lease("other"))
    assert other is not None
    given: Any = {"fail": (late, "too late"), "hand_back": (late.trial_id, "late"), "prune": (late,)}[change]
    getattr(trials, change)(*given)
    assert trials.is_mine(other.trial_id, other.lease)
    assert trials.store(other.trial_id, 1.5)
    getattr(trials, change)(*given)
    assert study.trials[0].value == 1.5
    assert not trials.store(late.trial_id, 2.5)
    assert FAILURE not in study.trials[0].user_attrs


@pytest.mark.parametrize("when", ["before", "between", "after"])
def test_a_worker_that_hands_its_trial_back_has_not_died_whenever_it_is_taken_for_dead(when: str, url: str) -> None:
    study, _ = study_in(url)
    trials = SharedTrials(study)
    for worker in map(str, range(5)):
        taken = new_trial(study, Lease(worker), 1)
        (seen,) = trials.held()
        if when == "before":
            assert trials.requeue(seen)
        if when == "between":  # the other has looked, and writes while this one hands back

            def look(_: Any, change: Any, worker: str = worker, taken: Taken = taken) -> bool:
                assert trials.hand_back(taken.trial_id, worker)
                change(taken.trial_id)
                return True

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(trials, "_if_unchanged", look)
                trials.requeue(seen)
        else:
            assert trials.hand_back(taken.trial_id, worker) == (when == "after")
        if when == "after":
            assert not trials.requeue(seen)
        (trial,) = study.trials
        assert (trial.state, deaths(trial)) == (TrialState.WAITING, 0)


def test_a_note_of_a_trial_that_the_worker_never_had_changes_nothing(url: str) -> None:
    study, _ = study_in(url)
    trials, taken = SharedTrials(study), new_trial(study, Lease("me"))
    assert not trials.hand_back(taken.trial_id, "somebody else")
    assert not trials.hand_back(taken.trial_id + 7, "me")
    assert set(study.trials[0].system_attrs) == {LEASE}
    assert trials.is_mine(taken.trial_id, taken.lease)


def test_a_grace_period_is_that_of_the_worker_it_belongs_to(url: str) -> None:
    """FIELD D10: one that beats every ten minutes is not taken for dead by one that beats every second."""
    study, _ = study_in(url)
    trials = SharedTrials(study)
    new_trial(study, Lease("patient", grace=1200.0))
    new_trial(study, Lease("quick", grace=2.0))
    watch = Watch(trials, Options(heartbeat=1e-3, grace=2e-3))
    watch._options = Options(heartbeat=1.0, grace=2.0)
    for _ in range(8):
        watch.look()
    assert [trial.state.name for trial in study.trials] == ["RUNNING", "WAITING"]


def test_a_study_is_not_shared_by_workers_with_different_spaces(url: str, options: Options) -> None:
    """FIELD D10: `work` took another space for the same study."""
    work(url, 2, options)
    message = "made with another space: 'y' is Float.*high=1.0.* there and Float.*high=2.0.* here; give the same space"
    with pytest.raises(InvalidInputError, match=message):
        uhebo.work(quick, {"x": (0.0, 1.0), "y": (0.0, 2.0)}, 4, storage=url, study_name=STUDY, options=options)
    with pytest.raises(InvalidInputError, match=r"'y' is Float.* there and not a parameter here"):
        uhebo.work(lambda x: x, {"x": (0.0, 1.0)}, 4, storage=url, study_name=STUDY, options=options)
    assert len(trials_in(url)) == 2


def test_half_a_point_is_completed_and_a_whole_one_kept(url: str, options: Options) -> None:
    study, _ = study_in(url)
    space, had = as_distributions(SPACE), []
    for names in (["x"], ["x", "y"]):
        trial = optuna.Trial(study, new_trial(study, Lease("dead", grace=0.3)).trial_id)
        had.append({name: suggest(trial, name, space[name]) for name in names})
    assert work(url, 2, options).stored == 2
    for done, before in zip(trials_in(url), had, strict=True):
        assert before.items() <= done.params.items()
        assert done.value == done.params["x"] + done.params["y"]


def test_what_a_person_took_from_the_queue_is_theirs(shell: Shell, url: str, options: Options) -> None:
    """A dead worker's trial is queued again, `uhebo suggest` hands it out, and the workers leave it alone."""
    study, _ = study_in(url)
    space = as_distributions(SPACE)
    keep(study, Kept(space, {"seed": 0}))
    trial = optuna.Trial(study, new_trial(study, Lease("dead", grace=0.3)).trial_id)
    point = {name: suggest(trial, name, distribution) for name, distribution in space.items()}
    (stale,) = SharedTrials(study).held()
    assert SharedTrials(study).requeue(stale)
    assert "trial 0 is in the queue" in shell.refuses("tell", "study.db", "0", "0.5")
    assert shell.json("suggest", "study.db") == [{"number": 0, "params": point, "origin": "not known"}]

    def slow(x: float, y: float) -> float:
        time.sleep(0.4)  # longer than the grace period
        return x + y

    assert work(url, 4, options, slow).stored == 3
    assert [trial.state.name for trial in trials_in(url)] == ["RUNNING", *["COMPLETE"] * 3]
    shell("tell", "study.db", "0", "0.5")
    assert trials_in(url)[0].value == 0.5


def test_a_trial_that_somebody_else_took_first_gets_no_lease(url: str) -> None:
    study, _ = study_in(url)
    study.enqueue_trial({"x": 0.25, "y": 0.5})
    (waiting,) = study.get_trials()
    study.ask(as_distributions(SPACE))  # another program, between the look and the grasp
    assert SharedTrials(study).adopt(waiting, Lease("late")) is None
    assert SharedTrials(study).held() == []


# Suggestions in parallel


@pytest.mark.parametrize("kind", ["postgresql", "sqlite"])
def test_no_two_workers_take_the_same_point(
    kind: str, url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """36 points, 36 trials, six workers at once: with one repeat a point would be missing."""
    if kind == "postgresql":
        url = request.getfixturevalue("postgres").new_database()
    assert sum(together("same_point", tmp_path, url)) == 36
    points = Counter(tuple(trial.params.values()) for trial in trials_in(url))
    assert len(points) == 36


# Waiting for the database


def test_what_passes_and_what_does_not() -> None:
    import sqlite3

    def error(text: str) -> OperationalError:
        return OperationalError("select", {}, sqlite3.OperationalError(text))

    assert is_transient(error("database is locked"))
    assert not is_transient(error("database or disk is full"))
    assert not is_transient(error("attempt to write a readonly database"))
    assert not is_transient(error("no such column: x"))
    assert not is_transient(ValueError("locked"))


def test_retries_end(monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    monkeypatch.setattr("uhebo.storage.retry.FIRST_DELAY_S", 0.001)
    calls = []

    def locked(until: int) -> int:
        calls.append(1)
        if len(calls) < until:
            raise OperationalError("select", {}, sqlite3.OperationalError("database is locked"))
        return len(calls)

    assert Retry(60.0, Stop()).call(lambda: locked(4), "trying") == 4
    with pytest.raises(DatabaseAway, match="did not answer for 0 s while trying"):
        Retry(0.002, Stop()).call(lambda: locked(10**9), "trying")
    with pytest.raises(ZeroDivisionError):
        Retry(60.0, Stop()).call(lambda: 1 // 0, "trying")


def test_a_password_with_an_at_sign_is_refused_without_showing_it() -> None:
    with pytest.raises(InvalidInputError, match="write %40") as caught:
        open_database("postgresql+psycopg://user:secret@word@127.0.0.1/db")
    assert "word" not in str(caught.value).replace("password", "")


# The spool


def test_what_a_dead_worker_left_is_delivered_and_what_a_live_one_has_is_not(
    url: str, options: Options, tmp_path: Path
) -> None:
    study, storage = study_in(url)
    trials = [study.ask(as_distributions(SPACE)) for _ in range(3)]
    spool = Spool(tmp_path / "unsent", storage, STUDY)
    for trial in trials[:2]:
        with pytest.raises(KeyboardInterrupt), spool.keeping(Unsent(trial._trial_id, trial.number, trial.params, 7.5)):
            raise KeyboardInterrupt
    wrong = Unsent(trials[2]._trial_id, 2, {"x": -1.0, "y": 0.0}, 8.5)
    with pytest.raises(KeyboardInterrupt), spool.keeping(wrong):
        raise KeyboardInterrupt
    (tmp_path / "unsent" / f"{spool._prefix}-9-torn.json").write_text('{"value": "1.0", "par')
    live = spool.keeping(Unsent(trials[2]._trial_id, 2, trials[2].params, 9.5))
    with live:
        work(url, 3, options)
        assert [trial.value for trial in trials_in(url)] == [7.5, 7.5, None]
    left = sorted(path.name.split("-")[1] for path in (tmp_path / "unsent").iterdir())
    assert left == [str(wrong.trial_id), "9"]  # of other parameters, and torn: neither is thrown away


def test_a_spool_that_cannot_be_written_is_said_at_once(
    url: str, options: Options, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FIELD D9: a read-only folder is an error before the first trial; one that has become full, a warning."""
    message = "the folder for unsent results, /proc, cannot be written .*; give another: --spool"
    with pytest.raises(InvalidInputError, match=message):
        work(url, 2, replace(options, spool=Path("/proc")))
    assert trials_in(url) == []

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("uhebo.workers.spool.json.dump", full)
    assert work(url, 2, options).stored == 2
    said = [record.getMessage() for record in caplog.records if "cannot be kept" in record.getMessage()]
    assert len(said) == 1
    assert "No space left on device" in said[0]
    assert not list((tmp_path / "unsent").iterdir())


def test_infinite_values_survive_the_spool(url: str, tmp_path: Path) -> None:
    _, storage = study_in(url)
    spool = Spool(tmp_path / "unsent", storage, STUDY)
    with pytest.raises(KeyboardInterrupt), spool.keeping(Unsent(1, 0, {"x": 0.1}, float("-inf"))):
        raise KeyboardInterrupt
    found: list[Any] = []

    def deliver(unsent: Any) -> bool:
        found.append(unsent)
        return True

    spool.deliver_orphans(deliver)
    assert found == [Unsent(1, 0, {"x": 0.1}, float("-inf"))]
    assert not list((tmp_path / "unsent").iterdir())


def in_two(x: float, y: float) -> tuple[float, float]:
    return x, math.nan if y > 0.5 else y


@pytest.mark.parametrize("limited", [False, True])
def test_several_objectives(tmp_path: Path, limited: bool) -> None:
    """Stored together or not at all: from the worker, from what a dead one left, and late ones not."""
    url = f"sqlite:///{tmp_path / 'two.db'}"
    options = Options(spool=tmp_path / "unsent", max_failure_rate=1.0, timeout=LIMIT_S if limited else None)
    given: Any = {"directions": {"a": "minimize", "b": "maximize"}, "options": options, "seed": 0}
    work = partial(uhebo.work, in_two, SPACE, storage=url, study_name=STUDY, **given)
    work(n_trials=4)
    study = optuna.load_study(study_name=STUDY, storage=url)
    for trial in study.trials:
        assert trial.values == (None if trial.params["y"] > 0.5 else [trial.params["x"], trial.params["y"]])
    assert {trial.state.name for trial in study.trials} == {"COMPLETE", "FAIL"}
    with pytest.raises(InvalidInputError, match="made with the objectives"):
        uhebo.work(in_two, SPACE, 5, storage=url, study_name=STUDY, directions=["minimize", "maximize"], seed=0)
    asked, leased = [study.ask(as_distributions(SPACE)) for _ in range(2)], SharedTrials(study)
    spool = Spool(tmp_path / "unsent", leased.storage, STUDY)
    left = [Unsent(trial._trial_id, trial.number, trial.params, (1.0, -math.inf)) for trial in asked]
    for unsent in (left[0], replace(left[1], value=2.0)):
        with pytest.raises(KeyboardInterrupt), spool.keeping(unsent):
            raise KeyboardInterrupt
    assert leased.store(left[1].trial_id, (3.0, 4.0))
    assert not leased.store(left[1].trial_id, (3.0, 5.0))
    work(n_trials=6)
    found = optuna.load_study(study_name=STUDY, storage=url).trials
    assert [trial.values for trial in found[4:]] == [[1.0, -math.inf], [3.0, 4.0]]
    assert len(list((tmp_path / "unsent").iterdir())) == 1  # one value where there are two objectives


def test_what_was_never_written_to_its_end_is_cleared_away(url: str, tmp_path: Path) -> None:
    _, storage = study_in(url)
    spool = Spool(tmp_path / "unsent", storage, STUDY)
    old, new = (tmp_path / "unsent" / f"{spool._prefix}-{number}-x.part" for number in (1, 2))
    for part in (old, new):
        part.write_text("{")
    os.utime(old, (0, 0))
    spool.deliver_orphans(lambda _: pytest.fail("nothing to deliver"))
    assert [path.name for path in (tmp_path / "unsent").iterdir()] == [new.name]


def test_the_first_result_stays(url: str) -> None:
    study, _ = study_in(url)
    trial = study.ask(as_distributions(SPACE))
    assert SharedTrials(study).store(trial._trial_id, 1.0)
    assert SharedTrials(study).store(trial._trial_id, 1.0)  # the answer had got lost
    assert not SharedTrials(study).store(trial._trial_id, 2.0)
    assert study.trials[0].value == 1.0


# Child processes


@pytest.mark.parametrize("anew", [True, False])
def test_evaluations_apart_are_survived(anew: bool) -> None:
    def fn(number: int, params: Any, trial: Any) -> float:
        if number == 1 or trial is not None:
            os._exit(3)
        if number == 2:
            raise CannotEvaluate("no such program")
        if number == 3:
            raise ValueError("no luck")
        return float(params["x"]) * 2

    with Apart(fn, timeout=LIMIT_S, anew=anew) as evaluate:
        evaluate.check()
        assert evaluate(0, {"x": 0.1}) == 0.2
        for number, error, message in (
            (1, EvaluationFailed, "without a value, with exit code 3"),
            (2, CannotEvaluate, "no such program"),
            (3, EvaluationFailed, "ValueError: no luck"),
        ):
            with pytest.raises(error, match=message):
                evaluate(number, {"x": 0.1})
        assert evaluate(4, {"x": float("inf")}) == float("inf")


@pytest.mark.parametrize("anew", [True, False])
def test_what_cannot_be_prepared_is_said_before_any_trial(anew: bool) -> None:
    def refuse() -> None:
        raise InvalidInputError("importing it failed")

    failed = pytest.raises(InvalidInputError, match="importing it failed")
    with Apart(lambda *_: 0.0, anew=anew, prepare=refuse) as evaluate, failed:
        evaluate.check()


def test_a_process_for_many_evaluations_keeps_what_it_has_loaded() -> None:
    loaded: list[int] = []

    def fn(number: int, params: Any, trial: Any) -> float:  # noqa: ARG001
        loaded.append(number)
        return float(len(loaded))

    with Apart(fn, anew=False) as evaluate:
        assert [evaluate(number, {}) for number in range(3)] == [1.0, 2.0, 3.0]
    with Apart(fn, anew=True) as evaluate:
        assert [evaluate(number, {}) for number in range(3)] == [1.0, 1.0, 1.0]
    assert loaded == []


CHILDREN = {
    "fork": "import os, time\npid = os.fork()\nif pid == 0:\n    time.sleep(1000)\n",
    "multiprocessing": (
        "import multiprocessing, time\nchild = multiprocessing.get_context('fork').Process(target=time.sleep, "
        "args=(1000,))\nchild.start()\npid = child.pid\n"
    ),
    "Popen": "import subprocess\npid = subprocess.Popen(['sleep', '1000']).pid\n",
}


def starts(kind: str, note: Path, wait: bool) -> float:
    """An evaluation that has started another process, and may wait for ever."""
    found: dict[str, Any] = {}
    exec(CHILDREN[kind], found)
    note.write_text(f"{os.getpid()} {found['pid']}")
    if wait:
        time.sleep(1000)
    return 1.0


@pytest.mark.parametrize("kind", sorted(CHILDREN))
@pytest.mark.parametrize("end", ["returns", "called off", "worker killed", "keeper killed"])
def test_what_an_evaluation_started_ends_with_it(kind: str, end: str, tmp_path: Path) -> None:
    """FIELD D3: children were left by a timeout, and by a worker that was killed."""
    note = tmp_path / "pids"

    def fn(*_: Any) -> float:
        return starts(kind, note, end != "returns")

    def pids() -> list[int]:
        return [int(pid) for pid in note.read_text().split()] if note.exists() else []

    if end == "worker killed":
        worker = os.fork()
        if worker == 0:
            with suppress(BaseException):
                Apart(fn)(0, {})
            os._exit(1)
        wait_for(lambda: len(pids()) == 2)
        os.kill(worker, signal.SIGKILL)
        os.waitpid(worker, 0)
    else:
        with Apart(fn, timeout=None if end != "called off" else 0.5) as evaluate:
            if end == "keeper killed":

                def kill() -> None:
                    wait_for(lambda: len(pids()) == 2)
                    os.kill(evaluate._pid, signal.SIGKILL)

                threading.Thread(target=kill).start()
                with pytest.raises(CannotEvaluate, match="was killed"):
                    evaluate(0, {})
            elif end == "returns":
                assert evaluate(0, {}) == 1.0
            else:
                with pytest.raises(EvaluationFailed, match=r"no value after 0\.5 s"):
                    evaluate(0, {})
    wait_for(lambda: not any(map(is_alive, pids())))


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan")])
def test_limits_that_make_no_sense(limit: float) -> None:
    with pytest.raises(InvalidInputError, match="expected a finite number > 0"):
        Apart(lambda *_: 0.0, timeout=limit)


@pytest.mark.parametrize(
    "given", [{"heartbeat": 0.0}, {"grace": 5.0, "heartbeat": 4.0}, {"retries": -1}, {"max_failure_rate": 1.5}]
)
def test_options_that_make_no_sense(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        Options(**given)


def test_a_storage_without_transactions_is_refused(options: Options) -> None:
    with pytest.raises(InvalidInputError, match="workers need a database"):
        uhebo.work(quick, SPACE, 3, storage=optuna.storages.InMemoryStorage(), study_name=STUDY, options=options)


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
def test_choices_that_a_storage_can_not_hold_are_refused(url: str) -> None:
    with pytest.raises(InvalidInputError, match=r"'x': the choice .* is a tuple"):
        uhebo.work(quick, {"x": [(1, 2), (2, 3)]}, 3, storage=url, study_name=STUDY)
    with storage_at(url) as storage:
        assert storage.get_all_studies() == []


def test_a_trial_asks_no_more_of_its_database_than_one_of_optuna(tmp_path: Path) -> None:
    """Commits are what a shared database has fewest of. Ours are for the tags of a suggestion and a look at rivals."""
    found = {kind: calls_per_trial(f"sqlite:///{tmp_path / kind}.db", kind, 2) for kind in ("optuna", "worker", "auto")}
    for kind in ("commits", "statements"):
        assert found["worker"][kind] <= found["optuna"][kind]
    assert found["auto"]["commits"] <= found["optuna"]["commits"] + 3


def test_the_page_names_a_test_for_each_promise() -> None:
    promises = (ROOT / "docs" / "scaling-out.md").read_text().split("## What is promised")[1].split("\nHow: ")[0]
    tests = [(ROOT / "tests" / f"test_{name}.py").read_text() for name in ("worker", "faults_storage")]
    for promise in re.findall(r"^- .*?(?=^- |\Z)", promises, re.MULTILINE | re.DOTALL):
        named = [
            name for group in re.findall(r"\((`\w+`(?:, `\w+`)*)\)", promise) for name in re.findall(r"\w+", group)
        ]
        assert named, promise
        for name in named:
            assert any(re.search(rf"^def test_\w*{name}", text, re.MULTILINE) for text in tests), name


# The command


def test_the_command_and_the_status(shell: Shell, postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    url = postgres.new_database()
    shell.write("train_in_tests.py", "def loss(x):\n    print('noise')\n    return (x - 0.3) ** 2\n")
    monkeypatch.syspath_prepend(str(shell.folder))
    shell("create", url, "--study", "tune", "--param", "x=float:0:1", "--trials", "6")
    assert shell.json("worker", "--storage", url, "--study", "tune", "train_in_tests:loss")["stored"] == 6
    assert "used up: this worker stored 6" in shell.err
    shell("worker", "--storage", url, "--study", "tune", "--trials", "7", "--timeout", "60", "--", "echo", "{x}")
    with storage_at(url) as storage:
        study = optuna.load_study(storage=storage, study_name="tune")
        assert [trial.value for trial in study.trials[6:]] == [study.trials[6].params["x"]]
        new_trial(study, Lease("far-away"), 8)
    shown = shell("status", url, "--study", "tune")
    assert "7 finished, 1 running" in shown
    assert "1 (the most silent one was heard" in shown
    assert "trials per minute" in shown
    assert shell.json("status", url, "--study", "tune")["workers"][0]["worker"] == "far-away"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["worker", "--storage", "lab.log", "f:g"], "is a journal; workers need"),
        (["worker", "--storage", "none.db", "math:sqrt"], "there is no file none.db"),
        (["worker", "--storage", "lab.db", "math:sqrt"], "was made without a number of trials; give --trials"),
        (["worker", "--storage", "lab.db", "math:sqrt", "--grace", "1"], "at least two heartbeats"),
        (["worker", "--storage", "lab.db", "no_such_module:f"], "importing no_such_module failed"),
    ],
)
def test_the_command_refuses(arguments: list[str], message: str, shell: Shell) -> None:
    study = optuna.create_study(storage="sqlite:///lab.db", study_name="lab")
    keep(study, Kept(as_distributions({"x": (0.0, 1.0)}), {"seed": 0}))
    assert message in shell.refuses(*arguments)


def test_progress(url: str) -> None:
    study, _ = study_in(url)
    assert progress(study.trials, 10).rate is None
    for _ in range(3):
        study.tell(study.ask(as_distributions(SPACE)), 1.0)
    new_trial(study, Lease("worker"))
    ended = [trial.datetime_complete for trial in study.trials if trial.datetime_complete]
    now = ended[0].timestamp() + 20.0
    found = progress(study.trials, 10, now)
    assert found.rate == pytest.approx(0.1)
    assert found.left_s == pytest.approx(70.0)
    assert found.workers == 1
    assert found.busy[0].trial == 3


# The soak, small


BY_TESTS = [plan for plan in SMALL if plan.name in ("postgresql", "sqlite", "crowded")]
"""The third has 14 workers on a server of 8 connections."""


@pytest.mark.parametrize("plan", BY_TESTS, ids=lambda plan: plan.name)
def test_a_small_soak(plan: Any, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if plan.name != "sqlite":
        request.getfixturevalue("postgres")  # skipped where there is none
    command = [sys.executable, "-m", "tests.long.soak", "--small", "--on", plan.name, "--out", str(tmp_path)]
    began = time.monotonic()
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, f"after {time.monotonic() - began:.0f} s: {done.stdout}\n{done.stderr}"
    report = json.loads((tmp_path / f"{plan.name}.json").read_text())
    assert verdict(report) == []
    # Who is killed between the database's commit and its own log has acknowledged nothing; the value is stored.
    assert report["acknowledged results"] >= plan.trials - plan.kills
    assert report["kills"] == plan.kills
    assert "as promised | yes" in (tmp_path / "README.md").read_text()
    assert is_done(plan, 0, tmp_path)
    assert not is_done(plan, 1, tmp_path)


def test_the_soak_notices_what_is_wrong() -> None:
    """A report in which something was lost is not passed over."""
    plan = SMALL[0]
    good: dict[str, Any] = {
        "plan": {**asdict(plan), "kills": 1},
        "states": {},
        "suspensions": 0,
        "trials": plan.trials,
        "created beyond the budget, and skipped": plan.workers - 1,
        "kills": 1,
        "workers that crashed": [],
        **dict.fromkeys(
            (
                "acknowledged results lost",
                "returned results whose trial has no value",
                "values that nobody returned",
                "duplicate trial numbers",
                "duplicate points",
                "left running",
                "left waiting",
                "unsent results left",
                "processes left",
                "deaths of workers that handed the trial back",
            ),
            0,
        ),
    }
    assert verdict(good) == []
    for name in good:
        if name not in ("plan", "states", "workers that crashed"):
            assert verdict({**good, name: good[name] + 1}), name


@pytest.mark.parametrize(
    "value", ["nonsense", [], 7, {"at": 10**400}, {"at": math.inf, "grace": -1}, {"worker": 5, "beat": "x"}]
)
def test_a_lease_that_is_nonsense_reads_as_held_by_nobody(value: Any) -> None:
    trial = optuna.create_trial(state=TrialState.RUNNING, system_attrs={LEASE: value})
    assert Lease.of(trial) == Lease(None)


@pytest.mark.parametrize("number", ["1" + "0" * 400, "1e999", "NaN"])
def test_an_unsent_result_with_impossible_numbers_is_left_where_it_is(tmp_path: Path, number: str) -> None:
    backend = open_database(f"sqlite:///{tmp_path / 'study.db'}")
    spool = Spool(tmp_path / "spool", backend, "study")
    with spool.keeping(Unsent(1, 1, {}, 1.0)):
        (name,) = (path.name for path in spool.folder.glob("*.json"))
    damaged = spool.folder / name
    damaged.write_text(f'{{"trial_id": {number}, "number": 1, "params": {{}}, "value": 1.0}}')

    def refuse(unsent: Any) -> bool:
        raise AssertionError(f"delivered {unsent}")

    spool.deliver_orphans(refuse)
    assert damaged.exists()
    backend.engine.dispose()
