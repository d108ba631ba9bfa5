"""Shared by all tests: what "skipped" means where nothing may be skipped, and one Hypothesis profile."""

from __future__ import annotations

import os

# Before NumPy is loaded: two workers with two BLAS threads each are many times slower than with one.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import contextlib
import importlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import optuna
import pytest
from hypothesis import HealthCheck, settings

from tests import migrations
from tests.postgres import HOW, NoServer, Server, server
from tests.shell import Shell
from tests.strategies import SHORT_HMC
from uhebo.estimate import ESTIMATORS

# Tests that read the records of experiments, or show their figures, need the repository: an sdist comes without them.
HERE = Path(__file__).parent
collect_ignore = []
if not (HERE.parent / "results").is_dir():
    collect_ignore = [path.name for path in HERE.glob("test_*.py") if '/ "results"' in path.read_text(encoding="utf-8")]
    collect_ignore.append("test_docs.py")

# No deadline: these machines are noisy and no test asserts a time. Derandomised: a failure seen once is seen again.
settings.register_profile("uhebo", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("uhebo")
migrations.read_once()


def require(module: str, how: str) -> ModuleType:
    """Import an optional module, or skip with a message; with UHEBO_REQUIRE_ALL set, fail instead."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a foreign library deprecates in its own import is not ours to mend
            return importlib.import_module(module)
    except ImportError:
        message = f"{module} is not installed: {how}"
        if os.environ.get("UHEBO_REQUIRE_ALL"):
            pytest.fail(message)
        pytest.skip(message)


@pytest.fixture(scope="session")
def data_sets() -> Path:
    """The folder of data sets beside the checkout; skipped, or failed with UHEBO_REQUIRE_ALL, where there is none."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        message = "no data sets beside the checkout (shared/data)"
        if os.environ.get("UHEBO_REQUIRE_ALL"):
            pytest.fail(message)
        pytest.skip(message)
    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server for this process's tests; skipped, or failed with UHEBO_REQUIRE_ALL, where there is none."""
    with contextlib.ExitStack() as stack:
        try:
            importlib.import_module("psycopg")
            started = stack.enter_context(server())
        except (ImportError, NoServer, OSError) as error:
            message = f"{HOW} ({error})"
            if os.environ.get("UHEBO_REQUIRE_ALL"):
                pytest.fail(message)
            pytest.skip(message)
        yield started


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """The shell in an empty folder, from which modules are imported too; nothing of the user's is read or written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "train", raising=False)  # what another test wrote under this name
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("UHEBO_DEBUG", raising=False)
    return Shell(tmp_path, capsys)


@pytest.fixture
def short_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """HMC with chains of a few steps, where their length is not the point."""
    monkeypatch.setitem(ESTIMATORS, "hmc", SHORT_HMC)


@pytest.fixture
def rough_importances(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the intervals of importances are not the point: most of the time of a small diagnosis."""
    for name, value in {"THETAS": 2, "BURN_IN": 5, "LOG2_POINTS": 6}.items():
        monkeypatch.setattr(f"uhebo.diagnosis.importance.{name}", value)


@pytest.fixture
def records_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Experiments may be read and not run."""

    def refuse(*_: object) -> None:
        raise AssertionError("a record that is needed is not there")

    monkeypatch.setattr("uhebo_experiments.runner._computed", refuse)


@pytest.fixture(autouse=True)
def quiet_optuna() -> Iterator[None]:
    """No line a trial; whatever a test does to the level is undone."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(verbosity)
