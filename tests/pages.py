"""The code blocks of a Markdown page, and how they are run: in order, in one namespace, in one empty folder.

```python       runs; with title="name" after the language it is written to that file instead
```console      each line after `$ ` runs: `uhebo …` in this process, `pip …` in an environment of its own beside the
                sources, `export …` for the lines after it, anything else in a shell
other           written to a file if it has a title="name", else taken for output or illustration

The title is in the fence and not in the block: the site shows it above the block, and what is copied is the file.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import shutil
import string
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import uhebo
from tests.shell import Shell
from tests.waiting import LIMIT_S
from uhebo.estimate import ESTIMATORS
from uhebo.methods import METHODS

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
SOURCES = ["src", "experiments", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".gitignore"]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w-]*)(?: title=\"(?P<file>[^\"\n]+)\")?[^\n]*\n(?P<code>.*?)^(?P=indent)```$",
    re.M | re.S,
)
IMPORT = re.compile(r"^(?:import|from) (\w+)", re.M)
HIDDEN_CODE = ("py", "pycon", "sh", "bash", "shell", "ipython")
"""Code under a name by which it would not be run."""


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: Path
    line: int
    """Of its first line of code; in a notebook, which of the cells with code."""
    language: str
    code: str
    file: str | None
    """Name of the file it is to be written to."""

    @property
    def imports(self) -> set[str]:
        """Top-level modules that it loads."""
        return set(IMPORT.findall(self.code)) if self.language == "python" else set()

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        return [Block(page, number, "python", "".join(cell["source"]), None) for number, cell in enumerate(cells, 1)]
    found = []
    for match in FENCE.finditer(text):
        code = re.sub(rf"^{match['indent']}", "", match["code"], flags=re.M)
        line = text.count("\n", 0, match.start("code")) + 1
        found.append(Block(page, line, match["language"], code, match["file"]))
    return found


def pages() -> list[Path]:
    """All pages that people read."""
    docs = ROOT / "docs"
    return [README, *sorted(p for p in docs.rglob("*.md") if "tables" not in p.parts), *sorted(docs.rglob("*.ipynb"))]


@contextmanager
def left_as_it_was() -> Iterator[None]:
    """Methods and estimators that a page registers are gone afterwards, and so are handlers of the root logger."""
    before: list[tuple[dict[str, Any], dict[str, Any]]] = [(table, dict(table)) for table in (METHODS, ESTIMATORS)]
    handlers, level = logging.root.handlers[:], logging.root.level
    try:
        yield
    finally:
        logging.root.handlers[:] = handlers
        logging.root.setLevel(level)
        for table, content in before:
            table.clear()
            table.update(content)


def run_blocks(chosen: list[Block], shell: Shell, stand_ins: Mapping[str, str] = {}) -> int:
    """How many blocks ran, files included; the first error ends it. `stand_ins` replace what a page makes up."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    variables: dict[str, str] = {}
    ran = 0
    with left_as_it_was():
        for block in chosen:
            if block.file:
                shell.write(block.file, block.code)
            elif block.language == "python":
                # Blank lines in front, so that a traceback names the line of the page.
                code = compile("\n" * (block.line - 1) + block.code, str(block.page), "exec", dont_inherit=True)
                exec(code, namespace)
            elif block.language == "console":
                for line in commands(block):
                    for made_up, real in stand_ins.items():
                        line = line.replace(made_up, real)
                    run_line(shell, line, variables)
            else:
                continue
            ran += 1
    return ran


def commands(block: Block) -> list[str]:
    """What stands after each `$ `; a line that ends in a backslash goes on in the next one."""
    text = block.code.replace("\\\n", " ")
    return [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]


def run_line(shell: Shell, line: str, variables: dict[str, str]) -> str:
    """Standard output of one command, which must leave with code 0."""
    command, _, target = string.Template(line).safe_substitute(variables).partition(" > ")
    program, *args = shlex.split(command, comments=True)
    if program == "export":
        name, _, value = args[0].partition("=")
        variables[name] = value
        return ""
    if program == "pip":
        return pip(shell.folder, args)
    if program == "uhebo":
        with patch.dict(os.environ, variables):
            out = shell(*args, *(["--port", "0"] if args[0] == "dashboard" else []))
        if target:
            shell.write(target.strip(), out)
        return out
    paths = [str(Path(uhebo.__file__).parents[1]), str(shell.folder)]
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PATH": search}
    done = subprocess.run(
        ["sh", "-c", line], cwd=shell.folder, env=environment, capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def pip(folder: Path, args: list[str]) -> str:
    """As a user calls it beside the sources, in an empty environment; what this one has is not fetched again."""
    environment, sources = folder / "environment", folder / "sources"
    if not environment.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True, timeout=LIMIT_S)
        copy_sources(sources)
    command = [str(environment / "bin" / "python"), "-m", "pip", *args, "--no-index", "--no-build-isolation"]
    here = {**os.environ, "PYTHONPATH": str(Path(pytest.__file__).parents[1]), "GIT_CEILING_DIRECTORIES": str(folder)}
    done = subprocess.run(command, cwd=sources, env=here, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, f"{args}\n{done.stdout}\n{done.stderr}"
    assert list(environment.glob("lib/*/site-packages/uhebo/__init__.py"))
    return done.stdout


def copy_sources(folder: Path) -> None:
    """What the packages are built from, without git: as in a downloaded archive."""
    folder.mkdir()
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
