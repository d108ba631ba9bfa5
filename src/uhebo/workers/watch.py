"""The thread beside the work: it renews this worker's lease, and looks after the trials of workers that died."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable
from contextlib import suppress

from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import RDBStorage
from optuna.trial import TrialState

from uhebo.optuna_.trial_log import FAILURE
from uhebo.storage.retry import is_transient
from uhebo.workers.leases import Held, Lease, held, read_lease, requeue, swap

logger = logging.getLogger("uhebo")


class Watch(threading.Thread):
    """Every `heartbeat` seconds: one beat, and one look at the leases of others.

    A trial is stale when enough looks in a row found its lease unchanged. Looks are counted, not seconds: no clock is
    compared with another, and while the database is away, or this process is suspended, nobody is taken for dead.
    """

    def __init__(
        self,
        backend: RDBStorage,
        study_id: int,
        *,
        heartbeat: float,
        grace: float,
        retries: int,
        parameters: int,
        each_look: Callable[[], None] = lambda: None,
        report: Callable[[str, Held], None] = lambda _, __: None,
    ) -> None:
        super().__init__(name="uhebo-watch", daemon=True)
        self._backend, self._study_id = backend, study_id
        self._heartbeat, self._looks = heartbeat, max(1, math.ceil(grace / heartbeat))
        self._retries, self._parameters = retries, parameters
        self._each_look, self._report = each_look, report
        self._unchanged: dict[int, tuple[str, int]] = {}
        self._mine: tuple[int, Lease] | None = None
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._said: set[str] = set()

    def hold(self, trial_id: int, lease: Lease) -> None:
        with self._lock:
            self._mine = (trial_id, lease)

    def release(self) -> None:
        with self._lock:
            self._mine = None

    def renew(self) -> bool:
        """One beat; False if the trial was taken for stale and is no longer this worker's."""
        mine = self._mine
        if mine is None:
            return False
        trial_id, lease = mine
        engine = self._backend.engine
        following = lease.next_beat()
        done = swap(engine, trial_id, lease.text, following.text)
        if not done:
            # Another's by now; or still this worker's: the answer to the last beat got lost, or both threads beat.
            found = read_lease(engine, trial_id)
            if found is not None and (found.worker, found.attempt) == (lease.worker, lease.attempt):
                following = found.next_beat()
                done = swap(engine, trial_id, found.text, following.text)
        with self._lock:  # never while the database is waited for
            if self._mine is mine:
                self._mine = (trial_id, following) if done else None
        return done

    def end(self) -> None:
        self._end.set()
        self.join(timeout=2.0)

    def run(self) -> None:
        while not self._end.wait(self._heartbeat):
            try:
                if self._mine is not None and not self.renew():
                    logger.warning("this worker was taken for dead and its trial queued again; its result is kept")
                self._look()
                self._each_look()
            except Exception as error:
                if not is_transient(error) and repr(error) not in self._said:
                    self._said.add(repr(error))
                    logger.warning(f"looking after other workers' trials failed: {error!r}")
        with suppress(Exception):
            self._backend.remove_session()  # each thread has its own

    def _look(self) -> None:
        mine = self._mine
        seen: dict[int, tuple[str, int]] = {}
        for trial in held(self._backend.engine, self._study_id):
            if mine is not None and trial.trial_id == mine[0]:
                continue
            text, times = self._unchanged.get(trial.trial_id, ("", 0))
            times = times + 1 if text == trial.text else 0
            seen[trial.trial_id] = (trial.text, times)
            if times >= self._looks:
                self._reap(trial)
        self._unchanged = seen

    def _reap(self, stale: Held) -> None:
        attempt = stale.lease.attempt
        if attempt > self._retries:
            self._give_up(stale, attempt)
        elif requeue(self._backend.engine, stale, self._parameters):
            self._report("requeued", stale)
            logger.warning(f"trial {stale.number} is queued again: its worker {stale.lease.worker} is gone")

    def _give_up(self, stale: Held, attempt: int) -> None:
        try:
            reason = f"{attempt} workers died with this trial"
            self._backend.set_trial_user_attr(stale.trial_id, FAILURE, reason)
            self._backend.set_trial_state_values(stale.trial_id, TrialState.FAIL)
        except UpdateFinishedTrialError:
            return  # another worker was first, or its result has come after all
        self._report("given up", stale)
        logger.warning(f"trial {stale.number} is failed: {reason}")
