"""Retries with exponential backoff while a database is away: which errors are transient, and how long to wait."""

import logging
import random
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from sqlalchemy.exc import DBAPIError, PendingRollbackError, TimeoutError

from uhebo.errors import UheboError
from uhebo.storage.explain import causes, first_line

logger = logging.getLogger("uhebo")

T = TypeVar("T")
FIRST_DELAY_S, LONGEST_DELAY_S = 0.1, 10.0
LAST_TRY_S = 3.0
"""Seconds after a signal to stop in which results and failures are still written."""
_PERMANENT = (
    *("disk is full", "disk I/O error", "readonly", "malformed", "not a database", "No space left"),
    *("authentication failed", "does not exist", "no password supplied", "no pg_hba.conf entry"),
)
_CROWDED = ("too many clients", "too many connections", "connection slots")
"""How PostgreSQL says that `max_connections`, or the limit of a role or database, is reached."""
_SQLITE_TRANSIENT = ("locked", "unable to open", "busy")


class DatabaseAway(UheboError):
    """The database did not come back within the time the worker was told to wait for it."""


class Interruption(Protocol):
    """What may end the waiting, such as a signal to stop: `wait` sleeps until it comes, `check` raises if it has."""

    @property
    def asked(self) -> bool: ...
    @property
    def seconds_ago(self) -> float: ...
    def wait(self, seconds: float) -> None: ...
    def check(self) -> None: ...


def is_transient(error: BaseException) -> bool:
    """Whether the same call may succeed later: the server is away, the connection broke, another holds a lock.

    Not a full disk, a read-only file or a wrong password: somebody has to do something about them.
    """
    chain = list(causes(error))
    if any(words in str(cause) for cause in chain for words in _PERMANENT):
        return False
    for cause in chain:
        if isinstance(cause, (TimeoutError, PendingRollbackError)):
            return True  # no connection of the pool was free; or Optuna asked again over one that had just broken
        if isinstance(cause, DBAPIError):
            return cause.connection_invalidated or _is_transient_in_driver(cause.orig)
        if isinstance(cause, sqlite3.Error):
            return _is_transient_in_driver(cause)
    return False


def _said(error: Exception, doing: str) -> str:
    text = first_line(error)
    if any(words in text for words in _CROWDED):
        return (
            f"the database has no connection left while {doing}: {text}; raise max_connections of PostgreSQL (two per "
            "worker), put a pooler such as PgBouncer in front, or start fewer workers"
        )
    return f"the database does not answer while {doing}: {text}"


def _is_transient_in_driver(error: BaseException | None) -> bool:
    if isinstance(error, sqlite3.Error):
        return any(words in str(error) for words in _SQLITE_TRANSIENT)
    code = getattr(error, "sqlstate", None)
    # Class 08 connection, 40 rolled back, 55 in use, 57 shut down; too many connections; read-only during a failover.
    if code is not None:
        return code[:2] in ("08", "40", "55", "57") or code in ("53300", "25006")
    return type(error).__name__ in ("OperationalError", "InterfaceError", "ConnectionTimeout")


@dataclass
class Retry:
    """Calls that outlast an outage, by waiting 0.1 s, 0.2 s, 0.4 s … up to 10 s between attempts, for `seconds`."""

    seconds: float
    stop: Interruption
    rng: random.Random = field(default_factory=random.Random)
    outages: int = 0
    """Calls so far that had to be tried again."""

    def call(self, action: Callable[[], T], doing: str, *, last_try: bool = False) -> T:
        """What `action` returns, once it does.

        A signal to stop ends the waiting: at once, or with `last_try` a few seconds after the signal.
        """
        began, attempt = time.monotonic(), 0
        while True:
            try:
                result = action()
            except Exception as error:
                if not is_transient(error):
                    raise
                if attempt == 0:
                    self.outages += 1
                    logger.warning(f"{_said(error, doing)}; trying again")
                self._back_off(error, doing, began, attempt, last_try)
                attempt += 1
            else:
                if attempt:
                    logger.warning(f"the database is back after {time.monotonic() - began:.1f} s")
                return result

    def _back_off(self, error: Exception, doing: str, began: float, attempt: int, last_try: bool) -> None:
        delay = min(FIRST_DELAY_S * 2.0**attempt, LONGEST_DELAY_S) * self.rng.uniform(0.5, 1.0)
        waited = time.monotonic() - began
        if waited + delay > self.seconds:
            raise DatabaseAway(
                f"the database did not answer for {waited:.0f} s while {doing} ({first_line(error)}); "
                "start the worker again when it does"
            ) from error
        self.stop.wait(min(delay, 0.5) if last_try and self.stop.asked else delay)
        if not last_try or self.stop.seconds_ago > LAST_TRY_S:
            self.stop.check()
