"""The lock, the lowest versions and the ranges for users agree with each other."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
APART = {"torch", "uhebo", "uhebo-experiments"}
"""PyTorch is installed by itself (Makefile); the extras name each other."""


def lines(name: str) -> list[str]:
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def pinned(name: str) -> dict[str, list[Requirement]]:
    """Package -> its pins; one for each range of Python versions."""
    found: dict[str, list[Requirement]] = {}
    for requirement in map(Requirement, lines(name)):
        found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


def project(folder: str = ".") -> dict[str, list[Requirement]]:
    """Extra ("" for none) -> what it needs."""
    table = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"": table["dependencies"], **table["optional-dependencies"]}
    return {extra: [Requirement(text) for text in texts] for extra, texts in groups.items()}


@pytest.mark.parametrize("name", ["ci.txt", "lowest.txt"])
def test_every_line_is_one_exact_version(name: str) -> None:
    for line in lines(name):
        assert re.fullmatch(r"[a-z0-9][a-z0-9._-]*==[\w.+!]+( ; .+)?", line), line  # no URL, no option, no range


@pytest.mark.parametrize(
    ("folder", "extra"),
    [(folder, extra) for folder in (".", "experiments") for extra in project(folder) if extra != "all"],
)
def test_the_lock_has_every_package_within_its_range(folder: str, extra: str) -> None:
    locked = pinned("ci.txt")
    for needed in project(folder)[extra]:
        name = canonicalize_name(needed.name)
        if name in APART or (needed.marker is not None and name not in locked):
            continue
        assert name in locked, f"{needed} is not in requirements/ci.txt; run make lock"
        for pin in locked[name]:
            version = next(iter(pin.specifier)).version
            assert needed.specifier.contains(version, prereleases=True), f"{pin} is outside {needed}; run make lock"


def test_pytorch_is_not_in_the_lock() -> None:
    assert not [name for name in pinned("ci.txt") if re.match(r"torch$|triton|nvidia|cuda", name)]


def test_the_lowest_versions_are_those_of_the_ranges() -> None:
    lowest = pinned("lowest.txt")
    for needed in project()[""]:
        if needed.marker is not None:  # for other versions of Python
            continue
        bound = next(spec.version for spec in needed.specifier if spec.operator == ">=")
        version = next(iter(lowest[canonicalize_name(needed.name)][0].specifier)).version
        assert version == bound or version.removesuffix(".0") == bound, f"{needed} but lowest.txt has {version}"


def test_tools_are_the_same_in_both() -> None:
    locked, lowest = pinned("ci.txt"), pinned("lowest.txt")
    for tool in ("pytest", "pytest-xdist", "hypothesis"):
        assert lowest[tool][0].specifier in [pin.specifier for pin in locked[tool]]
