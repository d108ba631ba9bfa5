"""Version, packages and declared support; `make dist` also installs the wheel in an empty environment and tries it."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.browser import require_program
from tests.conftest import require
from tests.pages import ROOT, copy_sources
from tests.waiting import LIMIT_S
from uhebo import __version__ as VERSION
from uhebo_experiments.revision import revision

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT, EXPERIMENTS = (
    tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8")) for folder in (".", "experiments")
)


def build(folder: Path, kind: str, out: Path) -> Path:
    """The one file that the build back end makes, in this environment (nothing is downloaded)."""
    require("build", "pip install 'uhebo[dev]'")
    command = [sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", str(out), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = out.iterdir()
    return made


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources without git: as in a downloaded archive."""
    folder = tmp_path / "uhebo"
    copy_sources(folder)
    return folder


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
def test_the_packages_have_the_version_and_what_they_need(
    copy: Path, tmp_path: Path, where: str, name: str, extra: set[str]
) -> None:
    for folder in ("tests", "results"):  # of which the first goes into the sdist, with all that the tests read
        held = [path for path in (ROOT / folder).rglob("*") if path.is_file()]
        for path in [ROOT / folder / "file.txt", *held]:  # every name that is there, with one line in it
            target = copy / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("\n", encoding="utf-8")
    archive = build(copy / where, "sdist", tmp_path / "sdist")
    assert archive.name == f"{name}-{VERSION}.tar.gz"
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    unpacked = tmp_path / f"{name}-{VERSION}"
    assert {path.name for path in unpacked.iterdir()} - {"PKG-INFO", ".gitignore"} == (
        {"src", "tests", "experiments", "README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml"}
        if where == "."
        else {"src", "README.md", "LICENSE", "pyproject.toml"}
    )
    wheel = build(unpacked, "wheel", tmp_path / "wheel")
    assert wheel.name == f"{name}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        metadata = file.read(f"{name}-{VERSION}.dist-info/METADATA").decode()
    source = ROOT / where / "src"
    expected = {path.relative_to(source).as_posix() for path in (source / name).rglob("*.py")}
    assert {each for each in names if not each.startswith(f"{name}-{VERSION}.dist-info/")} == expected | extra
    assert f"{name}-{VERSION}.dist-info/entry_points.txt" in names
    assert f"{name}-{VERSION}.dist-info/licenses/LICENSE" in names
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


def test_both_packages_and_the_changelog_have_the_same_version() -> None:
    assert EXPERIMENTS["project"]["version"] == VERSION
    version, _, day = changelog()[1].partition(" - ")
    assert version == VERSION
    yaml = require("yaml", "pip install 'uhebo[docs]'")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["version"], citation["date-released"]) == (version, day)


def test_both_packages_have_the_same_licence() -> None:
    assert (ROOT / "experiments" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_records_have_the_commit_beside_the_version() -> None:
    """In a checkout; a copy of the sources has the version alone."""
    require_program("git", how="apt-get install git")
    assert re.fullmatch(re.escape(VERSION) + r"(\+g[0-9a-f]{8,}(\.dirty)?)?", revision())


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


def changelog() -> list[str]:
    return re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)


def test_the_changelog_has_a_place_for_what_comes_next() -> None:
    headings = changelog()
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
