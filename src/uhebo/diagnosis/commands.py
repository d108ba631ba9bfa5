"""What to do next, as commands of the shell that exist and can be pasted."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import numpy as np

from uhebo.diagnosis.bounds import extend_command, widened

if TYPE_CHECKING:
    from uhebo.diagnosis.diagnosis import Diagnosis

RUN = re.compile(r"(?:Run|add|Go on with) (\d+)")
REPEAT = re.compile(r"[Rr]epeat the best point")
OF_THE_FRONT = re.compile(r"a point of the front")
BOUND = re.compile(r"Move the (lower|upper) bound of (.+) outwards")
REPEATS = 3


def commands_for(diagnosis: Diagnosis, study: str, objective: str | None = None) -> tuple[str, ...]:
    """Commands for the next action, the first one first; `study` is how the shell calls the study.

    With several objectives a value is told by its name, `objective`.
    """
    if diagnosis.kind == "typo":
        return tuple(amendment(study, slip.number, slip.meant, objective) for slip in diagnosis.slips)
    if diagnosis.kind == "outlier" and diagnosis.trials.infinite_best:
        return (f"uhebo amend {study} {diagnosis.trials.infinite_best[0]} --failed",)
    if diagnosis.kind == "outlier" and diagnosis.belief is not None:
        worst = int(np.argmax(np.abs(diagnosis.belief.history.data.y)))
        return (f"uhebo drop {study} {diagnosis.belief.numbers[worst]}", f"uhebo history {study}")
    special = _after_an_accident(diagnosis, study)
    if special:
        return special
    action = diagnosis.next_action
    found = [*_more(action, study, diagnosis.trials.batch)]
    if REPEAT.search(action):
        found.append(f"uhebo suggest {study} -n {REPEATS} --repeat-best")
    if OF_THE_FRONT.search(action):
        found.append(f"uhebo best {study}")
    found += _other_range(diagnosis, study)
    if action.startswith("Stop"):
        found.append(f"uhebo best {study}")
    return tuple(found) or (f"uhebo history {study}",)


def confirmations(diagnosis: Diagnosis, study: str, objective: str | None = None) -> tuple[str, ...]:
    """Commands that say of each value that looks mistyped that it is right as it is."""
    slips = diagnosis.slips if diagnosis.kind == "typo" else ()
    return tuple(amendment(study, slip.number, slip.value, objective) for slip in slips)


def amendment(study: str, number: int, value: float, objective: str | None = None) -> str:
    """The command that gives a trial this value, or confirms it where it has it."""
    told = f"{value:.17g}" if float(f"{value:.12g}") != value else f"{value:.12g}"
    return f"uhebo amend {study} {number} {told if objective is None else shlex.quote(f'{objective}={told}')}"


def with_batch(action: str, batch: int | None) -> str:
    """The advice, and how many of the trials that it names are to be begun now, as `_more` has them."""
    match = RUN.search(action)
    if match is None or batch is None or "random" in action or int(match[1]) <= batch:
        return action
    now = "one at a time" if batch == 1 else f"{batch} now"
    return action.replace(f"{match[1]} more trials", f"{match[1]} more trials ({now})", 1)


def _more(action: str, study: str, batch: int | None) -> list[str]:
    """More trials, by the model or at random, as many as the advice says; by the model not more than are usually begun
    together, as each is to learn from those before."""
    match = RUN.search(action)
    if match is None:
        return []
    count = int(match[1])
    if "some of them at random" in action:
        share = max(1, count // 3)
        now = min(count - share, batch or count)
        return [f"uhebo suggest {study} -n {now}", f"uhebo suggest {study} -n {share} --random"]
    if "random" in action:
        return [f"uhebo suggest {study} -n {count} --random"]
    return [f"uhebo suggest {study} -n {min(count, batch or count)}"]


def _after_an_accident(diagnosis: Diagnosis, study: str) -> tuple[str, ...]:
    accidents = diagnosis.accidents
    if diagnosis.kind == "swapped":
        kind = all(each.settings for each in accidents.swapped)
        chosen = [each for each in accidents.swapped if each.settings == kind]
        pairs = [(each.number, zip(each.names, each.values, strict=True)) for each in chosen]
        return tuple(f"uhebo amend {study} {n} {' '.join(_setting(*pair) for pair in both)}" for n, both in pairs)
    if diagnosis.kind == "contradiction":
        return tuple(f"uhebo suggest {study} --repeat {number}" for number in accidents.twins[0].numbers)
    if diagnosis.kind == "drift" and diagnosis.belief is not None:
        return (f"uhebo suggest {study} --repeat {diagnosis.belief.numbers[0]}", f"uhebo history {study}")
    if diagnosis.kind == "stuck":
        never = next(each for each in accidents.stuck if each.always)
        if never.waiting:
            return (f"uhebo status {study}",)
        return (f"uhebo suggest {study} --fix {_setting(never.name, never.other)}",)
    return ()


def _setting(name: str, value: Any) -> str:
    return shlex.quote(f"{name}={value:.12g}" if isinstance(value, (int, float)) else f"{name}={value}")


def _other_range(diagnosis: Diagnosis, study: str) -> list[str]:
    """A bound moved outwards, or a range narrowed to the side of the best value."""
    match, belief = BOUND.search(diagnosis.next_action), diagnosis.belief
    if belief is None:
        return []
    if match is not None:
        name = match[2].partition(" if you can")[0]
        low, high = widened(belief.space.distributions[name], match[1])
    elif "narrow the range of" in diagnosis.next_action and diagnosis.regions is not None:
        name, cut = diagnosis.regions.parameter, float(diagnosis.regions.cut)
        distribution: Any = belief.space.distributions[name]
        best = belief.space.decode(belief.objective.data.X[int(np.argmax(belief.objective.data.y))])[name]
        low, high = (distribution.low, cut) if best < cut else (cut, distribution.high)
    else:
        return []
    return [extend_command(study, name, low, high)]
