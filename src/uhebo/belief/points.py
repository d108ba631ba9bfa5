"""Points that a belief is asked about: a dict, a list of dicts, a data frame, or rows of values in order."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from uhebo.checks import alike
from uhebo.errors import InvalidInputError
from uhebo.space import SearchSpace

Points: TypeAlias = Mapping[str, Any] | Iterable[Any]
"""{name: value} for one point; a list of these, a pandas data frame, or an array of (n, d) values for several."""
EXPECTED = "expected {name: value}, a list of these, a data frame, or an array with a column for each of belief.names"


def points_of(given: Any, space: SearchSpace) -> tuple[list[Mapping[str, Any]], bool]:
    """The points by names, and whether it is one given by itself; a name that the space does not have is refused."""
    points, single = _read(given, space)
    known = {*space.distributions, *space.others}
    for name in dict.fromkeys(str(name) for point in points for name in point):
        if name not in known:
            near = alike(name, sorted(known))
            hint = f"did you mean {near!r}? The" if near else "the"
            raise InvalidInputError(f"there is no parameter {name!r}; {hint} parameters are {', '.join(sorted(known))}")
    return [_active(point, space) for point in points], single


def _read(given: Any, space: SearchSpace) -> tuple[list[Mapping[str, Any]], bool]:
    if isinstance(given, Mapping):
        return [given], True
    if hasattr(given, "to_dict"):  # pandas: a frame of points, or one row of a frame
        return (given.to_dict("records"), False) if hasattr(given, "columns") else ([given.to_dict()], True)
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InvalidInputError(f"params is {given!r}; {EXPECTED}")
    listed = given.tolist() if isinstance(given, np.ndarray) and given.ndim else list(given)
    if all(isinstance(each, Mapping) for each in listed):
        return listed, False
    if all(isinstance(each, (list, tuple, np.ndarray)) for each in listed):
        return [_named(row, space) for row in listed], False
    if any(isinstance(each, (Mapping, list, tuple, np.ndarray)) for each in listed):
        raise InvalidInputError(f"params has points of several kinds; {EXPECTED}")
    return [_named(listed, space)], True


def _named(row: Sequence[Any], space: SearchSpace) -> dict[str, Any]:
    """Values in the order of the model's parameters."""
    if len(row) != len(space.names):
        raise InvalidInputError(
            f"a point has {len(row)} values; expected one for each of belief.names, in that order: "
            f"{', '.join(space.names)}"
        )
    return dict(zip(space.names, row, strict=True))


def _active(point: Mapping[str, Any], space: SearchSpace) -> Mapping[str, Any]:
    """Without conditional parameters that have no value, as a table has to write them."""
    absent = [name for name in space.conditions if isinstance(point.get(name), float) and math.isnan(point[name])]
    return {name: value for name, value in point.items() if name not in absent} if absent else point
