"""Checks of arguments: the value in its plain Python type, or an error that says what was given and what was expected.

NumPy's numbers are numbers; True and False are not. `also` ends the sentence with what else the caller accepts.
"""

import difflib
import inspect
import math
import sys
from collections.abc import Callable, Collection, Iterable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from uhebo.errors import InvalidInputError

T = TypeVar("T")
P = ParamSpec("P")
LARGEST = sys.float_info.max
SYNONYMS = (
    {"n_trials", "n_iter", "n_calls", "max_evals", "num_trials", "budget", "maxiter", "iterations", "n_iterations"},
    {
        "n_startup_trials",
        "init_points",
        "n_initial_points",
        "num_initial_points",
        "n_initial",
        "n_init",
        "n_initial_samples",
        "n_random_starts",
        "num_sobol_trials",
    },
    {"initial", "x0", "points_to_evaluate", "initial_points"},
    {"seed", "random_state", "random_seed", "rng"},
    {"method", "algorithm", "algo", "strategy"},
    {"n_jobs", "workers", "n_workers", "num_workers"},
    {"n_parallel", "batch_size", "max_parallel", "max_concurrent"},
    {"beta", "kappa"},
    {"low", "min", "lower", "minimum"},
    {"high", "max", "upper", "maximum"},
    {"log", "log_scale", "logscale", "prior"},
    {"choices", "values", "options", "categories"},
    {
        "space",
        "bounds",
        "pbounds",
        "dimensions",
        "search_space",
        "search_spaces",
        "param_grid",
        "param_distributions",
        "params",
        "parameters",
        "domain",
    },
    {"fn", "func", "function", "objective"},
    {"acquisition", "acq_func", "acquisition_function", "acq"},
    {"progress", "show_progress_bar", "progress_bar", "verbose", "disp"},
    {"callbacks", "callback"},
    {"timeout", "max_time", "time_limit", "time_budget_s"},
    {"storage", "db", "database", "url"},
    {"deterministic", "noiseless", "noise_free"},
    {"se", "rbf", "gaussian", "squared-exponential", "sqexp"},
    {"matern52", "matern", "matern-5/2", "matern2.5"},
    {"matern32", "matern-3/2", "matern1.5"},
    {"log-ei", "ei", "logei", "expected-improvement"},
    {"ucb", "lcb", "gp-ucb"},
    {"thompson", "ts", "thompson-sampling"},
    {
        "minimize",
        "min",
        "minimise",
        "fmin",
        "tune",
        "gp_minimize",
        "forest_minimize",
        "BayesianOptimization",
        "Optimizer",
    },
    {"maximize", "max", "maximise"},
    {"auto", "gp", "bo", "default"},
    {"Int", "Integer", "Discrete"},
    {"Float", "Real", "Continuous", "Uniform"},
    {"Categorical", "Choice", "Ordinal"},
    {"UHESearchCV", "BayesSearchCV", "RandomizedSearchCV", "OptunaSearchCV"},
    {"best_params", "x", "best", "best_parameters", "best_x", "params", "best_params_"},
    {"best_value", "fun", "best_score", "best_score_", "value", "y", "best_y", "best_f"},
    {"history", "trials", "dataframe", "trials_dataframe", "to_pandas", "cv_results_", "results"},
    {"pareto", "best_trials", "pareto_front"},
)
"""Names for the same thing, ours among those that other libraries have."""
NOISE = "leave it out: noise is estimated; deterministic=True says that there is none, uhebo.tell_noise what is known"
INSTEAD = {
    "direction": "call uhebo.minimize or uhebo.maximize, or give it to the study",
    "directions": "uhebo.optimize takes several objectives",
    "maximize": "call uhebo.maximize",
    "minimize": "call uhebo.minimize",
    "sampler": "choose a method by name, such as method='uhe'; other samplers are for optuna.create_study(sampler=…)",
    "pruner": "give it to optuna.create_study(pruner=…), with UHESampler as its sampler",
    "load_if_exists": "leave it out: a study that has this name already is continued",
    "xi": "leave it out: acquisition='log-ei' and 'pi' have no margin to set",
    "noise": NOISE,
    "alpha": NOISE,
    "args": "give a function that has them: functools.partial(fn, …)",
    "kwargs": "give a function that has them: functools.partial(fn, …)",
    "patience": "callbacks=[uhebo.StopWhenSettled()] ends a run early",
    "tol": "callbacks=[uhebo.StopWhenSettled()] ends a run early",
    "early_stopping": "callbacks=[uhebo.StopWhenSettled()] ends a run early",
}
"""What to do in place of giving an option."""


def plain(value: Any) -> Any:
    """A NumPy scalar as the Python value it stands for."""
    return value.item() if isinstance(value, np.generic) else value


def integer(name: str, value: Any, least: int | None = None, *, also: str = "") -> int:
    """An integer that is at least `least`."""
    value = plain(value)
    if isinstance(value, int) and not isinstance(value, bool) and (least is None or value >= least):
        return value
    limit = "" if least is None else f" >= {least}"
    raise InvalidInputError(f"{name} is {value!r}; expected an integer{limit}{also}")


def optional_integer(name: str, value: Any, least: int, *, also: str = "") -> int | None:
    """The same, or None."""
    return None if value is None else integer(name, value, least, also=f", or None{also}")


def number(
    name: str, value: Any, least: float = -math.inf, most: float = math.inf, *, above: float = -math.inf, also: str = ""
) -> float:
    """A finite number that is at least `least`, more than `above` and at most `most`."""
    value = plain(value)
    real = isinstance(value, (int, float)) and not isinstance(value, bool)
    if real and max(least, -LARGEST) <= value <= min(most, LARGEST) and value > above:
        return float(value)
    limits = [f">= {least:g}"] * (least > -math.inf) + [f"> {above:g}"] * (above > -math.inf)
    limits += [f"<= {most:g}"] * (most < math.inf)
    raise InvalidInputError(f"{name} is {value!r}; expected a finite number {' and '.join(limits)}".rstrip() + also)


def boolean(name: str, value: Any) -> bool:
    """True or False."""
    value = plain(value)
    if isinstance(value, bool):
        return value
    raise InvalidInputError(f"{name} is {value!r}; expected True or False")


def choice(kind: str, value: T, options: Iterable[T], *, also: str = "") -> T:
    """One of `options`, such as the names in a table."""
    known = tuple(options)
    if isinstance(value, str) and value in known:
        return value
    near = meant(value, [each for each in known if isinstance(each, str)]) if isinstance(value, str) else None
    hint = f"did you mean {near!r}? Or " if near else ""
    raise InvalidInputError(f"unknown {kind} {value!r}; {hint}choose one of {', '.join(map(str, known))}{also}")


def meant(name: str, known: Collection[str]) -> str | None:
    """The known name that was probably meant by another one: a misspelling, or what other libraries call it."""
    for each in known:
        if _plainly(each) == _plainly(name):
            return each
    for group in SYNONYMS:
        if name in group or _plainly(name) in group:
            for each in known:
                if each in group:
                    return each
    return alike(name, known)


def alike(name: str, known: Collection[str]) -> str | None:
    """The known name that is spelt almost like another one; for names that are the user's own."""
    same = (each for each in known if _plainly(each) == _plainly(name))
    return next(same, None) or next(iter(difflib.get_close_matches(name, known, n=1)), None)


def _plainly(name: str) -> str:
    return name.lower().replace("_", "-").replace(" ", "-")


def by_name(*further: Callable[..., Any]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorator: a call with an option that there is not, or with one by position, is refused in words.

    `further` are those whose options the function takes too, to pass them on.
    """

    def decorate(fn: Callable[P, T]) -> Callable[P, T]:
        @wraps(fn)
        def checked(*args: P.args, **kwargs: P.kwargs) -> T:
            check_call(fn, further, len(args), kwargs)
            return fn(*args, **kwargs)

        return checked

    return decorate


INSTEAD_IN = {
    "optimize": {"pruner": "Optuna's pruners are for one objective; raise optuna.TrialPruned to give a trial up"},
    "UHERegressor": dict.fromkeys(
        ("alpha", "noise", "deterministic"),
        "noise is estimated; UHERegressor().fit(X, y, noise=…) takes the standard deviation of each target",
    ),
    "fit": {
        "sample_weight": "noise=… takes the standard deviation of each target: a weight of 4 is half of it",
        "alpha": "noise=… takes the standard deviation of each target, the square root of alpha",
    },
}
"""The same in one of the functions alone."""


def check_call(
    fn: Callable[..., Any], further: tuple[Callable[..., Any], ...], positional: int, given: Iterable[str]
) -> None:
    """Refuse arguments that a function does not have; those that are missing Python itself names well."""
    called = fn.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    ordered, known = _arguments(fn, further)
    if positional > len(ordered):
        first = ", ".join(name for name in ordered if name != "self")
        others = [name for name in known if name not in ordered]
        rest = "put the values into one list" if first else "leave them out"
        if others:
            rest = f"write {'the rest' if first else 'them'} by name, such as {others[0]}=…"
        takes = f"only {first}" if first else "no arguments"
        raise InvalidInputError(f"{called} takes {takes} by position; {rest}")
    for name in given:
        if name not in known:
            instead = INSTEAD_IN.get(called, {}).get(name) or _instead(name, known, ordered)
            raise InvalidInputError(f"{called} has no option {name!r}; {instead}")


def _instead(name: str, known: tuple[str, ...], ordered: tuple[str, ...]) -> str:
    near = meant(name, known)
    if near is not None:
        return f"did you mean {near}?"
    if name in INSTEAD:
        return INSTEAD[name]
    options = sorted(set(known) - set(ordered))
    only = ", ".join(each for each in ordered if each != "self")
    return f"its options are {', '.join(options)}" if options else f"it has none{only and f', only {only}'}"


@cache
def _arguments(
    fn: Callable[..., Any], further: tuple[Callable[..., Any], ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Arguments that may be given by position, and all that may be given by name."""
    every = [a for each in (fn, *further) for a in inspect.signature(each).parameters.values()]
    own = inspect.signature(fn).parameters.values()
    ordered = tuple(a.name for a in own if a.kind in (a.POSITIONAL_ONLY, a.POSITIONAL_OR_KEYWORD))
    named = (a.name for a in every if a.kind in (a.POSITIONAL_OR_KEYWORD, a.KEYWORD_ONLY) and a.name != "self")
    return ordered, tuple(dict.fromkeys(named))
