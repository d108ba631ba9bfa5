"""Figures 1 and 3: what goes wrong with a theta fitted to data the search itself chose, shown on single runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.integrate import trapezoid

from uhebo.gp import Data, LogMarginalLikelihood
from uhebo.space import SearchSpace
from uhebo.types import Array
from uhebo_experiments.cells import Cell
from uhebo_experiments.problems import problem
from uhebo_experiments.reproduce.surrogate_error import beliefs, unit_grid
from uhebo_experiments.style import LOOK, pyplot, save
from uhebo_experiments.table import Record

LINE = "gp-1d-0.1"
"""A function of one variable whose lengthscale is known: figure 1."""
LINE_BUDGET = 12
SNAPSHOT_SIDE = 80


def line_cells(seed: int = 0) -> tuple[Cell, Cell]:
    """A search and i.i.d. points on the same function."""
    return Cell(LINE, "map", seed, LINE_BUDGET), Cell(LINE, "random", seed, LINE_BUDGET)


def lengthscale_density(X: Array, y: Array, lengthscales: Array) -> Array:
    """p(ell | data) on a grid of ell, the variance v integrated out under a flat prior on its logarithm, s2 = 1e-6."""
    data = Data.of(X, y)
    loss = LogMarginalLikelihood([(data.X, data.y)], "matern52", data.domain)
    variances = np.geomspace(0.05, 100.0, 60)
    pairs = np.stack(np.meshgrid(lengthscales, variances, indexing="ij"), axis=-1).reshape(-1, 2)
    thetas = np.column_stack([pairs, np.full(len(pairs), 1e-6)])
    logs = loss(np.log(thetas))[0].reshape(len(lengthscales), len(variances))
    density = np.exp(logs - logs.max()).sum(axis=1)
    return np.asarray(density / trapezoid(density, lengthscales))


def posterior_of_a_lengthscale(results: Mapping[Cell, list[Record]], folder: Path, seed: int = 0) -> Path:
    """Figure 1: the data of a search; p(ell | data) from them, and from as many i.i.d. points."""
    case = problem(LINE, seed=seed)
    truth = float(LINE.rpartition("-")[2])
    assert case.rows is not None
    lengthscales = np.geomspace(0.01, 0.6, 160)
    with pyplot() as new_figure:
        figure, axes = new_figure(7.2, 2.2, 1, 3)
        x = np.linspace(0.0, 1.0, 400)
        axes[0][0].plot(x, case.rows(x[:, None]), color="black", lw=1.0, label="f")
        for axis, cell, label in zip(axes[0][1:], line_cells(seed), ("chosen by BO", "i.i.d."), strict=True):
            records = results[cell]
            points = np.array([[record["params"]["x1"]] for record in records])
            values = np.array([record["value"] for record in records])
            colour = LOOK[cell.method][1]
            if cell.method == "map":
                axes[0][0].plot(points[:, 0], values, "x", color=colour, ms=5, mew=1.3, label="chosen by BO")
            density = lengthscale_density(points, values, lengthscales)
            axis.plot(lengthscales, density, color=colour)
            axis.fill_between(lengthscales, density, color=colour, alpha=0.15, lw=0)
            axis.axvline(truth, ymax=0.75, color="black", lw=1.0, ls=":", label="true lengthscale")
            peak = float(lengthscales[int(np.argmax(density))])
            axis.axvline(peak, ymax=0.75, color=colour, lw=1.0, ls="--", label="most probable")
            axis.set(
                title=f"{len(values)} points {label}", xlabel="lengthscale", ylabel="posterior density", xscale="log"
            )
            axis.set_xticks([0.01, 0.03, 0.1, 0.3], ["0.01", "0.03", "0.1", "0.3"])
            axis.minorticks_off()
            axis.set_ylim(0, 1.35 * float(density.max()))  # the legend has the room above
            axis.legend(loc="upper left", fontsize=6.5)
        axes[0][0].set(title="the data of a search", xlabel="x", ylabel="f(x)")
        axes[0][0].legend(loc="best", fontsize=6.5)
        return save(figure, folder, "fig1")


def surrogate_snapshots(
    results: Mapping[Cell, list[Record]], cells: Sequence[Cell], iterations: Sequence[int], folder: Path
) -> Path:
    """Figure 3: the truth at the left; the mean of each method's surrogate and its data as the search goes on."""
    case = problem(cells[0].problem)
    assert case.rows is not None
    space = SearchSpace.of(dict(case.space))
    unit = unit_grid(2, SNAPSHOT_SIDE)
    truth = case.rows(unit).reshape(SNAPSHOT_SIDE, SNAPSHOT_SIDE).T
    low, high = float(truth.min()), float(truth.max() if case.optimum is None else case.optimum)
    look = {"origin": "lower", "extent": (0, 1, 0, 1), "vmin": low, "vmax": high, "cmap": "cividis"}
    with pyplot() as new_figure:
        columns = 1 + len(iterations)
        figure, axes = new_figure(1.75 * columns + 0.5, 1.95 * len(cells), len(cells), columns)
        image = None
        for line, cell in zip(axes, cells, strict=True):
            records = results[cell]
            rows = space.encode_many([record["params"] for record in records])
            values = np.array([record["value"] for record in records])
            line[0].imshow(truth, **look)
            line[0].set_title("truth")
            line[0].set_ylabel(LOOK[cell.method][0], fontweight="bold")
            for axis, t in zip(line[1:], iterations, strict=True):
                seen = [i for i, record in enumerate(records) if record["t"] <= t]
                data = Data.of(rows[seen], values[seen], space.domain)
                mean = np.mean([p.mean(unit) for p in beliefs(cell, data, records, t)], axis=0)
                shown = (data.location + data.scale * mean).reshape(SNAPSHOT_SIDE, SNAPSHOT_SIDE).T
                image = axis.imshow(shown, **look)
                axis.plot(rows[seen, 0], rows[seen, 1], "x", color="white", ms=4.5, mew=2.0)
                axis.plot(rows[seen, 0], rows[seen, 1], "x", color="black", ms=4, mew=1.0)
                axis.set_title(f"t = {t}")
        for axis in axes.ravel():
            axis.set(xticks=[], yticks=[], xlim=(0, 1), ylim=(0, 1))
        figure.colorbar(image, ax=axes, shrink=0.7, label="f, and the mean of the surrogate")
        return save(figure, folder, "fig3")
