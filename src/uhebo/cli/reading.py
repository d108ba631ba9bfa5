"""What an evaluation gave: the value, and what the study's constraints are about, kept with the trial at once."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from uhebo.cli.bounds import Bounds, measured, names_of, values_of
from uhebo.cli.settings import bounds_of
from uhebo.errors import EvaluationFailed, InvalidInputError
from uhebo.objective import TrialGetter, checked_value
from uhebo.optuna_.constraints import store_named
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


@dataclass
class Reading:
    """Reads values of one study; its constraints are asked for once, of the first trial."""

    bounds: Bounds | None = None

    def value(self, returned: Any, trial: TrialGetter | None) -> float:
        """What a function returned: a number, or with constraints {"value": number, "purity": number}."""
        names = names_of(self._known(trial))
        if not names:
            return number_of(returned)
        if not isinstance(returned, Mapping) or "value" not in returned:
            wanted = ", ".join(f'"{name}": number' for name in ("value", *names))
            raise EvaluationFailed(f"the function returned {str(returned)[:80]!r}, expected {{{wanted}}}")
        value = number_of(returned["value"])
        self._keep(returned, value, trial)
        return value

    def printed(self, text: str, trial: TrialGetter | None) -> float:
        """What a program printed: its last number is the value; constraints are read by name, the last of each."""
        bounds = self._known(trial)
        value = last_number(text)
        if bounds:
            plain = _plain(text)
            found = {
                name: re.findall(rf"(?<!\w){re.escape(name)}\W{{1,4}}?({WORD.pattern})", plain)
                for name in names_of(bounds)
            }
            self._keep({name: words[-1].rstrip(".,") for name, words in found.items() if words}, value, trial)
        return value

    def _known(self, trial: TrialGetter | None) -> Bounds:
        if self.bounds is None:
            self.bounds = () if trial is None else bounds_of(trial().study)
        return self.bounds

    def _keep(self, given: Mapping[str, Any], value: float, trial: TrialGetter | None) -> None:
        assert trial is not None  # or there were no constraints
        assert self.bounds is not None
        try:
            found = measured(self.bounds, given)
        except InvalidInputError as error:
            raise EvaluationFailed(f"{error} (its value was {value!r})") from error
        try:
            under_way = trial()
            store_named(under_way.study, under_way, values_of(self.bounds, found), found)
        except Exception as error:
            raise EvaluationFailed(f"not stored: value {value!r}, {found!r}; {explain(error)}") from error


def last_number(text: str) -> float:
    """The last number that a program printed; words with digits in them (cuda0, 12s, resnet-50, v1.2) are not numbers.

    A trial without a value is noticed; one with a wrong value is not. So what can be read in two ways is refused.
    """
    for match in reversed(list(WORD.finditer(_plain(text)))):
        word = match[0].rstrip(".,'’+-")
        if NUMBER.fullmatch(word):
            return number_of(float(word.lower().replace("d", "e")))
        if DOUBTFUL.fullmatch(word):
            raise EvaluationFailed(
                f"the last number that the program printed is in {match[0][:80]!r}, which can be read in more than one "
                "way; let it print the value last, as a plain number such as 1234.56"
            )
    raise EvaluationFailed("the program printed no number; its last printed number is the value")


def _plain(text: str) -> str:
    """Text without what is for the terminal."""
    return ESCAPE.sub(" ", COLOUR_INSIDE.sub("", text)).replace("\N{MINUS SIGN}", "-")


def number_of(value: Any) -> float:
    """The value as a float; None, text, several numbers and NaN are a failure of the trial."""
    try:
        number = checked_value(value, 0)
    except (InvalidInputError, OverflowError) as error:
        raise EvaluationFailed(f"the value is {str(value)[:80]!r}, expected a number") from error
    if math.isnan(number):
        raise EvaluationFailed("the value is NaN, expected a number")
    return number
