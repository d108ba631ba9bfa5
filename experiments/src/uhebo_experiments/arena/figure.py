"""The figure of the arena: a labelled point per method, regret where the prior is right against where it misleads."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from uhebo_experiments.arena.board import Board
from uhebo_experiments.arena.runs import BASELINE
from uhebo_experiments.paired import interval
from uhebo_experiments.style import pyplot, save

FAMILIES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "default of uhebo": (("auto",), "#000000", "*"),
    "UHE-BO and its parts": (("uhe", "ra", "consistent-only", "random-exp3"), "#0072B2", "o"),
    "one estimate of theta": (("map", "mle"), "#E69F00", "s"),
    "average over theta": (("hmc", "fb-log-ei", "scorebo"), "#D55E00", "^"),
    "shorter lengthscales": (("a-gp-ucb", "wang-de-freitas", "lb-gp-ucb"), "#009E73", "v"),
    "several priors": (("pe-gp-ucb", "hp-gp-ts"), "#CC79A7", "D"),
    "random points": (("portfolio", "random"), "#666666", "X"),
}
"""Family -> its methods, colour, marker."""
OTHERS = ("yours", "#882255", "P")
Box = tuple[float, float, float, float]
"""Left, lower, right, upper, in points of 1/72 inch."""
ANGLES = tuple(math.radians(a) for a in (40, 140, 220, 320, 0, 180, 90, 270, 20, 160, 200, 340, 65, 115, 245, 295))
DISTANCES = (5.0, 9.0, 14.0, 20.0, 28.0, 38.0, 50.0, 64.0, 80.0, 100.0)
"""Points from a method's mark to the nearest edge of its label."""
CROSSED = 9.0
"""Points farther away that a label is put rather than over an error bar."""
MARK, MARGIN = 4.0, 3.0
"""Points from the middle of a mark to its edge, and points kept free around a label."""


def family(method: str) -> tuple[str, str, str]:
    """Name, colour and marker."""
    for name, (members, colour, marker) in FAMILIES.items():
        if method in members:
            return name, colour, marker
    return OTHERS


def draw(board: Board, folder: Path) -> Path:
    """Means over problems with 95 % intervals, on logarithmic axes; MAP's are the dotted lines."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    with pyplot() as make:
        figure, ((axis,),) = make(7.0, 5.6)
        at, spans = {}, {}
        seen: dict[str, Any] = {}
        for method in board.complete():
            right, misled = board.sample(method, "right"), board.sample(method, "misleading")
            x, y = float(right.mean()), float(misled.mean())
            name, colour, marker = family(method)
            (left, far), (low, high) = interval(right), interval(misled)
            axis.plot([left, far], [y, y], color=colour, lw=0.8, alpha=0.45, zorder=1)
            axis.plot([x, x], [low, high], color=colour, lw=0.8, alpha=0.45, zorder=1)
            spans[method] = ((left, y, far, y), (x, low, x, high))
            size = 130 if marker == "*" else 34
            seen[name] = axis.scatter(x, y, s=size, marker=marker, color=colour, edgecolors="white", lw=0.6, zorder=3)
            at[method] = (x, y)
        axis.set(xscale="log", yscale="log")
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0, 7.0)))
            side.set_major_formatter(FuncFormatter(lambda share, _: f"{100.0 * share:g} %"))
            side.set_minor_locator(NullLocator())
        axis.set_xlabel("regret left where the prior is right")
        axis.set_ylabel("regret left where it misleads")
        if BASELINE in at:
            axis.axvline(at[BASELINE][0], color="#999999", lw=0.8, ls=":", zorder=0)
            axis.axhline(at[BASELINE][1], color="#999999", lw=0.8, ls=":", zorder=0)
        axis.margins(0.08)
        if seen:
            order = [name for name in (*FAMILIES, OTHERS[0]) if name in seen]
            figure.legend([seen[name] for name in order], order, loc="outside lower center", ncols=4)
        label(figure, axis, at, [span for pair in spans.values() for span in pair])
        return save(figure, folder, "hyperparameters")


def label(figure: Any, axis: Any, at: dict[str, tuple[float, float]], bars: list[Box]) -> None:
    """A label beside each point, where it covers no other label and no point, and few error bars; a line leads to it
    from afar. Points in crowds choose first."""
    from matplotlib.patheffects import withStroke

    figure.canvas.draw()  # the layout is known after this
    scale = 72.0 / figure.dpi

    def points(x: float, y: float) -> tuple[float, float]:
        across, up = axis.transData.transform((x, y))
        return scale * float(across), scale * float(up)

    marks = {method: points(*where) for method, where in at.items()}
    lines = [(*points(*bar[:2]), *points(*bar[2:])) for bar in bars]
    frame = tuple(scale * float(edge) for edge in axis.get_window_extent().extents)
    edges = {method: (x - MARK, y - MARK, x + MARK, y + MARK) for method, (x, y) in marks.items()}
    taken: list[Box] = list(edges.values())
    shown = {"fontsize": 7.5, "zorder": 4, "path_effects": [withStroke(linewidth=2.0, foreground="white")]}
    for method in sorted(at, key=lambda m: _crowd(m, marks), reverse=True):
        text = axis.annotate(method, at[method], **shown)
        extent = text.get_window_extent()
        text.remove()
        width, height = scale * extent.width, scale * extent.height
        x, y = marks[method]
        places = [(_place(x, y, width, height, angle, far), far) for far in DISTANCES for angle in ANGLES]
        free = [
            (box, far)
            for box, far in places
            if _within(box, frame) and not any(_cover(box, other) for other in taken if other != edges[method])
        ]
        chosen, far = min(free or places, key=lambda place: place[1] + CROSSED * _crossings(place[0], lines))
        taken.append(chosen)
        colour = family(method)[1]
        arrow = {"arrowstyle": "-", "color": colour, "lw": 0.5, "shrinkA": 0, "shrinkB": 2}
        centre = ((chosen[0] + chosen[2]) / 2 - x, (chosen[1] + chosen[3]) / 2 - y)
        axis.annotate(
            method,
            at[method],
            centre,
            textcoords="offset points",
            ha="center",
            va="center",
            color=colour,
            arrowprops=arrow if far > DISTANCES[1] else None,
            annotation_clip=False,
            **shown,
        )


def _crowd(method: str, marks: dict[str, tuple[float, float]]) -> float:
    x, y = marks[method]
    return sum(math.exp(-math.hypot(x - u, y - v) / 30.0) for u, v in marks.values())


def _place(x: float, y: float, width: float, height: float, angle: float, distance: float) -> Box:
    """Box of a label whose nearest edge is so far from (x, y) in that direction."""
    across, up = math.cos(angle), math.sin(angle)
    cx = x + across * distance + math.copysign(width / 2, across) * (abs(across) > 0.1)
    cy = y + up * distance + math.copysign(height / 2, up) * (abs(up) > 0.1)
    return cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2


def _within(box: Box, frame: tuple[float, ...]) -> bool:
    return box[0] >= frame[0] and box[1] >= frame[1] and box[2] <= frame[2] and box[3] <= frame[3]


def _cover(one: Box, two: Box) -> bool:
    return (
        one[0] < two[2] + MARGIN and two[0] < one[2] + MARGIN and one[1] < two[3] + MARGIN and two[1] < one[3] + MARGIN
    )


def _crossings(box: Box, lines: list[Box]) -> int:
    return sum(_cover(box, line) for line in lines)
