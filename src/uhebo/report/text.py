"""Text that came from others (names, choices, notes), made harmless for each place it is shown in.

A study may have been written by anyone. Every string of it goes through `clean` and then through the one function of
the place it ends up in: HTML, a Plotly label (which reads a subset of HTML), Markdown, a CSV cell, a file name.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from typing import Any

from uhebo.storage.mask import mask

LONGEST = 2000
"""Characters of one piece of foreign text that are shown."""
LABEL = 24
"""Characters of a name or choice in a picture; the tables have all of it."""

_BIDI = dict.fromkeys(map(ord, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"))
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|~:@$])")
_RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com\d|lpt\d)(\..*)?$")


def clean(value: Any, limit: int = LONGEST) -> str:
    """Foreign text on one line: no control or direction characters, no secret, at most `limit` characters."""
    flat = str(value).translate(_BIDI)
    flat = "".join(" " if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in flat[: limit + LONGEST])
    return shortened(mask(flat), limit)


def shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def _without_middle(text: str, limit: int) -> str:
    """Names that differ often differ at the end, so both ends stay."""
    if len(text) <= limit:
        return text
    end = (limit - 1) // 2
    return f"{text[: limit - 1 - end]}…{text[-end:]}"


def shown(value: Any) -> str:
    """A value for a person to read: six digits of a float, anything else as it is."""
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else str(value)
    return clean(value)


def in_html(value: Any) -> str:
    """For the text or a quoted attribute of an HTML page."""
    return html.escape(shown(value), quote=True)


def in_figure(value: Any, limit: int = LABEL) -> str:
    """For a label of a Plotly figure: tags and templates (`%{…}`) lose their meaning; Plotly decodes the entities."""
    short = _without_middle(shown(value), limit)
    return short.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("%{", "% {")


def in_markdown(value: Any) -> str:
    """For Markdown: every character that could mean something is escaped, tags are entities."""
    return _MARKDOWN.sub(r"\\\1", html.escape(shown(value), quote=False))


def in_csv(value: Any) -> str:
    """For one CSV cell: text that a spreadsheet would take for a formula gets a quote in front; numbers stay exact."""
    if isinstance(value, (bool, int, float)):
        return repr(value)
    text = clean(value)
    if text.lstrip()[:1] in ("=", "+", "-", "@"):
        text = "'" + text
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ",;\"'\t") else text


def safe_file_name(name: str, suffix: str = ".html") -> str:
    """A file name made of a study's name: no folders, no hidden or reserved names, 80 characters at most."""
    kept = re.sub(r"[^\w.-]+", "-", unicodedata.normalize("NFKC", clean(name)))
    kept = re.sub(r"\.{2,}", ".", kept)[:80].strip("-._ ")
    if not kept or _RESERVED.match(kept):
        kept = f"study-{kept}".rstrip("-")
    return kept + suffix
