"""One call: `minimize` and `maximize`."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import optuna
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from optuna.trial import Trial as OptunaTrial

from uhebo.checks import integer
from uhebo.errors import InvalidInputError
from uhebo.methods import Strategy
from uhebo.optuna_.gaps import QUIET, suggest
from uhebo.optuna_.log_space import refuse_several_objectives
from uhebo.optuna_.sampler import UHESampler
from uhebo.result import Result
from uhebo.space import as_distributions, storable

Objective = Callable[..., float]
Callback = Callable[[Study, FrozenTrial], None]
Direction = Literal["minimize", "maximize"]


def minimize(
    fn: Objective,
    space: Mapping[str, Any],
    n_trials: int = 60,
    *,
    seed: int | None = None,
    method: str | Strategy | None = None,
    storage: str | Path | BaseStorage | None = None,
    study_name: str | None = None,
    n_jobs: int = 1,
    timeout: float | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    **options: Any,
) -> Result:
    """Find parameters that make `fn` small.

    Args:
        fn: called with one keyword argument for each parameter of `space`; returns a number.
        space: name -> `(low, high)`, a list of choices, or `uhebo.Float` / `Int` / `Categorical`.
        n_trials: how many times `fn` is called. With a `storage` whose study has trials already, that many more.
        seed: same seed, same suggestions.
        method: name of a method (default: the sampler's) or a function `Step -> Proposal`.
        storage: where trials are kept, as in the shell: "study.db", a database URL, or an Optuna storage; default
            memory. With `study_name`, an existing study is continued.
        n_jobs: trials run at once, in threads.
        timeout: seconds after which no new trial is started.
        callbacks: each called as `callback(study, trial)` after every trial; `study.stop()` ends the run.
        progress: show a progress bar; default: when the standard error stream is a terminal.
        catch: exceptions of `fn` that fail the trial and let the run go on; any other one ends it.
        options: passed on to `UHESampler` (acquisition, prior, kernel, deterministic, n_startup_trials, ...).

    Ctrl-C ends the run early and returns what was done.
    """
    return _optimize(
        "minimize", fn, space, n_trials, storage, study_name, partial(make_sampler, seed, method, options),
        n_jobs, timeout, callbacks, progress, catch,
    )  # fmt: skip


def maximize(
    fn: Objective,
    space: Mapping[str, Any],
    n_trials: int = 60,
    *,
    seed: int | None = None,
    method: str | Strategy | None = None,
    storage: str | Path | BaseStorage | None = None,
    study_name: str | None = None,
    n_jobs: int = 1,
    timeout: float | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    **options: Any,
) -> Result:
    """Find parameters that make `fn` large; everything else is as in `minimize`."""
    return _optimize(
        "maximize", fn, space, n_trials, storage, study_name, partial(make_sampler, seed, method, options),
        n_jobs, timeout, callbacks, progress, catch,
    )  # fmt: skip


def _optimize(
    direction: Direction,
    fn: Objective,
    space: Mapping[str, Any],
    n_trials: int,
    storage: str | Path | BaseStorage | None,
    study_name: str | None,
    sampler_for: Callable[[int], UHESampler],
    n_jobs: int,
    timeout: float | None,
    callbacks: Sequence[Callback],
    progress: bool | None,
    catch: type[Exception] | tuple[type[Exception], ...],
) -> Result:
    """Search with the sampler for a number of trials; what cannot work is refused before it leaves a study behind."""
    distributions = storable(as_distributions(space), storage)
    check_objective(fn)
    n_trials = integer("n_trials", n_trials, 1)
    if n_jobs != -1:
        integer("n_jobs", n_jobs, 1, also=", or -1 for one per processor")
    if not isinstance(callbacks, Iterable) or not all(map(callable, callbacks)):
        raise InvalidInputError(f"callbacks is {callbacks!r}; expected a list of functions (study, trial)")
    sampler_for(n_trials)
    started: set[int] = set()

    def objective(trial: OptunaTrial) -> float:
        started.add(trial.number)
        params = {name: suggest(trial, name, distribution) for name, distribution in distributions.items()}
        return checked_value(fn(**params), trial.number)

    with QUIET:
        if storage is not None:
            # Here, because it loads SQLAlchemy, which takes longer than a search in memory.
            from uhebo.storage.places import open_storage

            storage = open_storage(storage, create=True)
        study = study_in(storage, study_name, direction, "call uhebo.{}")
        # Trials that wait in the queue are among those to be run.
        begun = sum(trial.state != TrialState.WAITING for trial in study.get_trials(deepcopy=False))
        study.sampler = sampler_for(begun + n_trials)
        try:
            study.optimize(
                objective,
                n_trials=n_trials,
                timeout=timeout,
                n_jobs=n_jobs,
                callbacks=list(callbacks),
                catch=catch,
                show_progress_bar=sys.stderr.isatty() if progress is None else progress,
            )
        except KeyboardInterrupt:
            # Optuna may leave the trial that was interrupted as running, and it will never finish; others' will.
            for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
                if trial.number in started:
                    study.tell(trial.number, state=TrialState.FAIL, skip_if_finished=True)
            return Result(study, interrupted=True)
    return Result(study)


def check_objective(fn: object) -> None:
    if not callable(fn):
        raise InvalidInputError(f"fn is {fn!r}; expected a function called with one keyword argument per parameter")


def study_in(storage: BaseStorage | None, name: str | None, direction: Direction, remedy: str) -> Study:
    """A new study, or the one of that name; not one made for the other direction, to search in it for the worst."""
    study = optuna.create_study(storage=storage, study_name=name, direction=direction, load_if_exists=True)
    refuse_several_objectives(study)
    made_to = study.direction.name.lower()
    if made_to != direction:
        raise InvalidInputError(
            f"study {study.study_name!r} was made to {made_to}; {remedy.format(made_to)}, or use another name"
        )
    return study


def make_sampler(
    seed: int | None, method: str | Strategy | None, options: Mapping[str, Any], budget: int, *, given: str = ""
) -> UHESampler:
    chosen = options if method is None else {**options, "method": method}
    try:
        return UHESampler(n_trials=budget, seed=seed, **chosen)
    except TypeError as error:  # a misspelt option, or one that has an argument of its own
        raise InvalidInputError(f"{given}{error}; the options are those of uhebo.UHESampler") from error


def checked_value(value: Any, number: int) -> float:
    """What `fn` returned, as a float; NaN passes, and Optuna fails the trial for it."""
    try:
        if isinstance(value, (str, bytes)) or np.ndim(value) != 0:
            raise TypeError
        return float(value)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"fn returned {value!r} in trial {number}, expected a number") from error
