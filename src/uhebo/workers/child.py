"""An objective in a process of its own, so that its time and its memory can be limited and its crash survived.

    worker ── fork server ── one process per trial

The fork server is forked before the worker has threads or connections, and forks one process per trial: it has
whatever was imported, and starts in milliseconds. If the worker dies, the fork server sees the end of their pipe and
ends the evaluation.
"""

import contextlib
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NoReturn, cast

from optuna.exceptions import TrialPruned

from uhebo.checks import number as checked_number
from uhebo.errors import CannotEvaluate, EvaluationFailed, InvalidInputError, UheboError
from uhebo.objective import InTwoParts, Objective, TrialGetter, Value, plain
from uhebo.workers.stop import Stopped

Reply = tuple[Any] | UheboError | TrialPruned
"""What the objective returned, in types of Python's own, or why it did not."""
END_S = 1.5
"""Seconds for an evaluation's own clean-up between SIGTERM and SIGKILL."""
LOOK_S = 0.5
"""Seconds between looks whether a silent evaluation still lives."""
MEGABYTE = 1 << 20


def explained(error: BaseException) -> str:
    """Why a trial failed, for people; an error of our own says it all."""
    return str(error) if isinstance(error, (UheboError, Stopped)) else f"{type(error).__name__}: {error}"


class ForkServer:
    """Evaluate trials in child processes, with at most `timeout` seconds and `memory` megabytes each."""

    def __init__(self, objective: Objective, *, timeout: float | None, memory: float | None) -> None:
        for name, limit in (("timeout", timeout), ("memory", memory)):
            if limit is not None:
                checked_number(name, limit, above=0)
        self._timeout = timeout
        self._objective = objective
        self._asked = 0
        self._server, worker = Pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            self._server.close()
            _serve(objective, memory, worker)
        worker.close()

    def __call__(self, number: int, params: Mapping[str, Any], trial: TrialGetter | None = None) -> Value:
        """The trial stays here: a connection to the study must not go through a fork."""
        self._asked += 1
        with _alive():
            self._server.send((self._asked, number, dict(params)))
        reply = None
        try:
            reply = self._reply(self._timeout)
        finally:
            if reply is None:  # the time is over, or a signal came: call it off
                with _alive():
                    self._server.send(None)
                self._reply(2 * END_S)
        if reply is None:
            raise EvaluationFailed(f"no value after {self._timeout:g} s")
        if isinstance(reply, Exception):
            raise reply
        (returned,) = reply
        if isinstance(self._objective, InTwoParts):
            return self._objective.read(returned, trial)
        return tuple(returned) if isinstance(returned, list) else float(returned)

    def _reply(self, timeout: float | None) -> Reply | None:
        """The answer to the latest request; None when the time is over."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with _alive():
            while self._server.poll(None if deadline is None else max(0.0, deadline - time.monotonic())):
                asked, reply = self._server.recv()
                if asked == self._asked:
                    return cast(Reply, reply)
        return None

    def __enter__(self) -> "ForkServer":
        return self

    def __exit__(self, *error: object) -> None:
        self._server.close()  # the fork server takes this for the end
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


@contextlib.contextmanager
def _alive() -> Iterator[None]:
    """The fork server is spoken to."""
    try:
        yield
    except (EOFError, ConnectionError) as error:
        raise CannotEvaluate("the process that starts evaluations was killed; start the worker again") from error


def _serve(objective: Objective, memory: float | None, worker: Connection) -> NoReturn:
    """The fork server's life. Ctrl-C reaches every process of a terminal; only the worker decides what it means."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with contextlib.suppress(EOFError, ConnectionError):  # the worker is gone
        while True:
            request = worker.recv()
            if request is None:
                continue  # what is called off was over already
            asked, number, params = request
            answer, given = Pipe(duplex=False)
            child = os.fork()
            if child == 0:
                answer.close()
                _evaluate(objective, memory, number, params, given)
            given.close()
            with answer:
                worker.send((asked, _wait(child, answer, worker)))
    os._exit(0)


def _wait(child: int, answer: Connection, worker: Connection) -> Reply:
    """What the child answers, or what became of it; it is ended when the worker calls it off or is gone."""
    reply: Reply | None = None
    while not wait([answer, worker], LOOK_S) and _running(child):
        pass  # dead without an answer: something it started may still have the pipe
    if answer.poll():
        with contextlib.suppress(EOFError, OSError):
            reply = answer.recv()
    elif worker.poll():
        _end(child)
        worker.recv()
        reply = EvaluationFailed("ended")
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if reply is not None:
        return reply
    if code < 0:
        return EvaluationFailed(f"the evaluation was killed by {signal.Signals(-code).name}")
    return EvaluationFailed(f"the evaluation ended without a value, with exit code {code}")


def _end(child: int) -> None:
    """First politely: a program that the objective started is ended with it. A dead child is there until waited for."""
    os.kill(child, signal.SIGTERM)
    deadline = time.monotonic() + END_S
    while time.monotonic() < deadline and _running(child):
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)


def _running(child: int) -> bool:
    """Not yet dead; a dead child is left for `waitpid`."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _evaluate(
    objective: Objective, memory: float | None, number: int, params: Mapping[str, Any], given: Connection
) -> NoReturn:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    reply: Reply
    try:
        if memory is not None:
            _limit_memory(memory)
        evaluate = objective.evaluate if isinstance(objective, InTwoParts) else objective
        reply = (plain(evaluate(number, params, None)),)
    except MemoryError:
        reply = EvaluationFailed("MemoryError" if memory is None else f"it needed more than {memory:g} MB of memory")
    except (CannotEvaluate, TrialPruned) as error:
        reply = error
    except BaseException as error:
        reply = EvaluationFailed(explained(error))
    with contextlib.suppress(BaseException):
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
        sys.stderr.flush()
        given.send(reply)
    os._exit(0)


def _limit_memory(megabytes: float) -> None:
    """What may be allocated from now on, on top of what the worker's own modules have taken."""
    status = Path("/proc/self/status")
    if not status.exists():
        raise InvalidInputError("a memory limit needs Linux; leave it out")
    in_use = next(line for line in status.read_text().splitlines() if line.startswith("VmData:")).split()[1]
    limit = int(in_use) * 1024 + int(megabytes * MEGABYTE)
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
