"""The OptunaHub package: loaded as the hub's library loads it, complete as the registry expects it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest

import uhebo
from tests.conftest import require

ROOT = Path(__file__).parents[1] / "optunahub" / "package"
PACKAGE = ROOT / "samplers" / "uhebo"


@pytest.fixture
def module() -> Iterator[Any]:
    hub = require("optunahub", "pip install optunahub")
    yield hub.load_local_module("samplers/uhebo", registry_root=str(ROOT))
    sys.modules.pop("optunahub_registry.package.samplers.uhebo", None)


def test_it_loads_and_runs(module: Any) -> None:
    assert module.__all__ == ["UHESampler"]
    assert module.UHESampler is uhebo.UHESampler
    study = optuna.create_study(sampler=module.UHESampler(n_trials=10, seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", -1.0, 1.0) ** 2, n_trials=10)
    assert len(study.trials) == 10
    assert study.best_value < 0.1


def test_the_folder_is_as_the_registry_expects() -> None:
    assert {"README.md", "LICENSE", "__init__.py", "example.py", "requirements.txt"} <= {
        path.name for path in PACKAGE.iterdir()
    }
    _, front, body = (PACKAGE / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    matter = dict(line.split(": ", 1) for line in front.strip().splitlines())
    assert set(matter) == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert matter["tags"].startswith("[sampler, ")
    assert matter["license"] == "MIT License"
    assert matter["optuna_versions"] == "[5.0.0]"
    for heading in ("## Abstract", "## APIs", "## Installation", "## Example"):
        assert heading in body


def test_the_options_in_its_readme_exist() -> None:
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    signature = next(line for line in text.splitlines() if line.startswith("- `UHESampler("))
    options = [part.split("=")[0].strip() for part in signature.split("*, ")[1].rstrip(")`").split(",")]
    known = inspect.signature(uhebo.UHESampler).parameters
    assert options
    assert set(options) <= set(known)


def test_its_example_runs(module: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As the registry's reviewers run it, the download aside."""
    monkeypatch.setattr("optunahub.load_module", lambda package: {"samplers/uhebo": module}[package])
    code = (PACKAGE / "example.py").read_text(encoding="utf-8").replace("n_trials=30", "n_trials=10")
    exec(compile(code, "example.py", "exec"), {"__name__": "__main__"})
    assert "'x'" in capsys.readouterr().out
