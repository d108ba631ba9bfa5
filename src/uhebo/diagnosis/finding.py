"""What a verdict consists of, and the verdicts on studies that have no surrogate to judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from uhebo.diagnosis.search import Trials
from uhebo.diagnosis.words import count

Verdict = Literal["trust", "caution", "do not trust"]
Kind = Literal[
    "healthy-smooth",
    "healthy-noisy",
    "noise-dominates",
    "misspecified",
    "clustered",
    "constant",
    "too-few",
    "no-parameters",
    "outlier",
    "weak",
]

SURROGATE = "the surrogate (the model fitted to your trials)"


@dataclass(frozen=True)
class Finding:
    """The verdict and its words."""

    kind: Kind
    verdict: Verdict
    headline: str
    reasons: tuple[str, ...]
    next_action: str


def least_trials(dimension: int) -> int:
    """Fewer finished trials than this say nothing about a surrogate: max(5, d + 2)."""
    return max(5, dimension + 2)


def no_model(trials: Trials, conditional: tuple[str, ...], dimension: int) -> Finding | None:
    """A finding where no surrogate can be fitted at all, else None."""
    if trials.usable and not dimension:
        names = f" ({', '.join(conditional)} occur in some trials only)" if conditional else ""
        return Finding(
            "no-parameters",
            "do not trust",
            f"There is nothing to trust: no parameter varies in every finished trial, so there is no {SURROGATE[4:]}.",
            (f"{count(trials.usable, 'trial')} finished, and they share no parameter that can vary{names}.",),
            "Give every trial the same parameters, at least one with more than one possible value.",
        )
    need = least_trials(dimension)
    if trials.usable >= need:
        return None
    reasons = [f"{count(trials.usable, 'usable trial')} of {trials.total}; a first judgement needs {need}."]
    if trials.finished > trials.usable:
        reasons.append(
            f"{count(trials.finished - trials.usable, 'finished trial')} cannot be used: the value is not a finite "
            "number, or a parameter is outside its current range."
        )
    action = f"Run {need - trials.usable} more trials, spread at random over the space, and ask again."
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
