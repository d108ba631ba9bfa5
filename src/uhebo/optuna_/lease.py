"""Leases: which worker holds a running trial, and so who works on a study and how far it has come.

A lease is kept in one system attribute of the trial, `uhebo:lease`.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from optuna.trial import FrozenTrial, TrialState

LEASE = "uhebo:lease"
QUEUED = "uhebo:queued"
"""The attribute of a trial that waits in the queue: a lease that nobody holds, with the number of the next attempt."""
LATEST = 1e12
"""Seconds since 1970 that a clock may show; more was not written by a clock."""
RECENT = 50
"""Trials over which the rate is taken: the latest that ended."""


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

    def next_beat(self) -> "Lease":
        return replace(self, beat=self.beat + 1, at=now())

    @classmethod
    def of(cls, value: Any) -> "Lease":
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
    def parse(cls, text: str) -> "Lease":
        """The same, of an attribute as the database has it."""
        try:
            return cls.of(json.loads(text))
        except (ValueError, RecursionError):
            return cls(None)


@dataclass(frozen=True)
class Busy:
    """A running trial that a worker holds."""

    worker: str
    trial: int
    heard_s: float
    """Seconds since its last heartbeat, by the clocks of two machines: roughly."""


@dataclass(frozen=True)
class Progress:
    busy: tuple[Busy, ...]
    rate: float | None
    """Trials per second, failed ones included; None before the second trial."""
    left_s: float | None
    """Seconds to the end of the budget at that rate."""

    @property
    def workers(self) -> int:
        return len({each.worker for each in self.busy})


def progress(trials: Sequence[FrozenTrial], budget: int | None, now: float | None = None) -> Progress:
    now = time.time() if now is None else now
    busy = []
    for trial in trials:
        lease = Lease.of(trial.system_attrs.get(LEASE))
        if trial.state == TrialState.RUNNING and lease.worker is not None:
            busy.append(Busy(lease.worker, trial.number, max(0.0, now - lease.at)))
    ends = sorted(t.datetime_complete.timestamp() for t in trials if t.state.is_finished() and t.datetime_complete)
    recent = ends[-RECENT:]
    rate = None
    if len(recent) > 1 and now > recent[0]:
        rate = (len(recent) - 1) / (now - recent[0])  # up to now: a study that has stalled becomes slower
    left = None if budget is None else max(0, budget - len(ends))
    return Progress(tuple(busy), rate, left / rate if rate and left is not None else None)
