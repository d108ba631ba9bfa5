"""One call: `minimize`, `maximize`, and `optimize` for several objectives."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial

from uhebo.checks import by_name
from uhebo.directions import Direction, checked_directions, with_reference
from uhebo.errors import InvalidInputError
from uhebo.executor import GivenExecutor
from uhebo.initial import Points
from uhebo.methods import Method, MethodName, Strategy
from uhebo.objective import Function, call
from uhebo.optuna_.gaps import QUIET
from uhebo.optuna_.sampler import UHESampler
from uhebo.optuna_.sampler_settings import ModelOptions, SamplerOptions
from uhebo.pareto_result import ParetoResult, result_of
from uhebo.result import Result
from uhebo.search import RETRIES, Callback, Constraints, How, SeveralValues, search
from uhebo.space import When
from uhebo.space.rules import GivenRule

if TYPE_CHECKING:
    from typing_extensions import Unpack


@by_name(UHESampler)
def minimize(
    fn: Function,
    space: Mapping[str, Any],
    n_trials: int = 60,
    *,
    seed: int | None = None,
    method: MethodName | str | Strategy | Method | None = None,
    initial: Points = (),
    storage: str | Path | BaseStorage | None = None,
    study_name: str | None = None,
    n_jobs: int = 1,
    executor: GivenExecutor | None = None,
    n_parallel: int | None = None,
    evaluation_timeout: float | None = None,
    retries: int = RETRIES,
    timeout: float | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    constraints: Constraints | None = None,
    subject_to: GivenRule | Sequence[GivenRule] = (),
    **options: Unpack[ModelOptions],
) -> Result:
    """Minimise `fn` over `space`.

    Args:
        fn: called with one keyword argument for each parameter of `space`; returns a number. If it has an argument
            `trial` too, it gets the Optuna trial: `trial.report`, `trial.should_prune`, `trial.set_user_attr`.
            `optuna.TrialPruned` raised in it prunes the trial.
        space: name -> `(low, high)`, a list or an array of choices, a `range`, `uhebo.Float` / `Int` / `Categorical`,
            or `uniform`, `loguniform` or `randint` of `scipy.stats`.
            `uhebo.When("model == 'svm'", …)` around one of these makes a conditional parameter: it exists only where
            the condition holds. `fn` is called with the parameters that exist, so give it defaults for the others, or
            `**params`.
        n_trials: number of calls of `fn`; each call of `minimize` adds that many to the trials in `storage`.
        seed: same seed, same suggestions.
        method: name of a method (`uhebo.METHODS` lists them; default "auto") or a function `Step -> Proposal`.
        initial: points to be evaluated first, each with a value for every parameter. They count among `n_trials` and
            as part of the initial design. Those that a continued study has already are not evaluated again.
        storage: where trials are kept, as in the shell: "study.db", a database URL, or an Optuna storage; default
            memory.
        study_name: the study of that name is continued, or made. Without it, the only study in a file is continued, or
            one named after the file is made; on a server a new one is made.
        n_jobs: number of trials run at once, in threads.
        executor: where `fn` and `constraints` are called instead: an executor of concurrent.futures, loky, Dask, MPI,
            Ray …; or a function that makes one, called again if the executor breaks; or "processes:8" or
            "dask://host:port". Suggestions are made in this process, as results arrive.
        n_parallel: number of evaluations at once on the executor; no more than it can run.
        evaluation_timeout: on the executor, seconds after which an evaluation fails.
        retries: on the executor, how often an evaluation whose worker was lost is tried again.
        timeout: seconds after which no new trial is started.
        callbacks: each called as `callback(study, trial)` after every trial; `study.stop()` ends the run.
        progress: show a progress bar; default: in a terminal and in a notebook.
        catch: exceptions of `fn` that fail the trial and let the run go on; any other one ends it.
        constraints: called as `fn` is, after it; returns a number, a sequence of numbers or {name: number}, and the
            point is feasible where none of them is above 0. The best point is the best feasible one.
        subject_to: rules that every point keeps to: texts such as "a + b <= 1", or functions of parameters by their
            names that return True or False. Points of `initial` may break them.
        options: passed on to `UHESampler` (acquisition, prior, kernel, deterministic, n_startup_trials, ...).

    Ctrl-C ends the run early and returns the trials done so far.
    """
    how = How(
        initial, storage, study_name, n_jobs, executor, n_parallel, evaluation_timeout, retries, timeout, callbacks,
        progress, catch,
    )  # fmt: skip
    sampler_for = partial(make_sampler, seed, method, {**options, "subject_to": subject_to})
    return search("minimize", fn, space, n_trials, constraints, sampler_for, how)


@by_name(UHESampler)
def maximize(
    fn: Function,
    space: Mapping[str, Any],
    n_trials: int = 60,
    *,
    seed: int | None = None,
    method: MethodName | str | Strategy | Method | None = None,
    initial: Points = (),
    storage: str | Path | BaseStorage | None = None,
    study_name: str | None = None,
    n_jobs: int = 1,
    executor: GivenExecutor | None = None,
    n_parallel: int | None = None,
    evaluation_timeout: float | None = None,
    retries: int = RETRIES,
    timeout: float | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    constraints: Constraints | None = None,
    subject_to: GivenRule | Sequence[GivenRule] = (),
    **options: Unpack[ModelOptions],
) -> Result:
    """Maximise `fn` over `space`; everything else is as in `minimize`."""
    how = How(
        initial, storage, study_name, n_jobs, executor, n_parallel, evaluation_timeout, retries, timeout, callbacks,
        progress, catch,
    )  # fmt: skip
    sampler_for = partial(make_sampler, seed, method, {**options, "subject_to": subject_to})
    return search("maximize", fn, space, n_trials, constraints, sampler_for, how)


class OptimizeOptions(SamplerOptions, total=False):
    """Options of `minimize` that `optimize` takes as well."""

    seed: int | None
    method: MethodName | str | Strategy | Method | None
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
    constraints: Constraints | None


@by_name(minimize, UHESampler)
def optimize(
    fn: SeveralValues,
    space: Mapping[str, Any],
    n_trials: int = 60,
    *,
    directions: Mapping[str, Direction] | Sequence[Direction],
    **options: Unpack[OptimizeOptions],
) -> ParetoResult:
    """Find the trade-offs between two to four objectives.

    Args:
        fn: as in `minimize`, but returns one number for each objective: a sequence in the order of `directions`, or
            {name: number}.
        space: as in `minimize`.
        n_trials: as in `minimize`.
        directions: {name: "minimize" or "maximize"}, or a list of directions if the objectives need no names.
        options: everything else that `minimize` takes but what is for one objective (`acquisition`, `beta`,
            `reward_clip`), and `reference_point`: for each objective a value that is just not worth having, {name:
            value} or in the order of `directions`.
    """
    named = checked_directions(directions)
    arguments = inspect.signature(minimize).parameters.values()
    given: dict[str, Any] = {**options}
    run = {a.name: given.pop(a.name, a.default) for a in arguments if a.kind is a.KEYWORD_ONLY}
    constraints, subject_to, seed, method = (run.pop(name) for name in ("constraints", "subject_to", "seed", "method"))
    sampler_for = partial(make_sampler, seed, method, {**with_reference(given, named), "subject_to": subject_to})
    result = search(named, fn, space, n_trials, constraints, sampler_for, How(**run))
    return ParetoResult(result.study, result.interrupted)


def load(storage: str | Path | BaseStorage | Study, study_name: str | None = None) -> Result:
    """Open a study as a result, whichever program made it, even while it is running.

    Args:
        storage: where it is kept: "study.db", a database URL, or an Optuna storage; or the Optuna study itself.
        study_name: needed only if the storage has several studies.
    """
    from uhebo.storage import places

    if isinstance(storage, Study):
        if study_name not in (None, storage.study_name):
            raise InvalidInputError(
                f"the study given is {storage.study_name!r}, and study_name is {study_name!r}; leave study_name out"
            )
        return result_of(storage)
    if not isinstance(storage, (str, Path, BaseStorage)):
        raise InvalidInputError(
            f"storage is {storage!r}; expected a file, a database URL, an Optuna storage or an Optuna study"
        )
    place = places.Place("the storage", None, "") if isinstance(storage, BaseStorage) else places.place_of(str(storage))
    opened = places.open_storage(storage if isinstance(storage, BaseStorage) else place)
    with QUIET:
        study = places.load(opened, place, study_name, option="study_name=")
    return result_of(study)


def make_sampler(
    seed: int | None,
    method: str | Strategy | Method | None,
    options: Mapping[str, Any],
    budget: int,
    *,
    space: Mapping[str, Any] | None = None,
    constraints: Constraints | None = None,
) -> UHESampler:
    """A sampler with the options that a function was called with.

    It knows the space from the start where the first trial must keep to something: rules, conditions.
    """
    options = constrained(options, constraints)
    chosen = options if method is None else {**options, "method": method}
    bound = options.get("subject_to", ()) != () or any(isinstance(given, When) for given in (space or {}).values())
    chosen = {**chosen, "space": space} if bound and space is not None else chosen
    return UHESampler(n_trials=budget, seed=seed, **chosen)


def constrained(options: Mapping[str, Any], constraints: Constraints | None) -> Mapping[str, Any]:
    """Options of the sampler with a function of the parameters as its constraints."""
    if constraints is None:
        return options
    if options.get("constraints_func") is not None:
        raise InvalidInputError("constraints and constraints_func are both given; drop constraints_func")
    return {**options, "constraints_func": partial(_at_params, constraints)}


def _at_params(constraints: Constraints, trial: FrozenTrial) -> Any:
    return call(constraints, trial.params, lambda: trial)
