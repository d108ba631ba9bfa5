"""Bounded BFGS for many starts at once: every round is one batched evaluation of all starts still running.

SciPy's L-BFGS-B takes one start at a time and about 50 µs of Python per iteration, which at n = 50 is as much as the
likelihood itself; the number of variables here is small (d + 2, or d), so dense BFGS matrices cost nothing.

Each row: variables at a bound whose gradient points outward are held; the Newton direction is solved for in the others;
the trial point is projected onto the box (Bertsekas 1982) and accepted by Armijo's rule, else a line search backtracks
by quadratic interpolation. Updates with curvature that is not positive are damped (Powell 1978), so the matrix stays
positive definite without a Wolfe search. A row whose value is not finite has failed there: a trial
point that fails is backed away from, a start that fails stays where it is and does not converge.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from uhebo.types import Array

BatchFunction = Callable[[Array], tuple[Array, Array]]
"""Points (R, p) -> values (R,), gradients (R, p); a value that is not finite is a failure there."""


@dataclass(frozen=True)
class Minima:
    """What each start arrived at."""

    x: Array
    value: Array
    converged: NDArray[np.bool_]
    rounds: int
    """Batched evaluations made."""


def minimise(
    function: BatchFunction,
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
    """Minimise `function` from every row of `starts`.

    A row stops when its projected gradient is below `gradient_tolerance`, when a step improves its value by less than
    `value_tolerance` relative to max(1, |value|) and the next one promises no more, when two successive steps do, or
    when no step improves it at all. `first_step` and `max_step` bound the largest component of the first and of any
    step.

    With `race_tolerance` the starts race: one that has become slow by this looser measure and is not in the lead stops,
    so that only the leader is followed to the end. `hessian` (R, p, p) replaces the identity as the first BFGS matrix.
    """
    x = _project(np.array(starts, dtype=np.float64, ndmin=2), low, high)
    value, gradient = function(x)
    failed = ~(np.isfinite(value) & np.isfinite(gradient).all(axis=1))
    value, gradient = np.where(failed, np.inf, value), np.where(failed[:, None], 0.0, gradient)
    rounds = 1
    result = Minima(x.copy(), value.copy(), np.zeros(len(x), dtype=bool), rounds)
    # The state holds the rows still running and nothing else; `row` says which of the starts each of them is.
    rows, p = x.shape
    state = _Rows(
        row=np.arange(rows),
        x=x,
        value=value,
        gradient=gradient,
        hessian=np.repeat(np.eye(p)[None], rows, axis=0) if hessian is None else hessian.copy(),
        step=np.zeros_like(x),
        slope=np.zeros(rows),
        length=np.ones(rows),
        limit=np.full(rows, first_step if hessian is None else max_step),
        fresh=np.full(rows, hessian is None),
        slow=np.zeros(rows, dtype=np.int64),
        trailing=np.zeros(rows, dtype=np.int64),
    )
    stationary = state.search_direction(low, high, gradient_tolerance)
    result.converged[stationary & ~failed] = True
    state = state.without(stationary, result)
    while len(state.row) and rounds < max_rounds:
        trial, moved, expected = state.propose(low, high)
        new_value, new_gradient = function(trial)
        rounds += 1
        gain = state.value - new_value
        accepted = gain >= -1e-4 * expected
        done = behind = np.zeros(len(accepted), dtype=bool)
        if not accepted.all():
            done = state.backtrack(~accepted, gain, expected, value_tolerance)
        if accepted.any():
            state.accept(accepted, trial, moved, new_value, new_gradient)
            relative = gain / np.maximum(1.0, np.abs(state.value))
            state.slow = np.where(accepted, (state.slow + 1) * (relative <= value_tolerance), state.slow)
            state.limit[accepted] = max_step
            stationary = state.search_direction(low, high, gradient_tolerance)
            # One small gain may be a bad step; one that promised no more than it gave is the end.
            spent = (state.slow >= 1) & (-state.slope <= 2.0 * value_tolerance * np.maximum(1.0, np.abs(state.value)))
            done = done | (accepted & (stationary | spent | (state.slow >= 2)))
            if race_tolerance is not None and len(result.value) > 1:
                state.trailing = np.where(accepted, (state.trailing + 1) * (relative <= race_tolerance), state.trailing)
                leader = min(state.value.min(), result.value.min())
                behind = accepted & ~done & (state.trailing >= 2) & (state.value > leader)
        if done.any() or behind.any():
            result.converged[state.row[done]] = True
            state = state.without(done | behind, result)
    state.without(np.ones(len(state.row), dtype=bool), result)
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
    slope: Array
    """Directional derivative along the step; negative."""
    length: Array
    limit: Array
    """Largest component the next step may have."""
    fresh: NDArray[np.bool_]
    """No step taken yet: the BFGS matrix is still the identity."""
    slow: NDArray[np.int64]
    """Successive steps that improved almost nothing."""
    trailing: NDArray[np.int64]
    """The same by the looser measure of a race."""

    def without(self, leaving: NDArray[np.bool_], result: Minima) -> "_Rows":
        """Write the rows that leave to `result` and keep the others."""
        if not leaving.any():
            return self
        rows = self.row[leaving]
        result.x[rows], result.value[rows] = self.x[leaving], self.value[leaving]
        return _Rows(**{entry.name: getattr(self, entry.name)[~leaving] for entry in fields(self)})

    def propose(self, low: Array, high: Array) -> tuple[Array, Array, Array]:
        """Trial points in the box, their distance, and the first-order change expected of them (negative)."""
        trial, moved, expected = self._trial(low, high)
        turned = expected > 0.1 * self.length * self.slope
        if turned.any():
            # The projection took away most of the descent: go only as far as the first bound on the way.
            ahead = np.where(self.step > 0.0, high - self.x, low - self.x)
            with np.errstate(divide="ignore", invalid="ignore"):
                first = np.nanmin(np.where(self.step == 0.0, np.inf, ahead / self.step), axis=1)
            self.length = np.where(turned, np.minimum(self.length, first), self.length)
            trial, moved, expected = self._trial(low, high)
        return trial, moved, expected

    def _trial(self, low: Array, high: Array) -> tuple[Array, Array, Array]:
        trial = _project(self.x + self.length[:, None] * self.step, low, high)
        moved = trial - self.x
        return trial, moved, _dot(self.gradient, moved)

    def backtrack(self, rows: NDArray[np.bool_], gain: Array, expected: Array, tolerance: float) -> NDArray[np.bool_]:
        """Shorten the step of these rows; returns those for which that is pointless."""
        # Minimiser of the parabola through value, slope and trial value, within [0.1, 0.5] of the old length.
        shrink = np.minimum(np.maximum(expected / (2.0 * np.fmin(gain + expected, -1e-300)), 0.1), 0.5)
        self.length[rows] *= shrink[rows]
        longest = np.abs(self.step).max(axis=1) * self.length
        at_noise = -expected <= tolerance * np.maximum(1.0, np.abs(self.value))
        # No improvement is to be had at the precision asked for: that is convergence, not failure.
        return np.asarray(rows & (at_noise | (longest < 1e-9)))

    def accept(self, rows: NDArray[np.bool_], trial: Array, moved: Array, value: Array, gradient: Array) -> None:
        """Move these rows to their trial points and update their BFGS matrices; the others stay."""
        change = gradient - self.gradient
        if rows.all():
            self.x, self.value, self.gradient = trial, value, gradient
            self.length = np.ones(len(rows))
        else:
            column = rows[:, None]
            moved, change = np.where(column, moved, 0.0), np.where(column, change, 0.0)
            self.x, self.gradient = np.where(column, trial, self.x), np.where(column, gradient, self.gradient)
            self.value, self.length = np.where(rows, value, self.value), np.where(rows, 1.0, self.length)
        self.bfgs_update(moved, change)

    @np.errstate(over="ignore", invalid="ignore")  # overflow is caught at the end
    def bfgs_update(self, s: Array, y: Array) -> None:
        """Damped BFGS update; the first one of a row rescales the identity (Shanno & Phua 1978)."""
        s_y = _dot(s, y)
        if self.fresh.any():
            first = self.fresh & (s_y != 0.0)
            ratio = np.where(first & (s_y > 0.0), _dot(y, y) / np.maximum(s_y, 1e-300), 1.0)
            self.hessian *= np.minimum(np.maximum(ratio, 1e-8), 1e12)[:, None, None]
            self.fresh &= ~first
        b_s = (self.hessian @ s[:, :, None])[:, :, 0]
        s_b_s = _dot(s, b_s)
        weak = s_y < 0.2 * s_b_s
        if weak.any():
            damping = np.where(weak, 0.8 * s_b_s / np.maximum(s_b_s - s_y, 1e-300), 1.0)[:, None]
            y = damping * y + (1.0 - damping) * b_s
            s_y = _dot(s, y)
        # The floors let the terms vanish where a step was so short that its curvature is rounding error.
        y = y / np.sqrt(np.maximum(s_y, 1e-30))[:, None]
        b_s /= np.sqrt(np.maximum(s_b_s, 1e-30))[:, None]
        self.hessian += y[:, :, None] * y[:, None, :]
        self.hessian -= b_s[:, :, None] * b_s[:, None, :]
        lost = ~np.isfinite(self.hessian).all(axis=(1, 2))
        if lost.any():  # curvature beyond the range of doubles: start again from the identity
            self.hessian[lost] = np.eye(s.shape[1])
            self.fresh[lost] = True

    def search_direction(self, low: Array, high: Array, tolerance: float) -> NDArray[np.bool_]:
        """Newton direction in the free variables, as the next step; returns the rows that are stationary already.

        A row that did not move gets the step it had.
        """
        at_low, at_high = self.x <= low, self.x >= high
        held = (at_low & (self.gradient > 0.0)) | (at_high & (self.gradient < 0.0))
        target = np.where(held, 0.0, -self.gradient)
        direction = _newton(self.hessian, target, held)
        outward = (at_low & (direction < 0.0)) | (at_high & (direction > 0.0))
        if outward.any():
            # Coupled to the others, these would leave the box although their own gradient points inward.
            direction = _newton(self.hessian, np.where(outward, 0.0, target), held | outward)
        slope = -_dot(direction, target)
        if not slope.max() < 0.0:
            uphill = ~(slope < 0.0)
            direction[uphill] = target[uphill]
            slope = -_dot(direction, target)
        largest = np.abs(direction).max(axis=1)
        if (largest > self.limit).any():
            scale = np.minimum(1.0, self.limit / np.maximum(largest, 1e-300))
            direction *= scale[:, None]
            slope *= scale
        self.step, self.slope = direction, slope
        return np.asarray(np.abs(target).max(axis=1) <= tolerance)


def _newton(hessian: Array, target: Array, held: NDArray[np.bool_]) -> Array:
    """Solution of hessian · direction = target in the variables not held; `target` where there is none."""
    if held.any():
        free = ~held
        hessian = np.where(free[:, :, None] & free[:, None, :], hessian, 0.0)
        diagonal = np.arange(held.shape[1])
        hessian[:, diagonal, diagonal] += held
    try:
        return np.asarray(np.linalg.solve(hessian, target[..., None])[..., 0])
    except np.linalg.LinAlgError:
        return target.copy()


def _project(x: Array, low: Array, high: Array) -> Array:
    """`np.clip` does the same and takes three times as long on a few numbers."""
    return np.asarray(np.minimum(np.maximum(x, low), high))


def _dot(a: Array, b: Array) -> Array:
    """Inner products of the rows."""
    return np.asarray((a * b).sum(axis=1))
