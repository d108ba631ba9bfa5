"""Objectives of a study by name, the front of its trials, and the hypervolume it covers."""

from collections.abc import Mapping, Sequence

import numpy as np
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial

from uhebo.belief.penalties import penalties_of
from uhebo.numerics.front import added_hypervolume, non_dominated
from uhebo.optuna_.constraints import feasible_trials
from uhebo.optuna_.gaps import objective_names as objective_names
from uhebo.optuna_.sampler import UHESampler
from uhebo.optuna_.sampler_settings import SETTINGS_ATTRIBUTE
from uhebo.types import Array


def objectives_of(study: Study) -> dict[str, str]:
    """Name -> "minimize" or "maximize"."""
    directions = (direction.name.lower() for direction in study.directions)
    return dict(zip(objective_names(study), directions, strict=True))


def signs_of(study: Study) -> Array:
    """1 for each objective to be maximised, -1 for the others."""
    return np.array([1.0 if direction == StudyDirection.MAXIMIZE else -1.0 for direction in study.directions])


def oriented(study: Study, trials: Sequence[FrozenTrial]) -> Array:
    """Values of finished trials with larger ones better, (n, m)."""
    told = np.array([trial.values for trial in trials], dtype=np.float64).reshape(-1, len(study.directions))
    return np.asarray(signs_of(study) * told)


def front_trials(study: Study) -> list[FrozenTrial]:
    """Trials that no feasible one beats in every objective, in order of their numbers."""
    trials = feasible_trials(study)
    return [trials[i] for i in np.flatnonzero(non_dominated(oriented(study, trials)))] if trials else []


def given_reference(study: Study, *, stored: bool = False) -> tuple[float, ...] | None:
    """The reference point that the sampler was given, or with `stored` the one that it left in the study."""
    kept = study.user_attrs.get(SETTINGS_ATTRIBUTE)
    given = kept.get("reference_point") if isinstance(kept, Mapping) else None
    if isinstance(study.sampler, UHESampler) and not stored:
        given = study.sampler.settings.reference_point
    return tuple(given) if isinstance(given, Sequence) and len(given) == len(study.directions) else None


def reference_point(study: Study) -> Array | None:
    """Where the hypervolume is measured from, in the units of the values: as the sampler was given it, or the worst
    finite values of the feasible trials, penalties left out; None while there is none."""
    given, kept = given_reference(study), study.user_attrs.get(SETTINGS_ATTRIBUTE)
    if given is not None:
        return np.array(given, dtype=np.float64)
    values = oriented(study, feasible_trials(study))
    finite = values[np.isfinite(values).all(axis=1)]
    keep = isinstance(kept, Mapping) and kept.get("penalties") == "keep"
    for penalty in () if keep else penalties_of(finite):
        finite = finite[finite[:, penalty.objective] != penalty.value]
    worst = (finite if len(finite) else values).min(axis=0, initial=np.inf)
    return np.asarray(signs_of(study) * worst) if len(values) else None


def hypervolumes(study: Study) -> Array:
    """Volume between the reference point and the front after each feasible trial, in the units of the values.

    Infinite values count as the worst or best finite one, as they do for the models.
    """
    told = oriented(study, feasible_trials(study))
    found = np.zeros(len(told))
    reference = reference_point(study)
    finite = np.where(np.isfinite(told), told, np.nan)
    if reference is None or np.isnan(finite).all(axis=0).any():
        return found
    values = np.clip(told, np.nanmin(finite, axis=0), np.nanmax(finite, axis=0))
    front, volume = np.empty((0, values.shape[1])), 0.0
    for index, value in enumerate(values):
        if not (front >= value).all(axis=1).any():  # or it adds nothing
            volume += added_hypervolume(value, front, signs_of(study) * reference)
            front = np.vstack([front[~(front <= value).all(axis=1)], value])
        found[index] = volume
    return found


def balanced(values: Array, weights: Array, front: Array | None = None) -> Array:
    """How far each point (oriented, (n, m)) is from the best of all in its worst objective, times its weight.

    Each objective is scaled to 0 at its worst and 1 at its best on the front, by default that of the points
    themselves (Tchebycheff); the sum tells apart points that are equal in their largest distance.
    """
    front = values if front is None else front
    extent = np.ptp(front, axis=0)
    behind = weights * (front.max(axis=0) - values) / np.where(extent > 0.0, extent, 1.0)
    return np.asarray(behind.max(axis=1) + 1e-6 * behind.sum(axis=1))


def middle_of(study: Study, front: Sequence[FrozenTrial]) -> FrozenTrial:
    """The trial of a front that is nearest to the best in every objective at once."""
    values = oriented(study, front)
    finite = np.flatnonzero(np.isfinite(values).all(axis=1))
    if len(finite):
        front, values = [front[int(row)] for row in finite], values[finite]
    return front[int(np.argmin(balanced(values, np.ones(values.shape[1]))))]
