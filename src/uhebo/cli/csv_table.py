"""A CSV as spreadsheets write it: comma, semicolon or tab between cells, empty columns at the end, decimal commas."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from uhebo.cli.limits import MAX_ROWS, read_text
from uhebo.errors import InvalidInputError

WITH_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Table:
    """A header and its rows, each with the number of its line."""

    header: list[str]
    rows: list[tuple[int, list[str]]]
    decimal_comma: bool
    """Where the comma does not separate cells, it is what some countries write for the decimal point."""

    def number(self, text: str) -> str:
        """A number's text as Python reads it; other text as it is."""
        return text.replace(",", ".") if self.decimal_comma and WITH_COMMA.fullmatch(text) else text


def read_table(path: str) -> Table:
    text = read_text(path)
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    try:
        header = [name.strip() for name in next(reader, [])]
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) < len(header) or any(cell.strip() for cell in row[len(header) :]):
                raise InvalidInputError(
                    f"{path}, line {reader.line_num}: {len(row)} cells, expected {len(header)} as in the header"
                )
            rows.append((reader.line_num, row))
            if len(rows) > MAX_ROWS:
                raise InvalidInputError(f"{path} has more than {MAX_ROWS:,} rows; split it")
    except csv.Error as error:
        raise InvalidInputError(f"{path}, line {reader.line_num}: not valid CSV ({error})") from error
    if not any(header):
        raise InvalidInputError(f"{path} is empty; expected a header line and one line a result")
    used = _used(header, [row for _, row in rows])
    return Table(
        [header[at] for at in used], [(line, [row[at] for at in used]) for line, row in rows], delimiter == ";"
    )


def _used(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Columns with a name or a cell: a spreadsheet also saves those that were once clicked on."""
    return [at for at, name in enumerate(header) if name or any(row[at].strip() for row in rows)]
