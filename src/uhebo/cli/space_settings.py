"""What a space file says besides the parameters, and what was probably meant where it says it in another way."""

from collections.abc import Mapping
from typing import Any

from uhebo.checks import meant
from uhebo.errors import InvalidInputError

SETTINGS: dict[str, type] = {
    "direction": str,
    "method": str,
    "seed": int,
    "n_trials": int,
    "n_startup_trials": int,
    "acquisition": str,
    "reading": str,
    "deterministic": bool,
    "when_exhausted": str,
    "subject_to": list,
    "reference_point": dict,
}
"""What a space file may say besides the parameters, and as what type."""
BESIDE = ("constraints", "objectives", "units")
"""Further keys, which are no settings of the sampler."""
NEVER_PARAMETERS = ("subject_to", "reference_point", *BESIDE)
"""Keys whose lists and tables would be read as choices or as a table of a parameter."""
IN_WORDS = {str: "a text", int: "a whole number", bool: "true or false", list: "a list", dict: "a table"}


def check_settings(path: str, settings: Mapping[str, Any], objectives: Any) -> None:
    """Refuse a key that is not known, and a value of another type."""
    for key, value in settings.items():
        if key not in SETTINGS:
            near = meant(key, (*SETTINGS, *BESIDE, "parameters"))
            hint = f"did you mean {near}? Otherwise " if near else ""
            known = ", ".join([*SETTINGS, *BESIDE])
            raise InvalidInputError(f"{path}: unknown key {key!r}; {hint}expected [parameters] and any of {known}")
        if key == "subject_to" and not (isinstance(value, list) and all(isinstance(rule, str) for rule in value)):
            raise InvalidInputError(f"{path}: subject_to is {value!r}, expected a list such as ['a + b <= 1']")
        if key == "reference_point" and not isinstance(value, dict):
            raise InvalidInputError(
                f"{path}: reference_point is {value!r}; expected a number for each objective by its name, such as "
                f"{_by_name(value, objectives)}"
            )
        if type(value) is not SETTINGS[key]:
            raise InvalidInputError(f"{path}: {key} is {value!r}, expected {IN_WORDS[SETTINGS[key]]}")


def _by_name(point: Any, objectives: Any) -> str:
    """A reference point as it is to be written."""
    names = [str(name).partition(":")[0] for name in objectives] if isinstance(objectives, (dict, list)) else []
    names = names or ["yield", "cost"]
    numbers = point if isinstance(point, list) and len(point) == len(names) else ["NUMBER"] * len(names)
    return "{" + ", ".join(f"{name} = {number}" for name, number in zip(names, numbers, strict=True)) + "}"


def check_place(path: str, parameters: Any) -> None:
    """Refuse settings among the parameters: in TOML, whatever follows a table belongs to it."""
    for name, given in parameters.items() if isinstance(parameters, dict) else ():
        is_parameter = isinstance(given, list) or (isinstance(given, dict) and "type" in given)
        if name in NEVER_PARAMETERS:
            is_parameter = isinstance(given, dict) and "type" in given
        if name in (*SETTINGS, *BESIDE) and not is_parameter:
            raise InvalidInputError(
                f"{path}: {name} stands below [parameters], where it would be a parameter; move it above [parameters]"
            )
