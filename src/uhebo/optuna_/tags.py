"""What a trial remembers of how it was proposed, checked where it is read: anybody can write into a study.

A tag of a known name whose value is not what that name stands for is dropped, so that the code which uses tags needs no
checks of its own. Tags of other names (a strategy of the user's own) pass as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Check = Callable[[Any], bool]

MOST_ITERATIONS = 10**9
MOST_PARAMETERS = 10_000
LARGEST_LOG = 300.0
"""Largest logarithm of a lengthscale or variance; exp of it is a finite double, and so is its square."""
LARGEST_FACTOR = 1e6
"""Largest scaling g of a lengthscale; the methods themselves stop at 100."""
LONGEST_WORD = 100
"""Characters of a name."""
NEEDS = {"arm": "p", "g": "deviation"}
"""Tags that mean nothing without another: tag -> the other."""


def _number(low: float, high: float, kind: Any = (int, float)) -> Check:
    return lambda value: isinstance(value, kind) and not isinstance(value, bool) and low <= value <= high


_integer = partial(_number, kind=int)
_reward = _number(-sys.float_info.max, sys.float_info.max)


def _word(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_WORD


def _log_theta(value: Any) -> bool:
    """log(ell_1 .. ell_d, v, s2)."""
    if not isinstance(value, list) or not 3 <= len(value) <= MOST_PARAMETERS:
        return False
    return all(type(entry) in (float, int) and -LARGEST_LOG <= entry <= LARGEST_LOG for entry in value)


def _rewards(value: Any) -> bool:
    """{trial number as text: reward}."""
    return isinstance(value, dict) and all(
        isinstance(number, str) and number.isascii() and number.isdigit() and len(number) < 16 and _reward(reward)
        for number, reward in value.items()
    )


KNOWN: dict[str, Check] = {
    "role": _word,
    "t": _integer(0, MOST_ITERATIONS),
    "n": _integer(0, MOST_ITERATIONS),
    "arm": _integer(0, 1),
    "p": _number(1e-9, 1.0),
    "estimator": _word,
    "theta": _log_theta,
    "jitter": _number(0.0, 1e300),
    "fallback": _word,
    "converged": lambda value: isinstance(value, bool),
    "g": _number(1.0, LARGEST_FACTOR),
    "deviation": _number(0.0, 1e6),
    "beta": _number(0.0, 1e6),
    "rewards": _rewards,
}
"""Name -> whether a value is one this name can have."""


def checked_tags(recorded: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The tags that can be used, and the names of those that cannot."""
    if not isinstance(recorded, Mapping):
        return {}, () if recorded is None else ("the whole record",)
    tags = {name: value for name, value in recorded.items() if name not in KNOWN or KNOWN[name](value)}
    for name, needed in NEEDS.items():
        if name in tags and needed not in tags:
            del tags[name]
    return tags, tuple(str(name) for name in recorded if name not in tags)
