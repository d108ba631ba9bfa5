"""The function to be optimised: whether it fits the space, and one call of it."""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial, Trial

from uhebo.checks import alike
from uhebo.errors import CannotEvaluate, InvalidInputError
from uhebo.returned import LONGEST

Function = Callable[..., float]
"""The user's: one keyword argument per parameter, and the trial if it has an argument `trial`; returns a number."""
TrialGetter = Callable[[], Trial]
"""The trial under evaluation; made when asked for, because that may be a query to a database."""
Value = float | tuple[float, ...]
"""Of a trial: a number, or one for each of several objectives."""
Objective = Callable[[int, Mapping[str, Any], TrialGetter | None], Value]
"""Number of a trial, its parameters, and what gets the trial; None in a process without a connection to the study."""
TRIAL = "trial"
"""Argument for which a function gets the trial, unless a parameter of the space has that name."""
BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True)
class InTwoParts:
    """An objective whose second part reads what the first one returned.

    The first may run in a process without a connection to the study; the second needs the study, to know which
    objectives and constraints to look for.
    """

    evaluate: Callable[[int, Mapping[str, Any], TrialGetter | None], Any]
    read: Callable[[Any, TrialGetter | None], Value]

    def __call__(self, number: int, params: Mapping[str, Any], trial: TrialGetter | None) -> Value:
        return self.read(self.evaluate(number, params, trial), trial)


def as_tuple(value: Value) -> tuple[float, ...]:
    """One value for each objective."""
    return value if isinstance(value, tuple) else (value,)


def plain(returned: Any) -> Any:
    """What a function returned, in types of Python's own, for another process: numbers, texts, lists and tables."""
    if isinstance(returned, Mapping):
        return {str(name): plain(item) for name, item in returned.items()}
    if isinstance(returned, (str, bool)) or returned is None:
        return returned
    if isinstance(returned, Sequence) or (isinstance(returned, np.ndarray) and returned.ndim):
        return [plain(item) for item in returned]
    try:
        return float(returned)
    except (TypeError, ValueError, OverflowError):
        return repr(returned)[:LONGEST]


def check_objective(fn: object, names: Iterable[str], optional: Collection[str] = (), called: str = "fn") -> None:
    """Refuse what cannot be called with these parameters, before anything is run; `optional` are not always there."""
    if not callable(fn):
        raise InvalidInputError(
            f"{called} is {fn!r}; expected a function called with one keyword argument per parameter"
        )
    names = list(names)
    if not names and not takes_trial(fn, names):
        raise InvalidInputError("the space has no parameter; expected at least one, such as {'x': (0.0, 1.0)}")
    if inspect.iscoroutinefunction(fn):
        raise InvalidInputError(
            f"{called} is an async function; await it in a plain one: return asyncio.run({_bare(called)}(…))"
        )
    arguments = _arguments(fn)
    if arguments is None:
        return
    needed = [a.name for a in arguments if a.default is a.empty and a.kind in (*BY_NAME, a.POSITIONAL_ONLY)]
    by_position = [a.name for a in arguments if a.kind is a.POSITIONAL_ONLY and a.name in needed]
    missing = [name for name in needed if name not in names and name != TRIAL]
    absent = [name for name in needed if name in optional]
    takes = [a.name for a in arguments if a.kind in BY_NAME]
    open_ended = any(a.kind is a.VAR_KEYWORD for a in arguments)
    unknown = [] if open_ended else [name for name in names if name not in takes]
    if by_position:
        raise InvalidInputError(
            f"{called} takes {_listed(by_position)} by position only, and parameters are given by name; remove the / "
            "from it"
        )
    if missing:
        spare = [] if open_ended else [name for name in names if name not in takes]
        todo = _instead_of_missing(missing, needed, names, spare, called)
        raise InvalidInputError(f"{called} needs {_listed(missing)}, and the space has {_listed(names)}; {todo}")
    if absent:
        raise InvalidInputError(
            f"{called} needs {_listed(absent)}, which not every point has; give it a default such as {absent[0]}=None"
        )
    if unknown and takes == [TRIAL]:
        raise InvalidInputError(
            f"{called} takes the trial alone, as Optuna's objectives do; write def {_bare(called)}({', '.join(names)})"
            ", or give it to study.optimize with UHESampler"
        )
    if unknown:
        raise InvalidInputError(
            f"the space has {_listed(unknown)}, and {called} takes {_listed(takes) or 'no argument'}; "
            "rename it, or add it to the function"
        )


def _instead_of_missing(
    missing: Sequence[str], needed: Sequence[str], names: Sequence[str], spare: Sequence[str], called: str
) -> str:
    """What to do about arguments that are no parameters; `spare` are parameters that are no arguments."""
    near = [(name, alike(name, spare)) for name in missing]
    renamed = [f"rename {other!r} to {name!r}" for name, other in near if other]
    if renamed:
        return renamed[0]
    if len(needed) == 1:
        every = f"def {_bare(called)}({', '.join(names)})"
        return f"parameters come by name: write {every}, or def {_bare(called)}(**{needed[0]})"
    return "add it to the space, rename it, or give it a default"


def _bare(called: str) -> str:
    """A function's name without its module."""
    return called.rpartition(":")[2].rpartition(".")[2]


def takes_trial(fn: Callable[..., Any], names: Iterable[str]) -> bool:
    """Whether a function of these parameters gets the trial as well."""
    return TRIAL not in names and any(a.name == TRIAL and a.kind in BY_NAME for a in _arguments(fn) or ())


def call(fn: Callable[..., Any], params: Mapping[str, Any], trial: Callable[[], Trial | FrozenTrial] | None) -> Any:
    """What `fn` returns for these parameters; it gets the trial if it has an argument `trial`."""
    if not takes_trial(fn, params):
        return fn(**params)
    if trial is None:
        raise CannotEvaluate(
            "fn takes the trial, and with a limit on time or memory, or on an executor, it runs in a process that has "
            "none; leave these out, or the argument `trial`"
        )
    return fn(**params, **{TRIAL: trial()})


def _arguments(fn: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """None where Python cannot tell, as for some functions written in C."""
    try:
        return list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
