"""A whole search space as rows of the unit cube: encode, decode, snap, neighbours."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from optuna.distributions import BaseDistribution

from uhebo.errors import InvalidInputError
from uhebo.gp.data import Domain
from uhebo.space.columns import Choices, Column, Continuous, column_of
from uhebo.space.declare import as_distributions
from uhebo.types import Array

ALL_NEIGHBOURS = 32
"""Values of an ordered column up to which all others are neighbours; beyond, those 1, 2, 4, … steps away."""
MOST_LISTED = 1_000_000
"""Values of a column that may be listed; an integer range may have 2^53."""
MISSING = object()


@dataclass(frozen=True)
class SearchSpace:
    """Parameters as rows: one column for each parameter that can vary, in the order of `distributions`."""

    distributions: dict[str, BaseDistribution]
    constants: dict[str, Any]
    columns: dict[str, Column] = field(repr=False)

    @classmethod
    def of(cls, distributions: Mapping[str, BaseDistribution]) -> "SearchSpace":
        """The space of these distributions, after the checks of `as_distributions`."""
        checked = as_distributions(distributions)
        constants = {name: column_of(d).decode(0.0) for name, d in checked.items() if d.single()}
        return cls(checked, constants, {name: column_of(d) for name, d in checked.items() if not d.single()})

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    @cached_property
    def domain(self) -> Domain:
        return Domain(tuple(c.count if isinstance(c, Choices) else 0 for c in self.columns.values()))

    @cached_property
    def values(self) -> tuple[int, ...]:
        """Number of distinct values in each column, 0 for a continuous one."""
        return tuple(column.count for column in self.columns.values())

    @cached_property
    def size(self) -> float:
        """Number of distinct points, an exact integer, or infinity where a column is continuous."""
        return math.prod(self.values) if all(self.values) else math.inf

    def encode(self, params: Mapping[str, Any]) -> Array:
        """The row (d,) of one point."""
        return np.asarray(self.encode_many([params])[0])

    def encode_many(self, params: Sequence[Mapping[str, Any]]) -> Array:
        """The rows (n, d) of many points; a value that is missing or not of the space is an error that names it."""
        rows = self._encoded(params)
        for column, i in np.argwhere(np.isnan(rows.T)):
            name = self.names[column]
            found = f"is {params[i][name]!r}" if name in params[i] else "is missing"
            raise InvalidInputError(
                f"parameter {name!r} {found} in point {i}, expected a value of {self.distributions[name]}; "
                "correct it, or leave the point out (SearchSpace.contains tells)"
            )
        return rows

    def _encoded(self, params: Sequence[Mapping[str, Any]]) -> Array:
        """The rows of many points, NaN where a value is missing or not of the space."""
        rows = np.empty((len(params), len(self.columns)))
        for j, (name, column) in enumerate(self.columns.items()):
            rows[:, j] = column.encode([point.get(name, MISSING) for point in params])
        return rows

    def contains(self, params: Mapping[str, Any]) -> bool:
        """Whether every parameter of the space is there with a value of the space; others are not looked at."""
        return bool(self.contains_many([params])[0])

    def contains_many(self, params: Sequence[Mapping[str, Any]]) -> NDArray[np.bool_]:
        """`contains` for many points, shape (n,)."""
        return self.encode_inside(params)[1]

    def encode_inside(self, params: Sequence[Mapping[str, Any]]) -> tuple[Array, NDArray[np.bool_]]:
        """The rows of the points that the space contains, and which of all these are, shape (n,)."""
        rows = self._encoded(params)
        inside = np.asarray(~np.isnan(rows).any(axis=1))
        for name, value in self.constants.items():
            inside &= ~np.isnan(Choices((value,)).encode([point.get(name, MISSING) for point in params]))
        return rows[inside], inside

    def decode(self, row: ArrayLike) -> dict[str, Any]:
        """The point that owns a row (d,), constants included, in plain Python values; entries are clipped."""
        if np.ndim(row) != 1:
            raise InvalidInputError(
                f"row has shape {np.shape(row)}, expected ({len(self.columns)},); decode one at a time"
            )
        units = self._clipped(row).tolist()
        found = {name: column.decode(u) for (name, column), u in zip(self.columns.items(), units, strict=True)}
        return {name: found[name] if name in found else self.constants[name] for name in self.distributions}

    def snap(self, rows: ArrayLike) -> Array:
        """The nearest rows (…, d) that stand for points: discrete entries move to where `encode` puts their value."""
        snapped = self._clipped(rows)
        for j, column in enumerate(self.columns.values()):
            if not isinstance(column, Continuous):
                snapped[..., j] = column.place(column.index(snapped[..., j]))
        return snapped

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
