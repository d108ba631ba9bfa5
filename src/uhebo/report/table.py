"""The table of all trials, in the words of the shell, with units; what uhebo keeps for itself is not in it."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
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
from uhebo.report.view import StudyView, point_of, role_of

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
class Column:
    """One cell per trial, by number: empty text where the trial has nothing, which None (a choice, say) is not."""

    name: str
    title: str
    """With its unit."""
    cells: Sequence[Any]
    noted: str | None = None
    """Where it is text that stands among the notes on the page: what comes before it."""


@dataclass(frozen=True)
class Table:
    """All trials: every column for the file; on the page what is text is in one, so that it fits a sheet of paper."""

    columns: list[Column]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def rows(self) -> list[list[Any]]:
        return _rows(self.columns)

    @cached_property
    def page(self) -> list[Column]:
        """Columns of the page."""
        own = [column for column in self.columns if column.noted is None]
        texts = [[f"{column.noted}{shown(cell)}" if cell != "" else "" for cell in column.cells]
                 for column in self.columns if column.noted is not None]  # fmt: skip
        notes = ["; ".join(filter(None, told)) for told in zip(*texts, strict=True)]
        return [*own, *([Column("notes", "notes", notes)] if any(notes) else [])]

    @cached_property
    def page_rows(self) -> list[list[Any]]:
        return _rows(self.page)

    @property
    def crowded(self) -> bool:
        return len(self.page) > CROWDED


def _rows(columns: Sequence[Column]) -> list[list[Any]]:
    return [list(row) for row in zip(*(column.cells for column in columns), strict=True)]


def shown_state(trial: FrozenTrial) -> str:
    """What became of a trial, in the shell's word."""
    if trial.state == TrialState.FAIL and is_left_out(trial):
        return state_name(trial)
    lease = Lease.of(trial) if trial.state == TrialState.RUNNING else None
    return RUNNING if lease is not None and lease.worker is not None else STATES[trial.state]


def table_of(view: StudyView) -> Table:
    """Values and parameters, then what is known of a trial besides, in the order of first sight."""
    trials = sorted(view.study.get_trials(deepcopy=False), key=lambda trial: trial.number)
    columns = [
        Column("trial", "trial", [trial.number for trial in trials]),
        Column("state", "state", [shown_state(trial) for trial in trials]),
        *_values(view, trials),
        *_limits(trials),
    ]
    points = [point_of(trial) for trial in trials]
    parameters = dict.fromkeys(name for point in points for name in point)
    columns += [Column(name, view.with_unit(name), [point.get(name, "") for point in points]) for name in parameters]
    columns.append(Column("proposed by", "proposed by", [view.role_names[role_of(trial)] for trial in trials]))
    for name, (tell, before) in BESIDES.items():
        cells = [tell(trial) for trial in trials]
        columns += [Column(name, name, cells, before)] if any(cells) else []
    for name in dict.fromkeys(name for trial in trials for name in trial.user_attrs if not name.startswith(OURS)):
        told = [trial.user_attrs.get(name, "") for trial in trials]
        numbers = all(isinstance(cell, (int, float)) for cell in told if cell != "")
        columns.append(Column(name, view.with_unit(name), told, None if numbers else f"{shown(name)}: "))
    return Table(columns)


def _values(view: StudyView, trials: Sequence[FrozenTrial]) -> Iterator[Column]:
    """Of each objective, and the standard deviations that are known."""
    names = objective_names(view.study)
    errors = [noise_of(trial, len(names)) or (math.nan,) * len(names) for trial in trials]
    for i, name in enumerate(names):
        yield Column(name, view.with_unit(name), [trial.values[i] if trial.values else "" for trial in trials])
        known = ["" if math.isnan(each[i]) else each[i] for each in errors]
        if any(error != "" for error in known):
            yield Column(f"{name} error", view.with_unit(f"{name} error", name), known)


def _limits(trials: Sequence[FrozenTrial]) -> Iterator[Column]:
    """Whether the constraints are kept, and each of them: at most 0 is feasible."""
    found = [constraints_of(trial) for trial in trials]
    names = list(dict.fromkeys(name for told in found for name in told))
    if names:
        kept = ["yes" if all(value <= 0.0 for value in told.values()) else "no" for told in found]
        yield Column("feasible", "feasible", [word if told else "" for word, told in zip(kept, found, strict=True)])
    for name in names:
        yield Column(f"constraint {name}", f"constraint {name}", [told.get(name, "") for told in found])


def best_rows(view: StudyView, rows: list[list[Any]]) -> list[list[Any]]:
    """All rows, or where they are too many, those of the best trials."""
    if len(rows) <= MOST_ROWS:
        return rows
    by_number = {row[0]: row for row in rows}
    if view.several:
        return [by_number[trial.number] for trial in view.leaders[:MOST_ROWS]]
    order = np.lexsort((-view.values if view.maximise else view.values, ~view.feasible))[:MOST_ROWS]
    return [by_number[view.finished[i].number] for i in order]


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


BESIDES: dict[str, tuple[Callable[[FrozenTrial], str], str]] = {
    "asked for": (_asked_for, ""),
    "reason": (_reason, ""),
    "corrected": (_corrected, "corrected: "),
    "confirmed": (_confirmed, "confirmed: "),
}
"""What uhebo notes of a trial, in words, and what comes before them among the notes."""
