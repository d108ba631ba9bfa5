"""The shell as tests call it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from uhebo.cli import main


class Shell:
    """`uhebo` called in this process, in a folder of its own; it must leave with a code and never with a traceback."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys
        self.err = ""

    def __call__(self, *args: str, code: int = 0) -> str:
        """Standard output; the exit code must be `code`."""
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(args)
        out, self.err = self.capsys.readouterr()
        assert (left.value.code or 0) == code, f"{args} left with {left.value.code}: {self.err}"
        assert os.environ.get("UHEBO_DEBUG") or "Traceback" not in self.err
        return out

    def json(self, *args: str) -> Any:
        return json.loads(self(args[0], "--json", *args[1:]))

    def refuses(self, *args: str, code: int = 1) -> str:
        """The one line that says why not; nothing is printed to standard output."""
        assert self(*args, code=code) == ""
        assert self.err.count("\n") == 1, self.err
        assert self.err.startswith("error: ")
        return self.err

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text, encoding="utf-8")
        return name
