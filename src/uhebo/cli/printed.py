"""The value in what a program printed: its last number, if there is no doubt which number that is.

A trial without a value is noticed; one with a wrong value is not. So what can be read in more than one way is refused.
"""

from __future__ import annotations

import math
import re
from typing import Any

from uhebo.errors import UheboError

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


class TrialFailed(UheboError):
    """This trial has no value; the study goes on."""


def last_number(text: str) -> float:
    """The last number that a program printed; words with digits in them (cuda0, 12s, resnet-50, v1.2) are none."""
    plain = ESCAPE.sub(" ", COLOUR_INSIDE.sub("", text)).replace("\N{MINUS SIGN}", "-")
    for match in reversed(list(WORD.finditer(plain))):
        word = match[0].rstrip(".,'’+-")
        if NUMBER.fullmatch(word):
            return number_of(float(word.lower().replace("d", "e")))
        if DOUBTFUL.fullmatch(word):
            raise TrialFailed(
                f"the last number that the program printed is in {match[0][:80]!r}, which can be read in more than one "
                "way; let it print the value last, as a plain number such as 1234.56"
            )
    raise TrialFailed("the program printed no number; its last printed number is the value")


def number_of(value: Any) -> float:
    """The value as a float; None, text, several numbers and NaN are a failure of the trial."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise TrialFailed(f"the value is {str(value)[:80]!r}, expected a number") from error
    if math.isnan(number):
        raise TrialFailed("the value is NaN, expected a number")
    return number
