"""Kinds of what stands in a rule: numbers, truths and choices, and what each can be compared with."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from uhebo.space.columns import Choices, Column, key
from uhebo.space.rules import MEMBERSHIP, Rule, constant, is_constant, is_number, listed, wrong

Kind = Literal["number", "truth", "choice"]
ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def kind_of(values: Sequence[Any]) -> Kind:
    """What can be done with such values: arithmetic, truth, or nothing but == and in."""
    if all(map(is_number, values)):
        return "number"
    return "truth" if all(isinstance(value, bool) for value in values) else "choice"


def check_kinds(rule: Rule, columns: Mapping[str, Column], constants: Mapping[str, Any]) -> None:
    """Refuse sentences that mean nothing: the sum of a word and a number, a choice that a parameter does not have."""
    if rule.tree is None:
        return
    choices: dict[str, tuple[Any, ...]] = {name: (value,) for name, value in constants.items()}
    choices |= {name: column.choices for name, column in columns.items() if isinstance(column, Choices)}
    _check_truth(rule.tree, rule.text, choices)


def _check_truth(node: ast.expr, text: str, choices: Mapping[str, tuple[Any, ...]]) -> None:
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            _check_truth(value, text, choices)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        _check_truth(node.operand, text, choices)
    elif isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            _check_comparison(left, op, right, text, choices)
    elif _kind(node, text, choices) != "truth":
        raise wrong(text, node, "expected something that is true or false, such as a comparison")


def _check_comparison(
    left: ast.expr, op: ast.cmpop, right: ast.expr, text: str, choices: Mapping[str, tuple[Any, ...]]
) -> None:
    if isinstance(op, MEMBERSHIP):
        assert isinstance(right, (ast.List, ast.Tuple, ast.Set))
        for element in right.elts:
            _check_comparison(left, ast.Eq(), element, text, choices)
        return
    kinds = _kind(left, text, choices), _kind(right, text, choices)
    if isinstance(op, ORDERED):
        for side, kind in zip((left, right), kinds, strict=True):
            if kind != "number":
                raise wrong(text, side, "only numbers have an order; use == or in")
        return
    for name, other in ((left, right), (right, left)):
        if isinstance(name, ast.Name) and name.id in choices and is_constant(other):
            if key(constant(other)) not in map(key, choices[name.id]):
                raise wrong(text, other, f"{name.id!r} is one of {listed([repr(c) for c in choices[name.id]])}")
            return
    if kinds[0] != kinds[1] and "choice" not in kinds:
        raise wrong(text, right, f"a {kinds[0]} is never equal to a {kinds[1]}")
    if "choice" in kinds and not all(isinstance(side, ast.Name) or is_constant(side) for side in (left, right)):
        raise wrong(text, right, "a choice is compared with a value or with another parameter")
    if "choice" in kinds and "number" in kinds:
        raise wrong(text, right, "a number is never equal to a word")


def _kind(node: ast.expr, text: str, choices: Mapping[str, tuple[Any, ...]]) -> Kind:
    """Number, truth or choice; arithmetic is for numbers alone."""
    if isinstance(node, ast.Name):
        return kind_of(choices[node.id]) if node.id in choices else "number"
    if isinstance(node, ast.BinOp):
        for side in (node.left, node.right):
            if _kind(side, text, choices) != "number":
                raise wrong(text, side, "only numbers can be calculated with")
        return "number"
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        if _kind(node.operand, text, choices) != "number":
            raise wrong(text, node.operand, "only numbers can be calculated with")
        return "number"
    if isinstance(node, ast.Constant):
        return kind_of([node.value])
    raise wrong(text, node, "a comparison stands where a number or a value is expected; use and, or, not")
