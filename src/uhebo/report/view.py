"""What the pictures are drawn from: the study, read once, its parameters as axes, and the diagnosis."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from uhebo.diagnosis import Diagnosis, diagnose
from uhebo.diagnosis.expected import Opinions, opinions_if_any
from uhebo.optuna_.constraints import constraints_of
from uhebo.optuna_.corrected import corrected
from uhebo.optuna_.extensions import units_of
from uhebo.optuna_.fronts import balanced, front_trials, objective_names, oriented
from uhebo.optuna_.log_space import space_of_log
from uhebo.optuna_.points import ORIGIN, REPEATS
from uhebo.optuna_.trial_log import ATTRIBUTE
from uhebo.report import theme
from uhebo.report.axes import ParameterAxis
from uhebo.report.chart import Points
from uhebo.report.text import in_figure, shown
from uhebo.space import SearchSpace
from uhebo.types import Array

AT_RANDOM = "at random"
"""Origin of a point that a person asked for at random."""
MOST_PENDING = 100


@dataclass(frozen=True)
class StudyView:
    """One study, and everything about it that more than one picture needs."""

    study: Study
    diagnosis: Diagnosis
    objective: int = 0
    """Which of several objectives this is a view of."""

    @classmethod
    def of(cls, study: Study, diagnosis: Diagnosis | None = None, objective: int = 0) -> "StudyView":
        """Of this study, with its diagnosis, which is made where it is not given."""
        study = corrected(study)
        found = diagnose(study, objective=objective, hmc=False) if diagnosis is None else diagnosis
        return cls(study, found, objective)

    @cached_property
    def finished(self) -> list[FrozenTrial]:
        """Finished trials with a finite value of every objective, by number."""
        trials = self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        return sorted((t for t in trials if t.values and all(map(math.isfinite, t.values))), key=lambda t: t.number)

    def value(self, trial: FrozenTrial) -> float:
        """The finished trial's value of this objective."""
        return float(trial.values[self.objective])

    @cached_property
    def opinions(self) -> Opinions | None:
        """The second opinion on each of several objectives; None without a model."""
        return None if self.diagnosis.belief is None else opinions_if_any(self.study)

    @property
    def several(self) -> bool:
        return len(self.study.directions) > 1

    @property
    def maximise(self) -> bool:
        return bool(self.study.directions[self.objective] == StudyDirection.MAXIMIZE)

    @cached_property
    def values(self) -> Array:
        return np.array([self.value(t) for t in self.finished], dtype=np.float64)

    @cached_property
    def best(self) -> FrozenTrial | None:
        """The best finished trial, the first of equals; under constraints, of the feasible ones."""
        if not self.feasible.any():
            return None
        values = np.where(self.feasible, self.values if self.maximise else -self.values, -np.inf)
        return self.finished[int(values.argmax())]

    @cached_property
    def constraints(self) -> list[str]:
        """Names of the constraints, in the order of first sight."""
        return list(dict.fromkeys(name for trial in self.finished for name in constraints_of(trial)))

    @cached_property
    def misses(self) -> Array:
        """Sum of the positive constraint values of each finished trial; infinite where it has no values."""
        told = [constraints_of(trial) for trial in self.finished]
        return np.array([
            sum(max(value, 0.0) for value in values.values()) if values or not self.constraints else np.inf
            for values in told
        ])  # fmt: skip

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Which finished trials keep all constraints."""
        return np.asarray(self.misses <= 0.0)

    @cached_property
    def infeasible(self) -> dict[int, float]:
        """By how much the other ones miss the constraints, by number."""
        missed = zip(self.finished, self.misses.tolist(), strict=True)
        return {trial.number: by for trial, by in missed if by > 0.0}

    @cached_property
    def space(self) -> SearchSpace:
        return space_of_log(self.study)

    @cached_property
    def axes(self) -> dict[str, ParameterAxis]:
        known = self.space.distributions.items()
        return {name: ParameterAxis(name, distribution, self.units.get(name, "")) for name, distribution in known}

    @cached_property
    def _encoded(self) -> tuple[Array, Any]:
        return self.space.encode_log([t.params for t in self.finished], ended=[True] * len(self.finished))

    @cached_property
    def modelled(self) -> list[FrozenTrial]:
        """Finished trials that lie in the space, as the surrogate and the slices need them."""
        return [trial for trial, use in zip(self.finished, self._encoded[1], strict=True) if use]

    @cached_property
    def rows(self) -> dict[int, Array]:
        """Rows of those trials, by their numbers."""
        return dict(zip((trial.number for trial in self.modelled), self._encoded[0], strict=True))

    @cached_property
    def leaders(self) -> list[FrozenTrial]:
        """Those of them that lack no parameter of their branch, the best first, the infeasible last.

        With several objectives the best is the one in the middle of the front: near the best in each of them.
        """
        whole = self.space.contains_many([trial.params for trial in self.modelled])
        trials = [trial for trial, use in zip(self.modelled, whole, strict=True) if use]
        if not trials:
            return []
        values = oriented(self.study, trials)
        if self.several:
            front = oriented(self.study, front_trials(self.study))
            front = front[np.isfinite(front).all(axis=1)]
            behind = balanced(values, np.ones(values.shape[1]), front if len(front) else None)
        else:
            behind = -values[:, 0]
        missed = np.array([self.infeasible.get(trial.number, 0.0) for trial in trials])
        return [trials[int(i)] for i in np.lexsort((behind, missed))]

    @cached_property
    def under_way(self) -> int:
        """How many experiments are under way."""
        return len(self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING, TrialState.WAITING)))

    @cached_property
    def pending(self) -> dict[int, dict[str, Any]]:
        """Parameters of experiments under way, by number; the latest ones."""
        trials = self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING, TrialState.WAITING))
        places = {trial.number: point_of(trial) for trial in trials}
        known = {number: found for number, found in places.items() if found.keys() <= self.space.distributions.keys()}
        inside = self.space.contains_many(list(known.values()))
        return dict([each for each, use in zip(known.items(), inside, strict=True) if use][-MOST_PENDING:])

    @cached_property
    def role_names(self) -> dict[str, str]:
        """What roles are called: trials that are nobody's are the reader's own where uhebo made the others."""
        trials = self.study.get_trials(deepcopy=False)
        ours = "uhebo:shell" in self.study.user_attrs or any(role_of(trial) != "other" for trial in trials)
        asked = any("fixed_params" in trial.system_attrs for trial in trials)
        return theme.ROLE_NAMES | ({} if ours or asked else {"other": theme.UNTAGGED})

    def marks(
        self, trials: Sequence[FrozenTrial], x: Any, y: Any, *, opacity: Any = (), **options: Any
    ) -> list[Points]:
        """One layer per role that proposed any of the trials; those that miss the constraints are in one of theirs."""
        roles = ["infeasible" if trial.number in self.infeasible else role_of(trial) for trial in trials]
        layers = []
        for role, name in {**self.role_names, "infeasible": "infeasible"}.items():
            rows = [i for i, found in enumerate(roles) if found == role]
            if rows:
                labels = [self._label_of(trials[i]) for i in rows]
                shade = [opacity[i] for i in rows] if len(opacity) else ()
                at = [x[i] for i in rows], [y[i] for i in rows]
                layers.append(theme.role_points(role, name, *at, labels=labels, opacity=shade, **options))
        return layers

    def _label_of(self, trial: FrozenTrial) -> str:
        """What is shown at the pointer."""
        again = f", trial {shown(trial.user_attrs[REPEATS])} once more" if REPEATS in trial.user_attrs else ""
        return f"trial {trial.number}: {shown(self.value(trial))}{again}"

    def star(self, trial: FrozenTrial) -> str:
        """What a trial is called whose place is marked by a star."""
        if trial.number in self.infeasible or not self.several:
            return "nearest to feasible" if trial.number in self.infeasible else "best"
        nearest = "" if trial is self.leaders[0] else "nearest to the "
        return f"{nearest}middle of the front"

    def best_with(self, name: str) -> FrozenTrial | None:
        """The best trial that has a parameter: of all, or of the branch that has it."""
        return next((trial for trial in self.leaders if name in trial.params), None)

    @property
    def ranked(self) -> tuple[str, ...]:
        """The parameters, the one with the largest total effect on the value first."""
        return tuple(row.name for row in self.diagnosis.importance)

    @cached_property
    def units(self) -> dict[str, str]:
        """Of parameters and of what is measured, by name, where they are known."""
        return units_of(self.study)

    def with_unit(self, name: str, of: str | None = None) -> str:
        """A heading, with the unit of what it is of."""
        unit = self.units.get(name if of is None else of)
        return name + (f" [{unit}]" if unit else "")

    @property
    def label(self) -> str:
        """The objective on an axis: its name, and its unit."""
        unit = self.units.get(self.target)
        return in_figure(self.target) + (f" [{in_figure(unit, 12)}]" if unit else "")

    @property
    def target(self) -> str:
        """What the objective is called."""
        return objective_names(self.study)[self.objective]


def point_of(trial: FrozenTrial) -> dict[str, Any]:
    """The trial's parameters; one in the queue has none yet, only those that it will have."""
    return trial.params or dict(trial.system_attrs.get("fixed_params") or {})


def role_of(trial: FrozenTrial) -> str:
    """Which part of a method proposed a trial; "other" for another sampler, or a point of the user's own."""
    if REPEATS in trial.user_attrs:
        return "repeat"
    if ORIGIN in trial.user_attrs:  # `uhebo suggest --random`; with --fix or --near the model chooses
        return "random" if trial.user_attrs[ORIGIN] == AT_RANDOM else "model"
    if "fixed_params" in trial.system_attrs:
        return "other"
    tags = trial.system_attrs.get(ATTRIBUTE)
    role = tags.get("role") if isinstance(tags, Mapping) else None
    return role if role in ("initial", "random", "model") else "other"
