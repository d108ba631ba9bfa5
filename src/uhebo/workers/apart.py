"""An objective in a process of its own: its time and memory are limited, its crash survived, its children ended.

    worker ── keeper ── evaluation, leader of a process group

The keeper is forked before the worker has threads or connections. It holds one end of a pipe whose other end dies with
the worker, however that ends; then it ends the evaluation's whole group. So the worker itself never runs the user's
code, and answers a signal at once whatever that code does.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NoReturn, cast

from optuna.exceptions import TrialPruned
from optuna.trial import Trial

from uhebo.checks import number as checked_number
from uhebo.errors import CannotEvaluate, EvaluationFailed, InvalidInputError, UheboError
from uhebo.objective import InTwoParts, Objective, TrialGetter, Value, plain
from uhebo.workers.stop import Stopped

Reply = tuple[Any] | UheboError | TrialPruned
"""What the objective returned, in types of Python's own, or why it did not."""
Request = tuple[int, dict[str, Any]] | tuple[list[str], list[str]] | None
"""Number and parameters of a trial; names for `suits`; None for `prepare` alone."""
Suits = Callable[[Sequence[str], Sequence[str]], object]
"""Raises if the objective cannot be called with parameters of these names; the second ones are not always there."""
END_S = 1.5
"""Seconds for an evaluation's own clean-up between SIGTERM and SIGKILL."""
LOOK_S = 0.5
"""Seconds between looks whether a silent evaluation still lives."""
PR_SET_PDEATHSIG = 1
MEGABYTE = 1 << 20


def explained(error: BaseException) -> str:
    """Why a trial failed, for people; an error of our own says it all."""
    return str(error) if isinstance(error, (UheboError, Stopped)) else f"{type(error).__name__}: {error}"


class Apart:
    """Evaluate trials in another process, with at most `timeout` seconds and `memory` megabytes each.

    Args:
        anew: a process for each evaluation, which ends with all that it started; else one for many, so that what the
            first has loaded is there for the next.
        prepare: run once before the first evaluation, in the process that is forked for each, or in the one for many.
        suits: run where the objective is evaluated, once the parameters are known.
        trial: the trial of this number, for a function that takes it, over a connection of the evaluation's own.
    """

    def __init__(
        self,
        objective: Objective,
        *,
        timeout: float | None = None,
        memory: float | None = None,
        anew: bool = True,
        prepare: Callable[[], object] = lambda: None,
        suits: Suits = lambda *_: None,
        trial: Callable[[int], Trial] | None = None,
    ) -> None:
        for name, limit in (("timeout", timeout), ("memory", memory)):
            if limit is not None:
                checked_number(name, limit, above=0)
        self._timeout, self._memory, self._anew = timeout, memory, anew
        self._objective, self._prepare, self._suits, self._trial = objective, prepare, suits, trial
        self._asked, self._group = 0, 0
        self._keeper, worker = Pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            self._keeper.close()
            self._keep(worker)
        worker.close()

    def check(self) -> None:
        """Raise what `prepare` raises, before any trial is taken."""
        self._ask(None)

    def check_suits(self, names: Sequence[str], optional: Sequence[str]) -> None:
        """Raise what `suits` raises."""
        self._ask((list(names), list(optional)))

    def __call__(self, number: int, params: Mapping[str, Any], trial: TrialGetter | None = None) -> Value:
        returned = self._ask((number, dict(params)), self._timeout)
        if isinstance(self._objective, InTwoParts):
            return self._objective.read(returned, trial)
        return tuple(returned) if isinstance(returned, list) else float(returned)

    def _ask(self, request: Request, timeout: float | None = None) -> Any:
        self._asked += 1
        reply = None
        with self._alive():
            try:
                self._keeper.send((self._asked, request))
                reply = self._reply(timeout)
            finally:
                if reply is None:  # the time is over, or a signal came: call it off
                    self._keeper.send(None)
                    self._reply(2 * END_S)
        if reply is None:
            raise EvaluationFailed(f"no value after {self._timeout:g} s")
        if isinstance(reply, Exception):
            raise reply
        return reply[0]

    def _reply(self, timeout: float | None) -> Reply | None:
        """The answer to the latest request; None when the time is over."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._keeper.poll(None if deadline is None else max(0.0, deadline - time.monotonic())):
            asked, reply = self._keeper.recv()
            if asked is None:
                self._group = reply
            elif asked == self._asked:
                return cast(Reply, reply)
        return None

    def __enter__(self) -> "Apart":
        return self

    def __exit__(self, *error: object) -> None:
        self._keeper.close()  # the keeper takes this for the end
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    @contextlib.contextmanager
    def _alive(self) -> Iterator[None]:
        """The keeper is spoken to; where it is dead, the evaluation's group is ended from here."""
        try:
            yield
        except (EOFError, ConnectionError) as error:
            if self._group:
                _kill(self._group)
            raise CannotEvaluate("the process that starts evaluations was killed; start the worker again") from error

    def _keep(self, worker: Connection) -> NoReturn:
        """The keeper's life. Ctrl-C reaches every process of a terminal; only the worker decides what it means."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        refused = _refusal(self._prepare) if self._anew else None
        child, pipe = 0, worker
        with contextlib.suppress(EOFError, ConnectionError):  # the worker is gone
            while True:
                request = worker.recv()
                if request is None:
                    continue  # what is called off was over already
                if refused or (self._anew and request[1] is None):
                    worker.send((request[0], refused or (None,)))
                    continue
                if not child:
                    child, pipe = self._start(worker)
                    worker.send((None, child))
                with contextlib.suppress(ConnectionError):  # it is dead already: what became of it is seen below
                    pipe.send(request[1])
                try:
                    reply, over = _outcome(child, pipe, worker)
                except (EOFError, ConnectionError):
                    _end(child)
                    raise
                if over or self._anew:
                    _kill(child)
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(child, 0)
                    pipe.close()
                    child = 0
                worker.send((request[0], reply))
        if child:
            _end(child)
        os._exit(0)

    def _start(self, worker: Connection) -> tuple[int, Connection]:
        ours, theirs = Pipe()
        child = os.fork()
        if child:
            theirs.close()
            with contextlib.suppress(PermissionError, ProcessLookupError):
                os.setpgid(child, child)  # here as well: whoever is first
            return child, ours
        with contextlib.suppress(OSError):
            os.setpgid(0, 0)
        if sys.platform == "linux":  # it does not outlive the keeper either
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        ours.close()
        worker.close()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        refused = None if self._anew else _refusal(self._prepare)
        with contextlib.suppress(BaseException):
            while True:
                request = theirs.recv()
                reply: Reply = (None,)
                if request is not None and not refused:
                    names = isinstance(request[0], list)
                    reply = _refusal(partial(self._suits, *request)) or reply if names else self._evaluate(*request)
                sys.stdout.flush()
                sys.stderr.flush()
                theirs.send(refused or reply)
        os._exit(0)

    def _evaluate(self, number: int, params: Mapping[str, Any]) -> Reply:
        trial = None if self._trial is None else lambda: cast(Any, self._trial)(number)
        before = resource.getrlimit(resource.RLIMIT_DATA)
        try:
            if self._memory is not None:
                _limit_memory(self._memory, before[1])
            evaluate = self._objective.evaluate if isinstance(self._objective, InTwoParts) else self._objective
            return (plain(evaluate(number, params, trial)),)
        except MemoryError:
            limit = self._memory
            return EvaluationFailed("MemoryError" if limit is None else f"it needed more than {limit:g} MB of memory")
        except (CannotEvaluate, TrialPruned) as error:
            return error
        except BaseException as error:
            if self._anew is False and isinstance(error, SystemExit) and error.code == 143:
                raise  # the keeper's SIGTERM
            return EvaluationFailed(explained(error))
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, before)


def _refusal(prepare: Callable[[], object]) -> UheboError | None:
    try:
        prepare()
    except UheboError as error:
        return error
    except BaseException as error:
        return CannotEvaluate(explained(error))
    return None


def _outcome(child: int, pipe: Connection, worker: Connection) -> tuple[Reply, bool]:
    """What the child answers, or what became of it, and whether it is over; the worker may call it off."""
    while not wait([pipe, worker], LOOK_S) and _running(child):
        pass  # dead without an answer: something it started may still have the pipe
    if pipe.poll():
        with contextlib.suppress(EOFError, OSError):
            return pipe.recv(), False
    elif worker.poll():
        worker.recv()
        _end(child)
        return EvaluationFailed("ended"), True
    _kill(child)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        return EvaluationFailed(f"the evaluation was killed by {signal.Signals(-code).name}"), True
    return EvaluationFailed(f"the evaluation ended without a value, with exit code {code}"), True


def _end(child: int) -> None:
    """First politely: what the objective has to clean up is cleaned up. Then the whole group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGTERM)
    deadline = time.monotonic() + END_S
    while time.monotonic() < deadline and _running(child):
        time.sleep(0.02)
    _kill(child)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _running(child: int) -> bool:
    """Not yet dead; a dead child is left for `waitpid`."""
    try:
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


def _limit_memory(megabytes: float, hard: int) -> None:
    """What may be allocated from now on, on top of what the worker's own modules have taken."""
    status = Path("/proc/self/status")
    if not status.exists():
        raise InvalidInputError("a memory limit needs Linux; leave it out")
    in_use = next(line for line in status.read_text().splitlines() if line.startswith("VmData:")).split()[1]
    limit = int(in_use) * 1024 + int(megabytes * MEGABYTE)
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
