"""Charts as Plotly figures, for `result.plot()` and Optuna's dashboard.

They are in SVG traces only: they combine with those of `optuna.visualization`, need no WebGL, and are drawn under a
content policy that forbids `eval`.
"""

import math
from typing import Any

from uhebo.report import theme
from uhebo.report.chart import Area, Axis, Chart, Layer, Line, Points, Rods, Surface, Texts
from uhebo.report.text import in_figure, in_plotly, optional
from uhebo.report.theme import Picture

SYMBOLS = {
    "circle": "circle", "circle-open": "circle-open", "cross": "x-thin-open", "diamond": "diamond-open",
    "triangle": "triangle-down-open", "star": "star", "square": "square-open", "dash": "line-ew-open",
}  # fmt: skip
ABOVE = 170
"""Pixels of a figure around the plot itself."""


def plotly_figure(picture: Picture) -> Any:
    """A `plotly.graph_objects.Figure` with its title."""
    go = optional("plotly.graph_objects", "plot")
    chart = picture.chart
    traces = [trace for layer in chart.layers for trace in _traces(go, layer, chart)]
    layout = {
        "template": template(),
        "title": {"text": in_plotly(in_figure(picture.title, 80))},
        "height": round(chart.height * 1.3) + ABOVE,
        "margin": {"l": 64, "r": 24, "t": 96, "b": 56},
        "xaxis": _axis(chart.x),
        "yaxis": _axis(chart.y),
        "showlegend": chart.legend,
        "annotations": [_note(chart.note)] if chart.note else [],
    }
    return go.Figure(data=traces, layout=layout)


def template(mode: str = "light") -> dict[str, Any]:
    """A small Plotly template; nothing that depends on light or dark is set anywhere else."""
    ink, paper = theme.INK[mode]["ink"], theme.INK[mode]["paper"]
    axis = {"zeroline": False, "showline": True, "ticks": "outside", "automargin": True, "title": {"standoff": 8}}
    axis |= {"gridcolor": theme.INK[mode]["line"], "linecolor": ink, "tickcolor": ink}
    layout = {
        "font": {"family": theme.FONT, "size": 13, "color": ink},
        "title": {"x": 0.0, "xref": "paper", "y": 0.98, "yanchor": "top", "font": {"size": 16}},
        "hoverlabel": {"bgcolor": paper, "bordercolor": theme.NEUTRAL, "font": {"color": ink}},
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "xanchor": "left", "x": 0.0},
        "hovermode": "closest",
    }
    return {"layout": layout | {"paper_bgcolor": paper, "plot_bgcolor": paper, "xaxis": axis, "yaxis": axis}}


def _note(text: str) -> dict[str, Any]:
    where = {"xref": "paper", "yref": "paper", "x": 1.0, "y": 1.0, "xanchor": "right", "yanchor": "top"}
    return {"text": in_plotly(text), "showarrow": False, "font": {"size": 11}, **where}


def _axis(axis: Axis) -> dict[str, Any]:
    if axis.hidden:
        return {"visible": False, "range": [axis.low, axis.high]}
    made: dict[str, Any] = {"title": {"text": in_plotly(axis.title)}, "showgrid": axis.grid}
    if axis.log:
        made |= {"type": "log", "range": [math.log10(axis.low), math.log10(axis.high)]}
    else:
        made["range"] = [axis.low, axis.high]
    if axis.log or axis.ticks is not None:
        ticks = axis.labels(20 if axis.ticks is not None else 7)
        made |= {"tickvals": [place for place, _ in ticks], "ticktext": [in_plotly(text) for _, text in ticks]}
    elif axis.percent:
        made["tickformat"] = ".0%"
    elif axis.whole:
        made["tickformat"] = ",d"
    return made


def _colour(name: str) -> str:
    return name if name.startswith("#") else theme.NEUTRAL


def _see_through(colour: str) -> str:
    parts = ",".join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
    return f"rgba({parts},0.25)"


def _traces(go: Any, layer: Layer, chart: Chart) -> list[Any]:
    if isinstance(layer, Texts):
        shown = [in_plotly(text) for text in layer.texts]
        anchor = {"start": "right", "middle": "center", "end": "left"}[layer.anchor]
        where = f"{'top' if layer.rise > 0 else 'bottom'} {anchor}"
        common = {"mode": "text", "text": shown, "textposition": where, "hoverinfo": "skip", "showlegend": False}
        return [go.Scatter(x=list(layer.x), y=list(layer.y), cliponaxis=False, **common)]
    name = in_plotly(layer.name)
    named: dict[str, Any] = {"name": name, "showlegend": bool(name) and chart.legend}
    if isinstance(layer, Surface):
        return _surface(go, layer)
    if isinstance(layer, Rods):
        common = {"orientation": "h", "marker": {"color": _see_through(layer.colour)}, "width": 0.3}
        return [
            go.Bar(x=list(layer.length), y=list(layer.y), hovertemplate="%{x:.0%}<extra></extra>", **common, **named)
        ]
    if isinstance(layer, Area):
        style = {"mode": "lines", "fill": "toself", "fillcolor": _see_through(layer.colour), "line": {"width": 0}}
        return [go.Scatter(x=list(layer.x), y=list(layer.y), hoverinfo="skip", **style, **named)]
    if isinstance(layer, Line):
        line: dict[str, Any] = {
            "color": _colour(layer.colour),
            "width": layer.width,
            "shape": "hv" if layer.steps else "linear",
        }
        if layer.dash:
            line["dash"] = ",".join(f"{part}px" for part in layer.dash.split())
        named |= {"mode": "lines+markers" if layer.marks else "lines", "opacity": layer.opacity, "line": line}
        return [go.Scatter(x=list(layer.x), y=list(layer.y), hovertemplate="%{y:.6g}<extra></extra>", **named)]
    return [_points(go, layer, named)]


def _points(go: Any, layer: Points, named: dict[str, Any]) -> Any:
    colour = _colour(layer.colour)
    marker: dict[str, Any] = {"color": colour, "symbol": SYMBOLS[layer.symbol], "size": max(2.0 * layer.size, 0.1)}
    if layer.symbol == "star":
        marker["line"] = {"color": theme.BEST_EDGE, "width": 1.2}
    elif layer.outlined:
        symbol = marker["symbol"].removesuffix("-open").removesuffix("-thin")
        marker |= {"symbol": symbol, "line": {"color": "#ffffff", "width": 1.2}}
    elif layer.symbol == "dash":
        marker["line"] = {"width": 3, "color": colour}
    if len(layer.opacity):
        marker["opacity"] = list(layer.opacity)
    told = {"text": [in_plotly(text) for text in layer.labels], "hovertemplate": "%{text}<extra></extra>"}
    bars = {}
    for key, ends, middle in (("error_x", layer.across, layer.x), ("error_y", layer.along, layer.y)):
        if ends is not None:
            above = [high - (at or 0.0) for high, at in zip(ends[1], middle, strict=True)]
            below = [(at or 0.0) - low for low, at in zip(ends[0], middle, strict=True)]
            bars[key] = {"type": "data", "array": above, "arrayminus": below, "width": 0, "color": colour}
    hover = told if layer.labels else {"hoverinfo": "skip"}
    return go.Scatter(x=list(layer.x), y=list(layer.y), mode="markers", marker=marker, **hover, **bars, **named)


def _surface(go: Any, layer: Surface) -> list[Any]:
    scale = [[i / (len(theme.SCALE) - 1), colour] for i, colour in enumerate(theme.SCALE)]
    common: dict[str, Any] = {
        "x": list(layer.x),
        "y": list(layer.y),
        "hovertemplate": "%{z:.5g}<extra></extra>",
        "name": layer.name,
    }
    bar: dict[str, Any] = {"thickness": 12, "outlinewidth": 0, "tickformat": ".3~g"}
    bar["title"] = {"text": in_plotly(layer.title), "side": "right"}
    common |= {"z": layer.z.tolist(), "colorscale": scale, "reversescale": layer.reverse, "colorbar": bar}
    if any(layer.cells):
        made = [go.Heatmap(**common)]
    else:
        made = [go.Contour(**common, ncontours=18, line={"width": 0.5}, contours={"coloring": "heatmap"})]
    if layer.spare is not None and (layer.spare < 0.0).any() and (layer.spare >= 0.0).any():
        edge = {"contours": {"start": 0, "end": 0, "size": 1, "coloring": "none"}, "showscale": False}
        style = {"color": theme.INFEASIBLE, "width": 3}
        z = layer.spare.tolist()
        place = {"x": list(layer.x), "y": list(layer.y), "z": z, "name": "edge of the feasible part"}
        made.append(go.Contour(**place, **edge, line=style, hoverinfo="skip"))
    return made
