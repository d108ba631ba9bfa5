"""The experiments under one reading of the paper: a column of the matrix claim × reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from uhebo.types import Array
from uhebo_experiments.cells import Cell
from uhebo_experiments.problems import problem
from uhebo_experiments.reproduce import plan
from uhebo_experiments.reproduce.claims import Claim, rate_claim, regret_claims, surrogate_claim, time_claim
from uhebo_experiments.reproduce.curves import Curves, Results, curves
from uhebo_experiments.reproduce.surrogate_error import ErrorCell, surrogate_error
from uhebo_experiments.reproduce.theta_error import NAME_OF, ThetaCell, theta_error
from uhebo_experiments.runner import compute, run_cell
from uhebo_experiments.table import CLOCK, Record, Table

Run = Callable[[Sequence[Cell], str], dict[Cell, list[Record]]]
TIMED = ("deceptive", "hartmann3", "rf-wilt")
"""The problems whose running time the paper shows."""


@dataclass(frozen=True)
class Under:
    """What is run, and what comes out of it, under one reading. Methods keep their names, variants of them too."""

    column: str
    scale: plan.Scale
    folder: Path
    run: Run
    """Records of cells, those that are missing computed; with a label for the progress bar."""
    estimators: tuple[str, ...]
    """Compared in figure 6."""
    jobs: int = -1
    progress: bool = True

    @property
    def read(self) -> plan.Column:
        return plan.COLUMNS[self.column]

    @cached_property
    def synthetic(self) -> dict[Cell, list[Record]]:
        return self.run(plan.synthetic(self.scale, column=self.column), f"synthetic problems, {self.column}")

    @cached_property
    def real(self) -> dict[Cell, list[Record]]:
        return self.run(plan.real(self.scale, column=self.column), f"real problems, {self.column}")

    @cached_property
    def ablation(self) -> dict[Cell, list[Record]]:
        return self.run(plan.ablation(self.scale, self.column), f"ablation, {self.column}")

    def curves(self, results: Results, cells: Iterable[Cell] | None = None) -> dict[tuple[str, str], Curves]:
        """(problem, method) -> its curves; a variant stands under the name of its method."""
        method_of = {variant: method for method, variant in self.read.variants.items()}
        found = curves(results, results if cells is None else cells)
        return {(where, method_of.get(method, method)): curve for (where, method), curve in found.items()}

    @cached_property
    def regrets(self) -> dict[tuple[str, str], Curves]:
        """Figure 2; only its upper row where the column is not a whole one."""
        return self.curves({**self.synthetic, **(self.real if self.column in plan.WHOLE else {})})

    @cached_property
    def ablation_regrets(self) -> dict[tuple[str, str], Curves]:
        return self.curves(self.ablation)

    @cached_property
    def surrogate_errors(self) -> dict[tuple[str, str], Array]:
        """Figure 4: (seeds, checkpoints) by problem and method."""
        scale = self.scale
        found = compute(
            [ErrorCell(cell, scale.checkpoints, scale.thinning) for cell in self.synthetic],
            Table(self.folder / "surrogate-error.jsonl.gz"),
            surrogate_error,
            lambda task: (self.synthetic[task.cell],),
            jobs=self.jobs,
            progress=self.progress,
            label=f"error of surrogates, {self.column}",
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
        paths = self.run(plan.known_paths(self.scale, self.column), f"sample paths, {self.column}")
        tasks = [ThetaCell(cell, estimator, self.scale.path_sizes) for cell in paths for estimator in self.estimators]
        found = compute(
            tasks,
            Table(self.folder / "theta-error.jsonl.gz"),
            theta_error,
            lambda task: (paths[task.cell],),
            jobs=self.jobs,
            progress=self.progress,
            label=f"estimates of theta, {self.column}",
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
            for estimator in self.estimators
        }

    @cached_property
    def seconds(self) -> dict[tuple[str, str], Array]:
        """CPU seconds a run spent on suggestions, on the problems whose running time is shown.

        From runs of their own, all methods side by side: those of the other figures are from different days and
        machines.
        """
        found = compute(
            plan.timed(self.scale, TIMED, self.column),
            Table(self.folder / CLOCK),
            run_cell,
            jobs=self.jobs,
            progress=self.progress,
            label=f"seconds, {self.column}",
        )
        return {key: curve.seconds for key, curve in self.curves(found).items()}

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """C1-C8; where the column is not a whole one, those about regret, on the synthetic problems."""
        whole = self.column in plan.WHOLE
        found = regret_claims(self.regrets, self.ablation_regrets, self.scale.real if whole else ())
        if whole:
            errors = self.theta_errors["RA-BO", NAME_OF[self.read.reading]]
            found += [
                surrogate_claim({key: errors[:, -1] for key, errors in self.surrogate_errors.items()}),
                time_claim(self.seconds, TIMED),
                rate_claim(self.scale.path_sizes, errors, problem(plan.PATH).dimension),
            ]
        return tuple(sorted(found, key=lambda claim: claim.name))
