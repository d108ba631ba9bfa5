"""Parameters declared: Optuna's distributions under short names, with errors that say what to do."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import InMemoryStorage

from uhebo.checks import boolean, by_name, integer, number, plain
from uhebo.errors import InvalidInputError, UheboWarning
from uhebo.space.columns import is_too_fine, key
from uhebo.space.rules import GivenRule, Rule

RANGES = ("uniform", "loguniform", "reciprocal", "randint")
"""Distributions of `scipy.stats` that are the same as a range."""
_EXACT = 2**53  # the largest range of integers that doubles, and so Optuna's storages, keep apart


@by_name()
def Float(low: float, high: float, *, log: bool = False, step: float | None = None) -> FloatDistribution:
    """A float in [low, high]; uniform in its logarithm with `log`, one of low, low + step, … with `step`."""
    low, high, step = _checked_float(low, high, log, step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna's word on a step that does not divide the range; ours is below
        distribution = FloatDistribution(low, high, log=log, step=step)
    _say_if_adjusted(distribution, high)
    return distribution


@by_name()
def Int(low: int, high: int, *, log: bool = False, step: int = 1) -> IntDistribution:
    """An integer in [low, high]; uniform in its logarithm with `log`, one of low, low + step, … with `step`."""
    low, high, step = _checked_int(low, high, log, step)
    distribution = IntDistribution(low, high - (high - low) % step, log=log, step=step)
    _say_if_adjusted(distribution, high)
    return distribution


@by_name()
def Categorical(choices: Sequence[Any]) -> CategoricalDistribution:
    """One of `choices`, which have no order and must all differ."""
    if isinstance(choices, (str, bytes)) or not isinstance(choices, (Sequence, np.ndarray)):
        raise InvalidInputError(f"choices are {choices!r}, expected a list such as ['adam', 'sgd']")
    return CategoricalDistribution(_checked_choices([plain(choice) for choice in choices]))


@dataclass(frozen=True)
class When:
    """A parameter that exists only where a condition holds: `When("model == 'svm'", Float(1e-3, 1e3, log=True))`.

    The condition is an expression in other parameters, written like a rule; the parameter is written as any other.
    """

    condition: GivenRule
    parameter: Any

    def __post_init__(self) -> None:
        if isinstance(self.parameter, str) or not (callable(self.condition) or isinstance(self.condition, (str, Rule))):
            if isinstance(self.parameter, str):
                raise InvalidInputError(
                    "When takes a condition and then a parameter; they are exchanged: write "
                    f"When({self.parameter!r}, {self.condition!r})"
                )
            raise InvalidInputError(
                f"When takes a condition, such as \"kind == 'a'\", and then a parameter; got {self.condition!r}"
            )


def parameters_and_conditions(
    space: Mapping[str, Any],
) -> tuple[dict[str, BaseDistribution], dict[str, GivenRule]]:
    """The space without its conditions, checked, and the conditions by the names of the parameters."""
    check_mapping(space)
    conditions = {name: given.condition for name, given in space.items() if isinstance(given, When)}
    plain = {name: given.parameter if isinstance(given, When) else given for name, given in space.items()}
    return as_distributions(plain), conditions


def described(distribution: BaseDistribution) -> str:
    """The values of a distribution, in words."""
    if isinstance(distribution, CategoricalDistribution):
        return f"one of {', '.join(map(repr, distribution.choices))}"
    assert isinstance(distribution, (FloatDistribution, IntDistribution))  # Optuna has no other kind
    kind = "an integer" if isinstance(distribution, IntDistribution) else "a number"
    steps = f" in steps of {distribution.step}" if distribution.step not in (None, 1) else ""
    return f"{kind} from {distribution.low} to {distribution.high}{steps}"


def check_mapping(space: object) -> None:
    if not isinstance(space, Mapping):
        raise InvalidInputError(f"the space is {space!r}, expected a dict such as {{'x': (0.0, 1.0)}}")


def as_distributions(space: Mapping[str, Any]) -> dict[str, BaseDistribution]:
    """The space with its shorthands written out, every entry checked and, where it is refused, named.

    (low, high) is an Int if both are integers, else a Float; a list is a Categorical; a distribution stays as it is.
    Ranges, arrays and uniform distributions of Python, NumPy and SciPy are taken for what they are.
    """
    check_mapping(space)
    return {name: _as_distribution(name, given) for name, given in space.items()}


def warn_of_shorthands(space: Mapping[str, Any]) -> None:
    """Warn of shorthands that can be read in two ways: whole numbers 0 and 1, and a list of two floats."""
    for name, given in space.items():
        given = given.parameter if isinstance(given, When) else given
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            continue
        low, high = map(plain, given)
        if isinstance(given, tuple) and type(low) is type(high) is int and (low, high) == (0, 1):
            meant = "two whole numbers; (0.0, 1.0) is a range, and Int(0, 1) says what it is"
        elif isinstance(given, list) and type(low) is type(high) is float:
            meant = f"a choice of two; ({low!r}, {high!r}) is a range, Categorical([{low!r}, {high!r}]) says what it is"
        else:
            continue
        warnings.warn(f"parameter {name!r} is {given!r}, which is {meant}", UheboWarning, stacklevel=5)


def storable(distributions: dict[str, BaseDistribution], storage: object) -> dict[str, BaseDistribution]:
    """The same distributions, if trials in `storage` come back from it as they were; memory keeps any choice.

    Every other storage writes choices as JSON: tuples come back as lists, objects not at all.
    """
    if storage is None or isinstance(storage, InMemoryStorage):
        return distributions
    for name, distribution in distributions.items():
        for choice in distribution.choices if isinstance(distribution, CategoricalDistribution) else ():
            if choice is not None and not isinstance(choice, (bool, int, float, str)):
                raise InvalidInputError(
                    f"parameter {name!r}: the choice {choice!r} is a {type(choice).__name__}, which a storage cannot "
                    "hold, expected None, bool, int, float or str; name the choices by strings and look them up in the "
                    "objective, or leave the storage out and keep the trials in memory"
                )
    return distributions


def _as_distribution(name: object, given: object) -> BaseDistribution:
    if not isinstance(name, str) or not name:
        raise InvalidInputError(f"a parameter is named {name!r}, expected a string that is not empty; rename it")
    try:
        if isinstance(given, tuple) and len(given) == 2 and not isinstance(given[0], str):
            return Int(*given) if all(isinstance(bound, Integral) for bound in given) else Float(*given)
        if isinstance(given, list):
            return Categorical(given)
        found = _of_other_libraries(given)
        if found is not None:
            return found
        # Optuna lets through what cannot be modelled: NaN, infinite bounds, equal choices, huge integers.
        if isinstance(given, FloatDistribution):
            _checked_float(given.low, given.high, given.log, given.step)
        elif isinstance(given, IntDistribution):
            _checked_int(given.low, given.high, given.log, given.step)
        elif isinstance(given, CategoricalDistribution):
            _checked_choices(given.choices)
        else:
            raise InvalidInputError(
                f"got {given!r}, expected (low, high), a list of choices, Float, Int or Categorical{_meant(given)}"
            )
        return given
    except InvalidInputError as error:
        raise InvalidInputError(f"parameter {name!r}: {error}") from error


def _of_other_libraries(given: Any) -> BaseDistribution | None:
    """Ranges and choices of Python, NumPy and SciPy; None for anything else.

    A range of integers is an Int, and so is an array of evenly spaced ones; any other array is a Categorical. Of
    `scipy.stats`: uniform, loguniform and randint.
    """
    if isinstance(given, np.ndarray) and given.ndim == 1:
        steps = np.diff(given) if np.issubdtype(given.dtype, np.integer) else given[:0]
        if len(steps) < 2 or (steps != steps[0]).any() or steps[0] < 1:
            return Categorical(list(given))
        given = range(int(given[0]), int(given[-1]) + 1, int(steps[0]))
    if isinstance(given, range) and len(given) and given.step > 0:
        return Int(given[0], given[-1], step=given.step)
    if is_unfrozen(given):
        name = given.name
        wanted = {"uniform": "low, high - low"}.get(name, "low, high" if name in RANGES else "…")
        raise InvalidInputError(f"{name} is a distribution without its numbers; write {name}({wanted})")
    kind = getattr(getattr(given, "dist", None), "name", None)
    if kind not in RANGES:
        return None
    low, high = map(plain, given.support())
    if kind == "randint":
        return Int(int(low), int(high))
    log = kind != "uniform"
    # Shifted by a `loc` it is not uniform in the logarithm any more.
    if log and not math.isclose(float(given.ppf(0.5)) ** 2, low * high, rel_tol=1e-9):
        return None
    return Float(low, high, log=log)


def is_unfrozen(given: object) -> bool:
    """Whether it is a distribution of `scipy.stats` that was not called."""
    return hasattr(given, "rvs") and hasattr(given, "freeze") and hasattr(given, "shapes")


def _meant(given: object) -> str:
    """What to write instead of something that is often written."""
    if isinstance(given, (tuple, set, frozenset)) and given and all(isinstance(each, str) for each in given):
        return f"; for choices write a list, {sorted(given) if isinstance(given, (set, frozenset)) else list(given)!r}"
    if isinstance(given, tuple) and len(given) == 3:
        low, high, third = given
        option = "log=True" if isinstance(third, (str, bool)) else f"step={third!r}"
        return f"; write Float({low!r}, {high!r}, {option})"
    if isinstance(given, Mapping) and {"low", "high"} <= given.keys():
        return f"; write Float({given['low']!r}, {given['high']!r})"
    if hasattr(given, "rvs"):
        return f"; {getattr(getattr(given, 'dist', None), 'name', 'a distribution')} is none of these: write its range"
    if isinstance(given, (str, int, float)):
        return f"; to keep it fixed write [{given!r}]"
    if isinstance(given, Mapping) and len(pair := given.get("bounds", ())) == 2:
        return f"; write {tuple(pair)!r}"
    if given is bool:
        return "; write [False, True]"
    if given is float or given is int:
        return f"; write its range, such as {(0.0, 1.0) if given is float else (1, 10)}"
    if given in (Float, Int, Categorical):
        return f"; give it values, such as {'Categorical([...])' if given is Categorical else 'Float(0.0, 1.0)'}"
    return ""


def _checked_float(low: Any, high: Any, log: bool, step: Any) -> tuple[float, float, float | None]:
    use = "; use Categorical for anything else"
    low, high = number("low", low, also=use), number("high", high, also=use)
    step = None if step is None else number("step", step, above=0.0)
    _check_range(low, high, log, step)
    if step is not None and is_too_fine(low, high, step):
        raise InvalidInputError(f"step={step} is too fine for doubles in [{low}, {high}]; use a larger one, or none")
    return low, high, step


def _checked_int(low: Any, high: Any, log: bool, step: Any) -> tuple[int, int, int]:
    use = "; use Float for other numbers, Categorical for the rest"
    low, high, step = integer("low", low, also=use), integer("high", high, also=use), integer("step", step, 1)
    _check_range(low, high, log, None if step == 1 else step)
    if max(abs(low), abs(high), high - low) > _EXACT:
        raise InvalidInputError(
            f"[{low}, {high}] goes beyond 2**53, and Optuna stores integers as doubles, which would round them; "
            "use a narrower range, or an Int for the exponent"
        )
    return low, high, step


def _check_range(low: float, high: float, log: bool, step: float | None) -> None:
    boolean("log", log)
    if low > high:
        raise InvalidInputError(f"low={low} is above high={high}, expected low <= high; exchange them")
    if log and low <= 0:
        raise InvalidInputError(f"low={low} with log=True, expected low > 0; raise it or drop the log")
    if log and step is not None:
        raise InvalidInputError(f"step={step} with log=True, expected one of the two; drop the step or the log")


def _checked_choices(choices: Sequence[Any]) -> tuple[Any, ...]:
    if not len(choices):
        raise InvalidInputError("there are no choices, expected at least one")
    seen: dict[Any, Any] = {}
    for choice in choices:
        try:
            known = key(choice) in seen
        except TypeError as error:
            raise InvalidInputError(f"the choice {choice!r} is not hashable; name it by a string") from error
        if known:
            raise InvalidInputError(
                f"the choices {seen[key(choice)]!r} and {choice!r} are equal in Python (as 1, 1.0 and True are), and "
                "Optuna could not tell them apart; drop one, or name them by strings"
            )
        seen[key(choice)] = choice
    return tuple(choices)


def _say_if_adjusted(distribution: FloatDistribution | IntDistribution, high: float) -> None:
    if distribution.high != high:
        low, step = distribution.low, distribution.step
        message = f"step={step} does not divide [{low}, {high}]: high is now {distribution.high}, the last on the grid"
        warnings.warn(message, UheboWarning, stacklevel=4)
