"""How well the surrogate predicts what it saw: each value from all the others, and the coverage of its intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from uhebo.diagnosis.calibration import Calibration
from uhebo.report import theme
from uhebo.report.text import in_figure
from uhebo.report.view import StudyView, thinned

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
MOST_DRAWN = 400


def drawable(found: Calibration | None) -> bool:
    """Whether there is enough to draw."""
    return found is not None and len(found.y) >= 3 and float(np.ptp(found.y)) > 0


def calibration(view: StudyView) -> list[Any]:
    """Each value against its prediction from the others, with 95 % intervals; those missed stand out."""
    found = view.diagnosis.calibration
    if found is None or not drawable(found):
        return []
    go = theme.go()
    observed, predicted = found.y, np.clip(found.loo_mean, found.low, found.high)
    inside = (found.low <= observed) & (observed <= found.high)
    drawn = np.zeros(len(observed), dtype=bool)
    drawn[thinned(range(len(observed)), MOST_DRAWN)] = True
    traces = []
    for caught, name, colour, symbol in ((True, "inside its 95 % interval", theme.MODEL, "circle"),
                                         (False, "outside", theme.BAD, "x")):  # fmt: skip
        rows = np.flatnonzero(drawn & (inside == caught))
        if len(rows):
            bars = {
                "type": "data", "array": (found.high - predicted)[rows].tolist(),
                "arrayminus": (predicted - found.low)[rows].tolist(), "thickness": 1, "width": 0, "color": colour,
            }  # fmt: skip
            traces.append(
                go.Scatter(
                    x=observed[rows].tolist(), y=predicted[rows].tolist(), error_y=bars, mode="markers", name=name,
                    marker={"color": colour, "size": 7, "symbol": symbol},
                    hovertemplate="observed %{x:.5g}<br>predicted %{y:.5g}<extra></extra>",
                )
            )  # fmt: skip
    ends = [float(min(observed.min(), predicted.min())), float(max(observed.max(), predicted.max()))]
    diagonal = {"color": theme.NEUTRAL, "dash": "dash", "width": 1.5}
    traces.append(go.Scatter(x=ends, y=ends, mode="lines", line=diagonal, name="perfect", hoverinfo="skip"))
    title = in_figure(view.target)
    figure = theme.figure(
        traces, xaxis={"title": {"text": f"observed {title}"}}, yaxis={"title": {"text": f"predicted {title}"}}
    )
    sentence = (
        f"Each of {len(observed)} values against what the surrogate predicts from all the others, with 95 % intervals: "
        f"{round(100 * float(inside.mean()))} % of the values lie inside theirs."
    )
    return [("calibration", "Leave-one-out predictions", sentence, figure, False)]


def coverage(view: StudyView) -> list[Any]:
    """Share of values inside the central intervals of each level, against the level."""
    found = view.diagnosis.calibration
    if found is None or not drawable(found):
        return []
    go = theme.go()
    distance = np.abs(found.residuals)
    shares = [float((distance <= ndtri(0.5 + level / 2)).mean()) for level in LEVELS]
    line = {"color": theme.MODEL, "width": 2.5}
    traces = [
        go.Scatter(x=[0, 1], y=[0, 1], mode="lines", name="perfect", hoverinfo="skip",
                   line={"color": theme.NEUTRAL, "dash": "dash", "width": 1.5}),
        go.Scatter(x=list(LEVELS), y=shares, mode="lines+markers", name="this study", line=line,
                   hovertemplate="%{x:.0%} interval: %{y:.0%} inside<extra></extra>"),
    ]  # fmt: skip
    axis = {"range": [0, 1.02], "tickformat": ".0%", "dtick": 0.25}
    figure = theme.figure(
        traces,
        xaxis={**axis, "title": {"text": "level of the interval"}},
        yaxis={**axis, "title": {"text": "values inside"}},
    )
    at = {level: round(100 * share) for level, share in zip(LEVELS, shares, strict=True)}
    sentence = (
        f"Share of values inside the surrogate's intervals: {at[0.5]} % in those of 50 %, {at[0.8]} % in "
        f"those of 80 %, {at[0.95]} % in those of 95 %. Below the dashed line the surrogate is too sure of itself."
    )
    return [("coverage", "Coverage of the intervals", sentence, figure, False)]
