"""Directions of a study: to be minimised, maximised, or one for each of several objectives."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import optuna
from optuna.storages import BaseStorage
from optuna.study import Study, StudyDirection

from uhebo.checks import meant, number
from uhebo.errors import InvalidInputError
from uhebo.optuna_.log_space import FOR_MORE, MOST_OBJECTIVES, refuse_several_objectives

Direction = Literal["minimize", "maximize"]


def checked_directions(given: Any) -> dict[str, Direction]:
    """Objective -> direction."""
    named = dict(given) if isinstance(given, Mapping) else None
    if named is None and isinstance(given, Sequence) and not isinstance(given, str):
        named = {f"value_{i}": direction for i, direction in enumerate(given)}
    if named is not None:  # Optuna's own words for them too
        named = {n: d.name.lower() if isinstance(d, StudyDirection) else d for n, d in named.items()}
    if named is None or not all(isinstance(n, str) and n and d in get_args(Direction) for n, d in named.items()):
        raise InvalidInputError(
            f"directions is {given!r}; {_meant(named)}expected {{'yield': 'maximize', 'cost': 'minimize'}}, or a list "
            "of directions"
        )
    if not 1 < len(named) <= MOST_OBJECTIVES:
        raise InvalidInputError(
            f"directions has {len(named)} objective{'s' * (len(named) != 1)}; expected 2 to {MOST_OBJECTIVES}; "
            f"{FOR_MORE if len(named) > 1 else 'minimize and maximize take one'}"
        )
    return dict(named)


def _meant(named: Mapping[str, Any] | None) -> str:
    """Directions that were probably meant."""
    wrong = {name: each for name, each in (named or {}).items() if each not in get_args(Direction)}
    near = {name: meant(each, get_args(Direction)) for name, each in wrong.items() if isinstance(each, str)}
    if not near or len(near) < len(wrong) or not all(near.values()):
        return ""
    return "".join(f"did you mean {said!r} for {name!r}? " for name, said in near.items()) + "Otherwise "


def with_reference(options: Mapping[str, Any], directions: Mapping[str, Direction]) -> dict[str, Any]:
    """Options of the sampler with a reference point by name in the order of the objectives."""
    given = options.get("reference_point")
    if not isinstance(given, Mapping):
        return {**options}
    missing, unknown = [n for n in directions if n not in given], [n for n in given if n not in directions]
    if missing or unknown:
        wrong = [f"lacks {', '.join(map(repr, missing))}"] if missing else []
        wrong += [f"has {', '.join(map(repr, unknown))}, which is no objective"] if unknown else []
        raise InvalidInputError(
            f"reference_point {' and '.join(wrong)}; expected a number for each of {', '.join(map(repr, directions))}"
        )
    return {**options, "reference_point": [number(f"reference_point[{n!r}]", given[n]) for n in directions]}


def study_in(storage: BaseStorage | None, name: str | None, direction: Direction, remedy: str) -> Study:
    """A new study, or the one of that name; not one made for the other direction, to search in it for the worst."""
    study = optuna.create_study(storage=storage, study_name=name, direction=direction, load_if_exists=True)
    refuse_several_objectives(study)
    made_to = study.direction.name.lower()
    if made_to != direction:
        raise InvalidInputError(
            f"study {study.study_name!r} was made to {made_to}; {remedy.format(made_to)}, or use another name"
        )
    return study


def several_in(storage: BaseStorage | None, name: str | None, directions: Mapping[str, Direction]) -> Study:
    """A new study of several objectives, or the one of that name if it has the same."""
    study = optuna.create_study(
        storage=storage, study_name=name, directions=list(directions.values()), load_if_exists=True
    )
    there = [direction.name.lower() for direction in study.directions]
    names = study.metric_names
    if there != list(directions.values()) or names not in (None, list(directions)):
        made = dict(zip(names, there, strict=True)) if names else there
        raise InvalidInputError(
            f"study {study.study_name!r} was made with the objectives {made}; give the same directions, or use another "
            "name"
        )
    name_objectives(study, list(directions))
    return study


def name_objectives(study: Study, names: list[str]) -> None:
    """Optuna keeps them, and shows them in its own pictures and tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.set_metric_names(names)
