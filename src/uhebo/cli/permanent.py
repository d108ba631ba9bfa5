"""What a study keeps as it was made: where somebody wants to change that in place, how the trials are carried over."""

from collections.abc import Mapping
from typing import Any

from optuna.study import Study

from uhebo.cli.bounds import names_of
from uhebo.cli.settings import ATTRIBUTE, effective, named_objectives
from uhebo.cli.space_file import Kept
from uhebo.errors import InvalidInputError
from uhebo.optuna_.fronts import objectives_of

WAYS = ("minimize", "maximize")


def carry_over(named: str) -> str:
    """What to do instead of changing what cannot be changed."""
    return (
        f"make a new study and carry the trials over: uhebo history {named} --csv > all.csv, uhebo create new.db …, "
        "uhebo tell new.db --csv all.csv"
    )


def refuse_result(name: str, wanted: str, study: Study, kept: Kept, named: str) -> None:
    """Refuse to change an objective, the direction, or a limit as if it were a parameter."""
    if name in kept.space:
        return
    what = ""
    if wanted in WAYS:
        what = "the direction of a study"
    elif name in objectives_of(study):
        what = "an objective of a study"
    elif name in names_of(kept.constraints):
        what = "the limit of a constraint"
    if what:
        raise InvalidInputError(f"{what} cannot be changed in place; {carry_over(named)}")


def check_same(path: str, file: Kept, kept: Kept, study: Study, named: str) -> list[str]:
    """Refuse a space file that says something else than the study, parameters and units apart. What the study has and
    the file leaves out may have been an option: sentences that name it."""
    other = [*_results(file, kept, study), *_settings(file, kept, study), *_conditions(file, kept)]
    if other:
        raise InvalidInputError(
            f"{path} differs from the study: {'; '.join(other)}; extend changes parameters and units only, and nothing "
            f"was changed: write it as it is in the study, or {carry_over(named)}"
        )
    unsaid = {"constraints": kept.constraints if not file.constraints else ()}
    unsaid["subject_to"] = kept.settings.get("subject_to", ()) if "subject_to" not in file.settings else ()
    return [
        f"note: {path} has no {key}; the study keeps {', '.join(map(str, there))}"
        for key, there in unsaid.items()
        if there
    ]


def _results(file: Kept, kept: Kept, study: Study) -> list[str]:
    """What differs of objectives and limits."""
    found = []
    there = named_objectives(study) or objectives_of(study)
    if file.objectives and file.objectives != there:
        found.append(_differs("objectives", _listed(file.objectives), _listed(there)))
    direction = file.settings.get("direction")
    if direction is not None and [direction] != list(there.values()):
        found.append(_differs("direction", direction, _listed(there) if len(there) > 1 else ", ".join(there.values())))
    limits, kept_limits = (list(map(str, each.constraints)) for each in (file, kept))
    if limits and {*limits} != {*kept_limits}:
        found.append(_differs("constraints", ", ".join(limits), ", ".join(kept_limits)))
    point = file.settings.get("reference_point")
    kept_point = dict(zip(there, kept.settings.get("reference_point", ()), strict=False))
    if point is not None and point != kept_point:
        found.append(_differs("reference_point", _listed(point), _listed(kept_point)))
    return found


def _settings(file: Kept, kept: Kept, study: Study) -> list[str]:
    """What differs of the sampler's settings; a study that was made elsewhere has none."""
    if ATTRIBUTE not in study.user_attrs:
        return []
    there, found = {**DEFAULTS, **effective(kept)}, []
    for key, value in file.settings.items():
        was = there.get(key)
        if key in ("direction", "reference_point") or was == value:
            continue
        if key == "subject_to" and {*map(_plain, value)} == {*map(_plain, was or ())}:
            continue
        how = f", and uhebo optimize --trials {value} goes on to {value}" if key == "n_trials" else ""
        found.append(_differs(key, value, was, how))
    return found


def _conditions(file: Kept, kept: Kept) -> list[str]:
    """Parameters whose condition is not the study's; none can be given or taken later."""
    pairs = {name: [_plain(each.when.get(name, "")) for each in (file, kept)] for name in file.space}
    return [_differs(f"the condition of {name}", *pair) for name, pair in pairs.items() if pair[0] != pair[1]]


def _differs(what: str, here: Any, there: Any, how: str = "") -> str:
    shown, was = ("none" if each is None or each == "" else each for each in (here, there))
    return f"{what} {shown} (in the study {was}{how})"


def _listed(given: Mapping[str, Any]) -> str:
    each = ((name, f"{way:g}" if isinstance(way, (int, float)) else way) for name, way in given.items())
    return ", ".join(f"{name} {way}" for name, way in each)


def _plain(text: str) -> str:
    return " ".join(text.split())


DEFAULTS = {"when_exhausted": "stop"}
"""What a setting is that was never given."""
