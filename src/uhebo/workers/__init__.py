"""Workers: many processes, on one machine or many, that take the trials of one study until its budget is used up.

Promised: an objective is evaluated at least once per trial, and a result that a worker has acknowledged is in the
database. Not promised: exactly one evaluation per trial (a worker taken for dead may have been slow).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uhebo.workers.loop import run, work
    from uhebo.workers.options import Job, Options, Worked

# Loaded when first used: workers need Unix, and the other commands use `progress` from here.
_HOME = {"Job": "options", "Options": "options", "Worked": "options", "run": "loop", "work": "loop"}

__all__ = ["Job", "Options", "Worked", "run", "work"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'uhebo.workers' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"uhebo.workers.{_HOME[name]}"), name)
    globals()[name] = value
    return value
