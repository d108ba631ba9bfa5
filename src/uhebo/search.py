"""A search: what cannot work is refused, then trials are run, here or on an executor, until the budget is used."""

import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from optuna.exceptions import TrialPruned
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from optuna.trial import Trial as OptunaTrial

from uhebo.checks import boolean, integer, number
from uhebo.directions import Direction, several_in, study_in
from uhebo.errors import EvaluationFailed, InvalidInputError
from uhebo.executor import Evaluations, GivenExecutor
from uhebo.initial import Points, checked_points, enqueue
from uhebo.notebook import in_notebook
from uhebo.objective import Function, call, check_objective
from uhebo.optuna_.corrected import corrected
from uhebo.optuna_.endings import FAILURE, INTERRUPTED, interrupt
from uhebo.optuna_.extensions import extensions_of
from uhebo.optuna_.fronts import given_reference
from uhebo.optuna_.gaps import QUIET, SILENT, suggest_active
from uhebo.optuna_.sampler import UHESampler
from uhebo.optuna_.trial_log import logger
from uhebo.pareto_result import result_of
from uhebo.result import Result
from uhebo.returned import checked_value, checked_values
from uhebo.space import SearchSpace, storable, warn_of_shorthands

LONGEST_REASON = 300
"""Characters kept of why a trial failed."""
SeveralValues = Callable[..., Sequence[float] | Mapping[str, float]]
"""A function of the user's with one value for each objective."""
Constraints = Callable[..., float | Sequence[float] | Mapping[str, float]]
Callback = Callable[[Study, FrozenTrial], None]
RETRIES = 2
"""How often an evaluation whose worker was lost is tried again, unless said otherwise."""


@dataclass(frozen=True)
class How:
    """How a search is run; `uhebo.minimize` says what each of these is."""

    initial: Points
    storage: str | Path | BaseStorage | None
    study_name: str | None
    n_jobs: int
    executor: GivenExecutor | None
    n_parallel: int | None
    evaluation_timeout: float | None
    retries: int
    timeout: float | None
    callbacks: Sequence[Callback]
    progress: bool | None
    catch: type[Exception] | tuple[type[Exception], ...]

    def check(self) -> None:
        """Refuse what cannot be meant."""
        if self.timeout is not None:
            number("timeout", self.timeout, above=0, also=" of seconds, or None")
        if self.progress is not None:
            boolean("progress", self.progress)
        if self.n_jobs != -1:
            integer("n_jobs", self.n_jobs, 1, also=", or -1 for one per processor")
        for each in self.callbacks if isinstance(self.callbacks, Iterable) else ():
            if isinstance(each, type):
                raise InvalidInputError(f"callbacks has the class {each.__name__}; make one of it: {each.__name__}()")
        if not isinstance(self.callbacks, Iterable) or not all(map(callable, self.callbacks)):
            raise InvalidInputError(f"callbacks is {self.callbacks!r}; expected a list of functions (study, trial)")
        if not all(isinstance(each, type) and issubclass(each, Exception) for each in self.caught):
            raise InvalidInputError(
                f"catch is {self.catch!r}; expected a class of exceptions such as ValueError, or a tuple of them"
            )
        if self.study_name is not None and (not isinstance(self.study_name, str) or not self.study_name):
            raise InvalidInputError(f"study_name is {self.study_name!r}; expected a name such as 'first', or None")
        integer("retries", self.retries, 0)

    @property
    def caught(self) -> tuple[type[Exception], ...]:
        """Exceptions that fail a trial and not the run."""
        return tuple(self.catch) if isinstance(self.catch, (tuple, list)) else (self.catch,)

    def evaluations(self) -> Evaluations | None:
        """Where the function is called, if not here."""
        if self.executor is not None:
            if self.n_jobs != 1:
                raise InvalidInputError("n_jobs is for threads here; with an executor, give n_parallel instead")
            return Evaluations(self.executor, self.n_parallel, self.evaluation_timeout, self.retries)
        for name, default in (("n_parallel", None), ("evaluation_timeout", None), ("retries", RETRIES)):
            if getattr(self, name) != default:
                raise InvalidInputError(f"{name} is for an executor, and none was given; leave it out, or give one")
        return None


def search(
    direction: Direction | dict[str, Direction],
    fn: Function | SeveralValues,
    space: Mapping[str, Any],
    n_trials: int,
    constraints: Constraints | None,
    sampler_for: Callable[..., UHESampler],
    how: How,
) -> Result:
    """Search with the sampler for a number of trials; what cannot work is refused before it leaves a study behind."""
    if callable(space) and isinstance(fn, Mapping):
        raise InvalidInputError("fn and space are exchanged; the function comes first, then the space")
    searched = SearchSpace.of(space)
    warn_of_shorthands(space)
    storable(searched.distributions, how.storage)
    check_objective(fn, searched.distributions, optional=searched.conditions)
    if constraints is not None:
        if not callable(constraints):
            raise InvalidInputError(
                f"constraints is {constraints!r}; expected a function of the parameters that returns by how much each "
                "limit is missed, at most 0 where it is kept: lambda x: {'purity': 95 - purity(x)}; a rule on the "
                "parameters themselves is subject_to=['a + b <= 1']"
            )
        check_objective(constraints, searched.distributions, optional=searched.conditions, called="constraints")
    n_trials = integer("n_trials", n_trials, 1)
    points = checked_points(how.initial, searched)
    how.check()
    evaluations = how.evaluations()
    if evaluations is not None:
        fn = evaluations.of(fn, searched.names)
        if constraints is not None:
            constraints = evaluations.of(constraints, searched.names)
    sampler_for = partial(sampler_for, space=space, constraints=constraints)
    several = 1 if isinstance(direction, str) else len(direction)
    sampler_for(n_trials).check_suits(several, constraints is not None)
    for each in how.callbacks:
        getattr(each, "check_suits", lambda _: None)(several)
    started: set[int] = set()
    one_by_one = threading.Lock()

    def objective(trial: OptunaTrial) -> float | list[float]:
        started.add(trial.number)
        with one_by_one:  # so that a suggestion knows the one before
            params = suggest_active(trial, searched)
        try:
            returned = call(fn, params, lambda: trial)
        except KeyboardInterrupt:
            trial.set_user_attr(FAILURE, INTERRUPTED)  # Optuna says that it failed, and not that of this
            raise
        except EvaluationFailed as error:
            trial.set_user_attr(FAILURE, str(error))
            raise
        except TrialPruned:
            raise
        except Exception as error:
            said = _reason(error)
            trial.set_user_attr(FAILURE, said)
            if isinstance(error, how.caught):
                logger.warning(f"trial {trial.number} failed: {said}")
            raise
        try:
            if isinstance(direction, str):
                return checked_value(returned, trial.number)
            return checked_values(returned, list(direction), trial.number)
        except InvalidInputError as error:
            trial.set_user_attr(FAILURE, _reason(error))
            raise

    # What is caught is said above in one line; Optuna would add its traceback.
    with SILENT if how.caught else QUIET, nullcontext() if evaluations is None else evaluations.running():
        study = _study(direction, how, searched)
        if extensions_of(study):
            study = corrected(study)  # takes parameters that Optuna would refuse
        _warn_of_others(study, searched)
        enqueue(study, points, n_trials)
        # Trials that wait in the queue are among those to be run.
        begun = sum(trial.state != TrialState.WAITING for trial in study.get_trials(deepcopy=False))
        study.sampler = sampler_for(begun + n_trials)
        if several > 1:
            _keep_reference(study)
        if study.sampler.is_exhausted(study):
            logger.warning("all points of the space have been tried: nothing is run; when_exhausted='repeat' goes on")
            return Result(study)
        try:
            study.optimize(
                objective,
                n_trials=n_trials,
                timeout=how.timeout,
                n_jobs=how.n_jobs if evaluations is None else evaluations.n_parallel,
                callbacks=list(how.callbacks),
                catch=how.caught if evaluations is None else (*how.caught, EvaluationFailed),
                show_progress_bar=(sys.stderr.isatty() or in_notebook()) if how.progress is None else how.progress,
            )
        except KeyboardInterrupt:
            # Optuna may leave the trial that was interrupted as running, and it will never finish; others' will.
            for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
                if trial.number in started:
                    interrupt(study, trial)
            return Result(study, interrupted=True)
        except Exception as error:
            if how.storage is None:
                _hand_over(error, result_of(study))
            raise
    return Result(study)


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:LONGEST_REASON]


def _hand_over(error: Exception, result: Result) -> None:
    """Where an error ends a search in memory, the trials before it are in the error."""
    done = len(result.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))
    if done:
        with suppress(AttributeError):
            error.result = result  # type: ignore[attr-defined]
            logger.warning(
                f"this error ends the search after {done} finished trial{'s' * (done != 1)}: its attribute `result` "
                "has them; storage='study.db' keeps them in a file, catch=(…,) goes on after such errors"
            )


def _keep_reference(study: Study) -> None:
    """Where a study with several objectives goes on without a reference point, the one it was searched with counts."""
    sampler, kept = study.sampler, given_reference(study, stored=True)
    if isinstance(sampler, UHESampler) and sampler.settings.reference_point is None and kept is not None:
        sampler.settings = replace(sampler.settings, reference_point=kept)
        logger.warning(
            f"the search goes on with the reference point it had, {', '.join(f'{value:g}' for value in kept)}; give "
            "reference_point=… for another one"
        )


def _warn_of_others(study: Study, searched: SearchSpace) -> None:
    """Say that a study which is named has trials of what looks like another search."""
    known = {*searched.distributions, *searched.constants}
    others = [set(trial.params) - known for trial in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))]
    if count := sum(map(bool, others)):
        logger.warning(
            f"{count} trials of study {study.study_name!r} have parameters that this space has not "
            f"({', '.join(sorted(set().union(*others)))}): they stay in the study, and the model learns little from "
            "them; another study_name makes a study of its own"
        )


def _study(direction: Direction | dict[str, Direction], how: How, searched: SearchSpace) -> Study:
    """A new study, or the one to go on with: that of the name, and without a name the only one in the file."""
    storage, name = how.storage, how.study_name
    if storage is not None:
        # Here, because it loads SQLAlchemy, which takes longer than a search in memory.
        from uhebo.storage.places import name_in, open_storage

        storage = open_storage(given := storage, create=True)
        if name is None and not isinstance(given, BaseStorage):
            name = name_in(storage, given, searched.names)
    if isinstance(direction, str):
        return study_in(storage, name, direction, "call uhebo.{}")
    return several_in(storage, name, direction)
