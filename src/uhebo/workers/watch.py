"""The thread beside the work: it renews this worker's lease, and looks after the trials of workers that died."""

import logging
import math
import threading
from collections.abc import Callable

from uhebo.optuna_.endings import DIED
from uhebo.optuna_.lease import Lease
from uhebo.optuna_.leased_trials import Held, LeasedTrials
from uhebo.storage.retry import is_transient
from uhebo.workers.options import Options

logger = logging.getLogger("uhebo")


class Watch(threading.Thread):
    """Every `heartbeat` seconds: one beat, and one look at the leases of others.

    A trial is stale when enough looks in a row found its lease unchanged. Looks are counted, not seconds: no clock is
    compared with another, and while the database is away, or this process is suspended, nobody is taken for dead.
    """

    def __init__(
        self,
        trials: LeasedTrials,
        options: Options,
        parameters: int,
        each_look: Callable[[], None] = lambda: None,
        report: Callable[[str, Held], None] = lambda _, __: None,
    ) -> None:
        super().__init__(name="uhebo-watch", daemon=True)
        self._trials, self._options, self._parameters = trials, options, parameters
        self._looks = max(1, math.ceil(options.grace / options.heartbeat))
        self._each_look, self._report = each_look, report
        self._unchanged: dict[int, tuple[str, int]] = {}
        self._held: tuple[int, Lease] | None = None
        self._lost: tuple[int, Lease] | None = None
        self._end = threading.Event()
        self._said: set[str] = set()

    def hold(self, trial_id: int, lease: Lease) -> None:
        self._held = (trial_id, lease)

    def release(self) -> None:
        self._held = None

    @property
    def mine(self) -> tuple[int, Lease] | None:
        """The trial at hand, unless it was taken for stale."""
        return None if self._held is self._lost else self._held

    def renew(self) -> bool:
        """One beat; False if the trial was taken for stale and is no longer this worker's."""
        mine = self.mine
        if mine is None:
            return False
        renewed = self._trials.renew(*mine)
        if not renewed:
            self._lost = mine
        return renewed

    def end(self) -> None:
        self._end.set()
        self.join(timeout=2.0)

    def run(self) -> None:
        while not self._end.wait(self._options.heartbeat):
            try:
                if self.mine is not None and not self.renew():
                    logger.warning("this worker was taken for dead and its trial queued again; its result is kept")
                self._look()
                self._each_look()
            except Exception as error:
                if not is_transient(error) and repr(error) not in self._said:
                    self._said.add(repr(error))
                    logger.warning(f"looking after other workers' trials failed: {error!r}")
        self._trials.close_session()

    def _look(self) -> None:
        mine = self.mine
        seen: dict[int, tuple[str, int]] = {}
        for trial in self._trials.held():
            if mine is None or trial.trial_id != mine[0]:
                text, times = self._unchanged.get(trial.trial_id, ("", 0))
                times = times + 1 if text == trial.text else 0
                seen[trial.trial_id] = (trial.text, times)
                if times >= self._looks:
                    self._reap(trial)
        self._unchanged = seen

    def _reap(self, stale: Held) -> None:
        lease = stale.lease
        if lease.attempt > self._options.retries:
            reason = f"{lease.attempt} {DIED}"
            # Not if another worker was first, or its result has come after all.
            if self._trials.fail(stale.trial_id, reason):
                self._report("given up", stale)
                logger.warning(f"trial {stale.number} is failed: {reason}")
        elif self._trials.requeue(stale, self._parameters):
            self._report("requeued", stale)
            logger.warning(f"trial {stale.number} is queued again: its worker {lease.worker} is gone")
