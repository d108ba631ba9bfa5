"""From one space to a smaller one, from one branch to another."""

from collections.abc import Mapping

import numpy as np
from optuna.distributions import BaseDistribution

from uhebo.space.search_space import SearchSpace
from uhebo.types import Array


def restricted(space: SearchSpace, distributions: Mapping[str, BaseDistribution]) -> SearchSpace:
    """The space of these parameters alone, with the conditions and rules that read no others."""
    known = distributions.keys()
    conditions = {n: rule for n, rule in space.conditions.items() if n in known and set(rule.names) <= known}
    rules = [rule for rule in space.rules if set(rule.names) <= known]
    return SearchSpace.of(distributions, conditions, rules, space.others | (space.distributions.keys() - known))


def leading(space: SearchSpace, ranked: Array, count: int) -> Array:
    """The first `count` of the rows, and the first of each branch, that is with other parameters active."""
    if not space.conditions:
        return ranked[:count]
    _, first = np.unique(space.active(ranked), axis=0, return_index=True)
    return np.asarray(ranked[np.union1d(np.arange(min(count, len(ranked))), first)])


def switched(space: SearchSpace, rows: Array, before: Array, leaders: Array) -> Array:
    """Rows that came from the points `before`: what has become active in them has the best leader's entry, if one has
    it at all, and what has ceased to be is neutral."""
    if not space.conditions:
        return rows
    held = space.active(leaders) if len(leaders) else np.empty((0, rows.shape[1]), dtype=bool)
    # Twice: what becomes active may itself be a parent.
    for _ in range(2):
        fresh = space.active(rows) & ~space.active(before)
        for column in np.flatnonzero(fresh.any(axis=0) & held.any(axis=0)):
            rows[fresh[:, column], column] = leaders[held[:, column].argmax(), column]
    return space.settled(rows)
