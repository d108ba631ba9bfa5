"""A setting of the whole process that several threads want changed for a while."""

from __future__ import annotations

import threading
from collections.abc import Callable

Undo = Callable[[], object]


class ProcessWide:
    """The first thread to enter makes the change, the last one to leave takes it back.

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
