"""Every Python example of the README runs as it stands; its commands are run by tests/test_cli_story.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages import README, Block, blocks, run_blocks
from tests.shell import Shell


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
