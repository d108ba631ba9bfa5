"""From what the user typed to a study: a path is a SQLite or journal file, anything with :// a database URL."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from uhebo.errors import InvalidInputError
from uhebo.storage.explain import explain, masked

if TYPE_CHECKING:
    from optuna.storages import BaseStorage, RDBStorage
    from optuna.study import Study

    Connect = Callable[[str, Mapping[str, Any]], RDBStorage]

LOCK_WAIT_S = 20.0
"""So long a SQLite file that another program has locked is waited for."""
JOURNAL_SUFFIXES = (".log", ".jsonl")
SQLITE_HEADER = b"SQLite format 3\x00"
NAMES_SHOWN = 10


@dataclass(frozen=True)
class Place:
    """Where studies are kept: a file (`path`), or a server (`url`)."""

    given: str
    path: Path | None
    url: str | None = None

    @property
    def shown(self) -> str:
        return masked(self.given)

    @property
    def journal(self) -> bool:
        return self.path is not None and self.path.suffix.lower() in JOURNAL_SUFFIXES

    @property
    def default_name(self) -> str:
        return self.path.stem if self.path is not None else "uhebo"


def place_of(given: str) -> Place:
    if not given or "\x00" in given:
        raise InvalidInputError(f"the study file is {given!r}; give a path such as lab.db")
    scheme, separator, rest = given.partition(":///")
    if separator and scheme == "sqlite" and rest and "?" not in rest and rest != ":memory:":
        return Place(given, Path(rest))
    if "://" in given:
        return Place(given, None, given)
    return Place(given, Path(given))


@contextmanager
def opened(place: Place, *, create: bool = False, connect: Connect | None = None) -> Iterator[BaseStorage]:
    """The storage, checked first: a file of something else is refused and never written to.

    `connect(url, engine options)` opens a database in another way than at once or not at all.
    """
    import optuna

    fresh = place.path is not None and not place.path.exists()
    storage: BaseStorage | None = None
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # a line a study and a trial is for programmers
    try:
        storage = _open(place, create, connect)
        yield storage
    except BaseException:
        if create and fresh and place.path is not None and _holds_no_study(storage):
            with suppress(OSError):  # half made: out of the way, so that the command can be repeated
                place.path.unlink(missing_ok=True)
        raise
    finally:
        optuna.logging.set_verbosity(verbosity)
        if storage is not None:
            _close(storage)


def _open(place: Place, create: bool, connect: Connect | None) -> BaseStorage:
    from uhebo.storage.database import open_storage
    from uhebo.storage.journal import journal_storage

    if place.path is not None:
        _check_path(place, place.path, create)
        if place.journal:
            try:
                return journal_storage(place.path)
            except (InvalidInputError, OSError):
                raise
            except Exception as error:  # Optuna replays the lines as they are: any nonsense in them fails somewhere
                problem = str(error) or type(error).__name__
                raise InvalidInputError(f"{place.shown} is damaged or is no journal of a study: {problem}") from error
    url, engine = _url(place)
    try:
        return (connect or open_storage)(url, engine)
    except InvalidInputError:
        raise
    except RuntimeError as error:  # another version of Optuna wrote the tables
        raise InvalidInputError(f"{place.shown} was written by another version of Optuna: {error}") from error
    except ImportError as error:
        raise InvalidInputError(
            f"the driver for {place.shown} is not installed ({error.__cause__ or error}); for PostgreSQL: "
            "pip install 'psycopg[binary]' and a URL that starts with postgresql+psycopg://"
        ) from error
    except Exception as error:
        if place.path is None:
            raise InvalidInputError(f"{place.shown} can not be reached: {_last_cause(error)}; check the URL") from error
        raise InvalidInputError(f"{place.shown}: {explain(error)}") from error


def _last_cause(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


def _url(place: Place) -> tuple[str, dict[str, Any]]:
    """URL and engine options for Optuna, which fills {…} in the URL: braces of a path are doubled."""
    from sqlalchemy.engine import URL, make_url

    if place.path is None:
        assert place.url is not None
        return place.url, {}
    path = str(place.path.absolute())
    url = URL.create("sqlite", database=path).render_as_string(hide_password=False)
    if make_url(url).database != path:  # SQLAlchemy before 2.1 does not quote: a ? in the name would end it
        url = f"sqlite:///file:{quote(path)}?uri=true"
    return url.replace("{", "{{").replace("}", "}}"), {"connect_args": {"timeout": LOCK_WAIT_S}}


def _check_path(place: Place, path: Path, create: bool) -> None:
    if path.is_dir():
        raise InvalidInputError(f"{place.shown} is a folder; give a file in it, such as {path / 'lab.db'}")
    if not path.exists():
        if not create:
            raise InvalidInputError(f"there is no file {place.shown}; make a study with: uhebo create {place.shown} …")
        if not path.parent.is_dir():
            raise InvalidInputError(f"there is no folder {path.parent}; make it first, or choose another path")
        return
    if not path.is_file():
        raise InvalidInputError(f"{place.shown} is not a plain file; choose another path")
    (_check_journal if place.journal else _check_sqlite)(place, path, create)


def _check_sqlite(place: Place, path: Path, create: bool) -> None:
    with path.open("rb") as file:
        head = file.read(len(SQLITE_HEADER))
    if head and head != SQLITE_HEADER:
        raise InvalidInputError(f"{place.shown} is not a SQLite database, so it holds no study; choose another path")
    # Read and write: a read-only connection could not roll back what a killed process left half done.
    uri = f"file:{quote(str(path.absolute()))}?mode=rw"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=LOCK_WAIT_S)) as connection:
            tables = {row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")}
    except sqlite3.Error as error:
        raise InvalidInputError(f"{place.shown}: {explain(error)}") from error
    if not tables and create:
        return
    if not {"studies", "trials", "version_info"} <= tables:
        held = f"tables {', '.join(sorted(tables)[:NAMES_SHOWN])}" if tables else "no tables"
        raise InvalidInputError(f"{place.shown} is a database of something else ({held}); choose another path")


def _check_journal(place: Place, path: Path, create: bool) -> None:  # noqa: ARG001
    with path.open("rb") as file:
        first = file.readline(1_000_000)
    try:
        ours = not first or "op_code" in json.loads(first)
    except (ValueError, TypeError, RecursionError):
        ours = False
    if not ours:
        raise InvalidInputError(f"{place.shown} is not a journal of a study; choose another path")


def _holds_no_study(storage: BaseStorage | None) -> bool:
    try:
        return storage is None or not storage.get_all_studies()
    except Exception:
        return True


def _close(storage: BaseStorage) -> None:
    from optuna.storages import RDBStorage

    if isinstance(storage, RDBStorage):
        with suppress(Exception):
            storage.remove_session()
        storage.engine.dispose()


def study_names(storage: BaseStorage) -> list[str]:
    return [study.study_name for study in storage.get_all_studies()]


def load(storage: BaseStorage, place: Place, name: str | None) -> Study:
    """The study of that name, or the only one there is."""
    import optuna

    names = study_names(storage)
    listed = ", ".join(names[:NAMES_SHOWN]) + (
        f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    )
    if not names:
        raise InvalidInputError(f"{place.shown} holds no study; make one with: uhebo create {place.shown} …")
    if name is None and len(names) > 1:
        raise InvalidInputError(f"{place.shown} holds {len(names)} studies: {listed}; choose one with --study NAME")
    if name is not None and name not in names:
        raise InvalidInputError(f"{place.shown} holds no study {name!r}; it holds: {listed}")
    study = optuna.load_study(study_name=names[0] if name is None else name, storage=storage)
    if len(study.directions) > 1:
        raise InvalidInputError(f"study {study.study_name!r} has {len(study.directions)} objectives; uhebo takes one")
    return study


@contextmanager
def study_at(given: str, name: str | None) -> Iterator[Study]:
    """The study for one command; its connections are closed afterwards."""
    place = place_of(given)
    with opened(place) as storage:
        yield load(storage, place, name)
