"""The trial log as frozen values, and what follows from it alone: phases, pairs, rewards.

A strategy keeps no state. Which step a new trial is, which pair it belongs to, what the bandit's weights are: all of it
is worked out from the log, so a resumed study, many workers and a replay need no code of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from uhebo.acquire.pending import Pending
from uhebo.belief.repeats import show_no_noise
from uhebo.belief.units import Units
from uhebo.errors import InvalidInputError
from uhebo.gp.data import Data
from uhebo.space import SearchSpace
from uhebo.space.unasked import POINTS, unfolded
from uhebo.types import Array

State = Literal["finished", "failed", "penalised", "pruned", "abandoned", "running"]
"""What became of a trial. Those without a value failed, or returned a penalty in place of one, which tells of the
place; or were pruned, which is to say stopped early; or were abandoned, which tells nothing: skipped, interrupted, or
held by a worker that died."""
FAILING = ("failed", "penalised")
Role = Literal["objective", "constraint", "failure"]
Tags = Mapping[str, Any]
HOPELESS = 2
"""Sizes of the initial design after which it is over although most of its trials failed."""


@dataclass(frozen=True)
class Trial:
    """One evaluation: where (a row of the space, None if unknown), its value (larger is better) and our tags."""

    number: int
    x: Array | None
    y: float | None
    state: State
    tags: Tags = field(default_factory=dict)
    ours: bool = True
    """Proposed by a strategy; False for points the user enqueued or added, which are data and nothing else."""
    constraints: tuple[float, ...] = ()
    """Values of the constraints as told, in the order of the outcomes; NaN where one is missing."""
    others: tuple[float, ...] = ()
    """Values of the further objectives (larger is better), where there are several."""
    noise: tuple[float, ...] = ()
    """Standard deviation of the noise of each objective's value, as told; NaN where it is not known, empty where none
    is."""

    @property
    def feasible(self) -> bool:
        """Whether all constraints are known to be kept: no value is above 0."""
        return all(value <= 0.0 for value in self.constraints)


@dataclass(frozen=True)
class Outcome:
    """What an evaluation gives: a name, the part it plays, and 1 where larger values are better, else -1."""

    name: str = "value"
    role: Role = "objective"
    sign: float = 1.0


@dataclass(frozen=True)
class Slot:
    """The place of a trial in the method's schedule."""

    t: int
    """Iteration after the initial design, from 1; 0 inside it."""
    number: int
    """Number of the trial."""
    partner: int | None
    """Number of the other half of its pair, if that came before."""

    @property
    def initial(self) -> bool:
        return self.t == 0

    @property
    def pair(self) -> int:
        """Pairs are iterations (1, 2), (3, 4), …; the first is pair 1."""
        return (self.t + 1) // 2

    @property
    def first_half(self) -> bool:
        return self.t % 2 == 1


@dataclass(frozen=True)
class History:
    """All trials but the one to be proposed, in order of their numbers, and the space they live in."""

    space: SearchSpace
    trials: tuple[Trial, ...]
    n_initial: int
    outcomes: tuple[Outcome, ...] = (Outcome(),)
    """What each trial gives, the objective first."""

    @cached_property
    def finished(self) -> tuple[Trial, ...]:
        """Trials with a point and a value: the data."""
        return tuple(t for t in self.trials if t.state == "finished" and t.x is not None and t.y is not None)

    @cached_property
    def data(self) -> Data:
        """D_{t-1}, standardised."""
        dimension = self.space.domain.dimension
        X = np.array([t.x for t in self.finished]).reshape(-1, dimension)
        y = np.array([t.y for t in self.finished], dtype=np.float64)
        return Data.of(X, y, self.space.domain, self._noise(0))

    def _noise(self, objective: int) -> Array | None:
        """What was told of the noise of the finished trials' values; None where nothing was."""
        if not any(t.noise for t in self.finished):
            return None
        return np.array([t.noise[objective] if t.noise else np.nan for t in self.finished])

    @cached_property
    def objectives(self) -> int:
        """Number of objectives; they are the first of the outcomes."""
        return sum(outcome.role == "objective" for outcome in self.outcomes)

    @cached_property
    def noiseless(self) -> bool:
        """Whether repeats have shown that the objectives have no noise, and nobody has told of any."""
        if any(told > 0.0 for t in self.finished for told in t.noise):
            return False
        return show_no_noise((t.x, (t.y, *t.others)) for t in self.finished if t.x is not None and t.y is not None)

    @cached_property
    def constraints(self) -> int:
        """Number of constraints; they come after the objectives."""
        return sum(outcome.role == "constraint" for outcome in self.outcomes)

    @cached_property
    def feasible(self) -> NDArray[np.bool_]:
        """Which finished trials kept all constraints, as told."""
        return np.array([trial.feasible for trial in self.finished], dtype=np.bool_)

    def observed(self, outcome: int) -> Data:
        """Points and values of one outcome, standardised: those of trials that ended with such a value.

        Infinite values of constraints are clipped to the range of the finite ones, and stay on their side of 0.
        """
        if not outcome:
            return self.data
        if outcome < self.objectives:
            others = [t.others[outcome - 1] for t in self.finished]
            return Data.of(self.data.X, others, self.space.domain, self._noise(outcome))
        if self.outcomes[outcome].role == "failure":
            return self.labels()
        ended = [t for t in self.trials if t.state != "running" and t.x is not None and t.constraints]
        told = np.array([t.constraints[outcome - self.objectives] for t in ended], dtype=np.float64)
        known = ~np.isnan(told)
        X = np.array([t.x for t in ended]).reshape(-1, self.space.domain.dimension)[known]
        return Data.of(X, self.outcomes[outcome].sign * within_finite(told[known]), self.space.domain)

    def labels(self, points: int = POINTS) -> Data:
        """1 where a trial did not fail and -1 where it did; one that failed before it had all its parameters counts at
        so many points."""
        told_of = [t for t in self.trials if t.x is not None and t.state not in ("running", "abandoned")]
        failed = np.array([t.state in FAILING for t in told_of], dtype=np.bool_)
        X, owners = unfolded(self.space, [t.x for t in told_of if t.x is not None], failed, points)
        centre = 2.0 * (np.count_nonzero(~failed) + 1.0) / (len(failed) + 2.0) - 1.0
        return Data(X, np.where(failed, -1.0, 1.0)[owners] - centre, self.space.domain, centre, 1.0)

    def modelled(self, outcome: int = 0, *, warped: bool) -> tuple[Units, Data]:
        """The data of an outcome as a GP sees them, and the units they are in."""
        if not outcome and warped:
            return self._warped
        return Units.of(self.observed(outcome), self.outcomes[outcome].sign, warped)

    @cached_property
    def _warped(self) -> tuple[Units, Data]:
        return Units.of(self.data, self.outcomes[0].sign, warped=True)

    def objective_index(self, objective: str | int | None) -> int:
        """Number of the objective with this name or number; with several, one must be named."""
        names = [outcome.name for outcome in self.outcomes[: self.objectives]]
        if objective is None and len(names) == 1:
            return 0
        if isinstance(objective, str) and objective in names:
            return names.index(objective)
        if isinstance(objective, int) and 0 <= objective < len(names):
            return objective
        said = f"there are {len(names)} objectives" if objective is None else f"there is no objective {objective!r}"
        raise InvalidInputError(f"{said}; name one objective: {', '.join(map(repr, names))} (or 0 to {len(names) - 1})")

    def only(self, objective: int) -> "History":
        """The log as if this were the only objective, constraints included."""
        if self.objectives == 1:
            return self
        trials = [
            replace(
                t,
                y=t.others[objective - 1] if objective and t.others else t.y,
                others=(),
                noise=t.noise[objective : objective + 1],
            )
            for t in self.trials
        ]
        outcomes = (self.outcomes[objective], *self.outcomes[self.objectives :])
        return replace(self, trials=tuple(trials), outcomes=outcomes)

    def in_order(self, y: Array) -> Array:
        """Values `y` of the finished trials among those of all that ended, by number; -inf where one failed, or did
        not keep the constraints."""
        nothing = (t.number for t in self.trials if t.state in (*FAILING, "pruned"))
        values = dict.fromkeys(nothing, -np.inf)
        values |= zip((t.number for t in self.finished), np.where(self.feasible, y, -np.inf).tolist(), strict=True)
        return np.array([values[number] for number in sorted(values)])

    def pending_before(self, number: int) -> Pending:
        """The pending evaluations that the trial with this number must allow for."""
        # Where failures come at random, the place is left for the time being, as with one that is under way.
        at_random = self.outcomes[-1].role != "failure"
        states = ("running", "pruned", *(FAILING if at_random else ()))
        unvalued = [t for t in self.trials if t.state in states and t.x is not None]
        now = len(self.finished)
        undecided = [t.number for t in self.trials if t.state == "running" and t.x is None and t.number < number]
        return Pending(
            points=np.array([t.x for t in unvalued], dtype=np.float64).reshape(-1, self.space.domain.dimension),
            nothing_learnt=np.array([t.state != "running" or t.tags.get("n") == now for t in unvalued], dtype=np.bool_),
            undecided=sum(n in self.slots and not self.slots[n].initial for n in undecided),
        )

    @cached_property
    def slots(self) -> dict[int, Slot]:
        """Slot of every trial of ours, by number.

        A trial belongs to the initial design while fewer than `n_initial` usable trials (finished or running, the
        user's own included) come before it; but not for ever, where most trials fail. After that the trials of ours
        take iterations 1, 2, 3, … in order of their numbers, which storage hands out once each: two workers cannot get
        the same half of a pair. What a trial wrote down itself counts more than what would be worked out now (a trial
        before it may have failed since).
        """
        slots: dict[int, Slot] = {}
        usable, t, previous = 0, 0, None
        for before, trial in enumerate(self.trials):
            if trial.ours:
                recorded = trial.tags.get("t")
                initial = usable < self.n_initial and before < HOPELESS * self.n_initial
                step = recorded if recorded is not None else (0 if initial else t + 1)
                slots[trial.number] = Slot(step, trial.number, previous if step and step % 2 == 0 else None)
                if step:
                    t, previous = max(t, step), trial.number
            usable += trial.state in ("finished", "penalised", "running")
        return slots

    def next_slot(self, number: int) -> Slot:
        """Slot of the trial with this number, which is not in the log yet."""
        trials = sorted((*self.trials, Trial(number, None, None, "running")), key=lambda trial: trial.number)
        return History(self.space, tuple(trials), self.n_initial).slots[number]

    @cached_property
    def by_number(self) -> dict[int, Trial]:
        return {trial.number: trial for trial in self.trials}

    @cached_property
    def initial_range(self) -> tuple[float, float] | None:
        """Smallest and largest value of D0: everything finished before the first iteration; None if it is empty.

        Under constraints it is that of its feasible trials, if it has any.
        """
        later = [number for number, slot in self.slots.items() if not slot.initial]
        first = min(later, default=float("inf"))
        found = [t for t in self.finished if t.number < first]
        values = [t.y for t in [t for t in found if t.feasible] or found if t.y is not None]
        return (min(values), max(values)) if values else None

    @cached_property
    def pairs(self) -> dict[int, tuple[Trial, ...]]:
        """Trials of each pair, in order."""
        members: dict[int, list[Trial]] = {}
        for number, slot in self.slots.items():
            if not slot.initial:
                members.setdefault(slot.pair, []).append(self.by_number[number])
        return {pair: tuple(trials) for pair, trials in sorted(members.items())}


def within_finite(told: Array) -> Array:
    """Values with the infinite ones clipped to the range of the others, on their side of 0; none if none is finite."""
    finite = told[np.isfinite(told)]
    if not len(finite) or len(finite) == len(told):
        return told if len(finite) else np.sign(told)
    low, high = float(finite.min()), float(finite.max())
    width = (high - low) or max(abs(high), 1.0)
    return np.clip(told, min(low, -width), max(high, width))
