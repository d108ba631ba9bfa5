"""Hooks of the documentation build: formulas become MathML, figures under results/ come along, and pages that are still
to be written leave the menu.

MathML needs no script and no network, and every current browser draws it; for brackets and roots that grow it wants a
font with a table for mathematics, which not every system has. STIX Two Math comes with the package ziamath; the part
of it that the pages use goes into the site.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import ziamath
from fontTools import subset
from fontTools.ttLib import TTFont
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

FONT = Path(ziamath.__file__).parent / "fonts" / "STIXTwoMath-Regular.ttf"

RESULTS = Path(__file__).parents[2] / "results"
RESULT_FIGURE = re.compile(r"\]\(\.\./((?:\.\./)?results/[\w./-]+\.png)\)")
"""As a page in docs/, or in a folder of it, links it, so that it also shows where the repository is read."""

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """TeX, as the extension `arithmatex` marks it, in MathML; a formula that cannot be read ends the build."""

    def mathml(match: re.Match[str]) -> str:
        display = "block" if match[2] == "[" else "inline"
        drawn = convert(html.unescape(match[3]).strip(), display=display)
        return f'<div class="formula" tabindex="0">{drawn}</div>' if display == "block" else drawn

    return FORMULA.sub(mathml, content)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Figures that experiments left under results/ belong to the site."""
    for path in sorted(RESULTS.rglob("*.png")):
        target = f"results/{path.relative_to(RESULTS).as_posix()}"
        files.append(File.generated(config, target, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    return RESULT_FIGURE.sub(r"](\1)", markdown)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Entries of the menu whose file is not there yet are left out."""
    config.nav = _existing(config.nav or [], Path(config.docs_dir))
    return config


def on_post_build(config: MkDocsConfig) -> None:
    """The mathematical font with the characters that occur, and the shapes they grow into."""
    site = Path(config.site_dir)
    formulas = [re.findall(r"<math.*?</math>", page.read_text(encoding="utf-8"), re.DOTALL) for page in _pages(site)]
    characters = set(html.unescape(re.sub(r"<[^>]*>", "", "".join(text for found in formulas for text in found))))
    # A letter in <mi> is drawn as the italic letter of another block, and a root by a sign that is in no text.
    drawn = {"\N{SQUARE ROOT}", "\N{PLANCK CONSTANT}"}
    drawn |= {chr(0x1D434 + i) for i in range(52)} | {chr(0x1D6E2 + i) for i in range(58)}
    font = TTFont(FONT)
    options = subset.Options(layout_features=["*"], notdef_outline=True)
    subsetter = subset.Subsetter(options)
    subsetter.populate(text="".join(sorted(characters | drawn)))
    subsetter.subset(font)
    font.save(site / "assets" / "math.ttf")


def _pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def _existing(entries: list[Any], folder: Path) -> list[Any]:
    kept = []
    for entry in entries:
        title, target = next(iter(entry.items())) if isinstance(entry, dict) else (None, entry)
        if isinstance(target, list):
            target = _existing(target, folder)
        elif not any((folder / target).with_suffix(ending).exists() for ending in (".md", ".ipynb")):
            continue
        if target:
            kept.append(target if title is None else {title: target})
    return kept
