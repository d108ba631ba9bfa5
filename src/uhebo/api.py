"""One call: `minimize` and `maximize`, and the `Result` they return."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import optuna
from optuna.storages import BaseStorage
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState
from optuna.trial import Trial as OptunaTrial

from uhebo.errors import InvalidInputError
from uhebo.sampler import UHESampler
from uhebo.space import as_distributions
from uhebo.strategy import Strategy
from uhebo.surrogate import Surrogate

if TYPE_CHECKING:
    from uhebo.diagnose import Diagnosis

Objective = Callable[..., float]
Callback = Callable[[Study, FrozenTrial], None]
Direction = Literal["minimize", "maximize"]


@dataclass(frozen=True)
class Result:
    """What was found; the study behind it has everything else."""

    study: Study
    interrupted: bool = False
    """Stopped by Ctrl-C before all trials were done."""

    @property
    def best_params(self) -> dict[str, Any]:
        return dict(self._best.params)

    @property
    def best_value(self) -> float:
        value = self._best.value
        assert value is not None  # a best trial is a finished one
        return value

    @property
    def _best(self) -> FrozenTrial:
        if not self._finished:
            raise InvalidInputError(
                f"no trial has finished with a value ({len(self.study.trials)} were started): "
                "result.history says what became of each; check what the function returns or raises"
            )
        return self.study.best_trial

    @property
    def _finished(self) -> list[FrozenTrial]:
        return self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))

    @property
    def history(self) -> Any:
        """One row a trial (number, state, value, parameters): a pandas data frame if pandas is there, else records."""
        records = [
            {"number": t.number, "state": t.state.name.lower(), "value": t.value, **t.params}
            for t in self.study.get_trials(deepcopy=False)
        ]
        try:
            import pandas as pd
        except ImportError:
            return records
        return pd.DataFrame.from_records(records)

    @cached_property
    def surrogate(self) -> Surrogate:
        """The Gaussian process fitted to all finished trials: mean and deviation at any parameters."""
        return Surrogate.of(self.study)

    def diagnose(self) -> Diagnosis:
        """Can this surrogate be trusted? Evidence, a verdict in plain words, and what to do next."""
        from uhebo.diagnose import diagnose

        return diagnose(self.study)

    def plot(self) -> dict[str, Any]:
        """Pictures of the search as Plotly figures, by name (needs `pip install 'uhebo[plot]'`)."""
        from uhebo.report import figures

        return figures(self.study)

    def report(self, path: str | Path = "report.html") -> Path:
        """Write everything into one HTML file that opens without a network (needs `pip install 'uhebo[plot]'`)."""
        from uhebo.report import write_report

        return write_report(self.study, path)

    def __repr__(self) -> str:
        trials = self.study.get_trials(deepcopy=False)
        done = len(self._finished)
        lines = [f"Result of {len(trials)} trials, {done} finished" + (" (interrupted)" if self.interrupted else "")]
        if done:
            direction = "smallest" if self.study.direction == StudyDirection.MINIMIZE else "largest"
            lines.append(f"  {direction} value  {self.best_value:.6g}  (trial {self._best.number})")
            lines += [f"  {name} = {value!r}" for name, value in self.best_params.items()]
        else:
            lines.append("  no trial has finished with a value")
        return "\n".join(lines)


def minimize(
    fn: Objective,
    space: Mapping[str, Any],
    n_trials: int = 60,
    *,
    seed: int | None = None,
    method: str | Strategy | None = None,
    storage: str | BaseStorage | None = None,
    study_name: str | None = None,
    n_jobs: int = 1,
    timeout: float | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    **options: Any,
) -> Result:
    """Find parameters that make `fn` small.

    Args:
        fn: called with one keyword argument for each parameter of `space`; returns a number.
        space: name -> `(low, high)`, a list of choices, or `uhebo.Float` / `Int` / `Categorical`.
        n_trials: how many times `fn` is called. With a `storage` whose study has trials already, that many more.
        seed: same seed, same suggestions.
        method: name of a method (default: the sampler's) or a function `Step -> Proposal`.
        storage: where trials are kept, e.g. "sqlite:///study.db"; default memory. With `study_name`, an existing study
            is continued.
        n_jobs: trials run at once, in threads.
        timeout: seconds after which no new trial is started.
        callbacks: each called as `callback(study, trial)` after every trial; `study.stop()` ends the run.
        progress: show a progress bar; default: when the standard error stream is a terminal.
        catch: exceptions of `fn` that fail the trial and let the run go on; any other one ends it.
        options: passed on to `UHESampler` (acquisition, prior, kernel, deterministic, n_startup_trials, ...).

    Ctrl-C ends the run early and returns what was done.
    """
    study = _study("minimize", storage, study_name)
    study.sampler = _sampler(study, n_trials, seed, method, options)
    return _run(study, fn, space, n_trials, n_jobs, timeout, callbacks, progress, catch)


def maximize(
    fn: Objective,
    space: Mapping[str, Any],
    n_trials: int = 60,
    *,
    seed: int | None = None,
    method: str | Strategy | None = None,
    storage: str | BaseStorage | None = None,
    study_name: str | None = None,
    n_jobs: int = 1,
    timeout: float | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    **options: Any,
) -> Result:
    """Find parameters that make `fn` large; everything else is as in `minimize`."""
    study = _study("maximize", storage, study_name)
    study.sampler = _sampler(study, n_trials, seed, method, options)
    return _run(study, fn, space, n_trials, n_jobs, timeout, callbacks, progress, catch)


def _study(direction: Direction, storage: str | BaseStorage | None, study_name: str | None) -> Study:
    """A new study, or the one of that name in the storage."""
    study = optuna.create_study(storage=storage, study_name=study_name, direction=direction, load_if_exists=True)
    made_to = study.direction.name.lower()
    if made_to != direction:
        raise InvalidInputError(
            f"study {study_name!r} was made to {made_to}; call uhebo.{made_to}, or use another name"
        )
    return study


def _sampler(
    study: Study, n_trials: int, seed: int | None, method: str | Strategy | None, options: Mapping[str, Any]
) -> UHESampler:
    if isinstance(n_trials, bool) or not isinstance(n_trials, (int, np.integer)) or n_trials < 1:
        raise InvalidInputError(f"n_trials is {n_trials!r}; expected an integer >= 1")
    budget = len(study.get_trials(deepcopy=False)) + int(n_trials)
    given = dict(options) if method is None else {**options, "method": method}
    try:
        return UHESampler(n_trials=budget, seed=seed, **given)
    except TypeError as error:  # a misspelt option
        raise InvalidInputError(f"{error}; the options are those of uhebo.UHESampler") from error


def _run(
    study: Study,
    fn: Objective,
    space: Mapping[str, Any],
    n_trials: int,
    n_jobs: int,
    timeout: float | None,
    callbacks: Sequence[Callback],
    progress: bool | None,
    catch: type[Exception] | tuple[type[Exception], ...],
) -> Result:
    if not callable(fn):
        raise InvalidInputError(f"fn is {fn!r}; expected a function called with one keyword argument a parameter")
    distributions = as_distributions(space)

    def objective(trial: OptunaTrial) -> float:
        return fn(**{name: trial._suggest(name, distribution) for name, distribution in distributions.items()})

    bar = sys.stderr.isatty() if progress is None else progress
    verbosity = optuna.logging.get_verbosity()
    if bar:
        optuna.logging.set_verbosity(optuna.logging.WARNING)  # a line a trial would tear the bar to pieces
    try:
        study.optimize(
            objective,
            n_trials=int(n_trials),
            timeout=timeout,
            n_jobs=n_jobs,
            callbacks=list(callbacks),
            catch=catch,
            show_progress_bar=bar,
        )
    except KeyboardInterrupt:
        # Optuna leaves the trial that was interrupted as running; it will never finish.
        for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            study.tell(trial.number, state=TrialState.FAIL, skip_if_finished=True)
        return Result(study, interrupted=True)
    finally:
        optuna.logging.set_verbosity(verbosity)
    return Result(study)
