"""The documentation: it builds without a warning, links lead somewhere, nothing comes from outside, its code runs."""

from __future__ import annotations

import functools
import html
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import uhebo
from tests.browser import chromium, console_errors, hosts_asked, prefer
from tests.conftest import require
from tests.pages import HIDDEN_CODE, README, ROOT, Block, blocks, pages, run_blocks
from tests.shell import Shell
from tests.waiting import LIMIT_S
from uhebo_experiments.benchmarks import choose
from uhebo_experiments.cells import Cell
from uhebo_experiments.table import RUNS, Table

DOCS = ROOT / "docs"
ELSEWHERE = {DOCS / "shell.md": "tests/test_cli_story.py", README: "below, and tests/test_cli_story.py"}
"""Pages whose code is run by tests that also look at what comes out."""
OPTIONAL = {
    "bayes_opt": "pip install 'uhebo-experiments[peers]'",
    "botorch": "pip install torch==2.13.0, then 'uhebo[botorch]'",
    "dask": "pip install 'uhebo[dask]'",
    "pandas": "pip install uhebo-experiments",
    "ray": "pip install 'uhebo[ray]'",
    "skopt": "pip install 'uhebo-experiments[peers]'",
    "smac": "pip install 'uhebo-experiments[peers]'",
    "sklearn": "pip install uhebo-experiments",
    "torch": "pip install torch==2.13.0",
    "xgboost": "pip install uhebo-experiments",
}
NOTEBOOKS = tuple(f"notebooks/{path.stem}" for path in sorted((DOCS / "notebooks").glob("*.ipynb")))
MADE_UP_URL = "postgresql+psycopg://tuner:secret@db.example.org/tuning"

# ---------------------------------------------------------------------------------------------------- code


def with_code() -> list[Path]:
    return [page for page in pages() if page not in ELSEWHERE and any(is_code(block) for block in blocks(page))]


def is_code(block: Block) -> bool:
    return bool(block.language in ("python", "console") or block.file)


# What other libraries deprecate or call experimental in their own calls is not ours to mend.
@pytest.mark.filterwarnings("ignore::DeprecationWarning:gpytorch", "ignore::DeprecationWarning:linear_operator")
@pytest.mark.filterwarnings("ignore:Non-float parameters are experimental")
@pytest.mark.parametrize("page", [pytest.param(page, id=page.relative_to(DOCS).as_posix()) for page in with_code()])
def test_the_code_of_a_page_runs(page: Path, shell: Shell, request: pytest.FixtureRequest) -> None:
    found = blocks(page)
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":  # mostly diagnoses, whose figures are not the point here
        request.getfixturevalue("short_chains")
        request.getfixturevalue("rough_importances")
    # An install of everything would fetch gigabytes where they are not there yet.
    needed = {*OPTIONAL} if "pip install '.[all]'" in text else set().union(*(block.imports for block in found))
    for module in sorted(needed & set(OPTIONAL)):
        require(module, OPTIONAL[module])
    stand_ins = {MADE_UP_URL: request.getfixturevalue("postgres").new_database()} if MADE_UP_URL in text else {}
    assert run_blocks(found, shell, stand_ins) == len([block for block in found if is_code(block)])


def python_blocks() -> list[Block]:
    return [block for block in blocks(README) if block.language == "python"]


@pytest.mark.parametrize("block", [pytest.param(block, id=f"line {block.line}") for block in python_blocks()])
def test_the_example_runs(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each on its own, because people copy one and not all."""
    monkeypatch.chdir(tmp_path)
    assert run_blocks([block], Shell(tmp_path, capsys)) == 1


def test_both_faces_are_shown_in_under_ten_lines_each() -> None:
    codes = [block.code for block in python_blocks()]
    for face in ("uhebo.minimize(", "uhebo.UHESampler("):
        assert min(len([line for line in code.splitlines() if line.strip()]) for code in codes if face in code) < 10


def test_figures_of_the_readme_are_those_of_the_records() -> None:
    """The page of the peers follows from the records (tests/test_peers.py), and the README from that page."""
    page = (ROOT / "results" / "peers" / "peers.md").read_text(encoding="utf-8")

    def column(section: str, number: int) -> dict[str, str]:
        part = page.split(f"[start:{section}]")[1].split(f"[end:{section}]")[0]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if "|" in line]
        return {row[0]: row[number] for row in rows}

    rank = {name: f"{float(cell.split()[0]):.1f}" for name, cell in column("ranks", 1).items() if "±" in cell}
    ratios = [float(column("seconds", n)["fastest other GP / uhebo"].rstrip("×")) for n in range(1, 7)]
    noisy = {name: float(cell.split()[0]) for name, cell in column("parts", 2).items() if "±" in cell}
    marked = sorted(cell[-2:] == " -" for name, cell in column("regret", 4).items() if "~" in name)
    text = " ".join(README.read_text(encoding="utf-8").split())
    assert (
        f"statistically level (mean ranks among {len(rank)} entries: {rank['uhebo']}, {rank['smac3']} and "
        f"{rank['botorch-qlognei']}; Optuna's GPSampler at its defaults {rank['optuna-gp']}, its TPE "
        f"{rank['optuna-tpe']}, random points {rank['random']})"
    ) in text
    assert min(float(column("ranks", 4)[name]) for name in ("smac3", "botorch-qlognei")) > 0.05
    words = {7: "seventh", 12: "twelfth"}
    assert f"takes a {words[round(min(ratios))]} to a {words[round(max(ratios))]} of the time" in text
    assert min(noisy, key=lambda name: noisy[name]) == "botorch-qlognei"
    assert marked == [False, True]  # BoTorch significantly better on one of two
    medians = {name: float(cell) for name, cell in column("ranks", 2).items() if cell[0].isdigit()}
    assert min(medians, key=lambda name: medians[name]) == "smac3"
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 130


def test_what_is_said_of_verdicts_is_what_was_recorded() -> None:
    page = (DOCS / "trust.md").read_text(encoding="utf-8")
    table = (ROOT / "results" / "verdicts.md").read_text(encoding="utf-8").splitlines()[4:12]
    right = {cells[1].strip(): cells[2].strip() for cells in (line.split("|") for line in table)}
    assert [right[kind] for kind in ("smooth", "misleading", "too few", "all")] == ["6 of 6"] * 3 + ["30 of 30"]
    assert "All 18 verdicts were right." in " ".join(page.split())
    assert '--8<-- "results/verdicts.md:5:12"' in page


def test_no_code_hides_from_the_tests() -> None:
    """Every block of code has a language under which it is run."""
    every = [block for page in pages() for block in blocks(page)]
    assert [str(block) for block in every if block.language in HIDDEN_CODE and not block.file] == []


def test_what_a_reader_copies_is_the_file() -> None:
    """No line of ours in it: a CSV has no comments, and a script begins with its #! line."""
    files = [block for page in pages() for block in blocks(page) if block.file]
    assert len(files) >= 10
    assert [str(block) for page in pages() for block in blocks(page) if "# file:" in block.code] == []
    assert all(block.code.startswith("#!") for block in files if block.language == "sh")


def test_notebooks_keep_what_every_cell_gave(site: Path) -> None:
    """Every cell shows something, on the page too, and the notebook can be downloaded."""
    assert len(NOTEBOOKS) == 3
    for name in NOTEBOOKS:
        cells = json.loads((DOCS / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
        coded = [cell for cell in cells if cell["cell_type"] == "code"]
        assert [cell["execution_count"] for cell in coded] == list(range(1, len(coded) + 1))
        assert all(cell["outputs"] for cell in coded)
        page = (site / f"{name}.html").read_text(encoding="utf-8")
        assert page.count('class="nb-output"') + page.count('class="nb-figure"') >= len(coded)
        assert (site / f"{name}.ipynb").is_file()


def test_the_site_names_the_files(site: Path) -> None:
    for block in blocks(DOCS / "shell.md"):
        if block.file:
            assert f'<span class="filename">{block.file}</span>' in (site / "shell.html").read_text(encoding="utf-8")


def test_a_console_block_has_commands() -> None:
    for page in pages():
        for block in blocks(page):
            if block.language == "console":
                assert all(line.startswith("$ ") for line in block.code.replace("\\\n", "").splitlines() if line), block


# ---------------------------------------------------------------------------------------------------- the site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built anew: a warning is an error."""
    require("mkdocs", "pip install 'uhebo[docs]'")
    require("latex2mathml", "pip install 'uhebo[docs]'")
    folder = tmp_path_factory.mktemp("docs") / "site"
    source = str(Path(uhebo.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "NO_MKDOCS_2_WARNING": "1"}
    # Not --quiet: it drops warnings before --strict can count them.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Page(HTMLParser):
    """Anchors, links and loaded files of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.formulas = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self.formulas += tag == "math"
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("canonical", "prev", "next"):
            self.loaded.append(given.get("href", ""))
        elif "src" in given:
            self.loaded.append(given["src"])


def test_links_and_anchors_resolve_and_nothing_is_loaded_from_outside(site: Path) -> None:
    parsed = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(parsed) >= 15
    broken = []
    for path, page in parsed.items():
        for link in page.links + page.loaded:
            url = urlsplit(link)
            if url.scheme or url.netloc:
                if link in page.loaded and url.scheme != "data":
                    broken.append(f"{path.name} loads {link}")
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                broken.append(f"{path.name} -> {link}")
            elif url.fragment and target in parsed and unquote(url.fragment) not in parsed[target].anchors:
                broken.append(f"{path.name} -> {link}: no such anchor")
    assert broken == []
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", styles) == []


def test_formulas_are_mathml(site: Path) -> None:
    page = Page(site / "concepts.html")
    assert page.formulas > 40
    text = (site / "concepts.html").read_text(encoding="utf-8")
    assert "arithmatex" not in text
    assert r"\(" not in text


def test_the_font_has_every_character_of_the_formulas(site: Path) -> None:
    """A character that the font lacks is not drawn in another one, as in text: a root simply is not there."""
    fonts = require("fontTools.ttLib", "pip install 'uhebo[docs]'")
    formulas = re.findall(r"<math.*?</math>", (site / "concepts.html").read_text(encoding="utf-8"), re.S)
    needed = set(html.unescape(re.sub(r"<[^>]*>", "", "".join(formulas)))) | {"\N{SQUARE ROOT}"}
    with fonts.TTFont(site / "assets" / "math.ttf") as font:
        assert needed - set(map(chr, font.getBestCmap())) - {" ", "\n"} == set()
        assert "MATH" in font


def test_every_page_is_in_the_menu(site: Path) -> None:
    """A page that nobody can reach is a page that nobody reads."""
    menu = set(re.findall(r'href="([\w/.-]+\.html)"', (site / "index.html").read_text(encoding="utf-8")))
    made = {path.relative_to(site).as_posix() for path in site.rglob("*.html")} - {"404.html", "index.html"}
    assert made - menu == set()


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SEEN = """[...document.querySelectorAll("math")].filter(m => {
    const box = m.getBoundingClientRect(); return box.width > 4 && box.height > 4 }).length"""


DRAWN = """[...document.querySelectorAll(".nb-figure")].filter(f => f.querySelectorAll(".trace").length).length"""
INK = """getComputedStyle(document.querySelector(".nb-figure .xtick text")).fill"""
"""Colour of the text in a figure."""


@pytest.mark.browser
def test_pages_in_a_browser(address: str, tmp_path: Path) -> None:
    """No complaint in the console, no request to anybody else, formulas drawn, nothing wider than a phone."""
    with chromium(tmp_path, width=400) as driver:
        for scheme in ("light", "dark"):
            prefer(driver, scheme)
            driver.get(f"{address}/index.html")
            driver.execute_script("localStorage.clear()")  # the site keeps the scheme that it was first seen in
            for page in ("index", "tour", "choose", "concepts", "comparison", "reference/index", *NOTEBOOKS):
                driver.get(f"{address}/{page}.html")
                assert driver.execute_script("return document.querySelector('h1').offsetHeight") > 0
                assert driver.execute_script(f"return {OVERFLOW}") <= 0, page
                if page == "concepts":
                    assert driver.execute_script(f"return {SEEN}") > 40
                if page in NOTEBOOKS:
                    assert driver.execute_script(f"return {DRAWN}") > 0
                    ink = sum(map(int, re.findall(r"\d+", driver.execute_script(f"return {INK}"))[:3]))
                    assert (ink > 3 * 128) == (scheme == "dark"), page
        assert console_errors(driver) == []
        assert hosts_asked(driver) == {"127.0.0.1"}


# ---------------------------------------------------------------------------------------------------- the tables


def test_the_tables_of_methods(tmp_path: Path) -> None:
    """From records with a known answer: `map` is best on branin, `random` plainly worse, `mle` has too few seeds."""
    table = Table(tmp_path / RUNS)
    for method, regret, seeds in (("map", 0.1, 12), ("uhe", -0.1, 12), ("random", 3.0, 12), ("mle", 0.1, 4)):
        for seed in range(seeds):
            # `map` is as often better than `uhe` as it is worse.
            incumbent = -0.39788735772973816 - abs(regret) - 0.05 * regret * (-1) ** seed
            record = {"incumbent": incumbent, "seconds": 0.02, "role": "model"}
            options = (("exact", True), ("reading", "distinct")) if method == "uhe" else ()
            records = [{**record, "t": 0}, {**record, "t": 1}, {**record, "t": 2}]
            table.add(Cell("branin", method, seed, 2, options=options), records)
    made = choose.tables(choose.read_runs(table), choose.read_runs(table))
    rows = {row.split("`")[1]: row for row in made["regret"].splitlines()[2:]}
    assert list(rows) == ["uhe", "map", "random"]
    assert "**" in rows["map"]
    assert "**" in rows["uhe"]
    assert "**" not in rows["random"]
    assert rows["random"] == "| `random` | 3 ± 0.045 |"
    assert "`mle` on branin (4)" in made["note"]
    assert "36 runs, 12 seeds" in made["note"]
    assert "| `uhe` | 20 |" in made["seconds"]
    assert "random" not in made["leaders"]


def test_no_records_give_a_sentence_and_no_error(tmp_path: Path) -> None:
    (tmp_path / RUNS).write_bytes(b"damaged")
    assert set(choose.tables(choose.read_runs(Table(tmp_path / RUNS)), {}).values()) == {"No records yet.\n"}
