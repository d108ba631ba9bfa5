"""Constraint values of trials: read, written and checked, in the ways of Optuna 4 and 5.

Optuna 5 keeps each constraint of a trial in a system attribute of its own, `constraints:NAME` (`trial.set_constraint`);
before, all of them were one list, `constraints` (`constraints_func` of a sampler), and so without names. Here they
are called "0", "1", … as Optuna 5 calls them. A value of 0 or less is feasible.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState

from uhebo.errors import InvalidInputError
from uhebo.optuna_.gaps import objective_names, storage_of

KEY = "constraints"
"""System attribute with a list of values; with a colon and a name after it, one with a value."""
NAMED = hasattr(FrozenTrial, "constraints")
"""Whether this Optuna reads constraints by name (from 5.0)."""
TRUTH = (
    "expected a number at most 0 where the limit is kept, such as 0.25 - x*y; a rule on the parameters is "
    "subject_to=['x * y >= 0.25']"
)
"""What to do instead of returning True where a limit is kept: as a number, True says that it is missed by 1."""

ConstraintsFunc = Callable[[FrozenTrial], Any]
"""Trial -> values, as Optuna's samplers take it: a sequence of numbers; here also one number, or name -> number."""


def checked_function(function: ConstraintsFunc | None) -> ConstraintsFunc | None:
    """The function if it can be called with a trial, as far as Python can tell; else a typed error."""
    if function is None:
        return None
    if not callable(function):
        raise InvalidInputError(f"constraints_func is {function!r}; expected a function of a trial")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C
        return function
    try:
        signature.bind(None)
    except TypeError as error:
        raise InvalidInputError(
            f"constraints_func takes {signature}, and it is called with one argument, the finished trial ({error}); "
            "read the parameters from trial.params"
        ) from error
    return function


def constraints_of(trial: FrozenTrial) -> dict[str, float]:
    """Constraint values of a trial as they are stored, by name; empty where it has none."""
    found: dict[str, float] = {}
    for key, stored in trial.system_attrs.items():
        if key == KEY and isinstance(stored, (list, tuple)):
            found |= {str(index): value for index, value in enumerate(stored)}
        elif key.startswith(f"{KEY}:"):
            found[key[len(KEY) + 1 :]] = stored
    return found


def is_constraint(key: str) -> bool:
    """Whether a system attribute of this name has values of constraints."""
    return key == KEY or key.startswith(f"{KEY}:")


def is_feasible(trial: FrozenTrial) -> bool:
    """Whether no constraint value of the trial is above 0; a trial without any counts as feasible, as in Optuna."""
    return all(value <= 0.0 for value in constraints_of(trial).values())


def feasible_trials(study: Study) -> list[FrozenTrial]:
    """The finished trials that are feasible, in order of their numbers.

    In a study with constraints a trial without constraint values is not known to be feasible.
    """
    finished = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    found = [(trial, constraints_of(trial)) for trial in finished]
    constrained = any(values for _, values in found)
    return [t for t, values in found if (values or not constrained) and all(v <= 0.0 for v in values.values())]


def best_trial(study: Study) -> FrozenTrial | None:
    """The finished trial with the best value among the feasible ones; None where there is none."""
    choose = max if study.direction == StudyDirection.MAXIMIZE else min
    return choose(feasible_trials(study), key=lambda trial: trial.value or 0.0, default=None)


def least_violated(study: Study) -> tuple[FrozenTrial, float] | None:
    """The finished trial whose positive constraint values have the smallest sum, and that sum; None without any."""
    finished = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    sums = [(t, sum(max(v, 0.0) for v in constraints_of(t).values())) for t in finished if constraints_of(t)]
    return min(sums, key=lambda found: found[1], default=None)


def in_order(names: Sequence[str]) -> tuple[str, ...]:
    """Names in an order that no storage changes; "2" before "10"."""
    return tuple(sorted(names, key=lambda name: (len(name), name)))


def agreed_names(trials: Sequence[FrozenTrial]) -> tuple[str, ...]:
    """Names of the constraints that the finished trials have, all the same ones or none; an error where they differ."""
    known: tuple[str, ...] = ()
    first = -1
    for trial in trials:
        values = constraints_of(trial) if trial.state == TrialState.COMPLETE else {}
        for name, value in values.items():
            if isinstance(value, bool):
                raise InvalidInputError(f"constraint {name!r} of trial {trial.number} is {value!r}; {TRUTH}")
            if not _is_number(value):
                raise InvalidInputError(
                    f"constraint {name!r} of trial {trial.number} is {value!r}, expected a number (NaN is none); "
                    "the trials stay in the study: copy the others into a new one (study.add_trials) to go on"
                )
        names = in_order(list(values))
        if names and known and names != known:
            raise InvalidInputError(
                f"trial {trial.number} has the constraints {_listed(names)}, trial {first} has {_listed(known)}; give "
                "every trial the same ones; copy those that have them into a new study (study.add_trials) to go on"
            )
        if names and not known:
            known, first = names, trial.number
    return known


def store(study: Study, trial: FrozenTrial, returned: Any) -> None:
    """Keep what a `constraints_func` returned for a trial; what cannot be used is refused, and the value stays."""
    values = checked(returned, trial.number)
    if both := [name for name in values if name in objective_names(study)]:
        raise InvalidInputError(
            f"constraint {both[0]!r} of trial {trial.number} has the name of an objective; give it another one: a "
            "limit on an objective is a constraint of its own, such as {'too slow': latency - 40}; the trial's value "
            "is kept"
        )
    known = agreed_names(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))
    names = in_order([*values, *constraints_of(trial)])
    if known and (names != known if NAMED else len(names) != len(known)):
        raise InvalidInputError(
            f"trial {trial.number} has the constraints {_listed(names)}, those before it {_listed(known)}; return the "
            "same ones for every trial; its value is kept"
        )
    by_name = NAMED and isinstance(returned, Mapping)
    attributes = {f"{KEY}:{name}": value for name, value in values.items()} if by_name else {KEY: list(values.values())}
    for key, value in attributes.items():
        # FrozenTrial._trial_id: the storage's method, which is public, wants the id, and a trial shows its number only.
        storage_of(study).set_trial_system_attr(trial._trial_id, key, value)


def named_attributes(values: Mapping[str, float]) -> dict[str, Any]:
    """Constraint values by name as the system attributes of a trial that is about to be added."""
    return {f"{KEY}:{name}": value for name, value in values.items()}


def store_named(
    study: Study, trial: FrozenTrial | Trial, values: Mapping[str, float], measured: Mapping[str, float]
) -> None:
    """Constraint values of a trial that is under way, and what they were measured as, before its value is told."""
    # Trial._trial_id: the storage's methods, which are public, want the id, and a trial shows its number only.
    storage, trial_id = storage_of(study), trial._trial_id
    for name, value in measured.items():
        storage.set_trial_user_attr(trial_id, name, value)
    for key, value in named_attributes(values).items():
        storage.set_trial_system_attr(trial_id, key, value)


def checked(returned: Any, number: int) -> dict[str, float]:
    """What a function of constraints returned for trial `number`: a number, a sequence, or name -> number."""
    if isinstance(returned, Mapping):
        named = dict(returned)
    else:
        several = np.ndim(returned) == 1 and not isinstance(returned, (str, bytes))
        named = {str(index): value for index, value in enumerate(returned if several else [returned])}
    if any(np.asarray(value).dtype == bool for value in named.values()):  # as numbers, True would be too much
        raise InvalidInputError(
            f"the constraints of trial {number} are {returned!r}; {TRUTH}; the trial's value is kept, it tells nothing "
            "of the constraints"
        )
    values = {}
    for name, value in named.items():
        try:
            values[str(name)] = math.nan if isinstance(value, (str, bytes)) or np.ndim(value) else float(value)
        except (TypeError, ValueError):
            values[str(name)] = math.nan
    if not values or any(map(math.isnan, values.values())):
        raise InvalidInputError(
            f"the constraints of trial {number} are {returned!r}; expected a number, a sequence of numbers or "
            "{name: number}, none of them NaN; the trial's value is kept, it tells nothing of the constraints"
        )
    return values


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
