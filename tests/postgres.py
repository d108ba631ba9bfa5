"""A PostgreSQL server of the tests' own: Debian's program, a temporary folder, a loopback port, no privileges."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.waiting import LIMIT_S

USER = "uhebo"
HOW = "PostgreSQL cannot be started here: apt-get install postgresql, pip install 'psycopg[binary]'"


class NoServer(Exception):
    """There is no PostgreSQL here, and why."""


@dataclass
class Server:
    """One server; `stop` and `start` are what an outage is made of."""

    programs: Path
    folder: Path
    port: int
    user: str | None
    """Who it runs as; None: who we are."""
    fsync: bool = False
    max_connections: int = 200
    _databases: int = field(default=0)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def url(self, database: str = "postgres") -> str:
        return f"postgresql+psycopg://{USER}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """URL of an empty database."""
        import psycopg

        self._databases += 1
        name = f"study_{os.getpid()}_{self._databases}"
        with psycopg.connect(f"postgresql://{USER}@127.0.0.1:{self.port}/postgres", autocommit=True) as connection:
            connection.execute(f"create database {name}")
        return self.url(name)

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        import psycopg

        with psycopg.connect(f"postgresql://{USER}@127.0.0.1:{self.port}/postgres", autocommit=True) as connection:
            found = connection.execute(statement)
            return list(found.fetchall()) if found.description else []

    def ask_for_password(self, role: str, password: str) -> str:
        """URL of an empty database of a new role, without the password that the server asks this role for."""
        name = self.new_database().rpartition("/")[2]
        self.execute(f"create role {role} login password '{password}'")
        self.execute(f"alter database {name} owner to {role}")
        rules = self.data / "pg_hba.conf"
        rules.write_text(f"host all {role} 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
        self.execute("select pg_reload_conf()")
        return f"postgresql+psycopg://{role}@127.0.0.1:{self.port}/{name}"

    def read_only(self, *, on: bool) -> None:
        """Every transaction that begins from now on may only read, as on a replica during a failover."""
        import psycopg

        writes = "-c default_transaction_read_only=off"
        url = f"postgresql://{USER}@127.0.0.1:{self.port}/postgres"
        with psycopg.connect(url, autocommit=True, options=writes) as connection:
            connection.execute(f"alter system set default_transaction_read_only = {'on' if on else 'off'}")
            connection.execute("select pg_reload_conf()")

    def initialise(self) -> None:
        self._run("initdb", "-D", str(self.data), "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
        settings = {
            "listen_addresses": "'127.0.0.1'",
            "port": str(self.port),
            "unix_socket_directories": "''",
            "max_connections": str(self.max_connections),
            "fsync": "on" if self.fsync else "off",  # a killed server needs none: the kernel has what it wrote
            "log_min_messages": "fatal",
        }
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in settings.items())

    def start(self) -> None:
        self._run("pg_ctl", "-D", str(self.data), "-l", str(self.folder / "log"), "-w", "-t", f"{LIMIT_S:.0f}", "start")

    def stop(self, mode: str = "immediate") -> None:
        """`immediate` drops every connection and writes nothing more, as a crash does."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "-t", f"{LIMIT_S:.0f}", "-m", mode, "stop")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), *arguments]
        if self.user is not None:
            entry = pwd.getpwnam(self.user)
            command = [
                "setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", "--", *command
            ]  # fmt: skip
        done = subprocess.run(
            command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        if done.returncode:
            raise NoServer(f"{program} failed: {done.stderr.strip() or done.stdout.strip()}")


def programs() -> Path:
    """Where the newest version's programs are."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: float(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("postgres")
    if on_path is None:
        raise NoServer("it is not installed")
    return Path(on_path).parent


@contextlib.contextmanager
def server(*, fsync: bool = False, max_connections: int = 200) -> Iterator[Server]:
    """A running server, gone with everything it wrote when the block ends."""
    where = programs()
    user = _unprivileged() if os.getuid() == 0 else None  # PostgreSQL refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="uhebo-postgres-"))
    try:
        if user is not None:
            entry = pwd.getpwnam(user)
            os.chown(folder, entry.pw_uid, entry.pw_gid)
        made = Server(where, folder, _free_port(), user, fsync, max_connections)
        made.initialise()
        made.start()
        try:
            yield made
        finally:
            with contextlib.suppress(NoServer):  # a test may have left it stopped
                made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged() -> str:
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise NoServer("there is no user postgres or nobody to run it as")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
