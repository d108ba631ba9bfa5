"""Text that came from others (names, choices, notes), made harmless for each place it is shown in.

A study may have been written by anyone. Every string of it goes through `clean` and then through the one function of
the place it ends up in: a Plotly label (which reads a subset of HTML), Markdown, a CSV cell, a file name. In the
templates (`*.j2`) that happens to every value by itself. A file is then written whole, or not at all.
"""

import html
import importlib
import math
import os
import re
import unicodedata
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from uhebo.errors import MissingExtraError, UheboError
from uhebo.storage.mask import mask

LONGEST = 2000
"""Maximum characters shown of one piece of foreign text."""
LABEL = 24
"""Maximum characters of a name or choice in a picture; the tables have all of it."""

_BIDI = dict.fromkeys(map(ord, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"))
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|~:@$])")
_PLACES = re.compile(r"(?<=_)(?=\w)|(?<=[^\W_]{14})(?=[^\W_]{4})")
"""After an underscore, and in a word of 18 letters and more."""
_RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com\d|lpt\d)(\..*)?$")


class ReportError(UheboError):
    """A report or a dashboard could not be made; the message says why and what to do."""


def optional(module: str, extra: str) -> Any:
    """Import a module of an extra, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"this needs {module.partition('.')[0].replace('_', '-')}, which is not installed: "
            f"pip install 'uhebo[{extra}]'"
        ) from error


def clean(value: Any, limit: int = LONGEST) -> str:
    """Foreign text on one line: no control or direction characters, no secret, at most `limit` characters."""
    flat = str(value).translate(_BIDI)
    flat = "".join(" " if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in flat[: limit + LONGEST])
    text = mask(flat)
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def shown(value: Any) -> str:
    """A value for a person to read: six digits of a float, anything else as it is."""
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else str(value)
    return clean(value)


def in_figure(value: Any, limit: int = LABEL) -> str:
    """For a label of a picture. Names that differ often differ at the end, so a long one loses its middle."""
    text, end = shown(value), (limit - 1) // 2
    return text if len(text) <= limit else f"{text[: limit - 1 - end]}…{text[-end:]}"


def in_plotly(value: Any) -> str:
    """For a text of a Plotly figure: tags and templates (`%{…}`) lose their meaning; Plotly decodes the entities."""
    return html.escape(str(value), quote=False).replace("%{", "% {")


def from_to(low: float, high: float) -> str:
    """Two numbers with as many decimals as it takes to tell them apart."""
    decimals = 6 if high <= low else min(max(0, 1 - math.floor(math.log10(high - low))), 6)
    return (
        f"{low:.{decimals}f} to {high:.{decimals}f}" if max(abs(low), abs(high)) < 1e6 else f"{low:.6g} to {high:.6g}"
    )


def breakable(value: Any) -> str:
    """For HTML, as it is: with places where a long word may go on in the next line."""
    return "<wbr>".join(html.escape(part) for part in _PLACES.split(shown(value)))


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


def rendered(template: str, **values: Any) -> str:
    """A template of this package (`.html.j2` or `.md.j2`), filled in: every value is cleaned and escaped.

    What must not be (scripts, a data URI) is given as `Markup`.
    """
    jinja2 = optional("jinja2", "plot")
    page = template.endswith(".html.j2")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("uhebo.report", ""),
        autoescape=page,
        finalize=(lambda value: value if hasattr(value, "__html__") else shown(value)) if page else in_markdown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return str(environment.get_template(template).render(values))


def safe_file_name(name: str, suffix: str = ".html") -> str:
    """A file name made of a study's name: no folders, no hidden or reserved names, 80 characters at most."""
    kept = re.sub(r"[^\w.-]+", "-", unicodedata.normalize("NFKC", clean(name)))
    kept = re.sub(r"\.{2,}", ".", kept)[:80].strip("-._ ")
    if not kept or _RESERVED.match(kept):
        kept = f"study-{kept}".rstrip("-")
    return kept + suffix


def write_atomically(path: Path, text: str | bytes) -> None:
    """Write beside the target and rename: a reader never sees half a file, and a full disk leaves the old one."""
    temporary = path.with_name(f".uhebo-{uuid4().hex}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        reason = error.strerror or type(error).__name__
        raise ReportError(
            f"could not write {path}: {reason}; choose another place, or make room and try again"
        ) from error
