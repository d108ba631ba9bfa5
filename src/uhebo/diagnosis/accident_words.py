"""Verdicts on accidents of a laboratory, in words."""

from collections.abc import Sequence

from uhebo.diagnosis.accidents import Accidents, Swapped
from uhebo.diagnosis.search import Trials
from uhebo.diagnosis.words import SURROGATE, Finding, count, doubtful


def exchanged_results(found: Accidents) -> Finding | None:
    """The verdict where two results were exchanged."""
    return _exchanged([each for each in found.swapped if not each.settings])


def exchanged_settings(found: Accidents) -> Finding | None:
    """The verdict where two settings were exchanged."""
    return _exchanged([each for each in found.swapped if each.settings])


def _exchanged(swapped: Sequence[Swapped]) -> Finding | None:
    if not swapped:
        return None
    first = swapped[0]
    return Finding(
        "swapped",
        "do not trust",
        f"Do not trust it yet: in trial {first.number} {first.names[0]} and {first.names[1]} look exchanged.",
        tuple(
            f"Trial {each.number} fits the others if {each.names[0]} is {each.values[0]:.6g} and {each.names[1]} is "
            f"{each.values[1]:.6g}, and not as it was told."
            for each in swapped
        ),
        f"Look up trial {first.number} in your notes; amend it if two columns were exchanged.",
    )


def contradiction(found: Accidents) -> Finding | None:
    """The verdict where nearly equal settings have different values."""
    if not found.twins:
        return None
    twins = found.twins[0]
    (a, b), (first, second) = twins.numbers, twins.values
    return doubtful(
        "contradiction",
        False,
        f": trials {a} and {b} have nearly the same settings and very different values.",
        (
            f"They have {first:.6g} and {second:.6g}, a difference of {abs(first - second):.3g}; by the other "
            f"trials it should be about {twins.expected:.2g}.",
        ),
        f"Look up trials {a} and {b} in your notes; repeat both if no value is wrong.",
    )


def drifting(found: Accidents) -> Finding | None:
    """The verdict where values change over time by themselves."""
    if found.drift is None:
        return None
    drift = found.drift
    way = "rise" if drift.change > 0.0 else "fall"
    return doubtful(
        "drift",
        False,
        f": the values {way} over time, whatever the settings, and {SURROGATE} takes that for an effect of them.",
        (
            f"From the first trial to the last they {way} by {abs(drift.change):.3g} ± {drift.deviation:.2g} beside "
            "what the settings explain: something wears out, warms up, or was recalibrated.",
        ),
        "Repeat an early trial to see whether it still gives its value, and look for what changed since.",
    )


def unmoved(found: Accidents) -> Finding | None:
    """The verdict where a parameter has had one value in all trials."""
    never = [each for each in found.stuck if each.always]
    if not never:
        return None
    first = never[0]
    return doubtful(
        "stuck",
        False,
        f": {first.name} has had the same value in all trials, so nothing is known of what it does.",
        tuple(f"{each.name} was {each.value} in all {count(each.trials, 'trial')}." for each in never),
        f"Make trial {first.waiting[0]}, which waits and has another value of {first.name}, and tell what comes of it."
        if first.waiting
        else f"Try another value of {first.name}; if it is not to change, leave it at one value.",
    )


def say_frozen(found: Accidents) -> list[str]:
    """Numbers that the latest trials share exactly."""
    return [
        f"{each.name} was {each.value} in each of the latest {each.trials} trials, exactly: is that so, or is it stuck?"
        for each in found.stuck
        if not each.always
    ]


def infinite(trials: Trials) -> Finding | None:
    """The verdict where an infinite value counts as the best."""
    if not trials.infinite_best:
        return None
    number = trials.infinite_best[0]
    return Finding(
        "outlier",
        "do not trust",
        f"Do not trust it: trial {number} has an infinite value and counts as the best.",
        (f"{SURROGATE.capitalize()} takes it for as good as the best finite value.",),
        f"Amend trial {number}, or say that it failed.",
    )
