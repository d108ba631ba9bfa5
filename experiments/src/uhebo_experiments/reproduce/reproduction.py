"""`uhebo reproduce`: compute what is missing, draw the figures, judge the claims, write the page.

Everything is worked out from the records under `<folder>/cells`; a second call computes nothing again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from uhebo.checks import choice
from uhebo.errors import InvalidInputError
from uhebo.types import Array
from uhebo_experiments.cells import Cell
from uhebo_experiments.problems import problem
from uhebo_experiments.reproduce import figures, illustrations, plan
from uhebo_experiments.reproduce.claims import Claim, compared
from uhebo_experiments.reproduce.curves import Curves, curves
from uhebo_experiments.reproduce.theta_error import COMPARED, READ_AS, ThetaCell, shares_of_truth, theta_error
from uhebo_experiments.reproduce.under import TIMED, Under
from uhebo_experiments.runner import compute, run
from uhebo_experiments.table import RUNS, Record, Table

TARGETS = ("fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "claims", "all")
SHOWN = "deceptive"
"""The function of figure 3."""


def columns() -> tuple[str, ...]:
    """All columns of the matrix, that of the package's default first."""
    return (plan.MAIN, *(name for name in plan.COLUMNS if name != plan.MAIN))


def sized(*, quick: bool = False, seeds: int | None = None, budget: int | None = None) -> plan.Scale:
    """The scale of a run; `seeds` and `budget` (iterations on the synthetic problems) change it in proportion."""
    scale = plan.QUICK if quick else plan.FULL
    if seeds is not None:
        if seeds < 1:
            raise InvalidInputError(f"--seeds is {seeds}; expected at least 1")
        scale = replace(scale, seeds=seeds, path_seeds=seeds, long_seeds=min(seeds, plan.FULL.long_seeds))
    if budget is not None:
        if budget < 2:
            raise InvalidInputError(f"--budget is {budget}; expected at least 2 iterations")
        marks = tuple(t for t in scale.checkpoints if t < budget)
        scale = replace(
            scale,
            synthetic_budget=budget,
            real_budget=min(scale.real_budget, budget),
            long_budget=min(scale.long_budget, 5 * budget),
            checkpoints=(*marks, budget),
        )
    return scale


@dataclass(frozen=True)
class Reproduction:
    """The paper's experiments at one scale, kept in one folder."""

    folder: Path
    scale: plan.Scale = plan.FULL
    jobs: int = -1
    progress: bool = True

    readings: tuple[str, ...] = columns()
    """Columns of the matrix; the first is the reading of the figures and tables."""

    def __post_init__(self) -> None:
        for name in self.readings:
            choice("reading", name, plan.COLUMNS)
        if not self.readings or self.readings[0] not in plan.WHOLE:
            raise InvalidInputError(
                f"the first reading, that of the figures, is {', '.join(self.readings[:1]) or 'missing'}; "
                f"expected one of {', '.join(plan.WHOLE)}"
            )

    @cached_property
    def _runs(self) -> Table:
        return Table(self.folder / RUNS)

    def _run(self, cells: Sequence[Cell], label: str) -> dict[Cell, list[Record]]:
        return run(cells, self._runs, jobs=self.jobs, progress=self.progress, label=label)

    @cached_property
    def by_reading(self) -> dict[str, Under]:
        """The columns, in their order."""
        asked = [name for name in COMPARED if READ_AS.get(name) in (None, "drawn", "distinct", *self.readings)]
        return {
            name: Under(name, self.scale, self.folder, self._run, tuple(asked), self.jobs, self.progress)
            for name in self.readings
        }

    @property
    def main(self) -> Under:
        return self.by_reading[self.readings[0]]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """C1-C8 under the first reading."""
        return self.main.claims

    @cached_property
    def variant_regrets(self) -> dict[str, dict[tuple[str, str], Curves]]:
        """Figure 2's synthetic problems with other priors, clips and β: UHE-BO and, where it differs too, MAP."""
        results = self._run(plan.variants(self.scale, self.main.column), "other priors and clips")
        groups: dict[str, dict[tuple[str, str], Curves]] = {}
        for name in self.scale.variants:
            options = plan.VARIANTS[name]
            cells = [cell for cell in results if set(options) <= set(cell.options)]
            groups[name] = curves(results, cells)
        for other, name in plan.H1_READINGS.items():
            groups[name] = {
                ("h1", method): found
                for (where, method), found in curves(results, [c for c in results if c.problem == other]).items()
            }
        return groups

    @cached_property
    def known_theta(self) -> dict[str, Array]:
        """Estimates / truth on independent, noisy points, by estimator: (paths, sizes, lengthscale-signal-noise)."""
        runs = self._run(plan.noisy_paths(self.scale), "noisy paths")
        tasks = [ThetaCell(cell, name, self.scale.path_sizes) for name in self.main.estimators for cell in runs]
        table = Table(self.folder / "theta-error.jsonl.gz")
        found = compute(
            tasks,
            table,
            theta_error,
            lambda task: (runs[task.cell],),
            jobs=self.jobs,
            progress=self.progress,
            label="estimates of all of theta",
        )
        return {
            name: np.array([shares_of_truth(task, found[task]) for task in tasks if task.estimator == name])
            for name in self.main.estimators
        }

    def draw(self, target: str) -> Path:
        """One figure, as PNG and PDF; returns the PNG."""
        folder, scale = self.folder / "figures", self.scale
        if target == "fig1":
            return illustrations.posterior_of_a_lengthscale(self._run(illustrations.line_cells(), "figure 1"), folder)
        if target == "fig2":
            notes = {name: f" ({trees} trees)" for name, trees in scale.fidelities if name == "rf-wilt"}
            return figures.regret_panels(self.main.regrets, (plan.SYNTHETIC, scale.real), plan.METHODS, notes, folder)
        if target == "fig3":
            cells = [
                plan.cell(SHOWN, method, 0, scale.synthetic_budget, column=self.main.column)
                for method in ("uhe", "map")
            ]
            marks = [t for t in (10, 25, 50, 100) if t <= scale.synthetic_budget] or [scale.synthetic_budget]
            return illustrations.surrogate_snapshots(self._run(cells, "figure 3"), cells, marks, folder)
        if target == "fig4":
            return figures.error_panels(self.main.surrogate_errors, scale.checkpoints, plan.SYNTHETIC, folder)
        if target == "fig5":
            return figures.ablation_panels(self.main.ablation_regrets, self.main.seconds, plan.SYNTHETIC, TIMED, folder)
        if target == "fig6":
            return figures.theta_panels(self.main.theta_errors, scale.path_sizes, folder)
        if target == "fig7":
            results = self._run(plan.long_runs(scale, self.main.column), "long runs")
            dimension = problem(plan.PATH).dimension
            return figures.long_panel(curves(results, results), plan.PATH, dimension, folder)
        raise InvalidInputError(f"unknown figure {target!r}; choose one of {', '.join(TARGETS[:7])}")

    @cached_property
    def sensitivity(self) -> Sequence[tuple[str, str, Array, Array, str]]:
        """Other readings: (reading, problem, final regret of UHE-BO, of MAP under the same reading, outcome)."""
        rows = []
        as_read = {"as in this reproduction": self.main.regrets}
        for name, regrets in {**as_read, **self.variant_regrets}.items():
            for where in (name for name in plan.SYNTHETIC if (name, "uhe") in regrets):
                rival = regrets.get((where, "map"), self.main.regrets[where, "map"])
                pair = {(where, "uhe"): regrets[where, "uhe"].final, (where, "map"): rival.final}
                outcome = compared(pair, [where], ["map"])[0].effect.outcome
                rows.append((name, where, regrets[where, "uhe"].final, rival.final, outcome))
        return rows
