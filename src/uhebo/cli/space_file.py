"""The parameters as a person writes them: a TOML (or JSON) file, or `--param` options.

direction = "maximize"          # also method, seed, n_trials, n_startup_trials, acquisition, deterministic
[parameters]
lr = {type = "float", low = 1e-5, high = 0.1, log = true}
depth = {type = "int", low = 2, high = 12}
solver = {type = "categorical", choices = ["adam", "sgd"]}
temperature = [20, 90]          # two numbers are a range: of integers if both are, else of floats
gas = ["argon", "nitrogen"]     # words are choices
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution

from uhebo.cli.files import read_text
from uhebo.errors import InvalidInputError
from uhebo.space import Categorical, Float, Int, as_distributions

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SETTINGS: dict[str, tuple[type, ...]] = {
    "direction": (str,),
    "method": (str,),
    "seed": (int,),
    "n_trials": (int,),
    "n_startup_trials": (int,),
    "acquisition": (str,),
    "deterministic": (bool,),
}
"""What a space file may say besides the parameters, and as what type."""
KEYS = {
    "float": {"type", "low", "high", "log", "step"},
    "int": {"type", "low", "high", "log", "step"},
    "categorical": {"type", "choices"},
}
TYPES = {"float": "float", "int": "int", "categorical": "categorical", "cat": "categorical"}
RESERVED = ("number", "value", "state", "failure")
"""Columns of our own tables; a parameter of that name could not be told apart from them."""


@dataclass(frozen=True)
class Declared:
    """Parameters, and the settings that came with them."""

    space: dict[str, BaseDistribution]
    settings: dict[str, Any] = field(default_factory=dict)


def declared(file: str | None, params: Sequence[str] | None) -> Declared:
    """The parameters of the file and of the options together; a name may come once."""
    from_file = _read_file(file) if file is not None else Declared({})
    space = dict(from_file.space)
    for text in params or ():
        name, distribution = parse_param(text)
        if name in space:
            raise InvalidInputError(f"parameter {name!r} is given twice; drop one")
        space[name] = distribution
    return Declared(space, from_file.settings)


def _read_file(path: str) -> Declared:
    content = _parsed(path, read_text(path))
    if not isinstance(content, Mapping):
        raise InvalidInputError(f"{path} holds no table; see docs/shell.md for the format")
    unknown = [key for key in content if key not in SETTINGS and key != "parameters"]
    if unknown:
        raise InvalidInputError(
            f"{path}: unknown key {unknown[0]!r}; expected [parameters] and any of {', '.join(SETTINGS)}"
        )
    parameters = content.get("parameters")
    if not isinstance(parameters, Mapping) or not parameters:
        raise InvalidInputError(f"{path} has no [parameters]; add one line per parameter, such as x = [0.0, 1.0]")
    settings = {key: value for key, value in content.items() if key != "parameters"}
    for key, value in settings.items():
        if not isinstance(value, SETTINGS[key]) or (isinstance(value, bool) and SETTINGS[key] != (bool,)):
            raise InvalidInputError(f"{path}: {key} is {value!r}, expected a value of type {SETTINGS[key][0].__name__}")
    return Declared({name: _distribution(name, given, path) for name, given in parameters.items()}, settings)


def _parsed(path: str, text: str) -> Any:
    try:
        if path.lower().endswith(".json"):
            return json.loads(text)
        return tomllib.loads(text)
    except RecursionError as error:
        raise InvalidInputError(f"{path} is nested too deeply; see docs/shell.md for the format") from error
    except ValueError as error:  # TOMLDecodeError and JSONDecodeError are ValueErrors
        raise InvalidInputError(f"{path} is not valid: {error}") from error


def _distribution(name: str, given: Any, path: str) -> BaseDistribution:
    try:
        if isinstance(given, Mapping):
            return _from_table(name, given)
        if isinstance(given, list):
            return _from_list(name, given)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error
    raise InvalidInputError(
        f"{path}: parameter {name!r} is {given!r}; expected a range [low, high], choices or a table"
    )


def _from_list(name: str, given: list[Any]) -> BaseDistribution:
    numbers = [not isinstance(item, bool) and isinstance(item, (int, float)) for item in given]
    if len(given) == 2 and all(numbers):
        return _checked(name, (given[0], given[1]))
    if any(numbers):
        raise InvalidInputError(
            f"parameter {name!r} is {given!r}; expected two numbers as a range, or for choices "
            '{type = "categorical", choices = […]}'
        )
    return _checked(name, given)


def _from_table(name: str, table: Mapping[str, Any]) -> BaseDistribution:
    kind = TYPES.get(str(table.get("type")))
    if kind is None:
        raise InvalidInputError(f"parameter {name!r}: type is {table.get('type')!r}, expected one of {list(KEYS)}")
    wrong = sorted(set(map(str, table)) - KEYS[kind])
    needed = {"choices"} if kind == "categorical" else {"low", "high"}
    missing = sorted(needed - set(table))
    if wrong or missing:
        problem = f"unknown key {wrong[0]!r}" if wrong else f"{missing[0]!r} is missing"
        raise InvalidInputError(f"parameter {name!r}: {problem}; a {kind} has {', '.join(sorted(KEYS[kind]))}")
    if not isinstance(table.get("log", False), bool):
        raise InvalidInputError(f"parameter {name!r}: log is {table['log']!r}, expected true or false")
    options = {key: table[key] for key in table if key not in ("type", "choices")}
    try:
        made = (
            Categorical(table["choices"]) if kind == "categorical" else (Float if kind == "float" else Int)(**options)
        )
    except InvalidInputError as error:
        raise InvalidInputError(f"parameter {name!r}: {error}") from error
    return _checked(name, made)


def _checked(name: str, given: Any) -> BaseDistribution:
    if name in RESERVED:
        raise InvalidInputError(f"a parameter cannot be named {name!r}, which is a column of our tables; rename it")
    made = as_distributions({name: given})[name]
    if isinstance(made, CategoricalDistribution):
        odd = [c for c in made.choices if not (c is None or isinstance(c, (bool, int, float, str)))]
        if odd:
            raise InvalidInputError(f"parameter {name!r}: the choice {odd[0]!r} is not a text, a number, true or false")
    return made


def parse_param(text: str) -> tuple[str, BaseDistribution]:
    """`name=float:low:high[:log][:step=S]`, `name=int:…` likewise, `name=cat:a,b,c`, `name=low:high`."""
    name, equals, rest = text.partition("=")
    kind, _, details = rest.partition(":")
    if not equals or not name.strip():
        raise InvalidInputError(f"--param is {text!r}; expected NAME=TYPE:…, such as lr=float:1e-5:0.1:log")
    name = name.strip()
    if TYPES.get(kind) == "categorical":
        return name, _from_table(name, {"type": "cat", "choices": [_scalar(part) for part in details.split(",")]})
    if kind not in TYPES:
        bounds = rest.split(":")
        numbers = [_scalar(bound) for bound in bounds]
        if len(bounds) != 2 or not all(isinstance(n, (int, float)) for n in numbers):
            raise InvalidInputError(f"--param {name}={rest!r}; expected float:low:high, int:low:high or cat:a,b,c")
        return name, _checked(name, (numbers[0], numbers[1]))
    low, high, *flags = [*details.split(":"), ""] if ":" not in details else details.split(":")
    table: dict[str, Any] = {"type": kind, "low": _number(name, low), "high": _number(name, high)}
    for flag in filter(None, flags):
        key, _, value = flag.partition("=")
        if key not in ("log", "step") or (key == "step" and not value) or (key == "log" and value):
            raise InvalidInputError(f"--param {name}: {flag!r} is not known; expected log or step=NUMBER")
        table[key] = True if key == "log" else _number(name, value)
    return name, _from_table(name, table)


def _scalar(text: str) -> Any:
    """A number, true, false, null or a quoted text as JSON reads it; anything else is text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()
    return text.strip() if isinstance(value, (list, dict)) else value


def _number(name: str, text: str) -> int | float:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    raise InvalidInputError(f"--param {name}: {text!r} is not a number; expected for example {name}=float:0:1")
