"""The latest change of a study's space taken back: a range, a choice, a parameter that came later, a unit."""

from collections.abc import Iterable
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial

from uhebo.errors import InvalidInputError
from uhebo.optuna_.corrections import trials_of
from uhebo.optuna_.endings import is_left_out
from uhebo.optuna_.extensions import Extension, extensions_of, holds, write
from uhebo.optuna_.gaps import check_study
from uhebo.space.declare import described


def restore_space(study: Study, name: str, reason: str = "") -> Extension:
    """Undo the latest change of this name; called again, the one before. Refused where values of trials would be lost.

    What is kept is a further change, the other way round.
    """
    check_study(study)
    made = extensions_of(study)
    counting = _counting(made, name)
    if not counting:
        known = list(dict.fromkeys(each.name for each in made if _counting(made, each.name)))
        there = f"of {', '.join(known)} there is" if known else "the space is as it was made"
        raise InvalidInputError(f"there is no change of {name!r} in the space to take back; {there}")
    taken, trials = counting[-1], trials_of(study)
    count = len(trials)
    if taken.after is None:
        before = next((each.unit for each in reversed(counting[:-1]) if each.unit is not None), "")
        return write(study, Extension(name, unit=before, reason=reason, trials=count, restores=True))
    _refuse_loss(taken, [trial for trial in trials if not is_left_out(trial)])
    back = Extension(name, taken.after, taken.before, reason=reason, trials=count, restores=True)
    return write(study, back)


def _counting(made: Iterable[Extension], name: str) -> list[Extension]:
    """The changes of this name that were not taken back."""
    found: list[Extension] = []
    for each in made:
        if each.name == name and each.restores:
            found = found[:-1]
        elif each.name == name:
            found.append(each)
    return found


def _refuse_loss(taken: Extension, trials: Iterable[FrozenTrial]) -> None:
    """Trials whose value the space could not hold any more."""

    def is_lost(value: Any) -> bool:
        return bool(value != taken.had) if taken.before is None else not holds(taken.before, value)

    lost = [t.number for t in trials if taken.name in t.params and is_lost(t.params[taken.name])]
    if lost:
        what = f"values other than {taken.had!r}" if taken.had is not None else "values of it"
        what = what if taken.before is None else f"values that are not {described(taken.before)}"
        raise InvalidInputError(
            f"the change of {taken.name} cannot be taken back: trial {', '.join(map(str, lost))} "
            f"{'has' if len(lost) == 1 else 'have'} {what}, which would be lost; skip or drop them first, or let the "
            "change stand"
        )
