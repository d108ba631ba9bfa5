"""A database that asks for a password gets it from PostgreSQL's own places, as "Scaling out" says."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.postgres import Server
from tests.shell import Shell

PASSWORD = "pass-word_7"
ROLES = (f"tuner_{number}" for number in itertools.count())


@pytest.fixture
def url(postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a database that asks for PASSWORD, in a home without one; the shell finds it under env:TUNING."""
    for name in ("PGPASSWORD", "PGPASSFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    found = postgres.ask_for_password(next(ROLES), PASSWORD)
    monkeypatch.setenv("TUNING", found)
    return found


def create(shell: Shell, code: int = 0) -> None:
    shell("create", "env:TUNING", "--study", "tune", "--param", "x=float:0:1", "--trials", "3", code=code)


def work(shell: Shell) -> None:
    shell.write("train.py", "def loss(x):\n    return x\n")
    shell("worker", "--storage", "env:TUNING", "--study", "tune", "train:loss")
    assert "stored 3" in shell.err
    assert PASSWORD not in shell.err
    assert "3 finished" in shell("status", "env:TUNING", "--study", "tune")


def pgpass(url: str, folder: Path, password: str = PASSWORD) -> Path:
    """A line as the page has it."""
    role, _, rest = url.partition("://")[2].partition("@")
    place, _, database = rest.partition("/")
    file = folder / ".pgpass"
    file.write_text(f"{place}:{database}:{role}:{password}\n", encoding="utf-8")
    file.chmod(0o600)
    return file


@pytest.mark.usefixtures("url")
def test_without_a_password_the_server_is_not_waited_for(shell: Shell) -> None:
    create(shell, code=1)
    assert "no password supplied" in shell.err


@pytest.mark.usefixtures("url")
def test_a_password_in_the_environment(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    create(shell)
    work(shell)


def test_a_password_in_the_file_of_the_home(url: str, shell: Shell, tmp_path: Path) -> None:
    pgpass(url, tmp_path)
    create(shell)
    work(shell)


def test_the_environment_comes_before_the_file(
    url: str, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pgpass(url, tmp_path)
    monkeypatch.setenv("PGPASSWORD", "wrong")
    create(shell, code=1)
    assert "authentication failed" in shell.err
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    pgpass(url, tmp_path, "wrong")
    create(shell)


def test_a_file_that_others_can_read_is_not_used(url: str, shell: Shell, tmp_path: Path) -> None:
    pgpass(url, tmp_path).chmod(0o644)
    create(shell, code=1)
    assert "no password supplied" in shell.err
