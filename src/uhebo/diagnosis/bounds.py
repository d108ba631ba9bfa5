"""Points on a bound of a range: which, and how the range is widened there."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from optuna.distributions import IntDistribution

from uhebo.space import ABSENT, SearchSpace
from uhebo.types import Array

Side = Literal["lower", "upper"]
AT_BOUND = 1e-6
FEW_VALUES = 10
"""An integer or stepped parameter with at most so many values is at a bound too often to mean anything in a search."""
FEWEST_VALUES = 3
"""The same of one point that is to be used."""
FURTHER = 0.5
"""Share of a range by which its bound is moved."""


@dataclass(frozen=True)
class AtBound:
    """A parameter whose value is on a bound of its range."""

    name: str
    side: Side
    value: float
    wider: tuple[float, float]
    """The range with that bound moved outwards."""

    def __str__(self) -> str:
        end, beyond = ("lowest", "lower") if self.side == "lower" else ("highest", "higher")
        return (
            f"{self.name} = {self.value:.6g} is the {end} value of its range; if {beyond} ones are possible, widen it"
        )

    def command(self, study: str) -> str:
        """The command of the shell that widens the range; `study` is what the shell calls the study."""
        return extend_command(study, self.name, *self.wider)

    @property
    def python(self) -> str:
        """The same in Python."""
        low, high = self.wider
        return f"uhebo.extend(study, {{{self.name!r}: ({low:.12g}, {high:.12g})}})"


def extend_command(study: str, name: str, low: float, high: float) -> str:
    """The command of the shell that gives a parameter this range."""
    return f"uhebo extend {study} {shlex.quote(f'{name}={low:.12g}:{high:.12g}')}"


def bounds_of(params: Mapping[str, Any], space: SearchSpace) -> tuple[AtBound, ...]:
    """Parameters of one point that are on a bound which can be moved."""
    found = []
    for name, side in sides_of(space, [space.encode(params)], few=FEWEST_VALUES)[0]:
        distribution: Any = space.distributions[name]
        wider = widened(distribution, side)
        if wider != (distribution.low, distribution.high):
            found.append(AtBound(name, side, params[name], wider))
    return tuple(found)


def sides_of(space: SearchSpace, rows: list[Array], few: int = FEW_VALUES) -> list[list[tuple[str, Side]]]:
    """For each row the parameters at a bound, and which; only where a bound is one of more than `few` values."""
    result: list[list[tuple[str, Side]]] = [[] for _ in rows]
    active = space.active(np.array(rows).reshape(len(rows), len(space.names)))
    for j in space.domain.numeric:
        if 0 < space.values[j] <= few:
            continue
        first, last = space.ends(int(j))
        for pairs, row, on in zip(result, rows, active[:, j], strict=True):
            if not on or row[j] == ABSENT:
                continue
            if row[j] <= first + AT_BOUND:
                pairs.append((space.names[j], "lower"))
            elif row[j] >= last - AT_BOUND:
                pairs.append((space.names[j], "upper"))
    return result


def widened(distribution: Any, side: str) -> tuple[float, float]:
    """The range with one bound moved outwards by half of its width, or of its logarithm's, to three digits; what is
    positive stays so."""
    low, high = distribution.low, distribution.high
    by = (high / low) ** FURTHER if distribution.log else FURTHER * (high - low)
    if side == "lower":
        moved = low / by if distribution.log else low - by
        moved = low / 2 if low > 0 >= moved else moved
    else:
        moved = high * by if distribution.log else high + by
    if isinstance(distribution, IntDistribution):
        from_, step = (low if side == "lower" else high), distribution.step
        moved = from_ + step * round((moved - from_) / step)
        moved = max(moved, 1) if distribution.log else moved
    else:
        moved = float(f"{moved:.3g}")
    return (moved, high) if side == "lower" else (low, moved)
