"""Tables as spreadsheets open them: CSV with points or with commas, .xlsx; sensible digits, and never a formula."""

import csv
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import FrozenTrial

from uhebo.cli.output import quoted
from uhebo.cli.records import cells
from uhebo.errors import InvalidInputError, MissingExtraError

RESOLUTION = 1e-4
"""Share of a range to which a suggestion is written: nobody sets a furnace finer, and `tell` allows for more."""
LOG_DIGITS = 5
ROUNDING = 4
"""Units in the last place by which reckoning misses a short number."""
WIDEST = 40
"""Characters of a column's width."""


def with_unit(name: str, units: Mapping[str, str]) -> str:
    """The heading of a column: temperature [°C]."""
    return f"{name} [{units[name]}]" if name in units else name


def rounded(value: Any, distribution: BaseDistribution | None) -> Any:
    """A parameter's value with the digits that matter; inside its range still."""
    if not isinstance(distribution, FloatDistribution) or not isinstance(value, float) or distribution.single():
        return value
    if distribution.step is not None:
        return float(f"{value:.12g}")
    if distribution.log:
        short = float(f"{value:.{LOG_DIGITS}g}")
    else:
        short = round(value, max(0, math.ceil(-math.log10(RESOLUTION * (distribution.high - distribution.low)))))
    return min(max(short, distribution.low), distribution.high)


def shown_cells(trial: FrozenTrial, names: Sequence[str]) -> list[Any]:
    """The trial's parameters in columns for people: choices as their texts, numbers with the digits that matter."""
    return [rounded(cell, trial.distributions.get(name)) for name, cell in zip(names, cells(trial, names), strict=True)]


def kept_cells(trial: FrozenTrial, names: Sequence[str]) -> list[Any]:
    """The same for programs: every number in full, but for a last digit that came of reckoning."""
    return [_tidied(cell, trial.distributions.get(name)) for name, cell in zip(names, cells(trial, names), strict=True)]


def _tidied(value: Any, distribution: BaseDistribution | None) -> Any:
    if not isinstance(distribution, FloatDistribution) or not isinstance(value, float):
        return value
    short = float(f"{value:.12g}")
    near = abs(short - value) <= ROUNDING * math.ulp(value)
    inside = distribution.low <= short <= distribution.high
    return short if near and inside else value


def write_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]], decimal_comma: bool) -> None:
    """To standard output; with decimal commas as a German spreadsheet expects them, semicolons between cells."""
    table = [[*map(quoted, row)] for row in [columns, *rows]]
    if decimal_comma:
        sys.stdout.write("\N{ZERO WIDTH NO-BREAK SPACE}")  # by which Excel knows UTF-8
        table = [[_with_comma(cell) for cell in row] for row in table]
    csv.writer(sys.stdout, delimiter=";" if decimal_comma else ",", lineterminator="\n").writerows(table)


def _with_comma(cell: Any) -> Any:
    return repr(cell).replace(".", ",") if isinstance(cell, float) and math.isfinite(cell) else cell


def write_xlsx(path: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """One sheet; numbers are numbers, so that every language shows them its own way, and text is text."""
    target = Path(path)
    if target.suffix.lower() != ".xlsx" or not target.parent.is_dir():
        raise InvalidInputError(f"the spreadsheet is {path!r}; expected a name that ends in .xlsx, in a folder")
    try:
        from openpyxl import Workbook
        from openpyxl.styles import Font
        from openpyxl.utils import get_column_letter
    except ImportError as error:
        raise MissingExtraError(f"to write {path}: pip install 'uhebo[sheets]', or use --csv") from error
    book = Workbook()
    sheet = book.active
    sheet.title = "uhebo"
    for at, row in enumerate([columns, *rows], 1):
        for column, value in enumerate(row, 1):
            cell = sheet.cell(at, column)
            if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
                cell.value = value
            elif value is not None and value != "":
                cell.value, cell.data_type = str(value), "s"  # text, also where it begins like a formula
                cell.quotePrefix = True
            if at == 1:
                cell.font = Font(bold=True)
    for column, name in enumerate(columns, 1):
        texts = [str(name), *(str(row[column - 1]) for row in rows)]
        sheet.column_dimensions[get_column_letter(column)].width = min(max(map(len, texts)) + 3, WIDEST)
    sheet.freeze_panes = "A2"
    book.save(target)
