"""The thread beside the work: it renews this worker's lease, and looks after the trials of workers that died."""

import logging
import math
import random
import threading
from collections.abc import Callable
from dataclasses import replace

from optuna.trial import FrozenTrial

from uhebo.optuna_.endings import DIED
from uhebo.optuna_.gaps import id_of
from uhebo.optuna_.lease import LEASE, Lease, deaths
from uhebo.storage.retry import is_transient
from uhebo.workers.options import Options
from uhebo.workers.trials import SharedTrials, Taken

logger = logging.getLogger("uhebo")

WATCHERS = 16
"""How many of the workers look at all trials at every heartbeat; the others at every 16th, lest a thousand do."""


class Watch(threading.Thread):
    """Every `heartbeat` seconds: one beat, and one look at the leases of others.

    A trial is stale when enough looks in a row found its lease unchanged. Looks are counted, not seconds: no clock is
    compared with another, and while the database is away, or this process is suspended, nobody is taken for dead.
    """

    def __init__(
        self,
        trials: SharedTrials,
        options: Options,
        worker: str = "",
        each_look: Callable[[], None] = lambda: None,
        report: Callable[..., None] = lambda _, **__: None,
    ) -> None:
        super().__init__(name="uhebo-watch", daemon=True)
        self._trials, self._options, self._worker = trials, options, worker
        self._each_look, self._report = each_look, report
        self._unchanged: dict[int, tuple[object, int]] = {}
        self._end, self._one_beat = threading.Event(), threading.Lock()
        self._said: set[str] = set()
        self._looks_until_all = 0
        self.taking = False
        """Whether the worker is about to have a trial, that is not yet `held`."""
        self.held: Taken | None = None
        """The trial at hand, unless it was taken for stale."""

    def end(self) -> None:
        self._end.set()
        self.join(timeout=2.0)

    def run(self) -> None:
        while not self._end.wait(self._options.heartbeat):
            try:
                self.beat()
                self.look()
                self._each_look()
                self._trials.give_way()
            except Exception as error:
                if not is_transient(error) and repr(error) not in self._said:
                    self._said.add(repr(error))
                    logger.warning(f"looking after other workers' trials failed: {error!r}")
        self._trials.storage.remove_session()

    def beat(self) -> bool:
        """One sign of life; False if this worker has been taken for dead."""
        with self._one_beat:  # the worker's own thread beats too; of two at once, neither is lost
            held = self.held
            if held is None:
                return False
            lease = self._trials.beat(held.trial_id, held.lease)
            if self.held is not held:
                return False
            if lease is None:
                logger.warning("this worker was taken for dead and its trial queued again; its result is kept")
            self.held = None if lease is None else replace(held, lease=lease)
            return lease is not None

    def look(self) -> None:
        """Count for how many looks each lease has stayed the same; act on those that are stale."""
        self._looks_until_all -= 1
        if self.held is not None and self._looks_until_all > 0:
            return
        seen: dict[int, tuple[object, int]] = {}
        stale = []
        mine = None if self.held is None else self.held.trial_id
        for rank, trial in enumerate(self._trials.held()):
            key, lease, written = id_of(trial), Lease.of(trial), trial.system_attrs[LEASE]
            if key == mine:
                self._looks_until_all = 0 if rank < WATCHERS else WATCHERS
                continue
            if lease is not None and lease.worker == self._worker and self.taking:
                continue
            before, times = self._unchanged.get(key, (None, 0))
            seen[key] = (written, times + 1 if before == written else 0)
            if lease is not None and seen[key][1] >= max(1, math.ceil(lease.grace / self._options.heartbeat)):
                stale.append((trial, lease))
        self._unchanged = seen
        if stale:  # others see the same; who is first leaves the rest nothing to do
            self._end.wait(random.uniform(0.0, self._options.heartbeat / 2))
            for trial, lease in random.sample(stale, len(stale)):
                self._reap(trial, lease)

    def _reap(self, stale: FrozenTrial, lease: Lease) -> None:
        died = deaths(stale) + (lease.worker is not None)
        if died > self._options.retries:
            reason = f"{died} {DIED}"
            if self._trials.give_up(stale, reason):
                self._report("given up", trial=stale.number)
                logger.warning(f"trial {stale.number} is failed: {reason}")
        elif self._trials.requeue(stale):
            self._report("requeued", trial=stale.number)
            logger.warning(f"trial {stale.number} is queued again: its worker {lease.worker} is gone")
