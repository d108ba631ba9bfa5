"""Hyperparameters over time: as each suggestion recorded them, or fitted anew to the first n trials."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from optuna.study import Study

from uhebo import checks
from uhebo.estimate import default_block_size, named_estimator
from uhebo.gp import Theta
from uhebo.optuna_.believe import StudyModel, model_of

MOST_POINTS = 500
"""Number of finished trials up to which theta is fitted anew; a fit costs the cube of it."""
Recorded = tuple[tuple[int, tuple[float, ...]], ...]


@dataclass(frozen=True)
class LengthscaleHistory:
    """For each estimator, (trial number, log theta) with log theta = log(ell_1 .. ell_d, v, s2), d = len(names)."""

    names: tuple[str, ...]
    by_estimator: dict[str, Recorded]
    fitted: tuple[str, ...] = ()
    """Estimators that the suggestions did not use: a second opinion, fitted afterwards."""


def lengthscale_history(study: Study, every: int | None = None, *, seed: int = 0) -> LengthscaleHistory:
    """What the suggestions recorded; with `every` = k, MAP and consistent are also fitted after k, 2k, … trials.

    The fits fill in the estimators that the suggestions did not use, under the model's prior and kernel, so that any
    study, whoever sampled it, has both to compare. Recorded thetas of another number of parameters (the space was
    changed since) are left out.
    """
    every = checks.optional_integer("every", every, 1)
    model = model_of(study)
    names = model.history.space.names
    found: dict[str, list[tuple[int, tuple[float, ...]]]] = {}
    for trial in model.history.trials:
        theta, estimator = trial.tags.get("theta"), trial.tags.get("estimator")
        if theta is not None and estimator and len(theta) == len(names) + 2:
            found.setdefault(str(estimator), []).append((trial.number, tuple(float(value) for value in theta)))
    missing = [name for name in ("map", "consistent") if name not in found and every is not None and names]
    for estimator in missing:
        fits = _fits(model, estimator, every or 1, seed)
        if fits:
            found[estimator] = fits
    return LengthscaleHistory(names, {name: tuple(rows) for name, rows in found.items()}, tuple(missing))


def _fits(model: StudyModel, estimator: str, every: int, seed: int) -> list[tuple[int, tuple[float, ...]]]:
    believed, finished = model.step.model_used, model.history.finished[:MOST_POINTS]
    fits = []
    warm: Theta | None = None
    for count in range(every, len(finished) + 1, every):
        _, data = replace(model.history, trials=finished[:count]).modelled(warped=believed.warped)
        fit = named_estimator(estimator)(
            data,
            kernel=believed.kernel,
            prior=believed.prior_for(data.dimension),
            rng=np.random.default_rng([seed, count]),
            warm=warm,
            block_size=default_block_size(count),
        )
        warm = fit.theta
        log_theta = fit.theta.to_log().tolist()
        if all(map(math.isfinite, log_theta)):
            fits.append((finished[count - 1].number, tuple(log_theta)))
    return fits
