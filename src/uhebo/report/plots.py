"""Pictures of a study as Plotly figures: `figures(study)`, and `pictures(study)` with a sentence for each.

The figures are ordinary `plotly.graph_objects.Figure`s in SVG traces only: they combine with those of
`optuna.visualization`, need no WebGL, and are drawn under a content policy that forbids `eval` (which Plotly's WebGL
traces, Optuna's parallel coordinates up to 4.x among them, do not survive).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from optuna.study import Study

from uhebo.diagnosis import Diagnosis
from uhebo.report import theme
from uhebo.report.calibration_plots import calibration
from uhebo.report.method_plots import arm_weights, lengthscales
from uhebo.report.surrogate_plots import contour, importance, slices
from uhebo.report.text import in_figure, shown
from uhebo.report.theme import Figure, Picture
from uhebo.report.view import StudyView, role_marks, thinned

TITLE = 40
"""Room for a title above a figure, in pixels."""
GROUPS = 12
"""Groups of lines, each one trace of one colour."""
MOST_AXES = 10
MOST_LINES = 1000
AXIS_LABEL = {"showarrow": False, "xanchor": "left", "xshift": 5, "font": {"size": 11, "shadow": "auto"}}


def figures(study: Study, diagnosis: Diagnosis | None = None, optimum: float | None = None) -> dict[str, Figure]:
    """Every picture that can be made of the study, by name; none where no trial has finished.

    `diagnosis` is what `uhebo.diagnosis.diagnose(study)` gave; made here where it is not given.
    `optimum`, where the best possible value is known, adds the regret.
    """
    found = {}
    for picture in pictures(study, diagnosis, optimum):
        top = picture.figure.layout.margin.t + TITLE
        picture.figure.update_layout(title={"text": in_figure(picture.title, 80)}, margin={"t": top})
        found[picture.key] = picture.figure
    return found


def pictures(study: Study, diagnosis: Diagnosis | None = None, optimum: float | None = None) -> list[Picture]:
    """`figures`, without titles in them and with a sentence for each."""
    view = StudyView.of(study, diagnosis)
    theme.go()
    if view.best is None:
        return []
    made = [*convergence(view), *([] if optimum is None else regret(view, optimum))]
    for draw in (importance, slices, contour, calibration, lengthscales, arm_weights, parallel_coordinates):
        made.extend(draw(view))
    return made


def convergence(view: StudyView) -> Iterator[Picture]:
    """Every value by who proposed it, and the best so far."""
    assert view.best is not None
    trials = thinned(view.finished)
    numbers, values = [t.number for t in trials], [t.value for t in trials]
    traces = role_marks(trials, numbers, values, "trial %{x}<br>%{y:.6g}")
    traces.append(theme.line(*_steps(view), "best so far", theme.GOOD, "best %{y:.6g}", shape="hv"))
    word, goes = ("largest", "rises") if view.maximise else ("smallest", "falls")
    sentence = (
        f"Values of {len(view.finished)} finished trials in the order they were started; the {word} so far {goes} in "
        f"steps and is {shown(view.best.value)} since trial {view.best.number}."
    )
    figure = theme.figure(traces, xaxis=_trial_axis(view), yaxis_title=in_figure(view.target))
    yield Picture("convergence", "Convergence", sentence, _robust_range(figure, view))


def _trial_axis(view: StudyView) -> dict[str, Any]:
    few = view.finished[-1].number <= 12
    return {"title": {"text": "trial"}, "tickformat": "d", "rangemode": "tozero"} | ({"dtick": 1} if few else {})


def _robust_range(figure: Figure, view: StudyView) -> Figure:
    """Where a few bad values are far out, the axis shows the others; the good end is always in sight."""
    values = view.values
    low, quarter, three, high = (float(q) for q in np.quantile(values, [0.0, 0.25, 0.75, 1.0]))
    reach = 6.0 * (three - quarter)
    bounds = (max(low, quarter - reach), high) if view.maximise else (low, min(high, three + reach))
    if len(values) >= 10 and reach > 0 and high - low > 3.0 * (bounds[1] - bounds[0]):
        margin = 0.05 * (bounds[1] - bounds[0])
        figure.update_yaxes(range=[bounds[0] - margin, bounds[1] + margin])
        figure.add_annotation(
            text="values far out are beyond the axis: double-click to see all",
            xref="paper", yref="paper", x=1.0, y=1.0, xanchor="right", yanchor="top", showarrow=False,
            font={"size": 11},
        )  # fmt: skip
    return figure


def _steps(view: StudyView) -> tuple[list[int], list[float]]:
    """Best so far at every improvement and at the end."""
    x: list[int] = []
    y: list[float] = []
    for trial, value in zip(view.finished, view.values.tolist(), strict=True):
        if not y or (value > y[-1] if view.maximise else value < y[-1]):
            x.append(trial.number)
            y.append(value)
    return [*x, view.finished[-1].number], [*y, y[-1]]


def regret(view: StudyView, optimum: float) -> Iterator[Picture]:
    """Distance of the best so far from the known optimum, on a log axis."""
    x, best = _steps(view)
    gaps = [max(optimum - value if view.maximise else value - optimum, 0.0) for value in best]
    floor = 1e-12 * max(1.0, abs(optimum))
    hover = "trial %{x}<br>regret %{y:.3g}"
    trace = theme.line(x, [max(gap, floor) for gap in gaps], "regret", theme.GOOD, hover, shape="hv")
    axis = {"title": {"text": "regret of the best so far"}, "type": "log", "exponentformat": "e"}
    figure = theme.figure([trace], xaxis=_trial_axis(view), yaxis=axis, showlegend=False)
    sentence = f"Distance of the best value so far from the known optimum {shown(optimum)}; it ends at {gaps[-1]:.3g}."
    yield Picture("regret", "Regret", sentence, figure)


def parallel_coordinates(view: StudyView) -> Iterator[Picture]:
    """One line per trial across the value and all parameters, coloured by the rank of its value."""
    names = (view.ranked or view.space.names)[:MOST_AXES]
    trials = thinned(view.modelled, MOST_LINES)
    if not names or len(trials) < 2:
        return
    values = np.array([t.value for t in trials], dtype=np.float64)
    low, span = float(values.min()), float(np.ptp(values))
    columns = [(values - low) / span if span > 0 else np.full(len(values), 0.5)]
    ticks = [[(i / 4, f"{low + span * i / 4:.3g}") for i in range(5)] if span > 0 else [(0.5, f"{low:.3g}")]]
    for axis in (view.axes[name] for name in names):
        columns.append(np.array([axis.unit(p) for p in axis.positions([t.params[axis.name] for t in trials])]))
        ticks.append([(axis.unit(place), text) for place, text in zip(*axis.ticks(12, 12), strict=True)])
    table = np.round(np.column_stack(columns), 4)
    rank = (values if view.maximise else -values).argsort(kind="stable").argsort()
    traces = []
    for group, rows in enumerate(table[rank * GROUPS // len(trials) == i] for i in range(GROUPS)):
        share = (group / (GROUPS - 1)) ** 3
        style = {"color": _blend(theme.WORST_LINE, theme.BEST_LINE, share), "width": 1.0 + 1.2 * share}
        x: list[int | None] = [*range(table.shape[1]), None] * len(rows)
        y: list[float | None] = [v for row in rows.tolist() for v in (*row, None)]
        if len(rows):
            traces.append(theme.trace(x, y, mode="lines", line=style, opacity=0.4 + 0.5 * share))
    bar = {"tickvals": [0, 1], "ticktext": ["worst", "best"], "thickness": 12, "outlinewidth": 0, "len": 0.9}
    scale = {"color": [0, 1], "colorscale": [[0, theme.WORST_LINE], [1, theme.BEST_LINE]], "size": 0.1, "colorbar": bar}
    traces.append(theme.marks([None], [None], "", scale))
    labels = [in_figure(view.target, 14), *(in_figure(name, 16) for name in names)]
    figure = theme.figure(
        traces,
        height=420,
        xaxis={
            "tickvals": list(range(len(labels))), "ticktext": labels, "side": "top", "showline": False, "ticks": "",
            "range": [-0.15, len(labels) - 0.4], "gridcolor": theme.NEUTRAL, "gridwidth": 1,
        },
        yaxis={"visible": False, "range": [-0.06, 1.06]},
        annotations=[{"x": i, "y": y, "text": text, **AXIS_LABEL} for i, axis in enumerate(ticks) for y, text in axis],
        margin={"l": 24, "r": 24, "t": 40, "b": 24},
        showlegend=False,
    )  # fmt: skip
    sentence = (
        f"One line for each of {len(trials)} trials across the value and {len(names)} parameters, most important "
        "first; the golden lines are the best trials."
    )
    yield Picture("parallel", "Parallel coordinates", sentence, figure)


def _blend(first: str, second: str, share: float) -> str:
    """A colour between two, both as #rrggbb."""
    pairs = ((int(first[i : i + 2], 16), int(second[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)
