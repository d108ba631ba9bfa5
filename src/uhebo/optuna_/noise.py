"""Noise of single values, where the user knows it: kept with the trial in a user attribute, which every storage holds.

    uhebo:noise   0.3             standard deviation of the noise of the trial's value, in the units of the value
                  [0.3, null]     of several objectives, one each; null where it is not known

A trial that is made from elsewhere (`optuna.trial.create_trial`, `study.enqueue_trial`) may carry it from the start:
`user_attrs={"uhebo:noise": 0.3}`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from optuna.exceptions import UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial

from uhebo.checks import number, plain
from uhebo.errors import InvalidInputError
from uhebo.optuna_.gaps import objective_names

NOISE = "uhebo:noise"
"""User attribute of a trial: standard deviation of the noise of its value, or a list of one for each objective."""

Deviations = float | Sequence[float | None] | Mapping[str, float | None]
"""Standard deviation of a value; of several objectives one each (None: not known), or those that are known by name."""


def tell_noise(trial: Trial, std: Deviations) -> None:
    """Say how noisy the value of this trial is, before it is told: inside the objective, or before `study.tell`.

    For a trial that has ended: `uhebo.amend(study, number, noise=std)`.

    Args:
        trial: the trial under way: what the objective got, or what `study.ask` returned.
        std: standard deviation of the noise of its value, in the units of the value: what the value would scatter by if
            the evaluation were repeated. For a mean of n measurements: their standard deviation divided by √n. 0: the
            value is exact. With several objectives one for each (None: not known), or {name: std} for those known.

    Example:
        >>> import optuna, uhebo
        >>> study = optuna.create_study(sampler=uhebo.UHESampler(seed=0))
        >>> trial = study.ask({"x": uhebo.Float(0, 1)})
        >>> uhebo.tell_noise(trial, 0.3)
        >>> study.tell(trial, 1.7).user_attrs["uhebo:noise"]
        0.3
    """
    given: object = trial
    if not isinstance(given, Trial):
        raise InvalidInputError(
            f"trial is a {type(given).__name__}; expected the trial that the objective gets or study.ask returns; for "
            "one that has ended there is uhebo.amend(study, number, noise=…)"
        )
    deviations = checked_noise(trial.study, std)
    try:
        trial.set_user_attr(NOISE, deviations)
    except UpdateFinishedTrialError:
        raise InvalidInputError(
            f"trial {trial.number} has ended; tell the noise before its value, or now by uhebo.amend(study, "
            f"{trial.number}, noise={std!r})"
        ) from None


def checked_noise(study: Study, std: Deviations) -> float | list[float | None]:
    """What is kept of these standard deviations, or a typed error."""
    names = objective_names(study)
    if isinstance(std, Mapping):
        unknown = [name for name in std if name not in names]
        if unknown:
            raise InvalidInputError(f"there is no objective {unknown[0]!r}; the study has {', '.join(names)}")
        told = [std.get(name) for name in names]
    else:
        told = list(std) if isinstance(std, (list, tuple)) else [plain(std)]
    if len(told) != len(names):
        several = f"give one for each of {', '.join(names)}, or by name" if len(names) > 1 else "give one number"
        raise InvalidInputError(f"noise is {std!r}, for {len(names)} objective{'s' * (len(names) > 1)}; {several}")
    if len(names) == 1:
        return number("noise", told[0], 0.0, also=", a standard deviation")
    named = zip(names, told, strict=True)
    return [
        None if s is None else number(f"noise of {name}", s, 0.0, also=", a standard deviation") for name, s in named
    ]


def noise_of(trial: FrozenTrial, objectives: int = 1) -> tuple[float, ...]:
    """Standard deviations as told, one for each objective, NaN where it is not known; empty where none is.

    Anybody can write into a study: what is no noise counts as not told, and `is_damaged` says so.
    """
    told = _entries(trial, objectives)
    found = tuple(s if s is not None and _is_deviation(s) else math.nan for s in told)
    return () if all(map(math.isnan, found)) else found


def is_damaged(trial: FrozenTrial, objectives: int = 1) -> bool:
    """Whether the attribute holds something else than standard deviations."""
    if trial.user_attrs.get(NOISE) is None:
        return False
    told = _entries(trial, objectives)
    return len(told) != objectives or not all(s is None or _is_deviation(s) for s in told)


def _entries(trial: FrozenTrial, objectives: int) -> list[Any]:
    stored = trial.user_attrs.get(NOISE)
    told = list(stored) if isinstance(stored, (list, tuple)) else [stored]
    return told if len(told) == objectives else []


def _is_deviation(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0.0 <= value < math.inf
