"""Shared by the benchmarks: a test function, a heading with versions and date, a Markdown table."""

from __future__ import annotations

import datetime
import importlib.metadata
import platform
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from uhebo.types import Array
from uhebo_experiments.revision import revision
from uhebo_experiments.table import Record

_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann6(X: Array) -> Array:
    """Hartmann's function in six dimensions (Dixon & Szegő 1978) of rows in the unit cube; the maximum is 3.32237."""
    return np.asarray(np.exp(-((X[:, None] - _P) ** 2 * _A).sum(axis=2)) @ _ALPHA)


def heading(title: str, packages: Sequence[str]) -> str:
    """Title, date and versions: a figure without them proves nothing."""
    return f"\n### {title}\n\n{datetime.date.today().isoformat()}; {versions(packages)}\n"


def versions(packages: Sequence[str]) -> str:
    found = [f"Python {platform.python_version()}", f"uhebo {revision()}"]
    for package in ("numpy", "scipy", *packages):
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{package} not installed")
    return f"{', '.join(found)}; {platform.machine()}"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join("---" for _ in columns) + " |"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def sections(tables: Mapping[str, str]) -> str:
    """Tables in one file; a page includes each by its name."""
    return "\n".join(
        f"<!-- --8<-- [start:{name}] -->\n\n{text}\n<!-- --8<-- [end:{name}] -->\n" for name, text in tables.items()
    )


def days(runs: Iterable[tuple[Record, list[Record]]]) -> str:
    """When the runs of a table were done: a day, or the first and the last."""
    found = sorted({cell["date"] for cell, _ in runs})
    return " to ".join(dict.fromkeys((found[0], found[-1]))) if found else "no day"


def made_with(runs: Iterable[tuple[Record, list[Record]]]) -> str:
    """Days and versions of the runs of a table, for the head of its page, whenever that is written."""
    headers = [header for header, _ in runs]
    found = {name: sorted({header["versions"][name] for header in headers}) for name in headers[0]["versions"]}
    said = ", ".join(f"{name} {' and '.join(each)}" for name, each in found.items())
    return f"{days((header, []) for header in headers)}; {said}"


def entry_versions(runs: Iterable[tuple[Record, list[Record]]]) -> str:
    """Libraries compared and their versions, which stand in the first record of a run."""
    return ", ".join(sorted({f"{cell['entry']} {records[0]['version']}" for cell, records in runs}))


def ended_early(entry: str, problem: str, errors: Sequence[str], runs: int) -> list[str]:
    """For each error that ended runs of a library on a problem, a sentence."""
    return [
        f"`{entry}` ended early on {problem} in {errors.count(error)} of {runs} runs: {error}"
        for error in sorted(set(errors))
    ]
