"""`ParetoResult`: what a search with several objectives found, and ways to choose from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.trial import FrozenTrial

from uhebo.checks import number
from uhebo.errors import InvalidInputError
from uhebo.notebook import panel, sentence, table
from uhebo.optuna_.constraints import feasible_trials
from uhebo.optuna_.fronts import balanced, front_trials, hypervolumes, objectives_of, oriented, reference_point
from uhebo.result import Result, as_frame
from uhebo.types import Array

if TYPE_CHECKING:
    from pandas import DataFrame

    from uhebo.diagnosis import Diagnosis, Recommended

INTERVAL = (0.05, 0.95)
"""Levels between which a prediction lies with a probability of 90 %."""
MOST_ROWS = 12
"""Maximum rows of the front that a notebook shows by itself."""
Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class Pick:
    """A point of the front."""

    number: int
    """Number of its trial."""
    params: dict[str, Any]
    values: dict[str, float]
    """What was measured, by objective."""
    predicted: dict[str, tuple[float, float, float]]
    """Mean of the model (noise left out), and the interval that holds the objective with a probability of 90 %."""


@dataclass(frozen=True)
class ParetoResult(Result):
    """What was found; `pareto` is the front, `pick` chooses from it."""

    @property
    def objectives(self) -> dict[str, str]:
        """Name -> "minimize" or "maximize"."""
        return objectives_of(self.study)

    @property
    def front(self) -> list[FrozenTrial]:
        """Trials that no feasible one beats in every objective, in order of their numbers."""
        return front_trials(self._read)

    @property
    def pareto(self) -> DataFrame:
        """The front, one row per trial (number, objectives, parameters): a data frame if pandas is there."""
        names = list(self.objectives)
        rows = []
        for trial in self.front:
            row: dict[str, Any] = {"number": trial.number, **dict(zip(names, trial.values, strict=True))}
            rows.append(row | {f"param_{k}" if k in row else k: value for k, value in trial.params.items()})
        return as_frame(rows)

    @property
    def reference_point(self) -> dict[str, float]:
        """Where the hypervolume is measured from: what the sampler was given, or the worst values of all trials."""
        self._check_feasible()
        found = reference_point(self._read)
        assert found is not None  # there are feasible trials
        return dict(zip(self.objectives, found.tolist(), strict=True))

    @property
    def hypervolume(self) -> Array:
        """Volume between the reference point and the front after each feasible trial, in the units of the values."""
        self._check_feasible()
        return hypervolumes(self._read)

    def pick(self, weights: Mapping[str, float] | None = None, *, within: Mapping[str, Bounds] | None = None) -> Pick:
        """One point of the front, with what the model predicts there.

        Each objective is scaled to 0 at its worst and 1 at its best on the front; the point chosen is the one whose
        largest weighted distance from 1 is the smallest (Tchebycheff).

        Args:
            weights: objective -> weight; 0 for those left out; default all equal.
            within: objective -> (smallest, largest) value that is acceptable, None for no bound.
        """
        names = list(self.objectives)
        for argument, given, form in (("weights", weights, "2.0"), ("within", within, "(0.0, 1.0)")):
            if given is not None and not isinstance(given, Mapping):
                raise InvalidInputError(f"{argument} is {given!r}; expected such as {{{names[0]!r}: {form}}}")
        for given in (weights or {}, within or {}):
            for name in given:
                if name not in names:
                    raise InvalidInputError(f"there is no objective {name!r}; the objectives are {', '.join(names)}")
        self._check_feasible()
        front = self.front
        inside = [trial for trial in front if self._within(trial, within or {})]
        if not inside:
            spans = [f"{n} from {min(v):.6g} to {max(v):.6g}" for n, v in self._columns(front).items()]
            raise InvalidInputError(f"no point of the front is within {dict(within or {})}; it has {', '.join(spans)}")
        share = np.array(
            [number(f"the weight of {n}", 1.0 if weights is None else weights.get(n, 0.0), 0.0) for n in names]
        )
        if not share.any():
            raise InvalidInputError(f"weights are {dict(weights or {})}; expected one above 0")
        behind = dict(zip((t.number for t in front), balanced(oriented(self.study, front), share), strict=True))
        trial = min(inside, key=lambda candidate: float(behind[candidate.number]))
        return Pick(trial.number, dict(trial.params), dict(zip(names, trial.values, strict=True)), self._at(trial))

    @property
    def recommended(self) -> Recommended:
        """Several objectives have no single point to recommend; `pick` chooses one from the front."""
        raise InvalidInputError(
            "with several objectives there is no single point to recommend; result.pick(weights, within=…) chooses one "
            "from the front, with what the models predict there"
        )

    def diagnose(self) -> dict[str, Diagnosis]:  # type: ignore[override]
        """Can the model of each objective be trusted? A diagnosis for each, by name."""
        from uhebo.diagnosis import diagnose_each

        return diagnose_each(self.study)

    def _at(self, trial: FrozenTrial) -> dict[str, tuple[float, float, float]]:
        found = {}
        for index, name in enumerate(self.objectives):
            belief = self.belief.only(index)
            low, high = belief.quantiles(trial.params, INTERVAL)
            found[name] = (float(belief.predict(trial.params)[0]), float(low), float(high))
        return found

    def _within(self, trial: FrozenTrial, within: Mapping[str, Bounds]) -> bool:
        told = dict(zip(self.objectives, trial.values, strict=True))
        for name, bounds in within.items():
            low, high = _checked_bounds(name, bounds)
            if (low is not None and told[name] < low) or (high is not None and told[name] > high):
                return False
        return True

    def _columns(self, trials: Sequence[FrozenTrial]) -> dict[str, list[float]]:
        return {name: [trial.values[i] for trial in trials] for i, name in enumerate(self.objectives)}

    def _check_feasible(self) -> None:
        if not feasible_trials(self._read):
            raise InvalidInputError(
                f"no trial is feasible and has all its values ({len(self.study.trials)} were started): "
                "result.history says what became of each"
            )

    def __str__(self) -> str:
        front = self.front
        lines = [f"ParetoResult of {len(self.study.trials)} trials, {len(front)} on the front"]
        for name, values in self._columns(front).items() if front else ():
            lines.append(f"  {name}  {min(values):.6g} … {max(values):.6g}  ({self.objectives[name]})")
        return "\n".join(lines)

    def __repr__(self) -> str:  # a dataclass would make its own
        return super().__repr__()

    def _repr_html_(self) -> str:
        """What a notebook shows: the front, from the best to the worst value of the first objective."""
        title, names, front = str(self).splitlines()[0], list(self.objectives), self.front
        if not front:
            return panel(title, tone="bad")
        down = [-1.0 if direction == "maximize" else 1.0 for direction in self.objectives.values()]
        best = sorted(front, key=lambda trial: down[0] * trial.values[0])
        params = list(dict.fromkeys(name for trial in best for name in trial.params))
        rows = [[t.number, *t.values, *(t.params.get(name, "") for name in params)] for t in best[:MOST_ROWS]]
        columns = ["trial", *(f"{name} ({self.objectives[name]})" for name in names), *params]
        left = [] if len(best) <= MOST_ROWS else [sentence(f"and {len(best) - MOST_ROWS} more: result.pareto")]
        return panel(title, table(columns, rows), *left, tone="good")


def _checked_bounds(name: str, bounds: Any) -> Bounds:
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise InvalidInputError(f"within has {bounds!r} for {name!r}; expected (smallest, largest), None for no bound")
    low, high = (None if bound is None else number(f"a bound of {name}", bound) for bound in bounds)
    return low, high
