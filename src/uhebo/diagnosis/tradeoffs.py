"""What one objective costs in terms of another along the front, in numbers and in words."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from uhebo.optuna_.fronts import (
    balanced,
    front_trials,
    given_reference,
    hypervolumes,
    objectives_of,
    oriented,
    signs_of,
)
from uhebo.types import Array

SHARE = 0.1
"""Share of an objective's extent on the front that is taken as the step to speak of, rounded."""
FEW, MANY = 3, 6
"""Trials on the front from which on it has a middle, and from which on its ends are spoken of too."""
WIDTH = 0.3
"""Width of the neighbourhood in which a front of three or more objectives is taken to be flat, as a share of its
extent."""


@dataclass(frozen=True)
class TradeOff:
    """From one trial of the front to another, or near one: `step` more of one objective costs `price` of another."""

    place: str
    trial: int
    gained: str
    lost: str
    step: float
    """Change of the first objective that is a gain: negative where smaller is better."""
    price: float
    """Change of the second that goes with it: a loss."""
    others: bool = False
    """There are further objectives, taken as held."""
    to: int | None = None
    """The other trial, of two objectives: what is said is then measured; else it is a slope."""

    def __str__(self) -> str:
        if self.to is not None:
            return (
                f"{self.place}, from trial {self.trial} to trial {self.to}, {_change(self.step)} {self.gained} costs "
                f"{_change(self.price)} {self.lost}"
            )
        held = ", the others held" if self.others else ""
        return (
            f"{self.place} (trial {self.trial}), {_change(self.step)} {self.gained} costs about "
            f"{_change(self.price)} {self.lost}{held}"
        )


def trade_offs(study: Study) -> tuple[TradeOff, ...]:
    """Of each pair of objectives at the middle of the front; with two objectives, also near its ends."""
    front = front_trials(study)
    values = oriented(study, front)
    finite = np.isfinite(values).all(axis=1)
    front, values = [front[int(i)] for i in np.flatnonzero(finite)], values[finite]
    objectives = objectives_of(study)
    if len(objectives) == 2:
        return tuple(_along(front, values, objectives, signs_of(study)))
    return tuple(_across(front, values, list(objectives), signs_of(study)))


def in_words(study: Study) -> list[str]:
    """Sentences; one that says so where nothing can be said yet."""
    found = [f"{each}." for each in trade_offs(study)]
    if front_trials(study) and given_reference(study) is not None and not hypervolumes(study)[-1] > 0.0:
        found.append("No trial is better than the reference point in every objective, so the hypervolume is 0.")
    if found:
        return found
    count = len(front_trials(study))
    if not count:
        return ["No trial is on the front yet."]
    if count == 1:
        return ["One trial is the best in every objective: no trade-off shows yet."]
    return [f"The front has {count} trials, too few for a trade-off."]


def _along(front: Sequence[FrozenTrial], values: Array, objectives: Mapping[str, str], signs: Array) -> list[TradeOff]:
    """Differences between trials on a front of two objectives, in order of the first: nothing is extrapolated."""
    names, order = list(objectives), np.argsort(values[:, 0])
    points = values[order]
    if len(points) < FEW or (np.ptp(points, axis=0) <= 0.0).any():
        return []
    middle = int(np.argmin(balanced(points, np.ones(2))))
    reach = max(1, len(points) // MANY)
    places = {"Near the middle of the front": middle}
    if len(points) >= MANY:
        places[f"At its end with the best {names[0]}"] = len(points) - 1
        places[f"At its end with the best {names[1]}"] = 0
    found = []
    for place, at in places.items():
        low, high = max(at - reach, 0), min(at + reach, len(points) - 1)
        gain, loss = points[high] - points[low]
        if gain > 0.0 and loss < 0.0:
            ends = [front[int(order[i])].number for i in (low, high)]
            told = (float(signs[0] * gain), float(signs[1] * loss))
            found.append(TradeOff(place, ends[0], names[0], names[1], *told, to=ends[1]))
    return found


def _across(front: Sequence[FrozenTrial], values: Array, names: list[str], signs: Array) -> list[TradeOff]:
    """Slopes of a plane through the front of three or more objectives around its middle, by weighted least squares."""
    extent = np.ptp(values, axis=0) if len(values) else np.zeros(len(names))
    if len(values) <= len(names) or (extent <= 0.0).any():
        return []
    at = int(np.argmin(balanced(values, np.ones(len(names)))))
    scaled = (values - values[at]) / extent
    weights = np.exp(-0.25 * (scaled / WIDTH) ** 2).prod(axis=1)
    found = []
    for i, j in combinations(range(len(names)), 2):
        others = [k for k in range(len(names)) if k != j]
        design = weights[:, None] * np.column_stack([np.ones(len(scaled)), scaled[:, others]])
        slopes, _, rank, _ = np.linalg.lstsq(design, weights * scaled[:, j], rcond=1e-6)
        slope = float(slopes[1 + others.index(i)]) * extent[j] / extent[i]
        if rank == len(names) and slope < 0.0:
            step = _round_step(SHARE * float(extent[i]))
            place, number = "Near the middle of the front", front[at].number
            gain, price = float(signs[i] * step), float(signs[j] * slope * step)
            found.append(TradeOff(place, number, names[i], names[j], gain, price, others=True))
    return found


def _round_step(size: float) -> float:
    """The number among 1, 2, 5 times a power of ten that is nearest by its logarithm."""
    power = math.floor(math.log10(size))
    candidates = [float(f"{digit}e{power}") for digit in (1, 2, 5, 10)]
    return min(candidates, key=lambda candidate: abs(math.log(candidate / size)))


def _change(amount: float) -> str:
    return f"{abs(amount):.3g} {'more' if amount > 0 else 'less'}"
