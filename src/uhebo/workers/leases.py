"""Who holds a trial: one system attribute, `uhebo:lease`, changed only by whoever knows its present text.

A running trial of a worker's has a lease {worker, beat, attempt, at}. Its worker counts `beat` up; whoever sees it
unchanged for the grace period puts the trial back in the queue. Every change is a comparison and a write in one
transaction (`UPDATE … WHERE value_json = what was seen`), so of two workers that want the same trial one wins.

    create   one transaction makes the trial and its lease: nothing can be killed in between (Optuna's own heartbeat
             starts later, and a trial without one is never looked at again)
    renew    beat + 1
    requeue  running -> waiting, attempt + 1; number, parameters and tags stay, so that no method notices
    adopt    waiting -> running and the lease, in Optuna's own transaction

A trial in the queue has no lease, only a note of its attempts (`uhebo:queued`): whoever takes it from there and is no
worker (a person's `uhebo suggest`, another program) has it for good. Trials without a lease are never touched.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import BaseStorage, RDBStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy import Engine, Enum, column, delete, event, func, insert, select, table, update

from uhebo.errors import InvalidInputError, UheboError

LEASE = "uhebo:lease"
QUEUED = "uhebo:queued"
"""The lease of a trial that waits, under another name: nobody's, with the number of the next attempt."""
LATEST = 1e12
"""Seconds since 1970 that a clock may show; more was not written by a clock."""
# Optuna's own tables, as far as they are used here; opening a storage has checked their version.
_trials = table("trials", column("trial_id"), column("study_id"), column("number"), column("state", Enum(TrialState)))
_attributes = table("trial_system_attributes", column("trial_id"), column("key"), column("value_json"))
_params = table("trial_params", column("trial_id"), column("param_name"), column("param_value"))


class BudgetUsed(UheboError):
    """There are as many trials as the study may have."""


@dataclass(frozen=True)
class Lease:
    worker: str | None
    """None while the trial waits in the queue."""
    beat: int = 0
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
        """What an attribute says; anything else than a lease reads as one that nobody holds."""
        known = value if isinstance(value, Mapping) else {}
        worker, beat, attempt, at = (known.get(name) for name in ("worker", "beat", "attempt", "at"))
        return cls(
            worker if isinstance(worker, str) else None,
            beat if isinstance(beat, int) else 0,
            attempt if isinstance(attempt, int) else 1,
            float(at) if isinstance(at, (int, float)) and 0 <= at < LATEST else 0.0,
        )


@dataclass(frozen=True)
class Held:
    """A running trial with a lease, as one look found it."""

    trial_id: int
    number: int
    text: str

    @property
    def lease(self) -> Lease:
        try:
            return Lease.of(json.loads(self.text))
        except (ValueError, RecursionError):
            return Lease(None)


def now() -> float:
    return round(time.time(), 1)


def backend_of(storage: BaseStorage) -> RDBStorage:
    """The database below Optuna's cache."""
    backend = getattr(storage, "_backend", storage)
    if not isinstance(backend, RDBStorage):
        raise InvalidInputError(
            f"workers need a database and this study is in {type(backend).__name__}; use a SQLite file (lab.db) for a "
            "few processes, PostgreSQL for many"
        )
    return backend


def create(study: Study, budget: int, lease: Lease) -> int | None:
    """A new running trial with its lease, unless the study has as many trials as its budget allows.

    The count is taken inside Optuna's own transaction, under the lock with which it hands out trial numbers.
    """
    study_id, backend = study._study_id, backend_of(study._storage)
    template = FrozenTrial(
        number=-1,
        state=TrialState.RUNNING,
        value=None,
        datetime_start=datetime.now(),
        datetime_complete=None,
        params={},
        distributions={},
        user_attrs={},
        system_attrs={LEASE: asdict(lease)},
        intermediate_values={},
        trial_id=-1,
    )
    count = select(func.count()).select_from(_trials).where(_trials.c.study_id == study_id)

    def check(session: Any, *_: Any) -> None:
        if any(getattr(new, "__tablename__", None) == "trials" for new in session.new):
            used = session.scalar(count)
            if used >= budget:
                raise BudgetUsed(f"{used} of {budget} trials are used")

    event.listen(backend.scoped_session, "before_flush", check)
    try:
        return study._storage.create_new_trial(study_id, template)
    except BudgetUsed:
        return None
    finally:
        event.remove(backend.scoped_session, "before_flush", check)


def waiting(engine: Engine, study_id: int, limit: int) -> list[int]:
    query = select(_trials.c.trial_id).where(_trials.c.study_id == study_id, _trials.c.state == TrialState.WAITING)
    with engine.begin() as connection:
        return list(connection.scalars(query.order_by(_trials.c.trial_id).limit(limit)))


def adopt(backend: RDBStorage, trial_id: int, worker: str) -> Lease | None:
    """Take a waiting trial; None if another was first.

    The lease is written in the transaction in which Optuna makes the trial a running one: nothing can be killed in
    between, and a trial that somebody else has taken meanwhile gets none.
    """
    own = _attributes.c.trial_id == trial_id
    taken: list[Lease] = []

    def write_lease(session: Any, *_: Any) -> None:
        changed = [row for row in session.dirty if getattr(row, "__tablename__", None) == "trials"]
        if not any(row.trial_id == trial_id and row.state == TrialState.RUNNING for row in changed):
            return  # another thread's
        queued = session.scalar(select(_attributes.c.value_json).where(own, _attributes.c.key == QUEUED))
        attempt = 1 if queued is None else Held(trial_id, -1, queued).lease.attempt
        lease = Lease(worker, 1, attempt, now())
        session.execute(delete(_attributes).where(own, _attributes.c.key.in_((LEASE, QUEUED))))
        session.execute(insert(_attributes).values(trial_id=trial_id, key=LEASE, value_json=lease.text))
        taken.append(lease)

    event.listen(backend.scoped_session, "before_flush", write_lease)
    try:
        done = backend.set_trial_state_values(trial_id, TrialState.RUNNING)
    except UpdateFinishedTrialError:
        return None
    finally:
        event.remove(backend.scoped_session, "before_flush", write_lease)
    return taken[-1] if done and taken else None


def _text(engine: Engine, trial_id: int) -> str | None:
    query = select(_attributes.c.value_json).where(_attributes.c.trial_id == trial_id, _attributes.c.key == LEASE)
    with engine.begin() as connection:
        return connection.scalar(query)


def read_lease(engine: Engine, trial_id: int) -> Lease | None:
    text = _text(engine, trial_id)
    return None if text is None else Held(trial_id, -1, text).lease


def swap(engine: Engine, trial_id: int, seen: str, text: str) -> bool:
    """Change the lease if it still is what was seen."""
    with engine.begin() as connection:
        return _swap(connection, trial_id, seen, text)


def _swap(connection: Any, trial_id: int, seen: str, text: str, key: str = LEASE) -> bool:
    same = (
        _attributes.c.trial_id == trial_id,
        _attributes.c.key == LEASE,
        _attributes.c.value_json == seen,
    )
    return bool(connection.execute(update(_attributes).where(*same).values(key=key, value_json=text)).rowcount == 1)


def held(engine: Engine, study_id: int) -> list[Held]:
    """Running trials that workers hold, or held until they died."""
    query = (
        select(_trials.c.trial_id, _trials.c.number, _attributes.c.value_json)
        .join_from(_trials, _attributes, _attributes.c.trial_id == _trials.c.trial_id)
        .where(_trials.c.study_id == study_id, _trials.c.state == TrialState.RUNNING, _attributes.c.key == LEASE)
        .order_by(_trials.c.number)
    )
    with engine.begin() as connection:
        return [Held(*row) for row in connection.execute(query)]


def requeue(engine: Engine, stale: Held, parameters: int) -> bool:
    """Put a trial back in the queue, if its lease still is what was seen; True for the one worker that did it.

    A point that is complete is kept and evaluated again. One that is not (its worker died while it was being written)
    is dropped, so that the next worker's suggestion is not mixed with half of another.
    """
    lease = stale.lease
    with engine.connect() as connection, connection.begin() as transaction:
        text = Lease(None, 0, lease.attempt + 1, now()).text
        if not _swap(connection, stale.trial_id, stale.text, text, QUEUED):
            return False
        running = (_trials.c.trial_id == stale.trial_id, _trials.c.state == TrialState.RUNNING)
        if connection.execute(update(_trials).where(*running).values(state=TrialState.WAITING)).rowcount != 1:
            transaction.rollback()
            return False
        has = connection.scalar(select(func.count()).select_from(_params).where(_params.c.trial_id == stale.trial_id))
        if (has or 0) < parameters:
            connection.execute(delete(_params).where(_params.c.trial_id == stale.trial_id))
        return True


def stored_point(
    engine: Engine, trial_id: int, space: Mapping[str, BaseDistribution]
) -> tuple[int, dict[str, Any]] | None:
    """Number and parameters of a trial; None while it does not have all of them."""
    number = select(_trials.c.number).where(_trials.c.trial_id == trial_id)
    values = select(_params.c.param_name, _params.c.param_value).where(_params.c.trial_id == trial_id)
    with engine.begin() as connection:
        found = {row[0]: row[1] for row in connection.execute(values)}
        if not set(space) <= set(found):
            return None
        return connection.execute(number).scalar_one(), {n: d.to_external_repr(found[n]) for n, d in space.items()}


def counts(engine: Engine, study_id: int) -> dict[TrialState, int]:
    """How many trials there are of each state."""
    query = select(_trials.c.state, func.count()).where(_trials.c.study_id == study_id).group_by(_trials.c.state)
    with engine.begin() as connection:
        return {row[0]: row[1] for row in connection.execute(query)}
