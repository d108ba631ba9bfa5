"""Methods that choose among several GPs: the candidates, and what the log says of those that were taken before.

A step that takes the point of candidate k records `candidate` = k, `predicted` = [mean, deviation] of its point and
`noise`, the deviation of the noise, in units of y, before the value was known; the rest follows from the log. Values
are counted in standard deviations of the data as they are now: a decision of the past depends on no unit, so it stays.
"""

import math
from dataclasses import dataclass

import numpy as np

from uhebo.estimate import Fit
from uhebo.gp import Posterior, Theta
from uhebo.methods.step import Proposal, Step
from uhebo.types import Array

SHORTEST, COUNT = 0.05, 5
"""Lengthscale of the first fixed candidate, in units of the cube's diagonal, and number of them, each twice as long."""
DELTA = 0.1
"""Probability with which a confidence bound may fail."""
LARGEST = 1e100
"""Of a recorded deviation in units of the data's, so that its square is finite."""


@dataclass(frozen=True)
class Taken:
    """A point that was taken by candidate `candidate` at iteration t; larger values are better."""

    candidate: int
    t: int
    bound: float
    """β σ at the point, in deviations of y as it is now."""
    error: float | None
    """Value minus predicted mean, in the same units; None while there is no value."""
    value: float | None
    noise: float = 0.0
    """Variance of the noise as it was estimated then."""


def fixed_candidates(fit: Fit) -> tuple[Posterior, ...]:
    """Posteriors under isotropic lengthscales 0.05 √d · 2^k, k = 0 .. 4, signal 1, and the noise of `fit`.

    The papers take their priors as given by experts; these cover the cube.
    """
    data, dimension = fit.data, fit.data.dimension
    scales = SHORTEST * math.sqrt(dimension) * 2.0 ** np.arange(COUNT)
    thetas = [Theta.of(np.full(dimension, scale), 1.0, fit.theta.s2) for scale in scales]
    return tuple(Posterior.of(data, theta, fit.kernel) for theta in thetas)


def taken_before(step: Step, fit: Fit) -> list[Taken]:
    """Steps of the log that recorded a candidate, in the order of their trials; noise that was not recorded is that
    of `fit`."""
    data, found = step.data, []
    for trial in step.history.trials:
        tags = trial.tags
        if {"candidate", "predicted", "beta"} <= tags.keys():
            mean, deviation = tags["predicted"]
            told = trial.y if trial.state == "finished" else None
            value = None if told is None else (told - data.location) / data.scale
            error = None if told is None else (told - mean) / data.scale
            bound = tags["beta"] * deviation / data.scale
            noise = min(tags["noise"] / data.scale, LARGEST) ** 2 if "noise" in tags else fit.theta.s2
            found.append(Taken(tags["candidate"], int(tags.get("t", 1)), bound, error, value, noise))
    return found


def noise_bound(t: int, candidates: int, s2: float) -> float:
    """ξ_t = 2 s2 log(|U| π² t² / (3 δ)): the square of a sum of n noises is below n ξ_t, for all t and candidates.

    Lemma 5.1 of Ziomek et al. (2024, PE-GP-UCB), quoted as lemma B.1 of LB-GP-UCB, has 6 δ for noise that may leave its
    bound with probability δ. Of the δ of a theorem one half is for the noise, the other for f: 3 δ.
    """
    return 2.0 * s2 * math.log(max(candidates, 1) * math.pi**2 * max(t, 1) ** 2 / (3.0 * DELTA))


def ucb_point(step: Step, posterior: Posterior) -> tuple[Array, float, float]:
    """The UCB point of a candidate, and its mean and deviation there."""
    point = step.best_point((posterior,), "ucb")
    mean, variance = posterior.predict(point[None])
    return point, float(mean[0]), float(np.sqrt(variance[0]))


def propose(step: Step, fit: Fit, posterior: Posterior, candidate: int, found: tuple[Array, float, float]) -> Proposal:
    """The point of a candidate with what is to be remembered of it; with another acquisition, that one's point."""
    point, mean, deviation = found
    if step.acquisition != "ucb":
        point = step.best_point((posterior,))
    data = step.data
    predicted = [float(data.location + data.scale * mean), float(data.scale * deviation)]
    noise = float(data.scale * math.sqrt(fit.theta.s2))
    tags = {"candidate": candidate, "predicted": predicted, "noise": noise, "beta": round(step.beta(), 6)}
    return Proposal(point, {"role": "model", **step.record(fit), **tags})
