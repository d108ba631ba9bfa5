"""Going on with a study that is there: what was asked has to agree with what is kept in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uhebo.cli.output import say
from uhebo.cli.settings import Kept, effective, keep, kept_in, made_elsewhere, sampler_settings
from uhebo.cli.study import checked_direction
from uhebo.errors import InvalidInputError
from uhebo.storage.places import load, study_names

if TYPE_CHECKING:
    from optuna.storages import BaseStorage
    from optuna.study import Study

    from uhebo.cli.space_file import Declared
    from uhebo.storage.places import Place


def continued(
    storage: BaseStorage, place: Place, name: str | None, wanted: Declared | None, given: dict[str, Any]
) -> Study | None:
    """The study that is there already, if what was asked agrees with it; None if there is none of that name."""
    names = study_names(storage)
    if not names or (name is not None and name not in names):
        return None
    study = load(storage, place, name)
    asked = {**(wanted.settings if wanted else {}), **given}
    asked.pop("n_trials", None)  # how many more to run is for this run to say
    direction = checked_direction(asked.pop("direction", study.direction.name.lower()))
    settings = sampler_settings(asked)  # nonsense is refused before it is compared
    if direction != study.direction.name.lower():
        raise _differs(place, "direction", study.direction.name.lower(), direction)
    if made_elsewhere(study):
        _take_over(study, place, wanted, asked, settings)
    else:
        _compare(place, kept_in(study), wanted, asked)
    say(f"going on with study {study.study_name!r} in {place.shown}")
    return study


def _compare(place: Place, kept: Kept, wanted: Declared | None, asked: dict[str, Any]) -> None:
    was = effective(kept)
    for key, value in asked.items():
        if was.get(key) != value:
            raise _differs(place, key, was.get(key), value)
    _compare_space(place, kept, wanted)


def _compare_space(place: Place, kept: Kept, wanted: Declared | None) -> None:
    if wanted is not None and wanted.space and wanted.space != kept.space:
        raise _differs(place, "space")


def _take_over(
    study: Study, place: Place, wanted: Declared | None, asked: dict[str, Any], settings: dict[str, Any]
) -> None:
    """A study that Optuna made has no settings of ours to differ from: it gets those that were asked for."""
    if wanted is not None and wanted.space and not any(t.distributions for t in study.get_trials(deepcopy=False)):
        keep(study, Kept(wanted.space, settings))
        return
    kept = kept_in(study)
    _compare_space(place, kept, wanted)
    if asked:
        keep(study, Kept(kept.space, settings))
        said = ", ".join(f"{key} {value}" for key, value in asked.items())
        say(f"study {study.study_name!r} had no settings of uhebo's; kept in it from now on: {said}")


def _differs(place: Place, key: str, was: Any = None, asked: Any = None) -> InvalidInputError:
    detail = "" if asked is None else f" ({was}, not {asked})"
    return InvalidInputError(
        f"{place.shown} holds a study with another {key}{detail}; leave the option out to go on with it, or give "
        "another --storage or --study"
    )
