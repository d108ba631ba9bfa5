"""Leases: which worker holds a running trial, and so who works on a study and how far it has come.

A lease is one system attribute of its trial, `uhebo:lease`. Its worker counts `beat` up; whoever sees it unchanged for
`grace` seconds takes that worker for dead. One without belongs to a person, or to another program.

Two more attributes say what became of a worker, each written once and never changed, so that their order does not
matter: `uhebo:lost:NAME` by whoever took it for dead, `uhebo:back:NAME` by itself, or for it, where it is not.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from uhebo.optuna_.gaps import storage_of

LEASE = "uhebo:lease"
LOST, BACK = "uhebo:lost:", "uhebo:back:"
"""With a worker's name after it: it was taken for dead with this trial; it handed the trial back, or lives."""
LATEST = 1e12
"""Seconds since 1970 that a clock may show, and seconds of a grace period; more was not written by a worker."""
RECENT = 50
"""Trials over which the rate is taken: the latest that ended."""


@dataclass(frozen=True)
class Lease:
    worker: str | None
    """None where the trial goes back to the queue, or is in it."""
    beat: int = 0
    """Heartbeats so far."""
    at: float = 0.0
    """Seconds since 1970 by the worker's clock: for people to look at, never compared with another clock."""
    grace: float = 60.0
    """Seconds of silence after which this worker wants to be taken for dead: its own, whoever watches."""

    @property
    def record(self) -> dict[str, Any]:
        """As it is written, now."""
        return asdict(replace(self, at=round(time.time(), 1)))

    @classmethod
    def of(cls, trial: FrozenTrial) -> "Lease | None":
        """What the trial's attribute says; None where there is none. Nonsense reads as nobody's."""
        value = trial.system_attrs.get(LEASE)
        if value is None:
            return None
        known = value if isinstance(value, Mapping) else {}
        worker, beat, at, grace = (known.get(name) for name in ("worker", "beat", "at", "grace"))
        return cls(
            worker if isinstance(worker, str) else None,
            beat if isinstance(beat, int) else 0,
            float(at) if isinstance(at, (int, float)) and 0 <= at < LATEST else 0.0,
            float(grace) if isinstance(grace, (int, float)) and 0 < grace < LATEST else cls.grace,
        )


def deaths(trial: FrozenTrial) -> int:
    """How many workers died with this trial: those taken for dead that nothing was heard of since."""
    lost = [name.removeprefix(LOST) for name in trial.system_attrs if name.startswith(LOST)]
    return sum(BACK + worker not in trial.system_attrs for worker in lost)


def leave_to_asker(study: Study, trial: Trial) -> None:
    """A trial that a worker had before and that somebody else got from the queue is theirs, for as long as it takes."""
    # Trial._trial_id: the storage's methods, which are public, want the id, and a trial shows its number only.
    storage, trial_id = storage_of(study), trial._trial_id
    if LEASE in storage.get_trial(trial_id).system_attrs:
        storage.set_trial_system_attr(trial_id, LEASE, None)


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
        lease = Lease.of(trial)
        if trial.state == TrialState.RUNNING and lease is not None and lease.worker is not None:
            busy.append(Busy(lease.worker, trial.number, max(0.0, now - lease.at)))
    ended = [t for t in trials if t.state.is_finished() and t.datetime_complete]
    # One that was imported began and ended in the same moment, and says nothing of a rate.
    made = [t.datetime_complete for t in ended if t.datetime_complete and t.datetime_complete != t.datetime_start]
    recent = sorted(each.timestamp() for each in made)[-RECENT:]
    rate = None
    if len(recent) > 1 and now > recent[0]:
        rate = (len(recent) - 1) / (now - recent[0])  # up to now: a study that has stalled becomes slower
    left = None if budget is None else max(0, budget - len(ended))
    return Progress(tuple(busy), rate, left / rate if rate and left is not None else None)
