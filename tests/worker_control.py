"""Worker processes as tests handle them: started, waited for, killed; and what they left in the study's storage.

`tests.worker_processes` has the programs. No test asserts a time: a limit only ends the wait for what never happens.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial

from tests.waiting import LIMIT_S, wait_for
from tests.worker_processes import STUDY, TASKS, phased
from uhebo.optuna_.endings import SKIPPED
from uhebo.optuna_.lease import deaths
from uhebo.storage.database import open_database
from uhebo.workers.trials import OVER

ROOT = Path(__file__).parent.parent
FORKS = multiprocessing.get_context("forkserver")
"""Worker processes are forked from one that has everything imported and nothing open: they start in milliseconds."""
FORKS.set_forkserver_preload(["tests.worker_processes"])
STARTED: list[Worker] = []


def heard(errors: Path, action: Callable[..., Any], *given: Any, **named: Any) -> None:
    """In the new process: standard error goes to a file, and what `action` returns is the exit code."""
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    sys.exit(action(*given, **named))


class Worker:
    """A worker process that stops at a phase."""

    def __init__(self, folder: Path, url: str, phase: str, trials: int, **options: Any) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.errors = folder / f"errors-{phase}-{time.monotonic_ns()}"
        self.errors.touch()
        given = (self.errors, phased, folder, url, phase, trials)
        self.process = FORKS.Process(target=heard, args=given, kwargs=options, daemon=True)
        self.process.start()
        STARTED.append(self)

    @property
    def said(self) -> str:
        return self.errors.read_text()

    def arrive(self) -> None:
        self.wait_for((self.folder / "at").exists)

    def wait_for(self, happened: Callable[[], Any]) -> None:
        """Wait while this worker runs."""
        wait_for(happened, lambda: "" if self.process.is_alive() else f"the worker ended: {self.said}")

    def signal(self, number: signal.Signals) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def go(self) -> None:
        (self.folder / "go").touch()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def end(self, code: int = 0) -> None:
        self.process.join(LIMIT_S)
        found = self.process.exitcode
        assert found == code, f"exit code {found}, expected {code}: {self.said}"

    def events(self) -> list[dict[str, Any]]:
        return events(self.folder)


def events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(folder.glob("events*.jsonl")) for line in path.read_text().splitlines()]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OPENBLAS_NUM_THREADS": "1"}


def together(task: str, folder: Path, url: str) -> Any:
    """What the processes of a task of `tests.worker_processes` returned."""
    errors, answer = folder / "errors", folder / "answer.json"
    process = FORKS.Process(target=heard, args=(errors, answered, answer, task, folder, url))
    process.start()
    process.join(LIMIT_S)
    assert process.exitcode == 0, f"exit code {process.exitcode}: {errors.read_text()}"
    return json.loads(answer.read_text())


def answered(answer: Path, task: str, folder: Path, url: str) -> int:
    answer.write_text(json.dumps(TASKS[task](folder, url)))
    return 0


@contextmanager
def storage_at(url: str) -> Iterator[RDBStorage]:
    storage = open_database(url)
    try:
        yield storage
    finally:
        storage.remove_session()
        storage.engine.dispose()


def trials_in(url: str) -> list[FrozenTrial]:
    """All but those that workers in haste made beyond the budget, and skipped: their number is up to chance."""
    with storage_at(url) as storage:
        trials = optuna.load_study(study_name=STUDY, storage=storage).get_trials()
    return [trial for trial in trials if trial.user_attrs.get(SKIPPED) != OVER]


def states(url: str) -> list[str]:
    return [trial.state.name for trial in trials_in(url)]


def died(url: str) -> list[int]:
    """Of each trial, how many workers died with it."""
    return [deaths(trial) for trial in trials_in(url)]


def requeued(number: int, *workers: Worker) -> int:
    """How often a trial went back to the queue, by all logs: on a busy machine a live worker may seem dead too."""
    found = (e for folder in {w.folder for w in workers} for e in events(folder))
    return sum(e["event"] == "requeued" and e["trial"] == number for e in found)


def in_processes(*calls: Callable[[], None], context: BaseContext) -> None:
    """All at once, each in a process of its own; what one raises is raised here."""
    with ProcessPoolExecutor(len(calls), mp_context=context) as pool:
        for future in [pool.submit(call) for call in calls]:
            future.result()
