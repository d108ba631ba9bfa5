"""A lease: which worker holds a running trial, kept in one system attribute of the trial, `uhebo:lease`."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

LEASE = "uhebo:lease"
QUEUED = "uhebo:queued"
"""The attribute of a trial that waits in the queue: a lease that nobody holds, with the number of the next attempt."""
LATEST = 1e12
"""Seconds since 1970 that a clock may show; more was not written by a clock."""


def now() -> float:
    return round(time.time(), 1)


@dataclass(frozen=True)
class Lease:
    worker: str | None
    """None while the trial waits in the queue."""
    beat: int = 0
    """Heartbeats so far."""
    attempt: int = 1
    """How many workers have had this trial, this one included."""
    at: float = 0.0
    """Seconds since 1970 by the worker's clock: for people to look at, never compared with another clock."""

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))

    def next_beat(self) -> Lease:
        return replace(self, beat=self.beat + 1, at=now())

    @classmethod
    def of(cls, value: Any) -> Lease:
        """What an attribute says; anything but a lease reads as one that nobody holds."""
        known = value if isinstance(value, Mapping) else {}
        worker, beat, attempt, at = (known.get(name) for name in ("worker", "beat", "attempt", "at"))
        return cls(
            worker if isinstance(worker, str) else None,
            beat if isinstance(beat, int) else 0,
            attempt if isinstance(attempt, int) else 1,
            float(at) if isinstance(at, (int, float)) and 0 <= at < LATEST else 0.0,
        )

    @classmethod
    def parse(cls, text: str) -> Lease:
        """The same, of an attribute as the database has it."""
        try:
            return cls.of(json.loads(text))
        except (ValueError, RecursionError):
            return cls(None)
