"""From one space to a smaller one, from one branch to another."""

import math
from collections.abc import Mapping
from typing import Any

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


def active_names(space: SearchSpace, params: Mapping[str, Any]) -> list[str]:
    """Parameters that are active at a point, which need not be complete: what it lacks makes nothing active.

    Parents come before what depends on them, all others in the order of the space.
    """
    rows, given = space.neutral[None].copy(), {}
    for j, (name, column) in enumerate(space.columns.items()):
        entry = column.encode([params[name]])[0] if name in params else math.nan
        given[name] = np.array([not math.isnan(entry)])
        if given[name][0]:
            rows[0, j] = entry
    on = space.activity(rows, given)
    return [*(name for name in space.distributions if name not in on), *(name for name in on if on[name][0])]


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
