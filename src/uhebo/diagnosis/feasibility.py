"""Constraints: how many trials keep them, and whether each constraint's model can tell which do."""

from dataclasses import dataclass

import numpy as np

from uhebo.belief import Belief
from uhebo.belief.belief import OutcomeBelief

NO_SKILL = 0.3
"""Predictive R² of a constraint below which its model has to be right about feasibility to count as useful."""


@dataclass(frozen=True)
class ConstraintModel:
    """One constraint: the trials that keep it, and how well its GP predicts each trial from the others."""

    name: str
    told: int
    """Trials with a value of it."""
    kept: int
    right: int
    """Trials of which the others predict on which side of 0 they are."""
    r2: float
    """1 - Σ (c_i - mean_i)² / Σ (c_i - c̄)²; 1 where all values are the same, because then nothing is missed."""

    @property
    def poor(self) -> bool:
        """Neither the values nor the sides are predicted: no better than always saying what most trials do."""
        wrong = self.told - self.right
        return self.r2 < NO_SKILL and wrong >= max(min(self.kept, self.told - self.kept), 1)


@dataclass(frozen=True)
class Feasibility:
    """The constraints of a study over the trials that the model is fitted to."""

    trials: int
    feasible: int
    """Trials that keep all constraints."""
    constraints: tuple[ConstraintModel, ...]
    nearest: int | None
    """Where none does: the trial whose positive constraint values have the smallest sum."""
    missed: tuple[tuple[str, float], ...] = ()
    """Its constraints above 0."""

    @property
    def poor(self) -> tuple[ConstraintModel, ...]:
        return tuple(found for found in self.constraints if found.poor)


def measure_feasibility(belief: Belief) -> Feasibility | None:
    """None in a study without constraints."""
    history = belief.history
    if not belief.constraints:
        return None
    feasible = int(history.feasible.sum())
    told = [trial for trial in history.finished if not np.isnan(trial.constraints).any()]
    nearest = min(told, key=lambda t: float(np.maximum(t.constraints, 0.0).sum()), default=None)
    return Feasibility(
        trials=len(history.finished),
        feasible=feasible,
        constraints=tuple(_predicted(name, found) for name, found in belief.constraints.items()),
        nearest=None if feasible or nearest is None else nearest.number,
        missed=()
        if feasible or nearest is None
        else tuple((n, v) for n, v in zip(belief.constraints, nearest.constraints, strict=True) if v > 0.0),
    )


def _predicted(name: str, found: OutcomeBelief) -> ConstraintModel:
    """Leave-one-out of one constraint; in the GP's units larger is better, and a trial on the threshold keeps it."""
    y, threshold = found.data.y, found.limit.threshold
    if not len(y):
        return ConstraintModel(name, told=0, kept=0, right=0, r2=0.0)
    means = found.leave_one_out()[0].mean(axis=0)
    kept = y >= threshold - 1e-9 * max(1.0, abs(threshold))
    spread = float(np.sum((y - y.mean()) ** 2))
    return ConstraintModel(
        name=name,
        told=len(y),
        kept=int(kept.sum()),
        right=int(np.sum(kept == (means >= threshold))),
        r2=1.0 - float(np.sum((y - means) ** 2)) / spread if spread > 0.0 else 1.0,
    )
