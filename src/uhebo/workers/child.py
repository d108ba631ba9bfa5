"""An objective in a process of its own, so that its time and its memory can be limited and its crash survived.

    worker ── fork server ── one process per trial

The fork server is forked before the worker has threads or connections, and forks one process per trial: it has
whatever was imported, and starts in milliseconds. They speak in lines of JSON. If the worker dies, the fork server sees
the end of its pipe and ends the evaluation.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

from uhebo.checks import number as checked_number
from uhebo.errors import CannotEvaluate, EvaluationFailed, InvalidInputError, UheboError

Objective = Callable[[int, Mapping[str, Any]], float]
END_S = 1.5
"""Seconds for an evaluation's own clean-up between SIGTERM and SIGKILL."""
LOOK_S = 0.5
"""Seconds between looks whether a silent evaluation still lives."""
MEGABYTE = 1 << 20


class ForkServer:
    """Evaluate trials in child processes, with at most `timeout` seconds and `memory` megabytes each."""

    def __init__(self, objective: Objective, *, timeout: float | None, memory: float | None) -> None:
        for name, limit in (("timeout", timeout), ("memory", memory)):
            if limit is not None:
                checked_number(name, limit, above=0)
        self._timeout = timeout
        asked, self._ask = os.pipe()
        self._answers, answer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._ask)
            os.close(self._answers)
            _serve(objective, memory, asked, answer)
        os.close(asked)
        os.close(answer)
        self._unread = b""
        self._asked = 0

    def __call__(self, number: int, params: Mapping[str, Any]) -> float:
        self._asked += 1
        self._send({"asked": self._asked, "number": number, "params": dict(params)})
        try:
            reply = self._reply(self._timeout)
        except BaseException:
            self._call_off()
            raise
        if reply is None:
            self._call_off()
            raise EvaluationFailed(f"no value after {self._timeout:g} s")
        if "value" in reply:
            return float(reply["value"])
        if reply.get("fatal"):
            raise CannotEvaluate(reply["error"])
        raise EvaluationFailed(reply.get("error", "no value"))

    def _call_off(self) -> None:
        self._send({"end": self._asked})
        self._reply(2 * END_S)

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._ask)  # the fork server takes this for the end
        os.close(self._answers)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _send(self, message: Mapping[str, Any]) -> None:
        try:
            os.write(self._ask, json.dumps(message).encode() + b"\n")
        except BrokenPipeError as error:
            raise CannotEvaluate("the process that starts evaluations was killed; start the worker again") from error

    def _reply(self, timeout: float | None) -> dict[str, Any] | None:
        """The answer to the latest request; None when the time is over."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            while b"\n" not in self._unread:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                if not select.select([self._answers], [], [], left)[0]:
                    return None
                chunk = os.read(self._answers, 1 << 16)
                if not chunk:
                    raise CannotEvaluate("the process that starts evaluations was killed; start the worker again")
                self._unread += chunk
            line, _, self._unread = self._unread.partition(b"\n")
            found: dict[str, Any] = json.loads(line)
            if found["asked"] == self._asked:
                return found


def _serve(objective: Objective, memory: float | None, asked: int, answer: int) -> NoReturn:
    """The fork server's life. Ctrl-C reaches every process of a terminal; only the worker decides what it means."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    requests = _lines(asked)
    for request in requests:
        if "end" in request:
            continue  # it was over already
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            _evaluate(objective, memory, request, write)
        os.close(write)
        reply = _wait(child, read, asked, requests)
        os.close(read)
        if reply is None:
            break
        os.write(answer, json.dumps({**reply, "asked": request["asked"]}).encode() + b"\n")
    os._exit(0)


def _wait(child: int, read: int, asked: int, requests: Iterator[dict[str, Any]]) -> dict[str, Any] | None:
    """What the child answers; None when the worker is gone."""
    text, ended, gone = b"", False, False
    while True:
        ready = select.select([read, asked], [], [], LOOK_S)[0]
        if read in ready:
            chunk = os.read(read, 1 << 16)
            text += chunk
            if not chunk or text.endswith(b"\n"):
                break
        elif asked in ready:
            ended, gone = True, next(requests, None) is None
            _end(child)
            break
        elif not _running(child):
            break  # dead, but something it started still has the pipe
    _, status = os.waitpid(child, 0)
    if gone:
        return None
    with contextlib.suppress(ValueError):
        reply: dict[str, Any] = json.loads(text)
        return reply
    if ended:
        return {"error": "ended"}
    if os.WIFSIGNALED(status):
        return {"error": f"the evaluation was killed by {signal.Signals(os.WTERMSIG(status)).name}"}
    return {"error": f"the evaluation ended without a value, with exit code {os.WEXITSTATUS(status)}"}


def _end(child: int) -> None:
    """First politely: a program that the objective started is ended with it."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGTERM)
    deadline = time.monotonic() + END_S
    while time.monotonic() < deadline and _running(child):
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)


def _running(child: int) -> bool:
    """Not yet dead; a dead child is left for `waitpid`."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _evaluate(objective: Objective, memory: float | None, request: Mapping[str, Any], write: int) -> NoReturn:
    def end(*_: Any) -> None:
        raise SystemExit(143)

    signal.signal(signal.SIGTERM, end)
    reply: dict[str, Any]
    try:
        if memory is not None:
            _limit_memory(memory)
        reply = {"value": repr(float(objective(request["number"], request["params"])))}
    except MemoryError:
        reply = {"error": f"it needed more than {memory:g} MB of memory" if memory is not None else "MemoryError"}
    except CannotEvaluate as error:
        reply = {"error": str(error), "fatal": True}
    except UheboError as error:
        reply = {"error": str(error)}
    except BaseException as error:
        reply = {"error": f"{type(error).__name__}: {error}"}
    with contextlib.suppress(BaseException):
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(write, json.dumps(reply).encode() + b"\n")
    os._exit(0)


def _limit_memory(megabytes: float) -> None:
    """What may be allocated from now on, on top of what the worker's own modules have taken."""
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    limit = _data_in_use() + int(megabytes * MEGABYTE)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def _data_in_use() -> int:
    status = Path("/proc/self/status")
    if not status.exists():
        raise InvalidInputError("a memory limit needs Linux; leave it out")
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmData:"))
    return int(line.split()[1]) * 1024


def _lines(descriptor: int) -> Iterator[dict[str, Any]]:
    unread = b""
    while True:
        while b"\n" not in unread:
            chunk = os.read(descriptor, 1 << 16)
            if not chunk:
                return
            unread += chunk
        line, _, unread = unread.partition(b"\n")
        yield json.loads(line)
