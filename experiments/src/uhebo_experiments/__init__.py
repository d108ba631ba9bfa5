"""The paper's experiments: problems, and what is run on them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uhebo_experiments.cells import Cell
    from uhebo_experiments.problems import Problem, problem, problem_names
    from uhebo_experiments.runner import run
    from uhebo_experiments.table import Table

# Loaded when first used: `uhebo --help` imports this package for the commands that it adds.
_HOME = {
    "Cell": "uhebo_experiments.cells",
    "Problem": "uhebo_experiments.problems",
    "Table": "uhebo_experiments.table",
    "problem": "uhebo_experiments.problems",
    "problem_names": "uhebo_experiments.problems",
    "run": "uhebo_experiments.runner",
}

__all__ = ["Cell", "Problem", "Table", "problem", "problem_names", "run"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'uhebo_experiments' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
