"""Constraints as a person writes them: `purity >= 95`, where `purity` is measured with each trial and told by name.

The study keeps by how much each is missed (95 - purity; at most 0 is feasible), with the constraint's
text as its name; what was measured is an attribute of the trial.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from uhebo.cli.decimals import PLUS_MINUS
from uhebo.cli.records import number_in, pointed
from uhebo.cli.spreadsheets import shown_cells
from uhebo.errors import InvalidInputError
from uhebo.optuna_.constraints import best_trial, constraints_of, least_violated
from uhebo.optuna_.fronts import front_trials

FORM = re.compile(r"\s*(?P<name>[^<>=]*[^<>=\s])\s*(?P<sense><=|>=)\s*(?P<bound>\S+)\s*")


@dataclass(frozen=True)
class Bound:
    """A measured quantity that must be at most, or at least, a number."""

    name: str
    sense: str
    bound: float

    @classmethod
    def parse(cls, text: str, called: str = "the constraint") -> "Bound":
        """`NAME <= NUMBER` or `NAME >= NUMBER`."""
        match = FORM.fullmatch(text) if isinstance(text, str) else None
        try:
            if match is None or not math.isfinite(bound := float(match["bound"])):
                raise ValueError
        except ValueError:
            strict = re.fullmatch(r"(.+?)\s*([<>])\s*([^<>=]+)", str(text).strip())
            meant = f"'{strict[1]} {strict[2]}= {strict[3].strip()}'" if strict else "'purity >= 95'"
            raise InvalidInputError(
                f"{called} is {text!r}; expected what is measured and its limit with >= or <=, such as {meant}"
            ) from None
        return cls(match["name"], match["sense"], bound)

    def __str__(self) -> str:
        return f"{self.name} {self.sense} {self.bound:.15g}"

    def missed(self, measured: float) -> float:
        """By how much it is missed; 0 or less if it is kept."""
        return measured - self.bound if self.sense == "<=" else self.bound - measured


Bounds = tuple[Bound, ...]


def parse_all(texts: Sequence[str], taken: Sequence[str], objectives: Collection[str] = ()) -> Bounds:
    """Constraints of one study; two may speak of the same quantity, none of an objective or a name that is `taken`."""
    found = tuple(dict.fromkeys(Bound.parse(text) for text in texts))
    for bound in found:
        if bound.name in objectives:
            raise InvalidInputError(
                f"the constraint '{bound}' is about the objective {bound.name!r}; make it one or the other"
            )
        if bound.name in taken:
            raise InvalidInputError(
                f"the constraint '{bound}' is about {bound.name!r}, which is a parameter or a column of our tables; "
                "name what is measured otherwise (a rule on parameters is subject_to in the space file)"
            )
    return found


def names_of(bounds: Bounds) -> list[str]:
    """What is measured."""
    return list(dict.fromkeys(bound.name for bound in bounds))


def measured(bounds: Bounds, given: Mapping[str, Any]) -> dict[str, float]:
    """Every quantity that a constraint is about, as a number."""
    found = {}
    for name in names_of(bounds):
        if name not in given or not str(given[name]).strip():
            raise InvalidInputError(f"{name} is missing, which the study's constraints need; tell it as {name}=NUMBER")
        try:
            found[name] = number_in(str(given[name]))
        except (TypeError, ValueError):
            found[name] = math.nan
        if math.isnan(found[name]):
            text = str(given[name])
            number, *error = (part.strip() for part in PLUS_MINUS.split(text))
            if error and _is_number(number):
                raise InvalidInputError(
                    f"{name} is {text!r}; an error is told of objectives only, and {name} has a limit: write {number}"
                )
            raise InvalidInputError(f"{name} is {text!r}, expected a number{pointed(text)}")
    return found


def _is_number(text: str) -> bool:
    try:
        return not math.isnan(number_in(text))
    except ValueError:
        return False


def from_arguments(bounds: Bounds, texts: Sequence[str]) -> dict[str, float]:
    """`purity=96.1` for each quantity."""
    given = {}
    for text in texts:
        name, equals, number = text.partition("=")
        known = names_of(bounds)
        if not equals or name.strip() not in known:
            wanted = " ".join(f"{name}=NUMBER" for name in known) or "nothing: this study has no constraints"
            raise InvalidInputError(f"after the value there is {text!r}; expected {wanted}")
        if name.strip() in given:
            raise InvalidInputError(f"{name.strip()} is given twice; drop one")
        given[name.strip()] = number
    return measured(bounds, given)


def values_of(bounds: Bounds, found: Mapping[str, float]) -> dict[str, float]:
    """Constraint values by name, as the study keeps them."""
    return {str(bound): bound.missed(found[bound.name]) for bound in bounds}


def measured_in(trial: FrozenTrial) -> dict[str, Any]:
    """What was measured in a trial, or by how much it misses a constraint that was not made by the shell."""
    found: dict[str, Any] = {}
    for text, value in constraints_of(trial).items():
        match = FORM.fullmatch(text)
        name = match["name"] if match is not None else ""
        if name in trial.user_attrs:
            found[name] = trial.user_attrs[name]
        else:
            found[f"constraint {text}"] = value
    return found


def best_rows(trial: FrozenTrial, value: str = "value") -> list[tuple[str, Any]]:
    """The best trial as a table for people; `value` is what the objective is called."""
    names = list(trial.params)
    rows = [(value, trial.value), *measured_in(trial).items(), ("trial", str(trial.number))]
    return [*rows, *zip(names, shown_cells(trial, names), strict=True)]


def best_of(study: Study) -> FrozenTrial | None:
    """The best trial, of the feasible ones where there are constraints; None before the first, and where several
    objectives leave no single best one."""
    return best_trial(study) if len(study.directions) == 1 else None


def leader(study: Study) -> str:
    """The best so far in a few words; nothing before the first value."""
    best = best_of(study)
    front = front_trials(study) if len(study.directions) > 1 else []
    if front:
        return f"; {len(front)} on the front (uhebo best shows it)"
    if best is not None:
        return f"; best so far {best.value:.6g} (trial {best.number})"
    return "" if least_violated(study) is None else f"; {why_none(study)}"


def why_none(study: Study, named: str = "STUDY") -> str:
    """What there is in place of a best trial; `named` is what the shell calls the study."""
    finished = len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))
    found = least_violated(study)
    if found is None:
        values = "VALUE" if len(study.directions) == 1 else "NAME=NUMBER …"
        return f"no finished trial; tell it a result first: uhebo tell {named} NUMBER {values}"
    above = [f"{name} is missed by {value:.6g}" for name, value in constraints_of(found[0]).items() if value > 0.0]
    return f"no feasible trial among {finished} finished; the nearest is trial {found[0].number} ({', '.join(above)})"
