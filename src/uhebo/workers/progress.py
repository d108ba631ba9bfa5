"""How far a study has come: who works on it, how fast, and how long it will take."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from optuna.trial import FrozenTrial, TrialState

from uhebo.optuna_.lease import LEASE, Lease

RECENT = 50
"""Trials over which the rate is taken: the latest that ended."""


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
