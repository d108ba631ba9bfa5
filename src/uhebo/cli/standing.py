"""The best trial of a study with one objective, and what is known of it: its repeats, what is recommended, bounds."""

from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial

from uhebo.cli.output import WHO_EXPECTS, percent, write_text
from uhebo.cli.spreadsheets import shown_cells
from uhebo.optuna_.extensions import current_space
from uhebo.optuna_.replicates import measured_again
from uhebo.space import SearchSpace
from uhebo.storage.explain import plus_minus

if TYPE_CHECKING:  # it is imported where it is needed: that takes a while
    from uhebo.diagnosis.bounds import AtBound
    from uhebo.diagnosis.recommendation import Recommended


def recommended(study: Study) -> "Recommended | None":
    """The point to use, by a second opinion; None while there is none to speak of."""
    from uhebo.diagnosis.recommendation import recommended_if_any

    return recommended_if_any(study)


def standing(study: Study, trial: FrozenTrial, found: "Recommended | None") -> dict[str, Any]:
    """What is known of the best trial besides its value, for JSON."""
    again = measured_again(study, trial)
    values = [each.value for each in again if each.value is not None]
    measured = {"numbers": [each.number for each in again], "values": values, "mean": fmean(values)}
    if len(values) > 1:
        measured["standard_error"] = stdev(values) / len(values) ** 0.5
    plain = None
    if found is not None:
        mean, deviation = found.by_model
        plain = {"numbers": found.numbers, "params": found.params, "measured": found.measured, "expected": found.mean}
        plain |= {"low": found.interval[0], "high": found.interval[1], "chance_best": found.chance}
        plain |= {
            "by": "second opinion" if found.is_second else "model",
            "model": {"mean": mean, "deviation": deviation},
        }
    return {"measured": measured, "recommended": plain}


def standing_rows(study: Study, trial: FrozenTrial, found: "Recommended | None") -> list[tuple[str, Any]]:
    """The same as rows of a table for people."""
    rows: list[tuple[str, Any]] = []
    known = standing(study, trial, None)["measured"]
    if "standard_error" in known:
        told = ", ".join(f"{value:.6g}" for value in known["values"])
        mean = plus_minus(known["mean"], known["standard_error"]) if known["standard_error"] else f"{known['mean']:.6g}"
        rows.append((f"measured {len(known['values'])} times", f"{told}: mean {mean}"))
    if found is not None:
        low, high = found.interval
        rows.append(("recommended", _which(study, trial, found)))
        who = "second opinion" if found.is_second else "model"
        rows.append((f"expected there, {who}", f"{found.mean:.4g} (90 %: {low:.4g} to {high:.4g})"))
        if found.is_second:
            rows.append(("expected there, model", plus_minus(*found.by_model)))
        rows.append(("chance that it is the best tried", percent(found.chance)))
    return rows


def _which(study: Study, trial: FrozenTrial, found: "Recommended") -> str:
    """The recommended point beside the best trial."""
    if trial.number in found.numbers:
        return "the same point"
    first = study.get_trials(deepcopy=False)[found.numbers[0]]
    names = list(found.params)
    values = (f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in shown_cells(first, names))
    settings = ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
    told = ", ".join(f"{value:.6g}" for value in found.measured)
    return f"trial {first.number} (told: {told}), at {settings}"


def write_hints(study: Study, trial: FrozenTrial, found: "Recommended | None", named: str) -> None:
    """What to know of the points in the table of the best, in sentences: who expects what, luck, bounds."""
    if found is not None:
        maximise = study.direction == StudyDirection.MAXIMIZE
        if trial.number not in found.numbers:
            write_text(
                f"The best reading (trial {trial.number}) may be a lucky one; what is recommended weighs all trials."
            )
        elif found.is_lucky(trial.value or 0.0, maximise=maximise):
            write_text(
                f"The best reading (trial {trial.number}) may be a lucky one: less is expected there again, and the "
                "point is recommended all the same."
            )
        if found.is_second:
            write_text(WHO_EXPECTS)
    for each in on_bounds(study, trial, found):
        write_text(f"{each}:")
        write_text(f"  $ {each.command(named)}")


def on_bounds(study: Study, trial: FrozenTrial, found: "Recommended | None") -> "list[AtBound]":
    """Bounds of ranges on which the best trial or the recommended point is."""
    from uhebo.diagnosis.bounds import bounds_of

    space = SearchSpace.of({name: d for name, d in current_space(study).items() if name in trial.params})
    best = bounds_of(trial.params, space) if space.names and space.contains(trial.params) else ()
    return list(dict.fromkeys([*best, *(found.at_bounds if found is not None else ())]))
