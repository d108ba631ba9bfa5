"""Every Python example of the README runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def python_blocks() -> list[tuple[int, str]]:
    """(line number, code) of each fenced block that says it is Python."""
    text = README.read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, match.start(1)) + 1, match.group(1)) for match in found]


@pytest.mark.parametrize(("line", "code"), [pytest.param(*block, id=f"line {block[0]}") for block in python_blocks()])
def test_the_example_runs(line: int, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("uhebo.strategy.methods.METHODS", dict(__import__("uhebo").METHODS))
    # Blank lines in front, so that a traceback names the line of the README.
    exec(compile("\n" * (line - 1) + code, str(README), "exec"), {"__name__": "__main__"})


def test_both_faces_are_shown_in_under_ten_lines_each() -> None:
    codes = [code for _, code in python_blocks()]
    for face in ("uhebo.minimize(", "uhebo.UHESampler("):
        assert min(len([line for line in code.splitlines() if line.strip()]) for code in codes if face in code) < 10
