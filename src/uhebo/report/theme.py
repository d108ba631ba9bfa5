"""How every picture looks: one colour and one symbol for each role and each estimator, in light and in dark.

The colours are from Okabe and Ito (2008), which colour-blind readers can tell apart, darkened where needed so that
each has a contrast of at least 3:1 with the light and with the dark background. Symbols and dashes carry the same
distinction without colour.
"""

from dataclasses import dataclass
from typing import Any

from uhebo.report.text import optional

Figure = Any
"""A `plotly.graph_objects.Figure`; Plotly is optional and has no type information."""

ROLE_NAMES = {"initial": "initial design", "random": "random point", "model": "model's point", "other": "other"}
ROLE_COLOURS = {"initial": "#7f7f7f", "random": "#d55e00", "model": "#0077bb", "other": "#aa6fa0"}
ROLE_SYMBOLS = {"initial": "circle-open", "random": "x-thin-open", "model": "circle", "other": "diamond-open"}

ESTIMATOR_COLOURS = {"consistent": "#009e73", "map": "#cc6b97", "mle": "#d55e00", "hmc": "#0077bb"}
ESTIMATOR_DASHES = {"consistent": "solid", "map": "dot", "mle": "dash", "hmc": "dashdot"}
ESTIMATOR_NAMES = {"consistent": "consistent", "map": "MAP", "mle": "MLE", "hmc": "HMC"}

MODEL, BAND = "#0077bb", "rgba(0,119,187,0.25)"
INFEASIBLE: dict[str, Any] = {"color": "#cc3d3d", "symbol": "triangle-down-open", "size": 9}
"""Marker of trials that do not keep the constraints, whoever proposed them."""
GOOD, BAD, NEUTRAL = "#009e73", "#d55e00", "#7f7f7f"
BEST = {"symbol": "star", "size": 15, "color": "#e69f00", "line": {"color": "#5c4000", "width": 1.2}}
WORST_LINE, BEST_LINE = "#8f8f8f", "#c98500"
SCALE = "Cividis"
"""Colour scale that is even in lightness and the same to colour-blind readers."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"
INK = {"light": "#1f2328", "dark": "#e6e8eb"}
GRID = {"light": "#dfe3e8", "dark": "#3a3f47"}
PAPER = {"light": "#ffffff", "dark": "#15181c"}


@dataclass(frozen=True)
class Picture:
    """A figure, what to call it, and a sentence that says what it shows to those who cannot see it."""

    key: str
    title: str
    sentence: str
    figure: Figure
    wide: bool = True


def go() -> Any:
    """`plotly.graph_objects`, or an error that says how to install it."""
    return optional("plotly.graph_objects", "plot")


def template(mode: str = "light") -> dict[str, Any]:
    """A small Plotly template; nothing that depends on light or dark is set anywhere else."""
    ink, paper = INK[mode], PAPER[mode]
    axis = {"zeroline": False, "showline": True, "ticks": "outside", "automargin": True, "title": {"standoff": 8}}
    axis |= {"gridcolor": GRID[mode], "linecolor": ink, "tickcolor": ink}
    layout = {
        "font": {"family": FONT, "size": 13, "color": ink},
        "title": {"x": 0.0, "xref": "paper", "y": 0.98, "yanchor": "top", "font": {"size": 16}},
        "hoverlabel": {"bgcolor": paper, "bordercolor": NEUTRAL, "font": {"color": ink}},
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "xanchor": "left", "x": 0.0},
        "hovermode": "closest",
    }
    return {"layout": layout | {"paper_bgcolor": paper, "plot_bgcolor": paper, "xaxis": axis, "yaxis": axis}}


def figure(traces: list[Any], *, height: int = 400, **layout: Any) -> Figure:
    """A figure in our style: the caller gives traces and what is special about the layout."""
    top = 56 if layout.get("showlegend", True) else 16
    settings = {"template": template(), "height": height, "margin": {"l": 64, "r": 24, "t": top, "b": 56}}
    return go().Figure(data=traces, layout={**settings, **layout})


def panels(titles: list[str], spacing: float, height: int) -> Figure:
    """A figure of panels, one below the other, that share the horizontal axis."""
    made = optional("plotly.subplots", "plot").make_subplots(
        rows=len(titles), cols=1, shared_xaxes=True, vertical_spacing=spacing, subplot_titles=titles
    )
    return made.update_layout(figure([], height=height).layout)


def trace(x: Any, y: Any, name: str = "", hover: str = "", **options: Any) -> Any:
    """A scatter trace; `hover` is Plotly's template for the text at the pointer, of which there is none without it."""
    told = {"hovertemplate": f"{hover}<extra></extra>"} if hover else {"hoverinfo": "skip"}
    return go().Scatter(x=x, y=y, name=name, **told, **options)


def line(x: Any, y: Any, name: str, colour: str, hover: str = "", **style: Any) -> Any:
    return trace(x, y, name, hover, mode="lines", line={"color": colour, "width": 2.5, **style})


def marks(x: Any, y: Any, name: str, marker: dict[str, Any], hover: str = "", **options: Any) -> Any:
    return trace(x, y, name, hover, mode="markers", marker=marker, **options)


def role_marker(role: str) -> dict[str, Any]:
    return {"color": ROLE_COLOURS[role], "symbol": ROLE_SYMBOLS[role], "size": 8}


def bars(middle: Any, low: Any, high: Any, **style: Any) -> dict[str, Any]:
    """Error bars from low to high."""
    beyond = {"array": (high - middle).tolist(), "arrayminus": (middle - low).tolist()}
    return {"type": "data", "width": 0, **beyond, **style}
