"""SIGINT and SIGTERM: a result at hand is stored, the trial at hand goes back to the queue, within 5 seconds."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

DEADLINE_S = 4.0
"""Seconds after a signal within which the process ends by itself, or is ended."""
LAST_WORDS_S = 0.5
"""Seconds more for `last_words`, before the process is ended."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(BaseException):
    """A signal asked this worker to stop. Not an `Exception`: no objective swallows it by accident."""

    def __init__(self, number: int) -> None:
        super().__init__(f"interrupted by signal {number}")


class Stop:
    """Whether a signal has come, and what that interrupts.

    By default a signal is only noted, so that nothing is torn while it is being stored. Inside `interruptible` it
    raises `Stopped`. A second signal ends the process at once; so does the deadline, for an objective that runs in
    this process and swallows what is raised.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.last_words: Callable[[], object] = lambda: None
        """Called before the process is ended by the deadline."""
        self._at = 0.0
        self._raises = False
        self._came = threading.Event()
        self._over = threading.Event()

    @property
    def asked(self) -> bool:
        return self.signal is not None

    @property
    def seconds_ago(self) -> float:
        return time.monotonic() - self._at

    def check(self) -> None:
        if self.signal is not None:
            raise Stopped(self.signal)

    def wait(self, seconds: float) -> None:
        """Sleep, but not longer than until a signal comes."""
        if self._came.is_set():
            time.sleep(seconds)
        else:
            self._came.wait(seconds)

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        self._raises = True
        try:
            self.check()
            yield
        finally:
            self._raises = False

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Signals are handled here while the block runs; only the main thread of a process gets any."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        try:
            yield
        finally:
            self._over.set()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, _: Any) -> None:
        if self.signal is not None:
            os._exit(128 + self.signal)
        self._at, self.signal = time.monotonic(), number
        self._came.set()
        threading.Thread(target=self._end, args=(number,), daemon=True).start()
        if self._raises:
            self._raises = False
            raise Stopped(number)

    def _end(self, number: int) -> None:
        if not self._over.wait(DEADLINE_S):
            words = threading.Thread(target=self.last_words, daemon=True)
            words.start()
            words.join(LAST_WORDS_S)
            os._exit(128 + number)
