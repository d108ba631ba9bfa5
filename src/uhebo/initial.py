"""Points that the user wants evaluated first."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from optuna.study import Study

from uhebo.errors import InvalidInputError
from uhebo.space import SearchSpace
from uhebo.space.declare import described
from uhebo.space.moves import active_names

Points = Sequence[Mapping[str, Any]]


def checked_points(points: Points, space: SearchSpace) -> list[dict[str, Any]]:
    """Points with every parameter that is active there and no other, in the types that the space has."""
    if isinstance(points, (str, Mapping)) or not isinstance(points, Iterable):
        raise InvalidInputError(f"initial is {points!r}; expected a list of points such as [{{'x': 0.5}}]")
    if hasattr(points, "to_dict"):
        raise InvalidInputError("initial is a data frame; expected a list of points: initial=frame.to_dict('records')")
    checked = []
    for i, point in enumerate(points):
        if not isinstance(point, Mapping):
            raise InvalidInputError(f"point {i} of initial is {point!r}; expected a dict such as {{'x': 0.5}}")
        active = [name for name in space.distributions if name in active_names(space, point)]
        wrong = [name for name in point if name not in active]
        missing = sorted(set(active) - set(point))
        if wrong or missing:
            said = f"has a parameter {wrong[0]!r}" if wrong else f"lacks {missing[0]!r}"
            raise InvalidInputError(f"point {i} of initial {said}; expected {', '.join(active) or 'none'}")
        for name in active:
            if not SearchSpace.of({name: space.distributions[name]}).contains(point):
                raise InvalidInputError(
                    f"point {i} of initial: parameter {name!r} is {point[name]!r}, expected "
                    f"{described(space.distributions[name])}"
                )
        pairs = ((name, space.distributions[name]) for name in active)
        checked.append({name: d.to_external_repr(d.to_internal_repr(point[name])) for name, d in pairs})
    return checked


def enqueue(study: Study, points: Sequence[dict[str, Any]], n_trials: int) -> None:
    """Points that the study does not have yet are to be evaluated first; one that is given twice is wanted twice."""
    trials = study.get_trials(deepcopy=False)
    # A point that waits has its parameters in the attribute only.
    there = Counter(repr(sorted({**t.system_attrs.get("fixed_params", {}), **t.params}.items())) for t in trials)
    missing = []
    for point in points:
        key = repr(sorted(point.items()))
        if there[key] > 0:
            there[key] -= 1
        else:
            missing.append(point)
    if len(missing) > n_trials:
        raise InvalidInputError(f"initial has {len(missing)} points to evaluate and n_trials is {n_trials}; raise it")
    for point in missing:
        study.enqueue_trial(point)
