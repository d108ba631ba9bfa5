"""Batches: how many experiments of a study are begun together, before any of them is told."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from statistics import median_low

from optuna.trial import FrozenTrial


def usual_batch(trials: Sequence[FrozenTrial]) -> int | None:
    """The median of the batches so far; None where every trial was added with its value, and none was asked for."""
    begun = [t.datetime_start for t in trials if t.datetime_start and t.datetime_start != t.datetime_complete]
    ended = sorted(trial.datetime_complete for trial in trials if trial.datetime_complete)
    together = Counter(bisect_right(ended, start) for start in begun)
    return median_low(together.values()) if together else None
