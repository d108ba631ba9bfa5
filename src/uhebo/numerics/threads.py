"""One BLAS thread while small matrices are at work, and the user's own setting afterwards.

On matrices of a few hundred rows the threads of a BLAS library cost 5 to 10 times what they save.
"""

import functools
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import scipy.linalg  # noqa: F401  (SciPy's own BLAS must be loaded before the controller looks for libraries)
import threadpoolctl
from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")
Undo = Callable[[], object]


class ProcessWide:
    """A setting of the whole process that several threads want changed for a while.

    The first thread to enter makes the change, the last one to leave takes it back.

    Were each to save what it finds and to put it back, a thread that enters while another is inside would save the
    change, and put that back for good.
    """

    def __init__(self, change: Callable[[], Undo]) -> None:
        self._change = change
        self._lock = threading.Lock()
        self._inside = 0
        self._undo: Undo | None = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._undo = self._change()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._undo is not None:
                self._undo()
                self._undo = None


@functools.cache
def _controller() -> ThreadpoolController:
    """Finding the loaded BLAS libraries takes milliseconds, so it is done once."""
    return ThreadpoolController()


def _release_openblas() -> None:
    """Let this thread set limits: threadpoolctl (from 3.8 on) reserves that for the first thread that did, until it
    ends, and here it is another thread each time."""
    release = getattr(getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None)
    if release is not None:
        release(force=True)


def _limit() -> Undo:
    _release_openblas()
    limiter = _controller().limit(limits=1, user_api="blas")

    def lift() -> None:
        _release_openblas()
        limiter.restore_original_limits()
        _release_openblas()

    return lift


ONE_THREAD = ProcessWide(_limit)


def _one_thread() -> ProcessWide:
    """`ONE_THREAD`, for functions that are sent to other processes by value, as joblib does with those of a script.

    They refer to this function by its name, and find that of their process; a lock cannot be sent.
    """
    return ONE_THREAD


def single_threaded(function: Callable[P, R]) -> Callable[P, R]:
    """Run `function` with one BLAS thread; the limit is lifted when it, and any other that runs so, has ended."""

    @functools.wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with _one_thread():
            return function(*args, **kwargs)

    return limited
