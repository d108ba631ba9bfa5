"""The version that stands in records: in a checkout with its commit, because one version lasts for many commits."""

import subprocess
from functools import cache
from pathlib import Path

import uhebo

LIMIT_S = 30.0
"""Seconds for git to answer."""


@cache
def revision() -> str:
    """`0.2.0+g1a2b3c4d`, with `.dirty` if the sources differ from the commit; outside a checkout the version alone."""
    folder = Path(uhebo.__file__).parent
    try:
        # Installed somewhere inside another project's checkout, its files are not among those that git tracks there.
        _git(folder, "ls-files", "--error-unmatch", "__init__.py")
        commit = _git(folder, "describe", "--always", "--exclude=*", "--abbrev=8", "--dirty=.dirty")
    except (OSError, subprocess.SubprocessError):
        return uhebo.__version__
    return f"{uhebo.__version__}+g{commit}"


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT_S).stdout.strip()
