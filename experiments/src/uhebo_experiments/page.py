"""A page of headings, text, tables and figures, written once and read as Markdown or as HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from uhebo.report.text import write_atomically

STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --paper: #fff; --line: #d5dae0; --soft: #f3f5f7; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --paper: #15181c; --line: #3a3f47; --soft: #1e2227; } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 62rem; padding: 1.5rem; }
h1, h2 { line-height: 1.25; } h2 { margin-top: 2.4rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .87rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .35rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { background: var(--soft); } code { background: var(--soft); padding: .1em .3em; border-radius: 3px; }
figure { margin: 1.2rem 0; } img { max-width: 100%; background: #fff; border-radius: 4px; }
figcaption { font-size: .87rem; opacity: .85; max-width: 50rem; }
.reproduced { color: #00795a; font-weight: 600; } .not-reproduced { color: #c04d00; font-weight: 600; }
.undecided { font-weight: 600; }
@media (prefers-color-scheme: dark) { .reproduced { color: #3ecf9f; } .not-reproduced { color: #ff9a52; } }
"""


@dataclass
class Page:
    """Blocks in order; `code` in backticks is the only markup inside text."""

    title: str
    _markdown: list[str] = field(default_factory=list)
    _html: list[str] = field(default_factory=list)

    def heading(self, text: str) -> None:
        self._markdown.append(f"## {text}")
        self._html.append(f"<h2>{_inline(text)}</h2>")

    def text(self, text: str) -> None:
        self._markdown.append(text)
        self._html.append(f"<p>{_inline(text)}</p>")

    def table(
        self, head: Sequence[str], rows: Sequence[Sequence[str]], section: str = "", *, wrap: bool = False
    ) -> None:
        """Cells that are verdicts are coloured in HTML. A table with a section can be taken into other Markdown by that
        name, and has no line breaks in its cells unless they may `wrap`."""
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (head, *rows)]
        lines.insert(1, "|" + " --- |" * len(head))
        if section:
            lines = [f"<!-- --8<-- [start:{section}] -->", "", *lines, "", f"<!-- --8<-- [end:{section}] -->"]
        self._markdown.append("\n".join(lines))
        style = ' style="white-space: nowrap"' if section and not wrap else ""
        top = "".join(f"<th>{_inline(cell)}</th>" for cell in head)
        body = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
        self._html.append(
            f'<div class="scroll"><table{style}><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
        )

    def figure(self, path: str, name: str, caption: str, inches: float) -> None:
        """A PNG relative to the page; `inches` wide in print, in proportion on screen."""
        width = 7.0 * inches
        self._markdown.append(f"![{name}]({path})\n\n*{name}.* {caption}")
        self._html.append(
            f'<figure id="{html.escape(Path(path).stem)}"><img src="{html.escape(path)}" alt="{html.escape(name)}" '
            f'style="width: {width:.3g}rem">'
            f"<figcaption><b>{html.escape(name)}.</b> {_inline(caption)}</figcaption></figure>"
        )

    def write(self, folder: Path, name: str) -> Path:
        """Write `name`.md and `name`.html; returns the latter."""
        write_atomically(folder / f"{name}.md", f"# {self.title}\n\n" + "\n\n".join(self._markdown) + "\n")
        text = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{html.escape(self.title)}</title><style>{STYLE}</style></head><body>"
            f"<h1>{html.escape(self.title)}</h1>\n" + "\n".join(self._html) + "</body></html>\n"
        )
        write_atomically(folder / f"{name}.html", text)
        return folder / f"{name}.html"


def _inline(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text))


def _cell(text: str) -> str:
    word = text.partition(" under ")[0]
    verdict = word if word in ("reproduced", "not reproduced", "undecided") else ""
    attribute = f' class="{verdict.replace(" ", "-")}"' if verdict else ""
    return f"<td{attribute}>{_inline(text)}</td>"
