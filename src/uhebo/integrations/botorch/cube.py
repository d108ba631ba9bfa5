"""Inputs of a model must lie in the unit cube: hyperparameters and their priors are in its units."""

from __future__ import annotations

from typing import Any

from uhebo.errors import InvalidInputError

SLACK = 1e-6
"""What single precision and a rounded transform may stick out."""


def check_in_cube(inputs: Any, advice: str) -> None:
    """Refuse an array or a tensor that leaves the cube; a fit there ends in a confident, wrong model."""
    low, high = float(inputs.min()), float(inputs.max())
    if low < -SLACK or high > 1.0 + SLACK:
        raise InvalidInputError(f"training inputs range from {low:.4g} to {high:.4g}, expected the unit cube: {advice}")
