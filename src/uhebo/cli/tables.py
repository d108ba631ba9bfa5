"""Files of the user's, read with a limit: nothing that is given can fill the memory or hang the program."""

import csv
import io
import re
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

from uhebo.errors import InvalidInputError

MAX_BYTES = 10_000_000
MAX_ROWS = 100_000
WITH_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")


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


def read_table(path: str, words: Mapping[str, Collection[str]]) -> tuple[list[str], dict[int, dict[str, str]]]:
    """A CSV as spreadsheets write it: comma, semicolon or tab between cells, empty columns, decimal commas.

    Its header, and by number of the line a row's cells by column. `words` of a column are not read as numbers.
    """
    text = read_text(path)
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: dict[int, list[str]] = {}
    try:
        header = [name.strip() for name in next(reader, [])]
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) < len(header) or any(cell.strip() for cell in row[len(header) :]):
                raise InvalidInputError(
                    f"{path}, line {reader.line_num}: {len(row)} cells, expected {len(header)} as in the header"
                )
            rows[reader.line_num] = row
            if len(rows) > MAX_ROWS:
                raise InvalidInputError(f"{path} has more than {MAX_ROWS:,} rows; split it")
    except csv.Error as error:
        raise InvalidInputError(f"{path}, line {reader.line_num}: not valid CSV ({error})") from error
    if not any(header):
        raise InvalidInputError(f"{path} is empty; expected a header line and one line per result")

    def cell(text: str, name: str) -> str:
        # Where the comma does not separate cells, it is what some countries write for the decimal point.
        number = delimiter == ";" and WITH_COMMA.fullmatch(text) and text not in words.get(name, ())
        return text.replace(",", ".") if number else text

    # Columns with a name or a cell: a spreadsheet also saves those that were once clicked on.
    used = [name for at, name in enumerate(header) if name or any(row[at].strip() for row in rows.values())]
    cells = {line: {name: cell(row[at].strip(), name) for at, name in enumerate(header)} for line, row in rows.items()}
    return used, cells
