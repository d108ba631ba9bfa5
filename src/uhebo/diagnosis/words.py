"""What a verdict consists of, the verdicts on studies without a surrogate to judge, and the sentences that say what the
evidence shows, whatever the verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from uhebo.diagnosis.calibration import Calibration
from uhebo.diagnosis.importance import Importance
from uhebo.diagnosis.opinions import Hyperparameters
from uhebo.diagnosis.prospects import Prospects
from uhebo.diagnosis.search import Search, Trials
from uhebo.estimate import Failure
from uhebo.optuna_.believe import StudyModel

Verdict = Literal["trust", "caution", "do not trust"]
Kind = Literal[
    "healthy-smooth",
    "healthy-noisy",
    "noise-dominates",
    "misspecified",
    "clustered",
    "constant",
    "too-few",
    "no-model-steps",
    "no-parameters",
    "outlier",
    "typo",
    "swapped",
    "contradiction",
    "drift",
    "stuck",
    "weak",
    "nothing-feasible",
    "constraints",
]

SURROGATE = "the model"
DOUBTS: tuple[tuple[Verdict, str], ...] = (("caution", "Be careful"), ("do not trust", "Do not trust it"))
MATTERS = 0.1
"""Total effect from which a parameter is worth a sentence."""
OPEN = 10.0
"""Upper over lower end of an interval from which a figure counts as unknown."""
NO_SKILL, FAIR_SKILL = 0.3, 0.5
"""Predictive R² below which the model does not predict, and from which on it may be trusted."""


@dataclass(frozen=True)
class Finding:
    """The verdict and its words."""

    kind: Kind
    verdict: Verdict
    headline: str
    reasons: tuple[str, ...]
    """What decides, and what a reader needs to know first."""
    next_action: str
    further: tuple[str, ...] = ()
    """What else was seen."""


def doubtful(kind: Kind, bad: bool, rest: str, reasons: tuple[str, ...], next_action: str) -> Finding:
    """Not to be trusted where it is bad, else to be taken with care."""
    verdict, opening = DOUBTS[bad]
    return Finding(kind, verdict, opening + rest, reasons, next_action)


def least_trials(dimension: int) -> int:
    """Finished trials below which a model of so many parameters cannot be judged by them."""
    return max(10, 3 * dimension + 3)


def no_model(trials: Trials, dimension: int) -> Finding | None:
    """A finding where no surrogate can be fitted at all, else None."""
    if trials.usable and not dimension:
        return Finding(
            "no-parameters",
            "do not trust",
            f"There is nothing to trust: no parameter varies, so there is no {SURROGATE[4:]}.",
            (f"{count(trials.usable, 'trial')} finished, and they have no parameter that can vary.",),
            "Give the trials a parameter with more than one possible value.",
        )
    need = max(5, dimension + 2)  # fewer finished trials say nothing about a surrogate
    if trials.usable >= need:
        return None
    reasons = [f"{count(trials.usable, 'usable trial')} of {trials.total}; a first judgement needs {need}."]
    if trials.finished > trials.usable:
        reasons.append(
            f"{count(trials.finished - trials.usable, 'finished trial')} cannot be used: the value is not a finite "
            "number, or a parameter is outside its current range."
        )
    action = f"Run {need - trials.usable} more trials, spread at random over the space, and ask again."
    if trials.running >= need - trials.usable:
        action = f"Tell the values of the {count(trials.running, 'trial')} under way, and ask again."
    if trials.failed:
        reasons.append(f"{count(trials.failed, 'trial')} failed or were stopped early and gave no value.")
        if not trials.usable:
            action = "Find out why the trials fail; then run trials spread at random over the space and ask again."
    return Finding(
        "too-few",
        "do not trust",
        f"Do not trust it yet: there are too few finished trials for {SURROGATE}.",
        tuple(reasons),
        action,
    )


def constant(trials: Trials, value: float) -> Finding:
    return Finding(
        "constant",
        "do not trust",
        f"There is nothing to learn from: all {trials.usable} finished trials have the same value.",
        (
            f"Every value is {value:.6g}, so {SURROGATE} cannot tell one setting from another.",
            "Whatever it suggests next is no better than a random point.",
        ),
        "Check that the parameters reach the experiment and that the value is measured finely enough; "
        "if both are so, widen the ranges.",
    )


def say_model(model: StudyModel) -> str:
    """Whose model is judged."""
    if model.borrowed is None:
        return f"This is about the model that suggests: that of the method {model.method}."
    return f"This is about the model of uhebo's default, {model.method}, because {model.borrowed}."


def say_skill(calibration: Calibration) -> str:
    """How well it predicts."""
    explained = (
        f"explains {percent(calibration.r2)} of the differences between values"
        if calibration.r2 > 0.0
        else "is no better than taking the average of all values"
    )
    return f"Predicting each trial from all the others {explained} (100 % would be perfect, 0 % useless)."


def say_honesty(calibration: Calibration) -> str:
    """Whether its errors are as large as it says."""
    covered = next(item for item in calibration.coverage if item.level == 0.95)
    return (
        f"Of the ranges that should hold a value 95 times in 100, {covered.inside} of {len(calibration.y)} do "
        f"({percent(covered.share)}; by chance it may be {percent(covered.band_low)} to {percent(covered.band_high)})."
    )


def say_belief(believed: Hyperparameters, ranked: Sequence[Importance]) -> list[str]:
    """Where the data leave open how fast the values change, along a parameter that matters."""
    matter = {item.name for item in ranked if (item.total or 0.0) >= MATTERS}
    known = [(item.width, item.name) for item in believed.lengthscales if item.width and item.name in matter]
    width, name = max(known, default=(0.0, ""))
    if width < OPEN:
        return []
    factor = f"{width:.2g}" if width < 100.0 else "more than 100"
    return [f"How fast the values change along {name} is known only to within a factor of {factor}."]


def say_infinite(trials: Trials) -> list[str]:
    """Infinite values were not left out."""
    if not trials.infinite:
        return []
    return [f"{count(trials.infinite, 'infinite value')} counted as the worst or best finite one, which is a guess."]


def say_start(search: Search) -> list[str]:
    """That the model has not been put to use yet."""
    if search.model_steps is not False:
        return []
    return ["No model has suggested a trial yet: all suggestions are of the initial design or random."]


def say_search(search: Search) -> list[str]:
    """Only what is out of the ordinary."""
    lines = []
    if search.repeated and not search.exhausted:
        lines.append(f"{count(search.repeated, 'suggestion')} repeated an earlier point.")
    if search.boundary_share is not None and search.boundary_share > 0.5 and search.boundary_points >= 5:
        name, side, number = search.boundary[0]
        lines.append(
            f"{percent(search.boundary_share)} of the suggestions lie on a bound, most often the {side} bound of "
            f"{name} ({number} of {search.boundary_points})."
        )
    if search.fallbacks or search.jittered:
        trouble = sum(search.fallbacks.values())
        lines.append(
            f"While suggesting, {count(search.jittered, 'fit')} needed a numerical correction and "
            f"{count(trouble, 'suggestion')} had to do without a proper fit."
        )
        known = [failure for failure in Failure if failure.value in search.fallbacks]
        lines += [f"{failure.capitalize()}: {failure.cause}; {failure.remedy}." for failure in known]
    return lines


def say_outlook(prospects: Prospects, trusted: bool) -> list[str]:
    """How old the best value is, and what more trials may bring."""
    if prospects.best_value is None:
        if prospects.chance is None:
            return []
        chance = chance_in_words(prospects.chance)
        return [f"By the models' own account, the chance that one of {prospects.trials} more is feasible is {chance}."]
    alone = "Of this objective alone: the" if prospects.of_several else "The"
    since = f"{alone} best value so far, {prospects.best_value:.4g}, came with trial {prospects.best_number}; "
    later = prospects.since_improvement
    since += f"{count(later, 'trial')} since then did not improve on it." if later else "it is the latest one."
    if prospects.chance is None:
        return [since]
    return [
        since,
        f"By the model's own account, the chance that {prospects.trials} more trials improve the best by more than "
        f"{prospects.epsilon:.2g} is {chance_in_words(prospects.chance)}"
        + ("." if trusted else ", a figure that deserves no more trust than the model itself."),
    ]


def percent(share: float) -> str:
    """A share in per cent, with as many digits as it deserves."""
    value = 100.0 * share
    if value and abs(value) < 0.1:
        return "less than 0.1 %"
    if 99.5 <= value < 100.0:
        return f"{min(value, 99.9):.1f} %"
    return f"{value:.0f} %" if abs(value) >= 9.5 else f"{value:.2g} %"


def chance_in_words(chance: float) -> str:
    """A probability found by a thousand draws, which cannot tell 0.1 % from 0."""
    return "less than 1 %" if chance < 0.005 else "more than 99 %" if chance > 0.995 else f"{100.0 * chance:.0f} %"


def stretch(lengthscale: float) -> str:
    """How far a parameter must move before the value changes."""
    return f"about {percent(lengthscale)} of its range" if lengthscale < 1.0 else "more than its whole range"


def count(number: int, thing: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{number} {thing}" + ("" if number == 1 else "s")


def odds(log_odds: float) -> str:
    """e^log_odds, to two digits, and no more than a reader can take in."""
    if log_odds > np.log(1e6):
        return "more than a million"
    return f"{float(f'{np.exp(log_odds):.2g}'):,.0f}"
