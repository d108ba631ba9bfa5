"""A whole search space as rows of the unit cube: encode, decode, snap, neighbours, and which parameters are active.

A parameter with a condition is active in some rows only: `C` where `model == 'svm'`. Where it is not, its column has a
fixed neutral entry (the middle of a range, the first choice). So within a branch it makes no distance, branches differ
by the parameter that parts them and are alike in what they share, and the kernel is an ordinary one, positive definite.
(No distance at all between a branch that has a column and one that has not would not be: a triangle could have sides
0, 0 and 1. The arc kernel of Swersky et al. 2013 keeps such a distance constant, at the cost of two columns for one.
An entry away from all others does nearly that, and was 2.4 times worse on a problem of three branches.)
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from optuna.distributions import BaseDistribution

from uhebo.errors import InvalidInputError
from uhebo.gp.data import Domain
from uhebo.space.branches import in_turn, what_is_active
from uhebo.space.columns import Choices, Column, Continuous, column_of
from uhebo.space.declare import described, parameters_and_conditions
from uhebo.space.evaluate import Mask, Scope, truth
from uhebo.space.kinds import check_kinds
from uhebo.space.rules import GivenRule, Rule, parse_rule
from uhebo.space.sampling import find_allowed, list_points, uniform
from uhebo.types import Array, Rng

ALL_NEIGHBOURS = 32
"""Values of an ordered column up to which all others are neighbours; beyond, those 1, 2, 4, … steps away."""
MOST_LISTED = 1_000_000
"""Values of a column that may be listed; an integer range may have 2^53."""
ABSENT = -1.0
"""Entry where an active parameter is missing: a whole range below the others, and no category's code. Its value is not
known, so the model must be free to take the trial for unlike those that have one: at a middle entry, the value of an
evaluation that returned early would stand in the way of good points near by."""
MISSING = object()


@dataclass(frozen=True)
class SearchSpace:
    """Parameters as rows: one column for each parameter that can vary, in the order of `distributions`."""

    distributions: dict[str, BaseDistribution]
    constants: dict[str, Any]
    columns: dict[str, Column] = field(repr=False)
    conditions: dict[str, Rule] = field(default_factory=dict)
    """When a parameter is active, in an order in which each reads only parameters whose activity is known."""
    rules: tuple[Rule, ...] = ()
    """What every proposed point must keep to."""
    others: frozenset[str] = frozenset()
    """Names of parameters that are known and play no part."""

    @classmethod
    def of(
        cls,
        space: Mapping[str, Any],
        conditions: Mapping[str, GivenRule] | None = None,
        rules: Iterable[GivenRule] = (),
        others: Iterable[str] = (),
    ) -> "SearchSpace":
        """The space of these parameters, after the checks of `as_distributions`."""
        checked, declared = parameters_and_conditions(space)
        constants = {name: column_of(d).decode(0.0) for name, d in checked.items() if d.single()}
        columns = {name: column_of(d) for name, d in checked.items() if not d.single()}
        known = tuple(checked)
        when = {name: parse_rule(given, known) for name, given in {**declared, **(conditions or {})}.items()}
        allowed = tuple(parse_rule(given, known) for given in rules)
        for rule in (*when.values(), *allowed):
            check_kinds(rule, columns, constants)
        return cls(checked, constants, columns, in_turn(when), allowed, frozenset(others))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    @cached_property
    def domain(self) -> Domain:
        categories = tuple(c.count if isinstance(c, Choices) else 0 for c in self.columns.values())
        return Domain(categories, self._draw if self.conditions or self.rules else None)

    def _draw(self, rng: Rng, count: int) -> Array:
        """Uniform points: parents by themselves, and what their values make active; numbers are not on their grid."""
        return uniform(self, rng, count)

    @cached_property
    def values(self) -> tuple[int, ...]:
        """Number of distinct values in each column, 0 for a continuous one."""
        return tuple(column.count for column in self.columns.values())

    @cached_property
    def size(self) -> float:
        """Number of distinct points, an exact integer, or infinity where a column is continuous."""
        if not all(self.values):
            return math.inf
        every = math.prod(self.values)
        listed = self.listed if self.conditions or self.rules else None
        return every if listed is None else len(listed)

    def encode(self, params: Mapping[str, Any]) -> Array:
        """The row (d,) of one point."""
        return np.asarray(self.encode_many([params])[0])

    def encode_many(self, params: Sequence[Mapping[str, Any]]) -> Array:
        """The rows (n, d) of many points; a value that is missing or not of the space is an error that names it.

        Parameters that are not active may be left out.
        """
        rows, faulty = self._encoded(params)
        for column, i in np.argwhere(faulty.T):
            name = self.names[column]
            found = f"is {params[i][name]!r}" if name in params[i] else "is missing"
            which = f" in point {i}" if len(params) > 1 else ""
            raise InvalidInputError(
                f"parameter {name!r} {found}{which}, expected {described(self.distributions[name])}; correct it, or "
                "leave the point out"
            )
        return rows

    def _encoded(self, params: Sequence[Mapping[str, Any]]) -> tuple[Array, Mask]:
        """The rows of many points, and where an active value is missing or not of the space: neutral there."""
        rows = np.empty((len(params), len(self.columns)))
        for j, (name, column) in enumerate(self.columns.items()):
            rows[:, j] = column.encode([point.get(name, MISSING) for point in params])
        faulty = np.isnan(rows)
        if not self.conditions:
            return rows, faulty
        rows = np.where(faulty, self.neutral, rows)
        known = {name: ~faulty[:, j] for j, name in enumerate(self.names) if faulty[:, j].any()}
        active = self._active(rows, known)
        return np.where(active, rows, self.neutral), faulty & active

    def contains(self, params: Mapping[str, Any]) -> bool:
        """Whether every active parameter of the space is there with a value of the space; others are not looked at."""
        return bool(self.contains_many([params])[0])

    def contains_many(self, params: Sequence[Mapping[str, Any]]) -> NDArray[np.bool_]:
        """`contains` for many points, shape (n,)."""
        return np.asarray(~self._encoded(params)[1].any(axis=1) & ~self._wrong_constants(params))

    def encode_log(self, params: Sequence[Mapping[str, Any]], *, ended: Sequence[bool]) -> tuple[Array, Mask]:
        """The rows of the points that can be used, and which of all these are, shape (n,).

        A point with a value outside the space cannot. One that lacks a parameter can if it has ended (its evaluation
        returned early, or the parameter came later): the missing entry is `ABSENT`, away from all others. Constants
        are not looked at: they may have been other ones then.
        """
        rows, faulty = self._encoded(params)
        if not faulty.any():
            return rows, np.ones(len(rows), dtype=bool)
        given = np.array([[name in point for name in self.names] for point in params], dtype=bool).reshape(faulty.shape)
        usable = ~(faulty & given).any(axis=1)
        early = (faulty & ~given).any(axis=1)
        usable &= ~early | (np.asarray(ended, dtype=bool) & given.any(axis=1))
        return np.where(faulty, ABSENT, rows)[usable], usable

    def _wrong_constants(self, params: Sequence[Mapping[str, Any]]) -> Mask:
        wrong = np.zeros(len(params), dtype=bool)
        for name, value in self.constants.items():
            absent = MISSING if name not in self.conditions else value
            wrong |= np.isnan(Choices((value,)).encode([point.get(name, absent) for point in params]))
        return wrong

    def decode(self, row: ArrayLike) -> dict[str, Any]:
        """The point that owns a row (d,), constants included, in plain Python values; entries are clipped.

        Parameters that are not active there are left out.
        """
        if np.ndim(row) != 1:
            raise InvalidInputError(
                f"row has shape {np.shape(row)}, expected ({len(self.columns)},); decode one at a time"
            )
        clipped = self._clipped(row)
        off = {name for name, on in self.activity(clipped[None]).items() if not on[0]}
        found = dict(self.constants)
        for (name, column), unit in zip(self.columns.items(), clipped.tolist(), strict=True):
            found[name] = column.decode(unit)
        return {name: found[name] for name in self.distributions if name not in off}

    def snap(self, rows: ArrayLike) -> Array:
        """The nearest rows (…, d) that stand for points: discrete entries move to where `encode` puts their value."""
        snapped = self._clipped(rows)
        for j, column in enumerate(self.columns.values()):
            if not isinstance(column, Continuous):
                snapped[..., j] = column.place(column.index(snapped[..., j]))
        return self.settled(snapped)

    def settled(self, rows: Array) -> Array:
        """The rows with a neutral entry wherever a parameter is not active."""
        if not self.conditions:
            return rows
        flat = rows.reshape(-1, len(self.columns))
        return np.where(self.active(flat), flat, self.neutral).reshape(rows.shape)

    def active(self, rows: Array, known: Mapping[str, Mask] | None = None) -> Mask:
        """Which parameters of the columns are active in each row, (n, d); `known`: where the entries mean anything."""
        return self._active(rows, known or {})

    def _active(self, rows: Array, known: Mapping[str, Mask]) -> Mask:
        active = np.ones(rows.shape, dtype=bool)
        for name, on in self.activity(rows, known).items():
            if name in self.columns:
                active[:, self.names.index(name)] = on
        return active

    def activity(self, rows: Array, known: Mapping[str, Mask] | None = None) -> dict[str, Mask]:
        """In which rows each parameter with a condition is active; `known`: where the entries mean anything."""
        return what_is_active(self.conditions, self.scope(rows, known)) if self.conditions else {}

    def scope(self, rows: Array, active: Mapping[str, Mask] | None = None) -> Scope:
        """The rows as rules read them."""
        entries = dict(zip(self.names, rows.T, strict=True))
        return Scope(self.columns, self.constants, entries, active or {}, len(rows))

    def allowed(self, rows: Array) -> Mask:
        """Which rows keep to the rules, (n,); a rule that reads what is not active forbids nothing."""
        allowed = np.ones(len(rows), dtype=bool)
        scope = self.rule_scope(rows)
        for rule in self.rules:
            allowed &= ~truth(rule, scope)[1]
        return allowed

    def rule_scope(self, rows: Array) -> Scope:
        """The rows as rules read them, with what is active."""
        return self.scope(rows, self.activity(rows))

    @cached_property
    def seeds(self) -> Array:
        """Some points that the rules allow; an error where none is found."""
        return find_allowed(self)

    @cached_property
    def neutral(self) -> Array:
        """Entry of each column where its parameter is not active."""
        middle = [0.0 if isinstance(column, Choices) else 0.5 for column in self.columns.values()]
        pairs = zip(self.columns.values(), middle, strict=True)
        return np.array([u if isinstance(c, Continuous) else float(c.place(c.index(np.array(u)))) for c, u in pairs])

    @cached_property
    def parents(self) -> Mask:
        """Columns that some condition reads, (d,)."""
        read = {name for condition in self.conditions.values() for name in condition.names}
        return np.array([name in read for name in self.names], dtype=bool)

    @cached_property
    def listed(self) -> Array | None:
        """Every point of a discrete space, each once; None where there are more than can be listed."""
        return list_points(self)

    def grid(self, column: int) -> Array:
        """Every entry a discrete column can have, in order; none for a continuous one."""
        values = self.columns[self.names[column]]
        if values.count > MOST_LISTED:
            raise InvalidInputError(
                f"parameter {self.names[column]!r} has {values.count} values, and at most {MOST_LISTED} are listed; "
                "`ends` gives the first and the last"
            )
        return (
            np.empty(0) if isinstance(values, Continuous) else values.place(np.arange(values.count, dtype=np.float64))
        )

    def ends(self, column: int) -> tuple[float, float]:
        """First and last entry a column can have: half a cell inside [0, 1] where its values lie on a grid."""
        values = self.columns[self.names[column]]
        if isinstance(values, Continuous):
            return 0.0, 1.0
        first, last = values.place(np.array([0.0, values.count - 1.0]))
        return float(first), float(last)

    def neighbours(self, row: ArrayLike, column: int) -> Array:
        """Rows (n, d) like `row` but for another value in a discrete column; none for a continuous one.

        All other values of a categorical column and of one with up to `ALL_NEIGHBOURS`; else those 1, 2, 4, … away.
        """
        point, moved = self._clipped(row), self.columns[self.names[column]]
        if isinstance(moved, Continuous):
            return np.empty((0, len(point)))
        here = int(moved.index(point[column]))
        if isinstance(moved, Choices) or moved.count <= ALL_NEIGHBOURS:
            others = np.delete(np.arange(moved.count), here)
        else:
            away = 2 ** np.arange(moved.count.bit_length())
            others = np.concatenate([here - away[::-1], here + away])
            others = others[(others >= 0) & (others < moved.count)]
        rows = np.tile(point, (len(others), 1))
        rows[:, column] = moved.place(others.astype(np.float64))
        return rows

    def _clipped(self, rows: ArrayLike) -> Array:
        """A copy of the rows with every entry in [0, 1], or among the codes of a categorical column."""
        given = np.asarray(rows, dtype=np.float64)
        width = len(self.columns)
        if given.ndim == 0 or given.shape[-1] != width or np.isnan(given).any():
            raise InvalidInputError(
                f"rows have shape {given.shape}, expected {width} columns without NaN, as encode gives"
            )
        return np.clip(given, 0.0, np.array([max(k - 1, 0) or 1 for k in self.domain.categories], dtype=np.float64))
