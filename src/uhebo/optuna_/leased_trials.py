"""The trials of one study in a database, as workers share them: each running one is held under a lease.

The worker that holds a trial counts its lease's `beat` up; whoever sees it unchanged for the grace period puts the
trial back in the queue. Every change is a comparison and a write in one transaction (`UPDATE … WHERE value_json = what
was seen`), so of two workers that want the same trial one wins.

    create   one transaction makes the trial and its lease: no crash falls in between (Optuna's own heartbeat starts
             later, and a trial without one is never looked at again)
    renew    beat + 1
    requeue  running -> waiting, attempt + 1; number, parameters and tags stay, so that no method notices
    adopt    waiting -> running and the lease, in Optuna's own transaction
    store    running or waiting -> complete; the first result counts

A trial in the queue has no lease, only a note of its attempts (`uhebo:queued`): whoever takes it from there without
being a worker (a person's `uhebo suggest`, another program) has it for good. Trials without a lease are never touched.

Optuna's storage has no comparison and write in one, no count under its lock, and no way to write an attribute together
with a state. So this module alone uses Optuna's tables, and hooks into the transactions of its own thread's session.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import BaseStorage, RDBStorage

# optuna.storages._rdb.models: the tables have no public names; see above why the storage's methods are not enough.
from optuna.storages._rdb.models import TrialModel, TrialParamModel, TrialSystemAttributeModel
from optuna.study import Study
from optuna.trial import TrialState
from sqlalchemy import Connection, Table, delete, event, func, insert, select, update
from sqlalchemy.orm import Session

from uhebo.errors import InvalidInputError, UheboError
from uhebo.optuna_.endings import FAILURE
from uhebo.optuna_.extensions import extensions_of, is_accepted, known_to_storage, latest
from uhebo.optuna_.gaps import storage_of, study_id_of
from uhebo.optuna_.lease import LEASE, QUEUED, Lease, now
from uhebo.space import SearchSpace
from uhebo.space.moves import active_names

LONGEST_REASON = 500
"""Characters kept of why a trial failed."""
_trials = cast(Table, TrialModel.__table__)
_attributes = cast(Table, TrialSystemAttributeModel.__table__)
_params = cast(Table, TrialParamModel.__table__)


class BudgetUsed(UheboError):
    """There are as many trials as the study may have."""


@dataclass(frozen=True)
class Held:
    """A running trial with a lease, as one look found it."""

    trial_id: int
    number: int
    text: str

    @property
    def lease(self) -> Lease:
        return Lease.parse(self.text)


def database_of(storage: BaseStorage) -> RDBStorage:
    """The database itself, without Optuna's cache before it."""
    # _CachedStorage._backend: a study wraps its storage in a cache, which has no public name nor shows what it caches.
    database = getattr(storage, "_backend", storage)
    if not isinstance(database, RDBStorage):
        raise InvalidInputError(
            f"workers need a database and this study is in {type(database).__name__}; use a SQLite file (lab.db) for a "
            "few processes, PostgreSQL for many"
        )
    return database


def _refuse_beside(study: Study) -> None:
    """Workers read parameters from the tables, where a choice that came later is not."""
    now, known = latest(extensions_of(study)), known_to_storage(study)
    beside = [name for name, distribution in now.items() if not is_accepted(known.get(name), distribution)]
    if beside:
        raise InvalidInputError(
            f"{beside[0]!r} got other choices or another scale since the study was made, and workers cannot share "
            "that; tell the trials to a new study (uhebo history --csv), or go on with uhebo optimize"
        )


class LeasedTrials:
    """Trials of one study; any method may fail while the database is away, and be called again."""

    def __init__(self, study: Study) -> None:
        _refuse_beside(study)
        self.storage = database_of(storage_of(study))
        self._study, self._study_id = study, study_id_of(study)
        self._engine = self.storage.engine
        self._ours = _trials.c.study_id == self._study_id
        self._count = select(func.count()).select_from(_trials).where(self._ours)

    def create(self, budget: int, lease: Lease) -> int | None:
        """The id of a new running trial with this lease; None if the study has as many trials as its budget allows.

        The count is taken inside Optuna's own transaction, under the lock with which it hands out trial numbers.
        """

        def check(session: Session, *_: Any) -> None:
            if any(isinstance(row, TrialModel) for row in session.new) and session.scalars(self._count).one() >= budget:
                raise BudgetUsed

        template = optuna.create_trial(state=TrialState.RUNNING, system_attrs={LEASE: asdict(lease)})
        try:
            with self._before_flush(check):
                return storage_of(self._study).create_new_trial(self._study_id, template)
        except BudgetUsed:
            return None

    def adopt(self, trial_id: int, worker: str) -> Lease | None:
        """Take a waiting trial; None if another was first.

        The lease is written in the transaction in which Optuna makes the trial a running one: no crash falls in
        between, and a trial that somebody else has taken meanwhile gets none.
        """
        own = _attributes.c.trial_id == trial_id
        taken: list[Lease] = []

        def write_lease(session: Session, *_: Any) -> None:
            if not any(isinstance(row, TrialModel) and row.trial_id == trial_id for row in session.dirty):
                return
            queued = session.scalar(select(_attributes.c.value_json).where(own, _attributes.c.key == QUEUED))
            lease = Lease(worker, attempt=Lease.parse(str(queued)).attempt, at=now())
            session.execute(delete(_attributes).where(own, _attributes.c.key.in_((LEASE, QUEUED))))
            session.execute(insert(_attributes).values(trial_id=trial_id, key=LEASE, value_json=lease.text))
            taken.append(lease)

        with suppress(UpdateFinishedTrialError), self._before_flush(write_lease):
            if self.storage.set_trial_state_values(trial_id, TrialState.RUNNING):
                self._study.get_trials(deepcopy=False)  # Optuna's cache has to know of it
                return taken[-1]
        return None

    @contextmanager
    def _before_flush(self, action: Callable[..., None]) -> Iterator[None]:
        """Run `action` inside Optuna's transactions in this thread; other threads have sessions of their own."""
        session = self.storage.scoped_session()
        event.listen(session, "before_flush", action)
        try:
            yield
        finally:
            event.remove(session, "before_flush", action)

    def renew(self, trial_id: int, lease: Lease) -> bool:
        """One beat; False if the trial was taken for stale and is no longer this worker's."""
        query = select(_attributes.c.value_json).where(_attributes.c.trial_id == trial_id, _attributes.c.key == LEASE)
        with self._engine.begin() as connection:
            # Locked: both threads of a worker may beat at the same time.
            seen = str(connection.scalar(query.with_for_update()))
            found = Lease.parse(seen)
            mine = (found.worker, found.attempt) == (lease.worker, lease.attempt)
            return mine and _swap(connection, trial_id, seen, found.next_beat().text)

    def requeue(self, stale: Held, parameters: int) -> bool:
        """Put a trial back in the queue, if its lease still is what was seen; True for the one worker that did it.

        A point that is complete is kept and evaluated again. One that is not (its worker died while it was being
        written) is dropped, so that the next worker's suggestion is not mixed with half of another.
        """
        own = _params.c.trial_id == stale.trial_id
        with self._engine.connect() as connection, connection.begin() as transaction:
            queued = Lease(None, attempt=stale.lease.attempt + 1, at=now())
            if not _swap(connection, stale.trial_id, stale.text, queued.text, QUEUED):
                return False
            running = (_trials.c.trial_id == stale.trial_id, _trials.c.state == TrialState.RUNNING)
            if connection.execute(update(_trials).where(*running).values(state=TrialState.WAITING)).rowcount != 1:
                transaction.rollback()
                return False
            if (connection.scalar(select(func.count()).select_from(_params).where(own)) or 0) < parameters:
                connection.execute(delete(_params).where(own))
            return True

    def store(self, trial_id: int, value: float | tuple[float, ...]) -> Literal["stored", "discarded"]:
        """ "discarded" if the trial has another result or was given up. Several objectives are stored together.

        A trial that was queued again because its worker seemed dead takes the first result that arrives, whoever
        brings it.
        """
        values = list(value) if isinstance(value, tuple) else [value]
        # The trial may be finished by another worker; or by this one, and the answer got lost.
        with suppress(UpdateFinishedTrialError):
            if self.storage.set_trial_state_values(trial_id, TrialState.COMPLETE, values):
                return "stored"
        trial = self.storage.get_trial(trial_id)
        return "stored" if trial.state == TrialState.COMPLETE and trial.values == values else "discarded"

    def fail(self, trial_id: int, reason: str) -> bool:
        """Mark a trial as failed, and why; False if it is finished already."""
        try:
            self.storage.set_trial_user_attr(trial_id, FAILURE, " ".join(reason.split())[:LONGEST_REASON])
            self.storage.set_trial_state_values(trial_id, TrialState.FAIL)
        except UpdateFinishedTrialError:
            return False
        return True

    def prune(self, trial_id: int) -> None:
        """Mark a trial as pruned, with the last value it reported, as Optuna does; one that is finished stays."""
        trial = self.storage.get_trial(trial_id)
        reported = [] if trial.last_step is None else [trial.intermediate_values[trial.last_step]]
        values = [value for value in reported if not math.isnan(value)]
        with suppress(UpdateFinishedTrialError):
            self.storage.set_trial_state_values(trial_id, TrialState.PRUNED, values or None)

    def waiting(self, limit: int) -> list[int]:
        query = select(_trials.c.trial_id).where(self._ours, _trials.c.state == TrialState.WAITING)
        with self._engine.begin() as connection:
            return list(connection.scalars(query.order_by(_trials.c.trial_id).limit(limit)))

    def held(self) -> list[Held]:
        """Running trials that workers hold, or held until they died."""
        query = (
            select(_trials.c.trial_id, _trials.c.number, _attributes.c.value_json)
            .join_from(_trials, _attributes, _attributes.c.trial_id == _trials.c.trial_id)
            .where(self._ours, _trials.c.state == TrialState.RUNNING, _attributes.c.key == LEASE)
            .order_by(_trials.c.number)
        )
        with self._engine.begin() as connection:
            return [Held(*row) for row in connection.execute(query)]

    def count(self) -> int:
        """How many trials the study has, whatever became of them."""
        with self._engine.begin() as connection:
            return connection.scalars(self._count).one()

    def point(self, trial_id: int, space: SearchSpace) -> tuple[int, dict[str, Any]] | None:
        """Number and parameters of a trial; None while it does not have all that are active."""
        number = select(_trials.c.number).where(_trials.c.trial_id == trial_id)
        values = select(_params.c.param_name, _params.c.param_value).where(_params.c.trial_id == trial_id)
        with self._engine.begin() as connection:
            found = {row[0]: row[1] for row in connection.execute(values)}
            pairs = ((name, d) for name, d in space.distributions.items() if name in found)
            params = {name: d.to_external_repr(found[name]) for name, d in pairs}
            active = active_names(space, params)
            if not set(active) <= set(params):
                return None
            return connection.execute(number).scalar_one(), {n: params[n] for n in params if n in active}

    def close_session(self) -> None:
        """Of this thread: each has its own."""
        with suppress(Exception):
            self.storage.remove_session()


def _swap(connection: Connection, trial_id: int, seen: str, text: str, key: str = LEASE) -> bool:
    """Change the lease, if it still is what was seen."""
    same = (_attributes.c.trial_id == trial_id, _attributes.c.key == LEASE, _attributes.c.value_json == seen)
    return connection.execute(update(_attributes).where(*same).values(key=key, value_json=text)).rowcount == 1
