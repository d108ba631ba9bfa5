"""Charts as SVG: text stays text, colours follow the page's light or dark, nothing is loaded.

Widths of text are estimated with those of a wide font, so that labels do not meet in a narrower one.
"""

import html
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

import numpy as np

from uhebo.report import theme
from uhebo.report.chart import Area, Axis, Chart, Layer, Line, Points, Rods, Surface, Texts, Ticks
from uhebo.report.marks import SIZE, edges, heat_map, mark_ink, mark_shape, paint, text_width

ROW = 18.0
GAP = 10.0
TILTED = 0.7
"""Sine and cosine, about, of the angle of labels that have no room side by side."""
HALO = ' stroke="var(--paper)" stroke-width="3" paint-order="stroke"'
"""Around texts that lie over marks."""
MOST_LABELS = 500
"""Points above which none has a text at the pointer: it would be most of the file."""


def svg(chart: Chart, title: str = "", *, key: str = "chart", legend: bool = True) -> str:
    """An `<svg>` element to be put into a page; `key` makes its ids differ from those of others."""
    frame = _Frame(chart if legend else replace(chart, legend=False))
    parts = [*frame.head(title), *frame.axes()]
    parts.append(f'<g clip-path="url(#{key}-clip)">')
    marks = [layer for layer in chart.layers if not isinstance(layer, Texts)]
    parts += [part for layer in marks for part in frame.drawn(layer)]
    parts.append("</g>")
    parts += [part for layer in chart.layers if isinstance(layer, Texts) for part in frame.texts(layer)]
    clip = (
        f'<clipPath id="{key}-clip"><rect x="{frame.left - 7:.0f}" y="{frame.top - 7:.0f}" '
        f'width="{frame.across + 14:.0f}" height="{frame.down + 14:.0f}"/></clipPath>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {chart.width:.0f} {frame.height:.0f}" '
        f'font-size="{SIZE:.0f}" fill="none">{clip}{"".join(parts)}</svg>'
    )


def legend_items(charts: Sequence[Chart]) -> list[tuple[str, str]]:
    """Each mark that the charts have, as a small `<svg>`, and what it is called."""
    found: dict[str, str] = {}
    for chart in charts:
        frame = _Frame(chart)
        for layer in frame.items:
            if layer.name not in found:
                marks = "".join(frame.sample(layer, 1.0, 8.0))
                found[layer.name] = f'<svg viewBox="0 0 18 16" width="18" height="16" fill="none">{marks}</svg>'
    return [(drawn, name) for name, drawn in found.items()]


def svg_file(chart: Chart, title: str) -> str:
    """A file of its own, in light colours, with its title in it."""
    text = svg(chart, title).replace('fill="none"', f'fill="none" font-family="{theme.FONT}"', 1)
    size = text.partition('viewBox="0 0 ')[2].partition('"')[0].split()
    text = text.replace("<svg ", f'<svg width="{size[0]}" height="{size[1]}" ', 1)
    ground = f'<rect width="100%" height="100%" fill="{theme.INK["light"]["paper"]}"/>'
    text = text.replace("<clipPath", ground + "<clipPath", 1)
    for name, colour in theme.INK["light"].items():
        text = text.replace(f"var(--{name})", colour)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + text + "\n"


def _label(x: float, y: float, text: str, anchor: str = "start", colour: str = "ink", more: str = "") -> str:
    where = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{paint(colour)}"{where}{more}>{html.escape(text, quote=False)}</text>'


class _Frame:
    """Where everything goes, in pixels."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.y_ticks: Ticks = () if chart.y.hidden else chart.y.labels(max(2, int(chart.height // 32)))
        longest = max((text_width(text) for _, text in self.y_ticks), default=0.0)
        self.left = longest + 12.0 if self.y_ticks else 8.0
        if chart.y.hidden and not chart.x.hidden:  # half of the first label hangs over
            place, text = chart.x.labels(6)[0]
            self.left = max(self.left, text_width(text) / 2 + 2.0)
        self.right = 14.0
        self.x_ticks, self.tilted = self._fitting(chart.x)
        if self.x_ticks and not self.tilted:  # half of the last label hangs over
            place, text = self.x_ticks[-1]
            over = text_width(text) / 2 - (1.0 - chart.x.share(place)) * self.across
            self.right = max(self.right, over + 2.0)
        self.items = _legend(chart)
        self.surface = next((layer for layer in chart.layers if isinstance(layer, Surface)), None)
        self.titled = bool(chart.y.title)
        self.top = 8.0

    @property
    def across(self) -> float:
        return self.chart.width - self.left - self.right

    @property
    def down(self) -> float:
        return self.chart.height

    @property
    def height(self) -> float:
        below = 6.0
        if not self.chart.x.hidden:
            longest = max((text_width(text) for _, text in self.x_ticks), default=0.0)
            below += (longest * TILTED + 16.0 if self.tilted else ROW) + (ROW if self.chart.x.title else 0.0)
        return self.top + self.down + below

    def _fitting(self, axis: Axis) -> tuple[Ticks, bool]:
        """As many labels as have room side by side; names that have none are tilted."""
        if axis.hidden:
            return (), False
        for most in range(8, 1, -1) if axis.ticks is None or axis.log else (len(axis.ticks),):
            ticks = axis.labels(most)
            places = [axis.share(place) * self.across for place, _ in ticks]
            halves = [text_width(text) / 2 for _, text in ticks]
            free = all(
                right - left >= a + b + GAP
                for left, right, a, b in zip(places[:-1], places[1:], halves[:-1], halves[1:], strict=True)
            )
            if free:
                return ticks, False
        if axis.ticks is None or axis.log:
            return axis.labels(2), False
        return axis.labels(max(1, int(self.across // 17))), True

    def x(self, place: float) -> float:
        return self.left + self.chart.x.share(place) * self.across

    def y(self, place: float) -> float:
        return self.top + (1.0 - self.chart.y.share(place)) * self.down

    def head(self, title: str) -> Iterator[str]:
        """Rows above the plot: title, scale of the colours, name of the vertical axis, legend."""
        at = 4.0
        if title:
            at += ROW + 2.0
            yield _label(4.0, at - 5.0, title, more=' font-weight="600"')
        if self.surface is not None:
            at = yield from self._ramp(self.surface, at + ROW)
        if self.titled:
            at += ROW
            yield _label(4.0, at - 5.0, self.chart.y.title, colour="quiet")
        right = self.chart.width - 6.0
        place = right
        for layer in self.items:
            width = 22.0 + text_width(layer.name) + 12.0
            if place + width > right:
                at += ROW
                place = 4.0
            yield from self.sample(layer, place, at - 9.0)
            yield _label(place + 22.0, at - 5.0, layer.name)
            place += width
        self.top = at + 10.0
        if self.chart.note:
            yield _label(self.left + self.across, self.top + 11.0, self.chart.note, "end", "quiet")

    def _ramp(self, layer: Surface, at: float) -> Generator[str, None, float]:
        """What the colours stand for, and their scale; below each other where one row is too short. Where it ends."""
        first, last = (f"{float(end):.3g}" for end in (np.min(layer.z), np.max(layer.z)))
        colours = theme.SCALE[::-1] if layer.reverse else theme.SCALE
        left, wide = 4.0 + text_width(layer.title) + 12.0, 11.0 * len(colours) + 12.0
        yield _label(4.0, at - 5.0, layer.title, colour="quiet")
        if left + text_width(first) + wide + text_width(last) > self.chart.width:
            left, at = 4.0, at + ROW
        start = left + text_width(first) + 6.0
        yield _label(left, at - 5.0, first)
        for i, colour in enumerate(colours):
            yield f'<rect x="{start + 11 * i:.1f}" y="{at - 14.0}" width="11.5" height="10" fill="{colour}"/>'
        yield _label(start + 11 * len(colours) + 6.0, at - 5.0, last)
        return at

    def sample(self, layer: Layer, x: float, y: float) -> Iterator[str]:
        if isinstance(layer, (Area, Rods)):
            yield f'<rect x="{x}" y="{y - 5}" width="16" height="10" fill="{layer.colour}" fill-opacity="0.45"/>'
        elif isinstance(layer, Line):
            yield self._stroke(f"M{x:.1f} {y:.1f}h16", layer)
        elif isinstance(layer, Points) and not layer.size:  # bars alone
            yield f'<path d="M{x:.1f} {y:.1f}h16" stroke="{paint(layer.colour)}" stroke-width="1.5"/>'
        elif isinstance(layer, Points):
            yield from self._symbols(layer, [(x + 8.0, y)], [1.0], [""])

    def axes(self) -> Iterator[str]:
        left, top, right, bottom = self.left, self.top, self.left + self.across, self.top + self.down
        lines: list[str] = []
        for place, text in self.y_ticks:
            y = self.y(place)
            lines += [f"M{left:.1f} {y:.1f}H{right:.1f}"] if self.chart.y.grid else []
            yield _label(left - 6.0, y + 4.0, text, "end")
        for place, text in self.x_ticks:
            x = self.x(place)
            lines += [f"M{x:.1f} {top:.1f}V{bottom:.1f}"] if self.chart.x.grid else []
            if self.tilted:
                turn = f' transform="rotate(-45 {x + 4:.1f} {bottom + 14:.1f})"'
                yield _label(x + 4.0, bottom + 14.0, text, "end", more=turn)
            else:
                yield _label(x, bottom + 18.0, text, "middle")  # below the lowest label of the other axis
        if lines:
            yield f'<path d="{"".join(lines)}" stroke="var(--line)"/>'
        if not self.chart.x.hidden:
            upright = "" if self.chart.y.hidden else f"M{left:.1f} {top:.1f}V{bottom:.1f}"
            yield f'<path d="{upright}M{left:.1f} {bottom:.1f}H{right:.1f}" stroke="var(--quiet)"/>'
            if self.chart.x.title:
                yield _label((left + right) / 2, self.height - 7.0, self.chart.x.title, "middle", "quiet")

    def drawn(self, layer: Layer) -> Iterator[str]:
        if isinstance(layer, Surface):
            yield self._image(layer)
        elif isinstance(layer, Area):
            path = "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in zip(layer.x, layer.y, strict=True))
            yield f'<path d="M{path}Z" fill="{layer.colour}" fill-opacity="0.28"/>'
        elif isinstance(layer, Rods):
            for y, length in zip(layer.y, layer.length, strict=True):
                width = max(self.x(length) - self.x(0.0), 0.5)
                place = f'x="{self.x(0.0):.1f}" y="{self.y(y) - 5:.1f}"'
                yield f'<rect {place} width="{width:.1f}" height="10" fill="{layer.colour}" fill-opacity="0.45"/>'
        elif isinstance(layer, Line):
            yield self._stroke(self._path(layer), layer)
            if layer.marks:
                along = zip(layer.x, layer.y, strict=True)
                places = [(self.x(x), self.y(y)) for x, y in along if x is not None and y is not None]
                dots = Points([], [], "", layer.colour, size=2.5)
                yield from self._symbols(dots, places, [1.0] * len(places), [""] * len(places))
        elif isinstance(layer, Points):
            there = [i for i in range(len(layer.x)) if layer.x[i] is not None and layer.y[i] is not None]
            yield from self._whiskers(layer, there)
            places = [(self.x(layer.x[i] or 0.0), self.y(layer.y[i] or 0.0)) for i in there]
            shade = [layer.opacity[i] if len(layer.opacity) else 1.0 for i in there]
            told = [layer.labels[i] if 0 < len(layer.labels) <= MOST_LABELS else "" for i in there]
            yield from self._symbols(layer, places, shade, told)

    def _path(self, layer: Line) -> str:
        path, pen = [], "M"
        for x, y in zip(layer.x, layer.y, strict=True):
            if x is None or y is None:
                pen = "M"
                continue
            if layer.steps and pen == "L":
                path.append(f"H{self.x(x):.1f}")
            path.append(f"{pen}{self.x(x):.1f} {self.y(y):.1f}")
            pen = "L"
        return "".join(path)

    def _stroke(self, path: str, layer: Line) -> str:
        dash = f' stroke-dasharray="{layer.dash}"' if layer.dash else ""
        faint = f' opacity="{layer.opacity:.2f}"' if layer.opacity < 1.0 else ""
        return f'<path d="{path}" stroke="{paint(layer.colour)}" stroke-width="{layer.width:.1f}"{dash}{faint}/>'

    def _whiskers(self, layer: Points, there: Sequence[int]) -> Iterator[str]:
        """Error bars; what lies beyond an axis is left out."""
        lines, right, bottom = [], self.left + self.across, self.top + self.down
        for i in there:
            x, y = layer.x[i], layer.y[i]
            assert x is not None
            assert y is not None
            if layer.across is not None:
                low, high = (min(max(self.x(side[i]), self.left), right) for side in layer.across)
                lines.append(f"M{low:.1f} {self.y(y):.1f}H{high:.1f}")
            if layer.along is not None:
                low, high = (min(max(self.y(side[i]), self.top), bottom) for side in layer.along)
                lines.append(f"M{self.x(x):.1f} {low:.1f}V{high:.1f}")
        if lines:
            yield f'<path d="{"".join(lines)}" stroke="{paint(layer.colour)}" stroke-width="1.5"/>'

    def _symbols(
        self, layer: Points, places: Sequence[tuple[float, float]], shade: Sequence[float], told: Sequence[str]
    ) -> Iterator[str]:
        fill, stroke, width = mark_ink(layer)
        if layer.outlined and layer.symbol == "cross":  # a light edge
            under = "".join(f"<{mark_shape(layer.symbol, x, y, layer.size)}/>" for x, y in places)
            yield f'<g stroke="#ffffff" stroke-width="4.5">{under}</g>'
        yield f'<g fill="{fill}" stroke="{stroke}" stroke-width="{width}">'
        for (x, y), opacity, text in zip(places, shade, told, strict=True):
            faint = f' opacity="{opacity:.2f}"' if opacity < 1.0 else ""
            inner = f"<title>{html.escape(text, quote=False)}</title>" if text else ""
            shape = mark_shape(layer.symbol, x, y, layer.size)
            tag = shape.partition(" ")[0]
            yield f"<{shape}{faint}>{inner}</{tag}>" if inner else f"<{shape}{faint}/>"
        yield "</g>"

    def _image(self, layer: Surface) -> str:
        x0, x1 = (self.x(place) for place in edges(layer.x, layer.cells[0]))
        y0, y1 = (self.y(place) for place in edges(layer.y, layer.cells[1]))
        where = f'x="{x0:.1f}" y="{y1:.1f}" width="{x1 - x0:.1f}" height="{y0 - y1:.1f}"'
        return f'<image {where} preserveAspectRatio="none" href="{heat_map(layer)}"/>'

    def texts(self, layer: Texts) -> Iterator[str]:
        for x, y, text in zip(layer.x, layer.y, layer.texts, strict=True):
            at = self.y(y) - layer.rise
            yield _label(self.x(x), at, text, layer.anchor, "quiet" if layer.quiet else "ink", HALO)


def _legend(chart: Chart) -> list[Line | Area | Points | Rods]:
    if not chart.legend:
        return []
    kept: dict[str, Line | Area | Points | Rods] = {}
    for layer in chart.layers:
        named = isinstance(layer, (Line, Area, Points, Rods)) and layer.name and layer.name not in chart.quiet
        if named and not isinstance(layer, (Texts, Surface)):
            kept.setdefault(layer.name, layer)
    return list(kept.values())
