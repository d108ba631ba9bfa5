"""A climb in a space with rules: back to the last allowed point on its way, and from there along the edge.

The edge of a rule that is an expression is where a residual is 0, and SLSQP (Kraft 1988, in SciPy) climbs along it. A
Python function only says yes or no: there a random search goes on, whose steps out of the region end on its edge, on
the ray from a point inside.
"""

import numpy as np
from numpy.typing import NDArray

from uhebo.acquire.functions import AnySurface
from uhebo.space import SearchSpace
from uhebo.space.evaluate import parts, violation
from uhebo.space.sampling import pulled
from uhebo.types import Array, Rng

ITERATIONS = 40
PROBE = 1e-7
"""Step of finite differences of residuals, as a share of a range."""
ROUNDS, STEPS = 24, 16
"""Rounds of the random search, and steps tried in each."""
SEARCHES = 2
"""Climbs that it goes on from, the best ones: a function is called for every step."""


def climbed_within(
    surface: AnySurface, space: SearchSpace, starts: Array, ends: Array, moving: NDArray[np.bool_]
) -> Array:
    """Where climbs from allowed `starts`, which led to `ends`, come to within the rules."""
    ends = space.snap(ends)
    edge = pulled(space, starts, ends)
    outside = np.flatnonzero(~space.allowed(ends))
    functions = any(rule.tree is None for rule in space.rules)
    for rank, i in enumerate(outside[np.argsort(-surface(edge[outside]), kind="stable")]):
        columns = np.flatnonzero(moving & space.active(starts[i : i + 1])[0])
        reached = [edge[i], _along_residuals(surface, space, edge[i], columns)]
        if functions and rank < SEARCHES:
            reached.append(_at_random(surface, space, starts[i], edge[i], columns))
        edge[i] = reached[int(np.argmax(surface(np.array(reached))))]
    return edge


def _along_residuals(surface: AnySurface, space: SearchSpace, row: Array, columns: NDArray[np.intp]) -> Array:
    """Ascent under the residuals of the rules; its end is pulled back into the region, to the last bit."""
    from scipy.optimize import minimize  # here, because it is needed where a rule is, and nowhere else

    tests = [part for rule in space.rules for part in parts(rule)]

    def residuals(rows: Array) -> Array:
        """(tests, rows), 0 or above where a test is kept."""
        scope = space.rule_scope(rows)
        return -np.array([violation(test, scope) for test in tests])

    def at(x: Array) -> Array:
        moved = row.copy()
        moved[columns] = x
        return moved

    here = residuals(row[None])[:, 0]
    measured = np.flatnonzero(np.isfinite(here))

    def descent(x: Array) -> tuple[float, Array]:
        value, gradient = surface.with_gradient(at(x)[None])
        return -float(value[0]), -gradient[0, columns]

    def kept(x: Array) -> Array:
        return np.asarray(np.nan_to_num(residuals(at(x)[None])[measured, 0], nan=-1e9, posinf=1e9, neginf=-1e9))

    def kept_slope(x: Array) -> Array:
        # Towards the middle of the range, so that no probe leaves it.
        steps = np.where(x > 0.5, -PROBE, PROBE)
        rows = np.tile(at(x), (len(columns) + 1, 1))
        rows[np.arange(len(columns)), columns] += steps
        found = residuals(rows)[measured]
        return np.asarray(np.nan_to_num((found[:, :-1] - found[:, -1:]) / steps, nan=0.0, posinf=0.0, neginf=0.0))

    if not len(columns) or not len(measured):
        return row
    found = minimize(
        descent,
        row[columns],
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * len(columns),
        constraints=[{"type": "ineq", "fun": kept, "jac": kept_slope}],
        options={"maxiter": ITERATIONS, "ftol": 1e-10},
    )
    if not np.isfinite(found.x).all():
        return row
    end = space.snap(at(np.clip(found.x, 0.0, 1.0)))[None]
    return np.asarray(pulled(space, row[None], end)[0])


def _at_random(surface: AnySurface, space: SearchSpace, inside: Array, row: Array, columns: NDArray[np.intp]) -> Array:
    """Random steps from the best point so far, at a scale that grows with success; always the same steps."""
    rng: Rng = np.random.default_rng(0)
    value, scale = float(surface(row[None])[0]), 0.1
    for _ in range(ROUNDS):
        rows = np.tile(row, (STEPS, 1))
        rows[:, columns] = np.clip(rows[:, columns] + scale * rng.standard_normal((STEPS, len(columns))), 0.0, 1.0)
        rows = pulled(space, np.tile(inside, (STEPS, 1)), space.snap(rows))
        values = surface(rows)
        best = int(np.argmax(values))
        if values[best] > value:
            row, value, scale = rows[best], float(values[best]), min(1.5 * scale, 0.3)
        else:
            scale *= 0.5
    return row
