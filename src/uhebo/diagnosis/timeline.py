"""Hyperparameters over time: as each suggestion recorded them, or fitted anew to the first n trials."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from optuna.study import Study

from uhebo.diagnosis.belief import EXACT_POINTS
from uhebo.diagnosis.case import MOST_POINTS, Case, read_case
from uhebo.errors import InvalidInputError
from uhebo.estimate import BLOCK_SIZE, Fit, consistent_estimate, map_estimate
from uhebo.gp import Data

Recorded = tuple[tuple[int, tuple[float, ...]], ...]


@dataclass(frozen=True)
class LengthscaleHistory:
    """For each estimator, (trial number, log theta) with log theta = log(ell_1 .. ell_d, v, s2), d = len(names)."""

    names: tuple[str, ...]
    by_estimator: dict[str, Recorded]


def lengthscale_history(study: Study, every: int | None = None, *, seed: int = 0) -> LengthscaleHistory:
    """What the suggestions recorded; with `every` = k, MAP and consistent are also fitted after k, 2k, … trials.

    The fits fill in the estimators that the suggestions did not use, so that any study, whoever sampled it, has both
    to compare. A study of more than 500 finished trials is fitted at 500 at most. Recorded thetas of another number of
    parameters (the space was changed since) are left out.
    """
    if every is not None and (isinstance(every, bool) or not isinstance(every, (int, np.integer)) or every < 1):
        raise InvalidInputError(f"every is {every!r}; expected a number of trials >= 1, or None for no fits")
    case = read_case(study, np.random.default_rng(seed))
    found: dict[str, list[tuple[int, tuple[float, ...]]]] = {}
    for trial in case.history.trials:
        theta, estimator = trial.tags.get("theta"), trial.tags.get("estimator")
        if theta is not None and estimator and len(theta) == len(case.names) + 2:
            found.setdefault(str(estimator), []).append((trial.number, tuple(float(value) for value in theta)))
    if every is not None and case.names:
        for estimator in ("map", "consistent"):
            if estimator not in found:
                fits = _fits(case, estimator, int(every), seed)
                if fits:
                    found[estimator] = fits
    return LengthscaleHistory(case.names, {name: tuple(rows) for name, rows in found.items()})


def _fits(case: Case, estimator: str, every: int, seed: int) -> list[tuple[int, tuple[float, ...]]]:
    finished = case.history.finished[:MOST_POINTS]
    fits = []
    previous: Fit | None = None
    for count in range(every, len(finished) + 1, every):
        rows = np.array([trial.x for trial in finished[:count]])
        data = Data.of(rows, np.array([trial.y for trial in finished[:count]], dtype=np.float64), case.space.domain)
        run: Callable[..., Fit] = map_estimate
        if estimator == "consistent":
            run = partial(consistent_estimate, block_size=BLOCK_SIZE if count > EXACT_POINTS else None)
        rng = np.random.default_rng([seed, count])
        warm = None if previous is None else previous.theta
        previous = run(data, kernel=case.kernel, prior=case.prior, rng=rng, warm=warm)
        log_theta = previous.theta.to_log().tolist()
        if all(map(math.isfinite, log_theta)):
            fits.append((finished[count - 1].number, tuple(log_theta)))
    return fits
