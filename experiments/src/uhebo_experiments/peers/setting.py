"""What a library of the neutral report is told of a task, and what it has to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from optuna.distributions import BaseDistribution, FloatDistribution

from uhebo_experiments.peers.relaxed import Params


@dataclass(frozen=True)
class Setting:
    """What a library is told of a task."""

    space: Mapping[str, BaseDistribution]
    noisy: bool
    models: bool
    """Whether hyperparameters of models are tuned."""
    trials: int
    batch: int
    seed: int

    @property
    def continuous(self) -> bool:
        return all(isinstance(d, FloatDistribution) for d in self.space.values())


class Library(Protocol):
    """An optimiser that minimises."""

    def ask(self, count: int) -> list[Params]: ...

    def tell(self, points: Sequence[Params], values: Sequence[float]) -> None: ...
