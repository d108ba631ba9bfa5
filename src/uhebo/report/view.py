"""What the pictures are drawn from: the study, read once, and the diagnosis with the model it judged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from uhebo.belief import Belief, History
from uhebo.diagnosis import Diagnosis, diagnose
from uhebo.optuna_.trial_log import ATTRIBUTE, read_history, refuse_several_objectives, shared_space
from uhebo.report import theme
from uhebo.report.axes import ParameterAxis
from uhebo.space import SearchSpace
from uhebo.types import Array

MOST_POINTS = 1500
"""Maximum trials drawn in one picture; a browser slows down beyond."""


@dataclass(frozen=True)
class StudyView:
    """One study, and everything about it that more than one picture needs."""

    study: Study
    diagnosis: Diagnosis

    @classmethod
    def of(cls, study: Study, diagnosis: Diagnosis | None = None) -> StudyView:
        """Of this study, with its diagnosis, which is made where it is not given."""
        refuse_several_objectives(study)
        return cls(study, diagnose(study, hmc=False) if diagnosis is None else diagnosis)

    @cached_property
    def finished(self) -> list[FrozenTrial]:
        """Finished trials with a finite value, by number."""
        trials = self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        return sorted((t for t in trials if t.value is not None and math.isfinite(t.value)), key=lambda t: t.number)

    @property
    def maximise(self) -> bool:
        return bool(self.study.direction == StudyDirection.MAXIMIZE)

    @cached_property
    def values(self) -> Array:
        return np.array([t.value for t in self.finished], dtype=np.float64)

    @cached_property
    def best(self) -> FrozenTrial | None:
        """The best finished trial, the first of equals."""
        if not self.finished:
            return None
        return self.finished[int(self.values.argmax() if self.maximise else self.values.argmin())]

    @cached_property
    def space(self) -> SearchSpace:
        return SearchSpace.of(shared_space(self.study).distributions)

    @cached_property
    def axes(self) -> dict[str, ParameterAxis]:
        return {name: ParameterAxis(name, distribution) for name, distribution in self.space.distributions.items()}

    @cached_property
    def history(self) -> History:
        return read_history(self.study, self.space, 0)

    @cached_property
    def modelled(self) -> list[FrozenTrial]:
        """Finished trials that lie in the space, as the surrogate and the slices need them."""
        inside = self.space.contains_many([trial.params for trial in self.finished])
        return [trial for trial, use in zip(self.finished, inside, strict=True) if use]

    @property
    def belief(self) -> Belief | None:
        """The model behind the suggestions, as the diagnosis judged it; None where there is nothing to fit."""
        return self.diagnosis.belief

    @property
    def ranked(self) -> tuple[str, ...]:
        """The parameters, the one with the largest total effect on the value first."""
        return tuple(row.name for row in self.diagnosis.importance)

    @property
    def target(self) -> str:
        """What the objective is called."""
        names = self.study.metric_names
        return names[0] if names else "value"


def role_of(trial: FrozenTrial) -> str:
    """Which part of a method proposed a trial; "other" for another sampler, or a point of the user's own."""
    if "fixed_params" in trial.system_attrs:
        return "other"
    tags = trial.system_attrs.get(ATTRIBUTE)
    role = tags.get("role") if isinstance(tags, Mapping) else None
    return role if role in ("initial", "random", "model") else "other"


def role_marks(trials: Sequence[FrozenTrial], x: Any, y: Any, hover: str, filled: bool = False, **of_each: Any) -> Any:
    """One trace per role that proposed any of the trials, at x, y; `of_each` holds marker settings with a value each.

    In `hover`, %{customdata} is the trial's number.
    """
    traces = []
    symbols = theme.FILLED_SYMBOLS if filled else theme.ROLE_SYMBOLS
    for role in theme.ROLES:
        rows = [i for i, trial in enumerate(trials) if role_of(trial) == role]
        marker = {"color": theme.ROLE_COLOURS[role], "symbol": symbols[role], "size": 8}
        if filled:
            marker["line"] = {"color": "#ffffff", "width": 1.2}
        marker |= {setting: [values[i] for i in rows] for setting, values in of_each.items()}
        if rows:
            traces.append(
                theme.marks(
                    [x[i] for i in rows], [y[i] for i in rows], theme.ROLE_NAMES[role], marker, hover,
                    customdata=[trials[i].number for i in rows], legendgroup=role,
                )
            )  # fmt: skip
    return traces


def thinned(items: Sequence[Any], most: int = MOST_POINTS) -> list[Any]:
    """At most `most` of them, evenly spaced, the first and the last always among them."""
    if len(items) <= most:
        return list(items)
    return [items[int(i)] for i in np.linspace(0, len(items) - 1, most)]
