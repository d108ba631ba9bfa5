"""The first screen of a report: what to use, what was measured best, and what to do next."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from uhebo.diagnosis import recommend
from uhebo.diagnosis.words import count
from uhebo.errors import UheboError
from uhebo.optuna_.fronts import front_trials, middle_of
from uhebo.report.text import from_to, shown
from uhebo.report.view import StudyView
from uhebo.storage.explain import plus_minus

NORMAL_90 = 1.645
"""Deviations from the middle of a normal distribution to the ends of its 90 % interval."""
WORST_FIRST = ("do not trust", "caution", "trust")


@dataclass(frozen=True)
class Choice:
    """A point on the first screen."""

    heading: str
    value: str
    details: tuple[str, ...]
    params: dict[str, Any]


def choices(views: Sequence[StudyView]) -> list[Choice]:
    """The recommended point and the best one measured, or the middle of the front; none where nothing is feasible."""
    view = views[0]
    if view.several:
        return _middle(views)
    if view.best is None:
        return []
    best, belief = view.best, view.diagnosis.belief
    value = view.value(best)
    said = [f"measured in trial {best.number}" + (", feasible" if view.constraints else "")]
    if belief is not None:
        mean, deviation = (float(figure) for figure in belief.predict(best.params))
        said.append(f"the model expects {plus_minus(mean, deviation)} there, noise left out")
    unit = f" {view.units[view.target]}" if view.target in view.units else ""
    measured = Choice("Best measured", shown(value) + unit, tuple(said), dict(best.params))
    try:
        found = recommend(view.study) if belief is not None else None
    except UheboError:
        found = None
    if found is None:
        return [measured]
    low, high = found.interval
    times = count(len(found.numbers), "time").replace("1 time", "once")
    told = [
        f"90 % sure: {from_to(low, high)}, noise left out",
        f"measured {times}: trial {', '.join(map(str, found.numbers[:6]))}",
        f"chance that no trial is better by more than {found.epsilon:.2g}: {found.chance:.0%}",
    ]
    deviation = (high - low) / (2 * NORMAL_90)
    same = found.params == best.params
    heading = "Recommended: the best measured" if same else "Recommended"
    first = Choice(heading, plus_minus(found.mean, deviation) + unit, tuple(told), found.params)
    if same:
        also = f"measured {shown(value)} in trial {best.number}"
        return [Choice(heading, first.value, (also, told[0], told[2]), found.params)]
    return [first, measured]


def _middle(views: Sequence[StudyView]) -> list[Choice]:
    front = front_trials(views[0].study)
    if not front:
        return []
    trial = middle_of(views[0].study, front)
    values = [f"{shown(view.target)} {view.value(trial):.4g}" for view in views]
    said = [f"measured in trial {trial.number}, near the best in each objective"]
    for view in views:
        if view.diagnosis.belief is not None:
            mean, deviation = (float(figure) for figure in view.diagnosis.belief.predict(trial.params))
            said.append(f"the model of {shown(view.target)} expects {plus_minus(mean, deviation)} there")
    return [Choice("Middle of the front", ", ".join(values), tuple(said), dict(trial.params))]


def most_urgent(views: Sequence[StudyView]) -> StudyView:
    """The view whose verdict is the worst: what it asks for comes first."""
    return min(views, key=lambda view: WORST_FIRST.index(view.diagnosis.verdict))


def next_commands(views: Sequence[StudyView], place: str | None) -> list[str]:
    """What to do next, to be pasted: into the shell if it is known where the study is, else into Python."""
    view = most_urgent(views)
    found = view.diagnosis.commands(place or "STUDY", view.target if view.several else None)
    if place is not None:
        return list(found)
    return list(dict.fromkeys(line for command in found if (line := in_python(command))))


def in_python(command: str) -> str:
    """A command of the shell as a line of Python, on a `study` with an `objective`; empty where there is none."""
    words = shlex.split(command)
    verb, rest = words[1], words[3:]
    number = re.search(r"-n (\d+)", command)
    if verb == "suggest" and "--repeat-best" in rest:
        return "study.enqueue_trial(study.best_params)"
    if verb == "suggest" and number is not None:
        anywhere = "study.sampler = optuna.samplers.RandomSampler(); " if "--random" in rest else ""
        return f"{anywhere}study.optimize(objective, n_trials={number[1]})"
    if verb == "amend" and len(rest) == 2:
        name, equals, value = rest[1].partition("=")
        told = "failed=True" if name == "--failed" else f"{{{name!r}: {value}}}" if equals else name
        return f"uhebo.amend(study, {rest[0]}, {told})"
    if verb == "drop":
        return f"uhebo.drop(study, {rest[0]})"
    if verb == "extend" and (found := re.fullmatch(r"(.+)=([^:=]+):([^:=]+)", rest[0])):
        return f"uhebo.extend(study, {{{found[1]!r}: ({found[2]}, {found[3]})}})"
    return {"best": "uhebo.corrected(study).best_trial", "history": "uhebo.Result(study).history"}.get(verb, "")
