"""Argument checks: NumPy's numbers pass, bools do not, and the message says what was given and what was expected."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from uhebo.checks import choice, integer, number, optional_integer
from uhebo.errors import InvalidInputError


def test_accepted_values_come_back_in_plain_python_types() -> None:
    assert type(integer("n", np.int64(3), 1)) is int
    assert type(number("x", np.float32(0.5), 0.0, 1.0)) is float
    assert type(number("x", 1)) is float
    assert integer("n", -5) == -5
    assert optional_integer("n", None, 1) is None
    assert optional_integer("n", 2, 1) == 2
    assert choice("kernel", "se", {"se": 1, "matern52": 2}) == "se"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: integer("n_trials", "x", 1), "n_trials is 'x'; expected an integer >= 1"),
        (lambda: integer("n_trials", True, 1), "n_trials is True; expected an integer >= 1"),
        (lambda: integer("n_trials", np.True_, 1), "expected an integer >= 1"),
        (lambda: integer("n_trials", 2.0, 1), "n_trials is 2.0; expected an integer >= 1"),
        (
            lambda: integer("n_jobs", 0, 1, also=", or -1 for all"),
            "n_jobs is 0; expected an integer >= 1, or -1 for all",
        ),
        (lambda: integer("p", 0.5, also="; use Float"), "p is 0.5; expected an integer; use Float"),
        (lambda: optional_integer("seed", -1, 0), "seed is -1; expected an integer >= 0, or None"),
        (lambda: number("x", math.nan), "x is nan; expected a finite number"),
        (lambda: number("x", 10**400), "expected a finite number"),
        (lambda: number("x", "1"), "x is '1'; expected a finite number"),
        (lambda: number("x", 0.0, above=0.0, most=1.0), "x is 0.0; expected a finite number > 0 and <= 1"),
        (lambda: number("x", -1, 0, also=", or 'theory'"), "x is -1; expected a finite number >= 0, or 'theory'"),
        (
            lambda: choice("kernel", "rbf", ("se",), also=", or a Kernel"),
            "unknown kernel 'rbf'; choose one of se, or a Kernel",
        ),
    ],
)
def test_refused_values_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert message in str(caught.value)
