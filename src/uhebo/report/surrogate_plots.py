"""What the surrogate believes: slices through the best point and a map of the two parameters that matter most."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from uhebo.gp.kernels import squared_distance
from uhebo.report import theme
from uhebo.report.axes import CURVE, SURFACE, ParameterAxis, entries
from uhebo.report.files import optional
from uhebo.report.text import in_figure, shown
from uhebo.report.view import StudyView, role_of, thinned
from uhebo.types import Array

MOST_SLICES = 12
SLICE_POINTS = 400
BAND = (0.025, 0.5, 0.975)
"""Levels of the band around a slice, and of the line in it."""


def slices(view: StudyView) -> list[Any]:
    """One picture a parameter: mean ± 2 standard deviations through the best point, and the trials, projected."""
    if view.belief is None or view.best is None or not view.space.contains(view.best.params):
        return []
    names = list(view.importance)[:MOST_SLICES]
    return [_slice(view, name, rank) for rank, name in enumerate(names, 1)]


def _slice(view: StudyView, name: str, rank: int) -> tuple[str, str, str, Any, bool]:
    belief, best, axis = view.belief, view.best, view.axes[name]
    assert belief is not None
    assert best is not None
    column = view.space.names.index(name)
    along = entries(view.space, name, CURVE)
    rows = np.tile(view.space.encode(best.params), (len(along), 1))
    rows[:, column] = along
    decoded = [view.space.decode(row) for row in rows]
    low, middle, high = belief.quantiles(decoded, BAND)
    x = axis.positions([point[name] for point in decoded])
    traces = [*_projected(view, axis, column), *_curve(axis, x, low, middle, high)]
    traces.append(
        theme.go().Scatter(
            x=axis.positions([best.params[name]]),
            y=[best.value],
            mode="markers",
            name="best trial",
            marker=theme.BEST,
            hovertemplate=f"best: trial {best.number}<br>%{{y:.6g}}<extra></extra>",
        )
    )
    figure = theme.figure(
        traces, height=330, xaxis=axis.layout(), yaxis={"title": {"text": in_figure(view.target)}}, showlegend=False
    )
    sentence = (
        f"Surrogate along {shown(name)} with every other parameter at its best value: what it expects goes from "
        f"{shown(float(np.min(middle)))} to {shown(float(np.max(middle)))}, in a band that holds 95 % of what it takes "
        "for possible. Trials far from this slice are faint."
    )
    return f"slice_{rank}", f"Slice along {shown(name)}", sentence, figure, False


def _curve(axis: ParameterAxis, x: list[float], low: Array, middle: Array, high: Array) -> list[Any]:
    """A line in a band; for discrete parameters, points with bars."""
    go = theme.go()
    if axis.categorical or (axis.discrete and len(x) <= 12):
        bars = {
            "type": "data", "array": (high - middle).tolist(), "arrayminus": (middle - low).tolist(),
            "color": theme.MODEL, "thickness": 2, "width": 0,
        }  # fmt: skip
        size = 36 if len(x) <= 6 else 18
        marker = {"symbol": "line-ew-open", "size": size, "color": theme.MODEL, "line": {"width": 3}}
        name = "median and 95 % interval"
        return [go.Scatter(x=x, y=middle.tolist(), mode="markers", marker=marker, error_y=bars, name=name)]
    upper, lower = high.tolist(), low.tolist()
    band = go.Scatter(
        x=[*x, *x[::-1]], y=[*upper, *lower[::-1]], fill="toself", fillcolor=theme.BAND, line={"width": 0},
        hoverinfo="skip", name="95 % interval",
    )  # fmt: skip
    line = go.Scatter(
        x=x, y=middle.tolist(), mode="lines", line={"color": theme.MODEL, "width": 2.5}, name="median",
        hovertemplate="median %{y:.5g}<extra></extra>",
    )  # fmt: skip
    return [band, line]


def _projected(view: StudyView, axis: ParameterAxis, column: int) -> list[Any]:
    """Trials at their own value of one parameter, the fainter the farther they are from the slice in the others."""
    belief, best = view.belief, view.best
    assert belief is not None
    assert best is not None
    trials = thinned(view.modelled, SLICE_POINTS)
    rows = view.space.encode_many([trial.params for trial in trials])
    centre = view.space.encode(best.params)[None].repeat(len(rows), axis=0)
    centre[:, column] = rows[:, column]
    lengths = belief.theta.ell
    distance = np.array(
        [
            squared_distance(a[None], b[None], lengths, view.space.domain)[0, 0]
            for a, b in zip(rows, centre, strict=True)
        ]
    )
    opacity = np.round(0.2 + 0.8 * np.exp(-0.5 * distance), 2)
    x = _spread_out(axis, axis.positions([trial.params[axis.name] for trial in trials]))
    traces = []
    for role in theme.ROLES:
        chosen = [i for i, trial in enumerate(trials) if role_of(trial) == role]
        if chosen:
            traces.append(
                theme.go().Scatter(
                    x=[x[i] for i in chosen],
                    y=[trials[i].value for i in chosen],
                    customdata=[trials[i].number for i in chosen],
                    mode="markers",
                    name=theme.ROLE_NAMES[role],
                    marker={
                        "color": theme.ROLE_COLOURS[role],
                        "symbol": theme.ROLE_SYMBOLS[role],
                        "size": 7,
                        "opacity": [float(opacity[i]) for i in chosen],
                    },
                    hovertemplate="trial %{customdata}<br>%{y:.6g}<extra></extra>",
                )
            )
    return traces


def _spread_out(axis: ParameterAxis, positions: list[float]) -> list[float]:
    """Categories get a little sideways spread, the same each time, so that equal points do not hide one another."""
    if not axis.categorical:
        return positions
    return [p + 0.36 * ((i * 0.6180339887) % 1.0 - 0.5) for i, p in enumerate(positions)]


def contour(view: StudyView) -> list[Any]:
    """Mean and standard deviation over the two parameters that matter most, the others at their best values."""
    names = list(view.importance)[:2]
    if view.belief is None or view.best is None or len(names) < 2 or not view.space.contains(view.best.params):
        return []
    across, up = (view.axes[name] for name in names)
    grids = [entries(view.space, name, SURFACE) for name in names]
    columns = [view.space.names.index(name) for name in names]
    rows = np.tile(view.space.encode(view.best.params), (len(grids[0]) * len(grids[1]), 1))
    rows[:, columns[0]] = np.tile(grids[0], len(grids[1]))
    rows[:, columns[1]] = np.repeat(grids[1], len(grids[0]))
    points = [view.space.decode(row) for row in rows]
    mean, deviation = view.belief.predict(points)
    x = across.positions([p[names[0]] for p in points[: len(grids[0])]])
    y = up.positions([p[names[1]] for p in points[:: len(grids[0])]])
    figure = optional("plotly.subplots", "plot").make_subplots(
        rows=2,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.13,
        subplot_titles=["Mean of the surrogate", "Its standard deviation"],
    )
    for panel, (z, reverse) in enumerate(((mean, not view.maximise), (deviation, False)), 1):
        figure.add_trace(_surface(x, y, z.reshape(len(y), len(x)), across, up, panel, reverse), panel, 1)
        layout = across.layout() if panel == 2 else {**across.layout(), "title": None}
        figure.update_xaxes(row=panel, col=1, **layout)
        figure.update_yaxes(row=panel, col=1, **up.layout())
        for trace in _scattered(view, across, up, legend=panel == 1):
            figure.add_trace(trace, panel, 1)
    figure.update_layout(theme.figure([], height=820).layout)
    figure.update_layout(margin={"t": 96}, legend={"y": 1.06})
    sentence = (
        f"Surrogate over {shown(names[0])} and {shown(names[1])}, the two parameters that matter most, with the others "
        f"at their best values: above its mean (brighter is better), below its standard deviation (brighter is less "
        f"certain). Markers are the trials; the star is the best one."
    )
    return [("contour", f"Map of {shown(names[0])} and {shown(names[1])}", sentence, figure)]


def _surface(
    x: list[float], y: list[float], z: Array, across: ParameterAxis, up: ParameterAxis, panel: int, reverse: bool
) -> Any:
    go = theme.go()
    bar = {"thickness": 12, "outlinewidth": 0, "len": 0.44, "y": 0.78 if panel == 1 else 0.22, "tickformat": ".3~g"}
    digits = _digits(z)
    common = {
        "x": x, "y": y, "z": [[round(float(v), digits) for v in row] for row in z], "colorscale": theme.SCALE,
        "reversescale": reverse, "colorbar": bar, "hovertemplate": "%{z:.5g}<extra></extra>",
    }  # fmt: skip
    if across.categorical or up.categorical:
        return go.Heatmap(**common)
    return go.Contour(**common, ncontours=18, line={"width": 0.5}, contours={"coloring": "heatmap"})


def _digits(z: Array) -> int:
    """Decimals that keep four digits of the range: the rest would only make the file large."""
    span = float(np.ptp(z))
    return max(0, 4 - math.floor(math.log10(span))) if span > 0 else 12


def _scattered(view: StudyView, across: ParameterAxis, up: ParameterAxis, *, legend: bool) -> list[Any]:
    go, traces = theme.go(), []
    trials = thinned(view.modelled, SLICE_POINTS)
    x = _spread_out(across, across.positions([t.params[across.name] for t in trials]))
    y = _spread_out(up, up.positions([t.params[up.name] for t in trials]))
    symbols = {"initial": "circle", "random": "x", "model": "circle", "other": "diamond"}
    for role in theme.ROLES:
        chosen = [i for i, trial in enumerate(trials) if role_of(trial) == role]
        if chosen:
            traces.append(
                go.Scatter(
                    x=[x[i] for i in chosen],
                    y=[y[i] for i in chosen],
                    customdata=[[trials[i].number, trials[i].value] for i in chosen],
                    mode="markers",
                    name=theme.ROLE_NAMES[role],
                    legendgroup=role,
                    showlegend=legend,
                    marker={
                        "color": theme.ROLE_COLOURS[role],
                        "symbol": symbols[role],
                        "size": 8,
                        "line": {"color": "#ffffff", "width": 1.2},
                    },
                    hovertemplate="trial %{customdata[0]}<br>%{customdata[1]:.6g}<extra></extra>",
                )
            )
    assert view.best is not None
    best = [view.best.params]
    star = go.Scatter(
        x=across.positions([p[across.name] for p in best]), y=up.positions([p[up.name] for p in best]),
        mode="markers", marker=theme.BEST, name="best trial", legendgroup="best", showlegend=legend,
        hovertemplate=f"best: trial {view.best.number}<extra></extra>",
    )  # fmt: skip
    return [*traces, star]
