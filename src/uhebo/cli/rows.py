"""One row of a sheet of results: a trial's number, its point and its values, each checked."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from optuna.distributions import FloatDistribution
from optuna.trial import FrozenTrial, TrialState

from uhebo.cli.records import (
    LEFT_OUT,
    RUNNING,
    STATES,
    WITH_UNIT,
    expected,
    number_in,
    parsed,
    pointed,
    shown_state,
    whole,
)
from uhebo.errors import InvalidInputError
from uhebo.space import SearchSpace
from uhebo.space.moves import active_names
from uhebo.storage.explain import listed

NEAR = 1e-3
"""Share of a parameter's range within which a number counts as the suggested one: spreadsheets round."""
FAILED, UNDER_WAY = ("failed", "pruned"), (RUNNING, "waiting", "queued", *LEFT_OUT)
"""States of a history's rows that have no value: those that say something of their place, and those that do not."""
Trials = Mapping[int, FrozenTrial]
PLUS_MINUS = re.compile(r"\+\s*/?\s*-")
FAILED_HINT = "a trial that gave no value is told with --failed (in a sheet: failed, or skipped if it was never made)"
BELOW_LIMIT = re.compile(r"[<>\u2264\u2265].*|n\.?\s?d\.?|b\.?d\.?l\.?|l\.?o\.?[dq]\.?", re.I)
"""How people write that a value is too small to be measured."""
LIMIT_HINT = "for a value below a detection limit enter the limit, or half of it"
LATER_HINT = (
    "leave the trial waiting until the number is there; in a sheet leave all results of its row empty; "
    f"{LIMIT_HINT}; if it never comes: --failed"
)
"""A trial of several objectives fails as a whole, and what was measured would be lost."""
SPACED = re.compile(r"\s*=\s*")
WORDS = ("failed", "skipped")
"""What a cell of a value may say in place of a number."""


@dataclass(frozen=True)
class Known:
    """One row: the answer to trial `number`, or (without one) an experiment at `params`; no value means failed, or
    skipped."""

    line: int
    number: int | None
    params: dict[str, Any]
    values: tuple[float, ...] | None
    failure: str = ""
    """Why it failed, where the file says so."""
    measured: dict[str, float] = field(default_factory=dict)
    """What the constraints are about."""
    notes: dict[str, str] = field(default_factory=dict)
    """What else the sheet says of it, by column."""
    repeats: int | None = None
    """The trial that this is a further measurement of."""
    errors: tuple[float | None, ...] = ()
    """Standard deviation of each value, where it is known."""
    skipped: bool = False
    """It was never made."""

    @property
    def word(self) -> str:
        """What became of it where it has no value."""
        return WORDS[self.skipped]

    def __str__(self) -> str:
        where = f"line {self.line}" if self.number is None else f"trial {self.number}"
        return f"{where}: {self.word if self.values is None else ' '.join(map(repr, self.values))}"


def read_row(
    line: int,
    cells: Mapping[str, str],
    space: SearchSpace,
    trials: Trials,
    columns: Sequence[str],
    history: bool,
    again: bool,
) -> Known | None:
    """One row; None if it says nothing. In a history, a value that was filled in or corrected wins over the state."""
    given, number = [cells[name] for name in columns], None
    if history:
        state = cells["state"].lower()
        if state not in (known := (*STATES.values(), RUNNING, *LEFT_OUT)):
            raise InvalidInputError(f"state is {cells['state']!r}, expected one of {', '.join(known)}")
        pointless = any(not cells[name] for name in needed(space))
        if not any(given) and (state in UNDER_WAY or (state in FAILED and pointless)):
            return None
        if not any(given) and state in FAILED:
            given = ["failed"] * len(columns)
    elif cells.get("number"):
        number = started_number(cells["number"], trials)
    told = _values(given, columns, infinite=history)
    skipped = told is None and given[0].lower() == "skipped"
    if skipped and history:
        return None
    if skipped and number is None:
        raise InvalidInputError("skipped is said of a suggested trial, by its number; leave an experiment of yours out")
    values = None if told is None else tuple(value for value, _ in told)
    errors = () if told is None else tuple(error for _, error in told)
    params = _params(cells, space, complete=number is None)
    if number is not None:
        _check_same_point(number, params, trials[number])
        if again and not skipped and trials[number].state.is_finished():
            return Known(line, None, dict(trials[number].params), values, repeats=number, errors=errors)
    failed_here = history and values is None and "failure" not in space.distributions
    reason = cells.get("failure", "") if failed_here else ""
    return Known(line, number, params, values, reason, errors=errors, skipped=skipped)


def _values(
    given: Sequence[str], columns: Sequence[str], infinite: bool
) -> tuple[tuple[float, float | None], ...] | None:
    """A number for each objective, with its error if that is known; None where the experiment failed or was skipped,
    as a whole."""
    words = [text.lower() if text.lower() in WORDS else "" for text in given]
    if not any(words):
        several = len(columns) > 1
        return tuple(with_error(text, name, infinite, several) for text, name in zip(given, columns, strict=True))
    word = next(filter(None, words))
    others = [name for text, name in zip(given, columns, strict=True) if text and text.lower() != word]
    if others:
        rest = "has a value" if not words[columns.index(others[0])] else "is not"
        does = "fails" if word == "failed" else "is skipped"
        raise InvalidInputError(
            f"{columns[words.index(word)]} is {word} and {others[0]} {rest}; a trial {does} as a whole: write {word} "
            "for every objective, or the missing number"
        )
    return None


def refuse_half_told(results: Mapping[str, str], *, own: bool) -> None:
    """Refuse a row with one result and without another, unless it failed; `own` if it is no answer to a trial."""
    empty = [name for name, text in results.items() if not text]
    if len(results) < 2 or not empty or any(text.lower() in WORDS for text in results.values()):
        return
    be, they = ("are", "they are") if len(empty) > 1 else ("is", "it is")
    rest = "leave the row out" if own else f"leave all results of the row ({', '.join(results)}) empty"
    waits = "" if own else ", and the trial waits"
    raise InvalidInputError(f"{' and '.join(empty)} {be} empty; until {they} there {rest}{waits}; {LIMIT_HINT}")


def needed(space: SearchSpace) -> list[str]:
    """Parameters that every row has: they vary, and are there under any condition."""
    return [name for name, d in space.distributions.items() if not d.single() and name not in space.conditions]


def _params(cells: Mapping[str, str], space: SearchSpace, *, complete: bool) -> dict[str, Any]:
    """The point of a row; if `complete`, no parameter that is active there may be left out, and no other be given."""
    params = {}
    for name, distribution in space.distributions.items():
        if cells.get(name):
            value = params[name] = parsed(name, cells[name], distribution)
            if not SearchSpace.of({name: distribution}).contains({name: value}):
                raise InvalidInputError(f"{name} is {value!r}, outside the space: expected {expected(distribution)}")
        elif distribution.single() and complete and name not in space.conditions:
            params[name] = space.constants[name]
    active = active_names(space, params) if complete else list(params)
    for name, distribution in space.distributions.items():
        if name in active and name not in params:
            if not distribution.single():
                raise InvalidInputError(f"{name} is empty, expected {expected(distribution)}")
            params[name] = space.constants[name]
        elif name in params and name not in active:
            where = space.conditions[name].text
            raise InvalidInputError(f"{name} is {params[name]!r}, and is there only where {where}; empty the cell")
    return params


def started_number(text: str, trials: Trials) -> int:
    """The number of a trial that is under way or has ended."""
    try:
        number = whole(text)
    except (ValueError, OverflowError):
        raise InvalidInputError(f"the trial number is {text!r}, expected a whole number such as 3") from None
    if number not in trials:
        waiting = [n for n, trial in trials.items() if trial.state == TrialState.RUNNING]
        hint = f"waiting for a value: {listed(waiting)}" if waiting else "none waits for a value"
        raise InvalidInputError(f"there is no trial {number}; {hint}")
    trial = trials[number]
    if trial.state == TrialState.WAITING:
        raise InvalidInputError(f"trial {number} is in the queue and nobody's yet; take it with uhebo suggest")
    return number


def running_number(text: str, trials: Trials) -> int:
    """The number of a trial that waits for its value."""
    number = started_number(text, trials)
    trial = trials[number]
    if trial.state != TrialState.RUNNING:
        told = trial.values if trial.state == TrialState.COMPLETE else []
        value = f" with value{'s' * (len(told) > 1)} {', '.join(map(repr, told))}" if told else ""
        state = shown_state(trial)
        remedy = "uhebo amend corrects it, and --again tells a further measurement"
        if state in LEFT_OUT:
            remedy = f"uhebo restore takes that back{', and it can be told' * (state == 'skipped')}"
        does = "has" if state == "failed" else "is"
        raise InvalidInputError(f"trial {number} {does} {state} already{value}; {remedy}")
    return number


def refuse_spaces(texts_given: Sequence[str]) -> None:
    """`yield = 79.9` comes as three arguments, which is one too many."""
    for at, text in enumerate(texts_given):
        beside = texts_given[at + 1] if at + 1 < len(texts_given) else ""
        ends = text.endswith("=") and beside and "=" not in beside
        if text == "=" or text.startswith("=") or ends:
            meant = SPACED.sub("=", " ".join(texts_given))
            raise InvalidInputError(f"a name and its value are one word, without spaces around =; write {meant}")


def with_error(
    text: str, name: str = "value", infinite: bool = False, several: bool = False
) -> tuple[float, float | None]:
    """A number, and what follows ± in it: 29.3 ± 0.4, also written +- or +/-; `several` if it is one of several
    objectives."""
    number, sign, error = (part.strip() for part in PLUS_MINUS.sub("±", text).partition("±"))
    hint = LATER_HINT if several else FAILED_HINT
    if not several and BELOW_LIMIT.fullmatch(number):
        hint = f"{LIMIT_HINT}; {FAILED_HINT}"
    return value_of(number, name, infinite, hint), error_of(error, name) if sign else None


def error_of(text: str, name: str = "value") -> float:
    """A standard deviation."""
    found = value_of(text, f"the error of {name}")
    if found < 0.0:
        raise InvalidInputError(f"the error of {name} is {text}, expected a standard deviation of 0 or more")
    return found


def value_of(text: str, name: str = "value", infinite: bool = False, hint: str = "") -> float:
    """A number, not NaN; infinite ones are allowed in the history of another study, whose program returned them. `hint`
    says what to do where there is none."""
    hint = f"; {hint}" if hint else ""
    try:
        value = number_in(text)
    except ValueError as error:
        what = "empty" if not text.strip() else repr(text)
        hint = "" if WITH_UNIT.fullmatch(text.strip()) else hint
        raise InvalidInputError(f"{name} is {what}, expected a number{pointed(text)}{hint}") from error
    if math.isnan(value) or (math.isinf(value) and not infinite):
        raise InvalidInputError(f"{name} is {text!r}, which is not a number that an experiment gives{hint}")
    return value


def _check_same_point(number: int, params: Mapping[str, Any], trial: FrozenTrial) -> None:
    """Where parameters come with a number, they must be those that were suggested, rounding apart."""
    for name, value in params.items():
        suggested, distribution = trial.params.get(name, value), trial.distributions.get(name)
        same = suggested == value
        if not same and isinstance(distribution, FloatDistribution) and not distribution.single():
            there, here = SearchSpace.of({name: distribution}).encode_many([{name: suggested}, {name: value}])
            same = abs(there[0] - here[0]) <= NEAR
        if not same:
            raise InvalidInputError(
                f"{name} is {value!r}, but trial {number} was suggested with {suggested!r}; correct it, or leave "
                "number empty if the experiment was made at this point"
            )
