"""Cells of a sheet with decimal commas whose point may stand between thousands: 1.234 beside 2,5 is 1234 to whoever
wrote it, and one and a bit to a program."""

import re
from collections.abc import Collection, Mapping

from uhebo.cli.records import DOUBTFUL_COMMA, WITH_COMMA

PLUS_MINUS = re.compile(r"±|\+\s*/?\s*-")
"""What stands between a value and its error."""
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+")


def doubtful_cells(
    rows: Mapping[int, Mapping[str, str]], words: Mapping[str, Collection[str]], *, anywhere: bool
) -> dict[int, dict[str, str]]:
    """By line and column, cells that could be read in two ways.

    The sheet has decimal commas where a cell shows one: `anywhere` in it, or else in the same column. `words` of a
    column are no numbers.
    """
    shown = {name for row in rows.values() for name, text in row.items() if _has_comma(text, anywhere)}
    shown = {name for name in shown if not words.get(name)}
    found: dict[int, dict[str, str]] = {}
    for line, row in rows.items() if shown else ():
        cells = {name: text for name, text in row.items() if (anywhere or name in shown) and _has_thousands(text)}
        found |= {line: cells} if cells else {}
    return found


def two_readings(name: str, text: str) -> str:
    """What to say of such a cell."""
    part = next(part.strip() for part in PLUS_MINUS.split(text) if THOUSANDS.fullmatch(part.strip()))
    small = f", or {part.replace('.', ',')}0" if part.count(".") == 1 else ""
    return (
        f"{name} is {text}, and other cells have a decimal comma, so it could be read in two ways; write "
        f"{part.replace('.', '')}{small}"
    )


def _has_comma(text: str, sure: bool) -> bool:
    """Whether there is a decimal comma for certain; `sure` where a comma is nothing else."""
    parts = [part.strip() for part in PLUS_MINUS.split(text)]
    return any(WITH_COMMA.fullmatch(part) and (sure or not DOUBTFUL_COMMA.fullmatch(part)) for part in parts)


def _has_thousands(text: str) -> bool:
    return any(THOUSANDS.fullmatch(part.strip()) for part in PLUS_MINUS.split(text))
