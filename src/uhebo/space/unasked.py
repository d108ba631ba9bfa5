"""Parameters that a failing evaluation never asked for.

An evaluation that ends before it has all its parameters would have ended so whatever the others were: it tells of a
whole line, or plane, of points. One point of it stands for the trial. From trial to trial these points are spread over
the values that were not asked for, so that the failing region is seen as wide as it is. At one place beside the space,
where other trials with a missing parameter are, they would tell the classifier nothing of the points inside.

The points are a Kronecker sequence: entry j of point k is the fractional part of ½ + k g^-(j+1), where g is the root
of x^(d+1) = x + 1 above 1 (Roberts 2018, "The unreasonable effectiveness of quasirandom sequences").
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from uhebo.space.columns import Choices
from uhebo.space.search_space import ABSENT, SearchSpace
from uhebo.types import Array

POINTS = 5
"""Points for one trial."""
ROOT_STEPS = 60
"""Iterations for g; each halves its error at least."""


def unfolded(
    space: SearchSpace, rows: Sequence[Array], failed: Sequence[bool] | NDArray[np.bool_], points: int
) -> tuple[Array, NDArray[np.intp]]:
    """The rows (n, d), each failed one with a missing entry in several points, and the row each comes from."""
    found, owners, drawn = [], [], 0
    for i, (row, partial) in enumerate(zip(rows, failed, strict=True)):
        stand = [row]
        if partial and (row == ABSENT).any():
            stand = [completed(space, row, index) for index in range(drawn, drawn + points)]
            drawn += points
        found += stand
        owners += [i] * len(stand)
    return np.array(found).reshape(-1, space.domain.dimension), np.array(owners, dtype=np.intp)


def completed(space: SearchSpace, row: Array, index: int) -> Array:
    """The row (d,) with entries of point `index` of the sequence where none is known, as a point of the space."""
    missing = row == ABSENT
    known = {name: ~missing[[j]] for j, name in enumerate(space.names) if missing[j]}
    # What a missing parameter would make active is not known either.
    free = ~space.active(row[None], known)[0] | missing
    return np.asarray(space.snap(np.where(free, _entries(space, index), row)))


def _entries(space: SearchSpace, index: int) -> Array:
    units = np.modf(0.5 + index * _ratios(len(space.names)))[0]
    codes = [column.count if isinstance(column, Choices) else 0 for column in space.columns.values()]
    return np.array([np.floor(u * k) if k else u for u, k in zip(units.tolist(), codes, strict=True)])


def _ratios(dimension: int) -> Array:
    root = 2.0
    for _ in range(ROOT_STEPS):
        root = (1.0 + root) ** (1.0 / (dimension + 1))
    return np.asarray(root ** -np.arange(1.0, dimension + 1.0))
