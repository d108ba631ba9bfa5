"""Links between files of the repository lead somewhere, and files that a page names are there."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.pages import FENCE, ROOT

LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?[^)]*\)")
HEADING = re.compile(r"^#+ +(.+?)(?: *\{[^}]*\})?$", re.M)
NAMED = re.compile(r"`((?:src|tests|docs|examples|experiments|results|requirements)/[\w./-]+)`")
"""A file or folder in code type."""
IN_THE_ROOT = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
PAGES = [
    *(ROOT / name for name in IN_THE_ROOT),
    ROOT / "results" / "README.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md")),
]


def prose(page: Path) -> str:
    """The text without blocks of code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Of its headings, as the site and GitHub make them."""
    plain = (re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in HEADING.findall(prose(page)))
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in plain}


@pytest.mark.parametrize("page", [pytest.param(page, id=page.relative_to(ROOT).as_posix()) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.findall(prose(page)):
        url = urlsplit(link)
        if url.scheme or url.netloc:
            continue
        target = (page.parent / unquote(url.path)).resolve() if url.path else page
        made = target.with_suffix(".ipynb")  # the site makes a page of it
        if not target.exists() and not made.exists():
            broken.append(link)
        elif url.fragment and target.suffix == ".md" and "reference" not in target.parts:
            broken += [link] * (url.fragment not in anchors(target))
    assert broken == []


def test_links_are_found() -> None:
    assert sum(len(LINK.findall(prose(page))) for page in PAGES) > 150


def test_files_that_pages_name_are_there() -> None:
    """Not those of the changelog: it names what was there at the time."""
    texts = {page: prose(page) for page in PAGES if page.name != "CHANGELOG.md"}
    named = [(page.name, name) for page, text in texts.items() for name in NAMED.findall(text)]
    assert len(named) > 25
    assert [each for each in named if not (ROOT / each[1]).exists()] == []


def test_every_folder_of_records_is_in_the_list() -> None:
    text = (ROOT / "results" / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `([\w.-]+)/?` ", text, re.M))
    assert listed == {path.name for path in (ROOT / "results").iterdir()} - {"README.md"}
