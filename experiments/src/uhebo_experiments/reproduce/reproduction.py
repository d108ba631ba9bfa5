"""`uhebo reproduce`: compute what is missing, draw the figures, judge the claims, write the page.

Everything is worked out from the records under `<folder>/cells`; a second call computes nothing again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from uhebo.errors import InvalidInputError
from uhebo.types import Array
from uhebo_experiments.cells import Cell
from uhebo_experiments.problems import problem
from uhebo_experiments.reproduce import figures, illustrations, plan
from uhebo_experiments.reproduce.claims import Claim, compared, rate_claim, regret_claims, surrogate_claim, time_claim
from uhebo_experiments.reproduce.curves import Curves, curves
from uhebo_experiments.reproduce.surrogate_error import ErrorCell, surrogate_error
from uhebo_experiments.reproduce.theta_error import COMPARED, ThetaCell, theta_error
from uhebo_experiments.runner import compute, run
from uhebo_experiments.table import RUNS, Record, Table

TARGETS = ("fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "claims", "all")
SHOWN = "deceptive"
"""The function of figure 3."""
TIMED = ("deceptive", "hartmann3", "rf-wilt")
"""The problems whose running time the paper shows."""


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

    @cached_property
    def _runs(self) -> Table:
        return Table(self.folder / RUNS)

    def _run(self, cells: Sequence[Cell], label: str) -> dict[Cell, list[Record]]:
        return run(cells, self._runs, jobs=self.jobs, progress=self.progress, label=label)

    @cached_property
    def synthetic(self) -> dict[Cell, list[Record]]:
        return self._run(plan.synthetic(self.scale), "synthetic problems")

    @cached_property
    def real(self) -> dict[Cell, list[Record]]:
        return self._run(plan.real(self.scale), "real problems")

    @cached_property
    def ablation(self) -> dict[Cell, list[Record]]:
        return self._run(plan.ablation(self.scale), "ablation")

    @cached_property
    def regrets(self) -> dict[tuple[str, str], Curves]:
        """Figure 2."""
        results = {**self.synthetic, **self.real}
        return curves(results, results)

    @cached_property
    def ablation_regrets(self) -> dict[tuple[str, str], Curves]:
        return curves(self.ablation, self.ablation)

    @cached_property
    def variant_regrets(self) -> dict[str, dict[tuple[str, str], Curves]]:
        """Figure 2's synthetic problems under other readings of the paper: UHE-BO and, where it differs too, MAP."""
        results = self._run(plan.variants(self.scale), "other readings")
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
    def surrogate_errors(self) -> dict[tuple[str, str], Array]:
        """Figure 4: (seeds, checkpoints) by problem and method."""
        scale = self.scale
        tasks = [ErrorCell(cell, scale.checkpoints, scale.thinning) for cell in plan.synthetic(scale)]
        found = compute(
            tasks,
            Table(self.folder / "surrogate-error.jsonl.gz"),
            surrogate_error,
            lambda task: (self.synthetic[task.cell],),
            jobs=self.jobs,
            progress=self.progress,
            label="error of surrogates",
        )
        return {
            (name, method): np.array(
                [
                    [record["mse"] for record in records]
                    for task, records in found.items()
                    if (task.cell.problem, task.cell.method) == (name, method)
                ]
            )
            for name in plan.SYNTHETIC
            for method in plan.METHODS
        }

    @cached_property
    def theta_errors(self) -> dict[tuple[str, str], Array]:
        """Figure 6: (seeds, sizes) by source of the data and estimator."""
        paths = self._run(plan.known_paths(self.scale), "sample paths")
        tasks = [ThetaCell(cell, estimator, self.scale.path_sizes) for cell in paths for estimator in COMPARED]
        found = compute(
            tasks,
            Table(self.folder / "theta-error.jsonl.gz"),
            theta_error,
            lambda task: (paths[task.cell],),
            jobs=self.jobs,
            progress=self.progress,
            label="estimates of theta",
        )
        return {
            (source, estimator): np.array(
                [
                    [record["error"] for record in records]
                    for task, records in found.items()
                    if (task.cell.method, task.estimator) == (method, estimator)
                ]
            )
            for source, method in plan.SOURCES.items()
            for estimator in COMPARED
        }

    @cached_property
    def seconds(self) -> dict[tuple[str, str], Array]:
        """CPU seconds a run spent on suggestions, on the problems whose running time is shown."""
        timed = replace(self.scale, real=tuple(name for name in self.scale.real if name in TIMED))
        results = {**self.synthetic, **self._run(plan.real(timed), "timed problems")}
        return {key: curve.seconds for key, curve in curves(results, results).items()}

    def draw(self, target: str) -> Path:
        """One figure, as PNG and PDF; returns the PNG."""
        folder, scale = self.folder / "figures", self.scale
        if target == "fig1":
            return illustrations.posterior_of_a_lengthscale(self._run(illustrations.line_cells(), "figure 1"), folder)
        if target == "fig2":
            notes = {name: f" ({trees} trees)" for name, trees in scale.fidelities if name == "rf-wilt"}
            return figures.regret_panels(self.regrets, (plan.SYNTHETIC, scale.real), plan.METHODS, notes, folder)
        if target == "fig3":
            cells = [plan.cell(SHOWN, method, 0, scale.synthetic_budget) for method in ("uhe", "map")]
            marks = [t for t in (10, 25, 50, 100) if t <= scale.synthetic_budget] or [scale.synthetic_budget]
            return illustrations.surrogate_snapshots(self._run(cells, "figure 3"), cells, marks, folder)
        if target == "fig4":
            return figures.error_panels(self.surrogate_errors, scale.checkpoints, plan.SYNTHETIC, folder)
        if target == "fig5":
            return figures.ablation_panels(self.ablation_regrets, self.seconds, plan.SYNTHETIC, TIMED, folder)
        if target == "fig6":
            return figures.theta_panels(self.theta_errors, scale.path_sizes, folder)
        if target == "fig7":
            results = self._run(plan.long_runs(scale), "long runs")
            dimension = problem(plan.PATH).dimension
            return figures.long_panel(curves(results, results), plan.PATH, dimension, folder)
        raise InvalidInputError(f"unknown figure {target!r}; choose one of {', '.join(TARGETS[:7])}")

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """C1-C8."""
        final_errors = {key: errors[:, -1] for key, errors in self.surrogate_errors.items()}
        found = [
            *regret_claims(self.regrets, self.ablation_regrets, self.scale.real),
            surrogate_claim(final_errors),
            time_claim(self.seconds, TIMED),
            rate_claim(self.scale.path_sizes, self.theta_errors["RA-BO", "consistent"]),
        ]
        return tuple(sorted(found, key=lambda claim: claim.name))

    @cached_property
    def sensitivity(self) -> Sequence[tuple[str, str, Array, Array, str]]:
        """Other readings: (reading, problem, final regret of UHE-BO, of MAP under the same reading, outcome)."""
        rows = []
        as_read = {"as in this reproduction": self.regrets}
        for name, regrets in {**as_read, **self.variant_regrets}.items():
            for where in (name for name in plan.SYNTHETIC if (name, "uhe") in regrets):
                rival = regrets.get((where, "map"), self.regrets[where, "map"])
                pair = {(where, "uhe"): regrets[where, "uhe"].final, (where, "map"): rival.final}
                outcome = compared(pair, [where], ["map"])[0].effect.outcome
                rows.append((name, where, regrets[where, "uhe"].final, rival.final, outcome))
        return rows
