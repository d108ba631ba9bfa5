"""Several objectives: which studies and reference points are refused."""

from collections.abc import Mapping, Sequence

import numpy as np
from optuna.study import Study

from uhebo.belief import History
from uhebo.checks import number
from uhebo.errors import InvalidInputError
from uhebo.methods import METHODS, Settings
from uhebo.optuna_.log_space import MOST_OBJECTIVES, refuse_too_many_objectives
from uhebo.optuna_.trial_log import warn_once

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
            "is about one best value; use method='auto', or combine them into one value"
        )
    if objectives > 1 and isinstance(method, str) and method in METHODS:
        _refuse_what_is_for_one(objectives, settings)


def say_if_out_of_reach(study: Study, history: History, settings: Settings) -> None:
    """Warn where no trial of the initial design or after it is beyond the reference point that was given."""
    given = settings.reference_point
    if given is None or len(history.finished) <= history.n_initial:
        return
    signs = [outcome.sign for outcome in history.outcomes[: len(given)]]
    reached = [t for t in history.finished if t.feasible and t.y is not None]
    values = np.array([(t.y, *t.others) for t in reached], dtype=np.float64).reshape(-1, len(given))
    if len(values) and not (values > np.multiply(signs, given)).all(axis=1).any():
        warn_once(
            study,
            "reference point",
            f"no trial so far is better than the reference point ({', '.join(f'{value:g}' for value in given)}) in "
            "every objective, so the hypervolume is 0: check its order; values just not worth having are meant",
        )


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
    if isinstance(given, Mapping):
        raise InvalidInputError(
            f"reference_point is {given!r}; a sampler takes numbers in the order of the objectives: "
            f"{list(given.values())!r} if that is it (uhebo.optimize takes them by name)"
        )
    if np.ndim(given) != 1 or not 1 < len(given) <= MOST_OBJECTIVES:
        raise InvalidInputError(f"reference_point is {given!r}; expected a number for each of two to four objectives")
    return tuple(number(f"reference_point[{i}]", value) for i, value in enumerate(given))
