"""What a diagnosis starts from: a study read once, as data of a surrogate."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study, StudyDirection
from optuna.trial import TrialState

from uhebo.gp import Data, Kernel, Prior, named_prior
from uhebo.gp.kernels import MATERN52
from uhebo.gp.priors import LogNormal
from uhebo.methods import History
from uhebo.optuna_.sampler import UHESampler
from uhebo.optuna_.trial_log import infinite_values, read_history, shared_space
from uhebo.space import SearchSpace
from uhebo.types import Array, Rng

MOST_POINTS = 500
"""Beyond so many finished trials a seeded sample of them is diagnosed: the fits cost the cube of their number."""


@dataclass(frozen=True)
class Trials:
    """How many trials there are and what became of them."""

    total: int
    finished: int
    failed: int
    """Failed or pruned."""
    running: int
    usable: int
    """Finished, with a finite value, and inside the current ranges: what a model can be fitted to."""
    used: int
    """Of these, how many the diagnosis looked at."""
    infinite: int
    """Of the usable ones, how many have an infinite value, taken as the worst or best finite one."""


@dataclass(frozen=True)
class Case:
    """A study as the diagnosis sees it; `data` and `numbers` have one row for each trial used."""

    space: SearchSpace
    history: History
    data: Data
    numbers: NDArray[np.intp]
    sign: float
    kernel: Kernel
    prior: Prior
    trials: Trials
    conditional: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.space.names

    def natural(self, y: Array) -> Array:
        """Standardised values in the user's units and direction."""
        return np.asarray(self.sign * (self.data.location + self.data.scale * y))


def read_case(study: Study, rng: Rng) -> Case:
    """Read the study. The kernel is the sampler's where it is ours, else Matérn-5/2."""
    shared = shared_space(study)
    space = SearchSpace.of(shared.distributions)
    history = read_history(study, space, 0)
    usable = history.finished
    y = np.array([trial.y for trial in usable], dtype=np.float64)
    kept = _kept(y, rng)
    rows = np.array([usable[i].x for i in kept], dtype=np.float64).reshape(len(kept), space.domain.dimension)
    trials = study.get_trials(deepcopy=False)
    states = Counter(trial.state for trial in trials)
    sampler = study.sampler
    return Case(
        space=space,
        history=history,
        data=Data.of(rows, y[kept], space.domain),
        numbers=np.array([usable[i].number for i in kept], dtype=np.intp),
        sign=1.0 if study.direction == StudyDirection.MAXIMIZE else -1.0,
        kernel=sampler.settings.kernel if isinstance(sampler, UHESampler) else MATERN52,
        prior=open_noise_prior(space.domain.dimension),
        trials=Trials(
            total=sum(states.values()),
            finished=states[TrialState.COMPLETE],
            failed=states[TrialState.FAIL] + states[TrialState.PRUNED],
            running=states[TrialState.RUNNING] + states[TrialState.WAITING],
            usable=len(usable),
            used=len(kept),
            infinite=infinite_values(trials)[0] if len(usable) else 0,
        ),
        conditional=shared.conditional,
    )


def open_noise_prior(dimension: int) -> Prior:
    """`dim-scaled` with a noise prior wide enough to say "all of it is noise": log s2 ~ Normal(-4, 3²).

    The noise prior of `dim-scaled` itself, Normal(-5, 1) on log s2, puts pure noise (s2 = 1 on standardised y) five
    deviations out, so that the fit would rather explain noise by absurdly short lengthscales than admit to it.
    """
    return replace(named_prior("dim-scaled", dimension), name="dim-scaled, open noise", noise=LogNormal(-4.0, 3.0))


def _kept(y: Array, rng: Rng) -> NDArray[np.intp]:
    """Rows to look at, in order: all, or the best tenth of `MOST_POINTS` and a random sample of the others."""
    if len(y) <= MOST_POINTS:
        return np.arange(len(y))
    order = np.argsort(-y, kind="stable")
    best, others = order[: MOST_POINTS // 10], order[MOST_POINTS // 10 :]
    return np.sort(np.concatenate([best, rng.choice(others, MOST_POINTS - len(best), replace=False)]))
