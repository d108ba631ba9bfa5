"""Cholesky factors that do not fail silently, by direct LAPACK calls: at n = 50 wrappers cost more than LAPACK."""

import numpy as np
from scipy.linalg import blas, lapack

from uhebo.errors import NumericalError
from uhebo.types import Array

JITTERS = (0.0, 1e-9, 1e-8, 1e-7)
"""Amounts added to the diagonal in turn, in units of its mean, until there is a factor."""


def safe_cholesky(matrix: Array, scale: float | None = None) -> tuple[Array, float]:
    """Lower factor L of `matrix` (symmetric; only the lower triangle is read) and the jitter that was needed.

    `scale` replaces the mean of the diagonal as the unit of jitter: where `matrix` is what remains of a larger one
    after conditioning, its own diagonal may be rounding error, of either sign.

    A NaN or infinity is an error of its own: jitter does not help.
    """
    if not np.isfinite(matrix).all():
        raise NumericalError("the covariance matrix has a NaN or infinite entry; check the inputs for such values")
    if not len(matrix):
        return matrix, 0.0
    if scale is None:
        scale = float(np.mean(np.diagonal(matrix)))
    for relative in JITTERS:
        jitter = relative * scale
        shifted = matrix.copy()
        shifted.flat[:: len(matrix) + 1] += jitter
        # A C-ordered lower triangle is a Fortran-ordered upper one: no copy is made on the way into LAPACK.
        factor, info = lapack.dpotrf(shifted.T, lower=0, clean=1, overwrite_a=1)
        if info == 0:
            return factor.T, jitter
    raise NumericalError(
        f"the covariance matrix of {len(matrix)} points is not positive definite even with jitter "
        f"{JITTERS[-1] * scale:.1e}; raise the noise floor or remove repeated points"
    )


def solve(factor: Array, right: Array, *, transposed: bool = False) -> Array:
    """L⁻¹ right, or L⁻ᵀ right, for a C-ordered lower factor L; `right` is (n,) or (n, m)."""
    if not right.size:
        return right.copy()
    solution: Array = blas.dtrsm(1.0, factor.T, right, lower=0, trans_a=not transposed)
    return solution.reshape(right.shape)


def inverse_diagonal(factor: Array) -> Array:
    """The diagonal of (L Lᵀ)⁻¹."""
    inverse, info = lapack.dpotri(factor.T, lower=0) if len(factor) else (factor, 0)
    if info != 0:
        raise NumericalError("the covariance matrix is singular to working precision; raise the noise floor")
    return np.diagonal(inverse)
