"""The loop of `uhebo optimize`: ask, evaluate, tell; one trial after the other, or several at once on an executor."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

from optuna.exceptions import TrialPruned
from optuna.study import Study
from optuna.trial import Trial, TrialState

from uhebo.cli.bounds import best_of
from uhebo.cli.objective import evaluate_there, is_function, objective_of
from uhebo.cli.output import say
from uhebo.cli.records import origin_of, short_reason
from uhebo.cli.settings import ask
from uhebo.cli.space_file import Kept
from uhebo.errors import EvaluationFailed, InvalidInputError, SpaceExhausted
from uhebo.executor import Evaluations
from uhebo.objective import InTwoParts, Objective
from uhebo.optuna_.endings import FAILURE, INTERRUPTED
from uhebo.optuna_.fronts import front_trials

HOPELESS = 5
"""Failed trials, before the first value, that end the run."""
Advance = Callable[[str, int, str], None]
"""One trial is over: what leads now, in words, or nothing new; how many failed; where its point came from."""


class TrialLoop:
    """So many trials of a study. One that fails is marked so; one that is interrupted too, and the interruption goes
    on."""

    def __init__(self, study: Study, kept: Kept, objective: Objective, trials: int, advance: Advance) -> None:
        self._study, self._kept, self._objective, self._advance = study, kept, objective, advance
        self._left, self._done, self._succeeded, self._failures = trials, 0, 0, 0
        self._reason = ""
        self._lock = threading.Lock()

    @property
    def all_failed(self) -> str:
        """Why the first one failed, where all trials of this run did; else empty."""
        return self._reason if self._done and not self._succeeded else ""

    def run(self) -> None:
        """One after the other, until none is left."""
        while (trial := self._next()) is not None:
            self._evaluate(trial)

    def run_at_once(self, evaluations: Evaluations) -> None:
        """As many at once as the executor is to have."""
        with evaluations.running(), ThreadPoolExecutor(evaluations.n_parallel) as threads:
            try:
                for ended in as_completed([threads.submit(self.run) for _ in range(evaluations.n_parallel)]):
                    ended.result()
            except BaseException as error:
                self._left = 0
                if not isinstance(error, Exception):
                    evaluations.interrupt()
                raise

    def _next(self) -> Trial | None:
        with self._lock:  # one suggestion after the other: each knows those before
            if not self._left:
                return None
            self._left -= 1
            try:
                return ask(self._study, self._kept)
            except SpaceExhausted as error:
                self._left = 0
                say(f"{error}")
                return None

    def _evaluate(self, trial: Trial) -> None:
        try:
            value = self._objective(trial.number, trial.params, lambda: trial)
        except EvaluationFailed as error:
            with self._lock:
                self._failed(trial, error)
            return
        except TrialPruned:
            with self._lock:
                self._succeeded += 1
                self._study.tell(trial.number, state=TrialState.PRUNED)
                self._over("", trial)
            return
        except BaseException as error:
            self._mark(trial, f"{INTERRUPTED} ({type(error).__name__})")
            raise
        with self._lock:
            try:
                self._study.tell(trial.number, value)
            except BaseException:
                say(f"not stored: trial {trial.number}, value {value!r}, parameters {trial.params!r}")
                raise
            self._succeeded += 1
            self._over(_leads(self._study), trial)

    def _failed(self, trial: Trial, error: EvaluationFailed) -> None:
        self._mark(trial, str(error))
        self._reason = self._reason or str(error)
        self._failures += 1
        say(f"trial {trial.number} failed: {error}")
        self._over("", trial)
        if not self._succeeded and self._done >= HOPELESS:
            raise InvalidInputError(
                f"the first {self._done} trials all failed, the last with: {error}; correct it and run this again"
            ) from error

    def _over(self, leads: str, trial: Trial) -> None:
        self._done += 1
        frozen = self._study.get_trials(deepcopy=False)[trial.number]
        self._advance(leads, self._failures, origin_of(frozen))

    def _mark(self, trial: Trial, reason: str) -> None:
        trial.set_user_attr(FAILURE, short_reason(reason))
        self._study.tell(trial.number, state=TrialState.FAIL, skip_if_finished=True)


def on_executor(
    target: Sequence[str], timeout: float | None, executor: str, n_parallel: int | None
) -> tuple[Objective, Evaluations]:
    """What is optimised, evaluated on an executor and read here."""
    here = objective_of(target, timeout)
    # A function's time is limited by the executor, a program's by whoever runs it.
    evaluations = Evaluations(executor, n_parallel, timeout if is_function(target) else None, retries=2)
    limit = None if is_function(target) else timeout
    there = evaluations.of(partial(evaluate_there, tuple(target), limit, str(Path.cwd())), ())

    def evaluate(number: int, params: Any, _: Any) -> Any:
        return there(number=number, params=params)

    return InTwoParts(evaluate, here.read), evaluations


def _leads(study: Study) -> str:
    best = best_of(study)
    if best is not None:
        return f"best so far {best.value:.6g} (trial {best.number})"
    front = front_trials(study) if len(study.directions) > 1 else []
    return f"{len(front)} on the front" if front else ""
