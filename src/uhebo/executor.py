"""Evaluations in other processes and on other machines: anything that speaks `concurrent.futures`.

Suggestions are made here, one after the other, each as soon as a result has made room; points under way are pending.
An executor needs `submit(fn, …)`, whose future has `done()`, `result()` and `cancel()`: process pools, loky, Dask's
`client.get_executor()`, mpi4py.futures, submitit, `uhebo.integrations.ray_executor.RayExecutor`.

What the user's function raises comes back as a value. So an exception of the future itself is the executor's: the
evaluation was lost, with its worker for instance, and is submitted again.
"""

import copy
import math
import pickle
import signal
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial, wraps
from multiprocessing import get_context
from typing import Any, Protocol, TypeAlias

from uhebo.checks import integer, number
from uhebo.errors import CannotEvaluate, EvaluationLost, EvaluationTimeout, InvalidInputError, MissingExtraError
from uhebo.objective import takes_trial
from uhebo.optuna_.endings import DIED
from uhebo.optuna_.trial_log import logger

POLL_S = (0.01, 0.5)
"""Seconds between two looks at a future, at first and at most."""
BACKSTOP_S = 5.0
"""Seconds after an evaluation's time limit until it is given up here; mostly it has ended there by itself."""
CONNECT_S = 10
"""Seconds for which a scheduler may be silent before it counts as absent."""
MAX_LOST = 5
"""Number of trials lost, and no evaluation ever finished, after which a run ends: the executor does not work."""
UNSENDABLE = (pickle.PicklingError, AttributeError, TypeError, ImportError)
"""Exceptions of an executor that cannot send a function or what it returned; trying again would not help."""


OVERDUE = "no result within {:g} s"


class Future(Protocol):
    """What is asked of an evaluation under way."""

    def done(self) -> bool: ...
    def result(self) -> Any: ...
    def cancel(self) -> Any: ...


class Submits(Protocol):
    """What is asked of an executor."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future: ...


GivenExecutor: TypeAlias = Submits | Callable[[], Submits] | str


class Evaluations:
    """Calls of functions on an executor, from as many threads as there are evaluations at once."""

    def __init__(
        self, given: GivenExecutor, n_parallel: int | None, evaluation_timeout: float | None, retries: int
    ) -> None:
        self._make, named = _maker(given)
        if n_parallel is None and named is None:
            raise InvalidInputError("give n_parallel as well: how many evaluations the executor runs at once")
        self.n_parallel = named if n_parallel is None and named else integer("n_parallel", n_parallel, 1)
        self._timeout = evaluation_timeout
        if evaluation_timeout is not None:
            self._timeout = number("evaluation_timeout", evaluation_timeout, above=0, also=" of seconds, or None")
        self._retries = integer("retries", retries, 0)
        self._given = None if self._make else given
        self._executor: Any = None
        self._lock, self._interrupted = threading.Lock(), threading.Event()
        self._finished, self._lost = 0, 0
        self._spawns = isinstance(given, str) and named is not None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Until the end of the run. Ctrl-C then ends the evaluations that threads wait for, at once."""
        before = None
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            signal.signal(signal.SIGINT, partial(self._interrupt, before))
        try:
            yield
        finally:
            if before is not None:
                signal.signal(signal.SIGINT, before)
            if self._make and self._executor is not None:
                _close(self._executor)

    def interrupt(self) -> None:
        """Give up what is under way; whoever waits for it gets a `KeyboardInterrupt`."""
        self._interrupted.set()

    def _interrupt(self, before: Any, *received: Any) -> None:
        self.interrupt()
        if callable(before):
            before(*received)

    def of(self, fn: Callable[..., Any], names: Iterable[str]) -> Callable[..., Any]:
        """`fn` of these parameters, evaluated on the executor: returns and raises what it returns and raises there."""
        if takes_trial(fn, names):
            raise InvalidInputError(
                "fn has an argument `trial`, and a trial cannot be sent to an executor; leave the argument or the "
                "executor out"
            )

        @wraps(fn)
        def evaluated(**params: Any) -> Any:
            returned, error, trace = self._outcome(fn, params)
            if error is not None:
                raise error from _Remote(trace)
            return returned

        return evaluated

    def _outcome(self, fn: Callable[..., Any], params: dict[str, Any]) -> Any:
        reason: BaseException | None = None
        for attempt in range(self._retries + 1):
            if attempt:
                logger.warning("an evaluation was lost (%s) and is submitted again", _worded(reason))
            executor = self._current()
            try:
                # By a name of its own: Dask takes two equal calls for one.
                outcome = self._awaited(executor.submit(_call, fn, params, self._timeout, uuid.uuid4().hex))
            except EvaluationTimeout:
                raise
            except UNSENDABLE as error:
                raise CannotEvaluate(
                    f"the executor cannot send the function or what it returned ({_worded(error)}); define the "
                    "function at the top level of a module, or use what sends functions by value: loky, Dask, Ray"
                ) from error
            except (Exception, CancelledError) as error:  # whatever an executor raises when a worker is lost
                self._check_guarded(error)
                reason = error
                self._replace(executor, error)
            else:
                self._finished += 1
                return outcome
        self._lost += 1
        if not self._finished and self._lost >= MAX_LOST:
            raise CannotEvaluate(
                f"the executor lost every evaluation, the last one by {_worded(reason)}; see what its workers say"
            ) from reason
        raise EvaluationLost(f"{_worded(reason)}: {self._retries + 1} {DIED}") from reason

    def _awaited(self, future: Future) -> Any:
        deadline = math.inf if self._timeout is None else time.monotonic() + self._timeout + BACKSTOP_S
        pause = POLL_S[0]
        ended = threading.Event()
        notify = getattr(future, "add_done_callback", None)
        if notify is not None:
            notify(lambda _: ended.set())
        try:
            while not future.done():
                if self._interrupted.is_set():
                    raise KeyboardInterrupt
                if time.monotonic() > deadline:
                    raise EvaluationTimeout(OVERDUE.format(self._timeout))
                ended.wait(pause)
                pause = min(2 * pause, POLL_S[1])
        except BaseException:
            future.cancel()
            raise
        return future.result()

    def _current(self) -> Any:
        if self._make is None:
            return self._given
        with self._lock:
            if self._executor is None:
                self._executor = self._make()
            return self._executor

    def _check_guarded(self, error: BaseException) -> None:
        """A script without a guard starts itself in every process of the pool, which ends each of them."""
        inside = isinstance(error, RuntimeError) and "bootstrapping" in str(error)
        if inside or (self._spawns and isinstance(error, BrokenExecutor) and not self._finished):
            raise CannotEvaluate(
                "the processes ended before the first evaluation; in a script, the call must stand under "
                "`if __name__ == '__main__':`, because every process reads the script again"
            ) from error

    def _replace(self, executor: Any, error: Exception) -> None:
        """A pool whose process was killed is of no use any more: make another one, or say what to do."""
        if not isinstance(error, BrokenExecutor):
            return
        if self._make is None:
            raise CannotEvaluate(
                f"the executor is broken ({_worded(error)}) and cannot be made anew; pass a function that makes it, "
                "such as executor=lambda: ProcessPoolExecutor(8)"
            ) from error
        with self._lock:
            if self._executor is executor:
                self._executor = None


def _call(
    fn: Callable[..., Any], params: dict[str, Any], timeout: float | None, _name: str
) -> tuple[Any, Exception | None, str]:
    """Run on the executor: what `fn` returned, what it raised and where."""
    try:
        with _alarm(timeout):
            return fn(**params), None, ""
    except Exception as error:
        trace = traceback.format_exc()
        try:
            pickle.dumps(error)
            copy.copy(error)  # made anew from its arguments, as at the other end
        except Exception:  # a pool would die of it
            return None, RuntimeError(f"{type(error).__name__}: {error}"), trace
        return None, error, trace


@contextmanager
def _alarm(timeout: float | None) -> Iterator[None]:
    """Raise in this thread when time is up, where a thread can be interrupted: the main one, not on Windows."""
    if timeout is None or threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(*_: Any) -> None:
        raise EvaluationTimeout(OVERDUE.format(timeout))

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, timeout)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


class _Remote(Exception):
    """Where an exception was raised, on another machine."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def _worded(error: BaseException | None) -> str:
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _maker(given: GivenExecutor) -> tuple[Callable[[], Submits] | None, int | None]:
    """What makes the executor, if it is ours to make, and how many evaluations it runs at once, if that is known."""
    if isinstance(given, str):
        kind, _, rest = given.partition(":")
        if kind == "processes" and rest.isdecimal() and int(rest) > 0:
            # A process of many threads, which this one is, cannot be forked safely.
            return partial(ProcessPoolExecutor, int(rest), mp_context=get_context("spawn")), int(rest)
        if given.startswith("dask://") and given != "dask://":
            return partial(_Dask, given.removeprefix("dask://")), None
        raise InvalidInputError(
            f"executor is {given!r}; expected 'processes:8', 'dask://' and an address, or an executor"
        )
    if callable(getattr(given, "submit", None)):
        return None, None
    if callable(given):
        return given, None
    raise InvalidInputError(
        f"executor is {given!r}; expected an object with a method submit, as in concurrent.futures, or what makes one"
    )


class _Dask:
    """Dask workers, by the address of their scheduler."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise MissingExtraError("executor 'dask://…' needs pip install 'uhebo[dask]'") from error
        try:
            self._client = Client(f"tcp://{address}", timeout=CONNECT_S)
        except (OSError, ValueError) as error:
            raise CannotEvaluate(f"executor 'dask://{address}': no scheduler answers there ({error})") from error
        self.submit = self._client.get_executor(pure=False).submit

    def shutdown(self, *, wait: bool) -> None:
        self._client.close(timeout=None if wait else CONNECT_S)


def _close(executor: Any) -> None:
    """Without waiting: what still runs there was given up."""
    shutdown = getattr(executor, "shutdown", None)
    if shutdown is not None:
        shutdown(wait=False)
