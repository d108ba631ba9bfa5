"""Objectives as a person writes them: `yield:maximize`, and by name in whatever tells a result.

A study of several has them under these names in Optuna too (`study.metric_names`). One objective needs no name: then it
is `value` in every table, and the last number that a program prints.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from optuna.study import Study

from uhebo.checks import meant
from uhebo.cli.bounds import Bounds, from_arguments, measured, names_of
from uhebo.cli.rows import refuse_spaces, value_of, with_error
from uhebo.errors import InvalidInputError
from uhebo.methods import METHODS
from uhebo.optuna_ import fronts
from uhebo.optuna_.log_space import MOST_OBJECTIVES

DIRECTIONS = ("minimize", "maximize")
UNREADABLE = re.compile(r"[=<>:\x00-\x1f\x7f]|^\s|\s$|^$")
"""What a name cannot have: it would not be read back from `name=81.2`."""
LONGEST_UNIT = 30
"""Characters."""
ATTRIBUTE_KEY = "objectives"
"""Key under which the shell keeps the names that it was given."""
Objectives = dict[str, str]
"""Name -> direction, in the order of the values; empty for one objective without a name."""


def parse(text: str) -> tuple[str, str]:
    """`NAME:minimize` or `NAME:maximize`."""
    name, _, direction = text.rpartition(":")
    if direction.strip() not in DIRECTIONS or not name.strip():
        near = meant(direction.strip(), DIRECTIONS) if name.strip() else None
        hint = f"did you mean {name.strip()}:{near}? Otherwise " if near else ""
        raise InvalidInputError(f"--objective is {text!r}; {hint}expected NAME:minimize or NAME:maximize")
    return name.strip(), direction.strip()


def with_options(found: Any, texts: Sequence[str]) -> Objectives:
    """The space file's objectives and those of the options together; an option wins."""
    if not isinstance(found, Mapping) or not all(isinstance(value, str) for value in found.values()):
        raise InvalidInputError(f"objectives is {found!r}; expected each with its direction, such as {_meant(found)}")
    given: Objectives = {}
    for name, direction in map(parse, texts):
        if name in given:
            raise InvalidInputError(f"objective {name!r} is given twice; drop one, or name them differently")
        given[name] = direction
    return {**found, **given}


def _meant(found: Any) -> str:
    """What was probably meant by objectives that are no table of names and directions."""
    ways: Objectives = {}
    for each in found if isinstance(found, (list, Mapping)) else ():
        name, _, way = str(each).rpartition(":") if str(each).endswith(DIRECTIONS) else (str(each), "", "")
        ways[name.strip() or str(each)] = way.strip() or DIRECTIONS[not ways]
    ways = ways or {"yield": "maximize", "cost": "minimize"}
    pairs = ", ".join(f'{name} = "{way}"' for name, way in ways.items())
    return f"{{{pairs}}}"


def check(objectives: Objectives, taken: Sequence[str], settings: Mapping[str, Any]) -> None:
    """Refuse names that could not be told apart or read back, and what cannot be optimised."""
    for name, direction in objectives.items():
        if direction not in DIRECTIONS:
            raise InvalidInputError(f"the direction of {name!r} is {direction!r}; expected minimize or maximize")
        if UNREADABLE.search(name):
            raise InvalidInputError(
                f"an objective is named {name!r}; expected a name without = < > : and without spaces at its ends"
            )
        if name in taken:
            raise InvalidInputError(
                f"the objective {name!r} has the name of a parameter or of a column of our tables; rename it"
            )
    if len(objectives) > MOST_OBJECTIVES:
        raise InvalidInputError(
            f"there are {len(objectives)} objectives, and uhebo optimises up to {MOST_OBJECTIVES}; combine some of "
            "them into one value, or make constraints of them"
        )
    if objectives and "direction" in settings:
        raise InvalidInputError("a direction and objectives were both given; each objective has its own, so drop it")
    method = settings.get("method", "auto")
    if len(objectives) > 1 and method in METHODS and not METHODS[method].several:
        raise InvalidInputError(
            f"method {method!r} optimises one objective, and there are {len(objectives)}: its rule and its guarantee "
            "speak of one best value; leave the method out"
        )
    if len(objectives) > 1 and "acquisition" in settings:
        raise InvalidInputError(
            "with several objectives the acquisition is the expected gain of hypervolume; leave the option out"
        )


def reference_of(objectives: Objectives, given: Mapping[str, Any], texts: Sequence[str] | None) -> dict[str, Any]:
    """The sampler's setting for a reference point by name, of the space file and of options; none if none is given."""
    found = dict(given)
    for text in texts or ():
        name, _, value = text.rpartition("=")
        found[name.strip()] = value
    if not found:
        return {}
    if set(found) != set(objectives) or len(objectives) < 2:
        names = ", ".join(objectives) if len(objectives) > 1 else "which are not there: give --objective"
        raise InvalidInputError(f"the reference point is of {', '.join(found)}; expected one for each of {names}")
    return {"reference_point": [value_of(str(found[name]), f"the reference of {name}") for name in objectives]}


def with_units(given: Mapping[str, str], texts: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    """Units of the space file and of options `NAME=UNIT`, each of something that there is."""
    found = dict(given)
    for text in texts:
        name, equals, unit = (part.strip() for part in text.rpartition("="))
        if not equals or not name:
            raise InvalidInputError(f"--unit is {text!r}; expected NAME=UNIT, such as temperature=°C")
        found[name] = unit
    for name, unit in found.items():
        if name not in known:
            raise InvalidInputError(f"there is nothing called {name!r} to have a unit; there is {', '.join(known)}")
        if not unit.isprintable() or any(sign in unit for sign in "[]=") or len(unit) > LONGEST_UNIT:
            raise InvalidInputError(f"the unit of {name} is {unit!r}; expected a short text without [ ] =")
    return found


def objectives_in(study: Study, kept: Any) -> Objectives:
    """Objectives of a study with names, `kept` what the shell keeps in it; empty for one without a name."""
    if len(study.directions) > 1:
        return fronts.objectives_of(study)
    named = kept.get(ATTRIBUTE_KEY) if isinstance(kept, Mapping) else None
    names = list(named) if isinstance(named, Mapping) else []
    return {str(names[0]): study.direction.name.lower()} if len(names) == 1 else {}


Told = tuple[tuple[float, ...], tuple[float | None, ...], dict[str, float]]
"""Values, their errors where they are known, and what constraints are about."""


def told(objectives: Objectives, bounds: Bounds, texts: Sequence[str]) -> Told:
    """What `uhebo tell` was given for one trial: a value for each objective, and what the constraints are about.

    One objective may be told as a number alone, which comes first: `81.2 purity=96.1`. Several are told by name.
    """
    refuse_spaces(texts)
    if len(objectives) < 2 and (not objectives or "=" not in texts[0]):
        value, error = with_error(texts[0], next(iter(objectives), "value"))
        return (value,), (error,), from_arguments(bounds, texts[1:])
    known = [*objectives, *names_of(bounds)]
    wanted = " ".join(f"{name}=NUMBER" for name in known)
    given: dict[str, str] = {}
    for text in texts:
        name, equals, number = (part.strip() for part in text.rpartition("="))
        if not equals or name not in known:
            near = get_close_matches(name.lower(), [each.lower() for each in known], n=1)
            hint = next((f"; did you mean {each}={number}?" for each in known if [each.lower()] == near), "")
            raise InvalidInputError(f"told was {text!r}; expected {wanted}{hint}")
        if name in given:
            raise InvalidInputError(f"{name} is given twice; drop one")
        given[name] = number
    missing = [name for name in objectives if name not in given]
    if missing:
        later = "; if it is not there yet, tell all of them later: the trial waits" if len(known) > 1 else ""
        raise InvalidInputError(f"{missing[0]} is missing; expected {wanted}{later}")
    pairs = [with_error(given[name], name, several=len(objectives) > 1) for name in objectives]
    return tuple(value for value, _ in pairs), tuple(error for _, error in pairs), measured(bounds, given)
