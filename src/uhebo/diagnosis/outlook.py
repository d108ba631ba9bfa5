"""What the model expects at points that have no value yet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.study import Study

from uhebo.belief import Belief
from uhebo.errors import InvalidInputError
from uhebo.numerics.threads import single_threaded
from uhebo.optuna_.believe import StudyModel, model_of
from uhebo.optuna_.fronts import objective_names

INTERVAL = (0.05, 0.95)


@dataclass(frozen=True)
class Expected:
    """One objective at one point, noise left out, in the user's units."""

    mean: float
    deviation: float
    low: float
    high: float
    """Ends of the interval that holds it with a probability of 90 %."""


@dataclass(frozen=True)
class Level:
    """What is to be improved on: the trial that the model takes for the best."""

    trial: int
    told: float
    """Its value."""
    expected: float
    """The value without noise that the model expects there."""

    def __str__(self) -> str:
        return f"trial {self.trial} (told: {self.told:.4g}; the model expects {self.expected:.4g} there)"


@dataclass(frozen=True)
class Outlook:
    """What is expected at one point."""

    expected: dict[str, Expected]
    """By objective."""
    improves: float | None
    """Chance that the point is feasible and better than the best one so far, noise left out; None with several
    objectives, or while nothing is feasible."""
    over: Level | None
    """What is improved on."""
    feasible: float
    """Chance that all constraints are kept."""
    fails: float
    """Chance that the trial fails."""


@single_threaded
def outlook(study: Study, points: Sequence[Mapping[str, Any]]) -> list[Outlook]:
    """What the model behind the suggestions expects at these points; nothing while there is no model."""
    model = model_of(study, 0)
    if not points or not has_model(model):
        return []
    belief = model.believe_all()
    rows = belief.space.encode_many(list(points))
    feasible, fails = belief.feasibility(list(points)), belief.failure(list(points))
    found: dict[str, list[Expected]] = {}
    for name, each in zip(objective_names(study), belief.objectives, strict=True):
        means, deviations = each.predict(rows)
        lows, highs = each.quantiles(rows, INTERVAL)
        columns = (column.tolist() for column in (means, deviations, lows, highs))
        found[name] = [Expected(*figures) for figures in zip(*columns, strict=True)]
    improves = _improvement(belief, rows)
    return [
        Outlook(
            {name: column[index] for name, column in found.items()},
            None if improves is None else float(improves[0][index] * feasible[index]),
            None if improves is None else improves[1],
            float(feasible[index]),
            float(fails[index]),
        )
        for index in range(len(rows))
    ]


def has_model(model: StudyModel) -> bool:
    """Whether there is enough to fit a model to: two values that differ, and a parameter that varies."""
    return len(model.history.finished) > 1 and bool(model.history.space.names) and bool(model.history.data.y.any())


def _improvement(belief: Belief, rows: Any) -> tuple[Any, Level] | None:
    """The chances, and what is improved on."""
    kept = belief.history.feasible
    if belief.history.objectives > 1 or not kept.any():
        return None
    objective = belief.objective
    best = int(np.argmax(np.where(kept, objective.smoothed, -np.inf)))
    level = float(objective.smoothed[best])
    found = belief.history.finished[best]
    assert found.y is not None  # it has finished
    expected = float(objective.predict(objective.data.X[best][None])[0][0])
    return objective.chance_above(rows, level), Level(found.number, objective.outcome.sign * found.y, expected)


def expect(study: Study, params: Mapping[str, Any]) -> Outlook:
    """What the model expects at one point."""
    found = outlook(study, [params])
    if not found:
        raise InvalidInputError("there is no model yet: it needs two finished trials with different values")
    return found[0]
