"""Waiting for what is to happen, however long the machine takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIMIT_S = 600.0
"""Seconds until a wait is given up: only the end of a hang. An idle machine needs a few, a busy one many times that."""
LOOK_S = 0.02
"""Seconds between looks."""


def wait_for(happened: Callable[[], Any], still: Callable[[], str] = lambda: "") -> None:
    """Return once `happened()` is true; fail as soon as `still()` says why it cannot happen any more."""
    deadline = time.monotonic() + LIMIT_S
    while not happened():
        assert time.monotonic() < deadline, f"it did not happen within {LIMIT_S:g} s"
        reason = still()
        assert not reason, reason
        time.sleep(LOOK_S)


def is_alive(pid: int) -> bool:
    """Whether there is such a process, and not only what its parent has not buried yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
