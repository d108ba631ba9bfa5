"""Several objectives: which studies and reference points are refused."""

from collections.abc import Sequence

import numpy as np
from optuna.study import Study

from uhebo.checks import number
from uhebo.errors import InvalidInputError
from uhebo.methods import METHODS, Settings
from uhebo.optuna_.log_space import MOST_OBJECTIVES, refuse_too_many_objectives

BY_HYPERVOLUME = (
    "points are chosen by the expected gain of hypervolume; leave it out, and give reference_point=… to say which "
    "values are worth having"
)
FOR_ONE = {
    "acquisition": BY_HYPERVOLUME,
    "beta": BY_HYPERVOLUME,
    "reward_clip": "it is for the bandit of methods that optimise one value; leave it out",
}
"""Settings that have no effect with several objectives, and what to do instead."""


def check_objectives(study: Study, method: object, several: bool, settings: Settings) -> None:
    """Refuse a study whose objectives are too many, or more than one where the method takes one."""
    refuse_too_many_objectives(study)
    check_number(len(study.directions), method, several, settings)


def check_number(objectives: int, method: object, several: bool, settings: Settings) -> None:
    """The same of so many objectives, and settings that would have no effect on them."""
    reference = settings.reference_point
    if reference is not None and len(reference) != objectives:
        said = "one objective: leave it out" if objectives == 1 else f"{objectives} objectives; give one for each"
        raise InvalidInputError(f"reference_point has {len(reference)} numbers, and this study has {said}")
    if objectives > 1 and not several:
        raise InvalidInputError(
            f"method {method!r} optimises one objective, and this study has {objectives}: its rule "
            "and its guarantee speak of one best value; use method='auto', or combine them into one value"
        )
    if objectives > 1 and isinstance(method, str) and method in METHODS:
        _refuse_what_is_for_one(objectives, settings)


def _refuse_what_is_for_one(objectives: int, settings: Settings) -> None:
    """Refuse settings that none of our methods looks at; a method of the user's own may."""
    plain = Settings(settings.seed)
    for name, instead in FOR_ONE.items():
        given = getattr(settings, name)
        if given != getattr(plain, name):
            raise InvalidInputError(
                f"{name}={given!r} is for one objective, and this study has {objectives}: {instead}"
            )


def check_constrained(method: object, constrained: bool) -> None:
    """Refuse a method that does not keep to constraints, in a study that has some."""
    if not constrained:
        raise InvalidInputError(
            f"this study has constraints, and the method {method!r} does not say that it keeps to them; if it "
            "proposes by step.model and step.random alone, pass Method(propose, constrained=True)"
        )


def checked_reference(given: Sequence[float]) -> tuple[float, ...]:
    if np.ndim(given) != 1 or not 1 < len(given) <= MOST_OBJECTIVES:
        raise InvalidInputError(f"reference_point is {given!r}; expected a number for each of two to four objectives")
    return tuple(number(f"reference_point[{i}]", value) for i, value in enumerate(given))
