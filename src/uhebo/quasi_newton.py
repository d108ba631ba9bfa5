"""Bounded BFGS for many starts at once: every round is one batched evaluation of all starts still running.

SciPy's L-BFGS-B takes one start at a time and about 50 µs of Python per iteration, which at n = 50 is as much as the
likelihood itself; the number of variables here is small (d + 2, or d), so dense BFGS matrices cost nothing.

Each row: variables at a bound whose gradient points outward are held; the Newton step is solved in the others; the
trial point is projected on the box (Bertsekas 1982) and accepted by Armijo's rule, else the step shrinks by quadratic
interpolation. Curvature that is not positive is damped (Powell 1978), so the matrix stays positive definite without
a Wolfe search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Function = Callable[[Array], tuple[Array, Array]]
Selection = slice | NDArray[np.intp]


@dataclass(frozen=True)
class Minima:
    """What each start arrived at."""

    x: Array
    value: Array
    converged: NDArray[np.bool_]
    hessian: Array
    """The BFGS matrix at each end point, (R, p, p): a start for a similar problem."""
    rounds: int
    """Batched evaluations made."""


def minimise(
    function: Function,
    starts: Array,
    low: Array,
    high: Array,
    *,
    max_rounds: int = 200,
    gradient_tolerance: float = 1e-5,
    value_tolerance: float = 1e-9,
    first_step: float = 0.5,
    max_step: float = 2.0,
    race_tolerance: float | None = None,
    hessian: Array | None = None,
) -> Minima:
    """Minimise `function` (batch of points (R, p) -> values (R,), gradients (R, p)) from every row of `starts`.

    A row stops when its projected gradient is below `gradient_tolerance`, when two successive steps improve its value
    by less than `value_tolerance` relative to max(1, |value|), or when no step improves it at all. `first_step` and
    `max_step` bound the length (largest component) of the first and of any step.

    With `race_tolerance` the starts race: one that has become slow by this looser measure and is not in the lead stops,
    so that only the leader is followed to the end. `hessian` (R, p, p) replaces the identity as the first BFGS matrix.
    """
    x = _project(np.array(starts, dtype=np.float64, ndmin=2), low, high)
    value, gradient = function(x)
    rounds, p = 1, x.shape[1]
    result = Minima(x.copy(), value.copy(), np.zeros(len(x), dtype=bool), np.zeros((len(x), p, p)), rounds)
    # The state holds the rows still running and nothing else; `row` says which of the starts each of them is.
    state = _Rows.start(x, value, gradient, first_step if hessian is None else max_step, hessian)
    state = state.without(_is_flat(state, low, high, gradient_tolerance), result)
    if len(state.row):
        state.aim(slice(None), low, high, max_step)
    while len(state.row) and rounds < max_rounds:
        trial = _project(state.x + state.length[:, None] * state.step, low, high)
        moved = trial - state.x
        new_value, new_gradient = function(trial)
        rounds += 1
        expected = (state.gradient * moved).sum(axis=1)
        gain = state.value - new_value
        accepted = (gain >= -1e-4 * expected) & (expected < 0.0)
        every = bool(accepted.all())
        done = np.zeros(len(accepted), dtype=bool)
        if every or accepted.any():
            won: Selection = slice(None) if every else np.flatnonzero(accepted)
            state.bend(won, moved[won], new_gradient[won] - state.gradient[won])
            state.x[won], state.value[won], state.gradient[won] = trial[won], new_value[won], new_gradient[won]
            relative = gain[won] / np.maximum(1.0, np.abs(new_value[won]))
            state.slow[won] = np.where(relative <= value_tolerance, state.slow[won] + 1, 0)
            done = accepted & (_is_flat(state, low, high, gradient_tolerance) | (state.slow >= 2))
            if race_tolerance is not None:
                state.trailing[won] = np.where(relative <= race_tolerance, state.trailing[won] + 1, 0)
                done |= (state.trailing >= 2) & (state.value > result.value.min()) & (state.value > state.value.min())
            state.aim(won, low, high, max_step)
        if not every:
            lost = np.flatnonzero(~accepted)
            # Minimiser of the parabola through value, slope and trial value; kept within [0.1, 0.5] of the old length.
            slope = expected[lost]
            shrink = slope / (2.0 * np.minimum(gain[lost] + slope, -1e-300))
            state.length[lost] *= np.minimum(np.maximum(np.where(slope < 0.0, shrink, 0.5), 0.1), 0.5)
            longest = np.abs(state.step[lost]).max(axis=1) * state.length[lost]
            at_noise = -slope <= value_tolerance * np.maximum(1.0, np.abs(state.value[lost]))
            # No improvement is to be had at the precision asked for: that is convergence, not failure.
            done[lost] = (longest < 1e-9) | at_noise
        if done.any():
            state = state.without(done, result)
    state.without(np.zeros(len(state.row), dtype=bool), result, keep_all=True)
    return replace(result, rounds=rounds)


@dataclass
class _Rows:
    """The running starts: position, value, gradient, BFGS matrix, current step and its length."""

    row: NDArray[np.intp]
    x: Array
    value: Array
    gradient: Array
    hessian: Array
    step: Array
    length: Array
    limit: Array
    """Largest component the next step may have."""
    fresh: NDArray[np.bool_]
    """No step taken yet: the BFGS matrix is still the identity."""
    slow: NDArray[np.int64]
    """Successive steps that improved almost nothing."""
    trailing: NDArray[np.int64]
    """The same by the looser measure of a race."""

    @classmethod
    def start(cls, x: Array, value: Array, gradient: Array, first_step: float, hessian: Array | None) -> _Rows:
        rows, p = x.shape
        return cls(
            row=np.arange(rows),
            x=x,
            value=value,
            gradient=gradient,
            hessian=np.repeat(np.eye(p)[None], rows, axis=0) if hessian is None else hessian.copy(),
            step=np.zeros_like(x),
            length=np.ones(rows),
            limit=np.full(rows, first_step),
            fresh=np.full(rows, hessian is None),
            slow=np.zeros(rows, dtype=np.int64),
            trailing=np.zeros(rows, dtype=np.int64),
        )

    def without(self, done: NDArray[np.bool_], result: Minima, keep_all: bool = False) -> _Rows:
        """Write the finished rows (or, at the end, all) to `result` and keep the others."""
        leaving = slice(None) if keep_all else done
        result.x[self.row[leaving]] = self.x[leaving]
        result.value[self.row[leaving]] = self.value[leaving]
        result.hessian[self.row[leaving]] = self.hessian[leaving]
        result.converged[self.row[leaving]] = done[leaving]
        if keep_all or not done.any():
            return self
        return _Rows(**{entry.name: getattr(self, entry.name)[~done] for entry in fields(self)})

    def aim(self, rows: Selection, low: Array, high: Array, max_step: float) -> None:
        """Newton step in the free variables of the chosen rows."""
        x, gradient = self.x[rows], self.gradient[rows]
        held = ((x <= low) & (gradient > 0.0)) | ((x >= high) & (gradient < 0.0))
        matrix, target = self.hessian[rows], -gradient
        if held.any():
            free = ~held
            matrix = np.where(free[:, :, None] & free[:, None, :], matrix, 0.0)
            diagonal = np.arange(x.shape[1])
            matrix[:, diagonal, diagonal] += held
            target = np.where(free, target, 0.0)
        direction = np.linalg.solve(matrix, target[..., None])[..., 0]
        uphill = (direction * target).sum(axis=1) <= 0.0
        if uphill.any():
            direction[uphill] = target[uphill]
        largest = np.maximum(np.abs(direction).max(axis=1), 1e-300)
        direction *= np.minimum(1.0, self.limit[rows] / largest)[:, None]
        self.step[rows] = direction
        self.length[rows] = 1.0
        self.limit[rows] = max_step

    def bend(self, rows: Selection, s: Array, y: Array) -> None:
        """Damped BFGS update of the chosen rows; the first one rescales the identity (Shanno & Phua 1978)."""
        sy = (s * y).sum(axis=1)
        hessian = self.hessian[rows]
        fresh = self.fresh[rows]
        if fresh.any():
            ratio = np.where(sy > 0.0, (y * y).sum(axis=1) / np.maximum(sy, 1e-300), 1.0)
            scale = np.where(fresh, np.minimum(np.maximum(ratio, 1e-8), 1e12), 1.0)
            hessian = hessian * scale[:, None, None]
            self.fresh[rows] = False
        b_s = (hessian @ s[:, :, None])[:, :, 0]
        s_b_s = np.maximum((s * b_s).sum(axis=1), 1e-300)
        damping = np.where(sy < 0.2 * s_b_s, 0.8 * s_b_s / np.maximum(s_b_s - sy, 1e-300), 1.0)[:, None]
        y = damping * y + (1.0 - damping) * b_s
        s_y = np.maximum((s * y).sum(axis=1), 1e-300)
        b_s /= np.sqrt(s_b_s)[:, None]
        y /= np.sqrt(s_y)[:, None]
        self.hessian[rows] = hessian + (y[:, :, None] * y[:, None, :] - b_s[:, :, None] * b_s[:, None, :])


def _project(x: Array, low: Array, high: Array) -> Array:
    """`np.clip` does the same and takes three times as long on a few numbers."""
    return np.asarray(np.minimum(np.maximum(x, low), high))


def _is_flat(state: _Rows, low: Array, high: Array, tolerance: float) -> NDArray[np.bool_]:
    """Rows whose step x -> project(x - gradient) is zero up to the tolerance: constrained stationary points."""
    change = _project(state.x - state.gradient, low, high) - state.x
    return np.asarray(np.abs(change).max(axis=1) <= tolerance)
