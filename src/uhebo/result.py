"""`Result`: what a search found, and the ways to look at it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from uhebo.belief import Belief
from uhebo.checks import by_name, meant
from uhebo.errors import InvalidInputError
from uhebo.notebook import one_line, panel, sentence, table
from uhebo.optuna_.believe import believe
from uhebo.optuna_.constraints import best_trial, constraints_of, least_violated
from uhebo.optuna_.corrected import corrected
from uhebo.optuna_.corrections import changes_of
from uhebo.optuna_.endings import state_name
from uhebo.optuna_.fronts import objective_names

if TYPE_CHECKING:
    from pandas import DataFrame

    from uhebo.diagnosis import Diagnosis, Recommended

BEST = "best_trial"
ELSEWHERE = {
    **{name: f"result.belief.{name}" for name in ("predict", "quantiles", "sample")},
    **{name: f"result.study.{name}" for name in (BEST, "ask", "tell", "add_trial", "enqueue_trial")},
}
"""What is looked for here -> where it is."""


@dataclass(frozen=True)
class Result:
    """What a search found; `study` is the Optuna study behind it."""

    study: Study
    interrupted: bool = False
    """Stopped by Ctrl-C before all trials were done."""

    @cached_property
    def _read(self) -> Study:
        """The study with corrections applied."""
        return corrected(self.study)

    @property
    def best_params(self) -> dict[str, Any]:
        """Parameters of the best finished trial; under constraints, of the best feasible one."""
        return dict(self._best.params)

    @property
    def best_value(self) -> float:
        """Value of that trial."""
        value = self._best.value
        assert value is not None  # a best trial is a finished one
        return value

    @property
    def recommended(self) -> Recommended:
        """The point to use: the best point tried according to a second opinion, which a lucky value cannot mislead."""
        from uhebo.diagnosis import recommend

        return recommend(self.study)

    @property
    def _best(self) -> FrozenTrial:
        if not self._finished:
            raise InvalidInputError(
                f"no trial has finished with a value ({len(self.study.trials)} were started): "
                "result.history says what became of each; check what the function returns or raises"
            )
        if len(self.study.directions) > 1:
            raise InvalidInputError(
                f"there is no single best trial: the study has {len(self.study.directions)} objectives; "
                f"{self._has_front}.pareto is its front, and {self._has_front}.pick(weights) chooses from it"
            )
        best = best_trial(self._read)
        if best is None:
            raise InvalidInputError(f"no trial is feasible; {self._nearest}")
        return best

    @property
    def _has_front(self) -> str:
        """What has the front of several objectives."""
        return "uhebo.load(study)"

    @property
    def _nearest(self) -> str:
        found = least_violated(self._read)
        assert found is not None  # where nothing is feasible there are constraint values
        trial, _ = found
        above = [f"{name} = {value:.6g}" for name, value in constraints_of(trial).items() if value > 0.0]
        return f"the nearest to it is trial {trial.number} ({', '.join(above)}; expected at most 0): run more trials"

    @property
    def _objectives(self) -> list[str]:
        return objective_names(self.study)

    @property
    def _finished(self) -> list[FrozenTrial]:
        return self._read.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))

    @property
    def history(self) -> DataFrame:
        """One row per trial (number, state, value, parameters): a pandas data frame if pandas is there, else records.

        Corrections (`uhebo.amend`, `uhebo.drop`) are applied; the state is "dropped" or "skipped" where you said so.
        With constraints, there are also "feasible" and a column "constraint_NAME" for each; None where a trial has no
        such values. A parameter called "number", "state" or "value" is in the column "param_number" and so on.
        """
        records = []
        trials = self._read.get_trials(deepcopy=False)
        objectives = ["value"] if len(self.study.directions) == 1 else self._objectives
        names = list(dict.fromkeys(name for t in trials for name in constraints_of(t)))
        for t in trials:
            row: dict[str, Any] = {"number": t.number, "state": state_name(t)}
            row |= {name: t.values[i] if t.values else None for i, name in enumerate(objectives)}
            if names:
                told = constraints_of(t)
                row["feasible"] = all(value <= 0.0 for value in told.values()) if told else None
                row |= {f"constraint_{name}": told.get(name) for name in names}
            records.append(row | {f"param_{name}" if name in row else name: value for name, value in t.params.items()})
        return as_frame(records)

    @property
    def belief(self) -> Belief:
        """The model behind the suggestions, fitted to all finished trials: predictions at any parameters."""
        changes = len(changes_of(self.study))
        return self._beliefs(len(self.study.get_trials(deepcopy=False)), len(self._finished), changes)

    @property
    def surrogate(self) -> Belief:
        """The same as `belief`, under its usual name."""
        return self.belief

    @cached_property
    def _beliefs(self) -> Callable[[int, int, int], Belief]:
        """Fitted once for each state of the study."""
        return lru_cache(maxsize=1)(lambda *_: believe(self.study))

    def diagnose(self) -> Diagnosis:
        """Can this model be trusted? Evidence, a verdict in plain words, and what to do next."""
        from uhebo.diagnosis import diagnose

        return diagnose(self.study)

    @by_name()
    def plot(self) -> dict[str, Any]:
        """Pictures of the search as Plotly figures, by name (needs `pip install 'uhebo[plot]'`)."""
        from uhebo.report import figures

        return figures(self.study)

    def report(self, path: str | Path = "report.html") -> Path:
        """Write everything into one HTML file that opens without a network (needs `pip install 'uhebo[plot]'`)."""
        from uhebo.report import write_report

        return write_report(self.study, path)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Only for what is not there: say what there is."""
            known = [each for each in dir(type(self)) if each[0] != "_"]
            near = None if name.startswith("_") else ELSEWHERE.get(name) or meant(name, known)
            if name == BEST and len(self.study.directions) > 1:
                near = "result.pareto or result.pick(weights)"
            hint = f"; did you mean {near}?" if near else ""
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{hint}")

    def __str__(self) -> str:
        trials = self._read.get_trials(deepcopy=False)
        done = len(self._finished)
        lines = [f"Result of {len(trials)} trials, {done} finished" + (" (interrupted)" if self.interrupted else "")]
        if done and len(self.study.directions) > 1:
            front = len(self._read.best_trials)
            lines.append(f"  {len(self.study.directions)} objectives, {front} trials on the front (study.best_trials)")
        elif done and best_trial(self._read) is None:
            lines.append(f"  no trial is feasible; {self._nearest}")
        elif done:
            direction = "smallest" if self.study.direction == StudyDirection.MINIMIZE else "largest"
            lines.append(f"  {direction} value  {self.best_value:.6g}  (trial {self._best.number})")
            lines += [f"  {name} = {value!r}" for name, value in self.best_params.items()]
        else:
            lines.append("  no trial has finished with a value")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return one_line(str(self))

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        title, *rest = str(self).splitlines()
        if not self._finished or len(self.study.directions) > 1 or best_trial(self._read) is None:
            return panel(title, *map(sentence, rest), tone="bad")
        told = table(("parameter", "value"), self.best_params.items())
        return panel(title, sentence(rest[0].strip()), told, tone="good")


def as_frame(records: list[dict[str, Any]]) -> Any:
    """A pandas data frame if pandas is there, else the records."""
    try:
        import pandas as pd
    except ImportError:
        return records
    return pd.DataFrame.from_records(records)
