"""Where inputs live: the unit cube for numeric columns, category codes for categorical ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from uhebo.errors import InvalidInputError
from uhebo.types import Array, Rng


@dataclass(frozen=True)
class Domain:
    """One entry per column: 0 for a numeric column in [0, 1], k for a categorical one with codes 0 .. k-1."""

    categories: tuple[int, ...]

    def __post_init__(self) -> None:
        if any(count < 0 for count in self.categories):
            raise InvalidInputError(f"categories={self.categories}: expected 0 (numeric) or a number of categories")

    @classmethod
    def cube(cls, dimension: int) -> Domain:
        """The unit cube: every column numeric."""
        return cls((0,) * dimension)

    @property
    def dimension(self) -> int:
        return len(self.categories)

    @cached_property
    def numeric(self) -> NDArray[np.intp]:
        """Indices of the numeric columns."""
        return np.flatnonzero(np.asarray(self.categories) == 0)

    @cached_property
    def categorical(self) -> NDArray[np.intp]:
        """Indices of the categorical columns."""
        return np.flatnonzero(np.asarray(self.categories) > 0)

    def uniform(self, rng: Rng, count: int) -> Array:
        """`count` i.i.d. uniform points, shape (count, d)."""
        points = rng.random((count, self.dimension))
        for column in self.categorical:
            points[:, column] = np.floor(points[:, column] * self.categories[column])
        return points
