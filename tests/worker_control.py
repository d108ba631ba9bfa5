"""Worker processes as tests handle them: started, waited for, killed; and what they left in the study's storage.

`tests.worker_processes` has the programs. No test asserts a time: a limit only ends the wait for what never happens.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial

from tests.waiting import LIMIT_S, wait_for
from tests.worker_processes import STUDY
from uhebo.optuna_.lease import LEASE
from uhebo.storage.database import open_database

ROOT = Path(__file__).parent.parent
STARTED: list[Worker] = []


class Worker:
    """A worker process that stops at a phase."""

    def __init__(self, folder: Path, url: str, phase: str, trials: int, **options: Any) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.errors = folder / f"errors-{phase}-{time.monotonic_ns()}"
        command = [sys.executable, "-m", "tests.worker_processes", "phased"]
        command += [str(folder), url, phase, str(trials), json.dumps(options)]
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment(), stderr=errors)
        STARTED.append(self)

    @property
    def said(self) -> str:
        return self.errors.read_text()

    def arrive(self) -> None:
        self.wait_for((self.folder / "at").exists)

    def wait_for(self, happened: Callable[[], Any]) -> None:
        """Wait while this worker runs."""
        wait_for(happened, lambda: "" if self.process.poll() is None else f"the worker ended: {self.said}")

    def go(self) -> None:
        (self.folder / "go").touch()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self, code: int = 0) -> None:
        found = self.process.wait(timeout=LIMIT_S)
        assert found == code, f"exit code {found}, expected {code}: {self.said}"

    def events(self) -> list[dict[str, Any]]:
        return events(self.folder)


def events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(folder.glob("events*.jsonl")) for line in path.read_text().splitlines()]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OPENBLAS_NUM_THREADS": "1"}


def together(task: str, folder: Path, url: str) -> Any:
    """What the processes of `tests.worker_processes.together` returned."""
    command = [sys.executable, "-m", "tests.worker_processes", "together", task, str(folder), url]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextmanager
def storage_at(url: str) -> Iterator[RDBStorage]:
    storage = open_database(url)
    try:
        yield storage
    finally:
        storage.remove_session()
        storage.engine.dispose()


def trials_in(url: str) -> list[FrozenTrial]:
    with storage_at(url) as storage:
        return optuna.load_study(study_name=STUDY, storage=storage).get_trials()


def states(url: str) -> list[str]:
    return [trial.state.name for trial in trials_in(url)]


def attempts(url: str) -> list[int]:
    return [trial.system_attrs[LEASE]["attempt"] for trial in trials_in(url)]


def requeued(*workers: Worker) -> int:
    """Lines of all logs, each folder read once."""
    return sum(e["event"] == "requeued" for folder in {w.folder for w in workers} for e in events(folder))
