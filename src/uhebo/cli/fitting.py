"""Tables that fit on a terminal: columns no narrower than their longest word, or else one column per row."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

BORDER = 3
"""Characters of a column that are not its text: a line and a blank on both sides."""


def fitted(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[Any]:
    """One table; or where its words would be broken, as many as are needed with the rows side by side."""
    if not columns or not rows or width >= sum(map(_most, *_lines(columns, rows))) + BORDER * len(columns) + 1:
        yield _table(columns, rows)
        return
    widths = _widths(columns, rows, width)
    if widths is not None or len(columns) == 2:  # names and values stand as they are
        yield _table(columns, rows, widths)
        return
    first = max(map(_longest_word, columns))
    left = width - first - BORDER - 1
    at = 0
    while at < len(rows):
        needs = accumulate(max(map(_longest_word, row)) + BORDER for row in rows[at:])
        count = max(1, sum(need <= left for need in needs))
        titles, *lines = zip(columns, *rows[at : at + count], strict=True)
        yield _table(titles, lines, _widths(titles, lines, width))
        at += count


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int] | None = None) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for index, name in enumerate(columns):
        table.add_column(Text(name), overflow="fold", width=None if widths is None else widths[index])
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """Of each column; the narrow ones are widened first. None where even the longest words do not fit."""
    lines = _lines(columns, rows)
    found = [max(map(_longest_word, texts)) for texts in zip(*lines, strict=True)]
    left = width - sum(found) - BORDER * len(found) - 1
    if left < 0:
        return None
    wanted = [_most(*texts) for texts in zip(*lines, strict=True)]
    for at in sorted(range(len(found)), key=lambda index: wanted[index]):
        more = min(wanted[at] - found[at], left)
        found[at], left = found[at] + more, left - more
    return found


def _lines(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    return [columns, *rows]


def _most(*texts: str) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, texts))


def _longest_word(text: str) -> int:
    return max(map(_most, text.split()), default=0)
