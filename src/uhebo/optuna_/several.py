"""Several objectives: which studies and reference points are refused."""

from collections.abc import Sequence

import numpy as np
from optuna.study import Study

from uhebo.checks import number
from uhebo.errors import InvalidInputError
from uhebo.optuna_.log_space import MOST_OBJECTIVES, refuse_too_many_objectives


def check_objectives(study: Study, method: object, several: bool, reference: Sequence[float] | None) -> None:
    """Refuse a study whose objectives are too many, or more than one where the method takes one."""
    refuse_too_many_objectives(study)
    if reference is not None and len(reference) != len(study.directions):
        raise InvalidInputError(
            f"reference_point has {len(reference)} numbers, and this study has {len(study.directions)} objectives; "
            "give one for each"
        )
    if len(study.directions) > 1 and not several:
        raise InvalidInputError(
            f"method {method!r} optimises one objective, and this study has {len(study.directions)}: its rule "
            "and its guarantee speak of one best value; use method='auto', or combine them into one value"
        )


def checked_reference(given: Sequence[float]) -> tuple[float, ...]:
    if np.ndim(given) != 1 or not 1 < len(given) <= MOST_OBJECTIVES:
        raise InvalidInputError(f"reference_point is {given!r}; expected a number for each of two to four objectives")
    return tuple(number(f"reference_point[{i}]", value) for i, value in enumerate(given))
