"""What the tests of workers run in processes of their own.

phased      a worker that stops and waits once it has come to a phase: there it can be killed, sent a signal, or have
            its database taken away. It touches FOLDER/at and waits for FOLDER/go.
TASKS       several forked processes that do the same thing at the same moment

`tests.worker_control` starts them; `python -m tests.worker_processes FOLDER URL PHASE TRIALS` is a phased worker.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import optuna
from optuna.samplers import RandomSampler
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import OperationalError

import uhebo
from tests import migrations
from tests.waiting import LIMIT_S
from uhebo.methods import Proposal, Step
from uhebo.optuna_.lease import Lease
from uhebo.storage.database import open_database
from uhebo.workers import Options, stop
from uhebo.workers.trials import SharedTrials

migrations.read_once()
FORK = multiprocessing.get_context("fork")
STUDY = "shared"
SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
HEARTBEAT, GRACE = 0.25, 1.5


def options(folder: Path, name: str = "", **more: Any) -> Options:
    given = {"heartbeat": HEARTBEAT, "grace": GRACE, "spool": folder / "unsent", "log": folder / f"events{name}.jsonl"}
    return Options(**{**given, **more})


class Phase:
    """A place in the worker's code, and whether this process is to stop there."""

    def __init__(self, folder: Path, wanted: str) -> None:
        self.folder, self.wanted = folder, wanted

    def __call__(self, name: str) -> None:
        if name != self.wanted or (self.folder / "at").exists():
            return
        (self.folder / "at").write_text(str(os.getpid()))
        while not (self.folder / "go").exists():
            time.sleep(0.02)


def phased(folder: Path, url: str, wanted: str, trials: int, deadline: float = LIMIT_S, **more: Any) -> int:
    """`deadline`: seconds from a signal to the end of the process. A busy machine may need more than users wait for."""
    stop.DEADLINE_S, stop.LAST_WORDS_S = deadline, LIMIT_S
    reach = Phase(folder, wanted)
    begin, take, store = SharedTrials.__init__, SharedTrials.take, SharedTrials.store
    set_state, set_param = RDBStorage.set_trial_state_values, RDBStorage._set_trial_param

    def begun(*args: Any) -> None:
        reach("open")
        begin(*args)

    def taken(*args: Any) -> Any:
        found = take(*args)
        reach("create")
        return found

    def stored(*args: Any) -> bool:
        reach("tell")
        return store(*args)

    def state_set(self: RDBStorage, trial_id: int, state: TrialState, values: Any = None) -> bool:
        done = set_state(self, trial_id, state, values)
        if state == TrialState.RUNNING:
            reach("adopt")
        return done

    def param_set(self: RDBStorage, *args: Any) -> None:
        try:
            reach("query")
        except BaseException as error:  # as SQLAlchemy or a driver may do in the midst of a call
            raise OperationalError("insert", {}, error) from error
        set_param(self, *args)
        reach("half")

    def strategy(step: Step) -> Proposal:
        reach("suggest")
        return step.random()

    def objective(x: float, y: float) -> float:
        reach("objective")
        while wanted == "deaf":  # to anything but the end of the process
            with contextlib.suppress(BaseException):
                reach("deaf")
        if wanted == "full" and (folder / "events.jsonl").read_text().count("stored") == 2:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        return x + y

    for place, name, hook in (
        (SharedTrials, "__init__", begun),
        (SharedTrials, "take", taken),
        (SharedTrials, "store", stored),
        (RDBStorage, "set_trial_state_values", state_set),
        (RDBStorage, "_set_trial_param", param_set),
    ):
        setattr(place, name, hook)
    done = uhebo.work(
        objective,
        SPACE,
        trials,
        storage=url,
        study_name=STUDY,
        method=strategy,
        seed=0,
        n_startup_trials=0 if wanted == "suggest" else None,
        options=options(folder, **more),
    )
    return 0 if done.signal is None else 128 + done.signal


def together(count: int, action: Callable[..., Any], *given: Any) -> list[Any]:
    """What each of so many forked processes returns; all begin at the same moment."""
    ready = FORK.Barrier(count)
    children = []
    for index in range(count):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                ready.wait()
                os.write(write, json.dumps(action(index, *given)).encode())
                code = 0
            except BaseException as error:
                sys.stderr.write(f"process {index}: {error!r}\n")
            finally:
                os._exit(code)
        os.close(write)
        children.append((child, read))
    found = []
    for child, read in children:
        with os.fdopen(read, "rb") as pipe:
            text = pipe.read()
        _, status = os.waitpid(child, 0)
        if status:
            raise SystemExit(f"a process ended with status {status}")
        found.append(json.loads(text))
    return found


def opened(url: str) -> RDBStorage:
    return open_database(url)


def schema(folder: Path, url: str) -> Any:  # noqa: ARG001
    """Row 31: everybody makes the tables and the study."""

    def make(_: int) -> str:
        return optuna.create_study(storage=open_database(url), study_name=STUDY, load_if_exists=True).study_name

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return together(10, make)


def reap(folder: Path, url: str) -> Any:  # noqa: ARG001
    """Row 30: everybody puts the same stale trial back, then everybody takes it; how many took it, round by round."""
    rounds = []
    for turn in range(4):
        storage = opened(url)
        name = f"{STUDY}{turn}"
        study = optuna.create_study(storage=storage, study_name=name)
        SharedTrials(study).take(Lease("dead"), 1, lambda: False)
        (stale,) = SharedTrials(study).held()
        storage.engine.dispose()

        def both(index: int, name: str, stale: FrozenTrial, ready: Barrier) -> bool:
            backend = opened(url)
            trials = SharedTrials(optuna.load_study(storage=backend, study_name=name))
            check = backend.check_trial_is_updatable

            def slow_check(trial: int, state: TrialState, check: Any = check) -> None:
                """Between the read and the write of Optuna's change of state: where a race is won or lost."""
                check(trial, state)
                time.sleep(0.1)

            setattr(backend, "check_trial_is_updatable", slow_check)  # noqa: B010
            ready.wait()
            trials.requeue(stale)
            ready.wait()
            return trials.adopt(stale, Lease(f"worker {index}")) is not None

        rounds.append(sum(together(6, both, name, stale, FORK.Barrier(6))))
    return rounds


CALM = {"heartbeat": 1.0, "grace": 60.0}
"""Nobody dies in these, and a busy machine is no reason to take somebody for dead."""


def crew(folder: Path, url: str, count: int, trials: int, fn: Callable[..., float], **given: Any) -> Any:
    def one(index: int) -> dict[str, Any]:
        done = uhebo.work(
            fn, SPACE, trials, storage=url, study_name=STUDY, options=options(folder, str(index), **CALM), **given
        )
        return {"stored": done.stored, "failed": done.failed}

    return together(count, one)


def quick(x: float, y: float) -> float:
    return x + y


def locked(folder: Path, url: str) -> Any:
    """Row 34: sixteen writers on one SQLite file."""
    return crew(folder, url, 16, 32, quick, sampler=RandomSampler())


def forked(folder: Path, url: str) -> Any:
    """Row 38: one sampler and one storage with open connections, and then the fork."""
    storage = opened(url)
    study = optuna.create_study(storage=storage, study_name=STUDY)
    study.get_trials()
    sampler = uhebo.UHESampler(method="random", seed=7)

    def one(index: int) -> dict[str, Any]:
        done = uhebo.work(
            quick,
            SPACE,
            24,
            storage=storage,
            study_name=STUDY,
            sampler=sampler,
            options=options(folder, str(index), **CALM),
        )
        return {"stored": done.stored}

    return together(4, one)


def budget(folder: Path, url: str) -> Any:
    """Many workers on few trials: all want the last one."""
    return crew(folder, url, 8, 12, quick, method="random", seed=0)


def crowd(folder: Path, url: str) -> Any:
    """FIELD D1, D14: far more workers than connections."""
    return crew(folder, url, 8, 16, quick, sampler=RandomSampler())


def same_point(folder: Path, url: str) -> Any:
    """Everybody asks for a point of a small space at the same moment, again and again.

    One trial comes first: before any has finished the sampler does not know the space.
    """
    space = {"a": [0, 1, 2, 3, 4, 5], "b": [0, 1, 2, 3, 4, 5]}

    def one(index: int, trials: int = 36) -> int:
        done = uhebo.work(
            lambda a, b: float(a + b),
            space,
            trials,
            storage=url,
            study_name=STUDY,
            method="random",
            deterministic=True,
            n_startup_trials=10,
            seed=3,
            options=options(folder, str(index), **CALM),
        )
        return done.stored

    return [one(6, trials=1), *together(6, one)]


TASKS: Mapping[str, Callable[[Path, str], Any]] = {
    task.__name__: task for task in (schema, reap, locked, forked, budget, crowd, same_point)
}


def main() -> int:
    folder, url, wanted, trials = sys.argv[1:]
    return phased(Path(folder), url, wanted, int(trials))


if __name__ == "__main__":
    sys.exit(main())
