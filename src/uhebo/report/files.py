"""Errors of this package, optional imports, and one way to write a file: whole, or not at all."""

from __future__ import annotations

import importlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

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
    temporary = path.with_name(f".uhebo-{uuid4().hex}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        reason = error.strerror or type(error).__name__
        raise ReportError(
            f"could not write {path}: {reason}; choose another place, or make room and try again"
        ) from error
