"""Uniform points of a space with rules, the edge of what they allow, and the error where they allow nothing.

Rejection is exact and does while a few rows in a thousand are allowed. In a thinner region the points that were found,
or one that a descent of the violation leads to, start a random walk: slice sampling (Neal 2003) along coordinates,
random directions and differences of the points, whose stationary distribution is the uniform one.
"""

import ast
from typing import TYPE_CHECKING

import numpy as np

from uhebo.errors import InvalidInputError
from uhebo.space.columns import Continuous
from uhebo.space.evaluate import parts, violation
from uhebo.types import Array, Rng

if TYPE_CHECKING:
    from uhebo.space.search_space import SearchSpace

BATCH = 4096
"""Rows drawn at a time."""
MOST_DRAWS = 40_960
"""Rows drawn before a walk takes over; a tenth of it where a rule is a Python function, called for each row."""
SEARCHED = 10
"""Times as many rows drawn before a region counts as too thin to be hit."""
WALK = 24
"""Steps of the random walk."""
SHRINKS = 40
"""Halvings, or so, of a step of the walk before it stays where it is."""
BISECTIONS, FEW_BISECTIONS = 30, 16
"""Halvings of a segment in the search for its last allowed point (to 1e-9 of it); fewer where each calls a function."""
MOST_POINTS = 100_000
"""Points of a discrete space that may be listed."""
DESCENTS = 6
MARGINS = (1e-2, 1e-4, 1e-7, 0.0)
"""Residuals that a descent aims at: well inside first."""


def uniform(space: "SearchSpace", rng: Rng, count: int) -> Array:
    """`count` uniform rows that are points of the space, (count, d)."""
    if not space.rules:
        return space.settled(space.domain.rows(rng, count))
    found = np.empty((0, len(space.names)))
    limit = MOST_DRAWS // 10 if any(rule.tree is None for rule in space.rules) else MOST_DRAWS
    drawn = 0
    while len(found) < count and drawn < limit:
        rows = space.settled(space.domain.rows(rng, min(BATCH, max(64, 4 * (count - len(found))))))
        drawn += len(rows)
        found = np.concatenate([found, rows[space.allowed(rows)]])
    if len(found) >= count:
        return found[:count]
    seeds = np.concatenate([found, space.seeds])
    return np.concatenate([found, walk(space, seeds, rng, count - len(found))])


def list_points(space: "SearchSpace") -> Array | None:
    """Every point of a discrete space, each once; None where there are more than can be listed."""
    rows, left = space.neutral[None], list(space.names)
    while left:
        # Parents first: what they decide is known when its turn comes.
        name = next(n for n in left if n not in space.conditions or not {*space.conditions[n].names} & {*left})
        column = space.names.index(name)
        left.remove(name)
        on, count = space.active(rows)[:, column], space.columns[name].count
        if len(rows) + on.sum() * (count - 1) > MOST_POINTS:
            return None
        varied = np.repeat(rows[on], count, axis=0)
        varied[:, column] = np.tile(space.grid(column), int(on.sum()))
        rows = np.concatenate([rows[~on], varied])
    rows = rows[space.allowed(rows)]
    return rows if len(rows) else space.seeds


def find_allowed(space: "SearchSpace") -> Array:
    """Some points that the rules allow, always the same; an error that shows the rules where none is found."""
    _refuse_equations(space)
    rng = np.random.default_rng(0)
    functions = any(rule.tree is None for rule in space.rules)
    least: list[Array] = []
    for _ in range(SEARCHED * MOST_DRAWS // BATCH // (10 if functions else 1)):
        rows = space.settled(space.domain.rows(rng, BATCH))
        allowed = rows[space.allowed(rows)]
        if len(allowed):
            return np.asarray(allowed[:64])
        if not functions:
            least.append(rows[np.argsort(total_violation(space, rows), kind="stable")[:DESCENTS]])
    if least:
        rows = np.concatenate(least)
        best = rows[np.argsort(total_violation(space, rows), kind="stable")[:DESCENTS]]
        reached = np.array([_descend(space, row) for row in best])
        reached = reached[space.allowed(reached)]
        if len(reached):
            return np.asarray(reached)
    raise _nothing(space)


def total_violation(space: "SearchSpace", rows: Array, margin: float = 0.0) -> Array:
    """How far rows are from keeping to all rules, in the units of the rules; 0 where they do."""
    scope = space.rule_scope(rows)
    each = [np.maximum(violation(rule, scope) + margin, 0.0) for rule in space.rules]
    return np.asarray(np.minimum(np.nan_to_num(np.sum(each, axis=0), nan=1e30, posinf=1e30), 1e30))


def _descend(space: "SearchSpace", row: Array) -> Array:
    """The row moved in its continuous columns until the rules hold, if that leads anywhere."""
    from scipy.optimize import minimize  # here, because it is needed where a region is thin and nowhere else

    free = np.flatnonzero((np.asarray(space.values) == 0) & space.active(row[None])[0] & ~space.parents)
    for margin in MARGINS:
        if not len(free):
            break

        def squared(x: Array, margin: float = margin) -> float:
            moved = row.copy()
            moved[free] = x
            return float(total_violation(space, moved[None], margin)[0]) ** 2

        options = {"xatol": 1e-12, "fatol": 0.0, "maxiter": 400 * len(free)}
        found = minimize(squared, row[free], method="Nelder-Mead", bounds=[(0.0, 1.0)] * len(free), options=options)
        moved = row.copy()
        moved[free] = np.clip(found.x, 0.0, 1.0)
        if space.allowed(moved[None])[0]:
            return moved
    return row


def _nothing(space: "SearchSpace", why: str = "; widen the ranges or loosen the rules") -> InvalidInputError:
    texts = ", ".join(repr(rule.text) for rule in space.rules)
    return InvalidInputError(f"no point of the space keeps to {texts}, as far as was found{why}")


def _refuse_equations(space: "SearchSpace") -> None:
    """An equation with a continuous parameter may hold at single doubles, but there is no region to search."""
    for part in (part for rule in space.rules for part in parts(rule)):
        equation = isinstance(part.tree, ast.Compare) and isinstance(part.tree.ops[0], ast.Eq)
        read = (
            {node.id for node in ast.walk(part.tree) if isinstance(node, ast.Name)} if equation and part.tree else set()
        )
        if any(isinstance(space.columns.get(name), Continuous) for name in read):
            raise _nothing(
                space,
                ": an equation with a continuous parameter leaves a region of measure zero; leave that parameter out "
                "and work it out from the others",
            )


def walk(space: "SearchSpace", seeds: Array, rng: Rng, count: int) -> Array:
    """`count` points reached by random walks from allowed ones."""
    rows = seeds[rng.integers(len(seeds), size=count)]
    numeric = (np.asarray(space.domain.categories) == 0) & ~space.parents
    discrete = np.flatnonzero((np.asarray(space.values) > 0) | space.parents)
    for step in range(WALK):
        if len(discrete) and step % 3 == 0:
            rows = _redrawn(space, rows, rng.choice(discrete, count), rng)
        if numeric.any():
            rows = _slice_step(space, rows, np.where(numeric, _directions(seeds, rows, rng, step), 0.0), rng)
    return rows


def _directions(seeds: Array, rows: Array, rng: Rng, step: int) -> Array:
    if step % 3 == 0:
        return np.eye(rows.shape[1])[rng.integers(rows.shape[1], size=len(rows))]
    if step % 3 == 1 or len(seeds) < 2:
        return np.asarray(rng.standard_normal(rows.shape))
    return np.asarray(seeds[rng.integers(len(seeds), size=len(rows))] - seeds[rng.integers(len(seeds), size=len(rows))])


def _redrawn(space: "SearchSpace", rows: Array, columns: Array, rng: Rng) -> Array:
    """One column of each row drawn anew, and what has become active with it; kept where that is allowed."""
    fresh = space.domain.rows(rng, len(rows))
    moved = rows.copy()
    each = np.arange(len(rows))
    moved[each, columns] = fresh[each, columns]
    moved = space.settled(np.where(space.active(moved) & ~space.active(rows), fresh, moved))
    return np.where(space.allowed(moved)[:, None], moved, rows)


def _slice_step(space: "SearchSpace", rows: Array, directions: Array, rng: Rng) -> Array:
    """A uniform position on the allowed part of the line through each row, by shrinking towards the row."""
    directions = np.where(space.active(rows), directions, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        to_low, to_high = -rows / directions, (1.0 - rows) / directions
    moves = directions != 0.0
    low = np.where(moves, np.minimum(to_low, to_high), -np.inf).max(axis=1)
    high = np.where(moves, np.maximum(to_low, to_high), np.inf).min(axis=1)
    waiting = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(waiting, low, 0.0), np.where(waiting, high, 0.0)
    result = rows.copy()
    for _ in range(SHRINKS):
        if not waiting.any():
            break
        at = low + (high - low) * rng.random(len(rows))
        moved = np.clip(rows + at[:, None] * directions, 0.0, 1.0)
        moved = np.where(moves, moved, rows)
        good = waiting & space.allowed(moved)
        result[good] = moved[good]
        waiting &= ~good
        low, high = np.where(at < 0.0, at, low), np.where(at < 0.0, high, at)
    return result


def pulled(space: "SearchSpace", inside: Array, outside: Array) -> Array:
    """For each pair of rows the last allowed point on the way from `inside`, which is allowed, to `outside`.

    Only numbers move; where other columns differ, those of `inside` stay.
    """
    result = outside.copy()
    bad = ~space.allowed(outside)
    if not bad.any():
        return result
    inside, outside = inside[bad], outside[bad]
    numeric = (np.asarray(space.domain.categories) == 0) & ~space.parents
    way = np.where(numeric & space.active(inside), outside - inside, 0.0)
    low, high = np.zeros(len(inside)), np.ones(len(inside))
    for _ in range(FEW_BISECTIONS if any(rule.tree is None for rule in space.rules) else BISECTIONS):
        middle = 0.5 * (low + high)
        allowed = space.allowed(inside + middle[:, None] * way)
        low, high = np.where(allowed, middle, low), np.where(allowed, high, middle)
    result[bad] = space.snap(inside + low[:, None] * way)
    return result
