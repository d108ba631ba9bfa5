"""Penalties: a finite value that an objective returns in place of failing, such as 1e6.

Such values are equal, extreme and far from all others. As data they would be a cliff that a GP has to model; as
failures they say all they have to say, that this place is not for the search.
"""

from collections.abc import Sequence

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
