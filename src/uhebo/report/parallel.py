"""Parallel coordinates in SVG lines, grouped by rank, so that a thousand trials are a dozen traces."""

from __future__ import annotations

from typing import Any

import numpy as np
from optuna.trial import FrozenTrial

from uhebo.report import theme
from uhebo.report.axes import ParameterAxis
from uhebo.report.text import in_figure
from uhebo.report.view import StudyView, thinned

COLOURS = 12
"""Groups of lines, each one trace of one colour."""
MOST_AXES = 10
MOST_LINES = 1000


def parallel_coordinates(view: StudyView) -> list[Any]:
    """One line a trial across all parameters, coloured by its value; drawn in groups so that 5,000 are no burden."""
    names = list(view.importance)[:MOST_AXES] or list(view.space.names)[:MOST_AXES]
    trials = thinned(view.modelled, MOST_LINES)
    if not names or len(trials) < 2:
        return []
    go = theme.go()
    values = np.array([t.value for t in trials], dtype=np.float64)
    goodness = (values if view.maximise else -values).argsort(kind="stable").argsort() / (len(trials) - 1)
    columns = [_unit_values(values), *(_unit_positions(view.axes[name], trials) for name in names)]
    table = np.round(np.column_stack(columns), 4)
    traces: list[Any] = []
    for group in range(COLOURS):
        share = (group / (COLOURS - 1)) ** 3
        rows = table[np.minimum((goodness * COLOURS).astype(int), COLOURS - 1) == group]
        if len(rows):
            y: list[float | None] = [v for row in rows.tolist() for v in (*row, None)]
            x: list[int | None] = [*range(table.shape[1]), None] * len(rows)
            line = {"color": theme.blend(theme.WORST_LINE, theme.BEST_LINE, share), "width": 1.0 + 1.2 * share}
            opacity = 0.4 + 0.5 * share
            traces.append(
                go.Scatter(x=x, y=y, mode="lines", line=line, opacity=opacity, showlegend=False, hoverinfo="skip")
            )
    traces.append(_colour_bar())
    annotations = []
    for i, ticks in enumerate([_value_ticks(values), *(_ticks(view.axes[name]) for name in names)]):
        annotations += [
            {
                "x": i,
                "y": at,
                "text": text,
                "showarrow": False,
                "xanchor": "left",
                "xshift": 5,
                "font": {"size": 11, "shadow": "auto"},
            }
            for at, text in ticks
        ]
    labels = [in_figure(view.target, 14), *(in_figure(name, 16) for name in names)]
    figure = theme.figure(
        traces,
        height=420,
        xaxis={
            "tickvals": list(range(len(labels))), "ticktext": labels, "side": "top", "showline": False, "ticks": "",
            "range": [-0.15, len(labels) - 0.4], "gridcolor": theme.NEUTRAL, "gridwidth": 1,
        },
        yaxis={"visible": False, "range": [-0.06, 1.06]},
        annotations=annotations,
        margin={"l": 24, "r": 24, "t": 40, "b": 24},
    )  # fmt: skip
    sentence = (
        f"One line for each of {len(trials)} trials across the value and {len(names)} parameters, most important "
        "first; the golden lines are the best trials."
    )
    return [("parallel", "Parallel coordinates", sentence, figure)]


def _colour_bar() -> Any:
    bar = {"tickvals": [0, 1], "ticktext": ["worst", "best"], "thickness": 12, "outlinewidth": 0, "len": 0.9}
    marker = {
        "color": [0, 1], "cmin": 0, "cmax": 1, "showscale": True, "colorbar": bar, "size": 0.1,
        "colorscale": [[0, theme.WORST_LINE], [1, theme.BEST_LINE]],
    }  # fmt: skip
    return theme.go().Scatter(x=[None], y=[None], mode="markers", marker=marker, showlegend=False, hoverinfo="skip")


def _unit_values(values: Any) -> Any:
    span = float(values.max() - values.min())
    return (values - values.min()) / span if span > 0 else np.full(len(values), 0.5)


def _unit_positions(axis: ParameterAxis, trials: list[FrozenTrial]) -> Any:
    return np.array([axis.unit(p) for p in axis.positions([trial.params[axis.name] for trial in trials])])


def _value_ticks(values: Any) -> list[tuple[float, str]]:
    low, high = float(values.min()), float(values.max())
    if low == high:
        return [(0.5, f"{low:.3g}")]
    return [(i / 4, f"{low + (high - low) * i / 4:.3g}") for i in range(5)]


def _ticks(axis: ParameterAxis) -> list[tuple[float, str]]:
    return [(axis.unit(position), text) for position, text in axis.few_ticks()]
