"""What a command prints: results to standard output as a table, JSON or CSV; messages to standard error."""

import json
import logging
import math
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from uhebo.cli.fitting import fitted
from uhebo.errors import InvalidInputError, UheboWarning
from uhebo.storage.explain import one_line, printable

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that a spreadsheet takes for a formula."""
WHO_EXPECTS = (
    "Expected: without noise. The model is the one behind the suggestions; the second opinion allows for more noise "
    "than it does."
)
"""What is said wherever both speak of a point."""


def only_one(as_json: bool, as_csv: bool, as_xlsx: bool = False) -> None:
    if as_json + as_csv + as_xlsx > 1:
        raise InvalidInputError("--json, --csv and --xlsx are three forms of one result; choose one")


def say(message: str) -> None:
    """One line on standard error."""
    print(one_line(message), file=sys.stderr, flush=True)


def write(value: Any, columns: Sequence[str], rows: Sequence[Sequence[Any]], as_json: bool) -> None:
    """A result in the form that was asked for: `value` as JSON, or rows under their columns for people."""
    if as_json:
        write_json(value)
    else:
        write_table(columns, rows)


def quoted(cell: Any) -> Any:
    """A cell of a CSV: text that a spreadsheet would take for a formula gets a quote in front."""
    if not isinstance(cell, str) or not cell.lstrip(" ").startswith(FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def unquoted(text: str) -> str:
    """The text that `quoted` was given."""
    return text[1:] if text.startswith("'") and text[1:].lstrip(" ").startswith(FORMULA) else text


def percent(chance: float) -> str:
    if chance >= 0.995:
        return "more than 99 %"
    return "less than 0.1 %" if chance < 0.001 else f"{100.0 * chance:.2g} %"


def write_json(value: Any) -> None:
    """Pure JSON: ASCII, and a number JSON does not have (inf, nan) as a string."""
    sys.stdout.write(json.dumps(_plain(value), indent=2, allow_nan=False) + "\n")


def write_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table for people; numbers short, text as it is and never read as markup."""
    console = _console()
    titles, lines = [printable(name) for name in columns], [[_cell(cell) for cell in row] for row in rows]
    for table in fitted(titles, lines, console.width):
        console.print(table)


def write_text(text: str, style: str = "") -> None:
    """A paragraph for people, wrapped to the terminal."""
    from rich.text import Text

    _console().print(Text(printable(text), style=style))


def _console() -> Any:
    from rich.console import Console

    # Without a terminal nothing is wrapped: a pipe has no width.
    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=10_000)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    return printable(str(value))


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Our own warnings as one line each; other libraries' chatter left out while a command runs."""
    logger = logging.getLogger("uhebo")
    handler, propagate = _Lines(), logger.propagate
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UheboWarning)
        warnings.showwarning = lambda message, *_, **__: say(f"note: {message}")
        logger.addHandler(handler)
        logger.propagate = False
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.propagate = propagate


class _Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say(f"note: {record.getMessage()}")
