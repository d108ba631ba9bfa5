"""A sentence about parameters, such as `a + b <= 1` or `temperature < 90 or solvent != 'THF'`: parsed and checked.

The language is Python's, and only this part of it: numbers, texts, True, False, None; names of parameters (in backticks
where they are not words: `` `flow rate` < 2 ``); + - * / % ** and parentheses; == != < <= > >=, chained too; in and not
in a list; and, or, not. Nothing is ever executed as Python: the parsed text is read by `uhebo.space.evaluate`.

A rule may also be a Python function of some of the parameters, by their names, that returns True or False.
"""

import ast
import inspect
import keyword
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from uhebo.errors import InvalidInputError

LONGEST = 2000
"""Characters of a rule."""
DEEPEST = 50
"""Levels of parentheses and operators."""
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`([^`]*)`")
MEMBERSHIP = (ast.In, ast.NotIn)
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Mod, ast.Pow)
SIGNS = {
    r"(?<![<>=!])=(?![<>=])": "==",
    "=>": ">=",
    "=<": "<=",
    "<>": "!=",
    "&&": "and",
    r"\|\|": "or",
    "!(?!=)": "not",
}
"""Signs of other languages -> what a rule has."""
OPERATORS = {ast.BitAnd: "and in place of &", ast.BitOr: "or in place of |", ast.BitXor: "** in place of ^"}
LANGUAGE = "expected comparisons of parameters and numbers with and, or, not, such as \"a + b <= 1 or kind == 'x'\""


@dataclass(frozen=True)
class Rule:
    """A condition on the parameters: its text, and the parsed text or a function."""

    text: str
    tree: ast.expr | None = field(default=None, compare=False, repr=False)
    function: Callable[..., Any] | None = field(default=None, repr=False)
    names: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Parameters it reads, in order of appearance."""
    optional: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """Those of them that its function can do without."""

    def __str__(self) -> str:
        return self.text


GivenRule = str | Callable[..., Any] | Rule
"""A rule as the user writes it."""


def parse_rule(given: GivenRule, names: Sequence[str]) -> Rule:
    """A rule on parameters of these names, or an error that shows where it is wrong; kinds are checked apart."""
    if isinstance(given, Rule):
        return given
    if callable(given):
        return _of_function(given, names)
    if not isinstance(given, str):
        raise InvalidInputError(f"a rule is {given!r}; {LANGUAGE}, or a function of the parameters")
    given = given.strip()
    text, stand_ins = _unquoted(given)
    tree = _parsed(given, text)
    known = {unicodedata.normalize("NFKC", name): name for name in names} | stand_ins
    _check_syntax(tree, given, 0)
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            name = known.get(node.id)
            if name is None or name not in names:
                raise wrong(
                    given, node, f"there is no parameter {name or node.id!r}; the parameters are {listed(names)}"
                )
            node.id = name
            found[name] = None
    if not found:
        raise wrong(given, tree, "it reads no parameter")
    ordered = sorted(found, key=lambda name: min(n.col_offset for n in names_in(tree) if n.id == name))
    return Rule(given, tree, None, tuple(ordered))


def names_in(tree: ast.expr) -> Iterator[ast.Name]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Name))


def names_read(given: object) -> set[str]:
    """Names in a rule, whether or not there are such parameters; what is not of the language is an error."""
    if isinstance(given, Rule):
        return set(given.names)
    if not isinstance(given, str):
        return set(_arguments(given)[0]) if callable(given) else set()
    text, stand_ins = _unquoted(given.strip())
    tree = _parsed(given.strip(), text)
    _check_syntax(tree, given.strip(), 0)
    return {stand_ins.get(node.id, node.id) for node in names_in(tree)}


def quoted(name: str) -> str:
    """A parameter's name as it stands in a rule."""
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"`{name}`"


def listed(names: Sequence[str]) -> str:
    return ", ".join(map(str, names)) or "none yet"


def wrong(text: str, node: ast.expr, reason: str) -> InvalidInputError:
    """The error that shows a rule, and the character at which it is wrong."""
    before = text.encode()[: getattr(node, "col_offset", 0)].decode(errors="ignore")
    return InvalidInputError(f"the rule {text!r} cannot be used: {reason} (character {len(before) + 1})")


def _unquoted(text: str) -> tuple[str, dict[str, str]]:
    """The text with names in backticks replaced by words of the same length in bytes, and what these stand for."""
    if len(text) > LONGEST:
        raise InvalidInputError(f"a rule has {len(text)} characters, expected at most {LONGEST}; use a function")
    stand_ins: dict[str, str] = {}

    def word(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        stand_in = f"_q{len(stand_ins)}_".ljust(len(match[0].encode()), "_")
        stand_ins[stand_in] = match[1]
        return stand_in

    return QUOTED.sub(word, text), stand_ins


def _parsed(given: str, text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's on texts such as "1 is 1"; what is odd is refused below
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        for sign, instead in SIGNS.items():
            if found := re.search(sign, QUOTED.sub(lambda match: " " * len(match[0]), given)):
                raise InvalidInputError(
                    f"the rule {given!r} cannot be read: write {instead} in place of {found[0].strip()} "
                    f"(character {found.start() + 1})"
                ) from None
        reason = getattr(error, "msg", None) or "it is not an expression"
        place = getattr(error, "offset", None)
        where = f" (character {place})" if place else ""
        raise InvalidInputError(
            f"the rule {given!r} cannot be read: {reason}{where}; {LANGUAGE}. A name that is not one word stands in "
            "backticks"
        ) from None


def _check_syntax(node: ast.expr, text: str, depth: int) -> None:
    """Only what the language has."""
    if depth > DEEPEST:
        raise wrong(text, node, "it is nested too deeply; use a function")
    children: Sequence[ast.expr]
    if isinstance(node, ast.BoolOp):
        children = node.values
    elif isinstance(node, ast.Compare):
        children = [node.left, *node.comparators]
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, (ast.Is, ast.IsNot)):
                raise wrong(text, right, "use == or != in place of is")
            if isinstance(op, MEMBERSHIP) and not (
                isinstance(right, (ast.List, ast.Tuple, ast.Set)) and all(map(is_constant, right.elts))
            ):
                raise wrong(text, right, "after in stands a list of values, such as ['a', 'b']")
        children = [
            child for child, op in zip(children, [None, *node.ops], strict=True) if not isinstance(op, MEMBERSHIP)
        ]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ARITHMETIC):
        children = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd, ast.Not)):
        children = [node.operand]
    elif isinstance(node, ast.Name) or is_constant(node):
        children = []
    else:
        what = {ast.Call: "a call", ast.Attribute: "an attribute", ast.Subscript: "an index", ast.Lambda: "a lambda"}
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            raise wrong(text, node, f"write {OPERATORS[type(node.op)]}")
        said = what.get(type(node), f"a {type(node).__name__}")
        raise wrong(text, node, f"{said} is not part of a rule; {LANGUAGE}, or pass a function")
    for child in children:
        _check_syntax(child, text, depth + 1)


def is_constant(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return isinstance(node.operand, ast.Constant) and is_number(node.operand.value)
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, (bool, int, float, str)))


def constant(node: ast.expr) -> Any:
    """The value of a constant, which may have a sign."""
    if isinstance(node, ast.UnaryOp):
        value = constant(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    assert isinstance(node, ast.Constant)
    return node.value


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _arguments(function: object) -> tuple[list[str], list[str], bool]:
    """Names that a function needs, names it can do without, and whether it takes any other."""
    try:
        parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"the rule {function!r} does not show its arguments; wrap it in a function") from error
    if any(p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL) for p in parameters):
        raise InvalidInputError(
            f"the rule {_called(function)} has arguments without names, expected names of parameters"
        )
    named = [p for p in parameters if p.kind is not p.VAR_KEYWORD]
    needed = [p.name for p in named if p.default is p.empty]
    return needed, [p.name for p in named if p.default is not p.empty], len(named) < len(parameters)


def _of_function(function: Callable[..., Any], names: Sequence[str]) -> Rule:
    needed, optional, everything = _arguments(function)
    unknown = [name for name in needed if name not in names]
    if unknown:
        raise InvalidInputError(
            f"the rule {_called(function)} has an argument {unknown[0]!r}, and there is no such parameter; the "
            f"parameters are {listed(names)}"
        )
    read = names if everything else [name for name in (*needed, *optional) if name in names]
    if not read:
        raise InvalidInputError(f"the rule {_called(function)} has no argument, expected names of parameters")
    needless = frozenset(read) - set(needed)
    return Rule(_called(function), None, function, tuple(read), needless)


def _called(function: object) -> str:
    return f"{getattr(function, '__name__', type(function).__name__)}()"
