"""Errors of this package, and one way to write a file: whole, or not at all."""

from __future__ import annotations

import importlib
import os
import tempfile
from pathlib import Path
from typing import Any

from uhebo.errors import MissingExtraError, UheboError

__all__ = ["MissingExtraError", "ReportError", "optional", "write_atomically"]


class ReportError(UheboError):
    """A report or a dashboard could not be made; the message says why and what to do."""


def optional(module: str, extra: str) -> Any:
    """Import a module of an extra, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"this needs {module.partition('.')[0].replace('_', '-')}, which is not installed: "
            f"pip install 'uhebo[{extra}]'"
        ) from error


def write_atomically(path: Path, text: str) -> None:
    """Write beside the target and rename: a reader never sees half a file, and a full disk leaves the old one."""
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".uhebo-", suffix=".part")
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(_ordinary_mode())
        Path(temporary).replace(path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        reason = error.strerror or type(error).__name__
        raise ReportError(
            f"could not write {path}: {reason}; choose another place, or make room and try again"
        ) from error


def _ordinary_mode() -> int:
    """What `open` would give a new file; a temporary one is private."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
