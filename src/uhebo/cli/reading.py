"""What an evaluation gave: a value for each objective, and what the constraints are about, kept with the trial."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from uhebo.cli.bounds import Bounds, measured, names_of, values_of
from uhebo.cli.settings import bounds_of, named_objectives
from uhebo.errors import EvaluationFailed, InvalidInputError
from uhebo.objective import TrialGetter, Value
from uhebo.optuna_.constraints import store_named
from uhebo.returned import as_number, instead
from uhebo.storage.explain import explain

COLOUR_INSIDE = re.compile(r"(?<=[-+.\d])(?:\x1b\[[0-9;:]*m)+(?=[.\d])")
"""Between a sign and its digits, say: what stands together on the screen belongs together."""
ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[ -/]*[0-Z\\^-~])")
"""What is for the terminal: colours, moves, erasures, titles."""
WORD = re.compile(r"(?:[\w.+-]|(?<=\d)[,'’](?=\d))+")
"""What stands together; a comma or an apostrophe between digits separates nothing for certain."""
NUMBER = re.compile(
    r"[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?|(?:\d+\.\d*|\.\d+)d[-+]?\d+|inf|infinity|nan)", re.I
)
"""Fortran writes 0.1234D-03."""
DOUBTFUL = re.compile(r"(?=\D*\d)[-+.,'’_\d]+(?:[ed][-+]?\d+)?", re.I)
"""Digits and what may belong to a number, and yet no number: 1,234.56 or 1.234,56, 2024-05-17, 0.1234-103, 1.2.3."""

SEVERAL = "for several objectives give --objective NAME:WAY for each"


@dataclass
class Reading:
    """Reads results of one study; its objectives and constraints are asked for once, of the first trial."""

    objectives: tuple[str, ...] = ()
    """Names; none for one objective without a name."""
    bounds: Bounds | None = None

    def value(self, returned: Any, trial: TrialGetter | None) -> Value:
        """What a function returned: a number, or a number for each objective and constraint by name.

        Several objectives without constraints may also be a sequence in their order. One objective alone is "value",
        also where it has a name.
        """
        bounds = self._known(trial)
        names = self.objectives or ("value",)
        several = len(names) > 1
        if isinstance(returned, Mapping) and (several or bounds or self.objectives):
            alone = names if several or names[0] in returned else ("value",)
            if all(name in returned for name in alone):
                return self._kept(returned, [returned[name] for name in alone], trial)
        elif not bounds and not several:
            return number_of(returned)
        elif not bounds and _is_sequence(returned) and len(returned) == len(names):
            return self._kept({}, list(returned), trial)
        wanted = ", ".join(f'"{name}": number' for name in (*names, *names_of(bounds)))
        raise EvaluationFailed(f"the function returned {str(returned)[:80]!r}, expected {{{wanted}}}")

    def printed(self, text: str, trial: TrialGetter | None) -> Value:
        """What a program printed: its last number is the value; constraints, and objectives that have names, are read
        by name (`yield=81.2`, `cost: 4.1`, JSON), the last of each."""
        bounds = self._known(trial)
        if not (bounds or self.objectives):
            return last_number(text)
        found = _by_name(_plain(text), [*self.objectives, *names_of(bounds)])
        missing = [name for name in self.objectives if name not in found]
        if missing:
            wanted = " ".join(f"{name}=NUMBER" for name in self.objectives)
            raise EvaluationFailed(f"the program printed no {missing[0]}; let it print {wanted}")
        values = [_written(name, found[name]) for name in self.objectives] or [last_number(text)]
        return self._kept(found, values, trial)

    def _known(self, trial: TrialGetter | None) -> Bounds:
        if self.bounds is None:
            if trial is None:
                return ()
            study = trial().study
            self.objectives, self.bounds = tuple(named_objectives(study)), bounds_of(study)
        return self.bounds

    def _kept(self, given: Mapping[str, Any], values: Sequence[Any], trial: TrialGetter | None) -> Value:
        """The values, once what the constraints are about is with the trial."""
        names = self.objectives if len(values) > 1 else ("the value",)
        numbers = tuple(number_of(value, name) for value, name in zip(values, names, strict=True))
        value: Value = numbers if len(numbers) > 1 else numbers[0]
        if not self.bounds:
            return value
        assert trial is not None  # or there were no constraints
        try:
            found = measured(self.bounds, given)
        except InvalidInputError as error:
            raise EvaluationFailed(f"{error} (its value was {value!r})") from error
        try:
            under_way = trial()
            store_named(under_way.study, under_way, values_of(self.bounds, found), found)
        except Exception as error:
            raise EvaluationFailed(f"not stored: value {value!r}, {found!r}; {explain(error)}") from error
        return value


def _is_sequence(returned: Any) -> bool:
    return isinstance(returned, (Sequence, np.ndarray)) and np.ndim(returned) == 1


def _by_name(text: str, names: Sequence[str]) -> dict[str, str]:
    """The word that follows each name, where it was printed last; `total cost=5` says nothing of `cost` if both are
    names."""
    longest_first = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    found = re.finditer(rf"(?<!\w)({longest_first})(?=\W{{1,4}}?({WORD.pattern}))", text)
    return {match[1]: match[2].rstrip(".,") for match in found}


def _written(name: str, word: str) -> float:
    """A number as programs write it."""
    if not NUMBER.fullmatch(word):
        raise EvaluationFailed(f"the program printed {word[:80]!r} for {name}, expected a plain number such as 1234.56")
    return float(word.lower().replace("d", "e"))


def last_number(text: str) -> float:
    """The last number that a program printed; words with digits in them (cuda0, 12s, resnet-50, v1.2) are not numbers.

    A trial without a value is noticed; one with a wrong value is not. So what can be read in two ways is refused.
    """
    for match in reversed(list(WORD.finditer(_plain(text)))):
        word = match[0].rstrip(".,'’+-")
        if NUMBER.fullmatch(word):
            return number_of(_written("the value", word))
        if DOUBTFUL.fullmatch(word):
            raise EvaluationFailed(
                f"the last number that the program printed is in {match[0][:80]!r}, which can be read in more than one "
                "way; let it print the value last, as a plain number such as 1234.56"
            )
    raise EvaluationFailed("the program printed no number; its last printed number is the value")


def _plain(text: str) -> str:
    """Text without what is for the terminal."""
    return ESCAPE.sub(" ", COLOUR_INSIDE.sub("", text)).replace("\N{MINUS SIGN}", "-")


def number_of(value: Any, name: str = "the value") -> float:
    """The value as a float; None, text, several numbers and NaN are a failure of the trial."""
    try:
        number = as_number(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise EvaluationFailed(f"{name} is {str(value)[:80]!r}, expected a number{instead(value, SEVERAL)}") from error
    if math.isnan(number):
        raise EvaluationFailed(f"{name} is NaN, expected a number")
    return number
