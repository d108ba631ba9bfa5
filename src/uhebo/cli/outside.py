"""Trials outside the space as it is now, after a range was narrowed: said when that happens, and when one is told."""

from collections.abc import Collection

from optuna.study import Study

from uhebo.cli.output import say
from uhebo.cli.records import numbered
from uhebo.cli.settings import kept_in
from uhebo.optuna_.corrections import trials_of
from uhebo.optuna_.endings import is_left_out
from uhebo.optuna_.extensions import extensions_of
from uhebo.space import SearchSpace


def say_outside(study: Study) -> None:
    """Which trials the space as it is now leaves out: those that have ended, and those that wait."""
    ended, waiting = _outside(study)
    if ended:
        say(f"outside the space now, and left out of the model: {numbered(ended)}")
    if waiting:
        them, they = ("them", "they") if len(waiting) > 1 else ("it", "it")
        say(
            f"waiting outside: {numbered(waiting)}; skip {them}, or tell {them}: {they} will not count until the range "
            f"holds {them}"
        )


def say_told_outside(study: Study, told: Collection[int]) -> None:
    """Which of the trials that were told now do not count."""
    here = [number for number in _outside(study)[0] if number in told] if extensions_of(study) else []
    if here:
        lies, does, them = ("lies", "does", "it") if len(here) == 1 else ("lie", "do", "them")
        say(
            f"{numbered(here)} {lies} outside the space as it is now, and {does} not count until a wider range holds "
            f"{them} again: uhebo extend"
        )


def _outside(study: Study) -> tuple[list[int], list[int]]:
    """Numbers of the trials outside, ended ones and others."""
    trials = [trial for trial in trials_of(study) if trial.params and not is_left_out(trial)]
    inside = SearchSpace.of(kept_in(study).declared).contains_many([trial.params for trial in trials]).tolist()
    out = [trial for trial, fits in zip(trials, inside, strict=True) if not fits]
    return [t.number for t in out if t.state.is_finished()], [t.number for t in out if not t.state.is_finished()]
