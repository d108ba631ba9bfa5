"""Stationary ARD kernels, each a function of one squared scaled distance.

Notation used in all of `gp`:

    X       (n, d) inputs; numeric columns in the unit cube, categorical columns hold codes
    ell     (d,)   lengthscales;  v signal variance;  s2 noise variance
    r2      Σ_i (Δ_i / ell_i)²  with Δ_i the difference, or 0/1 (Hamming) in a categorical column
    k       v · value(r2)
    slope   d value / d r2; finite at r2 = 0 for every kernel here, so coinciding points need no special case

A kernel is one `Kernel` record; a new one is one more entry in `KERNELS`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from uhebo.checks import choice
from uhebo.gp.data import Domain
from uhebo.types import Array

LARGEST_EXPONENT = 100.0
"""Largest exponent: e^-100 is as good as zero beside a diagonal of 1, and smaller numbers turn into subnormal ones in a
Cholesky factorisation, which processors handle a hundred times slower."""

Exp = Callable[[Array], Array]
KernelName = Literal["matern52", "matern32", "se"]


@dataclass(frozen=True)
class Kernel:
    """A stationary kernel as a function of the squared scaled distance r2, at unit variance."""

    name: str
    formula: Callable[..., Array] = field(repr=False)
    """(r2, exp=np.exp) -> the kernel, by methods and operators alone: with torch's `exp` it works on tensors too."""
    value_and_slope: Callable[[Array], tuple[Array, Array]] = field(repr=False)
    """The kernel and its derivative in r2, which is overwritten: this is the inner loop of every fit, and its cost is
    memory traffic."""
    smoothness: float
    """nu of the Matérn family: sample paths have fewer derivatives than this; infinite where they have all."""
    value_alone: Callable[[Array], Array] | None = field(default=None, repr=False)
    """The kernel without its derivative, where that is faster; r2 is overwritten."""

    def value(self, r2: Array) -> Array:
        """The kernel; r2 is overwritten, which is three times faster on large matrices than to make new ones."""
        return self.value_and_slope(r2)[0] if self.value_alone is None else self.value_alone(r2)


def squared_distance(a: Array, b: Array, ell: Array, domain: Domain) -> Array:
    """r2 between the rows of `a` and of `b`, by differences, so that near-duplicates keep their distance."""
    from scipy.spatial.distance import cdist  # here, because it would be a third of the time of `import uhebo`

    scale = ell
    if len(domain.categorical):
        scale = ell.copy()
        scale[domain.categorical] = math.inf
    r2: Array = cdist(a / scale, b / scale, "sqeuclidean")
    for column in domain.categorical:
        r2 += (a[:, column, None] != b[None, :, column]) / ell[column] ** 2
    return r2


def _matern52(r2: Array, exp: Exp = np.exp) -> Array:
    """(1 + s + s²/3) e^{-s},  s = √(5 r2)."""
    s = ((5.0 * r2) ** 0.5).clip(max=LARGEST_EXPONENT)
    return (1.0 + s * (1.0 + s / 3.0)) * exp(-s)


def _matern52_alone(r2: Array) -> Array:
    r2 *= 5.0
    s = np.sqrt(r2, out=r2)
    np.minimum(s, LARGEST_EXPONENT, out=s)
    value = s / 3.0
    value += 1.0
    value *= s
    value += 1.0
    np.negative(s, out=s)
    value *= np.exp(s, out=s)
    return value


def _matern52_and_slope(r2: Array) -> tuple[Array, Array]:
    """slope = -5/6 (1 + s) e^{-s}."""
    r2 *= 5.0
    np.minimum(r2, LARGEST_EXPONENT**2, out=r2)
    s = np.sqrt(r2)
    decay = np.exp(-s)
    r2 *= 1.0 / 3.0
    s += 1.0
    r2 += s
    r2 *= decay
    s *= decay
    s *= -5.0 / 6.0
    return r2, s


def _matern32(r2: Array, exp: Exp = np.exp) -> Array:
    """(1 + s) e^{-s},  s = √(3 r2)."""
    s = ((3.0 * r2) ** 0.5).clip(max=LARGEST_EXPONENT)
    return (1.0 + s) * exp(-s)


def _matern32_and_slope(r2: Array) -> tuple[Array, Array]:
    """slope = -3/2 e^{-s}."""
    r2 *= 3.0
    s = np.sqrt(r2, out=r2)
    np.minimum(s, LARGEST_EXPONENT, out=s)
    decay = np.exp(-s)
    s += 1.0
    s *= decay
    decay *= -1.5
    return s, decay


def _squared_exponential(r2: Array, exp: Exp = np.exp) -> Array:
    """e^{-r2/2}."""
    return exp(-(0.5 * r2).clip(max=LARGEST_EXPONENT))


def _squared_exponential_and_slope(r2: Array) -> tuple[Array, Array]:
    """slope = -1/2 e^{-r2/2}."""
    r2 *= -0.5
    np.maximum(r2, -LARGEST_EXPONENT, out=r2)
    value = np.exp(r2, out=r2)
    return value, -0.5 * value


MATERN52 = Kernel("matern52", _matern52, _matern52_and_slope, 2.5, _matern52_alone)
KERNELS: dict[str, Kernel] = {
    kernel.name: kernel
    for kernel in (
        MATERN52,
        Kernel("matern32", _matern32, _matern32_and_slope, 1.5),
        Kernel("se", _squared_exponential, _squared_exponential_and_slope, math.inf),
    )
}
"""Name -> kernel."""


def named_kernel(kernel: str | Kernel) -> Kernel:
    """The kernel of that name; a `Kernel` passes through."""
    if isinstance(kernel, Kernel):
        return kernel
    return KERNELS[choice("kernel", kernel, KERNELS, also=", or pass a Kernel")]
