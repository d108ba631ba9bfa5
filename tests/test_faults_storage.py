"""Rows 26 to 38 of the table of faults: workers that die, databases that go away, signals, full disks.

Real processes, killed with SIGKILL; a real PostgreSQL server, stopped and started. `tests.worker_processes` has the
programs. No test asserts a time: they wait for what is to happen, and only give up after a minute or two.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

import uhebo
from tests.postgres import Server
from tests.waiting import LIMIT_S, is_alive, wait_for
from tests.worker_control import (
    ROOT,
    STARTED,
    Worker,
    died,
    environment,
    events,
    requeued,
    states,
    storage_at,
    together,
    trials_in,
)
from tests.worker_processes import CALM, SPACE, STUDY
from uhebo.optuna_.endings import FAILURE
from uhebo.optuna_.trial_log import ATTRIBUTE
from uhebo.storage.database import IDLE_S
from uhebo.storage.retry import LAST_TRY_S
from uhebo.workers import Options, stop
from uhebo.workers.apart import END_S
from uhebo.workers.loop import TooManyFailures
from uhebo.workers.trials import SharedTrials

both_databases = pytest.mark.parametrize("kind", ["postgresql", "sqlite"])


@pytest.fixture(autouse=True)
def nobody_left() -> Iterator[None]:
    """A test that fails leaves no process behind."""
    yield
    while STARTED:
        STARTED.pop().kill()


@pytest.fixture
def url(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    if kind == "sqlite":
        return f"sqlite:///{tmp_path / 'study.db'}"
    server: Server = request.getfixturevalue("postgres")
    return server.new_database()


def test_row_26_any_text_survives_postgresql(postgres: Server) -> None:
    names = ["🦜 rate", "معدل التعلم", "x'; DROP TABLE trials;--", 'quote " and \\', "%s %(x)s", "a\nb"]
    space: dict[str, Any] = dict.fromkeys(names, (0.0, 1.0)) | {"choice 🙂": ["'; DROP TABLE studies;--", "عربي", "b"]}

    def value(**params: Any) -> float:
        return float(sum(params[name] for name in names))

    with storage_at(postgres.new_database()) as storage:
        options: dict[str, Any] = {"storage": storage, "study_name": "'; DROP TABLE trial_params;-- 🦜"}
        uhebo.minimize(value, space, 6, seed=0, n_startup_trials=4, **options)
        result = uhebo.minimize(value, space, 2, seed=0, n_startup_trials=4, **options)
        trials: list[FrozenTrial] = optuna.load_study(**options).trials
        best = result.best_params
    assert len(trials) == 8
    assert all(set(trial.params) == set(space) for trial in trials)
    assert trials[-1].system_attrs[ATTRIBUTE]["role"] in ("model", "random")
    assert set(best) == set(space)


@both_databases
def test_row_27_kill_inside_the_objective_requeues_once(url: str, tmp_path: Path) -> None:
    calm = {"heartbeat": 0.25, "grace": 5.0}  # two live workers: neither is to take the other for dead
    first = Worker(tmp_path / "first", url, "objective", 4, **calm)
    first.arrive()
    first.kill()
    assert states(url) == ["RUNNING"]
    point = trials_in(url)[0].params
    others = [Worker(tmp_path / name, url, "none", 4, **calm) for name in ("second", "third")]
    for other in others:
        other.end()
    assert states(url) == ["COMPLETE"] * 4
    assert 1 <= died(url)[0] <= requeued(0, *others)
    assert trials_in(url)[0].params == point  # the same trial, and not another in its place


@pytest.mark.parametrize("kind", ["postgresql"])
@pytest.mark.parametrize("phase", ["create", "half", "adopt"])
def test_row_28_kill_before_the_first_heartbeat_is_reaped_too(phase: str, url: str, tmp_path: Path) -> None:
    if phase == "adopt":  # a point of the user's, taken from the queue
        with storage_at(url) as storage:
            optuna.create_study(storage=storage, study_name=STUDY).enqueue_trial({"x": 0.25, "y": 0.5})
    first = Worker(tmp_path / "first", url, phase, 2, heartbeat=0.75)
    first.arrive()
    first.kill()
    assert states(url) == ["RUNNING"]
    assert len(trials_in(url)[0].params) == (phase == "half")
    second = Worker(tmp_path / "second", url, "none", 2)
    second.end()
    assert states(url) == ["COMPLETE"] * 2
    assert died(url)[0] == 1 <= requeued(0, second)
    if phase == "adopt":
        assert trials_in(url)[0].params == {"x": 0.25, "y": 0.5}


@pytest.mark.parametrize("kind", ["postgresql"])
def test_row_29_a_late_result_is_discarded_when_there_is_one(url: str, tmp_path: Path) -> None:
    """The rule: a trial keeps the first result that arrives. The worker that comes late says so and goes on."""
    late = Worker(tmp_path / "late", url, "objective", 3)
    late.arrive()
    late.signal(signal.SIGSTOP)  # slow, not dead
    other = Worker(tmp_path / "other", url, "none", 3)
    other.end()
    stored = trials_in(url)[0]
    assert stored.state == TrialState.COMPLETE
    # What the late worker returns is to be told from what is stored.
    with storage_at(url) as storage, storage.engine.begin() as connection:
        connection.exec_driver_sql(f"update trial_values set value = 77 where trial_id = {stored._trial_id}")
    late.go()
    late.signal(signal.SIGCONT)
    late.end()
    assert [e["trial"] for e in late.events() if e["event"] == "discarded"] == [0]
    assert trials_in(url)[0].value == 77
    assert "has a result already" in late.said


@pytest.mark.parametrize("kind", ["postgresql"])
def test_row_29_a_late_result_is_kept_when_there_is_none(url: str, tmp_path: Path) -> None:
    late = Worker(tmp_path / "late", url, "objective", 2, heartbeat=600.0, grace=1200.0)
    late.arrive()
    with storage_at(url) as storage:
        trials = SharedTrials(optuna.load_study(storage=storage, study_name=STUDY))
        (held,) = trials.held()
        assert trials.requeue(held)
    assert states(url) == ["WAITING"]
    late.go()
    late.end()
    assert states(url) == ["COMPLETE"] * 2
    assert [e["event"] for e in late.events() if e.get("trial") == 0] == ["took", "returned", "stored"]


@both_databases
def test_row_30_of_workers_that_reap_or_take_one_trial_one_wins(url: str, tmp_path: Path) -> None:
    assert together("reap", tmp_path, url) == [1] * 4


@both_databases
def test_row_31_many_workers_make_the_schema_at_once(url: str, tmp_path: Path) -> None:
    assert together("schema", tmp_path, url) == [STUDY] * 10


@pytest.mark.parametrize("kind", ["postgresql"])
@pytest.mark.parametrize("phase", ["open", "suggest", "objective", "tell"])
def test_row_32_the_database_goes_away(phase: str, url: str, tmp_path: Path, postgres: Server) -> None:
    worker = Worker(tmp_path / "worker", url, phase, 3)
    worker.arrive()
    postgres.stop()
    try:
        worker.go()
        worker.wait_for(lambda: "does not answer" in worker.said)
        if phase not in ("open", "suggest"):
            assert worker.events()[-1]["event"] == "returned"
            assert len(list((worker.folder / "unsent").glob("*.json"))) == 1  # on disk meanwhile
    finally:
        postgres.start()
    worker.end()
    assert "is back" in worker.said
    assert states(url) == ["COMPLETE"] * 3
    assert not list((worker.folder / "unsent").iterdir())
    returned = {e["trial"]: e["value"] for e in worker.events() if e["event"] == "returned"}
    assert {t.number: t.value for t in trials_in(url)} == returned


@pytest.mark.parametrize("kind", ["postgresql"])
def test_row_32_killed_in_the_outage_the_result_is_delivered_by_another(
    url: str, tmp_path: Path, postgres: Server
) -> None:
    folder = tmp_path / "shared"
    worker = Worker(folder, url, "tell", 2)
    worker.arrive()
    postgres.stop()
    try:
        worker.go()
        worker.wait_for(lambda: "does not answer" in worker.said)
        worker.kill()
    finally:
        postgres.start()
    (returned,) = [e for e in events(folder) if e["event"] == "returned"]
    Worker(folder, url, "none", 2).end()
    assert trials_in(url)[0].value == returned["value"]
    assert [e["trial"] for e in events(folder) if e["event"] == "returned"] == [0, 1]  # not evaluated again
    assert [e["trial"] for e in events(folder) if e["event"] == "delivered"] == [0]
    assert died(url) == [0, 0]


@pytest.mark.parametrize("kind", ["postgresql"])
def test_row_32_told_to_end_in_the_outage_another_hands_the_trial_back(
    url: str, tmp_path: Path, postgres: Server
) -> None:
    """Ending is never dying, not even where all that the database knows of it is silence."""
    folder = tmp_path / "shared"
    worker = Worker(folder, url, "objective", 2)
    worker.arrive()
    postgres.stop()
    try:
        worker.signal(signal.SIGTERM)
        worker.end(code=143)
    finally:
        postgres.start()
    assert states(url) == ["RUNNING"]
    assert len(list((folder / "unsent").glob("*.json"))) == 1
    with storage_at(url) as storage:  # worse: a worker elsewhere has seen the end of the grace period
        trials = SharedTrials(optuna.load_study(storage=storage, study_name=STUDY))
        assert trials.requeue(*trials.held())
    assert died(url) == [1]
    Worker(folder, url, "none", 2, retries=0, **CALM).end()
    assert states(url) == ["COMPLETE"] * 2
    assert died(url) == [0, 0]
    assert not list((folder / "unsent").iterdir())


@pytest.mark.parametrize("kind", ["postgresql"])
def test_row_32_a_failover_that_only_reads_is_waited_out(url: str, tmp_path: Path, postgres: Server) -> None:
    """FIELD D6: SQLSTATE 25006 ended every worker."""
    worker = Worker(tmp_path / "worker", url, "tell", 3)
    worker.arrive()
    postgres.read_only(on=True)
    try:
        worker.go()
        worker.wait_for(lambda: "read-only" in worker.said)
    finally:
        postgres.read_only(on=False)
    worker.end()
    assert states(url) == ["COMPLETE"] * 3


def test_row_32_more_workers_than_connections(postgres: Server, tmp_path: Path) -> None:
    """FIELD D1, D14: each held a connection and waited for its second, for ever."""
    postgres.execute("create role few login connection limit 3")
    url = postgres.new_database()
    name = url.rpartition("/")[2]
    postgres.execute(f"alter database {name} owner to few")
    found = together("crowd", tmp_path, url.replace("//uhebo@", "//few@"))
    assert sum(each["stored"] for each in found) == 16
    assert states(url) == ["COMPLETE"] * 16
    assert "raise max_connections of PostgreSQL" in (tmp_path / "errors").read_text()


@pytest.mark.parametrize("kind", ["postgresql"])
def test_row_33_a_dropped_connection_is_not_noticed(url: str, tmp_path: Path, postgres: Server) -> None:
    worker = Worker(tmp_path / "worker", url, "objective", 12, heartbeat=600.0, grace=1200.0)
    worker.arrive()
    name = url.rpartition("/")[2]
    dropped = postgres.execute(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")
    assert dropped
    time.sleep(IDLE_S)  # a connection that was in use until now is not checked
    worker.go()
    worker.end()
    assert states(url) == ["COMPLETE"] * 12
    assert worker.said == ""


@pytest.mark.parametrize("kind", ["sqlite"])
def test_row_34_sixteen_processes_on_one_sqlite_file(url: str, tmp_path: Path) -> None:
    found = together("locked", tmp_path, url)
    assert sum(each["stored"] for each in found) == 32
    trials = trials_in(url)
    assert [trial.number for trial in trials] == list(range(32))
    assert {trial.state for trial in trials} == {TrialState.COMPLETE}
    assert integrity(tmp_path / "study.db") == "ok"


def integrity(path: Path) -> str:
    connection = sqlite3.connect(path)
    try:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
    finally:
        connection.close()


@pytest.mark.parametrize("kind", ["sqlite"])
def test_row_35_a_full_disk(url: str, tmp_path: Path) -> None:
    """No file may grow any more when the third trial returns; the log is one too, and its end is missing."""
    folder = tmp_path / "worker"
    folder.mkdir()
    command = [sys.executable, "-m", "tests.worker_processes", str(folder), url, "full", "5"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 1, done.stderr
    trials = trials_in(url)
    assert [trial.state.name for trial in trials] == ["COMPLETE", "COMPLETE", "RUNNING"]
    point = trials[2].params
    assert f"not stored: trial 2, value {point['x'] + point['y']!r}" in done.stderr
    assert integrity(tmp_path / "study.db") == "ok"
    Worker(tmp_path / "next", url, "none", 5).end()  # with room again, it is as if that worker had died
    assert states(url) == ["COMPLETE"] * 5


@pytest.mark.parametrize("kind", ["postgresql"])
@pytest.mark.parametrize(
    ("phase", "number"),
    [
        ("suggest", signal.SIGTERM),
        ("query", signal.SIGTERM),  # FIELD D7: what the signal tore was taken for an error of its own
        ("objective", signal.SIGINT),
        ("tell", signal.SIGINT),
    ],
)
def test_row_36_signals(phase: str, number: signal.Signals, url: str, tmp_path: Path) -> None:
    worker = Worker(tmp_path / "worker", url, phase, 3)
    worker.arrive()
    worker.signal(number)
    if phase == "tell":  # what is being stored is stored first
        time.sleep(0.2)
        worker.go()
    worker.end(code=128 + number)
    *before, last = trials_in(url)
    assert all(trial.state == TrialState.COMPLETE for trial in before)
    if phase == "tell":
        assert last.state == TrialState.COMPLETE
    else:
        assert last.state == TrialState.WAITING
        assert FAILURE not in last.user_attrs
        Worker(tmp_path / "next", url, "none", 3, **CALM).end()
        assert states(url) == ["COMPLETE"] * 3
        assert died(url)[last.number] == 0


@pytest.mark.parametrize("kind", ["postgresql"])
@pytest.mark.parametrize("times", [1, 2])
def test_row_36_an_objective_that_swallows_signals(times: int, url: str, tmp_path: Path) -> None:
    """After the first signal and a deadline the trial goes back and the process is ended; after the second, at once."""
    worker = Worker(tmp_path / "worker", url, "deaf", 3, deadline=0.2 if times == 1 else LIMIT_S)
    worker.arrive()
    worker.signal(signal.SIGINT)
    while times == 2 and worker.process.is_alive():  # two that come at the same moment are one
        worker.signal(signal.SIGINT)
        time.sleep(0.1)
    worker.end(code=130)
    assert states(url) == (["WAITING"] if times == 1 else ["RUNNING"])


def test_row_36_a_worker_ends_within_five_seconds_of_a_signal() -> None:
    assert stop.DEADLINE_S + stop.LAST_WORDS_S < 5.0
    assert END_S + LAST_TRY_S < 5.0


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("kind", ["holds the lock of Python", "program"])
def test_row_36_the_command_ends_what_it_evaluates(kind: str, end: signal.Signals, tmp_path: Path) -> None:
    """FIELD D8, D3: SIGTERM waited while the objective held the GIL; a killed worker left its program running."""
    note = tmp_path / "pid"
    (tmp_path / "stuck.py").write_text(
        "import ctypes, os, pathlib\n\ndef loss(x):\n"
        f"    pathlib.Path({str(note)!r}).write_text(str(os.getpid()))\n    ctypes.PyDLL(None).sleep(1000)\n"
    )
    uhebo = [sys.executable, "-m", "uhebo.cli"]
    options = {"cwd": tmp_path, "env": environment()}
    make = [*uhebo, "create", "study.db", "--study", STUDY, "--param", "x=float:0:1", "--trials", "3"]
    subprocess.run(make, check=True, capture_output=True, **options)  # type: ignore[call-overload]
    target = ["stuck:loss"] if kind != "program" else ["--", "sh", "-c", f"sleep 1000 & echo $! > {note}; wait"]
    worker = subprocess.Popen([*uhebo, "worker", "--storage", "study.db", *target], **options)  # type: ignore[call-overload]
    wait_for(lambda: note.exists() and note.read_text().strip(), lambda: "ended" if worker.poll() is not None else "")
    worker.send_signal(end)
    assert worker.wait(LIMIT_S) == (143 if end == signal.SIGTERM else -signal.SIGKILL)
    wait_for(lambda: not is_alive(int(note.read_text())))
    assert states(f"sqlite:///{tmp_path / 'study.db'}") == ["WAITING" if end == signal.SIGTERM else "RUNNING"]


def failing(x: float, y: float) -> float:  # noqa: ARG001
    raise RuntimeError("no luck")


def hanging(x: float, y: float) -> float:
    if x < 0.5:
        time.sleep(1000)
    return y


def greedy(x: float, y: float) -> float:
    return float(len(bytearray(2_000_000_000))) if x < 0.5 else y


def dying(x: float, y: float) -> float:
    if x < 0.5:
        os.kill(os.getpid(), signal.SIGKILL)
    return y


@pytest.mark.parametrize("kind", ["sqlite"])
def test_row_37_an_objective_that_always_fails_stops_the_worker(url: str, tmp_path: Path) -> None:
    options = Options(spool=tmp_path / "unsent")
    with pytest.raises(TooManyFailures, match="5 of this worker's last 5 trials failed"):
        uhebo.work(failing, SPACE, 100, storage=url, study_name=STUDY, method="random", options=options)
    trials = trials_in(url)
    assert [trial.state.name for trial in trials] == ["FAIL"] * 5
    assert trials[0].user_attrs[FAILURE] == "RuntimeError: no luck"


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize(
    ("fn", "limits", "reason"),
    [
        # Five seconds for healthy evaluations that take none: a busy machine may be late.
        (hanging, {"timeout": 5.0}, "no value after 5 s"),
        (greedy, {"memory": 200.0}, "more than 200 MB of memory"),
        (dying, {"timeout": LIMIT_S}, "killed by SIGKILL"),
    ],
    ids=["hangs", "exhausts memory", "dies"],
)
def test_row_37_limits(fn: Any, limits: dict[str, float], reason: str, url: str, tmp_path: Path) -> None:
    with storage_at(url) as storage:
        study = optuna.create_study(storage=storage, study_name=STUDY)
        for x in (0.9, 0.1, 0.8, 0.7):
            study.enqueue_trial({"x": x, "y": x})
    options = Options(spool=tmp_path / "unsent", max_failure_rate=1.0, **limits)  # type: ignore[arg-type]
    done = uhebo.work(fn, SPACE, 4, storage=url, study_name=STUDY, method="random", seed=1, options=options)
    assert (done.stored, done.failed) == (3, 1)
    assert states(url) == ["COMPLETE", "FAIL", "COMPLETE", "COMPLETE"]
    assert reason in trials_in(url)[1].user_attrs[FAILURE]


@both_databases
def test_row_38_forked_workers_with_one_seed_have_streams_of_their_own(url: str, tmp_path: Path) -> None:
    found = together("forked", tmp_path, url)
    assert sum(each["stored"] for each in found) == 24
    points = {tuple(trial.params.values()) for trial in trials_in(url)}
    assert len(points) == 24
