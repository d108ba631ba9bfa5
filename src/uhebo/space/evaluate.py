"""A rule applied to many rows at once.

Where a rule reads a parameter that is not active in a row, it is neither true nor false there (three-valued logic after
Kleene): `a < 1 or b < 1` is true where a is 0 and b is not active, `b < 1` is unknown. What is unknown forbids nothing
and makes nothing active.

A comparison with NaN (0/0, a root of a negative number) is false, whatever is compared.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhebo.errors import InvalidInputError
from uhebo.space.columns import Choices, Column, key
from uhebo.space.kinds import kind_of
from uhebo.space.rules import MEMBERSHIP, Rule, constant
from uhebo.types import Array

Mask = NDArray[np.bool_]
Truth = tuple[Mask, Mask]
"""Where something is true, and where it is false; in neither, it is unknown."""
OPERATIONS: dict[type[ast.operator], np.ufunc] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Mod: np.mod,
    ast.Pow: np.power,
}
COMPARISONS: dict[type[ast.cmpop], np.ufunc] = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}


@dataclass(frozen=True)
class Scope:
    """The parameters as rules see them, in `count` rows."""

    columns: Mapping[str, Column]
    constants: Mapping[str, Any]
    entries: Mapping[str, Array]
    """Row entries of each column."""
    active: Mapping[str, Mask]
    """In which rows a parameter is active; those that are not named are everywhere."""
    count: int

    def choices(self, name: str) -> tuple[Any, ...] | None:
        """The values of a parameter that has no order; None for a number with one."""
        if name in self.constants:
            return (self.constants[name],)
        column = self.columns[name]
        return column.choices if isinstance(column, Choices) else None

    def codes(self, name: str) -> NDArray[np.intp]:
        """Index of the choice in each row."""
        if name in self.constants:
            return np.zeros(self.count, dtype=np.intp)
        column = self.columns[name]
        assert isinstance(column, Choices)
        return np.asarray(column.index(self.entries[name]), dtype=np.intp)

    def picked(self, name: str, table: Array | Mask) -> Any:
        """The entry of a table with one for each choice, row by row."""
        return table[self.codes(name)]

    def numbers(self, name: str) -> Array:
        choices = self.choices(name)
        if choices is not None:
            return np.asarray(self.picked(name, np.array(choices, dtype=np.float64)))
        return self.columns[name].numbers(self.entries[name])

    def known(self, name: str) -> Mask:
        return self.active.get(name, np.ones(self.count, dtype=bool))


def truth(rule: Rule, scope: Scope) -> Truth:
    """Where the rule is true, and where it is false."""
    if rule.tree is None:
        return _called(rule, scope)
    with np.errstate(all="ignore"):
        return _truth(rule.tree, scope)


def _truth(node: ast.expr, scope: Scope) -> Truth:
    if isinstance(node, ast.BoolOp):
        parts = [_truth(value, scope) for value in node.values]
        both, one = (np.logical_and, np.logical_or) if isinstance(node.op, ast.And) else (np.logical_or, np.logical_and)
        return both.reduce([part[0] for part in parts]), one.reduce([part[1] for part in parts])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        true, false = _truth(node.operand, scope)
        return false, true
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        compared = [_compared(*pair, scope) for pair in zip(sides, node.ops, sides[1:], strict=False)]
        parts = [(held & known, ~held & known) for held, known in compared]
        return np.logical_and.reduce([p[0] for p in parts]), np.logical_or.reduce([p[1] for p in parts])
    if isinstance(node, ast.Name):
        choices = scope.choices(node.id)
        assert choices is not None  # a number is refused where something true or false is expected
        true, known = scope.picked(node.id, np.array(choices, dtype=bool)), scope.known(node.id)
        return true & known, ~true & known
    assert isinstance(node, ast.Constant)
    every = np.ones(scope.count, dtype=bool)
    return (every, ~every) if node.value else (~every, every)


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr, scope: Scope) -> Truth:
    """Where the comparison holds, and where both sides are known."""
    if isinstance(op, MEMBERSHIP):
        assert isinstance(right, (ast.List, ast.Tuple, ast.Set))
        each = [_compared(left, ast.Eq(), element, scope) for element in right.elts]
        held = np.logical_or.reduce([h for h, _ in each]) if each else np.zeros(scope.count, dtype=bool)
        known = each[0][1] if each else np.ones(scope.count, dtype=bool)
        return (held if isinstance(op, ast.In) else ~held), known
    known = _known(left, scope) & _known(right, scope)
    for name, other in ((left, right), (right, left)):
        # Word by word, over the choices and not over the rows.
        if isinstance(name, ast.Name) and not isinstance(other, ast.Name) and not _is_number(name, scope):
            choices, value = scope.choices(name.id), key(constant(other))
            assert choices is not None
            held = scope.picked(name.id, np.array([key(choice) == value for choice in choices], dtype=bool))
            return (held if isinstance(op, ast.Eq) else ~held), known
    if isinstance(left, ast.Name) and isinstance(right, ast.Name) and not _is_number(left, scope):
        held = _same_choice(left.id, right.id, scope)
        return (held if isinstance(op, ast.Eq) else ~held), known
    a, b = _numbers(left, scope), _numbers(right, scope)
    return COMPARISONS[type(op)](a, b) & ~(np.isnan(a) | np.isnan(b)), known


def _same_choice(left: str, right: str, scope: Scope) -> Mask:
    first, second = scope.choices(left), scope.choices(right)
    assert first is not None
    assert second is not None
    table = np.array([[key(a) == key(b) for b in second] for a in first], dtype=bool)
    return np.asarray(table[scope.codes(left), scope.codes(right)])


def _is_number(node: ast.Name, scope: Scope) -> bool:
    choices = scope.choices(node.id)
    return choices is None or kind_of(choices) == "number"


def _known(node: ast.expr, scope: Scope) -> Mask:
    known = np.ones(scope.count, dtype=bool)
    for name in {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & scope.active.keys():
        known &= scope.active[name]
    return known


def _numbers(node: ast.expr, scope: Scope) -> Array:
    if isinstance(node, ast.Name):
        return scope.numbers(node.id)
    if isinstance(node, ast.BinOp):
        return np.asarray(OPERATIONS[type(node.op)](_numbers(node.left, scope), _numbers(node.right, scope)))
    if isinstance(node, ast.UnaryOp):
        inner = _numbers(node.operand, scope)
        return -inner if isinstance(node.op, ast.USub) else inner
    return np.full(scope.count, float(constant(node)))


def _called(rule: Rule, scope: Scope) -> Truth:
    """A function, row by row; unknown where it needs a parameter that is not active."""
    assert rule.function is not None
    true, false = np.zeros(scope.count, dtype=bool), np.zeros(scope.count, dtype=bool)
    values = {name: _plain_values(name, scope) for name in rule.names}
    known = {name: scope.known(name) for name in rule.names}
    for i in range(scope.count):
        params = {name: values[name][i] for name in rule.names if known[name][i]}
        if not set(rule.names) - params.keys() <= rule.optional:
            continue
        try:
            answer = rule.function(**params)
        except Exception as error:
            raise InvalidInputError(
                f"the rule {rule} failed with {type(error).__name__}: {error} at {params}; expected True or False"
            ) from error
        if not isinstance(answer, (bool, np.bool_)):
            raise InvalidInputError(f"the rule {rule} returned {answer!r} at {params}; expected True or False")
        (true if answer else false)[i] = True
    return true, false


def _plain_values(name: str, scope: Scope) -> list[Any]:
    if name in scope.constants:
        return [scope.constants[name]] * scope.count
    column = scope.columns[name]
    return [column.decode(unit) for unit in scope.entries[name].tolist()]


def parts(rule: Rule) -> tuple[Rule, ...]:
    """Rules that together say the same: each side of an `and`, each comparison of a chain."""
    tree = rule.tree
    trees: list[ast.expr] = []
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        trees = tree.values
    elif isinstance(tree, ast.Compare) and len(tree.ops) > 1:
        sides = [tree.left, *tree.comparators]
        pairs = zip(sides, tree.ops, sides[1:], strict=False)
        trees = [ast.Compare(left, [op], [right]) for left, op, right in pairs]
    if not trees:
        return (rule,)
    return tuple(part for each in trees for part in parts(replace(rule, tree=each)))


def violation(rule: Rule, scope: Scope) -> Array:
    """How far each row is from keeping to a rule, below 0 where it does: a residual, in the units of the rule.

    A comparison of numbers has the difference of its sides, `and` the largest, `or` the smallest, `not` the negative.
    What is true or false without measure is -inf or inf, what is unknown -inf.
    """
    if rule.tree is None:
        return np.where(truth(rule, scope)[1], np.inf, -np.inf)
    with np.errstate(all="ignore"):
        found = _violation(rule.tree, scope)
    return np.where(np.isnan(found), np.inf, found)


def _violation(node: ast.expr, scope: Scope) -> Array:
    if isinstance(node, ast.BoolOp):
        each = [_violation(value, scope) for value in node.values]
        return np.asarray((np.maximum if isinstance(node.op, ast.And) else np.minimum).reduce(each))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return np.where(_known(node.operand, scope), -_violation(node.operand, scope), -np.inf)
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        pairs = zip(sides, node.ops, sides[1:], strict=False)
        return np.asarray(np.maximum.reduce([_difference(*pair, scope) for pair in pairs]))
    true, false = _truth(node, scope)
    return np.where(false & ~true, np.inf, -np.inf)


def _difference(left: ast.expr, op: ast.cmpop, right: ast.expr, scope: Scope) -> Array:
    held, known = _compared(left, op, right, scope)
    if isinstance(op, MEMBERSHIP) or not (_is_numeric(left, scope) and _is_numeric(right, scope)):
        return np.where(held | ~known, -np.inf, np.inf)
    gap = _numbers(left, scope) - _numbers(right, scope)
    if isinstance(op, (ast.Gt, ast.GtE)):
        gap = -gap
    elif isinstance(op, ast.Eq):
        gap = np.abs(gap)
    elif isinstance(op, ast.NotEq):
        gap = np.where(held, -np.inf, np.inf)
    return np.where(known, gap, -np.inf)


def _is_numeric(node: ast.expr, scope: Scope) -> bool:
    if isinstance(node, ast.Name):
        return _is_number(node, scope)
    return not isinstance(node, ast.Constant) or kind_of([node.value]) == "number"
