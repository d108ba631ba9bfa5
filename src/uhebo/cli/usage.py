"""Wrong usage of the shell: what was probably meant, after Typer's own words."""

import re
from typing import Any

EXTRA = re.compile(r"unexpected extra argument\S* \((\d+)\)")
"""How Typer says that there is a number too many."""
STUDY_COMMANDS = (
    *("create", "suggest", "tell", "predict", "amend", "drop", "skip", "restore", "extend", "log", "best", "history"),
    *("status", "diagnose", "report", "watch", "dashboard", "mcp"),
)
"""Commands whose first argument is the study."""


def hint(error: Any) -> str:
    """What to write instead, with what parts it from them; empty where Typer says enough."""
    command = getattr(getattr(getattr(error, "ctx", None), "command", None), "name", None)
    option = getattr(error, "option_name", None)
    if option == "--storage" and command in STUDY_COMMANDS:
        return f"; the study comes by itself: uhebo {command} lab.db"
    if option == "--param" and command == "extend":
        return "; write the parameter by itself: lr=0.01:10"
    if option in ("--direction", "--objective", "--constraint", "--reference") and command == "extend":
        from uhebo.cli.permanent import carry_over

        what = {"--constraint": "the constraints", "--reference": "the reference point"}.get(option, "the direction")
        return f"; {what} of a study cannot be changed in place: {carry_over('lab.db')}"
    if option in ("--n-trials", "-n") and command in ("optimize", "worker"):
        return "; write --trials N"
    extra = EXTRA.search(str(getattr(error, "message", "")))
    if command == "suggest" and extra:
        return f"; write -n {extra[1]}"
    missing = getattr(getattr(error, "param", None), "name", None) if "Missing" in type(error).__name__ else None
    if missing == "target":
        return " What is optimised comes last: module:function, or -- and a program with its arguments"
    return ""
