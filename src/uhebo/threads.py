"""One BLAS thread while small matrices are at work, and the user's own setting afterwards.

On matrices of a few hundred rows the threads of a BLAS library cost 5 to 10 times what they save.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import scipy.linalg  # noqa: F401  (SciPy's own BLAS must be loaded before the controller looks for libraries)
from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")


@functools.cache
def _controller() -> ThreadpoolController:
    """Finding the loaded BLAS libraries takes milliseconds, so it is done once."""
    return ThreadpoolController()


def single_threaded(function: Callable[P, R]) -> Callable[P, R]:
    """Run `function` with one BLAS thread; the limit is lifted when it returns or raises."""

    @functools.wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with _controller().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited
