"""The trials as rows: for the table of the report and for the CSV behind its link."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from optuna.trial import FrozenTrial

from uhebo.report.text import in_csv
from uhebo.report.view import StudyView, role_of

SHOWN = 500
"""Rows in the page; the CSV has all."""
MOST_COLUMNS = 60
"""Parameters and attributes in the page; the CSV has all."""


@dataclass(frozen=True)
class TrialTable:
    """Column names and one row a trial."""

    view: StudyView

    @cached_property
    def trials(self) -> list[FrozenTrial]:
        return sorted(self.view.study.get_trials(deepcopy=False), key=lambda trial: trial.number)

    @cached_property
    def parameters(self) -> list[str]:
        return _in_order(trial.params for trial in self.trials)

    @cached_property
    def attributes(self) -> list[str]:
        return _in_order(trial.user_attrs for trial in self.trials)

    @cached_property
    def columns(self) -> list[str]:
        return ["trial", "state", self.view.target, *self.parameters, "proposed by", *self.attributes]

    def row(self, trial: FrozenTrial) -> list[Any]:
        """One cell a column; empty text where the trial has nothing, which None (a choice, say) is not."""
        value = trial.values[0] if trial.values else ""
        parameters = [trial.params.get(name, "") for name in self.parameters]
        attributes = [trial.user_attrs.get(name, "") for name in self.attributes]
        return [trial.number, trial.state.name.lower(), value, *parameters, role_of(trial), *attributes]

    @cached_property
    def shown(self) -> list[FrozenTrial]:
        """All trials by number, or where they are too many, the best ones."""
        if len(self.trials) <= SHOWN:
            return self.trials
        sign = -1.0 if self.view.maximise else 1.0
        return sorted(self.view.finished, key=lambda trial: (sign * float(trial.value or 0.0), trial.number))[:SHOWN]

    def csv(self) -> str:
        lines = [self.columns, *(self.row(trial) for trial in self.trials)]
        return "".join(",".join(map(in_csv, line)) + "\r\n" for line in lines)

    def csv_link(self) -> str:
        """The CSV as a data URI, with the mark by which spreadsheets know UTF-8."""
        return "data:text/csv;charset=utf-8;base64," + base64.b64encode(self.csv().encode("utf-8-sig")).decode("ascii")


def _in_order(mappings: Iterable[dict[str, Any]]) -> list[str]:
    """Every key, in the order of first sight."""
    return list(dict.fromkeys(key for mapping in mappings for key in mapping))
