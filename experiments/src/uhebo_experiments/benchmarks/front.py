"""The picture of a front in the documentation: yield against cost of a reaction, measured with noise.

python -m uhebo_experiments.benchmarks.front --out docs/figures
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import uhebo
from uhebo.numerics.front import non_dominated
from uhebo.numerics.threads import single_threaded
from uhebo_experiments.style import pyplot

SEED = 0
TRIALS = 30
NOISE = (1.5, 0.15)
"""Standard deviations of the measured yield and cost."""
LEVELS = (0.05, 0.5, 0.95)
GRID = 401
"""Points along each axis from which the true front is taken."""
COLOURS = {"reached": "#009E73", "model": "#0072B2", "truth": "#D55E00"}


def reaction(temperature: Any, time: Any) -> tuple[Any, Any]:
    """Yield and cost without noise; numbers or arrays."""
    return 90 - 0.02 * (temperature - 80) ** 2 - 0.5 * (time - 6) ** 2, 0.05 * temperature + 0.8 * time


@single_threaded
def draw(folder: Path) -> Path:
    """Trials by order, the front they reached, what the models take for possible there, and the true front."""
    rng = np.random.default_rng(SEED)

    def measured(temperature: float, time: float) -> tuple[float, float]:
        clean = reaction(temperature, time)
        return float(clean[0] + NOISE[0] * rng.normal()), float(clean[1] + NOISE[1] * rng.normal())

    space = {"temperature": (20.0, 120.0), "time": (1.0, 10.0)}
    goals: Any = {"yield": "maximize", "cost": "minimize"}
    result = uhebo.optimize(measured, space, TRIALS, directions=goals, seed=SEED, progress=False)
    told = np.array([trial.values for trial in result.study.trials])
    front = np.array(sorted(trial.values for trial in result.front))
    params = [trial.params for trial in result.front]
    x, y = (result.belief.only(name).quantiles(params, LEVELS) for name in goals)
    grid = np.meshgrid(np.linspace(20.0, 120.0, GRID), np.linspace(1.0, 10.0, GRID))
    values = np.column_stack([part.ravel() for part in reaction(*grid)]) * [1.0, -1.0]
    best = _upper_edge(values) * [1.0, -1.0]
    with pyplot() as make:
        figure, ((axis,),) = make(6.2, 4.2)
        axis.plot(*best.T, color=COLOURS["truth"], linestyle="--", label="true front", zorder=1)
        axis.step(*front.T, where="pre", color=COLOURS["reached"], label="reached", zorder=2)
        bars = {"xerr": [x[1] - x[0], x[2] - x[1]], "yerr": [y[1] - y[0], y[2] - y[1]]}
        label = "possible there, by the models (90 %)"
        axis.errorbar(x[1], y[1], **bars, fmt="none", ecolor=COLOURS["model"], elinewidth=1.2, label=label, zorder=3)
        norm = {"cmap": "viridis_r", "vmin": 1, "vmax": TRIALS, "edgecolors": "black", "linewidths": 0.5, "zorder": 4}
        drawn = axis.scatter(*told.T, c=np.arange(1, TRIALS + 1), s=30, label="trial", **norm)
        axis.set(xlabel="yield, to be maximised", ylabel="cost, to be minimised")
        figure.colorbar(drawn, ax=axis, label="trial", shrink=0.9)
        figure.legend(loc="outside lower center", ncols=4)
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / "front.png", metadata={"Software": None})
        return folder / "front.png"


def _upper_edge(values: Any) -> Any:
    """The front of many points, both larger is better, in order of the first."""
    order = np.argsort(-values[:, 0], kind="stable")
    running = np.maximum.accumulate(values[order, 1])
    kept = order[np.concatenate([[True], running[1:] > running[:-1]])]
    return values[kept][non_dominated(values[kept])][::-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out"))
    print(draw(parser.parse_args().out))


if __name__ == "__main__":
    main()
