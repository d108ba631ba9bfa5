"""One call: `minimize` and `maximize`."""

import difflib
import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import optuna
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from optuna.trial import Trial as OptunaTrial

from uhebo.checks import boolean, integer, number
from uhebo.errors import InvalidInputError
from uhebo.methods import Strategy
from uhebo.objective import Function, call, check_objective, checked_value
from uhebo.optuna_.gaps import QUIET, suggest_active
from uhebo.optuna_.log_space import refuse_several_objectives
from uhebo.optuna_.sampler import UHESampler
from uhebo.result import Result
from uhebo.space import SearchSpace, When, storable
from uhebo.space.declare import described
from uhebo.space.moves import active_names
from uhebo.space.rules import GivenRule

Constraints = Callable[..., float | Sequence[float] | Mapping[str, float]]
Callback = Callable[[Study, FrozenTrial], None]
Direction = Literal["minimize", "maximize"]
Points = Sequence[Mapping[str, Any]]
SYNONYMS = {
    **dict.fromkeys(("n_iter", "n_calls", "max_evals", "num_trials", "budget", "maxiter"), "n_trials"),
    **dict.fromkeys(("init_points", "n_initial_points", "num_initial_points"), "n_startup_trials"),
    **dict.fromkeys(("x0", "points_to_evaluate", "initial_points"), "initial"),
    "random_state": "seed",
    "sampler": "method",
    "workers": "n_jobs",
}
"""Names that other libraries have for an option -> the option."""


def minimize(
    fn: Function,
    space: Mapping[str, Any],
    n_trials: int = 60,
    *,
    seed: int | None = None,
    method: str | Strategy | None = None,
    initial: Points = (),
    storage: str | Path | BaseStorage | None = None,
    study_name: str | None = None,
    n_jobs: int = 1,
    timeout: float | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    constraints: Constraints | None = None,
    subject_to: GivenRule | Sequence[GivenRule] = (),
    **options: Any,
) -> Result:
    """Find parameters that make `fn` small.

    Args:
        fn: called with one keyword argument for each parameter of `space`; returns a number. If it has an argument
            `trial` too, it gets the Optuna trial: `trial.report`, `trial.should_prune`, `trial.set_user_attr`.
            `optuna.TrialPruned` raised in it prunes the trial.
        space: name -> `(low, high)`, a list of choices, or `uhebo.Float` / `Int` / `Categorical`.
            `uhebo.When("model == 'svm'", …)` around one of these makes a parameter that is there only where the
            condition holds: `fn` is called with those that are there, so give it a default for the others, or
            `**params`.
        n_trials: how many times `fn` is called. With a `storage` whose study has trials already, that many more.
        seed: same seed, same suggestions.
        method: name of a method (default: the sampler's) or a function `Step -> Proposal`.
        initial: points to be evaluated first, each with a value for every parameter. They count among `n_trials` and
            as part of the initial design. Those that a continued study has already are not evaluated again.
        storage: where trials are kept, as in the shell: "study.db", a database URL, or an Optuna storage; default
            memory. With `study_name`, an existing study is continued.
        n_jobs: trials run at once, in threads.
        timeout: seconds after which no new trial is started.
        callbacks: each called as `callback(study, trial)` after every trial; `study.stop()` ends the run.
        progress: show a progress bar; default: when the standard error stream is a terminal.
        catch: exceptions of `fn` that fail the trial and let the run go on; any other one ends it.
        constraints: called as `fn` is, after it; returns a number, a sequence of numbers or {name: number}, and the
            point is feasible where none of them is above 0. The best point is the best feasible one.
        subject_to: rules that every point keeps to: texts such as "a + b <= 1", or functions of parameters by their
            names that return True or False. Points of `initial` need not.
        options: passed on to `UHESampler` (acquisition, prior, kernel, deterministic, n_startup_trials, ...).

    Ctrl-C ends the run early and returns what was done.
    """
    options = {**constrained(options, constraints), "subject_to": subject_to}
    return _optimize(
        "minimize", fn, space, n_trials, initial, storage, study_name,
        partial(make_sampler, seed, method, options, of=minimize), n_jobs, timeout, callbacks, progress, catch,
    )  # fmt: skip


def maximize(
    fn: Function,
    space: Mapping[str, Any],
    n_trials: int = 60,
    *,
    seed: int | None = None,
    method: str | Strategy | None = None,
    initial: Points = (),
    storage: str | Path | BaseStorage | None = None,
    study_name: str | None = None,
    n_jobs: int = 1,
    timeout: float | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    constraints: Constraints | None = None,
    subject_to: GivenRule | Sequence[GivenRule] = (),
    **options: Any,
) -> Result:
    """Find parameters that make `fn` large; everything else is as in `minimize`."""
    options = {**constrained(options, constraints), "subject_to": subject_to}
    return _optimize(
        "maximize", fn, space, n_trials, initial, storage, study_name,
        partial(make_sampler, seed, method, options, of=maximize), n_jobs, timeout, callbacks, progress, catch,
    )  # fmt: skip


def _optimize(
    direction: Direction,
    fn: Function,
    space: Mapping[str, Any],
    n_trials: int,
    initial: Points,
    storage: str | Path | BaseStorage | None,
    study_name: str | None,
    sampler_for: Callable[..., UHESampler],
    n_jobs: int,
    timeout: float | None,
    callbacks: Sequence[Callback],
    progress: bool | None,
    catch: type[Exception] | tuple[type[Exception], ...],
) -> Result:
    """Search with the sampler for a number of trials; what cannot work is refused before it leaves a study behind."""
    searched = SearchSpace.of(space)
    storable(searched.distributions, storage)
    check_objective(fn, searched.distributions, optional=searched.conditions)
    n_trials = integer("n_trials", n_trials, 1)
    points = checked_points(initial, searched)
    if timeout is not None:
        timeout = number("timeout", timeout, above=0, also=" of seconds, or None")
    if progress is not None:
        boolean("progress", progress)
    if n_jobs != -1:
        integer("n_jobs", n_jobs, 1, also=", or -1 for one per processor")
    if not isinstance(callbacks, Iterable) or not all(map(callable, callbacks)):
        raise InvalidInputError(f"callbacks is {callbacks!r}; expected a list of functions (study, trial)")
    sampler_for = partial(sampler_for, space=space)
    sampler_for(n_trials)
    started: set[int] = set()

    def objective(trial: OptunaTrial) -> float:
        started.add(trial.number)
        return checked_value(call(fn, suggest_active(trial, searched), lambda: trial), trial.number)

    with QUIET:
        if storage is not None:
            # Here, because it loads SQLAlchemy, which takes longer than a search in memory.
            from uhebo.storage.places import open_storage

            storage = open_storage(storage, create=True)
        study = study_in(storage, study_name, direction, "call uhebo.{}")
        enqueue(study, points, n_trials)
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


def checked_points(points: Points, space: SearchSpace) -> list[dict[str, Any]]:
    """Points with every parameter that is active there and no other, in the types that the space has."""
    if isinstance(points, (str, Mapping)) or not isinstance(points, Iterable):
        raise InvalidInputError(f"initial is {points!r}; expected a list of points such as [{{'x': 0.5}}]")
    checked = []
    for i, point in enumerate(points):
        if not isinstance(point, Mapping):
            raise InvalidInputError(f"point {i} of initial is {point!r}; expected a dict such as {{'x': 0.5}}")
        active = [name for name in space.distributions if name in active_names(space, point)]
        wrong = [name for name in point if name not in active]
        missing = sorted(set(active) - set(point))
        if wrong or missing:
            said = f"has a parameter {wrong[0]!r}" if wrong else f"lacks {missing[0]!r}"
            raise InvalidInputError(f"point {i} of initial {said}; expected {', '.join(active) or 'none'}")
        for name in active:
            if not SearchSpace.of({name: space.distributions[name]}).contains(point):
                raise InvalidInputError(
                    f"point {i} of initial: parameter {name!r} is {point[name]!r}, expected "
                    f"{described(space.distributions[name])}"
                )
        pairs = ((name, space.distributions[name]) for name in active)
        checked.append({name: d.to_external_repr(d.to_internal_repr(point[name])) for name, d in pairs})
    return checked


def enqueue(study: Study, points: Sequence[dict[str, Any]], n_trials: int) -> None:
    """Points that the study does not have yet are to be evaluated first; one that is given twice is wanted twice."""
    trials = study.get_trials(deepcopy=False)
    # A point that waits has its parameters in the attribute only.
    there = Counter(repr(sorted({**t.system_attrs.get("fixed_params", {}), **t.params}.items())) for t in trials)
    missing = []
    for point in points:
        key = repr(sorted(point.items()))
        if there[key] > 0:
            there[key] -= 1
        else:
            missing.append(point)
    if len(missing) > n_trials:
        raise InvalidInputError(f"initial has {len(missing)} points to evaluate and n_trials is {n_trials}; raise it")
    for point in missing:
        study.enqueue_trial(point)


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
    seed: int | None,
    method: str | Strategy | None,
    options: Mapping[str, Any],
    budget: int,
    *,
    of: Callable[..., Any] = UHESampler,
    given: str = "",
    space: Mapping[str, Any] | None = None,
) -> UHESampler:
    """A sampler with the options that a function (`of`) was called with; one that neither has is refused.

    It knows the space from the start where the first trial must keep to something: rules, conditions.
    """
    known = {name for made in (of, UHESampler) for name in inspect.signature(made).parameters} - {"options"}
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = SYNONYMS.get(name, near[0] if near else None)
            hint = f"did you mean {meant}?" if meant in known else f"its options are {', '.join(sorted(known))}"
            raise InvalidInputError(f"{given}{of.__name__} has no option {name!r}; {hint}")
    chosen = options if method is None else {**options, "method": method}
    bound = options.get("subject_to", ()) != () or any(isinstance(given, When) for given in (space or {}).values())
    chosen = {**chosen, "space": space} if bound and space is not None else chosen
    try:
        return UHESampler(n_trials=budget, seed=seed, **chosen)
    except TypeError as error:  # a misspelt option, or one that has an argument of its own
        raise InvalidInputError(f"{given}{error}; the options are those of uhebo.UHESampler") from error


def constrained(options: dict[str, Any], constraints: Constraints | None) -> dict[str, Any]:
    """Options of the sampler with a function of the parameters as its constraints."""
    if constraints is None:
        return options
    if not callable(constraints):
        raise InvalidInputError(f"constraints is {constraints!r}; expected a function called as fn is")
    return {**options, "constraints_func": partial(_at_params, constraints)}


def _at_params(constraints: Constraints, trial: FrozenTrial) -> Any:
    return constraints(**trial.params)
