"""A cell of an experiment: one run of one method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
