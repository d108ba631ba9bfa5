"""How well the surrogate predicts what it saw: each value from all the others, and the coverage of its intervals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import ndtri

from uhebo.diagnosis.calibration import Calibration
from uhebo.report import theme
from uhebo.report.text import in_figure
from uhebo.report.theme import Picture
from uhebo.report.view import StudyView, thinned

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
MOST_DRAWN = 400
FEWEST = 3
"""Values from which on there is something to draw."""
PERFECT: dict[str, Any] = {"width": 1.5, "dash": "dash"}


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
    drawn = np.array(thinned(range(len(observed)), MOST_DRAWN))
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
