"""The table of all trials, in the words of the shell, with units; what uhebo keeps for itself is not in it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from uhebo.optuna_.constraints import constraints_of
from uhebo.optuna_.corrections import AMENDED, CONFIRMED
from uhebo.optuna_.endings import DROPPED, FAILURE, SKIPPED, is_left_out, state_name
from uhebo.optuna_.fronts import objective_names
from uhebo.optuna_.lease import Lease
from uhebo.optuna_.noise import noise_of
from uhebo.optuna_.points import ORIGIN, REPEATS
from uhebo.report.text import shown
from uhebo.report.view import StudyView, role_of

OURS = "uhebo:"
"""Start of the names of attributes that uhebo keeps for itself."""
STATES = {
    TrialState.COMPLETE: "finished",
    TrialState.RUNNING: "waiting",
    TrialState.FAIL: "failed",
    TrialState.PRUNED: "pruned",
    TrialState.WAITING: "queued",
}
"""As the shell calls them: who asked for a trial has it waiting for its value."""
RUNNING = "running"
"""A trial that a worker holds."""
MOST_ROWS = 500
"""Maximum rows in the page; the CSV has all."""
MOST_COLUMNS = 60
"""Maximum columns in the page; the CSV has all."""
CROWDED = 13
"""Columns above which a sheet of paper has no room for every number on one line."""


@dataclass(frozen=True)
class Table:
    """One row per trial, by number. A cell is empty text where the trial has nothing, which None (a choice, say) is
    not."""

    columns: list[str]
    titles: list[str]
    """The same with units."""
    rows: list[list[Any]]

    @property
    def crowded(self) -> bool:
        return len(self.columns) > CROWDED


def shown_state(trial: FrozenTrial) -> str:
    """What became of a trial, in the shell's word."""
    if trial.state == TrialState.FAIL and is_left_out(trial):
        return state_name(trial)
    lease = Lease.of(trial) if trial.state == TrialState.RUNNING else None
    return RUNNING if lease is not None and lease.worker is not None else STATES[trial.state]


def table_of(view: StudyView) -> Table:
    """Values and parameters, then what is known of a trial besides; columns in the order of first sight."""
    trials = sorted(view.study.get_trials(deepcopy=False), key=lambda trial: trial.number)
    parameters = list(dict.fromkeys(name for trial in trials for name in trial.params))
    notes = list(dict.fromkeys(n for trial in trials for n in trial.user_attrs if not n.startswith(OURS)))
    limits = list(dict.fromkeys(name for trial in trials for name in constraints_of(trial)))
    names = objective_names(view.study)
    errors = _errors(trials, len(names))
    known = [i for i in range(len(names)) if any(each[i] != "" for each in errors)]
    besides = {name: [tell(trial) for trial in trials] for name, tell in BESIDES.items()}
    besides = {name: cells for name, cells in besides.items() if any(cells)}
    rows = []
    for at, trial in enumerate(trials):
        told = [trial.number, shown_state(trial), *(trial.values or [""] * len(names))]
        told += [errors[at][i] for i in known]
        if limits:
            found = constraints_of(trial)
            verdict = "yes" if all(value <= 0.0 for value in found.values()) else "no"
            told += [verdict if found else "", *(found.get(name, "") for name in limits)]
        told += [trial.params.get(name, "") for name in parameters]
        told += [view.role_names[role_of(trial)], *(cells[at] for cells in besides.values())]
        rows.append([*told, *(trial.user_attrs.get(name, "") for name in notes)])
    constraints = ["feasible", *(f"constraint {name}" for name in limits)] if limits else []
    measured = [(name, name) for name in names] + [(f"{names[i]} error", names[i]) for i in known]
    named = [("trial", ""), ("state", ""), *measured, *((name, "") for name in constraints)]
    named += [(name, name) for name in parameters]
    named += [("proposed by", ""), *((name, "") for name in besides), *((name, name) for name in notes)]
    titles = [view.with_unit(name, of) for name, of in named]
    return Table([name for name, _ in named], titles, rows)


def best_rows(view: StudyView, rows: list[list[Any]]) -> list[list[Any]]:
    """All rows, or where they are too many, those of the best trials."""
    if len(rows) <= MOST_ROWS:
        return rows
    by_number = {row[0]: row for row in rows}
    if view.several:
        return [by_number[trial.number] for trial in view.leaders[:MOST_ROWS]]
    order = np.lexsort((-view.values if view.maximise else view.values, ~view.feasible))[:MOST_ROWS]
    return [by_number[view.finished[i].number] for i in order]


def _errors(trials: Sequence[FrozenTrial], several: int) -> list[list[Any]]:
    """Standard deviations that are known, one for each objective."""
    found = [noise_of(trial, several) or (math.nan,) * several for trial in trials]
    return [["" if math.isnan(error) else error for error in each] for each in found]


def _asked_for(trial: FrozenTrial) -> str:
    again = f"trial {shown(trial.user_attrs[REPEATS])} once more" if REPEATS in trial.user_attrs else ""
    return shown(trial.user_attrs.get(ORIGIN, again))


def _reason(trial: FrozenTrial) -> str:
    told = (trial.user_attrs.get(name) for name in (DROPPED, SKIPPED, FAILURE))
    return next((shown(why) for why in told if isinstance(why, str) and why), "")


def _confirmed(trial: FrozenTrial) -> str:
    right = trial.user_attrs.get(CONFIRMED)
    known = right.items() if isinstance(right, dict) else ()
    return ", ".join(f"{shown(name)} {shown(value)}" for name, value in known)


def _corrected(trial: FrozenTrial) -> str:
    return shown(trial.user_attrs.get(AMENDED, ""))


BESIDES: dict[str, Callable[[FrozenTrial], str]] = {
    "asked for": _asked_for, "reason": _reason, "corrected": _corrected, "confirmed": _confirmed
}  # fmt: skip
"""What uhebo notes of a trial, in words."""
