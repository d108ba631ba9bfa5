"""Figures 2, 4, 5, 6 and 7: curves over iterations with mean ± 1 s.e. over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from uhebo.types import Array
from uhebo_experiments.reproduce.curves import Curves
from uhebo_experiments.reproduce.plan import REAL
from uhebo_experiments.style import LOOK, TITLES, pyplot, save
from uhebo_experiments.theory import regret_bound_shape

Regrets = Mapping[tuple[str, str], Curves]
Errors = Mapping[tuple[str, str], Array]
LOWEST = 1e-8
"""Regret below this is drawn at it."""
NARROW = 8.0
"""Ratio of the largest to the smallest value below which an axis is linear."""


def regret_panels(
    regrets: Regrets, rows: Sequence[Sequence[str]], methods: Sequence[str], notes: Mapping[str, str], folder: Path
) -> Path:
    """Figure 2: simple regret of every method, one panel per problem."""
    columns = max(len(row) for row in rows)
    with pyplot() as new_figure:
        figure, axes = new_figure(2.15 * columns, 2.0 * len(rows) + 0.4, len(rows), columns)
        for line, names in zip(axes, rows, strict=True):
            for axis in line[len(names) :]:
                axis.set_axis_off()
            for axis, name in zip(line, names, strict=False):
                _regret_panel(axis, regrets, name, methods)
                axis.set_title(TITLES[name] + notes.get(name, ""))
            line[0].set_ylabel("gap to the best accuracy seen" if names[0] in REAL else "simple regret")
        _legend(figure, axes[0][0], len(methods))
        return save(figure, folder, "fig2")


def _regret_panel(axis: Any, regrets: Regrets, name: str, methods: Sequence[str]) -> None:
    present = [m for m in methods if (name, m) in regrets]
    positive = np.concatenate([regrets[name, m].mean() for m in present])
    floor = max(LOWEST, float(positive[positive > 0].min(initial=1.0)) / 2)
    for method in present:
        _draw_curve(axis, method, regrets[name, method], floor)
    _fitting_scale(axis, positive)
    axis.set_xlim(0, regrets[name, present[0]].regret.shape[1] - 1)
    axis.set_xlabel("iteration t")


def _legend(figure: Any, axis: Any, count: int) -> None:
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=min(count, 7))


def error_panels(errors: Errors, checkpoints: Sequence[int], problems: Sequence[str], folder: Path) -> Path:
    """Figure 4: mean squared error of the surrogate on a dense grid; errors are (seeds, checkpoints)."""
    methods = list(dict.fromkeys(method for _, method in errors))
    with pyplot() as new_figure:
        figure, axes = new_figure(2.15 * len(problems), 2.4, 1, len(problems))
        for axis, name in zip(axes[0], problems, strict=True):
            for method in methods:
                _band(axis, checkpoints, errors[name, method], method)
            axis.set(title=TITLES[name], xlabel="iteration t", xlim=(min(checkpoints), max(checkpoints)))
            _fitting_scale(axis, np.concatenate([errors[name, method].mean(axis=0) for method in methods]))
        axes[0][0].set_ylabel("mean squared error")
        _legend(figure, axes[0][0], len(methods))
        return save(figure, folder, "fig4")


def _band(axis: Any, x: Sequence[int], values: Array, look: str, label: str | None = None) -> None:
    name, colour, dash = LOOK[look]
    mean = values.mean(axis=0)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0 * mean
    axis.plot(x, mean, color=colour, ls=dash, label=label or name)
    axis.fill_between(x, np.maximum(mean - error, mean * 0.05), mean + error, color=colour, alpha=0.15, lw=0)


def ablation_panels(
    regrets: Regrets,
    seconds: Mapping[tuple[str, str], Array],
    problems: Sequence[str],
    timed: Sequence[str],
    folder: Path,
) -> Path:
    """Figure 5: UHE-BO without one of its parts, and the CPU time of UHE-BO, MAP and MCMC."""
    parts, clocks = ("uhe", "ra", "random-exp3"), ("uhe", "map", "hmc")
    with pyplot() as new_figure:
        count = len(problems)
        figure, axes = new_figure(2.05 * count + 3.0, 2.4, 1, count + 1, width_ratios=[*[1.0] * count, 1.35])
        for axis, name in zip(axes[0], problems, strict=False):
            _regret_panel(axis, regrets, name, parts)
            axis.set_title(TITLES[name])
        axes[0][0].set_ylabel("simple regret")
        bars = axes[0][-1]
        for i, method in enumerate(clocks):
            label, colour, _ = LOOK[method]
            heights = [float(seconds[name, method].mean()) for name in timed]
            spread = [
                float(seconds[name, method].std(ddof=1) / np.sqrt(len(seconds[name, method])))
                if len(seconds[name, method]) > 1
                else 0.0
                for name in timed
            ]
            at = np.arange(len(timed)) + 0.27 * (i - 1)
            bars.bar(at, heights, 0.25, yerr=spread, color=colour, label=label, error_kw={"lw": 0.8})
        bars.set(yscale="log", ylabel="CPU s for suggestions, per run", title="running time")
        bars.set_xticks(range(len(timed)), [fill(TITLES[name], 10) for name in timed])
        handles, labels = axes[0][0].get_legend_handles_labels()
        more, names = bars.get_legend_handles_labels()
        figure.legend([*handles, *more], [*labels, *(f"time: {n}" for n in names)], loc="outside lower center", ncols=6)
        return save(figure, folder, "fig5")


def theta_panels(errors: Errors, sizes: Sequence[int], folder: Path) -> Path:
    """Figure 6: error of the lengthscales, one panel per source; errors are (seeds, sizes) by (source, estimator)."""
    sources = list(dict.fromkeys(source for source, _ in errors))
    estimators = list(dict.fromkeys(estimator for _, estimator in errors))
    with pyplot() as new_figure:
        figure, axes = new_figure(2.5 * len(sources), 2.7, 1, len(sources), sharey=True)
        for axis, source in zip(axes[0], sources, strict=True):
            for estimator in estimators:
                _band(axis, sizes, errors[source, estimator], estimator)
            start = float(np.median([errors[source, e].mean(axis=0)[0] for e in estimators]))
            line = start * (np.asarray(sizes, dtype=np.float64) / sizes[0]) ** -0.5
            axis.plot(sizes, line, color="black", lw=0.9, ls=(0, (1, 1)), label="slope of $n^{-1/2}$")
            axis.set(
                title="i.i.d. data" if source == "i.i.d." else f"data from {source}",
                xlabel="observations n",
                xscale="log",
                yscale="log",
            )
            axis.set_xticks(sizes, [str(n) for n in sizes])
            axis.minorticks_off()
        axes[0][0].set_ylabel("error of log lengthscales (r.m.s.)")
        _legend(figure, axes[0][0], 4)
        return save(figure, folder, "fig6")


def long_panel(regrets: Regrets, problem: str, dimension: int, folder: Path) -> Path:
    """Figure 7: simple regret to large T beside the shape of the theorem's bound, scaled to start with UHE-BO."""
    with pyplot() as new_figure:
        figure, axes = new_figure(4.2, 3.0)
        axis = axes[0][0]
        for (_, method), curve in regrets.items():
            _draw_curve(axis, method, curve, 1e-6)
        mean = regrets[problem, "uhe"].mean()
        steps = np.unique(np.geomspace(8, len(mean) - 1, 60).astype(int))
        bound = np.array([regret_bound_shape(float(t), dimension) for t in steps])
        label = "shape of the bound for UHE-BO"
        axis.plot(steps, bound * mean[steps[0]] / bound[0], color="black", ls=(0, (1, 1)), lw=1.0, label=label)
        axis.set(xscale="log", yscale="log", xlim=(1, len(mean) - 1), xlabel="iteration t", ylabel="simple regret")
        axis.set_title("sample paths of a known GP in 2-D")
        axis.legend(loc="lower left")
        return save(figure, folder, "fig7")


def _fitting_scale(axes: Any, values: Any) -> None:
    """A logarithmic axis, unless the values span so little of one that its ticks would be unreadable."""
    positive = values[values > 0]
    wide = len(positive) > 0 and positive.max() / positive.min() > NARROW
    axes.set_yscale("log" if wide else "linear")


def _draw_curve(axes: Any, method: str, curve: Curves, floor: float) -> None:
    """Mean ± 1 s.e. on a logarithmic axis; what is below `floor` is drawn at it."""
    label, colour, dash = LOOK[method]
    mean, error = curve.mean(), curve.error()
    t = range(len(mean))
    axes.plot(t, mean.clip(floor), color=colour, ls=dash, label=label, zorder=3 if method == "uhe" else 2)
    axes.fill_between(t, (mean - error).clip(floor), (mean + error).clip(floor), color=colour, alpha=0.15, lw=0)
