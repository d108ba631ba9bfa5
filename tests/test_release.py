"""Version, packages and declared support; `make dist` also installs the wheel in an empty environment and tries it."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import uhebo
from tests.browser import require_program
from tests.conftest import require
from tests.pages import ROOT, copy_sources
from tests.waiting import LIMIT_S
from uhebo import _version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT, EXPERIMENTS = (
    tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8")) for folder in (".", "experiments")
)


def build(folder: Path, kind: str, out: Path, **environment: str) -> Path:
    """The one file that the build back end makes, in this environment (nothing is downloaded)."""
    require("build", "pip install 'uhebo[dev]'")
    require("hatch_vcs", "pip install hatch-vcs hatchling")
    command = [sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", str(out), str(folder)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SETUPTOOLS_SCM"))}
    done = subprocess.run(command, env={**kept, **environment}, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = out.iterdir()
    return made


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources without git: as in a downloaded archive."""
    folder = tmp_path / "uhebo"
    copy_sources(folder)
    return folder


def git(folder: Path, *args: str) -> None:
    require_program("git", how="apt-get install git")
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false", *args]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=LIMIT_S)


def test_without_git_the_version_is_the_fallback(copy: Path, tmp_path: Path) -> None:
    for folder, name in ((copy, "uhebo"), (copy / "experiments", "uhebo_experiments")):
        wheel = build(folder, "wheel", tmp_path / "out" / name, GIT_CEILING_DIRECTORIES=str(tmp_path))
        assert wheel.name == f"{name}-{_version.FALLBACK}-py3-none-any.whl"


@pytest.mark.parametrize(
    ("where", "name", "extra"),
    [
        (
            ".",
            "uhebo",
            {
                "uhebo/py.typed",
                "uhebo/report/page.css",
                "uhebo/report/page.js",
                "uhebo/report/page.html.j2",
                "uhebo/report/note.md.j2",
            },
        ),
        ("experiments", "uhebo_experiments", {"uhebo_experiments/py.typed", "uhebo_experiments/problems/trained.npz"}),
    ],
)
def test_the_version_is_the_tag_and_the_packages_have_what_they_need(
    copy: Path, tmp_path: Path, where: str, name: str, extra: set[str]
) -> None:
    for folder in ("tests", "results"):  # of which the first goes into the sdist, with all that the tests read
        (copy / folder).mkdir()
        (copy / folder / "file.txt").write_text("\n", encoding="utf-8")
    git(copy, "init", "--quiet")
    git(copy, "add", ".")
    git(copy, "commit", "--quiet", "-m", "all")
    git(copy, "tag", "v1.2.3")
    archive = build(copy / where, "sdist", tmp_path / "sdist")
    assert archive.name == f"{name}-1.2.3.tar.gz"
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    unpacked = tmp_path / f"{name}-1.2.3"
    assert {path.name for path in unpacked.iterdir()} - {"PKG-INFO", ".gitignore"} == (
        {"src", "tests", "experiments", "README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml"}
        if where == "."
        else {"src", "README.md", "LICENSE", "pyproject.toml"}
    )
    # From the sdist, which has no git, and still the same version.
    wheel = build(unpacked, "wheel", tmp_path / "wheel", GIT_CEILING_DIRECTORIES=str(tmp_path))
    assert wheel.name == f"{name}-1.2.3-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        metadata = file.read(f"{name}-1.2.3.dist-info/METADATA").decode()
    source = ROOT / where / "src"
    expected = {path.relative_to(source).as_posix() for path in (source / name).rglob("*.py")}
    assert {each for each in names if not each.startswith(f"{name}-1.2.3.dist-info/")} == expected | extra
    assert f"{name}-1.2.3.dist-info/entry_points.txt" in names
    assert f"{name}-1.2.3.dist-info/licenses/LICENSE" in names
    assert "Requires-Python: >=3.10" in metadata


def test_every_python_that_is_declared_is_at_least_the_smallest() -> None:
    declared = re.findall(r":: (3\.\d+)'", str(PROJECT["project"]["classifiers"]))
    assert declared == ["3.10", "3.11", "3.12", "3.13"]
    assert PROJECT["project"]["requires-python"] == f">={declared[0]}"
    assert PROJECT["tool"]["ruff"]["target-version"] == "py310"


def test_the_extra_all_has_every_extra_for_users() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    assert set(re.findall(r"\w+", everything.partition("[")[2])) == set(extras) - {"all", "dev", "docs", "peers"}


def test_the_version_of_this_installation() -> None:
    try:
        expected = importlib.metadata.version("uhebo")
    except importlib.metadata.PackageNotFoundError:
        expected = _version.FALLBACK
    assert uhebo.__version__ == expected
    for project in (PROJECT, EXPERIMENTS):
        assert project["tool"]["hatch"]["version"]["fallback-version"] == _version.FALLBACK


def test_both_packages_have_the_same_licence() -> None:
    assert (ROOT / "experiments" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_without_an_installation_the_version_is_the_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    monkeypatch.delattr(_version, "__version__", raising=False)
    assert importlib.import_module("uhebo._version").__version__ == _version.FALLBACK
    monkeypatch.delattr(_version, "__version__")
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        _version.other  # noqa: B018


def test_import_does_not_look_the_version_up() -> None:
    """`importlib.metadata` takes longer than all of `import uhebo`."""
    code = (
        "import sys; before = set(sys.modules); import uhebo; print('importlib.metadata' in set(sys.modules) - before)"
    )
    source = str(Path(uhebo.__file__).parents[1])
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": source}, capture_output=True, text=True, check=True, timeout=LIMIT_S
    )
    assert done.stdout.strip() == "False"


def test_help_loads_no_library_with_the_experiments_installed_either() -> None:
    """Their commands come by entry points, which the shell imports to show them."""
    require("uhebo_experiments", "pip install uhebo-experiments")
    heavy = ("numpy", "scipy", "optuna", "matplotlib", "sklearn", "pandas", "joblib")
    code = (
        "import sys, uhebo.cli.app, uhebo_experiments.cli.bench, uhebo_experiments.cli.problems\n"
        f"import uhebo_experiments.cli.reproduce; print([name for name in {heavy} if name in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip() == "[]"


def test_the_changelog_has_a_place_for_what_comes_next() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert headings[0] == "Unreleased"
    for heading in headings[1:]:
        assert re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", heading), heading


def test_the_citation_can_be_read() -> None:
    """By the rules of the Citation File Format 1.2: what it must have, and of the article what a reference needs."""
    yaml = require("yaml", "pip install 'uhebo[docs]'")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= citation.keys()
    assert citation["license"] == PROJECT["project"]["license"]
    article = citation["preferred-citation"]
    assert {"type", "title", "authors", "journal", "year"} <= article.keys()
    assert all({"family-names", "given-names"} <= author.keys() for author in article["authors"])
