"""Suspicious values of a study, said at every `tell`: those that `diagnose` calls mistyped, and would have called so
when they were told.

Whoever looks again and again sees more by chance. A value that is suspicious only now and then, as others are told, is
not: `python -m uhebo_experiments.benchmarks.typos --tells` counts studies without a slip in which one is named at any
tell.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from optuna.study import Study
from optuna.trial import TrialState

from uhebo.belief import History
from uhebo.diagnosis.search import count_trials
from uhebo.diagnosis.slips import MOST_TRIALS, Slip, find_slips
from uhebo.diagnosis.words import no_model
from uhebo.gp.kernels import Kernel
from uhebo.numerics.threads import single_threaded
from uhebo.optuna_.believe import model_of
from uhebo.optuna_.corrected import corrected
from uhebo.optuna_.corrections import confirmed
from uhebo.optuna_.fronts import objective_names

PURPOSE = 8
"""Of the random numbers, among those of a diagnosis."""


def enough(dimension: int) -> int:
    """Trials below which nothing is said unasked: with fewer, one study in twenty would be accused."""
    return max(10, 2 * dimension + 2)


@dataclass(frozen=True)
class Suspicious:
    """A value that was probably mistyped, and the objective that it is of."""

    objective: str
    slip: Slip

    @property
    def words(self) -> str:
        """What is wrong with it."""
        slip = self.slip
        return (
            f"trial {slip.number} has {self.objective} {slip.value:.6g}, where the other trials predict "
            f"{slip.predicted:.4g} ± {slip.deviation:.2g}; it looks {slip.how}"
        )


@single_threaded
def suspicious_values(study: Study) -> tuple[Suspicious, ...]:
    """The values that look mistyped and that nobody confirmed, the clearest of each objective first.

    Nothing beyond as many trials as all take part in a fit: then it is for `diagnose`, which takes its time.
    """
    study = corrected(study)
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    told = [t.number for t in sorted(trials, key=lambda t: (t.datetime_complete or t.datetime_start, t.number))]
    found: list[Suspicious] = []
    for index, name in enumerate(objective_names(study)):
        model = model_of(study, index)
        history, kernel = model.history, model.step.model_used.kernel
        count, names = len(history.finished), history.space.names
        if count > MOST_TRIALS or no_model(count_trials(study, count), len(names)) or not history.data.y.any():
            continue
        used = {trial.number for trial in history.finished}

        def named(among: Sequence[int], history: History = history, kernel: Kernel = kernel) -> tuple[Slip, ...]:
            return slips_in(study, history, kernel, among=among)

        order = [number for number in told if number in used]
        found += [Suspicious(name, slip) for slip in standing(named, order, history.space.domain.dimension)]
    return tuple(found)


def standing(named: Callable[[Sequence[int]], tuple[Slip, ...]], order: Sequence[int], dimension: int) -> list[Slip]:
    """The slips among all trials that were named among those up to their own already; `order` is that of telling."""
    least = enough(dimension)
    if len(order) < least:
        return []
    found = []
    for slip in named(order):
        until_told = order[: max(least, order.index(slip.number) + 1)]
        if slip.number in {each.number for each in named(until_told)}:
            found.append(slip)
    return found


def slips_in(
    study: Study, history: History, kernel: Kernel, seed: int = 0, among: Sequence[int] | None = None
) -> tuple[Slip, ...]:
    """Those of one objective that nobody confirmed; `among` these trials, if not among all."""
    name = history.outcomes[0].name
    right = confirmed(study, name, objective_names(study).index(name))
    return find_slips(history, kernel, np.random.default_rng([seed, PURPOSE]), right, among)
