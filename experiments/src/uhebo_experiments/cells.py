"""A cell of an experiment and its file: gzipped JSON lines that pandas, R and a shell can read.

    line 1      the cell, versions and date
    then        one record a trial
    last line   {"end": true, "records": n}

A file is written beside its place and renamed, so a half-written one can only come from a copy or a full disk; it is
recognised by its missing last line (or by gzip) and the cell is computed again.
"""

from __future__ import annotations

import datetime
import gzip
import importlib.metadata
import json
import os
import platform
import re
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from uhebo._version import __version__

Record = dict[str, Any]


class Task(Protocol):
    """Anything with records of its own: a frozen dataclass that names its file."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def file(self) -> Path:
        """Where its records are, relative to the results folder."""


LARGEST_FILE = 50_000_000
"""Bytes a cell's file may hold after decompression; more is not one of ours."""


@dataclass(frozen=True)
class Cell:
    """One run: a problem, a method, a seed, and T iterations after the initial design."""

    problem: str
    method: str
    seed: int
    budget: int
    fidelity: int | None = None
    options: tuple[tuple[str, Any], ...] = ()
    """Further arguments of `UHESampler`, as sorted (name, value) pairs."""

    @property
    def file(self) -> Path:
        """Where its records are, relative to the results folder."""
        problem = self.problem if self.fidelity is None else f"{self.problem}@{self.fidelity}"
        variant = "".join(f"+{name}={value}" for name, value in self.options)
        safe = re.sub(r"[^\w.+=@-]", "_", self.method + variant)
        return Path(problem) / safe / f"T{self.budget}-seed{self.seed:03d}.jsonl.gz"


def write_cell(folder: Path, cell: Task, records: list[Record]) -> Path:
    """Store the records of a finished cell, whole or not at all."""
    target = folder / cell.file
    target.parent.mkdir(parents=True, exist_ok=True)
    lines = [{**asdict(cell), **_versions()}, *records, {"end": True, "records": len(records)}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    # mtime=0: the same records give the same bytes.
    draft.write_bytes(gzip.compress(text.encode(), mtime=0))
    draft.replace(target)
    return target


def read_cell(folder: Path, cell: Task) -> list[Record] | None:
    """The records of a cell, or None where there is no whole file of it."""
    lines = read_lines(folder / cell.file)
    wanted: Record = json.loads(json.dumps(asdict(cell)))
    if lines is None or {name: lines[0].get(name) for name in wanted} != wanted:
        return None
    return lines[1:-1]


def read_lines(path: Path) -> list[Record] | None:
    """All lines of a cell's file, header and end included; None where it is missing or damaged."""
    try:
        with gzip.open(path, "rb") as file:
            text = file.read(LARGEST_FILE + 1)
        lines = [json.loads(line) for line in text.splitlines()]
    except (OSError, EOFError, zlib.error, ValueError, RecursionError):
        return None
    whole = len(text) <= LARGEST_FILE and len(lines) >= 2 and all(isinstance(line, dict) for line in lines)
    return lines if whole and lines[-1] == {"end": True, "records": len(lines) - 2} else None


def _versions() -> Record:
    packages = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "optuna")}
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    return {"versions": {"uhebo": __version__, "python": platform.python_version(), **packages}, "date": today}
