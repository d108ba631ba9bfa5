"""The trials of one study as workers share them, by Optuna's public storage methods alone.

    take      a waiting trial, by Optuna's own waiting -> running, which one worker wins; or a new one, created with its
              lease, so that no crash falls in between
    beat      the lease once more, counted up
    requeue   running -> waiting: number, parameters and tags stay, so that no method notices; one death is counted
    hand_back the same for a worker that ends; that counts as no death, whatever others have written meanwhile
    store     running or waiting -> complete; the first result counts
    fail      running -> failed, only by the worker that still holds the trial

What Optuna has no method for, and what is done instead:

    a budget over all workers    Its trial numbers are handed out under its lock. Workers that look at the same moment
                                 may create too many trials (at most one each), but all know which: those are skipped,
                                 and never evaluated.
    a lease with the state       It is written before waiting -> running. Of two writers the winner writes it again.
    compare and write            A change by a worker taken for dead is refused after a look at the lease. What happens
                                 between look and write, some milliseconds, can cost an evaluation but no stored result.
"""

import math
import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.pool import QueuePool

from uhebo.optuna_.beside import refuse_beside
from uhebo.optuna_.endings import FAILURE, SKIPPED
from uhebo.optuna_.gaps import database_of, id_of, is_view, own_storage_of, storage_of, study_id_of
from uhebo.optuna_.lease import BACK, LEASE, LOST, Lease
from uhebo.storage.database import exclusive

LONGEST_REASON = 500
"""Characters kept of why a trial failed."""
OVER = "over the budget"
"""Why a trial was skipped that several workers' haste made too many."""


SPREAD_S = 0.02
"""Seconds, per worker, over which workers spread that want one of the last trials: so few are created too many."""


@dataclass(frozen=True)
class Taken:
    """A trial in this worker's hands."""

    trial_id: int
    lease: Lease
    counted: bool
    """Whether a worker created it, and so the budget decides about it: a point that a user queued is always run."""
    fresh: bool
    """Whether nobody had it before."""


class SharedTrials:
    """Trials of one study; any method may fail while the database is away, and be called again."""

    def __init__(self, study: Study) -> None:
        if not is_view(study):  # a corrected study keeps beside a trial what its storage does not know
            refuse_beside(study)
        self.storage = database_of(storage_of(study))
        self._study, self._study_id = study, study_id_of(study)

    def take(self, lease: Lease, budget: int, exhausted: Callable[[], bool]) -> tuple[Taken | None, bool]:
        """A trial, if there is one to be had; and whether others still have some, which they may lose."""
        trials = self._study.get_trials(deepcopy=False)
        held = sum(map(is_held, trials))
        if 0 < budget - _counted(trials) <= held:  # others may want one of the last trials at the same moment
            time.sleep(random.uniform(0.0, SPREAD_S * held))
            trials = self._study.get_trials(deepcopy=False)
        for trial in trials:
            taken = self.adopt(trial, lease) if trial.state == TrialState.WAITING else None
            if taken is not None:
                return taken, True
        if _counted(trials) < budget and not exhausted():
            template = optuna.create_trial(state=TrialState.RUNNING, system_attrs={LEASE: lease.record})
            created = storage_of(self._study).create_new_trial(self._study_id, template)
            return Taken(created, lease, counted=True, fresh=True), True
        return None, any(trial.state == TrialState.WAITING or is_held(trial) for trial in trials)

    def adopt(self, waiting: FrozenTrial, lease: Lease) -> Taken | None:
        """Take a waiting trial; None if another was first."""
        trial_id = id_of(waiting)
        with suppress(UpdateFinishedTrialError):
            if self.storage.get_trial(trial_id).state != TrialState.WAITING:
                return None
            self._write(trial_id, lease)
            if self._set(trial_id, TrialState.RUNNING):
                if not self.is_mine(trial_id, lease):  # another wrote its lease meanwhile, and lost
                    self._write(trial_id, lease)
                return Taken(trial_id, lease, counted=Lease.of(waiting) is not None, fresh=False)
        return None

    def is_over(self, taken: Taken, number: int, budget: int) -> bool:
        """Whether the study had its budget before this trial; then it is skipped."""
        if not taken.counted or number < budget:
            return False
        over = _counted([t for t in self._study.get_trials(deepcopy=False) if t.number < number]) >= budget
        if over:
            self._end(taken.trial_id, SKIPPED, OVER)
        return over

    def is_mine(self, trial_id: int, lease: Lease) -> bool:
        """Whether the trial is running, and under a lease of this worker."""
        trial = self.storage.get_trial(trial_id)
        found = Lease.of(trial)
        return trial.state == TrialState.RUNNING and found is not None and found.worker == lease.worker

    def beat(self, trial_id: int, lease: Lease) -> Lease | None:
        """One sign of life; None if the trial was taken for stale and is no longer this worker's."""
        with suppress(UpdateFinishedTrialError):
            if self.is_mine(trial_id, lease):
                lease = replace(lease, beat=lease.beat + 1)
                self._write(trial_id, lease)
                return lease
            self._mark(trial_id, f"{BACK}{lease.worker}")
        return None

    def requeue(self, stale: FrozenTrial) -> bool:
        """Put a dead worker's trial back in the queue, if its lease still is what was seen."""
        lease = Lease.of(stale) or Lease(None)

        def change(trial_id: int) -> None:
            if lease.worker is not None:  # else it was about to go back already
                self._mark(trial_id, f"{LOST}{lease.worker}")
            self._to_queue(trial_id, lease)

        return self._if_unchanged(stale, change)

    def give_up(self, stale: FrozenTrial, reason: str) -> bool:
        """Fail a trial whose worker is dead, if its lease still is what was seen."""
        return self._if_unchanged(stale, lambda trial_id: self._end(trial_id, FAILURE, reason))

    def hand_back(self, trial_id: int, worker: str) -> bool:
        """Put a worker's trial back in the queue; False where it has not got it any more. Either way it has not died.

        Its mark is written first, so no death of this worker counts, before this or after.
        """
        with suppress(UpdateFinishedTrialError, KeyError):
            trial = self.storage.get_trial(trial_id)
            lease = Lease.of(trial) or Lease(None)
            if lease.worker == worker or f"{LOST}{worker}" in trial.system_attrs:
                self._mark(trial_id, f"{BACK}{worker}")
            if lease.worker == worker and trial.state == TrialState.RUNNING:
                self._to_queue(trial_id, lease)
                return True
        return False

    def store(self, trial_id: int, value: float | tuple[float, ...]) -> bool:
        """False if the trial has another result or was given up. Several objectives are stored together.

        A trial that was queued again because its worker seemed dead takes the first result that arrives, whoever
        brings it.
        """
        values = list(value) if isinstance(value, tuple) else [value]
        # The trial may be finished by another worker; or by this one, and the answer got lost.
        with suppress(UpdateFinishedTrialError):
            return self._set(trial_id, TrialState.COMPLETE, values)
        trial = self.storage.get_trial(trial_id)
        return trial.state == TrialState.COMPLETE and trial.values == values

    def params_of(self, trial_id: int) -> dict[str, Any]:
        """The parameters of a trial as they are stored, with those kept beside it."""
        storage = own_storage_of(self._study) if is_view(self._study) else self.storage
        return storage.get_trial(trial_id).params

    def fail(self, taken: Taken, reason: str) -> bool:
        """Mark a trial as failed, and why; False if it is no longer this worker's."""
        with suppress(UpdateFinishedTrialError):
            # After a beat nobody takes the trial for stale while it is being failed.
            if self.beat(taken.trial_id, taken.lease) and self.is_mine(taken.trial_id, taken.lease):
                self._end(taken.trial_id, FAILURE, " ".join(reason.split())[:LONGEST_REASON])
                return True
        return False

    def prune(self, taken: Taken) -> None:
        """Mark a trial as pruned, with the last value it reported, as Optuna does; one that is finished stays."""
        trial = self.storage.get_trial(taken.trial_id)
        reported = [] if trial.last_step is None else [trial.intermediate_values[trial.last_step]]
        values = [value for value in reported if not math.isnan(value)]
        with suppress(UpdateFinishedTrialError):
            if self.is_mine(taken.trial_id, taken.lease):
                self._set(taken.trial_id, TrialState.PRUNED, values or None)

    def held(self) -> list[FrozenTrial]:
        """Running trials that workers hold, or held until they died."""
        running = self.storage.get_all_trials(self._study_id, deepcopy=False, states=(TrialState.RUNNING,))
        return [trial for trial in running if is_held(trial)]

    def give_way(self) -> None:
        """Close this process's connection unless it is in use: during an evaluation another worker may need one.

        It is taken from the pool like any user's. Disposing of the pool instead would empty it under a thread that asks
        for a connection at that moment, and that thread would wait until the pool's time limit.
        """
        self.storage.remove_session()
        engine = self.storage.engine
        if isinstance(engine.pool, QueuePool) and engine.pool.checkedin():
            connection = engine.raw_connection()
            connection.detach()
            connection.close()

    def _if_unchanged(self, seen: FrozenTrial, change: Callable[[int], object]) -> bool:
        with suppress(UpdateFinishedTrialError):
            trial = self.storage.get_trial(id_of(seen))
            if trial.state == TrialState.RUNNING and trial.system_attrs.get(LEASE) == seen.system_attrs[LEASE]:
                change(id_of(seen))
                return True
        return False

    def _write(self, trial_id: int, lease: Lease) -> None:
        self.storage.set_trial_system_attr(trial_id, LEASE, lease.record)

    def _mark(self, trial_id: int, name: str) -> None:
        self.storage.set_trial_system_attr(trial_id, name, True)

    def _to_queue(self, trial_id: int, lease: Lease) -> None:
        self._write(trial_id, replace(lease, worker=None))  # first: what else its worker does is refused from now on
        self._set(trial_id, TrialState.WAITING)

    def _set(self, trial_id: int, state: TrialState, values: Sequence[float] | None = None) -> bool:
        with exclusive():
            return self.storage.set_trial_state_values(trial_id, state, values)

    def _end(self, trial_id: int, attribute: str, why: str) -> None:
        self.storage.set_trial_user_attr(trial_id, attribute, why)
        self._set(trial_id, TrialState.FAIL)


def is_held(trial: FrozenTrial) -> bool:
    return trial.state == TrialState.RUNNING and Lease.of(trial) is not None


def _counted(trials: Sequence[FrozenTrial]) -> int:
    """Trials that count for the budget: all but those skipped for it."""
    return sum(trial.user_attrs.get(SKIPPED) != OVER for trial in trials)
