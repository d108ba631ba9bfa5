"""What the user's function returned, as numbers; where it is none, what to write instead."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from uhebo.errors import InvalidInputError

LONGEST = 200
"""Characters kept of something that is not a value, for the message."""
SEVERAL = "for several objectives call uhebo.optimize"


def checked_value(value: Any, number: int) -> float:
    """What `fn` returned, as a float; NaN passes, and Optuna fails the trial for it."""
    try:
        return as_number(value)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"fn returned {repr(value)[:LONGEST]} in trial {number}, expected a number{instead(value)}"
        ) from None


def checked_values(returned: Any, names: Sequence[str], number: int) -> list[float]:
    """What `fn` returned, as one float for each objective; NaN passes, and Optuna fails the trial for it."""
    if isinstance(returned, Mapping):
        if set(returned) != set(names):
            said = f"fn returned {repr(returned)[:LONGEST]} in trial {number}"
            raise InvalidInputError(said + _wrong(returned, names))
        returned = [returned[name] for name in names]
    several = isinstance(returned, (Sequence, np.ndarray)) and not isinstance(returned, (str, bytes))
    if not several or len(returned) != len(names):
        remedy = instead(returned) if returned is None or inspect.isawaitable(returned) else ""
        raise InvalidInputError(
            f"fn returned {returned!r} in trial {number}, expected {len(names)} numbers: {', '.join(names)}{remedy}"
        )
    return [_checked_entry(value, name, number) for name, value in zip(names, returned, strict=True)]


def _checked_entry(value: Any, name: str, number: int) -> float:
    try:
        return as_number(value)
    except (TypeError, ValueError):
        remedy = "; float('nan') fails the trial" if value is None else instead(value)
        raise InvalidInputError(
            f"fn returned {repr(value)[:LONGEST]} for {name!r} in trial {number}, expected a number{remedy}"
        ) from None


def _wrong(returned: Mapping[Any, Any], names: Sequence[str]) -> str:
    """Names that are missing, and those that are no objective."""
    if all(name == f"value_{i}" for i, name in enumerate(names)):
        numbers = ", ".join(repr(name) for name in returned)
        return f"; give the names to directions ({{{numbers}: …}} in place of a list), or return {len(names)} numbers"
    missing, unknown = [n for n in names if n not in returned], [n for n in returned if n not in names]
    wrong = [f"lacks {', '.join(map(repr, missing))}"] if missing else []
    wrong += [f"has {', '.join(map(repr, unknown))}, which is no objective"] if unknown else []
    return f", which {' and '.join(wrong)}; expected a number for each of {', '.join(map(repr, names))}"


def as_number(value: Any) -> float:
    """A number as a float; TypeError or ValueError for anything else, a text or an array of one number too."""
    if isinstance(value, (str, bytes)) or np.ndim(value) != 0:
        raise TypeError
    return float(value)


def instead(value: Any, several: str = SEVERAL) -> str:
    """What to write where a function returned this in place of a number, after a semicolon; empty if nobody knows.

    `several` is what to do where several numbers are wanted.
    """
    remedy = _instead(value, several)
    return f"; {remedy}" if remedy else ""


def _instead(value: Any, several: str) -> str:
    if value is None:
        return "end it with a return statement"
    if inspect.isawaitable(value):
        getattr(value, "close", lambda: None)()  # or Python warns that it was never awaited
        return "await it, or in a plain function return asyncio.run(…) of it"
    if isinstance(value, Mapping):
        return _entry(value, several)
    if isinstance(value, (str, bytes)):
        return "return float(…) of it" if _reads_as_number(value) else "that is text: return the number itself"
    if isinstance(value, complex):
        return "return abs(…) of it, or its real part"
    if callable(value) and not hasattr(value, "__array__"):
        return "that is a function: call it"
    return _of_several(value, several)


def _entry(value: Mapping[Any, Any], several: str) -> str:
    """One of the entries of what is called `d`, in the user's code most likely too."""
    names = [name for name, each in value.items() if isinstance(each, (int, float, np.generic))]
    if not names:
        return "return one number"
    more = f"; {several}" if len(names) > 1 else ""
    return f"return one entry of it, such as d[{names[0]!r}]".replace("'", '"') + more


def _of_several(value: Any, several: str) -> str:
    """For a sequence, an array, a tensor, a column of a table."""
    count = getattr(value, "size", None)
    count = count if isinstance(count, int) else len(value) if hasattr(value, "__len__") else 0
    if count == 1:
        return "return float(…) of its only element"
    if isinstance(value, (tuple, list)) and count > 1:
        return several
    return f"return one number, such as float(….mean()); {several}" if count > 1 else ""


def _reads_as_number(value: str | bytes) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
