"""`ParetoResult`: what a search with several objectives found, and ways to choose from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from uhebo.checks import by_name, choice, number
from uhebo.errors import InvalidInputError
from uhebo.notebook import panel, sentence, table
from uhebo.optuna_.constraints import feasible_trials
from uhebo.optuna_.corrections import changes_of
from uhebo.optuna_.fronts import balanced, front_trials, hypervolumes, objectives_of, reference_point, signs_of
from uhebo.result import Result, as_frame
from uhebo.types import Array

if TYPE_CHECKING:
    from pandas import DataFrame

    from uhebo.diagnosis import Diagnosis
    from uhebo.diagnosis.expected import Opinions

By = Literal["measured", "expected"]
MOST_ROWS = 12
"""Maximum rows of the front that a notebook shows by itself."""
Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class Pick:
    """A point of the front."""

    number: int
    """Number of its trial; the first where several measured it."""
    params: dict[str, Any]
    values: dict[str, float]
    """What was measured, by objective; the mean where it was measured several times."""
    predicted: dict[str, tuple[float, float, float]]
    """What is expected there, noise left out: mean, and the interval that holds the objective with a probability of
    90 %. By the second opinion of `uhebo.recommend`, which allows for more noise than the model."""
    by_model: dict[str, tuple[float, float]]
    """Mean and standard deviation that the model behind the suggestions expects there."""
    numbers: tuple[int, ...] = ()
    """All trials that measured it."""


@dataclass(frozen=True)
class _Point:
    """A point to choose, and the values to choose it by."""

    numbers: tuple[int, ...]
    values: dict[str, float]


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

    def pick(
        self,
        weights: Mapping[str, float] | None = None,
        *,
        within: Mapping[str, Bounds] | None = None,
        by: By = "measured",
    ) -> Pick:
        """One point of the front, with what is expected there.

        Each objective is scaled to 0 at its worst and 1 at its best on the front; the point chosen is the one whose
        largest weighted distance from 1 is the smallest (Tchebycheff).

        Args:
            weights: objective -> weight; 0 for those left out; default all equal.
            within: objective -> (smallest, largest) value that is acceptable, None for no bound.
            by: "measured" chooses from the front of what was measured. "expected" chooses from `recommended`, by the
                means expected there: under noise the best readings are lucky ones.
        """
        choice("by", by, get_args(By))
        names = list(self.objectives)
        for argument, given, form in (("weights", weights, "2.0"), ("within", within, "(0.0, 1.0)")):
            if given is not None and not isinstance(given, Mapping):
                raise InvalidInputError(f"{argument} is {given!r}; expected such as {{{names[0]!r}: {form}}}")
        for given in (weights or {}, within or {}):
            for name in given:
                if name not in names:
                    raise InvalidInputError(f"there is no objective {name!r}; the objectives are {', '.join(names)}")
        self._check_feasible()
        front = self._measured if by == "measured" else self._expected
        inside = [each for each in front if _within(each.values, within or {})]
        if not inside:
            spans = [f"{n} from {min(v):.6g} to {max(v):.6g}" for n, v in _columns(names, front).items()]
            raise InvalidInputError(f"no point of the front is within {dict(within or {})}; it has {', '.join(spans)}")
        share = np.array(
            [number(f"the weight of {n}", 1.0 if weights is None else weights.get(n, 0.0), 0.0) for n in names]
        )
        if not share.any():
            raise InvalidInputError(f"weights are {dict(weights or {})}; expected one above 0")
        values = signs_of(self.study) * np.array([list(each.values.values()) for each in front])
        behind = dict(zip((each.numbers for each in front), balanced(values, share), strict=True))
        return self._pick(min(inside, key=lambda each: float(behind[each.numbers])).numbers)

    @property
    def recommended(self) -> list[Pick]:  # type: ignore[override]
        """The points to use: feasible points tried that no other one is expected to beat in every objective, noise left
        out and replicates taken together, in order of their trials.

        By a second opinion that allows for more noise than the model, as with one objective. `pareto` is the front of
        what was measured, where lucky values stand out.
        """
        self._check_feasible()
        return [self._pick(each.numbers) for each in self._opinions.front()]

    @by_name()
    def diagnose(self) -> dict[str, Diagnosis]:  # type: ignore[override]
        """Can the model of each objective be trusted? A diagnosis for each, by name."""
        from uhebo.diagnosis import diagnose_each

        return diagnose_each(self.study)

    @property
    def _opinions(self) -> Opinions:
        changes = len(changes_of(self.study))
        return self._opinions_of(len(self.study.get_trials(deepcopy=False)), len(self._finished), changes)

    @cached_property
    def _opinions_of(self) -> Callable[[int, int, int], Opinions]:
        """Made once for each state of the study."""
        from uhebo.diagnosis.expected import Opinions

        return lru_cache(maxsize=1)(lambda *_: Opinions.of(self._read))

    @property
    def _measured(self) -> list[_Point]:
        """The front of what was measured; infinite values are none to choose by."""
        names, front = list(self.objectives), self.front
        finite = [trial for trial in front if np.isfinite(trial.values).all()]
        if not finite:
            raise InvalidInputError(
                "all values on the front are infinite, so there is none to choose by: uhebo.amend or uhebo.drop them"
            )
        return [_Point((trial.number,), dict(zip(names, trial.values, strict=True))) for trial in finite]

    @property
    def _expected(self) -> list[_Point]:
        return [
            _Point(each.numbers, {name: mean for name, (mean, _, _) in each.predicted.items()})
            for each in self._opinions.front()
        ]

    def _pick(self, numbers: tuple[int, ...]) -> Pick:
        trials = [self._read.get_trials(deepcopy=False)[number] for number in numbers]
        params, names = dict(trials[0].params), list(self.objectives)
        values = {name: fmean(trial.values[i] for trial in trials) for i, name in enumerate(names)}
        by_model = {name: self.belief.only(i).predict(params) for i, name in enumerate(names)}
        return Pick(trials[0].number, params, values, self._opinions.predicted(params), by_model, numbers)

    def _check_feasible(self) -> None:
        if not feasible_trials(self._read):
            raise InvalidInputError(
                f"no trial has all its values and keeps the constraints ({len(self.study.trials)} were started): "
                "result.history says what became of each"
            )

    @property
    def _has_front(self) -> str:
        return "result"

    def __str__(self) -> str:
        front = self.front
        trials = self._read.get_trials(deepcopy=False)
        without = sum(trial.state.is_finished() for trial in trials) - len(self._finished)
        failed = f", {without} without a value" if without else ""
        lines = [f"ParetoResult of {len(trials)} trials, {len(front)} on the front{failed}"]
        measured = [dict(zip(self.objectives, trial.values, strict=True)) for trial in front]
        for name in self.objectives if front else ():
            values = [each[name] for each in measured]
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


def _columns(names: Sequence[str], places: Sequence[_Point]) -> dict[str, list[float]]:
    return {name: [place.values[name] for place in places] for name in names}


def _within(values: Mapping[str, float], within: Mapping[str, Bounds]) -> bool:
    for name, bounds in within.items():
        low, high = _checked_bounds(name, bounds)
        if (low is not None and values[name] < low) or (high is not None and values[name] > high):
            return False
    return True


def _checked_bounds(name: str, bounds: Any) -> Bounds:
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise InvalidInputError(f"within has {bounds!r} for {name!r}; expected (smallest, largest), None for no bound")
    low, high = (None if bound is None else number(f"a bound of {name}", bound) for bound in bounds)
    return low, high


def result_of(study: Study) -> Result:
    """The kind of result that fits the number of objectives."""
    return Result(study) if len(study.directions) == 1 else ParetoResult(study)
