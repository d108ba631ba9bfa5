"""Records of an experiment: one compressed file, one line per finished run, that pandas and R can read.

    pandas.read_json("runs.jsonl.gz", lines=True)       jsonlite::stream_in(gzfile("runs.jsonl.gz"))

A line is what was run (the fields of a cell), versions and date, and at its end `records`, mostly one per trial.

While an experiment runs, each finished run is appended to a journal beside the table (`runs.jsonl`), also by several
processes at once; `pack` folds it into the table. A line cut short by a crash or a full disk is recognised and ignored,
so that its run is computed again.
"""

from __future__ import annotations

import datetime
import fcntl
import gzip
import importlib.metadata
import json
import logging
import os
import platform
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, ClassVar, Protocol

from uhebo_experiments.revision import revision

Record = dict[str, Any]

RUNS, CLOCK = "runs.jsonl.gz", "clock.jsonl.gz"
"""Names of tables in the folder of their experiment: runs, and seconds."""
LONGEST_LINE, LARGEST_TABLE = 50_000_000, 1_000_000_000
"""Bytes of a run and of a table after decompression; more is not one of ours."""
_RECORDS = b', "records": ['
_LOG = logging.getLogger(__name__)


class Task(Protocol):
    """What can be run: a frozen dataclass whose fields can be written as JSON."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


class Table:
    """The finished runs of one experiment, packed or in the journal."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._journal = self.path.with_name(self.path.name.removesuffix(".gz"))
        if self._journal == self.path:
            raise ValueError(f"{path}: the name of a table ends in .jsonl.gz")
        self._runs: dict[str, bytes] | None = None

    def records(self, task: Task) -> list[Record] | None:
        """Records of a run, or None where there is none that is whole."""
        run = self._run(task)
        return None if run is None else run[1]

    def header(self, task: Task) -> Record | None:
        """What was run, with which versions and when."""
        run = self._run(task)
        return None if run is None else run[0]

    def __iter__(self) -> Iterator[tuple[Record, list[Record]]]:
        """Header and records of every run, in the order of the table."""
        runs = self._loaded()
        return (run for key in sorted(runs) if (run := _parsed(runs[key])) is not None)

    def add(self, task: Task, records: list[Record]) -> None:
        """Store a finished run at once."""
        line = json.dumps({**asdict(task), **_provenance(), "records": records}).encode() + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(self._journal) as file:
            end = file.seek(0, os.SEEK_END)
            # A line that was cut short must not spoil the next one.
            broken = bool(end) and os.pread(file.fileno(), 1, end - 1) != b"\n"
            file.write(b"\n" * broken + line)
        self._loaded()[_key(asdict(task))] = line

    def pack(self) -> None:
        """Fold the journal into the table; the same runs give the same bytes."""
        if not self._journal.exists():
            return
        with _locked(self._journal):
            runs = self._read()
            text = b"".join(runs[key] for key in sorted(runs))
            draft = self.path.with_name(f".{self.path.name}.{os.getpid()}")
            draft.write_bytes(gzip.compress(text, mtime=0))
            draft.replace(self.path)
            self._journal.unlink()
        self._runs = runs

    def _run(self, task: Task) -> tuple[Record, list[Record]] | None:
        line = self._loaded().get(_key(asdict(task)))
        return None if line is None else _parsed(line)

    def _loaded(self) -> dict[str, bytes]:
        if self._runs is None:
            self._runs = self._read()
        return self._runs

    def _read(self) -> dict[str, bytes]:
        """What was run -> its line. The journal comes first: what is packed meanwhile is in the table by then."""
        newer: dict[str, bytes] = {}
        with suppress(FileNotFoundError), self._journal.open("rb") as file:
            newer = dict(_whole_lines(file))
        runs: dict[str, bytes] = {}
        try:
            with gzip.open(self.path, "rb") as packed:
                runs.update(_whole_lines(packed))
        except FileNotFoundError:
            pass
        except (OSError, EOFError, zlib.error) as error:
            _LOG.warning("%s is damaged (%s): %d runs could be read, others run again", self.path, error, len(runs))
        return runs | newer


def _whole_lines(file: IO[bytes] | gzip.GzipFile) -> Iterator[tuple[str, bytes]]:
    """What was run and its line; lines that are not whole are left out."""
    left = LARGEST_TABLE
    while left > 0 and (line := file.readline(LONGEST_LINE)):
        left -= len(line)
        # Records are most of a line and readers want few runs at a time, so they are parsed when asked for.
        head, mark, _ = line.partition(_RECORDS)
        if mark and line.endswith(b"]}\n"):
            with suppress(ValueError, RecursionError):
                yield _key(json.loads(head + b"}")), line


def _key(header: Record) -> str:
    """What was run, whenever and with whatever versions."""
    return json.dumps({k: v for k, v in header.items() if k not in ("versions", "date")}, sort_keys=True)


def _parsed(line: bytes) -> tuple[Record, list[Record]] | None:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        return None
    records = header.pop("records")
    whole = isinstance(records, list) and all(isinstance(record, dict) for record in records)
    return (header, records) if whole else None


@contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    """The file, for reading and appending, with no other process in it."""
    while True:
        with path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _is_at(file, path):
                yield file
                return


def _is_at(file: IO[bytes], path: Path) -> bool:
    """Whoever held the lock before may have packed the journal and removed it."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _provenance() -> Record:
    packages = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "optuna")}
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    return {"versions": {"uhebo": revision(), "python": platform.python_version(), **packages}, "date": today}
