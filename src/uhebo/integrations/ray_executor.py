"""Ray as an executor: `uhebo.minimize(fn, space, executor=RayExecutor(), n_parallel=32)`."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from uhebo.errors import MissingExtraError


class RayExecutor:
    """An executor that runs evaluations as Ray tasks, on the connected cluster or else on one started here.

    Args:
        options: of each task, as for `ray.remote`: `num_cpus`, `num_gpus`, `memory`, `max_retries`, …
    """

    def __init__(self, **options: Any) -> None:
        try:
            import ray
        except ImportError as error:
            raise MissingExtraError("RayExecutor needs pip install 'uhebo[ray]'") from error
        self._task = ray.remote(_apply).options(**options)

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> "Future[Any]":
        future: Future[Any] = self._task.remote(fn, *args).future()
        return future


def _apply(fn: Callable[..., Any], *args: Any) -> Any:
    return fn(*args)
