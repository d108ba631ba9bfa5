"""Files of the user's, read with a limit: nothing that is given can fill the memory or hang the program."""

from __future__ import annotations

import sys
from pathlib import Path

from uhebo.errors import InvalidInputError

MAX_BYTES = 10_000_000
MAX_ROWS = 100_000


def read_text(path: str) -> str:
    """The text of a file (`-`: standard input), at most MAX_BYTES of UTF-8, with or without a byte-order mark."""
    try:
        raw = sys.stdin.buffer.read(MAX_BYTES + 1) if path == "-" else _read(Path(path))
    except FileNotFoundError as error:
        raise InvalidInputError(f"there is no file {path}; check the path") from error
    if len(raw) > MAX_BYTES:
        raise InvalidInputError(f"{path} is larger than {MAX_BYTES // 1_000_000} MB; split it, or check the path")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not UTF-8 text; save it as UTF-8 (in Excel: CSV UTF-8)") from error


def _read(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise InvalidInputError(f"{path} is a folder or a device; give a file")
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)
