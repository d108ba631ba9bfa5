"""The storage room: one opener for every face, what it refuses and repairs, and that nobody else has another."""

from __future__ import annotations

import ast
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages import RDBStorage
from optuna.storages.journal import JournalStorage
from sqlalchemy.exc import OperationalError

import uhebo
from tests.postgres import Server
from tests.shell import Shell
from uhebo.errors import InvalidInputError
from uhebo.storage.database import close_storage, open_database
from uhebo.storage.places import open_storage, place_of
from uhebo.storage.retry import is_transient

SOURCE = Path(uhebo.__file__).parent


def called(path: Path) -> Iterator[str]:
    """What a module calls: each name, and with the name before it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            parts = ast.unparse(node.func).split(".")
            yield from (parts[-1], ".".join(parts[-2:]))


def where(*names: str) -> set[str]:
    """Files of the package that call one of these."""
    return {p.relative_to(SOURCE).as_posix() for p in SOURCE.rglob("*.py") if {*called(p)} & {*names}}


def test_there_is_one_opener_and_one_mask() -> None:
    assert where("RDBStorage", "RDBStorage.__init__", "create_engine", "get_storage") == {"storage/database.py"}
    assert where("sqlite3.connect") == {"storage/database.py"}
    assert where("JournalStorage", "JournalFileBackend") == {"storage/journal.py"}
    assert where("open_database", "journal_storage") == {"storage/places.py"}
    defined = [
        (path.relative_to(SOURCE).as_posix(), node.name)
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith(("mask", "_mask"))
    ]
    assert {path for path, _ in defined} == {"storage/mask.py"}
    waits = [p.name for p in SOURCE.rglob("*.py") if "LOCK_WAIT_S =" in p.read_text(encoding="utf-8")]
    assert waits == ["database.py"]


def test_every_face_takes_the_same_places(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path, a URL, a journal, an environment variable, a storage: from Python as in the shell."""
    monkeypatch.setenv("LAB", "sqlite:///lab.db")
    places: list[str | Path] = ["lab.db", Path("lab.db"), "sqlite:///lab.db", "env:LAB", "lab.jsonl"]
    for at, storage in enumerate(places):
        name = f"s{at}"
        result = uhebo.minimize(lambda x: x, {"x": (0.0, 1.0)}, 1, storage=storage, study_name=name, method="random")
        assert shell.json("best", str(storage), "--study", name)["value"] == result.best_value
    kept = optuna.storages.InMemoryStorage()
    assert open_storage(kept) is kept
    with pytest.raises(InvalidInputError, match="expected a path, a database URL or an Optuna storage"):
        open_storage(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="there is no folder"):
        uhebo.minimize(lambda x: x, {"x": (0.0, 1.0)}, 1, storage="none/lab.db")


def test_a_password_may_stay_in_the_environment(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("URL", "postgresql+psycopg://me:hunter2@127.0.0.1:1/x")
    said = shell.refuses("best", "env:URL")
    assert said.startswith("error: env:URL cannot be reached")
    assert "hunter2" not in said
    for missing in ("env:NOT_SET", "env:"):
        assert "there is no such environment variable" in shell.refuses("best", missing)
    monkeypatch.setenv("LOOP", "env:LOOP")
    assert "there is no such environment variable" in shell.refuses("best", "env:LOOP")


def test_a_database_of_something_else_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "music.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("create table trials (x real)")
        other.execute("create table songs (x real)")
    before = path.read_bytes()
    for create in (False, True):
        with pytest.raises(InvalidInputError, match="a database of something else"):
            open_storage(path, create=create)
    assert path.read_bytes() == before


def test_tables_that_another_process_has_made_in_part_are_completed(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("create table version_info (version_info_id integer primary key, schema_version integer, "
                      "library_version varchar(256))")  # fmt: skip
    with pytest.raises(InvalidInputError, match="a database of something else"):
        open_storage(path)
    storage = open_storage(path, create=True)
    assert storage.get_all_studies() == []
    close_storage(storage)


def test_connections_are_closed_when_opening_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening takes two; where the second is refused, the first was held, and enough workers locked each other out."""
    original = RDBStorage.__init__
    seen: list[Any] = []

    def refused(self: RDBStorage, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        seen.append(self.engine)
        assert seen[0].pool.checkedin()
        raise OperationalError("select", {}, sqlite3.OperationalError("unable to open database file"))

    monkeypatch.setattr(RDBStorage, "__init__", refused)
    with pytest.raises(InvalidInputError) as caught:
        open_storage(tmp_path / "lab.db", create=True)
    assert is_transient(caught.value), "a worker tries again, although the error was explained"
    assert [engine.pool.checkedin() for engine in seen] == [0]


def test_errors_during_a_failover_are_transient_and_others_are_not() -> None:
    class FromServer(Exception):
        sqlstate = "25006"

    def error(code: str) -> OperationalError:
        found = FromServer("cannot execute INSERT in a read-only transaction")
        found.sqlstate = code
        return OperationalError("insert", {}, found)

    assert all(is_transient(error(code)) for code in ("25006", "53300", "08006", "57P01", "40001"))
    assert not any(is_transient(error(code)) for code in ("42601", "23505", "28P01"))


@pytest.mark.parametrize("password", ["my {word}", "{}", "a/b#c", "it's", "100%25"])
def test_a_password_with_braces_and_spaces_opens(password: str, postgres: Server) -> None:
    url = postgres.new_database().replace("@", f":{password}@")
    storage = open_database(url)
    assert storage.get_all_studies() == []
    close_storage(storage)


@pytest.mark.parametrize(
    "url",
    ["postgresql+psycopg://me:zq@zq:zq@h/d", "postgresql://me:zq@zq?zq@h/d", "postgresql://me:zq@zq/zq@h/d", "a b://"],
)
def test_a_url_whose_password_would_be_read_as_something_else_is_refused(url: str) -> None:
    with pytest.raises(InvalidInputError, match="%40") as caught:
        open_storage(url)
    assert "zq" not in str(caught.value)
    assert "zq" not in place_of(url).shown
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("given", ["postgresql:/me:zq@h/d", "me:zq@h", "host=h password=zq", "postgresql//me:z q@h"])
def test_a_mistyped_url_does_not_become_a_file(given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for create in (False, True):
        with pytest.raises(InvalidInputError) as caught:
            open_storage(given, create=create)
        assert "z" not in str(caught.value).replace("postgresql://user:…@host/name", "")
    assert list(tmp_path.iterdir()) == []


def test_a_journal_is_a_journal_by_its_suffix(tmp_path: Path) -> None:
    for name in ("a.log", "a.jsonl", "a.journal"):
        assert isinstance(open_storage(tmp_path / name, create=True), JournalStorage)
