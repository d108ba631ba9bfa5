"""Checks of arguments: the value in its plain Python type, or an error that says what was given and what was expected.

NumPy's numbers are numbers; True and False are not. `also` ends the sentence with what else the caller accepts.
"""

import math
import sys
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from uhebo.errors import InvalidInputError

T = TypeVar("T")
LARGEST = sys.float_info.max


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
    if value not in known:
        raise InvalidInputError(f"unknown {kind} {value!r}; choose one of {', '.join(map(str, known))}{also}")
    return value
