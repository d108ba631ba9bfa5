"""What a notebook shows of an object: a piece of HTML in the colours of the page around it, light or dark.

All text is escaped: names of parameters and choices come from users.
"""

import sys
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

TONES = {"good": "#009e73", "bad": "#d55e00", "plain": "#7f7f7f"}
"""Colours of the bar at the side, each seen on white and on black."""
CELL = "padding:.15em .9em .15em 0;text-align:left;vertical-align:top;border:none"
LONGEST = 200
"""Maximum characters of a line that stands for an object."""


def in_notebook() -> bool:
    """Whether this is a kernel of Jupyter's, where there is no terminal and progress can be shown nevertheless."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


def panel(title: str, *parts: str, tone: str = "plain") -> str:
    """A titled piece of a page; the parts are HTML."""
    style = f"border-left:4px solid {TONES[tone]};padding:.2em 0 .2em 1em;margin:.3em 0;color:inherit"
    return f'<div class="uhebo" style="{style}"><strong>{escape(title)}</strong>{"".join(parts)}</div>'


def sentence(text: str) -> str:
    return f'<p style="margin:.35em 0">{escape(text)}</p>'


def bullets(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<ul style="margin:.35em 0;padding-left:1.4em">{items}</ul>' if items else ""


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table without lines; it scrolls where the page is narrow."""
    head = "".join(f'<th style="{CELL};font-weight:600">{escape(column)}</th>' for column in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="{CELL}">{escape(shown(value))}</td>' for value in row) + "</tr>" for row in rows
    )
    style = "border-collapse:collapse;background:none;color:inherit;font-variant-numeric:tabular-nums;display:table"
    heading = f"<thead><tr>{head}</tr></thead>" if any(columns) else ""
    whole = f'<table class="uhebo" style="{style}">{heading}<tbody>{body}</tbody></table>'
    return f'<div style="overflow-x:auto">{whole}</div>'


def folded(title: str, *parts: str) -> str:
    """What can be opened."""
    return f'<details><summary style="cursor:pointer">{escape(title)}</summary>{"".join(parts)}</details>'


def shown(value: object) -> str:
    """A value in a table: six digits of a number, texts as they are."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def one_line(text: str) -> str:
    """Several lines as one, cut where it is long."""
    head, *rest = (" ".join(line.split()) for line in text.splitlines())
    line = f"{head}: {', '.join(rest)}" if rest else head
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
