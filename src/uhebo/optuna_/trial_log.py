"""An Optuna study read as a `History`, and the tags of a suggestion written into it.

Tags are what a trial remembers of how it was proposed. They are checked where they are read, because anybody can write
into a study: a tag of a known name whose value is not what that name stands for is dropped, so that the code which uses
tags needs no checks of its own. Tags of other names (a strategy of the user's own) pass as they are.
"""

import json
import logging
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from optuna.storages import BaseStorage
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from uhebo.belief.failures import with_failures
from uhebo.belief.history import History, Outcome, Trial
from uhebo.belief.penalties import penalties_of
from uhebo.optuna_.constraints import agreed_names, constraints_of
from uhebo.optuna_.corrections import trials_of
from uhebo.optuna_.endings import abandoned, state_of
from uhebo.optuna_.gaps import storage_of, study_id_of
from uhebo.optuna_.noise import NOISE, is_damaged, noise_of
from uhebo.space import SearchSpace

logger = logging.getLogger("uhebo")

ATTRIBUTE = "uhebo:step"
"""The system attribute each trial of ours carries; `uhebo.optuna_.sampler` says what is in it."""
ATTRIBUTE_LIMIT = 2000
"""Characters; SQL storages take about this many in one system attribute."""
MOST_ITERATIONS = 10**9
MOST_PARAMETERS = 10_000
LARGEST_LOG = 300.0
"""Largest logarithm of a lengthscale or variance; exp of it is a finite double, and so is its square."""
LARGEST_FACTOR = 1e6
"""Largest scaling g of a lengthscale; the methods themselves stop at 100."""
MOST_CANDIDATES = 1000
LONGEST_WORD = 100
"""Characters of a name."""
NEEDS = {"arm": "p", "g": "deviation", "predicted": "candidate"}
"""Tags that mean nothing without another: tag -> the other."""
Penalties = Literal["detect", "keep"]
Check = Callable[[Any], bool]
_said: WeakKeyDictionary[BaseStorage, set[tuple[int, str]]] = WeakKeyDictionary()
"""What has been warned of: studies by their ids, and topics."""


def read_history(
    study: Study,
    space: SearchSpace,
    n_initial: int,
    penalty: Penalties = "detect",
    *,
    leave_out: int | None = None,
    trials: Sequence[FrozenTrial] | None = None,
) -> History:
    """All trials but number `leave_out`, as the strategies see them; `trials` if they have been read already, by
    `trials_of`, which applies corrections.

    A trial with a value outside the space (its range was changed since) keeps its place in the schedule and is no
    data; one that ended without a parameter that its branch has is data, and where it failed it stands for every value
    of that parameter (`uhebo.space.unasked`). Points that the user enqueued or added are
    data and nothing else. Tags that are not what their name says (a study is open to others) are dropped, and that is
    said once. Values that are penalties (`uhebo.belief.penalties`) are failures, unless they are to be kept.
    """
    trials = trials_of(study) if trials is None else trials
    given_up = abandoned(trials)
    trials = [t for t in trials if t.number != leave_out and t.state != TrialState.WAITING]
    ended = [t.state == TrialState.COMPLETE or state_of(t, None, given_up) == "failed" for t in trials]
    encoded, inside = space.encode_log([trial.params for trial in trials], ended=ended)
    rows = iter(encoded)
    signs = [1.0 if direction == StudyDirection.MAXIMIZE else -1.0 for direction in study.directions]
    oriented = [oriented_values(sign, trials, objective) for objective, sign in enumerate(signs)]
    names = agreed_names(trials)
    punished = _penalised(study, signs, oriented) if penalty == "detect" else np.zeros(len(trials), dtype=bool)
    read, damaged, lacking = [], [], []
    for trial, use, bad_value, value, *others in zip(trials, inside.tolist(), punished, *oriented, strict=True):
        fixed = "fixed_params" in trial.system_attrs
        tags, bad = checked_tags(None if fixed else trial.system_attrs.get(ATTRIBUTE))
        damaged += [(trial.number, bad)] if bad else []
        running = trial.state == TrialState.RUNNING
        state = state_of(trial, None if None in others else value, given_up)
        if bad_value:
            state, value, others = "penalised", None, []
        ours = not fixed and (bool(tags) or running)
        told = constraints_of(trial) if names else {}
        lacking += [trial.number] if names and not told and state == "finished" else []
        values = tuple(float(told.get(name, math.nan)) for name in names)
        further = () if None in others else tuple(others)
        noise = noise_of(trial, len(signs)) if NOISE in trial.user_attrs else ()
        row = next(rows) if use else None
        read.append(Trial(trial.number, row, value, state, tags, ours, values, further, noise))
    if damaged:
        number, wrong = damaged[0]
        warn_once(
            study,
            "damaged tags",
            f"{ATTRIBUTE!r} of trial {number} was written by something else or is damaged ({', '.join(wrong)}), "
            f"{len(damaged)} such in all: what cannot be used is left out, the values stay data",
        )
    unusable = [trial.number for trial in trials if NOISE in trial.user_attrs and is_damaged(trial, len(signs))]
    if unusable:
        warn_once(
            study,
            "damaged noise",
            f"{NOISE!r} of trial {unusable[0]} is not a standard deviation for each objective, {len(unusable)} such in "
            "all: their noise is estimated; uhebo.amend(study, number, noise=…) puts it right",
        )
    if lacking:
        warn_once(
            study,
            "constraints missing",
            f"trial {lacking[0]} has no constraint values, {len(lacking)} such in all: its value is data for the "
            "objective, and it does not count as feasible",
        )
    named = ["value"] if len(signs) == 1 else [f"value {i}" for i in range(len(signs))]
    objectives = [Outcome(name, sign=sign) for name, sign in zip(named, signs, strict=True)]
    outcomes = (*objectives, *(Outcome(name, "constraint", -1.0) for name in names))
    history = History(space, tuple(sorted(read, key=lambda trial: trial.number)), n_initial, outcomes)
    return with_failures(history)


def _penalised(study: Study, signs: Sequence[float], oriented: Sequence[Sequence[float | None]]) -> NDArray[np.bool_]:
    """Which trials returned a penalty."""
    told = np.array(oriented, dtype=np.float64).T  # None is NaN
    whole = ~np.isnan(told).any(axis=1)
    punished = np.zeros(len(told), dtype=bool)
    for found in penalties_of(told[whole]):
        punished[whole] |= found.rows
        where = f" of objective {found.objective}" if len(signs) > 1 else ""
        times = np.count_nonzero(found.rows)
        warn_once(
            study,
            f"penalty {found.value}{where}",
            f"the value {signs[found.objective] * found.value:g}{where} came back {times} times, "
            "far from all others: it is taken as a penalty, and its trials as failed; UHESampler(penalties='keep') "
            "takes it as a value like any other",
        )
    return punished


def warn_once(study: Study, topic: str, message: str) -> None:
    """Log a warning, once per study and topic: a log is read again and again."""
    said, key = _said.setdefault(storage_of(study), set()), (study_id_of(study), topic)
    if key not in said:
        said.add(key)
        logger.warning(message)


def say_if_infinite(study: Study, trials: Sequence[FrozenTrial]) -> None:
    """Warn of what is done with infinite values."""
    infinite, finite = infinite_values(trials)
    if infinite and finite:
        warn_once(study, "infinite", "infinite objective values are taken as the worst or best finite value seen")
    elif infinite:
        warn_once(study, "no finite", "no trial has a finite value yet: suggestions are random until one has")


def say_if_noisy(study: Study, history: History, deterministic: bool) -> None:
    """Warn where the objective is said to be deterministic, and values to have noise."""
    if deterministic and any(told > 0.0 for trial in history.trials for told in trial.noise):
        warn_once(study, "noise", "deterministic=True, and trials were told to have noise: leave one of the two out")


def _number(low: float, high: float, kind: Any = (int, float)) -> Check:
    return lambda value: isinstance(value, kind) and not isinstance(value, bool) and low <= value <= high


_integer = partial(_number, kind=int)
_logarithm = _number(-LARGEST_LOG, LARGEST_LOG)
_reward = _number(-sys.float_info.max, sys.float_info.max)


def _word(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_WORD


def _log_theta(value: Any) -> bool:
    """log(ell_1 .. ell_d, v, s2)."""
    return isinstance(value, list) and 3 <= len(value) <= MOST_PARAMETERS and all(map(_logarithm, value))


def _log_thetas(value: Any) -> bool:
    """One for each of several outcomes."""
    return isinstance(value, list) and 0 < len(value) <= MOST_PARAMETERS and all(map(_log_theta, value))


def _rewards(value: Any) -> bool:
    """{trial number as text: reward}."""
    return isinstance(value, dict) and all(
        isinstance(number, str) and number.isascii() and number.isdigit() and len(number) < 16 and _reward(reward)
        for number, reward in value.items()
    )


def _moments(value: Any) -> bool:
    """[mean, deviation] of a value."""
    return isinstance(value, list) and len(value) == 2 and all(map(_reward, value)) and value[1] >= 0


KNOWN: dict[str, Check] = {
    "role": _word,
    "t": _integer(0, MOST_ITERATIONS),
    "n": _integer(0, MOST_ITERATIONS),
    "arm": _integer(0, 1),
    "p": _number(1e-9, 1.0),
    "estimator": _word,
    "theta": _log_theta,
    "objective_theta": _log_thetas,
    "constraint_theta": _log_thetas,
    "jitter": _number(0.0, 1e300),
    "fallback": _word,
    "converged": lambda value: isinstance(value, bool),
    "g": _number(1.0, LARGEST_FACTOR),
    "deviation": _number(0.0, 1e6),
    "beta": _number(0.0, 1e6),
    "rewards": _rewards,
    "candidate": _integer(0, MOST_CANDIDATES),
    "predicted": _moments,
    "noise": _number(0.0, sys.float_info.max),
}
"""Name -> whether a value is one this name can have."""


def checked_tags(recorded: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The tags that can be used, and the names of those that cannot."""
    if not isinstance(recorded, Mapping):
        return {}, () if recorded is None else ("the whole record",)
    tags = {name: value for name, value in recorded.items() if name not in KNOWN or KNOWN[name](value)}
    for name, needed in NEEDS.items():
        if name in tags and needed not in tags:
            del tags[name]
    return tags, tuple(str(name) for name in recorded if name not in tags)


def write_tags(study: Study, trial: FrozenTrial, tags: Mapping[str, Any]) -> None:
    """Keep with the trial how it was proposed."""
    record = dict(tags)
    if len(json.dumps(record)) > ATTRIBUTE_LIMIT:
        record.pop("constraint_theta", None)
    if len(json.dumps(record)) > ATTRIBUTE_LIMIT:
        # Only theta grows with the dimension. Without it the next fit has no warm start, and that is all.
        record.pop("theta", None)
        record["theta_dropped"] = True
    # FrozenTrial._trial_id: a trial shows its number only, its own `set_system_attr` is gone in Optuna 5, and the
    # storage's method, which is public, wants the id.
    storage_of(study).set_trial_system_attr(trial._trial_id, ATTRIBUTE, record)


def oriented_values(sign: float, trials: Sequence[FrozenTrial], objective: int = 0) -> list[float | None]:
    """Values of one objective times `sign`; None where a trial has none (failed, pruned, running).

    Infinite values are clipped to the range of the finite ones; where no value is finite, none is used.
    """
    values = [sign * t.values[objective] if t.state == TrialState.COMPLETE and t.values else None for t in trials]
    finite = [value for value in values if value is not None and math.isfinite(value)]
    if not finite:
        return [None] * len(values)
    low, high = min(finite), max(finite)
    return [None if value is None or math.isnan(value) else min(max(value, low), high) for value in values]


def infinite_values(trials: Iterable[FrozenTrial]) -> tuple[int, int]:
    """How many finished trials have an infinite value, and how many a finite one."""
    values = [value for t in trials if t.state == TrialState.COMPLETE for value in t.values or ()]
    finite = sum(math.isfinite(value) for value in values)
    return len(values) - finite, finite
