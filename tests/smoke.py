"""What a freshly installed uhebo must do, with nothing but its own requirements: run by `make dist`, not by pytest."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import subprocess
import sys
from pathlib import Path

import uhebo


def main() -> None:
    package = Path(uhebo.__file__).parent
    assert "site-packages" in package.parts, f"imported from {package}, not from the installation"
    version = importlib.metadata.version("uhebo")
    assert uhebo.__version__ == version
    files = importlib.resources.files("uhebo")
    for name in ("py.typed", "report/page.css", "report/page.js"):
        assert files.joinpath(name).is_file(), f"{name} is not in the wheel"
    for absent in ("torch", "sklearn", "plotly", "pandas", "pytest"):
        assert absent not in sys.modules
    program = Path(sys.executable).with_name("uhebo")
    shown = subprocess.run([str(program), "--version"], check=True, capture_output=True, text=True).stdout
    assert shown.strip() == f"uhebo {version}", shown
    result = uhebo.minimize(lambda x: (x - 0.3) ** 2, {"x": (0.0, 1.0)}, 10, seed=0)
    assert len(result.study.trials) == 10
    assert result.best_value < 0.05
    assert result.diagnose().verdict in ("trust", "caution", "do not trust")
    print(f"uhebo {version}: installed, 10 trials, best {result.best_value:.2g}")


if __name__ == "__main__":
    main()
