"""Rules of this repository that no linter has."""

from __future__ import annotations

import ast
from pathlib import Path

FOLDER = Path(__file__).parent


def imported(path: Path) -> set[str]:
    """Names that a file imports, wherever in it, with their modules."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_what_tests_share_is_in_helper_modules() -> None:
    """A test module that imports from another one breaks when that one is moved, and runs its fixtures twice."""
    files = sorted(FOLDER.rglob("*.py"))
    assert len(files) > 40
    found = {path.name: [name for name in imported(path) if name.startswith("tests.test_")] for path in files}
    assert not {name: modules for name, modules in found.items() if modules}
