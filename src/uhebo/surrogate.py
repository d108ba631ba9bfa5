"""The surrogate of a study in the user's own units: mean and deviation of the objective at any parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.study import Study, StudyDirection

from uhebo.errors import InvalidInputError
from uhebo.estimate import Fit, map_estimate
from uhebo.gp import Kernel, Prior
from uhebo.optuna_.trial_log import read_history, shared_space
from uhebo.space import SearchSpace
from uhebo.types import Array

LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Surrogate:
    """A Gaussian process fitted by MAP to the finished trials of a study."""

    space: SearchSpace
    fit: Fit
    sign: float

    @classmethod
    def of(cls, study: Study, *, prior: str | Prior = "dim-scaled", kernel: str | Kernel = "matern52") -> Surrogate:
        """Fit to all finished trials; parameters that only some trials have are not modelled."""
        space = SearchSpace.of(shared_space(study).distributions)
        history = read_history(study, space, 0)
        if not history.finished or not space.names:
            raise InvalidInputError(
                "a surrogate needs a finished trial and a parameter that can vary; run trials first"
            )
        fit = map_estimate(history.data, kernel=kernel, prior=prior, rng=np.random.default_rng(0))
        return cls(space, fit, 1.0 if study.direction == StudyDirection.MAXIMIZE else -1.0)

    def predict(self, params: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> tuple[Any, Any]:
        """Mean and standard deviation of the objective (noise left out) at one point, or arrays of them at several."""
        if isinstance(params, Mapping):
            mean, deviation = self._natural(self.space.encode_many([params]))
            return float(mean[0]), float(deviation[0])
        return self._natural(self.space.encode_many(list(params)))

    def _natural(self, rows: Array) -> tuple[Array, Array]:
        data = self.fit.posterior.data
        mean, variance = self.fit.posterior.predict(rows)
        with np.errstate(over="ignore"):  # values near the largest double have deviations beyond it
            mean, deviation = self.sign * (data.location + data.scale * mean), data.scale * np.sqrt(variance)
        return np.clip(mean, -LARGEST, LARGEST), np.minimum(deviation, LARGEST)
