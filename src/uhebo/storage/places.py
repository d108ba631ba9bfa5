"""From what the user gives to a study: a path is a SQLite or journal file, anything with :// a database URL."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import optuna
from optuna.storages import BaseStorage
from optuna.study import Study
from sqlalchemy.exc import NoSuchModuleError

from uhebo.errors import InvalidInputError
from uhebo.storage.database import close_storage, open_database, sqlite_tables, sqlite_url
from uhebo.storage.explain import explain, first_line, listed
from uhebo.storage.journal import journal_storage
from uhebo.storage.mask import mask, mask_place

JOURNAL_SUFFIXES = (".log", ".jsonl", ".journal")
NOT_STUDIES = (
    *(".csv", ".tsv", ".xlsx", ".xls", ".ods", ".json", ".txt", ".parquet", ".toml", ".yaml", ".yml", ".html", ".pkl"),
    ".py",
)
"""Endings of files that are something else."""
STUDIES = (".db", ".sqlite", ".sqlite3", *JOURNAL_SUFFIXES)
"""Endings of files that are often studies."""
SQLITE_HEADER = b"SQLite format 3\x00"
ENVIRONMENT = "env:"
MAX_LINE = 1_000_000


@dataclass(frozen=True)
class Place:
    """Where studies are kept: a file if there is a `path`, else the server at `meant`, which is `given` looked up."""

    given: str
    path: Path | None
    meant: str

    @property
    def shown(self) -> str:
        return mask_place(self.given)

    @property
    def journal(self) -> bool:
        return self.path is not None and self.path.suffix.lower() in JOURNAL_SUFFIXES

    @property
    def default_name(self) -> str:
        return self.path.stem if self.path is not None else "uhebo"


def place_of(given: str) -> Place:
    """A path, a URL, or `env:NAME`: what that environment variable says, so that no password is on a command line."""
    if not given or "\x00" in given:
        raise InvalidInputError(f"the study file is {given!r}; give a path such as lab.db")
    if given.startswith(ENVIRONMENT):
        value = os.environ.get(given.removeprefix(ENVIRONMENT), "")
        if not value or value.startswith(ENVIRONMENT):
            raise InvalidInputError(f"{given}: there is no such environment variable; set it to a path or a URL")
        return replace(place_of(value), given=given)
    scheme, separator, rest = given.partition(":///")
    if separator and scheme == "sqlite" and rest and "?" not in rest and rest != ":memory:":
        return Place(given, Path(rest), given)
    if given == ":memory:":
        raise InvalidInputError(
            "the study file is ':memory:'; to keep nothing leave storage out, else give such as lab.db"
        )
    if given.startswith("sqlite://") and given[9:10] not in ("", "/"):
        raise InvalidInputError(f"{mask_place(given)} has a slash too few; write sqlite:///lab.db, or lab.db alone")
    path = None if "://" in given else Path(given)
    if path is not None and path.suffix.lower() in NOT_STUDIES and not path.exists():
        raise InvalidInputError(
            f"the study file is {mask_place(given)!r}, and a study is a SQLite file; name it {mask_place(path.stem)}.db"
        )
    return Place(given, path, given)


def open_storage(
    storage: Place | str | Path | BaseStorage, *, create: bool = False, one_connection: bool = False
) -> BaseStorage:
    """The one opener. A file of something else is refused and never written to; a storage is returned as it is.

    With `create`, a file that is not there is made. `one_connection` is for one of many processes on a server.
    """
    if isinstance(storage, BaseStorage):
        return storage
    if not isinstance(storage, (Place, str, Path)):
        raise InvalidInputError(f"the storage is {storage!r}; expected a path, a database URL or an Optuna storage")
    place = storage if isinstance(storage, Place) else place_of(str(storage))
    try:
        if place.path is None:
            return open_database(place.meant, one_connection=one_connection)
        if not create and not place.path.exists():
            near = _beside(place.path)
            hint = f"did you mean {near}? Or " if near else ""
            raise InvalidInputError(
                f"there is no file {place.shown}; {hint}make a study with: uhebo create {place.shown} …"
            )
        refusal = _refusal(place.path, create, place.journal)
        if refusal:
            raise InvalidInputError(f"{place.shown} {refusal}")
        return journal_storage(place.path) if place.journal else open_database(sqlite_url(place.path))
    except (InvalidInputError, OSError):
        raise
    except Exception as error:
        raise InvalidInputError(_why_not(place, error)) from error


def _why_not(place: Place, error: Exception) -> str:
    if place.journal:  # Optuna replays the lines as they are: any nonsense in them fails somewhere
        return f"{place.shown} is not a journal of a study, or damaged: {mask(str(error)) or type(error).__name__}"
    if isinstance(error, RuntimeError):
        return f"{place.shown} was written by another version of Optuna: {error}"
    if isinstance(error, NoSuchModuleError):
        scheme = place.meant.partition("://")[0]
        return (
            f"{place.shown}: there is no database called {scheme!r}; expected a URL such as "
            "postgresql+psycopg://user:…@host/name, or a file such as lab.db"
        )
    if isinstance(error, ImportError):
        return (
            f"the driver for {place.shown} is not installed ({error.__cause__ or error}); for PostgreSQL: "
            "pip install 'psycopg[binary]' and a URL that starts with postgresql+psycopg://"
        )
    if place.path is None:
        return f"{place.shown} cannot be reached: {first_line(error)}; check the URL"
    return f"{place.shown}: {explain(error)}"


@contextmanager
def opened(place: Place, *, create: bool = False) -> Iterator[BaseStorage]:
    """The storage for one command: closed afterwards, and a new file without a study in it removed."""
    from uhebo.optuna_.gaps import SILENT

    fresh = place.path is not None and not place.path.exists()
    storage: BaseStorage | None = None
    try:
        with SILENT:
            storage = open_storage(place, create=create)
            yield storage
    except BaseException:
        if create and fresh and place.path is not None:
            studies = 0
            with suppress(Exception):
                studies = 0 if storage is None else len(storage.get_all_studies())
            if not studies:  # half made: out of the way, so that the command can be repeated
                with suppress(OSError):
                    place.path.unlink(missing_ok=True)
        raise
    finally:
        if storage is not None:
            close_storage(storage)


def _refusal(path: Path, create: bool, journal: bool) -> str:
    """Why this path is not opened; empty if it is."""
    if path.is_dir():
        return f"is a folder; give a file in it, such as {path / 'lab.db'}"
    if not path.exists():
        if mask_place(str(path)) != str(path):  # a password must not become the name of a file
            return "is mistyped; expected lab.db, or such as postgresql://user:…@host/name"
        return "" if path.parent.is_dir() else f"cannot be made: there is no folder {path.parent}; make it first"
    if not path.is_file():
        return "is not a plain file; choose another path"
    with path.open("rb") as file:
        head = file.readline(MAX_LINE)
    if journal:
        return "" if not head or "op_code" in json.loads(head) else "is not a journal of a study; choose another path"
    if head and not head.startswith(SQLITE_HEADER):
        return "is not a SQLite database, so it holds no study; choose another path"
    tables = sqlite_tables(path)
    # With some of Optuna's tables, another process is making them at this moment, or was killed while it did.
    begun = all(name.startswith(("stud", "trial", "version_info", "alembic_version")) for name in tables)
    if (create and begun) or {"studies", "trials", "version_info"} <= tables:
        return ""
    held = f"tables {listed(sorted(tables))}" if tables else "no tables"
    return f"is a database of something else ({held}); choose another path"


def _beside(path: Path) -> Path | None:
    """A study in the same folder whose name is almost this one."""
    with suppress(OSError):
        there = {each.name: each for each in path.parent.iterdir() if each.suffix.lower() in STUDIES}
        exact = (there.get(path.name + suffix) for suffix in STUDIES)
        near = get_close_matches(path.name, there, n=1, cutoff=0.75)
        return next(filter(None, exact), there[near[0]] if near else None)
    return None


def study_names(storage: BaseStorage) -> list[str]:
    return [study.study_name for study in storage.get_all_studies()]


def load(storage: BaseStorage, place: Place, name: str | None, *, option: str = "--study NAME") -> Study:
    """The study of that name, or the only one there is; `option` is where a name is given."""
    names = study_names(storage)
    if not names:
        raise InvalidInputError(f"{place.shown} holds no study; make one with: uhebo create {place.shown} …")
    if name is None and len(names) > 1:
        raise InvalidInputError(f"{place.shown} holds {len(names)} studies: {listed(names)}; choose one with {option}")
    if name is not None and name not in names:
        raise InvalidInputError(f"{place.shown} holds no study {name!r}; it holds: {listed(names)}")
    return optuna.load_study(study_name=names[0] if name is None else name, storage=storage)


def name_in(storage: BaseStorage, given: str | Path, parameters: Sequence[str]) -> str | None:
    """The study of a call that names none: the only one in a file, or a new one named after it. None on a server.

    Two functions whose parameters differ are not mixed up because somebody copied the name of a file.
    """
    place = place_of(str(given))
    if place.path is None:
        return None
    names = study_names(storage)
    if not names:
        return place.default_name
    study = load(storage, place, None, option="study_name=")
    theirs = {name for trial in study.get_trials(deepcopy=False) for name in trial.params}
    if not theirs <= set(parameters):
        raise InvalidInputError(
            f"{place.shown} holds a study with other parameters ({listed(sorted(theirs))}); give another file, or "
            f"study_name={study.study_name!r} to go on with it, or another name for a new study"
        )
    return study.study_name


@contextmanager
def study_at(given: str, name: str | None) -> Iterator[Study]:
    """The study for one command, with corrections applied; its connections are closed afterwards."""
    from uhebo.optuna_.corrected import corrected

    place = place_of(given)
    with opened(place) as storage:
        yield corrected(load(storage, place, name))
