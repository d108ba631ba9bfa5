"""SIGINT and SIGTERM: the trial at hand is failed, a result at hand is stored, and the process is gone in 5 seconds."""

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from uhebo.optuna_.endings import INTERRUPTED

DEADLINE_S = 4.0
"""Seconds after a signal within which the process ends by itself, or is ended."""
LAST_WORDS_S = 0.5
"""Seconds more for `last_words`, before the process is ended."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(BaseException):
    """A signal asked this worker to stop. Not an `Exception`: no objective swallows it by accident."""

    def __init__(self, number: int) -> None:
        super().__init__(f"{INTERRUPTED} by signal {number}")


class Stop:
    """Whether a signal has come, and what that interrupts.

    By default a signal is only noted, so that nothing is torn while it is being stored. Inside `interruptible` it
    raises `Stopped`. A second signal ends the process at once; so does the deadline, for an objective that is deep in
    compiled code and does not let Python run its handler.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.last_words: Callable[[], None] = lambda: None
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
        read, write = socket.socketpair()
        write.setblocking(False)
        before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        # The byte is written by the C handler, whatever Python is busy with.
        woken = signal.set_wakeup_fd(write.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._watch, args=(read,), name="uhebo-stop", daemon=True).start()
        try:
            yield
        finally:
            self._over.set()
            signal.set_wakeup_fd(woken)
            for number, handler in before.items():
                signal.signal(number, handler)
            write.close()

    def _handle(self, number: int, _: Any) -> None:
        self._note(number)
        if self._raises:
            self._raises = False
            raise Stopped(number)

    def _note(self, number: int) -> None:
        if self.signal is None:
            self._at = time.monotonic()
            self.signal = number
            self._came.set()

    def _watch(self, read: socket.socket) -> None:
        """The first signal starts the deadline, the second ends the process at once."""
        deadline: threading.Timer | None = None
        with read:
            while byte := read.recv(1):
                number = byte[0]
                if number in SIGNALS and deadline is None:
                    self._note(number)
                    deadline = threading.Timer(DEADLINE_S, self._end, (number,))
                    deadline.daemon = True
                    deadline.start()
                elif number in SIGNALS:
                    os._exit(128 + number)

    def _end(self, number: int) -> None:
        if not self._over.is_set():
            words = threading.Thread(target=self.last_words, daemon=True)
            words.start()
            words.join(LAST_WORDS_S)
            os._exit(128 + number)
