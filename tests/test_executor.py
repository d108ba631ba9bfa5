"""Evaluations on executors: threads, pools whose processes are killed, Dask, Ray, and less than the protocol."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import optuna
import pytest

import uhebo
from tests.conftest import require
from tests.shell import Shell
from tests.waiting import LIMIT_S
from uhebo.errors import CannotEvaluate, InvalidInputError

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
COMPLETE, FAIL = optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.FAIL


def bowl(x: float, y: float) -> float:
    return (x - 0.3) ** 2 + (y - 0.6) ** 2


def killed_once(marker: Path, x: float, y: float) -> float:
    """The fourth evaluation or so ends its process, as when memory runs out; later ones do not."""
    begun = len(list(marker.parent.glob("begun-*")))
    (marker.parent / f"begun-{begun}-{os.getpid()}").touch()
    if begun >= 3 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return bowl(x, y)


class Refusal(Exception):
    """Cannot be pickled: its arguments are not those of its constructor."""

    def __init__(self, x: float, y: float) -> None:
        super().__init__(f"not at {x + y:.1f}")


def refusing(x: float, y: float) -> float:
    raise Refusal(x, y)


def sleepy(x: float, y: float) -> float:
    time.sleep(LIMIT_S if x > 0.5 else 0.0)
    return bowl(x, y)


def test_a_search_in_threads_uses_the_budget_and_runs_so_many_at_once() -> None:
    meeting = threading.Barrier(3)

    def three_at_once(x: float, y: float) -> float:
        meeting.wait(LIMIT_S)  # until three evaluations run at the same time
        return bowl(x, y)

    with ThreadPoolExecutor(3) as pool:
        result = uhebo.minimize(three_at_once, SPACE, 15, seed=0, executor=pool, n_parallel=3)
    assert [t.state for t in result.study.trials] == [COMPLETE] * 15
    assert result.best_value < 0.01
    assert len({tuple(t.params.values()) for t in result.study.trials}) == 15


def test_one_at_a_time_gives_the_suggestions_of_a_search_without_an_executor() -> None:
    with ThreadPoolExecutor(1) as pool:
        there = uhebo.minimize(bowl, SPACE, 14, seed=1, executor=pool, n_parallel=1)
    here = uhebo.minimize(bowl, SPACE, 14, seed=1)
    assert [t.params for t in there.study.trials] == [t.params for t in here.study.trials]


class Job:
    """What submitit has for a future: no callbacks."""

    def __init__(self, call: partial[Any]) -> None:
        self._looks, self._call = 0, call

    def done(self) -> bool:
        self._looks += 1
        return self._looks > 2

    def result(self) -> Any:
        return self._call()

    def cancel(self) -> None: ...


class Queue:
    def submit(self, fn: Any, /, *args: Any) -> Job:
        return Job(partial(fn, *args))


def test_an_executor_with_less_than_the_protocol_will_do() -> None:
    result = uhebo.minimize(bowl, SPACE, 6, seed=0, executor=Queue(), n_parallel=2)
    assert [t.state for t in result.study.trials] == [COMPLETE] * 6


def test_a_killed_process_costs_no_trial(tmp_path: Path) -> None:
    objective = partial(killed_once, tmp_path / "killed")
    result = uhebo.minimize(
        objective, SPACE, 12, seed=0, executor="processes:2", storage=tmp_path / "study.db", study_name="s"
    )
    assert (tmp_path / "killed").exists()
    assert [t.state for t in result.study.trials] == [COMPLETE] * 12
    again = uhebo.minimize(bowl, SPACE, 2, executor="processes:1", storage=tmp_path / "study.db", study_name="s")
    assert len(again.study.trials) == 14


def test_a_broken_pool_that_was_given_is_said_with_the_remedy(tmp_path: Path) -> None:
    with (
        ProcessPoolExecutor(1) as pool,
        pytest.raises(CannotEvaluate, match=r"is broken .* pass a function that makes it, such as executor=lambda"),
    ):
        uhebo.minimize(partial(killed_once, tmp_path / "killed"), SPACE, 12, seed=0, executor=pool, n_parallel=1)


def test_what_the_function_raises_comes_back() -> None:
    with pytest.raises(RuntimeError, match=r"Refusal: not at") as raised:
        uhebo.minimize(refusing, SPACE, 4, seed=0, executor="processes:1")
    assert "in refusing" in str(raised.value.__cause__)

    def never(x: float, y: float) -> float:
        raise ZeroDivisionError(f"never at {x}, {y}")

    with ThreadPoolExecutor(2) as pool:
        result = uhebo.minimize(never, SPACE, 4, seed=0, executor=pool, n_parallel=2, catch=ZeroDivisionError)
        with pytest.raises(CannotEvaluate, match="define the function at the top level of a module"):
            uhebo.minimize(never, SPACE, 4, seed=0, executor="processes:1")
    assert [t.state for t in result.study.trials] == [FAIL] * 4


def test_an_evaluation_that_takes_too_long_fails_and_the_search_goes_on() -> None:
    result = uhebo.minimize(sleepy, SPACE, 4, seed=0, executor="processes:2", evaluation_timeout=2)
    for trial in result.study.trials:
        late = trial.params["x"] > 0.5
        assert trial.state == (FAIL if late else COMPLETE)
        assert trial.user_attrs.get("uhebo:failure") == ("no result within 2 s" if late else None)
    assert {t.state for t in result.study.trials} == {FAIL, COMPLETE}


class Losing:
    """An executor whose workers die: all of them, or with the calls of a few numbers."""

    def __init__(self, lost: set[int] | None = None) -> None:
        self._calls, self._lost = 0, lost

    def submit(self, fn: Any, /, *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self._lost is None or self._calls in self._lost:
            future.set_exception(ConnectionError("the node is gone"))
        else:
            future.set_result(fn(*args))
        self._calls += 1
        return future


def test_what_is_lost_too_often_fails_without_repelling_and_an_executor_that_loses_all_ends_the_run() -> None:
    result = uhebo.minimize(bowl, SPACE, 6, seed=0, executor=Losing({1, 2, 5}), n_parallel=1, retries=1)
    assert [t.state for t in result.study.trials] == [COMPLETE, FAIL, *[COMPLETE] * 4]
    reason = "ConnectionError: the node is gone: 2 workers died with this trial"
    assert result.study.trials[1].user_attrs["uhebo:failure"] == reason
    assert "failures" not in repr(result.belief)
    with pytest.raises(CannotEvaluate, match="lost every evaluation, the last one by ConnectionError"):
        uhebo.minimize(bowl, SPACE, 20, seed=0, executor=Losing(), n_parallel=1)


def test_constraints_and_several_objectives_are_evaluated_there() -> None:
    ours, there = threading.get_ident(), set()

    def side(x: float, y: float) -> float:
        there.add(threading.get_ident())
        return 0.5 - x + 0.0 * y

    with ThreadPoolExecutor(2) as pool:
        result = uhebo.minimize(bowl, SPACE, 12, seed=0, executor=pool, n_parallel=2, constraints=side)
        front = uhebo.optimize(
            lambda x, y: (bowl(x, y), x), SPACE, 8, seed=0, directions=["minimize"] * 2, executor=pool, n_parallel=2
        )
    assert result.best_params["x"] >= 0.5
    assert ours not in there
    assert len(front.study.trials) == 8


INTERRUPTED = """
import os, sys, time, uhebo
from concurrent.futures import ThreadPoolExecutor

def slow(x):
    os.write(1, b"begun\\n")  # at once: two threads do so
    while not stop:
        time.sleep(0.05)
    return x

stop = []
with ThreadPoolExecutor(2) as pool:
    result = uhebo.minimize(slow, {"x": (0.0, 1.0)}, 8, executor=pool, n_parallel=2)
    print("returned", result.interrupted, [t.user_attrs["uhebo:failure"] for t in result.study.trials], flush=True)
    stop.append(True)
"""


def test_ctrl_c_gives_evaluations_up_and_returns() -> None:
    listening = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    process = subprocess.Popen([sys.executable, "-c", listening + INTERRUPTED], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["begun\n"] * 2
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=LIMIT_S)
    assert said == "returned True ['interrupted', 'interrupted']\n"


WITHOUT_GUARD = """
import uhebo

def loss(x):
    return x

uhebo.minimize(loss, {"x": (0.0, 1.0)}, 4, executor="processes:1")
"""


def test_a_script_without_a_guard_is_told_of_it_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(WITHOUT_GUARD)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 1
    assert "the call must stand under `if __name__ == '__main__':`" in done.stderr.splitlines()[-1]
    assert len(done.stderr.splitlines()) < 300


def on_dask(objective: Any, space: Any) -> uhebo.Result:
    distributed = require("distributed", "pip install 'uhebo[dask]'")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        address = cluster.scheduler_address.replace("tcp", "dask")
        return uhebo.minimize(objective, space, 10, seed=0, executor=address, n_parallel=2)


def on_ray(objective: Any, space: Any) -> uhebo.Result:
    ray = require("ray", "pip install 'uhebo[ray]'")
    from uhebo.integrations.ray_executor import RayExecutor

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        return uhebo.minimize(objective, space, 10, seed=0, executor=RayExecutor(max_retries=0), n_parallel=2)
    finally:
        ray.shutdown()


@pytest.mark.parametrize("run", [on_dask, on_ray])
def test_a_cluster_that_loses_a_worker_finishes_the_study(run: Any, tmp_path: Path) -> None:
    marker = tmp_path / "killed"

    def objective(x: float, y: float) -> float:  # by value: neither cluster can import this module
        import os
        import signal

        if x > 0.5 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return (x - 0.3) ** 2 + (y - 0.6) ** 2

    result = run(objective, SPACE)
    assert marker.exists()
    assert [t.state for t in result.study.trials] == [COMPLETE] * 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"executor": 3}, "executor is 3; expected an object with a method submit"),
        ({"executor": "processes:0"}, "executor is 'processes:0'; expected 'processes:8', 'dask://' and an address"),
        ({"executor": Queue()}, "give n_parallel as well"),
        ({"executor": Queue(), "n_parallel": 0}, "n_parallel is 0; expected an integer >= 1"),
        ({"executor": Queue(), "n_parallel": 2, "n_jobs": 2}, "n_jobs is for threads here"),
        ({"executor": Queue(), "n_parallel": 2, "retries": -1}, "retries is -1"),
        ({"executor": Queue(), "n_parallel": 2, "evaluation_timeout": 0}, "evaluation_timeout is 0"),
        ({"n_parallel": 2}, "n_parallel is for an executor, and none was given"),
        ({"evaluation_timeout": 2}, "evaluation_timeout is for an executor"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        uhebo.minimize(bowl, SPACE, 4, **options)


def with_trial(x: float, y: float, trial: optuna.Trial) -> float:
    return bowl(x, y) + trial.number


def test_a_function_that_wants_the_trial_and_a_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInputError, match="a trial cannot be sent to an executor"):
        uhebo.minimize(with_trial, SPACE, 4, executor=Queue(), n_parallel=1)
    monkeypatch.setattr("uhebo.executor.CONNECT_S", 1)
    require("distributed", "pip install 'uhebo[dask]'")
    with pytest.raises(CannotEvaluate, match="no scheduler answers there"):
        uhebo.minimize(bowl, SPACE, 4, executor="dask://127.0.0.1:1", n_parallel=1)


def test_the_shell_runs_functions_and_programs_at_once(shell: Shell) -> None:
    shell.write(
        "remote_loss.py", "import os\ndef loss(x):\n    return {'value': (x - 0.3) ** 2, 'process': os.getpid()}\n"
    )
    arguments = ("--param", "x=float:0:1", "--trials", "8", "--seed", "1", "--storage", "study.db")
    shell("optimize", "remote_loss:loss", *arguments, "--executor", "processes:2", "--constraint", "process >= 0")
    told = shell.json("history", "study.db")
    assert [row["state"] for row in told] == ["finished"] * 8
    assert len({-row["constraints"]["process >= 0"] for row in told} - {os.getpid()}) == 2
    shell.write("fails.sh", "#!/bin/sh\nif [ $UHEBO_TRIAL = 2 ]; then exit 3; fi\necho $UHEBO_PARAM_X\n")
    (shell.folder / "fails.sh").chmod(0o755)
    arguments = ("--param", "x=float:0:1", "--trials", "6", "--seed", "1", "--storage", "other.db")
    shell("optimize", *arguments, "--executor", "processes:2", "--", "./fails.sh")
    assert "trial 2 failed: exit code 3" in shell.err
    assert [row["state"] for row in shell.json("history", "other.db")].count("finished") == 5


def test_the_shell_runs_on_a_cluster_of_dask(shell: Shell) -> None:
    distributed = require("distributed", "pip install 'uhebo[dask]'")
    shell.write(
        "on_cluster.py", "import os\ndef loss(x):\n    return {'value': (x - 0.3) ** 2, 'process': os.getpid()}\n"
    )
    arguments = ("--param", "x=float:0:1", "--trials", "6", "--seed", "1", "--storage", "study.db")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address.replace("tcp", "dask")
        limits = ("--constraint", "process >= 0", "--parallel", "2")
        shell("optimize", "on_cluster:loss", *arguments, "--executor", address, *limits)
    told = shell.json("history", "study.db")
    assert [row["state"] for row in told] == ["finished"] * 6
    assert os.getpid() not in {-row["constraints"]["process >= 0"] for row in told}


def test_the_shell_refuses_what_cannot_be_meant(shell: Shell) -> None:
    shell.write("remote_sum.py", "def loss(x, trial):\n    return x\n")
    arguments = ("optimize", "remote_sum:loss", "--param", "x=float:0:1", "--trials", "3")
    assert "--parallel is for an executor" in shell.refuses(*arguments, "--parallel", "2")
    assert "expected 'processes:8', 'dask://' and an address" in shell.refuses(*arguments, "--executor", "cloud")
    assert shell(*arguments, "--executor", "processes:1", code=1) == ""
    # Rich before 14 leaves an empty line where the progress was.
    assert "on an executor, it runs in a process that has none" in shell.err.strip()
    assert shell.err.strip().count("\n") == 0
