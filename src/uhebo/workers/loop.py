"""The worker: take a trial, suggest, evaluate, store; until the budget of the study is used up over all workers."""

import logging
import math
import os
import secrets
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from optuna.exceptions import TrialPruned, UpdateFinishedTrialError
from optuna.storages import BaseStorage

from uhebo.errors import CannotEvaluate, EvaluationFailed, SpaceExhausted, UheboError
from uhebo.objective import Objective, Value, as_tuple
from uhebo.optuna_.endings import INTERRUPTED
from uhebo.optuna_.gaps import SILENT, running_trial, suggest_active
from uhebo.optuna_.lease import Lease, now
from uhebo.optuna_.leased_trials import Held, LeasedTrials, database_of
from uhebo.optuna_.sampler import UHESampler
from uhebo.storage.database import close_storage, one_writer_at_a_time
from uhebo.storage.places import Place, open_storage
from uhebo.storage.retry import Retry
from uhebo.workers.child import ForkServer, explained
from uhebo.workers.options import Job, Options, Worked
from uhebo.workers.spool import EventLog, Spool, Unsent, default_folder
from uhebo.workers.stop import Stop, Stopped
from uhebo.workers.watch import Watch

logger = logging.getLogger("uhebo")

IDLE_S = 1.0
"""Maximum seconds between looks for a trial while other workers hold the last ones."""
WAITING_READ = 8
"""Waiting trials read at once; others may take the first of them."""
RECENT, LEAST = 20, 5
"""Trials over which the failure rate is taken, and the fewest that count."""


def run(
    storage: str | Path | Place | BaseStorage,
    load: Callable[[BaseStorage], Job],
    objective: Objective,
    options: Options,
    *,
    create: bool = False,
) -> Worked:
    """`work` on what `load` finds in a storage, which is opened after the fork server for evaluations was started."""
    worker = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(2)}"
    stop = Stop()
    retry = Retry(options.patience, stop)
    with SILENT, _limited(objective, options) as evaluate, stop.listening(), ExitStack() as stack:
        try:
            store = retry.call(lambda: open_storage(storage, create=create), "opening the storage")
            if store is not storage:
                stack.callback(close_storage, store)
            one_writer_at_a_time(database_of(store))
            job = retry.call(lambda: load(store), "opening the study")
        except Stopped:  # while the database was waited for
            return Worked(worker, 0, 0, stop.signal)
        return Shift(worker, job, evaluate, options, stop, retry).run()


def _limited(objective: Objective, options: Options) -> AbstractContextManager[Objective]:
    if options.timeout is None and options.memory is None:
        return nullcontext(objective)
    return ForkServer(objective, timeout=options.timeout, memory=options.memory)


class TooManyFailures(UheboError):
    """The objective fails too often on this worker."""


@dataclass
class Shift:
    """One worker at work, from its first trial to the end of the budget or a signal; `run` is its only entry."""

    worker: str
    job: Job
    evaluate: Objective
    options: Options
    stop: Stop
    retry: Retry
    stored: int = 0
    failed: int = 0
    exhausted: bool = False
    _recent: deque[bool] = field(default_factory=lambda: deque(maxlen=RECENT))

    def run(self) -> Worked:
        options, study = self.options, self.job.study
        self.trials = LeasedTrials(study)
        self.spool = Spool(options.spool or default_folder(), self.trials.storage, study.study_name)
        self.log = EventLog(options.log, self.worker)
        deliver_orphans = partial(self.spool.deliver_orphans, self._deliver_orphan)
        always = len(self.job.space.distributions) - len(self.job.space.conditions)
        self.watch = Watch(self.trials, options, always, deliver_orphans, self._report)
        self.stop.last_words = self._last_words
        self.log.write("started", study=study.study_name, budget=self.job.budget)
        self.watch.start()
        try:
            self.retry.call(deliver_orphans, "delivering results")
            while self._one_trial():
                pass
        except Stopped:
            pass
        finally:
            self.watch.end()
            self.log.write("ended", stored=self.stored, failed=self.failed, signal=self.stop.signal)
            self.log.close()
            self.trials.close_session()
        return Worked(self.worker, self.stored, self.failed, self.stop.signal, self.exhausted)

    def _one_trial(self) -> bool:
        """Take and finish one trial, or wait for one to be had; False when there is nothing left to do."""
        self.stop.check()
        taken = self.retry.call(self._take, "taking a trial")
        if taken is not None:
            self.watch.hold(*taken)
            try:
                self._finish(taken[0])
            finally:
                self.watch.release()
        # While another worker has a trial this one stays: if that worker dies, somebody has to take over.
        elif self.retry.call(lambda: self.trials.held() or self.trials.waiting(1), "looking for trials"):
            self.stop.wait(min(IDLE_S, self.options.heartbeat))
        else:
            return False
        return True

    def _take(self) -> tuple[int, Lease] | None:
        """A trial that waits, or a new one."""
        for trial_id in self.trials.waiting(WAITING_READ):
            adopted = self.trials.adopt(trial_id, self.worker)
            if adopted is not None:
                return trial_id, adopted
        if self.trials.count() >= self.job.budget or self._is_exhausted():
            return None
        lease = Lease(self.worker, at=now())
        created = self.trials.create(self.job.budget, lease)
        return None if created is None else (created, lease)

    def _is_exhausted(self) -> bool:
        """Whether there is no point left that could tell anything new."""
        sampler = self.job.study.sampler
        self.exhausted = isinstance(sampler, UHESampler) and sampler.is_exhausted(self.job.study)
        return self.exhausted

    def _finish(self, trial_id: int) -> None:
        try:
            with self._failing(trial_id):
                point = self._point(trial_id)
        except SpaceExhausted:  # another worker took the last point meanwhile
            return
        if point is None:
            return
        number, params = point
        trial = partial(self.retry.call, partial(running_trial, self.job.study, trial_id), "reading a trial")
        try:
            with self._failing(trial_id, number):
                value = self.evaluate(number, params, trial)
                self._check(value)
        except TrialPruned:
            self.retry.call(lambda: self.trials.prune(trial_id), "marking a trial as pruned", last_try=True)
            self.log.write("pruned", trial=number, params=params)
            self._count(failed=False)
            return
        except CannotEvaluate:
            raise
        except (Exception, SystemExit):
            self._count(failed=True)
            return
        self.log.write("returned", trial=number, value=value, params=params)
        self._store(Unsent(trial_id, number, params, value))
        self._count(failed=False)

    def _check(self, value: Value) -> None:
        """A value for each objective; a database cannot give back a NaN."""
        told, wanted = as_tuple(value), len(self.job.study.directions)
        if any(map(math.isnan, told)) or len(told) != wanted:
            expected = "a number" if wanted == 1 else f"{wanted} numbers"
            raise EvaluationFailed(f"the value is {value!r}, expected {expected}")

    @contextmanager
    def _failing(self, trial_id: int, number: int | None = None) -> Iterator[None]:
        """A signal interrupts the block, and whatever ends it early goes on its way; all but pruning fails it."""
        try:
            with self.stop.interruptible():
                yield
        except TrialPruned:
            raise
        except BaseException as error:
            self._fail(trial_id, number, explained(error))
            raise

    def _point(self, trial_id: int) -> tuple[int, dict[str, Any]] | None:
        """Number and parameters: those it has, where another worker had it before, or the sampler's.

        None if another worker took the trial over while this one was held up.
        """
        stored = partial(self.trials.point, trial_id, self.job.space)
        point = self.retry.call(stored, "reading a trial")
        if point is None:
            with suppress(UpdateFinishedTrialError):
                trial = self.retry.call(lambda: running_trial(self.job.study, trial_id), "suggesting")
                # One by one: after an outage the rest of the same suggestion is written, and not half of another.
                suggest_active(trial, self.job.space, lambda ask: self.retry.call(ask, "suggesting"))
                point = self.retry.call(stored, "reading a trial")
        mine = point is not None and self.retry.call(self.watch.renew, "renewing a lease")
        number, params = point or (None, None)
        self.log.write("took" if mine else "abandoned", trial=number, params=params)
        return point if mine else None

    def _store(self, unsent: Unsent) -> None:
        """The value in the database; until it is, it is in the spool, and if it cannot be, on standard error too."""
        store = partial(self.trials.store, unsent.trial_id, unsent.value)
        try:
            with self.spool.keeping(unsent):
                outcome = self.retry.call(store, "storing a result", last_try=True)
        except BaseException:
            sys.stderr.write(
                f"not stored: trial {unsent.number}, value {unsent.value!r}, parameters {unsent.params!r} "
                f"(kept in {self.spool.folder} if there was room)\n"
            )
            sys.stderr.flush()
            raise
        self.log.write(outcome, trial=unsent.number, value=unsent.value)
        if outcome == "discarded":
            logger.warning(f"trial {unsent.number} has a result already; the late value {unsent.value!r} is discarded")
        else:
            self.stored += 1

    def _report(self, event: str, stale: Held) -> None:
        self.log.write(event, trial=stale.number, of=stale.lease.worker)

    def _deliver_orphan(self, unsent: Unsent) -> bool:
        """A dead worker's result; it counts only if the study still has that trial with those parameters."""
        found = None
        with suppress(KeyError):
            trial = self.trials.storage.get_trial(unsent.trial_id)
            found = (trial.number, trial.params)
        fits = len(as_tuple(unsent.value)) == len(self.job.study.directions)
        if found != (unsent.number, unsent.params) or not fits:
            logger.warning(f"an unsent result for trial {unsent.number} is of another study of this name; left out")
            return False
        outcome = self.trials.store(unsent.trial_id, unsent.value)
        self.log.write("delivered" if outcome == "stored" else outcome, trial=unsent.number, value=unsent.value)
        return True

    def _fail(self, trial_id: int, number: int | None, reason: str) -> None:
        logger.warning(f"trial {'' if number is None else number} failed: {reason}")
        self.failed += 1
        self.retry.call(lambda: self.trials.fail(trial_id, reason), "marking a trial as failed", last_try=True)
        self.log.write("failed", trial=number, reason=reason)

    def _last_words(self) -> None:
        """The process is about to be ended, deep inside the objective."""
        mine = self.watch.mine
        with suppress(Exception):
            if mine is not None:
                self.trials.fail(mine[0], INTERRUPTED)

    def _count(self, *, failed: bool) -> None:
        self._recent.append(failed)
        rate = sum(self._recent) / len(self._recent)
        if len(self._recent) >= LEAST and rate > self.options.max_failure_rate:
            raise TooManyFailures(
                f"{sum(self._recent)} of this worker's last {len(self._recent)} trials failed; correct the objective "
                "(uhebo history shows why each failed) and start the worker again"
            )
