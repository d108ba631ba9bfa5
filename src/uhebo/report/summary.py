"""The first screen of a report: what to use, what was measured best, and what to do next."""

import re
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from uhebo.diagnosis import recommend
from uhebo.diagnosis.bounds import AtBound, bounds_of
from uhebo.diagnosis.recommendation import SECOND_OPINION, say_measured
from uhebo.errors import UheboError
from uhebo.optuna_.fronts import front_trials, middle_of
from uhebo.optuna_.replicates import measured_again
from uhebo.report.text import from_to, shown
from uhebo.report.view import StudyView
from uhebo.storage.explain import plus_minus

WORST_FIRST = ("do not trust", "caution", "trust")


@dataclass(frozen=True)
class Choice:
    """A point on the first screen."""

    heading: str
    value: str
    details: tuple[str, ...]
    params: dict[str, Any]
    hints: tuple[tuple[str, str], ...] = ()
    """What to know of the point, with a command to paste."""


def choices(views: Sequence[StudyView], place: str | None = None) -> list[Choice]:
    """The recommended point and the best one measured, or the middle of the front; none where nothing is feasible."""
    view = views[0]
    if view.several:
        return _middle(views)
    if view.best is None:
        return []
    best, belief = view.best, view.diagnosis.belief
    unit = f" {view.units[view.target]}" if view.target in view.units else ""
    again = measured_again(view.study, best)
    often = say_measured([view.value(trial) for trial in again], [trial.number for trial in again])
    said = [often + (", feasible" if view.constraints else "")]
    found = None
    on_bounds: tuple[AtBound, ...] = ()
    if belief is not None:
        if belief.space.contains(best.params):
            expected = plus_minus(*(float(figure) for figure in belief.predict(best.params)))
            said.append(f"the model expects {expected} there, noise left out")
            on_bounds = bounds_of(best.params, belief.space)
        else:
            said.append("the model cannot judge it: it lacks a parameter, or has a value outside its range")
        with suppress(UheboError):
            found = recommend(view.study)
    measured = Choice(
        "Best measured", shown(view.value(best)) + unit, tuple(said), dict(best.params), _hints(on_bounds, place)
    )
    if found is None:
        return [measured]
    told = [
        f"90 % sure: {from_to(*found.interval)}, noise left out, by {found.by}",
        f"the model itself expects {plus_minus(*found.by_model)}",
        say_measured(found.measured, found.numbers),
        f"chance that no trial is better by more than {found.epsilon:.2g}: {found.chance:.0%}",
    ]
    value, hints = plus_minus(found.mean, found.deviation) + unit, _hints(found.at_bounds, place)
    if best.number in found.numbers:
        told[2] = often
        if found.is_lucky(view.value(best), maximise=view.maximise):
            told.append(f"its best reading, {shown(view.value(best))}, may be a lucky one")
        return [Choice("Recommended: the best measured", value, tuple(told), found.params, hints)]
    luck = f"trial {best.number} measured {shown(view.value(best))}, but the best reading may be a lucky one"
    return [Choice("Recommended", value, (*told, luck), found.params, hints), measured]


def _hints(on_bounds: Sequence[AtBound], place: str | None) -> tuple[tuple[str, str], ...]:
    return tuple((f"{each}:", each.python if place is None else each.command(place)) for each in on_bounds)


def _middle(views: Sequence[StudyView]) -> list[Choice]:
    front = front_trials(views[0].study)
    if not front:
        return []
    trial = middle_of(views[0].study, front)
    values = [f"{shown(view.target)} {view.value(trial):.4g}" for view in views]
    said = [f"measured in trial {trial.number}, near the best in each objective"]
    if views[0].opinions is not None and trial.number in views[0].rows:
        found = views[0].opinions.predicted(trial.params)
        spans = ", ".join(f"{shown(name)} {from_to(low, high)}" for name, (_, low, high) in found.items())
        said.append(f"90 % sure of each: {spans}, noise left out, by {SECOND_OPINION}")
    expected = []
    for view in views:
        belief = view.diagnosis.belief
        if belief is not None and belief.space.contains(trial.params):
            mean, deviation = (float(figure) for figure in belief.predict(trial.params))
            expected.append(f"{shown(view.target)} {plus_minus(mean, deviation)}")
    if expected:
        said.append(f"the models expect {', '.join(expected)}")
    return [Choice("Middle of the front", ", ".join(values), tuple(said), dict(trial.params))]


def most_urgent(views: Sequence[StudyView]) -> StudyView:
    """The view whose verdict is the worst: what it asks for comes first."""
    return min(views, key=lambda view: WORST_FIRST.index(view.diagnosis.verdict))


def next_commands(views: Sequence[StudyView], place: str | None) -> tuple[list[str], list[str]]:
    """What to do next, to be pasted: into the shell if it is known where the study is, else into Python.

    Beside it, what to do instead with values that look mistyped and are right as they are.
    """
    view = most_urgent(views)
    diagnosis = view.diagnosis
    if place is None:  # `optimize` makes one after the other, as many as there are to be
        diagnosis = replace(diagnosis, trials=replace(diagnosis.trials, batch=None))
    words = place or "STUDY", view.target if view.several else None
    found = diagnosis.commands(*words), diagnosis.confirmations(*words)
    return _to_paste(found[0], place, view.several), _to_paste(found[1], place, view.several)


def _to_paste(commands: Iterable[str], place: str | None, several: bool) -> list[str]:
    if place is not None:
        return list(commands)
    return list(dict.fromkeys(line for command in commands if (line := in_python(command, several))))


def in_python(command: str, several: bool = False) -> str:
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
    best = "uhebo.load(study).pareto" if several else "uhebo.corrected(study).best_trial"
    return {"best": best, "history": "uhebo.Result(study).history"}.get(verb, "")
