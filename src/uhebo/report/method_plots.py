"""What the method did over time: the lengthscales it believed in, and how the bandit divided the trials."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from uhebo.diagnosis import lengthscale_history
from uhebo.report import theme
from uhebo.report.axes import log_places
from uhebo.report.text import in_figure
from uhebo.report.theme import Figure, Picture
from uhebo.report.view import StudyView, thinned

MOST_PARAMETERS = 6
REFITS = 10
"""Fits of an estimator that the study did not use, spread over its trials, for comparison."""
LARGEST_REFIT = 300
FEWEST = 4
"""Finished trials from which on a history is worth drawing."""
MOST_FITS = 300
PANEL = 140
"""Pixels per panel."""


def lengthscales(view: StudyView) -> Iterator[Picture]:
    """One panel per parameter: lengthscale at each fit, the consistent estimate against MAP."""
    if not view.ranked or len(view.modelled) < FEWEST:
        return
    every = math.ceil(min(len(view.modelled), LARGEST_REFIT) / REFITS)
    history = lengthscale_history(view.study, max(every, 2))
    if not history.by_estimator:
        return
    names = view.ranked[:MOST_PARAMETERS]
    height = PANEL * len(names) + 120
    figure = theme.panels([in_figure(name, 60) for name in names], 30 / (PANEL * len(names)), height)
    figure.update_annotations(x=0, xanchor="left", font={"size": 13})
    for row, name in enumerate(names, 1):
        column, seen = history.names.index(name), []
        for estimator, fits in sorted(history.by_estimator.items()):
            label = theme.ESTIMATOR_NAMES.get(estimator, in_figure(estimator))
            label += ", fitted afterwards" if estimator in history.fitted else ""
            style = {"color": theme.ESTIMATOR_COLOURS.get(estimator, theme.NEUTRAL), "width": 2}
            kept = thinned([(number, math.exp(log_theta[column])) for number, log_theta in fits], MOST_FITS)
            seen += [length for _, length in kept]
            x, y = zip(*kept, strict=True)
            trace = theme.trace(
                x, y, label, "trial %{x}<br>lengthscale %{y:.3g}",
                mode="lines+markers", legendgroup=label, showlegend=row == 1,
                line={**style, "dash": theme.ESTIMATOR_DASHES.get(estimator, "solid")},
                marker={"size": 5, "symbol": "circle-open" if estimator == "map" else "circle"},
            )  # fmt: skip
            figure.add_trace(trace, row, 1)
        _log_axis(figure, row, seen)
    figure.update_xaxes(row=len(names), col=1, title={"text": "trial"}, tickformat="d")
    figure.update_layout(margin={"t": 80}, legend={"y": 1 + 30 / height})
    sentence = (
        "Lengthscale of each parameter in units of its range at every fit, by "
        f"{' and '.join(theme.ESTIMATOR_NAMES.get(e, in_figure(e)) for e in sorted(history.by_estimator))}: long means "
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
    ours = [t for t in view.history.trials if t.tags.get("role") in ("random", "model")]
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
            marker = {"color": theme.ROLE_COLOURS[role], "symbol": theme.ROLE_SYMBOLS[role], "size": 8}
            x, y = zip(*thinned(chosen), strict=True)
            traces.append(theme.marks(x, y, f"{role} arm drawn", marker))
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
