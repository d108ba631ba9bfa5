"""Conditions read off a log: which values of which parameters a conditional parameter came with.

A condition is a conjunction of "parent is one of these choices" and "parent lies in this range". It explains a
parameter if it holds in every trial that had it and in none that ended without it. A parent is a categorical or an
integer parameter with few values, and it is there wherever the parameter is. Parents are taken greedily, the one that
rules out most of the trials without the parameter first, until none is left: a branch inside a branch needs the inner
parent only, because that is absent elsewhere.

A parameter whose presence nothing explains (it came in mid-study, an evaluation returned early) has no condition. A
choice that was never tried is not among the parent's choices: what it brings is not known before it has been seen.
"""

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

from uhebo.space.columns import grid_size, key
from uhebo.space.rules import Rule, quoted

MOST_VALUES = 32
"""Values of an integer parent; with more, a single trial at an end would part the trials by chance."""


@dataclass(frozen=True)
class Record:
    """What one trial had."""

    params: Mapping[str, Any]
    whole: bool
    """Whether it ended by itself, so that what it lacks it did not ask for."""


def infer_conditions(records: Sequence[Record], distributions: Mapping[str, BaseDistribution]) -> dict[str, Rule]:
    """A condition for each parameter that some trials lack and a condition explains; none reads itself in a circle."""
    whole = [record.params for record in records if record.whole]
    partial = [name for name in distributions if not all(name in params for params in whole)]
    conditions: dict[str, Rule] = {}
    for name in partial:
        rule = _explain(name, records, distributions, banned=_descendants(name, conditions))
        if rule is not None:
            conditions[name] = rule
    return conditions


def _descendants(name: str, conditions: Mapping[str, Rule]) -> set[str]:
    """The parameter and those whose conditions come down to it."""
    found = {name}
    while True:
        more = {child for child, rule in conditions.items() if found & set(rule.names)} - found
        if not more:
            return found
        found |= more


def _explain(
    name: str, records: Sequence[Record], distributions: Mapping[str, BaseDistribution], banned: set[str]
) -> Rule | None:
    present = [record.params for record in records if name in record.params]
    absent = [record.params for record in records if record.whole and name not in record.params]
    if not present:
        return None
    parents = [
        parent
        for parent, distribution in distributions.items()
        if parent not in banned and _can_part(distribution) and all(parent in params for params in present)
    ]
    seen = {parent: {key(params[parent]) for params in present} for parent in parents}
    ranks = {parent: _rank(parent, records, distributions[parent]) for parent in parents}
    chosen: list[str] = []
    left = absent
    while left:
        kept = {
            parent: [p for p in left if _fits(p, parent, seen[parent], distributions[parent])] for parent in parents
        }
        best = min(parents, key=lambda parent: (len(kept[parent]), *ranks[parent]), default=None)
        if best is None or len(kept[best]) == len(left):
            return None
        chosen.append(best)
        left = kept[best]
    tests = [_test(parent, seen[parent], absent, distributions[parent]) for parent in chosen]
    trees, texts = [tree for tree, _ in tests], [text for _, text in tests]
    tree = trees[0] if len(trees) == 1 else ast.BoolOp(ast.And(), trees)
    return Rule(" and ".join(texts), tree, None, tuple(chosen))


def _can_part(distribution: BaseDistribution) -> bool:
    if isinstance(distribution, IntDistribution):
        return 1 < grid_size(distribution.low, distribution.high, distribution.step) <= MOST_VALUES
    return isinstance(distribution, CategoricalDistribution) and not distribution.single()


def _rank(parent: str, records: Sequence[Record], distribution: BaseDistribution) -> tuple[int, bool, str]:
    """Of parents that explain as much, the one that most trials have comes first, then a categorical one."""
    there = sum(parent in record.params for record in records)
    return -there, not isinstance(distribution, CategoricalDistribution), parent


def _fits(params: Mapping[str, Any], parent: str, seen: set[Any], distribution: BaseDistribution) -> bool:
    """Whether a trial without the parameter has a value of the parent like those with it."""
    if parent not in params:
        return False
    if isinstance(distribution, CategoricalDistribution):
        return key(params[parent]) in seen
    return bool(min(seen) <= params[parent] <= max(seen))


def _test(
    parent: str, seen: set[Any], absent: Sequence[Mapping[str, Any]], distribution: BaseDistribution
) -> tuple[ast.expr, str]:
    """One condition on a parent, as an expression and in words."""
    name: ast.expr = ast.Name(parent)
    word = quoted(parent)
    if isinstance(distribution, CategoricalDistribution):
        choices = [choice for choice in distribution.choices if key(choice) in seen]
        if len(choices) == 1:
            return ast.Compare(name, [ast.Eq()], [ast.Constant(choices[0])]), f"{word} == {choices[0]!r}"
        listed = ast.List([ast.Constant(choice) for choice in choices])
        return ast.Compare(name, [ast.In()], [listed]), f"{word} in {choices!r}"
    # Between a value with the parameter and the next one without it, the middle parts them.
    low, high = min(seen), max(seen)
    others = [params[parent] for params in absent if parent in params]
    below = max((value for value in others if value < low), default=None)
    above = min((value for value in others if value > high), default=None)
    parts: list[tuple[ast.expr, str]] = []
    if below is not None:
        least = math.ceil((below + low) / 2)
        parts.append((ast.Compare(name, [ast.GtE()], [ast.Constant(least)]), f"{word} >= {least}"))
    if above is not None:
        most = math.floor((above + high) / 2)
        parts.append((ast.Compare(name, [ast.LtE()], [ast.Constant(most)]), f"{word} <= {most}"))
    if len(parts) == 1:
        return parts[0]
    return ast.BoolOp(ast.And(), [tree for tree, _ in parts]), " and ".join(text for _, text in parts)
