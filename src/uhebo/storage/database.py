"""A database opened for many processes at once: connections that heal, a schema made once, SQLite without its race."""

import math
import os
import random
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote
from weakref import WeakSet

from optuna.storages import BaseStorage, RDBStorage
from sqlalchemy import URL, Engine, event, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from uhebo.errors import InvalidInputError

SCHEMA_ATTEMPTS = 10
LOCK_WAIT_S = 20.0
"""Seconds to wait for a SQLite file that another process has locked; a worker then backs off and tries again."""
IDLE_S = 1.0
"""Seconds without use after which a connection is checked before it is used again."""
_POSTGRESQL = {
    # A server that has gone without a word is noticed: after 10 s while connecting, after 30 s in a statement.
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}


def open_database(url: str, *, one_connection: bool = False) -> RDBStorage:
    """Optuna's storage on this URL; with `one_connection`, threads wait for each other instead of opening more.

    Connections that lay idle are checked when they are taken from the pool, so one that the server dropped is replaced
    unseen. Where many processes make the tables at once, all but one fail with an error about a table or row that
    exists: they look again.
    """
    # Optuna fills {SCHEMA_VERSION}; any other brace belongs to a path or a password.
    template = url.replace("{", "{{").replace("}", "}}").replace("{{SCHEMA_VERSION}}", "{SCHEMA_VERSION}")
    for attempt in range(1, SCHEMA_ATTEMPTS + 1):
        storage = RDBStorage.__new__(RDBStorage)
        try:
            RDBStorage.__init__(storage, template, engine_kwargs=engine_options(url))
            if one_connection and storage.engine.dialect.name != "sqlite":  # opening takes two, and checks the tables
                close_storage(storage)
                storage = RDBStorage.__new__(RDBStorage)
                options = {**engine_options(url), "pool_size": 1, "max_overflow": 0}
                RDBStorage.__init__(storage, template, options, True, skip_table_creation=True)
            break
        except BaseException as error:
            # Opening takes two connections: where the second is refused, the first must not be held.
            close_storage(storage)
            if attempt == SCHEMA_ATTEMPTS or not (isinstance(error, DatabaseError) and _made_by_another(error)):
                raise
        time.sleep(random.uniform(0.05, 0.2) * attempt)
    _ENGINES.add(storage.engine)
    if storage.engine.dialect.name != "sqlite":
        _ping_idle(storage.engine)
    lock_when_exclusive(storage.engine)
    return storage


def close_storage(storage: BaseStorage) -> None:
    """Close its connections, if it has any; also of one that was opened in part."""
    if isinstance(storage, RDBStorage):
        with suppress(Exception):
            storage.remove_session()
        with suppress(AttributeError):
            storage.engine.dispose()


def engine_options(url: str) -> dict[str, Any]:
    """Options of SQLAlchemy for this kind of database."""
    kind = _parsed(url)
    if kind.get_backend_name() == "sqlite":
        return {"connect_args": {"timeout": LOCK_WAIT_S}}
    options: dict[str, Any] = {}
    if kind.get_backend_name() == "postgresql" and kind.get_driver_name() in ("psycopg", "psycopg2"):
        options["connect_args"] = {name: value for name, value in _POSTGRESQL.items() if name not in kind.query}
    return options


def _ping_idle(engine: Engine) -> None:
    """SQLAlchemy's `pool_pre_ping`, but not before every one of the short transactions that a trial is made of."""

    def note(_: Any, record: ConnectionPoolEntry) -> None:
        record.info["used"] = time.monotonic()

    def ping(connection: Any, record: ConnectionPoolEntry, _: Any) -> None:
        if time.monotonic() - record.info.get("used", math.inf) > IDLE_S:
            alive = False
            with suppress(engine.dialect.loaded_dbapi.Error):  # or False, with SQLAlchemy 2.0.0
                alive = engine.dialect.do_ping(connection)
            if not alive:
                raise DisconnectionError  # the pool opens another one in its place

    event.listen(engine, "checkin", note)
    event.listen(engine, "checkout", ping)


def _parsed(url: str) -> URL:
    """The URL's parts; where a password would end up in another part, and so in messages, nothing is shown."""
    try:
        parts = make_url(url)
    except (ArgumentError, ValueError):  # their texts have the URL, or a part of a password as the port
        raise InvalidInputError(
            "this is not a database URL; expected for example postgresql+psycopg://user:password@host:5432/name, with "
            "special characters in the password written as %40 (@), %3A (:), %2F (/)"
        ) from None
    after_user = re.sub(r"^.*?://[^:/]*|[?&][\w.]+=[^&]*", "", url)
    if parts.get_backend_name() != "sqlite" and after_user.count("@") > 1:
        raise InvalidInputError("the storage URL has an @ in its user name or password; write %40 for it")
    return parts


def sqlite_url(path: Path) -> str:
    absolute = str(path.absolute())
    url = URL.create("sqlite", database=absolute).render_as_string(hide_password=False)
    if make_url(url).database != absolute:  # SQLAlchemy before 2.1 does not quote: a ? in the name would end it
        url = f"sqlite:///file:{quote(absolute)}?uri=true"
    return url


def sqlite_tables(path: Path) -> set[str]:
    """Names of the tables in a file that exists."""
    # Read and write: a read-only connection could not roll back what a killed process left half done.
    uri = f"file:{quote(str(path.absolute()))}?mode=rw"
    with closing(sqlite3.connect(uri, uri=True, timeout=LOCK_WAIT_S)) as connection:
        return {row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")}


@contextmanager
def exclusive() -> Iterator[None]:
    """On SQLite, transactions that begin in this block, in this thread, take the write lock at once.

    SQLite knows no SELECT … FOR UPDATE, and Python's driver begins a transaction only at the first write: two processes
    may both read that a trial is waiting, and both take it. With the lock first, the second reads what the first wrote.
    """
    _thread.exclusive = True
    try:
        yield
    finally:
        _thread.exclusive = False


def lock_when_exclusive(engine: Engine) -> None:
    """Let `exclusive` take effect on this engine, as SQLAlchemy's documentation of SQLite has it."""
    if engine.dialect.name == "sqlite" and not event.contains(engine, "begin", _begin):
        event.listen(engine, "begin", _begin)


def _begin(connection: Any) -> None:
    if getattr(_thread, "exclusive", False):
        connection.exec_driver_sql("BEGIN IMMEDIATE")


_thread = threading.local()


def _made_by_another(error: DatabaseError) -> bool:
    """Whether this is the answer to making a table, type or row that is there already."""
    code = getattr(error.orig, "sqlstate", None) or ""
    # PostgreSQL: duplicate table, duplicate object, unique violation, undefined table (seen half-way), serialisation.
    return code in ("42P07", "42710", "23505", "42P01", "40001", "40P01") or any(
        words in str(error.orig) for words in ("already exists", "UNIQUE constraint", "locked", "no such table")
    )


_ENGINES: WeakSet[Engine] = WeakSet()


def _forget_connections() -> None:
    """A forked process must not talk over its parent's connections."""
    for engine in _ENGINES:
        engine.dispose(close=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_connections)
