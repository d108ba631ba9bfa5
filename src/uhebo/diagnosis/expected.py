"""Several objectives under noise: the front with the noise left out, and readings that are on the front by luck.

By the second opinion of `recommend`, objective by objective: the models behind the suggestions all but rule noise out,
so to them every reading is as good as exact.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study

from uhebo.belief import Belief, OutcomeBelief
from uhebo.belief.repeats import replicates
from uhebo.diagnosis.outlook import has_model
from uhebo.diagnosis.recommendation import LEAST_TRIALS, LEVELS, open_opinion
from uhebo.errors import InvalidInputError, UheboError
from uhebo.numerics.front import non_dominated
from uhebo.numerics.threads import single_threaded
from uhebo.optuna_.believe import believe, model_of
from uhebo.optuna_.fronts import front_trials
from uhebo.types import Array

CLEARLY = 0.05
"""Standard deviations of the values by which another point has to be better in every objective for a reading to count
as lucky: less is rounding."""


@dataclass(frozen=True)
class Expected:
    """A point that was tried, with what is expected there, noise left out."""

    numbers: tuple[int, ...]
    """Trials that measured it."""
    params: dict[str, Any]
    measured: dict[str, tuple[float, ...]]
    """What they measured, by objective."""
    predicted: dict[str, tuple[float, float, float]]
    """Mean by objective, and the interval that holds it with a probability of 90 %."""


@dataclass(frozen=True)
class Opinions:
    """The second opinion on each objective of a study, and its values without their noise."""

    study: Study
    belief: Belief
    """The model behind the suggestions."""
    objectives: tuple[OutcomeBelief, ...]

    @classmethod
    def of(cls, study: Study) -> "Opinions":
        return cls._of(study, believe(study))

    @classmethod
    @single_threaded
    def _of(cls, study: Study, belief: Belief) -> "Opinions":
        names = range(belief.history.objectives)
        opinions = [open_opinion(belief.only(index), np.random.default_rng([0, 8, index])) for index in names]
        return cls(study, belief, tuple(opinions))

    @property
    def numbers(self) -> list[int]:
        """Trials that they rest on."""
        return [int(number) for number in self.belief.numbers]

    @cached_property
    def cleaned(self) -> Array:
        """Values of these trials with larger ones better, (n, m), in the GPs' units; as told where repeats have shown
        no noise."""
        exact = self.belief.history.noiseless
        return np.array([found.data.y if exact else found.smoothed for found in self.objectives]).T

    def predicted(self, params: Mapping[str, Any]) -> dict[str, tuple[float, float, float]]:
        """Mean and 90 % interval of each objective at a point."""
        row = self.belief.space.encode(params)[None]
        found = {}
        for opinion in self.objectives:
            (mean,), (low, high) = opinion.predict(row)[0], opinion.quantiles(row, LEVELS)[:, 0]
            found[opinion.outcome.name] = (float(mean), float(low), float(high))
        return found

    def front(self) -> list[Expected]:
        """Feasible points tried that no other one is expected to beat in every objective, replicates taken together, in
        order of their trials."""
        counted = np.flatnonzero(self.belief.history.feasible)
        if not len(counted):
            raise InvalidInputError("no trial is feasible, so there is none to recommend; run more trials")
        places = replicates(self.belief.objective.data.X)
        firsts = counted[np.unique(places[counted], return_index=True)[1]]
        front = np.sort(firsts[non_dominated(self.cleaned[firsts])])
        return [self._expected(np.flatnonzero(places == places[row])) for row in front]

    def _expected(self, rows: NDArray[np.intp]) -> Expected:
        numbers = [self.numbers[int(row)] for row in rows]
        trials = [self.study.get_trials(deepcopy=False)[number] for number in numbers]
        names = [opinion.outcome.name for opinion in self.objectives]
        measured = {name: tuple(float(trial.values[i]) for trial in trials) for i, name in enumerate(names)}
        params = dict(trials[0].params)
        return Expected(tuple(numbers), params, measured, self.predicted(params))

    def lucky(self) -> list[int]:
        """Trials of the measured front that are clearly behind another feasible one in every objective."""
        known, rivals = self.numbers, self.cleaned[self.belief.history.feasible]
        on_front = [trial.number for trial in front_trials(self.study) if trial.number in known]
        own = self.cleaned[[known.index(number) for number in on_front]]
        behind = [bool((values + CLEARLY < rivals).all(axis=1).any()) for values in own]
        return [number for number, is_behind in zip(on_front, behind, strict=True) if is_behind]

    def lucky_in_words(self) -> list[str]:
        """A sentence where noise may have put trials on the front."""
        numbers = self.lucky()
        if not numbers:
            return []
        one = len(numbers) == 1
        named = f"trial {numbers[0]}" if one else f"trials {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
        return [
            f"Noise may have put {named} on the front: by a second opinion that allows for more noise "
            f"{'it is' if one else 'each is'} behind another point in every objective."
        ]


def opinions_if_any(study: Study) -> Opinions | None:
    """None while there is nothing to speak of."""
    with suppress(UheboError):  # a model of other parameters than those that the study goes on with
        model = model_of(study, 0)
        if has_model(model) and len(model.history.finished) >= LEAST_TRIALS:
            return Opinions._of(study, model.believe_all())
    return None
