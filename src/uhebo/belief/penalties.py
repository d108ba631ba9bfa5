"""Penalties: a finite value that an objective returns in place of failing, such as 1e6.

Such values are equal, extreme and far from all others. As data they would be a cliff that a GP has to model; as
failures they say all they have to say, that this place is not for the search.

With several objectives the same holds of each, with one reserve: an extreme value of one may be the price of a good one
of another. So values count as penalties only while other trials beat all that have them: the front is the same without.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uhebo.types import Array

FEWEST_EQUAL = 2
"""Times that a value must have come back: a single extreme one may be an ordinary outlier."""
FEWEST_OTHERS = 3
"""Different other values without which nothing can be said to be far from them."""
FAR = 10.0
"""Ranges of the other values that a penalty is away from the nearest of them. A plateau that is nearer may be the
objective's own: an accuracy of 0 where nothing was learnt."""


def penalties(values: Sequence[float]) -> set[float]:
    """Which of these values, larger is better, are penalties."""
    found: set[float] = set()
    while True:
        left = [value for value in values if value not in found]
        worst = min(left, default=0.0)
        others = [value for value in left if value > worst]
        if len(set(others)) < FEWEST_OTHERS or len(left) - len(others) < FEWEST_EQUAL:
            return found
        if min(others) - worst <= FAR * (max(others) - min(others)):
            return found
        found.add(worst)


@dataclass(frozen=True)
class Penalty:
    """A value of an objective that stands for failing, and the rows that have it, (n,)."""

    objective: int
    value: float
    rows: NDArray[np.bool_]


def penalties_of(values: Array) -> list[Penalty]:
    """The penalties among values (n, m) of one or several objectives, larger is better."""
    extreme = [
        Penalty(objective, value, values[:, objective] == value)
        for objective in range(values.shape[1])
        for value in sorted(penalties(values[:, objective].tolist()))
    ]
    if not extreme:
        return []
    rest = values[~np.any([found.rows for found in extreme], axis=0)]
    return [
        found for found in extreme if _are_beaten(np.delete(values[found.rows], found.objective, axis=1), found, rest)
    ]


def _are_beaten(others: Array, found: Penalty, rest: Array) -> bool:
    """Whether each row has one in `rest` that is as good in the other objectives; in this one they all are better."""
    beating = np.delete(rest, found.objective, axis=1)
    as_good = np.all(beating[None] >= others[:, None], axis=2)
    return bool(np.all(as_good.any(axis=1)))
