"""Pictures of a study as Plotly figures: `figures(study)`, and `pictures(study)` with a sentence for each.

The figures are ordinary `plotly.graph_objects.Figure`s in SVG traces only: they combine with those of
`optuna.visualization`, need no WebGL, and are drawn under a content policy that forbids `eval` (which Plotly's WebGL
traces, Optuna's parallel coordinates up to 4.x among them, do not survive).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from optuna.study import Study

from uhebo.diagnosis import Diagnosis, lengthscale_history
from uhebo.optuna_.trial_log import read_history
from uhebo.report import theme
from uhebo.report.fronts import several_pictures, views_of
from uhebo.report.surrogate_plots import calibration, contour, importance, slices
from uhebo.report.text import in_figure, optional, shown
from uhebo.report.theme import Figure, Picture
from uhebo.report.view import StudyView, log_places, role_marks, thinned

TITLE = 40
"""Room for a title above a figure, in pixels."""
GROUPS = 12
"""Groups of lines, each one trace of one colour."""
MOST_AXES = 10
MOST_LINES = 1000
AXIS_LABEL = {"showarrow": False, "xanchor": "left", "xshift": 5, "font": {"size": 11, "shadow": "auto"}}
MOST_PARAMETERS = 6
REFITS = 10
"""Fits of an estimator that the study did not use, spread over its trials, for comparison."""
LARGEST_REFIT = 300
FEWEST = 4
"""Finished trials from which on a history is worth drawing."""
MOST_FITS = 300
PANEL = 140
"""Pixels per panel."""


Diagnosed = Diagnosis | Mapping[str, Diagnosis] | None
"""What `uhebo.diagnose` gave; of several objectives by name, as `ParetoResult.diagnose` gives it."""


def figures(study: Study, diagnosis: Diagnosed = None, optimum: float | None = None) -> dict[str, Figure]:
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


def pictures(study: Study, diagnosis: Diagnosed = None, optimum: float | None = None) -> list[Picture]:
    """`figures`, without titles in them and with a sentence for each."""
    return pictures_of(views_of(study, diagnosis), optimum)


def pictures_of(views: Sequence[StudyView], optimum: float | None = None) -> list[Picture]:
    """Of one view for each objective."""
    view = views[0]
    theme.go()
    if not view.finished:
        return []
    if view.several:
        return several_pictures(views)
    made = [*convergence(view), *([] if optimum is None or view.best is None else regret(view, optimum))]
    for draw in (importance, slices, contour, calibration, lengthscales, arm_weights, parallel_coordinates):
        made.extend(draw(view))
    return made


def convergence(view: StudyView) -> Iterator[Picture]:
    """Every value by who proposed it, and the best so far."""
    trials = thinned(view.finished)
    numbers, values = [t.number for t in trials], [view.value(t) for t in trials]
    traces = role_marks(trials, numbers, values, "trial %{x}<br>%{y:.6g}", infeasible=view.infeasible)
    word, goes = ("largest", "rises") if view.maximise else ("smallest", "falls")
    sentence = f"Values of {len(view.finished)} finished trials in the order they were started; "
    if view.best is None:
        sentence += "none of them is feasible yet."
    else:
        traces.append(theme.line(*_steps(view), "best so far", theme.GOOD, "best %{y:.6g}", shape="hv"))
        which = f"{word} feasible one" if view.constraints else word
        sentence += (
            f"the {which} so far {goes} in steps and is {shown(view.value(view.best))} since trial {view.best.number}."
        )
    if view.infeasible:
        sentence += f" Triangles are the {len(view.infeasible)} that do not keep the constraints."
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
    """Best feasible so far, from the first feasible trial on: at every improvement and at the end."""
    first = int(view.feasible.argmax())
    values = np.where(view.feasible, view.values, -np.inf if view.maximise else np.inf)[first:]
    best = (np.maximum if view.maximise else np.minimum).accumulate(values)
    kept = [0, *(np.flatnonzero(best[1:] != best[:-1]) + 1).tolist(), len(best) - 1]
    return [view.finished[first + i].number for i in kept], best[kept].tolist()


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
    values = np.array([view.value(t) for t in trials], dtype=np.float64)
    low, span = float(values.min()), float(np.ptp(values))
    columns = [(values - low) / span if span > 0 else np.full(len(values), 0.5)]
    ticks = [[(i / 4, f"{low + span * i / 4:.3g}") for i in range(5)] if span > 0 else [(0.5, f"{low:.3g}")]]
    for axis in (view.axes[name] for name in names):
        there = [axis.name in t.params for t in trials]
        positions = iter(axis.positions([t.params[axis.name] for t in trials if axis.name in t.params]))
        columns.append(np.array([axis.unit(next(positions)) if has else np.nan for has in there]))
        ticks.append([(axis.unit(place), text) for place, text in zip(*axis.ticks(12, 12), strict=True)])
    table = np.round(np.column_stack(columns), 4)
    feasible = np.array([t.number not in view.infeasible for t in trials])
    rank = np.lexsort((values if view.maximise else -values, feasible)).argsort()
    traces = []
    colours = [[0, theme.WORST_LINE], [1, theme.BEST_LINE]]
    blended = optional("plotly.colors", "plot").sample_colorscale
    for group, rows in enumerate(table[rank * GROUPS // len(trials) == i] for i in range(GROUPS)):
        share = (group / (GROUPS - 1)) ** 3
        style = {"color": blended(colours, share)[0], "width": 1.0 + 1.2 * share}
        x: list[int | None] = [*range(table.shape[1]), None] * len(rows)
        # A parameter that a trial has not is passed over.
        y: list[float | None] = [None if v is None or v != v else v for row in rows.tolist() for v in (*row, None)]
        if len(rows):
            traces.append(theme.trace(x, y, mode="lines", line=style, opacity=0.4 + 0.5 * share))
    bar = {"tickvals": [0, 1], "ticktext": ["worst", "best"], "thickness": 12, "outlinewidth": 0, "len": 0.9}
    scale = {"color": [0, 1], "colorscale": colours, "size": 0.1, "colorbar": bar}
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


def lengthscales(view: StudyView) -> Iterator[Picture]:
    """One panel per parameter: lengthscale at each fit, the consistent estimate against MAP."""
    if not view.ranked or len(view.modelled) < FEWEST:
        return
    every = math.ceil(min(len(view.modelled), LARGEST_REFIT) / REFITS)
    history = lengthscale_history(view.study, max(every, 2))
    if not history.by_estimator:
        return
    names = view.ranked[:MOST_PARAMETERS]
    called = {name: theme.ESTIMATOR_NAMES.get(name, in_figure(name)) for name in sorted(history.by_estimator)}
    height = PANEL * len(names) + 120
    figure = theme.panels([in_figure(name, 60) for name in names], 30 / (PANEL * len(names)), height)
    figure.update_annotations(x=0, xanchor="left", font={"size": 13})
    for row, name in enumerate(names, 1):
        column, seen = history.names.index(name), []
        for estimator, label in called.items():
            label += ", fitted afterwards" if estimator in history.fitted else ""
            fits = thinned(history.by_estimator[estimator], MOST_FITS)
            lengths = [math.exp(log_theta[column]) for _, log_theta in fits]
            seen += lengths
            colour, dash = theme.ESTIMATOR_COLOURS.get(estimator, theme.NEUTRAL), theme.ESTIMATOR_DASHES.get(estimator)
            hover = "trial %{x}<br>lengthscale %{y:.3g}"
            trace = theme.line([number for number, _ in fits], lengths, label, colour, hover, width=2, dash=dash)
            marker = {"size": 5, "symbol": "circle-open" if estimator == "map" else "circle"}
            trace.update(mode="lines+markers", marker=marker, legendgroup=label, showlegend=row == 1)
            figure.add_trace(trace, row, 1)
        _log_axis(figure, row, seen)
    figure.update_xaxes(row=len(names), col=1, title={"text": "trial"}, tickformat="d")
    figure.update_layout(margin={"t": 80}, legend={"y": 1 + 30 / height})
    sentence = (
        "Lengthscale of each parameter in units of its range at every fit, by "
        f"{' and '.join(called.values())}: long means "
        "the parameter hardly matters, and estimates that stay apart mean that the data do not settle the matter."
    )
    yield Picture("lengthscales", "Lengthscales over time", sentence, figure)


def _log_axis(figure: Figure, row: int, lengths: list[float]) -> None:
    """At least one decade, so that a steady lengthscale looks steady, with as many labels as have room."""
    logs = [math.log10(length) for length in lengths]
    middle, half = (min(logs) + max(logs)) / 2, 1.1 * max(max(logs) - min(logs), 1.0) / 2
    places = log_places(10 ** (middle - half), 10 ** (middle + half), 4)
    labels = {"tickvals": places, "ticktext": [f"{place:.3g}" for place in places]}
    figure.update_yaxes(row=row, col=1, type="log", range=[middle - half, middle + half], **labels)


def arm_weights(view: StudyView) -> Iterator[Picture]:
    """Probability of the arm with random points at every trial, which arm was drawn, and the share of random points.

    The probabilities are those the trials wrote down when they were drawn: a replay would need the budget the sampler
    was given, which is not in the study.
    """
    history = read_history(view.study, view.space, 0)
    ours = [t for t in history.trials if t.tags.get("role") in ("random", "model")]
    drawn = [trial for trial in ours if "arm" in trial.tags]
    if not drawn:
        return
    hover = "trial %{x}<br>%{y:.0%}"
    weights = [t.tags["p"] if t.tags["arm"] == 0 else 1.0 - t.tags["p"] for t in drawn]
    probability, colour = "probability of the random arm", theme.ROLE_COLOURS["random"]
    traces = [theme.line([t.number for t in drawn], weights, probability, colour, hover, shape="hv")]
    for arm, role in enumerate(("random", "model")):
        chosen = [(t.number, w) for t, w in zip(drawn, weights, strict=True) if t.tags["arm"] == arm]
        if chosen:
            x, y = zip(*thinned(chosen), strict=True)
            traces.append(theme.marks(x, y, f"{role} arm drawn", theme.role_marker(role)))
    random = np.cumsum([t.tags["role"] == "random" for t in ours]) / np.arange(1, len(ours) + 1)
    shares = thinned(list(zip((t.number for t in ours), np.round(random, 4).tolist(), strict=True)))
    x, y = zip(*shares, strict=True)
    traces.append(theme.line(x, y, "share of random points", theme.NEUTRAL, hover, dash="dot", width=2))
    figure = theme.figure(
        traces,
        xaxis={"title": {"text": "trial"}, "tickformat": "d"},
        yaxis={"title": {"text": "probability, share"}, "range": [-0.02, 1.02], "tickformat": ".0%"},
    )
    sentence = (
        f"Probability with which the bandit draws the arm that includes random points: {weights[0]:.0%} at first, "
        f"{weights[-1]:.0%} at the last of {len(drawn)} trials; {shares[-1][1]:.0%} of the points were random."
    )
    yield Picture("arms", "Weights of the arms", sentence, figure)
