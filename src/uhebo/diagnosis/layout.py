"""Where the points lie (clusters), and whether one surrogate fits the whole space (regions)."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from uhebo.belief import Belief
from uhebo.diagnosis.opinions import open_noise_prior, thinned
from uhebo.estimate import Fit, map_estimate
from uhebo.types import Array, Rng

BOX_VOLUME = 0.02
LARGEST_SIDE = 0.5
PROBES = 512
REGION_POINTS = 120
REGION_COLUMNS = 4
CUTS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


@dataclass(frozen=True)
class Layout:
    """How the points are spread over the space."""

    cluster: int
    """Most points in one box whose sides are `side` of each numeric range (and equal in categorical parameters)."""
    cluster_share: float
    side: float
    outside: int
    needed_outside: int
    """Points beyond the cluster that a fit over the whole space needs at least: 3d + 3."""
    unknown: float
    """Median over the space of the surrogate's uncertainty, in standard deviations of the values: 0 is known, 1 not."""

    @property
    def clustered(self) -> bool:
        return self.cluster_share >= 0.6 and self.outside < self.needed_outside


@dataclass(frozen=True)
class Regions:
    """The best way found to cut the space in two and fit each part by itself."""

    parameter: str
    cut: str
    """Value of the parameter at the cut, in its own units."""
    gain: float
    """Log posterior of the two fits minus that of the one: above 0 two surrogates explain the values better."""
    lengthscale_below: float
    lengthscale_above: float
    """Lengthscale along the parameter on each side, as a share of its range."""


def lay_out(belief: Belief, rng: Rng) -> Layout:
    """Count the fullest box of 2 % of the volume centred on a point, and ask the surrogate what it knows elsewhere."""
    objective = belief.objective
    data = objective.data
    numeric, categorical = data.domain.numeric, data.domain.categorical
    side = min(BOX_VOLUME ** (1.0 / max(len(numeric), 1)), LARGEST_SIDE)
    fullest = 0
    for row in data.X:
        near = (np.abs(data.X[:, numeric] - row[numeric]) <= 0.5 * side + 1e-12).all(axis=1)
        near &= (data.X[:, categorical] == row[categorical]).all(axis=1)
        fullest = max(fullest, int(near.sum()))
    _, deviation = objective.moments(belief.space.snap(data.domain.uniform(rng, PROBES)))
    return Layout(
        cluster=fullest,
        cluster_share=fullest / len(data),
        side=side,
        outside=len(data) - fullest,
        needed_outside=3 * data.dimension + 3,
        unknown=float(np.median(deviation)) / float(data.y.std()),
    )


def split_in_two(belief: Belief, rng: Rng) -> Regions | None:
    """Is the function of another kind in one part of the space? None where there are too few points to cut.

    A treed Gaussian process of one cut (Gramacy & Lee 2008): for each of the parameters along which the surrogate
    varies most and cuts at quantiles of the points, MAP fits on both sides. The two halves do not know of each other
    and pay for their prior twice, so one stationary function gives a negative gain; a step, a fast wiggle or more
    noise in one part gives a large one. The prior is a proper one of this test's own (`open_noise_prior`): under an
    improper one two fits would be better than one for no reason.
    """
    data, prior = thinned(belief.objective.data, REGION_POINTS, rng), open_noise_prior(belief.space.domain.dimension)
    fit = partial(map_estimate, kernel=belief.model.kernel, prior=prior, rng=rng)
    whole = fit(data, warm=belief.theta)
    least = max(6, data.dimension + 3)
    # A conditional parameter has no value in other branches at which they could be cut.
    numeric = [j for j in data.domain.numeric if belief.names[j] not in belief.space.conditions]
    columns = [int(j) for j in np.argsort(whole.theta.ell, kind="stable") if j in numeric]
    tried: list[tuple[float, int, float, list[Fit]]] = []
    for column in columns[:REGION_COLUMNS]:
        for cut, below in _cuts(data.X[:, column], least):
            sides = [fit(data.subset(part), warm=whole.theta, starts=1) for part in (below, ~below)]
            gain = sum(side.log_posterior for side in sides) - whole.log_posterior
            tried.append((gain, column, cut, sides))
    if not tried:
        return None
    gain, column, cut, (low, high) = max(tried, key=lambda item: item[0])
    point = data.X[0].copy()
    point[column] = cut
    value = belief.space.decode(point)[belief.names[column]]
    return Regions(
        parameter=belief.names[column],
        cut=f"{value:.4g}",
        gain=gain,
        lengthscale_below=float(low.theta.ell[column]),
        lengthscale_above=float(high.theta.ell[column]),
    )


def _cuts(column: Array, least: int) -> list[tuple[float, NDArray[np.bool_]]]:
    """Cuts between neighbouring distinct values near quantiles, with at least `least` points on each side."""
    ordered = np.sort(column)
    found: dict[float, NDArray[np.bool_]] = {}
    for quantile in CUTS:
        index = round(quantile * len(column))
        left, right = float(ordered[max(index - 1, 0)]), float(ordered[min(index, len(column) - 1)])
        if left == right:  # a setting that was made several times, the best one say, is on one side
            continue
        cut = 0.5 * (left + right)
        below = column < cut
        if min(below.sum(), (~below).sum()) >= least:
            found.setdefault(cut, below)
    return list(found.items())
