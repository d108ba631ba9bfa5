"""Waiting for a database that is away: which errors pass, and how long to wait between attempts."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import DBAPIError, PendingRollbackError, TimeoutError

from uhebo.errors import UheboError
from uhebo.workers.stop import Stop

logger = logging.getLogger("uhebo")

T = TypeVar("T")
FIRST_DELAY_S, LONGEST_DELAY_S = 0.1, 10.0
LAST_TRY_S = 3.0
"""So long after a signal to stop, a result or a failure is still tried to be stored."""
_FULL = ("disk is full", "disk I/O error", "readonly", "malformed", "not a database", "No space left")
_REFUSED = ("authentication failed", "does not exist", "no password supplied", "no pg_hba.conf entry")
_SQLITE_PASSING = ("locked", "unable to open", "busy")


class DatabaseAway(UheboError):
    """The database did not come back within the time the worker was told to wait for it."""


def passing(error: BaseException) -> bool:
    """Whether the same call may succeed later: the server is away, the connection broke, another holds a lock.

    Not a full disk, a read-only file or a wrong password: somebody has to do something about them.
    """
    causes = list(_causes(error))
    if any(words in str(cause) for cause in causes for words in (*_FULL, *_REFUSED)):
        return False
    for cause in causes:
        if isinstance(cause, (TimeoutError, PendingRollbackError)):
            return True  # no connection of the pool was free; or Optuna asked again over one that had just broken
        if isinstance(cause, DBAPIError):
            return _connection_or_lock(cause)
    return False


def _connection_or_lock(error: DBAPIError) -> bool:
    code = getattr(error.orig, "sqlstate", None)
    if error.connection_invalidated:
        return True
    if code is not None:  # class 08 connection, 40 rolled back, 55 in use, 57 shut down, 53 too many connections
        return code[:2] in ("08", "40", "55", "57") or code == "53300"
    kind = type(error.orig).__name__
    if type(error.orig).__module__.startswith("sqlite3"):
        return any(words in str(error.orig) for words in _SQLITE_PASSING)
    return kind in ("OperationalError", "InterfaceError", "ConnectionTimeout")


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (current.__context__ if isinstance(current, StorageInternalError) else None)


@dataclass
class Patience:
    """Calls that outlast an outage, by waiting 0.1 s, 0.2 s, 0.4 s … up to 10 s between attempts, for `seconds`."""

    seconds: float
    stop: Stop
    rng: random.Random = field(default_factory=random.Random)

    def call(self, action: Callable[[], T], doing: str, *, last_try: bool = False) -> T:
        """What `action` returns, once it does.

        A signal to stop ends the waiting: at once, or with `last_try` a few seconds after the signal.
        """
        began, attempt = time.monotonic(), 0
        while True:
            try:
                result = action()
            except Exception as error:
                if not passing(error):
                    raise
                if attempt == 0:
                    logger.warning(f"the database does not answer while {doing}: {_first_line(error)}; trying again")
                self._pause(error, doing, began, attempt, last_try)
                attempt += 1
            else:
                if attempt:
                    logger.warning(f"the database is back after {time.monotonic() - began:.1f} s")
                return result

    def _pause(self, error: Exception, doing: str, began: float, attempt: int, last_try: bool) -> None:
        delay = min(FIRST_DELAY_S * 2.0**attempt, LONGEST_DELAY_S) * self.rng.uniform(0.5, 1.0)
        waited = time.monotonic() - began
        if waited + delay > self.seconds:
            raise DatabaseAway(
                f"the database did not answer for {waited:.0f} s while {doing} ({_first_line(error)}); "
                "start the worker again when it does"
            ) from error
        if not last_try:
            self.stop.wait(delay)
            self.stop.check()
            return
        self.stop.wait(min(delay, 0.5) if self.stop.asked else delay)
        if self.stop.asked and self.stop.seconds_ago > LAST_TRY_S:
            self.stop.check()


def _first_line(error: BaseException) -> str:
    *_, last = _causes(error)
    text = str(last).strip().splitlines()
    return text[0] if text else type(last).__name__
