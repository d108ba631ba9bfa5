"""How well the surrogate predicts what it saw: each value from all the others, and the coverage of its intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from uhebo.report import theme
from uhebo.report.text import in_figure
from uhebo.report.view import StudyView, thinned
from uhebo.types import Array

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
MOST_DRAWN = 400


def left_out(view: StudyView, diagnosis: Any) -> tuple[Array, Array, Array] | None:
    """Observed values, and mean and deviation with which the surrogate predicts each from all the others."""
    found = getattr(diagnosis, "calibration", None)
    if found is not None:
        columns = [np.asarray(getattr(found, name), dtype=np.float64) for name in ("y", "loo_mean", "loo_sd")]
    elif view.surrogate is not None:
        data = view.surrogate.fit.posterior.data
        mean, variance, _ = view.surrogate.fit.posterior.leave_one_out()
        scale = data.scale
        natural = [view.surrogate.sign * (data.location + scale * values) for values in (data.y, mean)]
        columns = [*natural, scale * np.sqrt(variance)]
    else:
        return None
    keep = np.isfinite(columns[0]) & np.isfinite(columns[1]) & np.isfinite(columns[2]) & (columns[2] > 0)
    observed, mean, deviation = (column[keep] for column in columns)
    return (observed, mean, deviation) if len(observed) >= 3 and np.ptp(observed) > 0 else None


def calibration(view: StudyView, diagnosis: Any) -> list[Any]:
    """Each value against its prediction from the others, with 95 % intervals; those missed stand out."""
    found = left_out(view, diagnosis)
    if found is None:
        return []
    go = theme.go()
    observed, mean, deviation = found
    half = float(ndtri(0.975)) * deviation
    inside = np.abs(observed - mean) <= half
    drawn = np.zeros(len(observed), dtype=bool)
    drawn[thinned(range(len(observed)), MOST_DRAWN)] = True
    traces = []
    for caught, name, colour, symbol in ((True, "inside its 95 % interval", theme.MODEL, "circle"),
                                         (False, "outside", theme.BAD, "x")):  # fmt: skip
        rows = np.flatnonzero(drawn & (inside == caught))
        if len(rows):
            bars = {"type": "data", "array": half[rows].tolist(), "thickness": 1, "width": 0, "color": colour}
            traces.append(
                go.Scatter(
                    x=observed[rows].tolist(), y=mean[rows].tolist(), error_y=bars, mode="markers", name=name,
                    marker={"color": colour, "size": 7, "symbol": symbol},
                    hovertemplate="observed %{x:.5g}<br>predicted %{y:.5g}<extra></extra>",
                )
            )  # fmt: skip
    ends = [float(min(observed.min(), mean.min())), float(max(observed.max(), mean.max()))]
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


def coverage(view: StudyView, diagnosis: Any) -> list[Any]:
    """Share of values inside the central intervals of each level, against the level."""
    found = left_out(view, diagnosis)
    if found is None:
        return []
    go = theme.go()
    observed, mean, deviation = found
    distance = np.abs(observed - mean) / deviation
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
