"""Files of the user's, read with a limit: nothing that is given can fill the memory or hang the program.

A table may be a CSV as spreadsheets write it (comma, semicolon or tab between cells, `sep=;` in its first line, decimal
commas, empty columns; UTF-8, UTF-16 or Windows-1252), or a spreadsheet itself (.xlsx, .ods: its first sheet).
"""

import codecs
import csv
import io
import re
import sys
import zipfile
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from uhebo.cli.decimals import doubtful_cells
from uhebo.cli.output import say, unquoted
from uhebo.cli.records import WITH_COMMA
from uhebo.errors import InvalidInputError, MissingExtraError

MAX_BYTES = 10_000_000
MAX_UNPACKED = 100_000_000
"""Bytes of a spreadsheet that is unpacked: it is a zip file, and those can grow a thousandfold."""
MAX_ROWS = 100_000
SEPARATOR = re.compile(r'"?sep=(.)"?\s*', re.I)
"""First line by which Excel is told what separates cells."""
NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
SHEETS = {".xlsx": "openpyxl", ".xlsm": "openpyxl", ".ods": "odf"}
"""Ending: what pandas reads it with."""


@dataclass(frozen=True)
class Table:
    """Columns in use, by number of the line a row's cells by column, and what is wrong with other lines."""

    header: list[str]
    rows: dict[int, dict[str, str]]
    wrong: dict[int, str] = field(default_factory=dict)
    doubtful: dict[int, dict[str, str]] = field(default_factory=dict)
    """Cells that are a thousand times more if they are a number with its point between thousands, as in `rows`."""


def read_text(path: str) -> str:
    """The text of a file (`-`: standard input), at most MAX_BYTES of UTF-8, with or without a byte-order mark."""
    try:
        return _raw(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not UTF-8 text; save it as UTF-8") from error


def _raw(path: str) -> bytes:
    try:
        raw = sys.stdin.buffer.read(MAX_BYTES + 1) if path == "-" else _read(Path(path))
    except FileNotFoundError as error:
        raise InvalidInputError(f"there is no file {path}; check the path") from error
    if len(raw) > MAX_BYTES:
        raise InvalidInputError(f"{path} is larger than {MAX_BYTES // 1_000_000} MB; split it, or check the path")
    return raw


def _read(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise InvalidInputError(f"{path} is a folder or a device; give a file")
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _decoded(path: str) -> str:
    """The text of a table: UTF-8, UTF-16, or else Windows-1252, which is said."""
    raw = _raw(path)
    pairs = raw[:2000]
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encodings = ["utf-16"]
    elif 3 * pairs.count(0) > len(pairs):
        encodings = ["utf-16-le" if pairs[1:2] == b"\0" else "utf-16-be"]
    else:
        encodings = ["utf-8-sig", "cp1252"]
    for encoding in encodings:
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        # Any bytes have a reading in these two: a picture or a program is refused.
        if encoding in ("utf-8-sig", "utf-16") or not NO_TEXT.search(text):
            if encoding == "cp1252":
                say(f"note: {path} is not UTF-8; it was read as Windows-1252")
            return text
    raise InvalidInputError(
        f"{path} is not text in UTF-8, UTF-16 or Windows-1252; save it as CSV UTF-8, or give an .xlsx or .ods file"
    )


def read_table(
    path: str, words: Mapping[str, Collection[str]], named: Callable[[list[str]], list[str]] = list
) -> Table:
    """A CSV or a spreadsheet. `words` of a column are not read as numbers; `named` makes names of headings."""
    if Path(path).suffix.lower() in SHEETS:
        return _checked(path, enumerate(_sheet(path), 1), None, words, named)
    text = _decoded(path)
    first, _, rest = text.partition("\n")
    said = SEPARATOR.fullmatch(first.strip("\r"))
    delimiter = said[1] if said else max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(rest if said else text, newline=""), delimiter=delimiter, strict=True)
    skipped = 1 if said else 0
    lines = ((reader.line_num + skipped, row) for row in reader)
    try:
        return _checked(path, lines, "," if delimiter == ";" else ".", words, named)
    except csv.Error as error:
        raise InvalidInputError(f"{path}, line {reader.line_num + skipped}: not valid CSV ({error})") from error


def _checked(
    path: str,
    lines: Iterable[tuple[int, list[str]]],
    decimal: str | None,
    words: Mapping[str, Collection[str]],
    headings: Callable[[list[str]], list[str]],
) -> Table:
    """`decimal` is the sign that the separator of cells allows; None where numbers are no text."""
    header: list[str] | None = None
    rows: dict[int, list[str]] = {}
    wrong: dict[int, str] = {}
    for number, row in lines:
        if header is None:
            header = headings([unquoted(name.strip()) for name in row])
        elif any(cell.strip() for cell in row):
            if len(row) < len(header) or any(cell.strip() for cell in row[len(header) :]):
                wrong[number] = f"{len(row)} cells, expected {len(header)} as in the header"
            else:
                rows[number] = row
        if len(rows) > MAX_ROWS:
            raise InvalidInputError(f"{path} has more than {MAX_ROWS:,} rows; split it")
    if not header or not any(header):
        raise InvalidInputError(f"{path} is empty; expected a header line and one line per result")

    def cell(text: str, name: str) -> str:
        # Where the comma does not separate cells, it is what some countries write for the decimal point.
        number = decimal == "," and WITH_COMMA.fullmatch(text) and text not in words.get(name, ())
        return text.replace(",", ".") if number else unquoted(text)

    # Columns with a name or a cell: a spreadsheet also saves those that were once clicked on.
    used = [name for at, name in enumerate(header) if name or any(row[at].strip() for row in rows.values())]
    named = list(enumerate(header))
    texts = {line: {name: row[at].strip() for at, name in named} for line, row in rows.items()}
    doubtful = {} if decimal is None else doubtful_cells(texts, words, anywhere=decimal == ",")
    return Table(
        used, {n: {name: cell(t, name) for name, t in row.items()} for n, row in texts.items()}, wrong, doubtful
    )


def _sheet(path: str) -> list[list[str]]:
    """Cells of the first sheet of a spreadsheet, as text."""
    raw = _raw(path)
    try:
        import pandas as pd
        from pandas import read_excel
    except ImportError as error:
        raise MissingExtraError(f"to read {path}: pip install 'uhebo[sheets]', or save it as CSV") from error
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as packed:
            size = sum(each.file_size for each in packed.infolist())
        if size > MAX_UNPACKED:
            raise InvalidInputError(
                f"{path} is larger than {MAX_UNPACKED // 1_000_000} MB when unpacked; save it as CSV"
            )
        engine = SHEETS[Path(path).suffix.lower()]
        with pd.ExcelFile(io.BytesIO(raw), engine=engine) as book:
            if len(book.sheet_names) > 1:
                say(f"note: {path} has {len(book.sheet_names)} sheets; the first, {book.sheet_names[0]!r}, is read")
            frame = read_excel(book, header=None, dtype=object, na_filter=False, nrows=MAX_ROWS + 2)
    except InvalidInputError:
        raise
    except ImportError as error:
        raise MissingExtraError(f"to read {path}: pip install 'uhebo[sheets]', or save it as CSV") from error
    except Exception as error:  # whatever a damaged file makes of its reader
        raise InvalidInputError(f"{path} is not a spreadsheet, or damaged ({error}); save it as CSV") from error
    return [[_text(cell) for cell in row] for row in frame.itertuples(index=False)]


def _text(cell: Any) -> str:
    """A cell of a spreadsheet as a CSV would have it."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ")
    if isinstance(cell, (date, time)):
        return cell.isoformat()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return str(cell)
