"""Stationary ARD kernels, each a function of one squared scaled distance.

Notation used in all of `gp`:

    X       (n, d) inputs; numeric columns in the unit cube, categorical columns hold codes
    ell     (d,)   lengthscales;  v signal variance;  s2 noise variance
    r2      Σ_i (Δ_i / ell_i)²  with Δ_i the difference, or 0/1 (Hamming) in a categorical column
    k       v · shape(r2)
    slope   d shape / d r2; finite at r2 = 0 for every kernel here, so coinciding points need no special case
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from uhebo.errors import InvalidInputError
from uhebo.gp.domain import Domain
from uhebo.types import Array

KernelName = Literal["matern52", "matern32", "se"]
KERNELS: tuple[KernelName, ...] = get_args(KernelName)
FARTHEST = 100.0
"""Exponents stop here: e^-100 is as good as zero beside a diagonal of 1, and smaller numbers turn into subnormal ones
in a Cholesky factorisation, which processors handle a hundred times slower."""


def check_kernel(name: str) -> KernelName:
    """`name` as a kernel's name, or a typed error."""
    for kernel in KERNELS:
        if name == kernel:
            return kernel
    raise InvalidInputError(f"unknown kernel {name!r}; choose one of {', '.join(KERNELS)}")


def squared_distance(a: Array, b: Array, ell: Array, domain: Domain) -> Array:
    """r2 between the rows of `a` and of `b`, by differences, so that near-duplicates keep their distance."""
    from scipy.spatial.distance import cdist  # here, because it would be a third of the time of `import uhebo`

    numeric = domain.numeric
    if len(numeric) == domain.dimension:
        r2: Array = cdist(a / ell, b / ell, "sqeuclidean")
        return r2
    if len(numeric):
        r2 = cdist(a[:, numeric] / ell[numeric], b[:, numeric] / ell[numeric], "sqeuclidean")
    else:
        r2 = np.zeros((len(a), len(b)))
    for column in domain.categorical:
        r2 += (a[:, column, None] != b[None, :, column]) / ell[column] ** 2
    return r2


def shape(kernel: KernelName, r2: Array) -> Array:
    """The kernel at unit variance.

    matern52  (1 + s + s²/3) e^{-s},  s = √(5 r2)
    matern32  (1 + s) e^{-s},         s = √(3 r2)
    se        e^{-r2/2}
    """
    if kernel == "se":
        return np.exp(-np.minimum(0.5 * r2, FARTHEST))
    s = np.minimum(np.sqrt((3.0 if kernel == "matern32" else 5.0) * r2), FARTHEST)
    decay = np.exp(-s)
    return (1.0 + s) * decay if kernel == "matern32" else (1.0 + s * (1.0 + s / 3.0)) * decay


def shape_and_slope(kernel: KernelName, r2: Array) -> tuple[Array, Array]:
    """The kernel at unit variance and its derivative in r2.

    matern52  slope = -5/6 (1 + s) e^{-s}
    matern32  slope = -3/2 e^{-s}
    se        slope = -1/2 e^{-r2/2}

    `r2` is overwritten: this is the inner loop of every fit and its cost is memory traffic.
    """
    if kernel == "se":
        r2 *= -0.5
        np.maximum(r2, -FARTHEST, out=r2)
        value = np.exp(r2, out=r2)
        return value, -0.5 * value
    if kernel == "matern32":
        r2 *= 3.0
        s = np.sqrt(r2, out=r2)
        np.minimum(s, FARTHEST, out=s)
        decay = np.exp(-s)
        s += 1.0
        s *= decay
        decay *= -1.5
        return s, decay
    r2 *= 5.0
    np.minimum(r2, FARTHEST**2, out=r2)
    s = np.sqrt(r2)
    decay = np.exp(-s)
    r2 *= 1.0 / 3.0
    s += 1.0
    r2 += s
    r2 *= decay
    s *= decay
    s *= -5.0 / 6.0
    return r2, s
