"""Conditions among each other: an order in which they can be told, and what they make active."""

from collections.abc import Mapping
from dataclasses import replace

from uhebo.errors import InvalidInputError
from uhebo.space.evaluate import Mask, Scope, truth
from uhebo.space.rules import Rule


def in_turn(conditions: Mapping[str, Rule]) -> dict[str, Rule]:
    """The conditions in an order in which each comes after those of the parameters it reads."""
    ordered: dict[str, Rule] = {}
    while len(ordered) < len(conditions):
        left = [name for name in conditions if name not in ordered]
        ready = [name for name in left if not any(parent in left for parent in conditions[name].names)]
        if not ready:
            raise InvalidInputError(
                f"the conditions of {', '.join(map(repr, left))} depend on each other in a circle, such as "
                f"{left[0]!r} where {conditions[left[0]].text!r}; one of them must not have a condition"
            )
        ordered |= {name: conditions[name] for name in ready}
    return ordered


def what_is_active(conditions: Mapping[str, Rule], scope: Scope) -> dict[str, Mask]:
    """In which rows each parameter with a condition is active; one whose parent is not active is not.

    What the scope says of a parameter's activity holds too: an entry that means nothing makes nothing active.
    """
    readable = dict(scope.active)
    found: dict[str, Mask] = {}
    for name, condition in conditions.items():
        found[name] = truth(condition, replace(scope, active=readable))[0]
        readable[name] = readable.get(name, found[name]) & found[name]
    return found
