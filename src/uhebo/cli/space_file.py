"""The parameters as a person writes them: a TOML (or JSON) file, or `--param` options.

direction = "maximize"          # also method, seed, n_trials, n_startup_trials, acquisition, deterministic
subject_to = ["depth * lr < 1"] # rules that every suggestion keeps to
constraints = ["memory <= 8"]   # what every result says besides its value, and its limit
objectives = {accuracy = "maximize", seconds = "minimize"}  # in place of direction, where there are several
[parameters]
lr = {type = "float", low = 1e-5, high = 0.1, log = true}
depth = {type = "int", low = 2, high = 12}
solver = {type = "categorical", choices = ["adam", "sgd"]}
temperature = [20, 90]          # two numbers are a range: of integers if both are, else of floats
gas = ["argon", "nitrogen"]     # words are choices
momentum = {type = "float", low = 0.0, high = 1.0, when = "solver == 'sgd'"}
"""

import json
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from inspect import Parameter, signature
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from uhebo.cli.bounds import Bounds, parse_all
from uhebo.cli.objectives import Objectives, with_options
from uhebo.cli.records import DOUBTFUL_COMMA, WITH_COMMA, texts
from uhebo.cli.space_settings import SETTINGS as SETTINGS
from uhebo.cli.space_settings import check_place, check_settings
from uhebo.cli.tables import read_text
from uhebo.errors import InvalidInputError
from uhebo.space import Categorical, Float, Int, SearchSpace, When, as_distributions
from uhebo.storage.explain import listed

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KINDS: dict[str, Callable[..., BaseDistribution]] = {
    "float": Float,
    "int": Int,
    "categorical": Categorical,
    "cat": Categorical,
}
RESERVED = ("number", "value", "state", "failure", "feasible")
"""Columns of our own tables; a parameter of that name could not be told apart from them."""
SPACE_COLUMNS = ("parameter", "kind", "values", "scale", "how many")


@dataclass(frozen=True)
class Kept:
    """Parameters, and the settings that are kept with them in a study."""

    space: dict[str, BaseDistribution]
    settings: dict[str, Any]
    when: dict[str, str] = field(default_factory=dict)
    """Conditions of parameters that are not always there."""
    constraints: Bounds = ()
    """What every result must say besides its value, and within which limits it is feasible."""
    objectives: Objectives = field(default_factory=dict)
    """What is wanted, by name; empty for one objective without a name."""
    units: dict[str, str] = field(default_factory=dict)
    """Units of parameters, objectives and what constraints are about, where they are known."""

    @property
    def named(self) -> list[str]:
        """All that has a name: parameters, objectives, what constraints are about."""
        return [*self.space, *(self.objectives or ["value"]), *(bound.name for bound in self.constraints)]

    @property
    def declared(self) -> dict[str, Any]:
        """The parameters as for `uhebo.minimize`."""
        return {name: When(self.when[name], d) if name in self.when else d for name, d in self.space.items()}

    @property
    def search_space(self) -> SearchSpace:
        """The parameters with their conditions and rules, checked."""
        return SearchSpace.of(self.declared, rules=self.settings.get("subject_to", ()))

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the sampler; it knows the space where the first trials must keep to something, or to each other:
        the default's initial design is spread, also over a batch of which nothing has been told yet."""
        bound = self.when or self.settings.get("subject_to") or self.settings.get("method", "auto") == "auto"
        return {**self.settings, "space": self.declared} if bound else self.settings


def declared(
    file: str | None,
    params: Sequence[str] | None,
    constraints: Sequence[str] | None = None,
    objectives: Sequence[str] | None = None,
) -> Kept:
    """Parameters, constraints and objectives of the file and of the options together; a name may come once."""
    found = _read_file(file) if file is not None else Kept({}, {})
    for text in params or ():
        name, distribution = parse_param(text)
        if name in found.space:
            raise InvalidInputError(f"parameter {name!r} is given twice; drop one")
        found.space[name] = distribution
    try:
        found.search_space  # noqa: B018 (names in rules and conditions are checked where all parameters are known)
    except InvalidInputError as error:
        raise InvalidInputError(f"{file}: {error}" if file is not None else str(error)) from error
    texts = [*map(str, found.constraints), *(constraints or ())]
    named = with_options(found.objectives, objectives or ())
    return replace(found, constraints=parse_all(texts, [*found.space, *RESERVED], named), objectives=named)


def _read_file(path: str) -> Kept:
    settings = _parsed(path, read_text(path))
    if not isinstance(settings, dict):
        raise InvalidInputError(f"{path} holds no table; see docs/shell.md for the format")
    parameters = settings.pop("parameters", None)
    constraints, objectives = settings.pop("constraints", []), settings.pop("objectives", {})
    units = settings.pop("units", {})
    if not isinstance(units, dict) or not all(isinstance(unit, str) for unit in units.values()):
        raise InvalidInputError(f'{path}: units is {units!r}, expected a table such as {{temperature = "°C"}}')
    if not isinstance(constraints, list):
        raise InvalidInputError(f"{path}: constraints is {constraints!r}, expected a list such as ['purity >= 95']")
    check_settings(path, settings, objectives)
    check_place(path, parameters)
    if not isinstance(parameters, dict) or not parameters:
        raise InvalidInputError(f"{path} has no [parameters]; add one line per parameter, such as x = [0.0, 1.0]")
    try:
        when = {name: _condition(name, given.pop("when")) for name, given in parameters.items() if _has_when(given)}
        space = {name: _distribution(name, given) for name, given in parameters.items()}
        named = with_options(objectives, ())
        return Kept(space, settings, when, parse_all(constraints, [*space, *RESERVED], named), named, units)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error


def _parsed(path: str, text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_once) if path.lower().endswith(".json") else tomllib.loads(text)
    except RecursionError as error:
        raise InvalidInputError(f"{path} is nested too deeply; see docs/shell.md for the format") from error
    except ValueError as error:  # TOMLDecodeError and JSONDecodeError are ValueErrors
        raise InvalidInputError(f"{path} is not valid: {error}") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A table of a JSON file; TOML refuses a name that comes twice by itself."""
    names = [name for name, _ in pairs]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"{twice[0]!r} is there twice in one table; drop one")
    return dict(pairs)


def _has_when(given: Any) -> bool:
    return isinstance(given, dict) and "when" in given


def _condition(name: str, given: Any) -> str:
    if not isinstance(given, str):
        raise InvalidInputError(f"parameter {name!r}: when is {given!r}, expected a text such as \"solver == 'sgd'\"")
    return given


def _distribution(name: str, given: Any) -> BaseDistribution:
    if name in RESERVED:
        raise InvalidInputError(f"a parameter cannot be named {name!r}, which is a column of our tables; rename it")
    if isinstance(given, dict):
        try:
            given = _from_table(given)
        except InvalidInputError as error:
            raise InvalidInputError(f"parameter {name!r}: {error}") from error
    elif isinstance(given, list):
        numbers = [isinstance(item, (int, float)) and not isinstance(item, bool) for item in given]
        if len(given) == 2 and all(numbers):
            _refuse_two_values(name, *given)
            given = tuple(given)
        elif any(numbers):
            raise InvalidInputError(
                f"parameter {name!r} is {given!r}; expected two numbers as a range, or for choices "
                '{type = "categorical", choices = […]}'
            )
    else:
        raise InvalidInputError(f"parameter {name!r} is {given!r}; expected a range [low, high], choices or a table")
    made = as_distributions({name: given})[name]
    for choice in made.choices if isinstance(made, CategoricalDistribution) else ():
        if choice is not None and not isinstance(choice, (bool, int, float, str)):
            raise InvalidInputError(f"parameter {name!r}: the choice {choice!r} is not a text, a number, true or false")
    return made


def _refuse_two_values(name: str, low: float, high: float) -> None:
    """0 to 1 as whole numbers is two values; nearly everybody who writes it means what lies between."""
    if isinstance(low, int) and isinstance(high, int) and (low, high) == (0, 1):
        raise InvalidInputError(
            f"parameter {name!r} from 0 to 1 could be any number between, or these two alone; write {name}=float:0:1 "
            f'or {name}=int:0:1 (in a file [0.0, 1.0], or {{type = "int", low = 0, high = 1}})'
        )


def _from_table(table: dict[str, Any]) -> BaseDistribution:
    given = dict(table)
    kind = given.pop("type", None)
    if kind is None:
        ends = "choices = […]" if "choices" in given else "low = …, high = …"
        likely = "categorical" if "choices" in given else "float"
        raise InvalidInputError(
            f'type is missing; write {{type = "{likely}", {ends}}}: "float" for numbers, "int" for whole numbers, '
            '"categorical" for choices'
        )
    if kind not in tuple(KINDS):
        raise InvalidInputError(f"type is {kind!r}, expected float, int or categorical")
    keys = signature(KINDS[kind]).parameters
    unknown = [f"unknown key {key!r}" for key in given if key not in keys]
    missing = [f"{key!r} is missing" for key in keys if key not in given and keys[key].default is Parameter.empty]
    if unknown or missing:
        raise InvalidInputError(f"{[*unknown, *missing][0]}; {kind} has type, {', '.join(keys)}")
    if not isinstance(given.get("log", False), bool):
        raise InvalidInputError(f"log is {given['log']!r}, expected true or false")
    return KINDS[kind](**given)


def parse_param(text: str) -> tuple[str, BaseDistribution]:
    """`name=float:low:high[:log][:step=S]`, `name=int:…` likewise, `name=cat:a,b,c`, `name=low:high`."""
    name, equals, rest = text.partition("=")
    name = name.strip()
    if not equals or not name:
        raise InvalidInputError(f"--param is {text!r}; expected NAME=TYPE:…, such as lr=float:1e-5:0.1:log")
    kind, _, details = rest.partition(":")
    if details and KINDS.get(kind) is not Categorical:
        commas = [part for part in re.split("[:=]", rest) if WITH_COMMA.fullmatch(part)]
        thousands = ", and nothing between thousands" if any(map(DOUBTFUL_COMMA.fullmatch, commas)) else ""
        if commas:
            raise InvalidInputError(
                f"--param is {text!r}; numbers have a decimal point here{thousands}: write "
                f"{name}={rest.replace(',', '.')}"
            )
    if kind not in KINDS:
        bounds = [_number(bound) for bound in rest.split(":")]
        if len(bounds) != 2 or any(isinstance(bound, str) for bound in bounds):
            raise InvalidInputError(f"--param {name}={rest!r}; expected float:low:high, int:low:high or cat:a,b,c")
        return name, _distribution(name, bounds)
    if KINDS[kind] is Categorical:
        return name, _distribution(name, {"type": kind, "choices": [_choice(part) for part in details.split(",")]})
    low, _, high_and_flags = details.partition(":")
    high, *flags = high_and_flags.split(":")
    table = {"type": kind, "low": _number(low), "high": _number(high)}
    for flag in filter(None, flags):
        key, equals, value = flag.partition("=")
        table[key] = _number(value) if equals else True
    return name, _distribution(name, table)


def _number(text: str) -> int | float | str:
    """Text that is not a number is left for the check of the whole to refuse."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _choice(text: str) -> Any:
    """A number, true, false, null or a quoted text as JSON reads it; anything else is text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()
    return text.strip() if isinstance(value, (list, dict)) else value


def space_rows(kept: Kept) -> list[tuple[str, str, str, str, str]]:
    """What was understood of each parameter, under `SPACE_COLUMNS`."""
    rows = []
    for name, made in kept.space.items():
        where = f", where {kept.when[name]}" if name in kept.when else ""
        count = SearchSpace.of({name: made}).size if not made.single() else 1
        shown = f"{count:.0f}" if count < float("inf") else "any"
        if isinstance(made, CategoricalDistribution):
            rows.append((name, "choice", listed(texts(made)) + where, "-", shown))
            continue
        assert isinstance(made, (FloatDistribution, IntDistribution))  # a space has no other kinds
        kind = "whole number" if isinstance(made, IntDistribution) else "number"
        steps = f" in steps of {made.step}" if made.step not in (None, 1) else ""
        scale = "logarithmic" if made.log else "linear"
        unit = f" {kept.units[name]}" if name in kept.units else ""
        rows.append((name, kind, f"{made.low} to {made.high}{unit}{steps}{where}", scale, shown))
    return rows
