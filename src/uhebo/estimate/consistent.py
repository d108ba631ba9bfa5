"""The paper's consistent loss, in full or in blocks, and the thinned variant.

`consistent`: draw M ≥ n points x' i.i.d. uniformly in the domain, label each with the y of its nearest observed point
(L2 in the unit cube), and maximise the same log posterior on the pairs (x', y(nn(x'))). The paper's equation prints x
where its text defines x'; x' is meant. The points are drawn anew from `rng` at every call.

Because the x' are i.i.d., any subset is a smaller sample of the same loss. So the loss may be split into random blocks
whose likelihoods add up (a composite likelihood): the cost then grows linearly with M instead of with its cube.

`thinned`: the ordinary loss on the distinct observed points that are nearest to some x', with their own x. It keeps the
paper's argument (the kept points resemble an i.i.d. sample) and drops its label error.
"""

import numpy as np
from numpy.typing import NDArray

from uhebo.errors import InvalidInputError
from uhebo.estimate.estimator import Fit
from uhebo.estimate.fit import FRESH_STARTS, Climber
from uhebo.gp.data import Data, Theta
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
) -> Fit:
    """Maximise the log posterior on M pseudo-points (default 2n); `block_size` makes it a composite likelihood."""
    count = 2 * len(data) if pseudo_points is None else pseudo_points
    if count < len(data):
        raise InvalidInputError(f"pseudo_points={count} for {len(data)} observations; the loss needs M >= n")
    if block_size is not None and block_size < 1:
        raise InvalidInputError(f"block_size={block_size}; expected at least 1, or None for the loss in full")
    climb = Climber("consistent", lambda data, rng: pseudo_data(data, count, rng), block_size=block_size)
    return climb(data, kernel=kernel, prior=prior, rng=rng, warm=warm, starts=starts, tolerance=tolerance)


def thinned_pairs(data: Data, rng: Rng) -> tuple[Array, Array]:
    """The distinct observed points nearest to 2n uniform draws."""
    kept = np.unique(nearest(data, data.domain.uniform(rng, 2 * len(data))))
    return data.X[kept], data.y[kept]


thinned_estimate = Climber("thinned", thinned_pairs)
"""Maximise the log posterior on the observed points that are nearest to some pseudo-point."""


def pseudo_data(data: Data, count: int, rng: Rng) -> tuple[Array, Array]:
    """`count` uniform points and the labels of their nearest observed points; none where nothing was observed."""
    points = data.domain.uniform(rng, count if len(data) else 0)
    return points, data.y[nearest(data, points)]


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
