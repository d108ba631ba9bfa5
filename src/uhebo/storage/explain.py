"""Any exception as one line that says what was wrong and what to do, with secrets masked."""

import errno
import math
import re
import sqlite3
from collections.abc import Iterator, Sequence

from uhebo.errors import UheboError
from uhebo.storage.mask import mask

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_DISK_FULL = "the disk is full; free some space and repeat the command (what was stored before is safe)"
_SQLITE = (
    ("database is locked", "the study file is locked by another program; wait until that is done and try again"),
    ("disk is full", _DISK_FULL),
    ("disk I/O error", "the disk could not be read or written; check it and the space left on it, then try again"),
    ("unable to open", "the study file cannot be opened; check that its folder is there and may be written"),
    ("readonly", "the study file is read-only; change its permissions, or copy it to a folder of yours"),
    ("not a database", "the file is not a study of uhebo or Optuna; check the path"),
    ("malformed", "the study file is damaged; restore a copy (the sqlite3 program's .recover may save most of it)"),
)
_REMEDIES = {
    errno.ENOENT: "; check the path",
    errno.EISDIR: "; give a file, not a folder",
    errno.EACCES: "; check the permissions",
    errno.EPERM: "; check the permissions",
    errno.EROFS: "; choose a folder that may be written",
    errno.EADDRINUSE: "; choose another --port",
    errno.ENAMETOOLONG: "; choose a shorter name",
}
_EXTRAS = {
    "plotly": "plot", "jinja2": "plot", "resvg_py": "plot", "optuna_dashboard": "dashboard", "psycopg": "postgres",
    "mcp": "mcp",
}  # fmt: skip


def one_line(text: str) -> str:
    """The text on one line, without anything that steers a terminal, secrets masked."""
    return printable(" ".join(mask(text).split()))


def printable(text: str) -> str:
    """Control and direction-changing characters written out, so that a name cannot repaint the terminal."""
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape", "surrogatepass").decode(), text)


def listed(items: Sequence[object], most: int = 20) -> str:
    """The first few, and how many more there are."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(map(str, items[:most])) + more


def explain(error: BaseException) -> str:
    """One line for the user. Ours are written for reading; others are translated as far as they are expected."""
    for cause in causes(error):
        known = _known(cause)
        if known:
            return one_line(known)
    if type(error).__name__ == "StorageInternalError" or type(error).__module__.startswith("sqlalchemy"):
        return one_line(f"the database answered: {first_line(error)}")
    first, *_ = [*str(error).splitlines(), ""]
    return one_line(f"unexpected {type(error).__name__}: {first} (UHEBO_DEBUG=1 shows where it came from)")


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what caused it, outermost first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def first_line(error: BaseException) -> str:
    """What the innermost cause says first."""
    *_, last = causes(error)
    lines = str(last).strip().splitlines()
    return mask(lines[0]) if lines else type(last).__name__


def _known(error: BaseException) -> str | None:
    if isinstance(error, UheboError):
        return str(error)
    if isinstance(error, sqlite3.Error):
        text = str(error)
        return next((line for part, line in _SQLITE if part in text), f"the study file answered: {text}")
    if isinstance(error, ModuleNotFoundError):
        module = (error.name or "").partition(".")[0]
        package = f"'uhebo[{_EXTRAS[module]}]'" if module in _EXTRAS else module
        return f"this needs {module}, which is not installed: pip install {package}"
    if isinstance(error, RecursionError):
        return "what was read is nested too deeply; simplify it"
    if isinstance(error, MemoryError):
        return "there is not enough memory; close other programs or use fewer trials"
    if isinstance(error, UnicodeError):
        return f"a name or value is not valid text: {error}"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return where + _DISK_FULL
        return f"{where}{error.strerror or error}{_REMEDIES.get(error.errno or 0, '')}"
    return None


def plus_minus(mean: float, deviation: float) -> str:
    """A mean and its deviation, to two digits of the deviation."""
    if not 1e-4 <= deviation < 1e6 or abs(mean) >= 1e6:
        return f"{mean:.4g} ± {deviation:.2g}"
    decimals = max(0, 1 - math.floor(math.log10(deviation)))
    return f"{mean:.{decimals}f} ± {deviation:.{decimals}f}"
