"""A cell of an experiment: one run of one method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from uhebo.optuna_.believe import EARLIER_READING


@dataclass(frozen=True)
class Cell:
    """One run: a problem, a method, a seed, and T iterations after the initial design."""

    problem: str
    method: str
    seed: int
    budget: int
    fidelity: int | None = None
    options: tuple[tuple[str, Any], ...] = ()
    """Further arguments of `UHESampler`, as sorted (name, value) pairs."""

    @property
    def sampler_options(self) -> dict[str, Any]:
        """The options as a dictionary. Cells without a reading of the consistent loss date from when there was one."""
        return {"reading": EARLIER_READING, **dict(self.options)}
