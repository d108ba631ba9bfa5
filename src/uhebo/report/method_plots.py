"""What the method did over time: the lengthscales it believed in, and how the bandit divided the trials."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from uhebo.diagnosis import lengthscale_history
from uhebo.errors import NumericalError
from uhebo.estimate import map_estimate
from uhebo.methods import Trial
from uhebo.report import theme
from uhebo.report.files import optional
from uhebo.report.text import in_figure
from uhebo.report.view import StudyView, thinned

MOST_PARAMETERS = 6
REFITS = 10
"""Moments at which MAP is fitted again for comparison, where the study did not use it."""
LARGEST_REFIT = 300
FEWEST = 4
"""Finished trials from which on a history is worth drawing."""

Series = dict[str, list[tuple[int, list[float]]]]
"""Estimator -> (trial number, lengthscales)."""


def lengthscales(view: StudyView) -> list[Any]:
    """One panel a parameter: lengthscale at each fit, the consistent estimate against MAP."""
    if not view.importance or len(view.modelled) < FEWEST:
        return []
    series = recorded_lengthscales(view)
    recorded = set(series)
    if not series:
        series = _fitted_lengthscales(view)
    elif "map" not in series:
        series["map"] = _map_refits(view, [number for fits in series.values() for number, _ in fits])
    names = list(view.importance)[:MOST_PARAMETERS]
    figure = optional("plotly.subplots", "plot").make_subplots(
        rows=len(names), cols=1, shared_xaxes=True, vertical_spacing=min(0.06, 0.3 / len(names))
    )
    for row, name in enumerate(names, 1):
        column = view.space.names.index(name)
        for estimator, fits in series.items():
            shown_fits = thinned(fits, 300)
            label = theme.ESTIMATOR_NAMES.get(estimator, in_figure(estimator))
            if estimator not in recorded:
                label += ", fitted afterwards"
            colour = theme.ESTIMATOR_COLOURS.get(estimator, theme.NEUTRAL)
            figure.add_trace(
                theme.go().Scatter(
                    x=[number for number, _ in shown_fits],
                    y=[lengths[column] for _, lengths in shown_fits],
                    mode="lines+markers",
                    name=label,
                    legendgroup=label,
                    showlegend=row == 1,
                    line={"color": colour, "dash": theme.ESTIMATOR_DASHES.get(estimator, "solid"), "width": 2},
                    marker={"size": 5, "symbol": "circle-open" if estimator == "map" else "circle"},
                    hovertemplate="trial %{x}<br>lengthscale %{y:.3g}<extra></extra>",
                ),
                row,
                1,
            )
        figure.update_yaxes(
            row=row, col=1, title={"text": in_figure(name, 14), "font": {"size": 11}},
            type="log", tickformat=".2~g", nticks=5,
            **_log_range([lengths[column] for fits in series.values() for _, lengths in fits]),
        )  # fmt: skip
    figure.update_xaxes(row=len(names), col=1, title={"text": "trial"}, tickformat="d")
    height = 130 * len(names) + 120
    figure.update_layout(theme.figure([], height=height).layout)
    figure.update_layout(legend={"y": 1 + 16 / height}, hovermode="closest")
    who = " and ".join(theme.ESTIMATOR_NAMES.get(e, in_figure(e)) for e in series)
    sentence = (
        f"Lengthscale of each parameter in units of its range at every fit, by {who}: long means the parameter hardly "
        "matters, and estimates that stay apart mean that the data do not settle the matter."
    )
    return [("lengthscales", "Lengthscales over time", sentence, figure)]


def _log_range(values: list[float]) -> dict[str, Any]:
    """At least one decade, so that a steady lengthscale looks steady."""
    finite = [math.log10(v) for v in values if v > 0 and math.isfinite(v)]
    if not finite:
        return {}
    middle, half = (min(finite) + max(finite)) / 2, max(max(finite) - min(finite), 1.0) / 2
    return {"range": [middle - 1.1 * half, middle + 1.1 * half]}


def recorded_lengthscales(view: StudyView) -> Series:
    """What the fits wrote down; fits in a space of another size are left out."""
    series: Series = {}
    for trial in view.history.trials:
        lengths = _lengths(trial.tags, view.space.domain.dimension)
        if lengths is not None:
            series.setdefault(str(trial.tags.get("estimator", "fit")), []).append((trial.number, lengths))
    return series


def _lengths(tags: Mapping[str, Any], dimension: int) -> list[float] | None:
    theta = tags.get("theta")
    if not isinstance(theta, list) or len(theta) != dimension + 2:
        return None
    try:
        lengths = [math.exp(float(value)) for value in theta[:dimension]]
    except (TypeError, ValueError, OverflowError):
        return None
    return lengths if all(map(math.isfinite, lengths)) else None


def _fitted_lengthscales(view: StudyView) -> Series:
    """Both estimates on the data as they grew, for a study that another sampler made."""
    every = math.ceil(min(len(view.modelled), LARGEST_REFIT) / REFITS)
    found = lengthscale_history(view.study, max(every, 2)).by_estimator
    dimension = view.space.domain.dimension
    return {
        estimator: [(number, [math.exp(value) for value in theta[:dimension]]) for number, theta in fits]
        for estimator, fits in sorted(found.items())
    }


def _map_refits(view: StudyView, numbers: list[int]) -> list[tuple[int, list[float]]]:
    """MAP on the data as they were at some of these trials: the comparison a study by `uhe` does not record."""
    fits = []
    finished: tuple[Trial, ...] = view.history.finished
    for number in thinned(sorted(set(numbers)), REFITS):
        rows = [i for i, trial in enumerate(finished) if trial.number < number]
        if len(rows) < 2:
            continue
        data = view.history.data.subset(np.array(thinned(rows, LARGEST_REFIT)))
        try:
            fit = map_estimate(data, kernel="matern52", prior="paper", rng=np.random.default_rng(0))
        except NumericalError:
            continue
        fits.append((number, [float(v) for v in fit.theta.ell]))
    return fits


def arm_weights(view: StudyView) -> list[Any]:
    """Probability of the arm with random points at every trial, which arm was drawn, and the share of random points.

    The probabilities are those the trials wrote down when they were drawn: a replay would need the budget the sampler
    was given, which is not in the study.
    """
    drawn = [t for t in view.history.trials if _number(t.tags.get("p")) is not None and t.tags.get("arm") in (0, 1)]
    if not drawn:
        return []
    go = theme.go()
    weights = [float(t.tags["p"]) if t.tags["arm"] == 0 else 1.0 - float(t.tags["p"]) for t in drawn]
    traces = [
        go.Scatter(
            x=[t.number for t in drawn], y=weights, mode="lines", name="probability of the random arm",
            line={"color": theme.ROLE_COLOURS["random"], "width": 2.5, "shape": "hv"},
            hovertemplate="trial %{x}<br>%{y:.0%}<extra></extra>",
        )
    ]  # fmt: skip
    for arm, role, label in ((0, "random", "random arm drawn"), (1, "model", "model arm drawn")):
        chosen = [(t.number, w) for t, w in zip(drawn, weights, strict=True) if t.tags["arm"] == arm]
        if chosen:
            x, y = zip(*thinned(chosen), strict=True)
            marker = {"color": theme.ROLE_COLOURS[role], "symbol": theme.ROLE_SYMBOLS[role], "size": 8}
            traces.append(go.Scatter(x=x, y=y, mode="markers", name=label, marker=marker, hoverinfo="skip"))
    ours = [t for t in view.history.trials if t.tags.get("role") in ("random", "model")]
    random = np.cumsum([t.tags["role"] == "random" for t in ours]) / np.arange(1, len(ours) + 1)
    shares = thinned(list(zip((t.number for t in ours), np.round(random, 4).tolist(), strict=True)))
    traces.append(
        go.Scatter(
            x=[n for n, _ in shares], y=[s for _, s in shares], mode="lines", name="share of random points",
            line={"color": theme.NEUTRAL, "dash": "dot", "width": 2},
            hovertemplate="trial %{x}<br>%{y:.0%}<extra></extra>",
        )
    )  # fmt: skip
    figure = theme.figure(
        traces,
        xaxis={"title": {"text": "trial"}, "tickformat": "d"},
        yaxis={"title": {"text": "probability, share"}, "range": [-0.02, 1.02], "tickformat": ".0%"},
    )
    sentence = (
        f"Probability with which the bandit draws the arm that includes random points: {weights[0]:.0%} at first, "
        f"{weights[-1]:.0%} at the last of {len(drawn)} trials; {shares[-1][1]:.0%} of the points were random."
    )
    return [("arms", "Weights of the arms", sentence, figure)]


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
