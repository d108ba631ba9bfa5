"""Every example runs as a program of its own, with a small budget, and says what it found."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import uhebo
from tests.conftest import require
from tests.waiting import LIMIT_S
from uhebo import estimate
from uhebo.errors import InvalidInputError

FOLDER = Path(__file__).parents[1] / "examples"


@dataclass(frozen=True)
class Example:
    """A file, its arguments, what it must print, and what it needs; {folder} is an empty folder."""

    file: str
    arguments: tuple[str, ...]
    says: tuple[str, ...]
    needs: tuple[tuple[str, str], ...] = ()
    under: tuple[str, ...] = ()
    """A program, of those beside this Python, that starts it."""


RAY = ("ray", "pip install 'uhebo[ray]'")
TORCH = ("torch", "pip install torch==2.13.0")
BOTORCH = ("botorch", "pip install 'uhebo[botorch]'")
DASK = ("distributed", "pip install 'uhebo[dask]'")
SUBMITIT = ("submitit", "pip install submitit")
MPI = ("mpi4py", "pip install mpi4py mpich")
KILLED = ("--trials", "8", "--kill")
ENDED = ("a process was killed: True", "Result of 8 trials, 8 finished")
EXAMPLES = (
    Example(
        "demo.py", ("--trials", "10", "--out", "{folder}"), ("Can I trust the model?", "Report: {folder}/report.html")
    ),
    Example("one_call.py", ("--trials", "12"), ("Result of 12 trials", "The surrogate expects")),
    Example("optuna_study.py", ("--trials", "14", "--folder", "{folder}"), ("after 7 trials", "after 14 trials")),
    Example("shell.sh", ("{folder}", "2"), ("day 2", "temperature", "the chance that 10 more trials improve")),
    Example("search_cv.py", ("--trials", "12"), ("best f1 over the folds: 0.9", "f1 on data it never saw: 0.9")),
    Example("botorch_loop.py", ("--trials", "2"), ("SingleTaskGP", "UHEModel"), (TORCH, BOTORCH)),
    Example("ray_tune.py", ("--trials", "8", "--folder", "{folder}"), ("8 trials, 0 errors", "best loss"), (RAY,)),
    Example("executors.py", ("--on", "processes", *KILLED), ENDED),
    Example("executors.py", ("--on", "dask", *KILLED), ENDED, (DASK,)),
    Example("executors.py", ("--on", "ray", *KILLED), ENDED, (RAY,)),
    Example("executors.py", ("--on", "slurm", *KILLED), ENDED, (SUBMITIT,)),
    Example("executors.py", ("--on", "mpi", "--trials", "8"), ENDED[1:], (MPI,), ("mpiexec", "-n", "1")),
    Example("add_a_method.py", ("--trials", "10", "--seeds", "1"), ("random-when-stuck", "the maximum is")),
)


def test_every_example_is_run() -> None:
    files = {path.name for path in FOLDER.iterdir() if path.suffix in (".py", ".sh")}
    assert files == {example.file for example in EXAMPLES}


@pytest.mark.parametrize("example", [pytest.param(example, id=example.file) for example in EXAMPLES])
def test_the_example_runs(example: Example, tmp_path: Path) -> None:
    for module, how in example.needs:
        require(module, how)
    program = FOLDER / example.file
    command = ["bash", str(program)] if program.suffix == ".sh" else [sys.executable, str(program)]
    if example.under:
        name, *given = example.under
        found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        assert found, f"{name} is not installed"
        command = [found, *given, *command]
    arguments = [argument.format(folder=tmp_path) for argument in example.arguments]
    done = subprocess.run(
        [*command, *arguments], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stderr
    for words in example.says:
        assert words.format(folder=tmp_path) in done.stdout


def test_make_demo_runs_the_example() -> None:
    makefile = (FOLDER.parent / "Makefile").read_text(encoding="utf-8")
    assert "demo: $(VENV)/demo\n\t$(BIN)/python examples/demo.py\n" in makefile


def test_names_of_estimators_are_taken_once_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "ESTIMATORS", dict(estimate.ESTIMATORS))
    estimate.register("mine", estimate.map_estimate)
    assert estimate.named_estimator("mine").run is estimate.map_estimate
    with pytest.raises(InvalidInputError, match="'mine' already"):
        estimate.register("mine", estimate.mle_estimate)
    result = uhebo.minimize(lambda x: x * x, {"x": (-1.0, 1.0)}, 5, method=lambda step: step.model("mine"), seed=0)
    assert len(result.study.trials) == 5
    with pytest.raises(InvalidInputError, match="unknown estimator 'yours'; choose one of mle"):
        uhebo.minimize(lambda x: x * x, {"x": (-1.0, 1.0)}, 5, method=lambda step: step.model("yours"), seed=0)


def environment(folder: Path) -> dict[str, str]:
    """One thread each, `uhebo` importable and a program on the path, whether it is installed or not."""
    programs = folder / "bin"
    programs.mkdir()
    shell = programs / "uhebo"
    shell.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m uhebo.cli "$@"\n')
    shell.chmod(0o755)
    source = str(Path(uhebo.__file__).parents[1])
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")])),
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
        "OMP_NUM_THREADS": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
