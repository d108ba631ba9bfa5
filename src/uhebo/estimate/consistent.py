"""The paper's consistent loss in its three readings, in full or in blocks.

Draw M ≥ n points x' i.i.d. uniformly in the domain, find the observed point x̂' nearest to each (L2 in the unit cube),
and maximise the ordinary log posterior on M pairs. The points are drawn anew from `rng` at every call. The paper can be
read in two ways, and the first has a variant:

    observed   pairs (x̂', y(x̂')), copies kept: the printed equation and Algorithm 1. Copies of one value say that
               there is no noise, so s2 goes to its floor whatever the data (`uhebo.gp.likelihood` has the term).
    distinct   pairs (x̂', y(x̂')), each once: the same points without that effect
    drawn      pairs (x', y(x̂')): the proof of Proposition 1. Labels are constant on Voronoi cells, which shortens
               lengthscales and adds noise while n is small.

Because the x' are i.i.d., any subset is a smaller sample of the same loss. So the loss may be split into random blocks
whose likelihoods add up (a composite likelihood): the cost then grows linearly with M instead of with its cube. Copies
of one observed point stay in one block.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from uhebo.checks import choice
from uhebo.errors import InvalidInputError
from uhebo.estimate.estimator import DEFAULT_READING, Fit, Reading
from uhebo.estimate.fit import FRESH_STARTS, Climber, Pairs
from uhebo.gp.data import ROUNDING, Data, Noise, Theta
from uhebo.gp.kernels import MATERN52, Kernel, squared_distance
from uhebo.gp.priors import Prior
from uhebo.types import Array, Rng

BLOCK_SIZE = 200
WHOLE = 100
"""Observations up to which the loss is taken in full; above, in blocks of `BLOCK_SIZE` pairs."""
PSEUDO_TOLERANCE = 0.1
"""Nats a fit to pseudo-points may stop short of: another draw of the points changes their loss by many."""
CHUNK = 512
"""Pseudo-points compared with all observed ones at a time, where a tree cannot be used."""


def default_block_size(observations: int) -> int | None:
    """`BLOCK_SIZE`, or None for the loss in full."""
    return BLOCK_SIZE if observations > WHOLE else None


def consistent_estimate(
    data: Data,
    *,
    kernel: str | Kernel = MATERN52,
    prior: str | Prior = "paper",
    rng: Rng,
    warm: Theta | None = None,
    starts: int = FRESH_STARTS,
    tolerance: float = PSEUDO_TOLERANCE,
    pseudo_points: int | None = None,
    block_size: int | None = None,
    reading: Reading = DEFAULT_READING,
    own_scale: bool = False,
) -> Fit:
    """Maximise the log posterior on M pairs (default 2n); `block_size` makes it a composite likelihood.

    With `own_scale` the labels of the pairs are standardised once more, by their own mean and deviation: they are not
    quite those of the data, and the paper does not say.
    """
    make = READINGS[choice("reading", reading, READINGS)]
    count = 2 * len(data) if pseudo_points is None else pseudo_points
    if count < len(data):
        raise InvalidInputError(f"pseudo_points={count} for {len(data)} observations; the loss needs M >= n")
    if block_size is not None and block_size < 1:
        raise InvalidInputError(f"block_size={block_size}; expected at least 1, or None for the loss in full")

    def pairs(data: Data, rng: Rng) -> Pairs:
        made = make(data, count, rng)
        return standardised(made) if own_scale else made

    climb = Climber("consistent", pairs, block_size=block_size)
    return climb(data, kernel=kernel, prior=prior, rng=rng, warm=warm, starts=starts, tolerance=tolerance)


def drawn(data: Data, count: int, rng: Rng) -> Pairs:
    """`count` uniform points and the labels of their nearest observed points; none where nothing was observed."""
    points = data.domain.uniform(rng, count if len(data) else 0)
    rows = nearest(data, points)
    return Pairs(points, data.y[rows], noise=data.noise and data.noise.at(rows))


def observed(data: Data, count: int, rng: Rng) -> Pairs:
    """The observed points nearest to `count` uniform draws, and the number of draws each is nearest to."""
    rows, copies = np.unique(nearest(data, data.domain.uniform(rng, count)), return_counts=True)
    return Pairs(data.X[rows], data.y[rows], copies.astype(np.float64), data.noise and data.noise.at(rows))


def distinct(data: Data, count: int, rng: Rng) -> Pairs:
    """The observed points nearest to some of `count` uniform draws."""
    found = observed(data, count, rng)
    return Pairs(found.X, found.y, noise=found.noise)


def standardised(pairs: Pairs) -> Pairs:
    """The same with labels of mean 0 and deviation 1, copies counted; labels without spread stay as they are."""
    mean = np.average(pairs.y, weights=pairs.copies)
    deviation = float(np.sqrt(np.average((pairs.y - mean) ** 2, weights=pairs.copies)))
    if deviation <= ROUNDING:
        return pairs
    noise = pairs.noise and Noise(pairs.noise.known / deviation**2, pairs.noise.shares)
    return Pairs(pairs.X, (pairs.y - mean) / deviation, pairs.copies, noise)


READINGS: dict[Reading, Callable[[Data, int, Rng], Pairs]] = {
    "observed": observed,
    "distinct": distinct,
    "drawn": drawn,
}
"""Reading -> the pairs it makes of the data and a number of uniform draws."""


def nearest(data: Data, points: Array) -> NDArray[np.intp]:
    """Row of the observed point nearest to each of `points`; a differing category counts as distance 1."""
    if not len(data):
        return np.zeros(0, dtype=np.intp)
    if not len(data.domain.categorical):
        from scipy.spatial import cKDTree  # here, because it would be a third of the time of `import uhebo`

        return np.asarray(cKDTree(data.X).query(points)[1])
    ones = np.ones(data.dimension)
    chunks = [
        squared_distance(points[start : start + CHUNK], data.X, ones, data.domain).argmin(axis=1)
        for start in range(0, len(points), CHUNK)
    ]
    return np.concatenate(chunks)
