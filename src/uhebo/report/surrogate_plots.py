"""What the surrogate believes, and how well it predicts.

Importances, slices through the best point, a map of the two parameters that matter most; then each value predicted from
all the others, and the coverage of the intervals.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial
from scipy.special import ndtri

from uhebo.diagnosis.calibration import Calibration
from uhebo.diagnosis.importance import WITHOUT_RULES
from uhebo.gp.kernels import squared_distance
from uhebo.report import theme
from uhebo.report.text import in_figure, shown
from uhebo.report.theme import Picture
from uhebo.report.view import CURVE, SURFACE, ParameterAxis, StudyView, entries, role_marks, thinned
from uhebo.space.moves import switched
from uhebo.types import Array

MOST_SLICES = 12
MOST_BARS = 20
MOST_MARKS = 400
"""Maximum trials drawn on a slice, on the map, or against their predictions."""
BAND = (0.025, 0.5, 0.975)
"""Levels of the band around a slice, and of the line in it."""
LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
FEWEST = 3
"""Values from which on there is something to draw."""
EVEN = 0.5
"""Chance to keep the constraints below which a place is shown as likely infeasible."""
PERFECT: dict[str, Any] = {"width": 1.5, "dash": "dash"}


def importance(view: StudyView) -> Iterator[Picture]:
    """Total Sobol index of each parameter, largest on top, with its 90 % interval."""
    ranked = [row for row in view.diagnosis.importance if row.total is not None][:MOST_BARS]
    if len(ranked) < 2:
        return
    names, places = [in_figure(row.name) for row in ranked], list(range(len(ranked)))
    low, total, high = np.array([(row.total_low, row.total, row.total_high) for row in ranked], dtype=np.float64).T
    intervals = theme.bars(total, low, high, color=theme.MODEL, thickness=2.5)
    trace = theme.go().Bar(
        x=total.tolist(), y=places, orientation="h", error_x=intervals, marker={"color": theme.BAND}, width=0.6,
        hovertemplate="%{x:.0%}<extra></extra>",
    )  # fmt: skip
    figure = theme.figure(
        [trace],
        height=110 + 34 * len(ranked),
        xaxis={"title": {"text": f"share of the variation of {in_figure(view.target)}"}, "tickformat": ".0%"},
        yaxis={"tickvals": places, "ticktext": names, "autorange": "reversed", "showgrid": False},
        showlegend=False,
    )
    sentence = (
        f"Share of the variation of {shown(view.target)} over the space that depends on each parameter, alone or "
        f"together with others, as far as the model can tell: most on {shown(ranked[0].name)}, {total[0]:.0%}. The "
        "lines are 90 % intervals." + WITHOUT_RULES * bool(view.space.rules)
    )
    yield Picture("importance", "Which parameters matter", sentence, figure)


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
        place, hover = axis.positions([best.params[name]]), f"{called}: trial {best.number}<br>%{{y:.6g}}"
        star = theme.marks(place, [view.value(best)], called if view.several else f"{called} trial", theme.BEST, hover)
        curve = [*_curve(axis, x, low, middle, high), *_doubtful(axis, x, middle, belief.feasibility(decoded))]
        figure = theme.figure(
            [*_projected(view, axis, column, origin, belief.theta.ell), *curve, star],
            height=330, xaxis=axis.layout(), yaxis_title=in_figure(view.target), showlegend=False,
        )  # fmt: skip
        origin_of = f"the values of trial {best.number}, {called}" if view.several else "its best value"
        where = f", where {shown(view.space.conditions[name].text)}," if name in view.space.conditions else ""
        sentence = (
            f"Surrogate along {shown(name)}{where} with every other parameter at {origin_of}: what it expects goes "
            f"from {shown(float(np.min(middle)))} to {shown(float(np.max(middle)))}, in a band that holds 95 % of what "
            "it takes for possible. Trials far from this slice are faint."
        )
        if belief.constraints:
            sentence += " Where it is marked in red, the constraints are more likely missed than kept."
        yield Picture(f"slice_{rank}", f"Slice along {shown(name)}", sentence, figure, wide=False)


def _curve(axis: ParameterAxis, x: list[float], low: Array, middle: Array, high: Array) -> list[Any]:
    """A line in a band; for discrete parameters, points with bars."""
    if _in_points(axis, x):
        intervals = theme.bars(middle, low, high, color=theme.MODEL, thickness=2)
        size = 36 if len(x) <= 6 else 18
        marker = {"symbol": "line-ew-open", "size": size, "color": theme.MODEL, "line": {"width": 3}}
        name, hover = "median and 95 % interval", "median %{y:.5g}"
        return [theme.marks(x, middle.tolist(), name, marker, hover, error_y=intervals)]
    outline = [*high.tolist(), *low.tolist()[::-1]]
    band = theme.trace([*x, *x[::-1]], outline, "95 % interval", fill="toself", fillcolor=theme.BAND, line={"width": 0})
    return [band, theme.line(x, middle.tolist(), "median", theme.MODEL, "median %{y:.5g}")]


def _in_points(axis: ParameterAxis, x: list[float]) -> bool:
    return axis.categorical or (getattr(axis.distribution, "step", None) is not None and len(x) <= 12)


def _doubtful(axis: ParameterAxis, x: list[float], middle: Array, chance: Array) -> list[Any]:
    """The same median once more where the constraints are more likely missed than kept."""
    if (chance >= EVEN).all():
        return []
    y = [value if p < EVEN else None for value, p in zip(middle.tolist(), chance.tolist(), strict=True)]
    name, colour = "likely infeasible", theme.INFEASIBLE["color"]
    if _in_points(axis, x):
        marker = {"symbol": "x-thin-open", "size": 12, "color": colour, "line": {"width": 2}}
        return [theme.marks(x, y, name, marker, name)]
    return [theme.line(x, y, name, colour, name, width=4)]


def _projected(view: StudyView, axis: ParameterAxis, column: int, origin: Array, ell: Array) -> Any:
    """Trials at their own value of one parameter, the fainter the farther they are from the slice in the others."""
    trials = thinned([trial for trial in view.modelled if axis.name in trial.params], MOST_MARKS)
    rows = np.array([view.rows[trial.number] for trial in trials])
    rows[:, column] = origin[column]
    distance = squared_distance(rows, origin[None], ell, view.space.domain)
    opacity = np.round(0.2 + 0.8 * np.exp(-0.5 * distance[:, 0]), 2).tolist()
    x, y = _spread_out(axis, trials), [view.value(trial) for trial in trials]
    return role_marks(trials, x, y, "trial %{customdata}<br>%{y:.6g}", infeasible=view.infeasible, opacity=opacity)


def _spread_out(axis: ParameterAxis, trials: list[FrozenTrial]) -> list[float]:
    """Trials along an axis, in a category a little apart, the same each time, so that they do not hide one another."""
    positions = axis.positions([trial.params[axis.name] for trial in trials])
    if not axis.categorical:
        return positions
    return [p + 0.36 * ((i * 0.6180339887) % 1.0 - 0.5) for i, p in enumerate(positions)]


def contour(view: StudyView) -> Iterator[Picture]:
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
    least = np.min(margin, axis=0).reshape(mean.shape) if margin else None
    x = across.positions([p[names[0]] for p in points[: len(wide)]])
    y = up.positions([p[names[1]] for p in points[:: len(wide)]])
    trials = thinned([trial for trial in view.modelled if trial.params.keys() >= set(names)], MOST_MARKS)
    tried = [_spread_out(axis, trials) for axis in (across, up)]
    at = [axis.positions([best.params[axis.name]]) for axis in (across, up)]
    figure = theme.panels(["Mean of the surrogate", "Its standard deviation"], 0.13, 820)
    for panel, (z, reverse) in enumerate(((mean, not view.maximise), (deviation, False)), 1):
        smooth = not (across.categorical or up.categorical)
        called = view.star(best)
        hover, name = f"{called}: trial {best.number}", called if view.several else f"{called} trial"
        star = theme.marks(at[0], at[1], name, theme.BEST, hover, legendgroup="best")
        scattered = role_marks(
            trials, tried[0], tried[1], "trial %{customdata}", filled=True, infeasible=view.infeasible
        )
        figure.add_trace(_surface(x, y, z, 0.78 if panel == 1 else 0.22, reverse, smooth), panel, 1)
        for trace in (*_edge(x, y, least), *scattered, star):
            figure.add_trace(trace.update(showlegend=panel == 1), panel, 1)
        figure.update_xaxes(row=panel, col=1, **across.layout() | ({"title": None} if panel == 1 else {}))
        figure.update_yaxes(row=panel, col=1, **up.layout())
    figure.update_layout(margin={"t": 96}, legend={"y": 1.06})
    sentence = (
        f"Surrogate over {shown(names[0])} and {shown(names[1])}, the two parameters that matter most, with the others "
        f"at {f'the values of trial {best.number}' if view.several else 'their best values'}: above its mean (brighter "
        "is better), below its standard deviation (brighter is less certain). Markers are the trials; the star is the "
        f"{view.star(best)}{'' if view.several else ' one'}."
    )
    if least is not None:
        sentence += (
            f" By their models the constraints are kept on {float(np.mean(least >= 0.0)):.0%} of the map, up to the "
            "red line; triangles are trials beyond it."
        )
    yield Picture("contour", f"Map of {shown(names[0])} and {shown(names[1])}", sentence, figure)


def _edge(x: list[float], y: list[float], least: Array | None) -> list[Any]:
    """The line on which the tightest constraint is expected to be met exactly; `least` is what it has to spare."""
    if least is None or (least >= 0.0).all() or (least < 0.0).all():
        return []
    lines = {"start": 0, "end": 0, "size": 1, "coloring": "none"}
    style = {"color": theme.INFEASIBLE["color"], "width": 3}
    z = [[round(float(value), 5) for value in row] for row in least]
    edge = theme.go().Contour(
        x=x, y=y, z=z, contours=lines, line=style, showscale=False, hoverinfo="skip", name="edge of the feasible part"
    )
    return [edge]


def _surface(x: list[float], y: list[float], z: Array, place: float, reverse: bool, smooth: bool) -> Any:
    """A heat map, with contour lines where it is smooth; four digits of the range, more would only be a larger file."""
    span = float(np.ptp(z))
    digits = max(0, 4 - math.floor(math.log10(span))) if span > 0 else 12
    bar = {"thickness": 12, "outlinewidth": 0, "len": 0.44, "y": place, "tickformat": ".3~g"}
    common = {
        "x": x, "y": y, "z": [[round(float(v), digits) for v in row] for row in z], "colorscale": theme.SCALE,
        "reversescale": reverse, "colorbar": bar, "hovertemplate": "%{z:.5g}<extra></extra>",
    }  # fmt: skip
    if not smooth:
        return theme.go().Heatmap(**common)
    return theme.go().Contour(**common, ncontours=18, line={"width": 0.5}, contours={"coloring": "heatmap"})


def calibration(view: StudyView) -> Iterator[Picture]:
    """Predictions against values, and coverage, where there is enough to draw."""
    found = view.diagnosis.calibration
    if found is not None and len(found.y) >= FEWEST and np.ptp(found.y) > 0:
        yield _predictions(found, in_figure(view.target))
        yield _coverage(found)


def _predictions(found: Calibration, target: str) -> Picture:
    """Each value against its prediction from the others, with 95 % intervals; those missed stand out."""
    observed, predicted = found.y, np.clip(found.loo_mean, found.low, found.high)
    inside = (found.low <= observed) & (observed <= found.high)
    drawn = np.array(thinned(range(len(observed)), MOST_MARKS))
    hover = "observed %{x:.5g}<br>predicted %{y:.5g}"
    traces = []
    for rows, name, colour, symbol in (
        (drawn[inside[drawn]], "inside its 95 % interval", theme.MODEL, "circle"),
        (drawn[~inside[drawn]], "outside", theme.BAD, "x"),
    ):
        if len(rows):
            middle = predicted[rows]
            bars = theme.bars(middle, found.low[rows], found.high[rows], thickness=1, color=colour)
            marker = {"color": colour, "size": 7, "symbol": symbol}
            traces.append(theme.marks(observed[rows].tolist(), middle.tolist(), name, marker, hover, error_y=bars))
    ends = [float(min(observed.min(), predicted.min())), float(max(observed.max(), predicted.max()))]
    traces.append(theme.line(ends, ends, "perfect", theme.NEUTRAL, **PERFECT))
    figure = theme.figure(traces, xaxis_title=f"observed {target}", yaxis_title=f"predicted {target}")
    sentence = (
        f"Each of {len(observed)} values against what the surrogate predicts from all the others, with 95 % intervals: "
        f"{round(100 * float(inside.mean()))} % of the values lie inside theirs."
    )
    return Picture("calibration", "Leave-one-out predictions", sentence, figure, wide=False)


def _coverage(found: Calibration) -> Picture:
    """Share of values inside the central intervals of each level, against the level."""
    shares = [float((np.abs(found.residuals) <= ndtri(0.5 + level / 2)).mean()) for level in LEVELS]
    traces = [
        theme.line([0, 1], [0, 1], "perfect", theme.NEUTRAL, **PERFECT),
        theme.line(list(LEVELS), shares, "this study", theme.MODEL, "%{x:.0%} interval: %{y:.0%} inside"),
    ]
    traces[1].mode = "lines+markers"
    axis = {"range": [0, 1.02], "tickformat": ".0%", "dtick": 0.25}
    titles = {"xaxis_title": "level of the interval", "yaxis_title": "values inside"}
    figure = theme.figure(traces, xaxis=axis, yaxis=axis).update_layout(titles)
    at = {level: round(100 * share) for level, share in zip(LEVELS, shares, strict=True)}
    sentence = (
        f"Share of values inside the surrogate's intervals: {at[0.5]} % in those of 50 %, {at[0.8]} % in "
        f"those of 80 %, {at[0.95]} % in those of 95 %. Below the dashed line the surrogate is too sure of itself."
    )
    return Picture("coverage", "Coverage of the intervals", sentence, figure, wide=False)
