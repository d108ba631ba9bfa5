"""`make figures` writes every picture that a page shows, and every table of records that a page includes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.pages import README, ROOT, pages
from uhebo_experiments.benchmarks.common import made_with
from uhebo_experiments.table import RUNS, Table

EXPERIMENTS = ROOT / "experiments" / "src" / "uhebo_experiments"
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+\.(?:png|svg))\)")
INCLUDE = re.compile(r'^\s*--8<-- "([\w./-]+)', re.M)
WRITTEN_BY = {
    "results/reproduction": ("uhebo reproduce all --out results/reproduction", "reproduce"),
    "results/peers": ("uhebo bench peers --set reporting --seeds 10 --budget 50 --out results/peers", "peers"),
    "results/real_problems": ("uhebo bench real-problems --page --out results/real_problems", "benchmarks"),
    "results/neutral": ("neutral --page --out results/neutral", "benchmarks"),
    "results/pareto": ("uhebo bench pareto --page --out results/pareto", "benchmarks"),
    "results/hyperparameters": ("uhebo bench hyperparameters --page --out results/hyperparameters", "arena"),
    "results/typos": ("typos --judge --out results/typos", "benchmarks"),
    "results/settled": ("settled --page --out results/settled", "benchmarks"),
    "results/tuning": ("tuning --page --out results/tuning", "benchmarks"),
    "results/front_recipe": ("front_recipe --page --seeds 6 --out results/front_recipe", "benchmarks"),
    "results/many_parameters": ("many_parameters --page --seeds 2 --out results/many_parameters", "benchmarks"),
    "docs/tables/methods.md": ("choose", "benchmarks/choose.py"),
    "docs/tables/peers.md": ("compare", "benchmarks/compare.py"),
    "docs/figures/front.png": ("front --out docs/figures", "benchmarks/front.py"),
    "docs/figures": ("screenshots --out docs/figures", "benchmarks/screenshots.py"),
}
"""A file or a folder: the end of the command that writes it, and where its code is. The first that fits counts."""
BY_THE_RUN = ("results/soak/", "results/throughput/", "results/verdicts.md")
"""Tables that a run writes as it ends: there are no records to make them from again."""


def shown() -> list[tuple[str, str]]:
    """Page and picture, as its path in the repository."""
    found = []
    for page in pages():
        for target in PICTURE.findall(page.read_text(encoding="utf-8")):
            path = (page.parent / target).resolve()
            assert path.is_file(), f"{page.name} shows {target}"
            found.append((page.name, path.relative_to(ROOT).as_posix()))
    return found


def included() -> list[tuple[str, str]]:
    """Page and table, as its path in the repository."""
    found = [(page.name, name) for page in pages() for name in INCLUDE.findall(page.read_text(encoding="utf-8"))]
    return [each for each in found if each[1] != "CHANGELOG.md" and not each[1].startswith(BY_THE_RUN)]


def commands() -> list[str]:
    """Of the target, without the folder of the programs."""
    recipe = re.search(r"^figures:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert recipe
    return [line.strip().removeprefix("$(BIN)/") for line in recipe[1].splitlines()]


@pytest.mark.parametrize(("page", "path"), sorted(set(shown() + included())))
def test_the_target_writes_what_a_page_shows(page: str, path: str) -> None:
    place = next((name for name in WRITTEN_BY if path == name or path.startswith(f"{name}/")), None)
    assert place, f"no command of `make figures` writes {path} ({page})"
    command, code = WRITTEN_BY[place]
    assert any(line.endswith((f" {command}", f".{command}")) or line == command for line in commands()), command
    written = EXPERIMENTS / code
    sources = [written] if written.is_file() else written.rglob("*.py")
    name = Path(path).name if path.startswith(("docs/figures", "docs/tables")) else Path(path).stem
    assert any(f'{name}"' in text or f"{name}.md" in text for text in (s.read_text(encoding="utf-8") for s in sources))


def test_every_command_of_the_target_is_for_something() -> None:
    ends = [command for command, _ in WRITTEN_BY.values()]
    assert [line for line in commands() if not line.endswith(tuple(ends))] == []
    assert {path for _, path in shown()} >= {"docs/figures/front.png", "results/peers/peers.png"}
    assert any(name == README.name for name, _ in shown())


@pytest.mark.parametrize("folder", ["front_recipe", "many_parameters"])
def test_a_page_made_again_keeps_the_day_of_its_runs(folder: str) -> None:
    path = ROOT / "results" / folder
    head = (path / f"{folder}.md").read_text(encoding="utf-8").splitlines()[0]
    assert head.startswith(f"{made_with(Table(path / RUNS))}; seeds 0-")


def on_paths() -> list[str]:
    """Pages that a row of the table on the first page leads through."""
    rows = re.findall(r"^\|.*\]\(.*\|$", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"), re.M)
    return sorted({name for row in rows for name in re.findall(r"\]\(([\w/-]+\.md)\)", row)})


def opening(name: str) -> list[str]:
    """The first twenty lines below the title."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    return text[text.index("\n# ") + 1 if text.startswith("---") else 0 :].splitlines()[1:21]


MORE = ("how-it-decides.md", "measurements.md")
"""Pages of no path that many others link."""


@pytest.mark.parametrize("name", [*on_paths(), *MORE])
def test_a_page_begins_with_what_its_reader_will_have_and_a_picture(name: str) -> None:
    first = next(line for line in opening(name) if line)
    assert first.startswith("At the end of this page"), first
    assert any(PICTURE.search(line) for line in opening(name))


def test_no_path_is_longer_than_four_pages() -> None:
    rows = re.findall(r"^\|.*\]\(.*\|$", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"), re.M)
    assert len(rows) == 5
    assert max(row.count(".md)") for row in rows) == 4
