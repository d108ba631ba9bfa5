"""Trials as rows: the columns of every table, and a parameter's value as text and back."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from uhebo.errors import InvalidInputError
from uhebo.optuna_.constraints import constraints_of, is_feasible
from uhebo.optuna_.corrections import AMENDED
from uhebo.optuna_.endings import FAILURE, state_name
from uhebo.optuna_.lease import Lease
from uhebo.optuna_.points import ORIGIN, REPEATS
from uhebo.optuna_.trial_log import ATTRIBUTE
from uhebo.storage.explain import listed, one_line

LEFT_OUT = ("skipped", "dropped")
"""States by a person's word."""
STATES = {
    TrialState.COMPLETE: "finished",
    TrialState.RUNNING: "waiting",
    TrialState.FAIL: "failed",
    TrialState.PRUNED: "pruned",
    TrialState.WAITING: "queued",
}
"""A trial that was asked for waits for its value; one that a worker holds is `RUNNING`."""
RUNNING = "running"

ROLES = {"initial": "start-up", "model": "model", "random": "exploration"}
"""What a suggestion is, in words: spread over the space before there is a model, the model's choice, or a random point
of a method that draws some."""
WITH_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
WITH_UNIT = re.compile(r"([-+]?[\d.,]+(?:[eE][-+]?\d+)?)\s*[^\d\s.,].*")
DOUBTFUL_COMMA = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
"""1,234 may be a thousand and more, or a little more than one."""
LONGEST_REASON = 500
"""Characters kept of the reason why a trial failed."""
HISTORY_COLUMNS = ("number", "state")
"""Columns that a history begins with; the values and the parameters follow, and `failure` where a trial has a
reason."""


def parameter_names(trials: Sequence[FrozenTrial], space: Mapping[str, BaseDistribution] | None = None) -> list[str]:
    """Every parameter that a trial has, the space's first and in its order."""
    return list(dict.fromkeys([*(space or ()), *(name for trial in trials for name in trial.params)]))


def values_in(trial: FrozenTrial, objectives: Sequence[str]) -> dict[str, float | None]:
    """Values of a trial by name, None where it has none; one objective without a name is `value`."""
    told = trial.values if trial.state == TrialState.COMPLETE else None
    several = told is not None and len(told) > 1
    names = list(objectives) or ([f"value_{index}" for index in range(len(told or ()))] if several else ["value"])
    told = [None] * len(names) if told is None else told
    return dict(zip(names, told, strict=True))


def record(trial: FrozenTrial, objectives: Sequence[str] = ()) -> dict[str, Any]:
    """One trial for JSON; where it has constraint values (at most 0 is feasible), with them. One objective is `value`,
    whatever its name; several are `values`, by name."""
    found = values_in(trial, objectives)
    told_as: dict[str, Any] = {"values": found} if len(found) > 1 else {"value": next(iter(found.values()))}
    reason = {"failure": trial.user_attrs[FAILURE]} if FAILURE in trial.user_attrs else {}
    row = {"number": trial.number, "state": shown_state(trial), **told_as, "params": trial.params, **reason}
    told = constraints_of(trial)
    if AMENDED in trial.user_attrs:
        row["amended"] = trial.user_attrs[AMENDED]
    return {**row, "feasible": is_feasible(trial), "constraints": told} if told else row


def noted(trials: Sequence[FrozenTrial]) -> list[str]:
    """Names of what people noted of trials, in the order of first sight; attributes of ours have a colon."""
    measured = {name.rpartition(" ")[0].rpartition(" ")[0] for trial in trials for name in constraints_of(trial)}
    found = dict.fromkeys(name for trial in trials for name in trial.user_attrs if ":" not in name)
    return [name for name in found if name not in measured]


def shown_state(trial: FrozenTrial) -> str:
    """What became of a trial, in one word."""
    name = state_name(trial)
    if trial.state == TrialState.RUNNING and (lease := Lease.of(trial)) is not None and lease.worker is not None:
        return RUNNING
    return name if name in LEFT_OUT else STATES[trial.state]


def origin_of(trial: FrozenTrial) -> str:
    """Where the point of a trial comes from, in a few words."""
    if ORIGIN in trial.user_attrs:
        return str(trial.user_attrs[ORIGIN])
    if REPEATS in trial.user_attrs:
        return f"trial {trial.user_attrs[REPEATS]} once more"
    tags = trial.system_attrs.get(ATTRIBUTE)
    role = tags.get("role") if isinstance(tags, Mapping) else None
    # One that was added began and ended in the same moment.
    own = "fixed_params" in trial.system_attrs or trial.datetime_start == trial.datetime_complete
    return ROLES.get(str(role), "your own" if own else "not known")


def cells(trial: FrozenTrial, names: Sequence[str]) -> list[Any]:
    """The trial's parameters in columns, choices as their texts."""
    row = dict(trial.params)
    for name, distribution in trial.distributions.items():
        if isinstance(distribution, CategoricalDistribution):
            row[name] = texts(distribution)[distribution.choices.index(row[name])]
    return [row.get(name) for name in names]


def texts(distribution: CategoricalDistribution) -> list[str]:
    """Each choice as text: words as they are, the rest as JSON; a word that looks like another choice is quoted."""
    others = {json.dumps(choice) for choice in distribution.choices if not isinstance(choice, str)} | {""}
    return [
        choice
        if isinstance(choice, str) and choice not in others and choice.strip() == choice
        else json.dumps(choice, ensure_ascii=False)
        for choice in distribution.choices
    ]


def parsed(name: str, text: str, distribution: BaseDistribution) -> Any:
    """The value that a text stands for; an error names the parameter and says what was expected."""
    text = text.strip()
    if isinstance(distribution, CategoricalDistribution):
        # True as Python has it
        known: dict[str, Any] = {str(c): c for c in distribution.choices if isinstance(c, bool) or c is None}
        known |= dict(zip(texts(distribution), distribution.choices, strict=True))
        alike = [known[text]] if text in known else _alike(text, distribution)
        if len(alike) == 1:
            return alike[0]
        raise InvalidInputError(f"{name} is {text!r}, expected {expected(distribution)}")
    try:
        return whole(text) if isinstance(distribution, IntDistribution) else number_in(text)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(f"{name} is {text!r}, expected {expected(distribution)}{pointed(text)}") from error


def _alike(text: str, distribution: CategoricalDistribution) -> list[Any]:
    """Choices that a spreadsheet may have meant: it writes TRUE for true, and 1 for 1.0."""
    if text.lower() in ("true", "false"):
        return [c for c in distribution.choices if isinstance(c, (bool, str)) and str(c).lower() == text.lower()]
    try:
        number = float(text)
    except ValueError:
        return []
    return [c for c in distribution.choices if isinstance(c, (int, float)) and not isinstance(c, bool) and c == number]


def number_in(text: str) -> float:
    """A number as people write it: 23.9 or 23,9; a ValueError where it is none, or could be either."""
    return float(text.replace(",", ".") if WITH_COMMA.fullmatch(text) and not DOUBTFUL_COMMA.fullmatch(text) else text)


def pointed(text: str) -> str:
    """What to say of a text that is not a number: one with a comma in it, or with a unit."""
    unit = WITH_UNIT.fullmatch(text.strip())
    if unit is not None:
        return f"; write {unit[1]}, without the unit"
    return " with a decimal point and nothing between thousands" if "," in text else ""


def whole(text: str) -> int:
    """12 and 12.0 are the integer 12; spreadsheets write either."""
    number = number_in(text)
    if number != int(number):
        raise ValueError(text)
    return int(number)


def expected(distribution: BaseDistribution) -> str:
    if isinstance(distribution, CategoricalDistribution):
        return f"one of {listed(texts(distribution))}"
    assert isinstance(distribution, (FloatDistribution, IntDistribution))  # a space has no other kinds
    kind = "an integer" if isinstance(distribution, IntDistribution) else "a number"
    step = f" in steps of {distribution.step}" if distribution.step not in (None, 1) else ""
    return f"{kind} from {distribution.low} to {distribution.high}{step}"


def numbered(numbers: Sequence[int], what: str = "trial") -> str:
    """Trials by their numbers, or lines: trial 3, or trials 3, 4."""
    return f"{what}{'s' * (len(numbers) != 1)} {listed(numbers)}"


def waiting_trials(study: Study) -> list[FrozenTrial]:
    """Those that were asked for and not told yet; no worker has them."""
    return [t for t in study.get_trials(deepcopy=False) if shown_state(t) == STATES[TrialState.RUNNING]]


def counted(trials: Sequence[FrozenTrial]) -> dict[str, int]:
    """How many trials there are in each state."""
    return dict(Counter(map(shown_state, trials)))


def short_reason(text: str) -> str:
    """Why a trial failed, as it is kept."""
    return one_line(text)[:LONGEST_REASON]
