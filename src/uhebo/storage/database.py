"""A database opened for many processes at once: connections that heal, a schema made once, SQLite without its race."""

from __future__ import annotations

import os
import random
import time
import weakref
from collections.abc import Mapping
from typing import Any

from optuna.storages import RDBStorage
from sqlalchemy import Engine, event, make_url
from sqlalchemy.exc import DatabaseError

from uhebo.errors import InvalidInputError

SCHEMA_ATTEMPTS = 10
LOCK_WAIT_S = 60.0
"""So long a worker waits for a SQLite file that others have locked, before it backs off and tries again."""
_POSTGRESQL = {
    # A server that has gone without a word is noticed: after 10 s while connecting, after 30 s in a statement.
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}


def open_storage(url: str, engine: Mapping[str, Any] | None = None, *, attempts: int = SCHEMA_ATTEMPTS) -> RDBStorage:
    """Optuna's storage on this URL.

    Connections are checked when they are taken from the pool, so one that the server dropped is replaced unseen. Where
    many processes make the tables at once, all but one fail with an error about a table or row that exists: they
    look again.
    """
    options = {**engine_options(url), **(engine or {})}
    for attempt in range(1, attempts + 1):
        try:
            storage = RDBStorage(url, engine_kwargs=dict(options))
            break
        except DatabaseError as error:
            if attempt == attempts or not _made_by_another(error):
                raise
            time.sleep(random.uniform(0.05, 0.2) * attempt)
    _forget_connections_after_fork(storage.engine)
    return storage


def engine_options(url: str) -> dict[str, Any]:
    """What SQLAlchemy is to know about this kind of database."""
    kind = make_url(url.replace("{", "").replace("}", ""))
    if "@" in (kind.host or ""):  # the rest of a password would turn up in messages as part of the host's name
        raise InvalidInputError("the storage URL has an @ in its user name or password; write %40 for it")
    if kind.get_backend_name() == "sqlite":
        return {"connect_args": {"timeout": LOCK_WAIT_S}}
    options: dict[str, Any] = {"pool_pre_ping": True}
    if kind.get_backend_name() == "postgresql" and kind.get_driver_name() in ("psycopg", "psycopg2"):
        options["connect_args"] = {name: value for name, value in _POSTGRESQL.items() if name not in kind.query}
    return options


def one_writer_at_a_time(storage: RDBStorage) -> None:
    """On SQLite, take the write lock when a transaction begins.

    SQLite knows no SELECT … FOR UPDATE, and Python's driver begins a transaction only at the first write: two processes
    may both read that a trial is waiting, and both take it. With the lock first, the second reads what the first wrote.
    """
    engine = storage.engine
    if engine.dialect.name != "sqlite" or event.contains(engine, "begin", _take_the_write_lock):
        return
    event.listen(engine, "connect", _no_transaction_of_its_own)
    event.listen(engine, "begin", _take_the_write_lock)
    engine.dispose()  # connections that were made before


def _no_transaction_of_its_own(connection: Any, _: Any) -> None:
    connection.isolation_level = None


def _take_the_write_lock(connection: Any) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _made_by_another(error: DatabaseError) -> bool:
    """Whether this is the answer to making a table, type or row that is there already."""
    code = getattr(error.orig, "sqlstate", None) or ""
    # PostgreSQL: duplicate table, duplicate object, unique violation, undefined table (seen half-way), serialisation.
    return code in ("42P07", "42710", "23505", "42P01", "40001", "40P01") or any(
        words in str(error.orig) for words in ("already exists", "UNIQUE constraint", "locked", "no such table")
    )


def _forget_connections_after_fork(engine: Engine) -> None:
    """A forked process must not talk over its parent's connections."""
    reference = weakref.ref(engine)

    def forget() -> None:
        kept = reference()
        if kept is not None:
            kept.dispose(close=False)

    os.register_at_fork(after_in_child=forget)
