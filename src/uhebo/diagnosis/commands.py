"""What to do next, as commands of the shell that exist and can be pasted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from uhebo.diagnosis.diagnosis import Diagnosis

RUN = re.compile(r"(?:Run|add|Go on with) (\d+)")
REPEAT = re.compile(r"[Rr]epeat the best point")
OF_THE_FRONT = re.compile(r"a point of the front")
ELSEWHERE = re.compile(r"bound of|new study|narrow the range|widen the range")
"""Advice that takes another study: the trials go with it."""
REPEATS = 3


def commands_for(diagnosis: Diagnosis, study: str, objective: str | None = None) -> tuple[str, ...]:
    """Commands for the next action, the first one first; `study` is how the shell calls the study.

    With several objectives a value is told by its name, `objective`.
    """
    named = "" if objective is None else f"{objective}="
    if diagnosis.kind == "typo":
        return tuple(f"uhebo amend {study} {slip.number} {named}{slip.meant:.12g}" for slip in diagnosis.slips)
    if diagnosis.kind == "outlier" and diagnosis.belief is not None:
        worst = int(np.argmax(np.abs(diagnosis.belief.history.data.y)))
        return (f"uhebo drop {study} {diagnosis.belief.numbers[worst]}", f"uhebo history {study}")
    action = diagnosis.next_action
    found = [*_more(action, study)]
    if REPEAT.search(action):
        found.append(f"uhebo suggest {study} -n {REPEATS} --repeat-best")
    if OF_THE_FRONT.search(action):
        found.append(f"uhebo best {study}")
    if ELSEWHERE.search(action):
        found.append(f"uhebo history {study} --csv > all.csv")
    if action.startswith("Stop"):
        found.append(f"uhebo best {study}")
    return tuple(found) or (f"uhebo history {study}",)


def _more(action: str, study: str) -> list[str]:
    """More trials, by the model or at random, as many as the advice says."""
    match = RUN.search(action)
    if match is None:
        return []
    count = int(match[1])
    if "some of them at random" in action:
        share = max(1, count // 3)
        return [f"uhebo suggest {study} -n {count - share}", f"uhebo suggest {study} -n {share} --random"]
    return [f"uhebo suggest {study} -n {count}" + (" --random" if "random" in action else "")]
