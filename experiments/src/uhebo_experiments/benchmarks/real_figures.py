"""Figures of `real_problems`: gaps trial by trial, and a feasible region found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from uhebo.numerics.threads import single_threaded
from uhebo.optuna_.believe import model_of
from uhebo_experiments.benchmarks.real_gaps import Board
from uhebo_experiments.benchmarks.real_runs import CASES, GROUPS, OURS
from uhebo_experiments.peers.practical import ENTRIES, OptunaEntry
from uhebo_experiments.problems.constrained import CONSTRAINED
from uhebo_experiments.style import pyplot, save

LOOK: Mapping[str, tuple[str, str, Any]] = {
    OURS: ("uhebo", "#0072B2", "-"),
    "optuna-gp": ("GPSampler", "#D55E00", "--"),
    "optuna-tpe": ("TPE", "#E69F00", "-."),
    "botorch": ("BoTorch", "#009E73", (0, (4, 1, 1, 1, 1, 1))),
    "smac3": ("SMAC3", "#CC79A7", (0, (3, 1))),
    "random": ("random", "#666666", ":"),
}
"""Library -> its name in print, colour, dashes."""
PANELS = ("constrained", "conditional", "many")
COLUMNS = 4
GRID = 121
"""Points along each axis of the region."""
SEED = 0
SHOWN = 30
"""Trials of the region's study."""
FEASIBLE = "#009E73"


def draw_curves(seen: Board, folder: Path) -> Path:
    """A panel per problem: the median over seeds of the gap so far."""
    panels = [(name, entries) for group in PANELS for name in GROUPS[group][0] for entries in (GROUPS[group][1],)]
    rows = -(-len(panels) // COLUMNS)
    with pyplot() as make:
        figure, axes = make(9.0, 2.2 * rows, rows, COLUMNS)
        handles: dict[str, Any] = {}
        for axis, (name, entries) in zip(axes.flat, panels, strict=False):
            for entry in entries:
                if (entry, name) in seen:
                    label, colour, dashes = LOOK[entry]
                    gaps = seen[entry, name].medians
                    shown = np.where(np.isfinite(gaps), gaps, np.nan)
                    (handles[label],) = axis.plot(
                        np.arange(1, len(gaps) + 1), shown, color=colour, linestyle=dashes, label=label
                    )
            axis.set(title=name, yscale="log", xlim=(1, CASES[name].trials))
        for axis in axes[:, 0]:
            axis.set_ylabel("gap")
        for axis in axes[-1]:
            axis.set_xlabel("trial")
        for axis in axes.flat[len(panels) :]:
            axis.axis("off")
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=len(handles))
        return save(figure, folder, "gaps")


@single_threaded
def draw_region(folder: Path) -> Path:
    """The problem `gramacy`, trials by order, the true feasible region and its boundary by the model."""
    case = CONSTRAINED["gramacy"]
    entry = ENTRIES[OURS](case, SEED)
    assert isinstance(entry, OptunaEntry)
    points: list[list[float]] = []
    kept: list[bool] = []
    for _ in range(SHOWN):
        params = entry.ask()
        found = case.evaluate(params)
        entry.tell(params, found)
        points.append([params["x"], params["y"]])
        kept.append(found.feasible)
    ticks = np.linspace(0.0, 1.0, GRID)
    grid = [{"x": float(x), "y": float(y)} for y in ticks for x in ticks]
    found_there = [case.evaluate(point) for point in grid]
    value = np.array([found.value for found in found_there]).reshape(GRID, GRID)
    worst = np.array([max(found.constraints) for found in found_there]).reshape(GRID, GRID)
    chance = model_of(entry.study).believe().feasibility(grid).reshape(GRID, GRID)
    optimum = (case.best["x"], case.best["y"])
    at, inside = np.array(points), np.array(kept)
    with pyplot() as make:
        figure, ((axis,),) = make(6.2, 5.0)
        axis.contourf(ticks, ticks, worst, levels=[-np.inf, 0.0], colors=[FEASIBLE], alpha=0.15)
        lines = axis.contour(ticks, ticks, value, levels=np.arange(0.2, 2.0, 0.2), colors="#aaaaaa", linewidths=0.6)
        axis.clabel(lines, fmt="%.1f", fontsize=7, colors="#777777")
        axis.contour(ticks, ticks, worst, levels=[0.0], colors=[FEASIBLE], linewidths=1.6)
        axis.contour(ticks, ticks, chance, levels=[0.5], colors=["#0072B2"], linewidths=1.6, linestyles="dashed")
        order = np.arange(1, SHOWN + 1)
        norm = {"cmap": "viridis_r", "vmin": 1, "vmax": SHOWN, "edgecolors": "black", "linewidths": 0.5, "zorder": 3}
        drawn = axis.scatter(*at[inside].T, c=order[inside], s=34, marker="o", **norm)
        axis.scatter(*at[~inside].T, c=order[~inside], s=34, marker="X", **norm)
        axis.plot(*optimum, "*", color="#D55E00", markersize=15, zorder=2)
        arrow = {"arrowstyle": "->", "color": "#D55E00", "shrinkB": 7}
        axis.annotate("optimum", optimum, (0.32, 0.2), color="#D55E00", arrowprops=arrow)
        for name, style in (
            ("feasible region, true boundary", {"color": FEASIBLE}),
            ("boundary by the model (chance of a half)", {"color": "#0072B2", "linestyle": "--"}),
            ("feasible trial", {"color": "#999999", "marker": "o", "linestyle": "", "markeredgecolor": "black"}),
            ("infeasible trial", {"color": "#999999", "marker": "X", "linestyle": "", "markeredgecolor": "black"}),
        ):
            axis.plot([], [], label=name, **style)
        axis.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="x", ylabel="y", aspect="equal")
        figure.colorbar(drawn, ax=axis, label="trial", shrink=0.8)
        figure.legend(loc="outside lower center", ncols=2)
        return save(figure, folder, "region")
