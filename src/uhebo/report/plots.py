"""Pictures of a study as Plotly figures: `figures(study)`, and `pictures(study)` with a sentence for each.

The figures are ordinary `plotly.graph_objects.Figure`s in SVG traces only: they combine with those of
`optuna.visualization`, need no WebGL, and are drawn under a content policy that forbids `eval` (which Plotly's WebGL
traces, Optuna's parallel coordinates up to 4.x among them, do not survive).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.study import Study

from uhebo.diagnosis import Diagnosis
from uhebo.report import theme
from uhebo.report.calibration_plots import calibration, coverage
from uhebo.report.method_plots import arm_weights, lengthscales
from uhebo.report.parallel import parallel_coordinates
from uhebo.report.surrogate_plots import contour, slices
from uhebo.report.text import in_figure, shown
from uhebo.report.theme import Figure
from uhebo.report.view import StudyView, role_of, thinned

TITLE = 40
"""Room for a title above a figure, in pixels."""


@dataclass(frozen=True)
class Picture:
    """A figure, what to call it, and a sentence that says what it shows to those who cannot see it."""

    key: str
    title: str
    sentence: str
    figure: Figure
    wide: bool = True


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
    made: list[Picture] = []
    for draw in _drawings(view, optimum):
        made.extend(Picture(*parts) for parts in draw())
    return made


def _drawings(view: StudyView, optimum: float | None) -> Iterable[Callable[[], list[Any]]]:
    yield lambda: [convergence(view)]
    if optimum is not None:
        yield lambda: [regret(view, optimum)]
    yield lambda: slices(view)
    yield lambda: contour(view)
    yield lambda: calibration(view)
    yield lambda: coverage(view)
    yield lambda: lengthscales(view)
    yield lambda: arm_weights(view)
    yield lambda: parallel_coordinates(view)


def convergence(view: StudyView) -> tuple[str, str, str, Figure]:
    """Every value by who proposed it, and the best so far."""
    go = theme.go()
    traces = []
    for role in theme.ROLES:
        trials = thinned([t for t in view.finished if role_of(t) == role])
        if trials:
            traces.append(
                go.Scatter(
                    x=[t.number for t in trials],
                    y=[t.value for t in trials],
                    mode="markers",
                    name=theme.ROLE_NAMES[role],
                    marker={"color": theme.ROLE_COLOURS[role], "symbol": theme.ROLE_SYMBOLS[role], "size": 8},
                    hovertemplate="trial %{x}<br>%{y:.6g}<extra></extra>",
                )
            )
    x, y = _steps(view)
    traces.append(
        go.Scatter(
            x=x,
            y=y,
            mode="lines",
            name="best so far",
            line={"color": theme.GOOD, "width": 2.5, "shape": "hv"},
            hovertemplate="best %{y:.6g}<extra></extra>",
        )
    )
    assert view.best is not None
    word = "largest" if view.maximise else "smallest"
    sentence = (
        f"Values of {len(view.finished)} finished trials in the order they were started; the {word} so far falls in "
        f"steps and is {shown(view.best.value)} since trial {view.best.number}."
    ).replace("falls", "rises" if view.maximise else "falls")
    figure = theme.figure(traces, xaxis=_trial_axis(view), yaxis={"title": {"text": in_figure(view.target)}})
    return "convergence", "Convergence", sentence, _robust_range(figure, view)


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
    for trial in view.finished:
        value = float(trial.value or 0.0)
        if not y or (value > y[-1] if view.maximise else value < y[-1]):
            x.append(trial.number)
            y.append(value)
    return [*x, view.finished[-1].number], [*y, y[-1]]


def regret(view: StudyView, optimum: float) -> tuple[str, str, str, Figure]:
    """Distance of the best so far from the known optimum, on a log axis."""
    x, best = _steps(view)
    gaps = [max(optimum - value if view.maximise else value - optimum, 0.0) for value in best]
    floor = 1e-12 * max(1.0, abs(optimum))
    trace = theme.go().Scatter(
        x=x,
        y=[max(gap, floor) for gap in gaps],
        mode="lines",
        name="regret",
        line={"color": theme.GOOD, "width": 2.5, "shape": "hv"},
        hovertemplate="trial %{x}<br>regret %{y:.3g}<extra></extra>",
    )
    axis = {"title": {"text": "regret of the best so far"}, "type": "log", "exponentformat": "e"}
    figure = theme.figure([trace], xaxis=_trial_axis(view), yaxis=axis, showlegend=False)
    sentence = f"Distance of the best value so far from the known optimum {shown(optimum)}; it ends at {gaps[-1]:.3g}."
    return "regret", "Regret", sentence, figure
