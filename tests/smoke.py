"""What freshly installed packages must do: run by `make dist`, not by pytest.

python smoke.py alone          uhebo with nothing but its own requirements
python smoke.py experiments    with uhebo[plot] and uhebo-experiments
"""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import uhebo

PROGRAM = str(Path(sys.executable).with_name("uhebo"))


def shell(*arguments: str, code: int = 0) -> str:
    """What a command prints, on both streams; it must end with this exit code."""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=600)
    said = done.stdout + done.stderr
    assert done.returncode == code, f"uhebo {' '.join(arguments)} ended with {done.returncode}: {said}"
    return said


def alone() -> None:
    package = Path(uhebo.__file__).parent
    assert "site-packages" in package.parts, f"imported from {package}, not from the installation"
    version = importlib.metadata.version("uhebo")
    assert uhebo.__version__ == version
    files = importlib.resources.files("uhebo")
    for name in ("py.typed", "report/page.css", "report/page.js"):
        assert files.joinpath(name).is_file(), f"{name} is not in the wheel"
    for absent in ("torch", "sklearn", "plotly", "pandas", "pytest", "uhebo_experiments"):
        assert importlib.util.find_spec(absent) is None, f"{absent} is installed, so this shows nothing"
    assert shell("--version").strip() == f"uhebo {version}"
    assert "suggest" in shell("--help")
    result = uhebo.minimize(lambda x: (x - 0.3) ** 2, {"x": (0.0, 1.0)}, 10, seed=0)
    assert len(result.study.trials) == 10
    assert result.best_value < 0.05
    assert result.diagnose().verdict in ("trust", "caution", "do not trust")
    with tempfile.TemporaryDirectory() as folder:
        study(folder)
        assert "pip install 'uhebo[plot]'" in shell("report", f"{folder}/lab.db", code=1)
    for command in ("problems", "reproduce", "bench"):
        assert "pip install uhebo-experiments" in shell(command, code=1)
    assert "pip install uhebo-experiments" in shell("reproduce", "fig1", "--quick", code=1)
    print(f"uhebo {version}: installed alone, 10 trials, best {result.best_value:.2g}")


def study(folder: str) -> None:
    """Made, asked and told by the shell."""
    file = f"{folder}/lab.db"
    shell("create", file, "--param", "x=0.0:1.0")
    for number in range(8):
        assert "x" in shell("suggest", file)
        shell("tell", file, str(number), str((number - 3.0) ** 2))


def experiments() -> None:
    version = importlib.metadata.version("uhebo-experiments")
    assert version == importlib.metadata.version("uhebo")
    assert "pip install uhebo-experiments" not in shell("--help")
    assert "branin" in shell("problems")
    with tempfile.TemporaryDirectory() as folder:
        study(folder)
        shell("report", f"{folder}/lab.db", "--output", f"{folder}/report.html")
        assert (Path(folder) / "report.html").stat().st_size > 10_000
        shell("reproduce", "fig1", "--quick", "--out", folder)
        assert (Path(folder) / "figures" / "fig1.png").exists()
        assert (Path(folder) / "runs.jsonl.gz").exists()
    print(f"uhebo-experiments {version}: installed beside it, figure 1 drawn")


if __name__ == "__main__":
    {"alone": alone, "experiments": experiments}[sys.argv[1]]()
