"""The worker: take a trial, suggest, evaluate, store; until the budget of the study is used up over all workers."""

import logging
import math
import os
import secrets
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from optuna.exceptions import TrialPruned, UpdateFinishedTrialError
from optuna.storages import BaseStorage
from optuna.trial import Trial

from uhebo.errors import CannotEvaluate, EvaluationFailed, SpaceExhausted, UheboError
from uhebo.objective import Objective, Value, as_tuple
from uhebo.optuna_.gaps import SILENT, database_of, running_trial, suggest_active, trial_numbered
from uhebo.optuna_.lease import Lease
from uhebo.optuna_.sampler import UHESampler
from uhebo.storage.database import close_storage, lock_when_exclusive
from uhebo.storage.places import Place, open_storage
from uhebo.storage.retry import Retry
from uhebo.workers.apart import Apart, Suits, explained
from uhebo.workers.options import Job, Options, Worked
from uhebo.workers.spool import EventLog, HandedBack, Spool, Unsent, default_folder
from uhebo.workers.stop import Stop, Stopped
from uhebo.workers.trials import SharedTrials, Taken
from uhebo.workers.watch import Watch

logger = logging.getLogger("uhebo")

IDLE_S = 1.0
"""Maximum seconds between looks for a trial while other workers hold the last ones."""
RECENT, LEAST = 20, 5
"""Trials over which the failure rate is taken, and the fewest that count."""


def run(
    storage: str | Path | Place | BaseStorage,
    load: Callable[[BaseStorage], Job],
    objective: Objective,
    options: Options,
    *,
    create: bool = False,
    anew: bool = True,
    prepare: Callable[[], object] = lambda: None,
    suits: Suits = lambda *_: None,
) -> Worked:
    """`work` on what `load` finds in a storage, which is opened after the process for evaluations was started.

    `anew`, `prepare` and `suits` are those of `Apart`.
    """
    worker = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(2)}"
    stop = Stop()
    retry = Retry(options.patience, stop)

    def open_study() -> Job:
        store = retry.call(lambda: open_storage(storage, create=create, one_connection=True), "opening the storage")
        if store is not storage:
            stack.callback(close_storage, store)
        lock_when_exclusive(database_of(store).engine)
        return retry.call(lambda: load(store), "opening the study")

    def evaluations() -> AbstractContextManager[Objective]:
        if not (options.own_process or options.timeout or options.memory):
            return nullcontext(objective)
        limited = bool(options.timeout or options.memory)
        limits: dict[str, Any] = {"timeout": options.timeout, "memory": options.memory}
        opened: list[Job] = []

        def trial(number: int) -> Trial:
            if not opened:
                if isinstance(storage, BaseStorage):  # its connections are the worker's
                    database_of(storage).engine.dispose(close=False)
                opened.append(open_study())
            return trial_numbered(opened[0].study, number)

        return Apart(objective, **limits, anew=anew or limited, prepare=prepare, suits=suits, trial=trial)

    with SILENT, ExitStack() as stack, evaluations() as evaluate, stop.listening():
        try:
            if isinstance(evaluate, Apart):
                with stop.interruptible():
                    evaluate.check()
            job = open_study()
            if isinstance(evaluate, Apart):
                with stop.interruptible():
                    evaluate.check_suits(list(job.space.distributions), list(job.space.conditions))
            trials = retry.call(lambda: SharedTrials(job.study), "opening the study")
        except Stopped:  # while the database was waited for
            return Worked(worker, 0, 0, stop.signal)
        return Shift(worker, job, trials, evaluate, options, stop, retry).run()


class TooManyFailures(UheboError):
    """The objective fails too often on this worker."""


@dataclass
class Shift:
    """One worker at work, from its first trial to the end of the budget or a signal; `run` is its only entry."""

    worker: str
    job: Job
    trials: SharedTrials
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
        self.spool = Spool(options.spool or default_folder(), self.trials.storage, study.study_name)
        self.log = EventLog(options.log, self.worker)
        deliver_orphans = partial(self.spool.deliver_orphans, self._deliver)
        self.watch = Watch(self.trials, options, self.worker, deliver_orphans, self.log.write)
        self.stop.last_words = self._hand_back
        self.log.write("started", study=study.study_name, budget=self.job.budget)
        self.watch.start()
        try:
            self.retry.call(deliver_orphans, "delivering results")
            while self._one_trial():
                pass
        except BaseException as error:
            # What a signal has torn, in the midst of a call to the database say, is the signal's.
            if not self.stop.asked or not isinstance(error, (Stopped, Exception)):
                raise
        finally:
            self.watch.end()
            self.log.write("ended", stored=self.stored, failed=self.failed, signal=self.stop.signal)
            self.log.close()
            self.trials.storage.remove_session()
        return Worked(self.worker, self.stored, self.failed, self.stop.signal, self.exhausted)

    def _one_trial(self) -> bool:
        """Take and finish one trial, or wait for one to be had; False when there is nothing left to do."""
        self.stop.check()
        lease = Lease(self.worker, grace=self.options.grace)
        take = partial(self.trials.take, lease, self.job.budget, self._is_exhausted)
        self.watch.taking = True
        taken, others = self.retry.call(take, "taking a trial")
        self.watch.held, self.watch.taking = taken, False
        if taken is not None:
            try:
                self._finish(taken)
            except BaseException:
                if self.stop.asked:
                    self._hand_back()
                raise
            finally:
                self.watch.held = None
        elif others:  # If another worker dies, somebody has to take over its trial.
            self.stop.wait(min(IDLE_S, self.options.heartbeat))
        return others

    def _is_exhausted(self) -> bool:
        """Whether there is no point left that could tell anything new."""
        sampler, finite = self.job.study.sampler, self.job.space.size < math.inf
        self.exhausted = finite and isinstance(sampler, UHESampler) and sampler.is_exhausted(self.job.study)
        return self.exhausted

    def _finish(self, taken: Taken) -> None:
        number = None
        try:
            with self.stop.interruptible():
                trial, params = self._suggested(taken)
                if params is None:
                    return
                number = trial.number
                self.log.write("took", trial=number, params=params)
                value = self.evaluate(number, params, partial(self._trial, taken.trial_id))
                self._check(value)
        except SpaceExhausted:  # another worker took the last point meanwhile
            return
        except TrialPruned:
            self.retry.call(lambda: self.trials.prune(taken), "marking a trial as pruned", last_try=True)
            self.log.write("pruned", trial=number, params=params)
            self._count(failed=False)
            return
        except (Exception, SystemExit) as error:
            if not self.stop.asked:
                self._fail(taken, number, explained(error))
            if self.stop.asked or number is None or isinstance(error, CannotEvaluate):
                raise
            self._count(failed=True)
            return
        self.log.write("returned", trial=number, value=value, params=params)
        self._store(Unsent(taken.trial_id, number, params, value))
        self._count(failed=False)

    def _trial(self, trial_id: int) -> Trial:
        """The trial under evaluation, for an objective that takes it or a reading that writes to it."""
        return self.retry.call(lambda: running_trial(self.job.study, trial_id), "reading a trial")

    def _suggested(self, taken: Taken) -> tuple[Trial, dict[str, Any] | None]:
        """The trial and its parameters: those it has, where another worker had it before, or the sampler's.

        No parameters if the trial is not to be evaluated: by this worker, or at all.
        """
        began, outages = time.monotonic(), self.retry.outages
        trial = self.retry.call(lambda: running_trial(self.job.study, taken.trial_id), "reading a trial")
        if self.retry.call(lambda: self.trials.is_over(taken, trial.number, self.job.budget), "reading a trial"):
            self.log.write("skipped", trial=trial.number)
            return trial, None
        try:
            # One by one: after an outage the rest of the same suggestion is written, and not half of another.
            params = suggest_active(trial, self.job.space, lambda ask: self.retry.call(ask, "suggesting"))
        except UpdateFinishedTrialError:
            params = None
        late = time.monotonic() - began > self.options.grace / 2
        if params is None or late or not taken.fresh or outages != self.retry.outages:
            # Another worker may have taken over, and written parameters of its own: what is stored is what counts.
            stored = self.retry.call(lambda: self.trials.params_of(taken.trial_id), "reading a trial")
            mine = self.retry.call(self.watch.beat, "renewing a lease")
            if params is None or not mine or not params.keys() <= stored.keys():
                self.log.write("abandoned", trial=trial.number)
                return trial, None
            params = {name: stored[name] for name in params}
        return trial, params

    def _check(self, value: Value) -> None:
        """A value for each objective; a database cannot give back a NaN."""
        told, wanted = as_tuple(value), len(self.job.study.directions)
        if any(map(math.isnan, told)) or len(told) != wanted:
            expected = "a number" if wanted == 1 else f"{wanted} numbers"
            raise EvaluationFailed(f"the value is {value!r}, expected {expected}")

    def _store(self, unsent: Unsent) -> None:
        """The value in the database; until it is, it is in the spool, and if it cannot be, on standard error too."""
        store = partial(self.trials.store, unsent.trial_id, unsent.value)
        try:
            with self.spool.keeping(unsent):
                stored = self.retry.call(store, "storing a result", last_try=True)
        except BaseException:
            sys.stderr.write(
                f"not stored: trial {unsent.number}, value {unsent.value!r}, parameters {unsent.params!r} "
                f"(kept in {self.spool.folder} if there was room)\n"
            )
            sys.stderr.flush()
            raise
        self.log.write("stored" if stored else "discarded", trial=unsent.number, value=unsent.value)
        self.stored += stored
        if not stored:
            logger.warning(f"trial {unsent.number} has a result already; the late value {unsent.value!r} is discarded")

    def _deliver(self, unsent: Unsent | HandedBack) -> bool:
        """A trial that goes back; or a result, if the study still has that trial with those parameters."""
        if isinstance(unsent, HandedBack):
            back = self.trials.hand_back(unsent.trial_id, unsent.worker)
            self.log.write("handed back" if back else "abandoned", trial=unsent.trial_id, of=unsent.worker)
            return True
        found = None
        with suppress(KeyError):
            trial = self.trials.storage.get_trial(unsent.trial_id)
            found = (trial.number, self.trials.params_of(unsent.trial_id))
        fits = len(as_tuple(unsent.value)) == len(self.job.study.directions)
        if found != (unsent.number, unsent.params) or not fits:
            logger.warning(f"an unsent result for trial {unsent.number} is of another study of this name; left out")
            return False
        stored = self.trials.store(unsent.trial_id, unsent.value)
        self.log.write("delivered" if stored else "discarded", trial=unsent.number, value=unsent.value)
        return True

    def _fail(self, taken: Taken, number: int | None, reason: str) -> None:
        failed = self.retry.call(lambda: self.trials.fail(taken, reason), "marking a trial as failed", last_try=True)
        self.failed += failed
        self.log.write("failed" if failed else "abandoned", trial=number, reason=reason)
        logger.warning(
            f"trial {'' if number is None else number} failed: {reason}"
            + ("" if failed else "; another worker has it by now, and its result counts")
        )

    def _hand_back(self) -> None:
        """A signal came: the trial at hand goes back to the queue, and the next worker takes it.

        It is on disk first: where the database does not answer in time, the next worker here hands it back.
        """
        held = self.watch.held
        if held is not None:
            note = HandedBack(held.trial_id, self.worker)
            with suppress(Exception, Stopped), self.spool.keeping(note):
                self.trials.storage.engine.dispose()  # the signal may have torn a call to the database
                self.retry.call(lambda: self._deliver(note), "handing a trial back", last_try=True)

    def _count(self, *, failed: bool) -> None:
        self._recent.append(failed)
        rate = sum(self._recent) / len(self._recent)
        if len(self._recent) >= LEAST and rate > self.options.max_failure_rate:
            raise TooManyFailures(
                f"{sum(self._recent)} of this worker's last {len(self._recent)} trials failed; correct the objective "
                "(uhebo history shows why each failed) and start the worker again"
            )
