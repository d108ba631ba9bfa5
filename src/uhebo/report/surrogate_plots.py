"""What the surrogate believes: importances, slices through the best point, a map of the two that matter most."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from uhebo.gp.kernels import squared_distance
from uhebo.report import theme
from uhebo.report.axes import CURVE, SURFACE, ParameterAxis, entries
from uhebo.report.text import in_figure, shown
from uhebo.report.theme import Picture
from uhebo.report.view import StudyView, role_marks, thinned
from uhebo.types import Array

MOST_SLICES = 12
MOST_BARS = 20
SLICE_POINTS = 400
BAND = (0.025, 0.5, 0.975)
"""Levels of the band around a slice, and of the line in it."""


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
        "lines are 90 % intervals."
    )
    yield Picture("importance", "Which parameters matter", sentence, figure)


def slices(view: StudyView) -> Iterator[Picture]:
    """One picture per parameter: median and 95 % band through the best point, and the trials, projected."""
    belief, best = view.belief, view.best
    if belief is None or best is None or not view.space.contains(best.params):
        return
    for rank, name in enumerate(view.ranked[:MOST_SLICES], 1):
        axis, column = view.axes[name], view.space.names.index(name)
        along = entries(view.space, name, CURVE)
        rows = np.tile(view.space.encode(best.params), (len(along), 1))
        rows[:, column] = along
        decoded = [view.space.decode(row) for row in rows]
        low, middle, high = belief.quantiles(decoded, BAND)
        x = axis.positions([point[name] for point in decoded])
        place, hover = axis.positions([best.params[name]]), f"best: trial {best.number}<br>%{{y:.6g}}"
        star = theme.marks(place, [best.value], "best trial", theme.BEST, hover)
        figure = theme.figure(
            [*_projected(view, axis, column), *_curve(axis, x, low, middle, high), star],
            height=330, xaxis=axis.layout(), yaxis_title=in_figure(view.target), showlegend=False,
        )  # fmt: skip
        sentence = (
            f"Surrogate along {shown(name)} with every other parameter at its best value: what it expects goes from "
            f"{shown(float(np.min(middle)))} to {shown(float(np.max(middle)))}, in a band that holds 95 % of what it "
            "takes for possible. Trials far from this slice are faint."
        )
        yield Picture(f"slice_{rank}", f"Slice along {shown(name)}", sentence, figure, wide=False)


def _curve(axis: ParameterAxis, x: list[float], low: Array, middle: Array, high: Array) -> list[Any]:
    """A line in a band; for discrete parameters, points with bars."""
    if axis.categorical or (axis.discrete and len(x) <= 12):
        intervals = theme.bars(middle, low, high, color=theme.MODEL, thickness=2)
        size = 36 if len(x) <= 6 else 18
        marker = {"symbol": "line-ew-open", "size": size, "color": theme.MODEL, "line": {"width": 3}}
        name, hover = "median and 95 % interval", "median %{y:.5g}"
        return [theme.marks(x, middle.tolist(), name, marker, hover, error_y=intervals)]
    outline = [*high.tolist(), *low.tolist()[::-1]]
    band = theme.trace([*x, *x[::-1]], outline, "95 % interval", fill="toself", fillcolor=theme.BAND, line={"width": 0})
    return [band, theme.line(x, middle.tolist(), "median", theme.MODEL, "median %{y:.5g}")]


def _projected(view: StudyView, axis: ParameterAxis, column: int) -> Any:
    """Trials at their own value of one parameter, the fainter the farther they are from the slice in the others."""
    belief, best = view.belief, view.best
    assert belief is not None
    assert best is not None
    trials = thinned(view.modelled, SLICE_POINTS)
    rows = view.space.encode_many([trial.params for trial in trials])
    rows[:, column] = view.space.encode(best.params)[column]
    distance = squared_distance(rows, view.space.encode(best.params)[None], belief.theta.ell, view.space.domain)
    opacity = np.round(0.2 + 0.8 * np.exp(-0.5 * distance[:, 0]), 2).tolist()
    x = _spread_out(axis, axis.positions([trial.params[axis.name] for trial in trials]))
    return role_marks(trials, x, [t.value for t in trials], "trial %{customdata}<br>%{y:.6g}", opacity=opacity)


def _spread_out(axis: ParameterAxis, positions: list[float]) -> list[float]:
    """Categories get a little sideways spread, the same each time, so that equal points do not hide one another."""
    if not axis.categorical:
        return positions
    return [p + 0.36 * ((i * 0.6180339887) % 1.0 - 0.5) for i, p in enumerate(positions)]


def contour(view: StudyView) -> Iterator[Picture]:
    """Mean and standard deviation over the two parameters that matter most, the others at their best values."""
    names, best = view.ranked[:2], view.best
    if view.belief is None or best is None or len(names) < 2 or not view.space.contains(best.params):
        return
    across, up = (view.axes[name] for name in names)
    wide, high = (entries(view.space, name, SURFACE) for name in names)
    rows = np.tile(view.space.encode(best.params), (len(wide) * len(high), 1))
    rows[:, view.space.names.index(names[0])] = np.tile(wide, len(high))
    rows[:, view.space.names.index(names[1])] = np.repeat(high, len(wide))
    points = [view.space.decode(row) for row in rows]
    mean, deviation = (z.reshape(len(high), len(wide)) for z in view.belief.predict(points))
    x = across.positions([p[names[0]] for p in points[: len(wide)]])
    y = up.positions([p[names[1]] for p in points[:: len(wide)]])
    trials = thinned(view.modelled, SLICE_POINTS)
    tried = [_spread_out(axis, axis.positions([t.params[axis.name] for t in trials])) for axis in (across, up)]
    at = [axis.positions([best.params[axis.name]]) for axis in (across, up)]
    figure = theme.panels(["Mean of the surrogate", "Its standard deviation"], 0.13, 820)
    for panel, (z, reverse) in enumerate(((mean, not view.maximise), (deviation, False)), 1):
        smooth = not (across.categorical or up.categorical)
        star = theme.marks(at[0], at[1], "best trial", theme.BEST, f"best: trial {best.number}", legendgroup="best")
        scattered = role_marks(trials, tried[0], tried[1], "trial %{customdata}", filled=True)
        figure.add_trace(_surface(x, y, z, 0.78 if panel == 1 else 0.22, reverse, smooth), panel, 1)
        for trace in (*scattered, star):
            figure.add_trace(trace.update(showlegend=panel == 1), panel, 1)
        figure.update_xaxes(row=panel, col=1, **across.layout() | ({"title": None} if panel == 1 else {}))
        figure.update_yaxes(row=panel, col=1, **up.layout())
    figure.update_layout(margin={"t": 96}, legend={"y": 1.06})
    sentence = (
        f"Surrogate over {shown(names[0])} and {shown(names[1])}, the two parameters that matter most, with the others "
        f"at their best values: above its mean (brighter is better), below its standard deviation (brighter is less "
        f"certain). Markers are the trials; the star is the best one."
    )
    yield Picture("contour", f"Map of {shown(names[0])} and {shown(names[1])}", sentence, figure)


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
