"""What the model believes, and how well it predicts.

Importances, slices through the best point, maps of the two parameters that matter most; then each value predicted from
all the others, and the coverage of the intervals.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from optuna.trial import FrozenTrial
from scipy.special import ndtri

from uhebo.belief import Belief
from uhebo.diagnosis.calibration import Calibration
from uhebo.diagnosis.importance import WITHOUT_RULES
from uhebo.gp.kernels import squared_distance
from uhebo.report import theme
from uhebo.report.axes import CURVE, SURFACE, ParameterAxis, entries
from uhebo.report.chart import Area, Axis, Chart, Layer, Line, Points, Rods, Surface, Symbol, Texts, fitted, thinned
from uhebo.report.text import in_figure, shown
from uhebo.report.theme import Picture
from uhebo.report.view import StudyView
from uhebo.space.moves import switched
from uhebo.types import Array

MOST_SLICES = 12
MOST_BARS = 20
LOWEST = 140.0
"""Pixels of the bars in all: few of them stand beside a picture of twice that height."""
MOST_MARKS = 400
"""Maximum trials drawn on a slice, on the map, or against their predictions."""
BAND = (0.025, 0.5, 0.975)
"""Levels of the band around a slice, and of the line in it."""
LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
FEWEST = 3
"""Values from which on there is something to draw."""
EVEN = 0.5
"""Chance to keep the constraints below which a place is shown as likely infeasible."""


def importance(view: StudyView) -> Iterator[Picture]:
    """Total Sobol index of each parameter, largest on top, with its 90 % interval."""
    ranked = [row for row in view.diagnosis.importance if row.total is not None][:MOST_BARS]
    if len(ranked) < 2:
        return
    places = [-float(i) for i in range(len(ranked))]
    low, total, high = np.array([(row.total_low, row.total, row.total_high) for row in ranked], dtype=np.float64).T
    figures = [f"{t:.0%} ({a:.0%} to {b:.0%})" for t, a, b in zip(total, low, high, strict=True)]
    layers: list[Layer] = [
        Rods(places, total.tolist(), "share of the variation", theme.MODEL),
        Points(total.tolist(), places, "90 % interval", theme.MODEL, "dash", 0.0, across=theme.ends(low, high)),
        Texts([0.0] * len(places), places, [in_figure(row.name) for row in ranked], rise=10.0),
        Texts([1.0] * len(places), places, figures, "end", rise=10.0, quiet=True),
    ]
    chart = Chart(
        layers,
        Axis(0.0, 1.0, f"share of the variation of {in_figure(view.target)}", percent=True),
        Axis(places[-1] - 0.4, 0.75, hidden=True),
        height=max(40.0 * len(ranked) + 8.0, LOWEST),
        legend=False,
    )
    sentence = (
        f"Share of the variation of {shown(view.target)} that depends on each parameter, alone or with others, as far "
        f"as the model can tell: most on {shown(ranked[0].name)}. Lines and brackets: 90 % intervals."
        + WITHOUT_RULES
        * bool(view.space.rules)
    )
    yield Picture("importance", "Which parameters matter", sentence, chart, "first")


def slices(view: StudyView) -> Iterator[Picture]:
    """One picture per parameter: median and 95 % band through the best point that has it, and the trials, projected."""
    belief = view.diagnosis.belief
    if belief is None:
        return
    leaders = np.array([view.rows[trial.number] for trial in view.leaders])
    for rank, name in enumerate(view.ranked[:MOST_SLICES], 1):
        axis, column = view.axes[name], view.space.names.index(name)
        along = entries(view.space, name, CURVE)
        best = view.best_with(name)
        if best is None:
            continue
        origin = view.rows[best.number]
        rows = np.tile(origin, (len(along), 1))
        rows[:, column] = along
        # Where another value leads into another branch, that branch is shown at its own best.
        rows = switched(view.space, rows, origin[None], leaders)
        decoded = [view.space.decode(row) for row in rows]
        low, middle, high = belief.quantiles(decoded, BAND)
        x = axis.positions([point[name] for point in decoded])
        called = view.star(best)
        layers: list[Layer] = [
            *_curve(axis, x, low, middle, high),
            *_doubtful(axis, x, middle, belief.feasibility(decoded)),
            *_projected(view, axis, column, origin, belief.theta.ell),
            *_under_way(view, axis, belief),
            theme.star(
                axis.positions([best.params[name]])[0],
                view.value(best),
                called if view.several else f"{called} trial",
                f"{called}: trial {best.number}, {shown(view.value(best))}",
            ),
        ]
        chart = Chart(layers, axis.axis(), Axis(*_seen(view, low, high), view.label), height=190.0)
        origin_of = f"the values of trial {best.number}, {called}" if view.several else "its best value"
        where = f", where {shown(view.space.conditions[name].text)}," if name in view.space.conditions else ""
        sentence = (
            f"What the model expects along {shown(name)}{where} with every other parameter at {origin_of}: from "
            f"{shown(float(np.min(middle)))} to {shown(float(np.max(middle)))}, in a band that holds 95 % of what "
            "it takes for possible. Trials far from this slice are faint."
        )
        if belief.constraints:
            sentence += " Where it is marked in red, the constraints are more likely missed than kept."
        yield Picture(f"slice_{rank}", f"Slice along {shown(name)}", sentence, chart)


def _seen(view: StudyView, low: Array, high: Array) -> tuple[float, float]:
    """Range of a slice: the band and the values, but not more than three times the values' own range beyond them."""
    values = view.values
    least, most = (float(q) for q in np.quantile(values, [0.0, 1.0]))
    reach = 3.0 * (most - least) or np.inf
    return fitted([max(float(low.min()), least - reach), min(float(high.max()), most + reach), least, most])


def _curve(axis: ParameterAxis, x: list[float], low: Array, middle: Array, high: Array) -> list[Layer]:
    """A line in a band; for discrete parameters, points with bars."""
    if _in_points(axis, x):
        size = 16.0 if len(x) <= 6 else 8.0
        name = "median and 95 % interval"
        return [Points(x, middle.tolist(), name, theme.MODEL, "dash", size, along=theme.ends(low, high))]
    outline = [*high.tolist(), *low.tolist()[::-1]]
    band = Area([*x, *x[::-1]], outline, "95 % interval", theme.MODEL)
    return [band, Line(x, middle.tolist(), "median", theme.MODEL)]


def _in_points(axis: ParameterAxis, x: list[float]) -> bool:
    return axis.categorical or (getattr(axis.distribution, "step", None) is not None and len(x) <= 12)


def _doubtful(axis: ParameterAxis, x: list[float], middle: Array, chance: Array) -> list[Layer]:
    """The same median once more where the constraints are more likely missed than kept."""
    if (chance >= EVEN).all():
        return []
    y = [value if p < EVEN else None for value, p in zip(middle.tolist(), chance.tolist(), strict=True)]
    name = "likely infeasible"
    if _in_points(axis, x):
        return [Points(x, y, name, theme.INFEASIBLE, "cross", 5.0)]
    return [Line(x, y, name, theme.INFEASIBLE, width=4.0)]


def _projected(view: StudyView, axis: ParameterAxis, column: int, origin: Array, ell: Array) -> list[Points]:
    """Trials at their own value of one parameter, the fainter the farther they are from the slice in the others."""
    trials = thinned([trial for trial in view.modelled if axis.name in trial.params], MOST_MARKS)
    rows = np.array([view.rows[trial.number] for trial in trials])
    rows[:, column] = origin[column]
    distance = squared_distance(rows, origin[None], ell, view.space.domain)
    opacity = np.round(0.2 + 0.8 * np.exp(-0.5 * distance[:, 0]), 2).tolist()
    x, y = _spread_out(axis, trials), [view.value(trial) for trial in trials]
    return view.marks(trials, x, y, opacity=opacity)


def _under_way(view: StudyView, axis: ParameterAxis, belief: Belief) -> list[Points]:
    """Experiments under way at their value of one parameter, where the model expects them."""
    known = {number: params for number, params in view.pending.items() if axis.name in params}
    if not known:
        return []
    low, middle, high = belief.quantiles(list(known.values()), BAND)
    x = axis.positions([params[axis.name] for params in known.values()])
    labels = [f"trial {n}, under way: expected {a:.4g} to {b:.4g}" for n, a, b in zip(known, low, high, strict=True)]
    return [theme.role_points("pending", "under way", x, middle.tolist(), labels=labels)]


def _spread_out(axis: ParameterAxis, trials: list[FrozenTrial]) -> list[float]:
    """Trials along an axis, in a category a little apart, the same each time, so that they do not hide one another."""
    positions = axis.positions([trial.params[axis.name] for trial in trials])
    if not axis.categorical:
        return positions
    return [p + 0.36 * ((i * 0.6180339887) % 1.0 - 0.5) for i, p in enumerate(positions)]


def maps(view: StudyView) -> Iterator[Picture]:
    """Mean and standard deviation over the two parameters that matter most, the others at their best values."""
    belief = view.diagnosis.belief
    if belief is None or not view.leaders:
        return
    best = view.leaders[0]
    # None that is not active there, and no parent: on its other values parameters of the map may not be active.
    read = {name for rule in view.space.conditions.values() for name in rule.names}
    names = [name for name in view.ranked if name in best.params and name not in read][:2]
    if len(names) < 2:
        return
    across, up = (view.axes[name] for name in names)
    wide, high = (entries(view.space, name, SURFACE) for name in names)
    rows = np.tile(view.rows[best.number], (len(wide) * len(high), 1))
    rows[:, view.space.names.index(names[0])] = np.tile(wide, len(high))
    rows[:, view.space.names.index(names[1])] = np.repeat(high, len(wide))
    points = [view.space.decode(row) for row in rows]
    mean, deviation = (z.reshape(len(high), len(wide)) for z in belief.predict(points))
    margin = [found.moments(rows)[0] - found.limit.threshold for found in belief.constraints.values()]
    spare = np.min(margin, axis=0).reshape(mean.shape) if margin else None
    x = across.positions([p[names[0]] for p in points[: len(wide)]])
    y = up.positions([p[names[1]] for p in points[:: len(wide)]])
    cells = (across.categorical, up.categorical)
    marks = _on_map(view, across, up, best)
    others = f"the values of trial {best.number}" if view.several else "their best values"
    both = f"{shown(names[0])} and {shown(names[1])}"
    ends = f"The star is the {view.star(best)}{'' if view.several else ' trial'}."
    first = (
        f"What the model expects over {both}, the two parameters that matter most, with the others at {others}; "
        f"brighter is better. {ends}"
    )
    second = (
        f"How uncertain the model is over {both}, as a standard deviation of {shown(view.target)}; brighter is less "
        f"certain. {ends}"
    )
    if spare is not None:
        kept = f" By their models the constraints are kept on {float(np.mean(spare >= 0.0)):.0%} of the map"
        first += f"{kept}; the rest is hatched in red."
    for key, title, sentence, z, reverse, hatched in (
        ("map", f"Map of {both}", first, mean, not view.maximise, spare),
        ("map_uncertainty", f"Uncertainty over {both}", second, deviation, False, None),
    ):
        name, of = ("expected", "") if key == "map" else ("uncertainty", "of ")
        surface = Surface(x, y, z, name, reverse, cells, f"{name} {of}{view.label}", hatched)
        chart = Chart([surface, *marks], _tight(across), _tight(up), height=240.0)
        yield Picture(key, title, sentence, chart)


def _tight(axis: ParameterAxis) -> Axis:
    """Without a grid, which would lie over the map."""
    return replace(axis.axis(), grid=False)


def _on_map(view: StudyView, across: ParameterAxis, up: ParameterAxis, best: FrozenTrial) -> list[Layer]:
    names = {across.name, up.name}
    trials = thinned([trial for trial in view.modelled if trial.params.keys() >= names], MOST_MARKS)
    x, y = (_spread_out(axis, trials) for axis in (across, up))
    layers: list[Layer] = [*view.marks(trials, x, y, outlined=True)]
    known = {number: params for number, params in view.pending.items() if params.keys() >= names}
    if known:
        at = [axis.positions([params[axis.name] for params in known.values()]) for axis in (across, up)]
        labels = [f"trial {number}, under way" for number in known]
        layers.append(theme.role_points("pending", "under way", *at, labels=labels, outlined=True))
    called = view.star(best)
    place = [axis.positions([best.params[axis.name]])[0] for axis in (across, up)]
    name = called if view.several else f"{called} trial"
    return [*layers, theme.star(place[0], place[1], name, f"{called}: trial {best.number}")]


def calibration(view: StudyView) -> Iterator[Picture]:
    """Predictions against values, and coverage, where there is enough to draw."""
    found = view.diagnosis.calibration
    if found is not None and len(found.y) >= FEWEST and np.ptp(found.y) > 0:
        yield _predictions(found, view.label)
        yield _coverage(found)


def _predictions(found: Calibration, target: str) -> Picture:
    """Each value against its prediction from the others, with 95 % intervals; those missed stand out."""
    observed, predicted = found.y, np.clip(found.loo_mean, found.low, found.high)
    inside = (found.low <= observed) & (observed <= found.high)
    drawn = np.array(thinned(range(len(observed)), MOST_MARKS))
    ends = [float(min(observed.min(), predicted.min())), float(max(observed.max(), predicted.max()))]
    layers: list[Layer] = [Line(ends, ends, "perfect", theme.NEUTRAL, width=1.5, dash="6 4")]
    for rows, name, colour, outside in (
        (drawn[inside[drawn]], "inside its 95 % interval", theme.MODEL, False),
        (drawn[~inside[drawn]], "outside", theme.BAD, True),
    ):
        if len(rows):
            at = observed[rows].tolist(), predicted[rows].tolist()
            labels = [f"measured {a:.5g}, predicted {b:.5g}" for a, b in zip(*at, strict=True)]
            bars = theme.ends(found.low[rows], found.high[rows])
            symbol: Symbol = "cross" if outside else "circle"
            layers.append(Points(*at, name, colour, symbol, 3.5, labels=labels, along=bars))
    reach = 1.5 * (ends[1] - ends[0])
    low, high = max(float(found.low.min()), ends[0] - reach), min(float(found.high.max()), ends[1] + reach)
    axes = Axis(*fitted(ends), f"measured {target}"), Axis(*fitted([low, high, *ends]), f"predicted {target}")
    sentence = (
        f"Each of {len(observed)} values against what the model predicts from all the others, with 95 % intervals: "
        f"{round(100 * float(inside.mean()))} % of the values lie inside theirs."
    )
    return Picture("calibration", "Does it predict what it has not seen?", sentence, Chart(layers, *axes))


def _coverage(found: Calibration) -> Picture:
    """Share of values inside the central intervals of each level, against the level."""
    shares = [float((np.abs(found.residuals) <= ndtri(0.5 + level / 2)).mean()) for level in LEVELS]
    layers = [
        Line([0, 1], [0, 1], "perfect", theme.NEUTRAL, width=1.5, dash="6 4"),
        Line(list(LEVELS), shares, "this study", theme.MODEL, marks=True),
    ]
    axes = Axis(0.0, 1.02, "level of the interval", percent=True), Axis(0.0, 1.02, "values inside", percent=True)
    at = {level: round(100 * share) for level, share in zip(LEVELS, shares, strict=True)}
    sentence = (
        f"Share of values inside the model's intervals: {at[0.5]} % in those of 50 %, {at[0.8]} % in "
        f"those of 80 %, {at[0.95]} % in those of 95 %. Below the dashed line the model is too sure of itself."
    )
    return Picture("coverage", "Is it as sure as it should be?", sentence, Chart(layers, *axes), "more")
