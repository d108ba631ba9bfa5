"""What a picture consists of: two axes and layers of marks, whatever draws it (`svg` for pages, `plotly_` for Plotly).

Colours are hexadecimal, or one of the names in `theme.INK`: those follow light and dark.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from uhebo.types import Array

Number = float | None
"""A coordinate; None is a gap."""
Symbol = Literal["circle", "circle-open", "cross", "diamond", "triangle", "star", "square", "dash"]
Bars = tuple[Sequence[float], Sequence[float]] | None
"""Lower and upper ends of error bars."""
Ticks = tuple[tuple[float, str], ...]
MOST_POINTS = 1500
"""Maximum trials drawn in one picture; a browser slows down beyond."""


@dataclass(frozen=True)
class Axis:
    """Range and labels of one direction."""

    low: float
    high: float
    title: str = ""
    log: bool = False
    ticks: Ticks | None = None
    """Places and labels; None: round numbers, as many as there is room for."""
    grid: bool = True
    hidden: bool = False
    percent: bool = False
    whole: bool = False
    """Only whole numbers are labelled."""

    def share(self, place: float) -> float:
        """Where a place lies, 0 at the lower end and 1 at the upper one."""
        low, high = self.low, self.high
        if self.log:
            place, low, high = (math.log(max(value, 1e-300)) for value in (place, low, high))
        return place / (high - low) - low / (high - low)  # each term is finite where the difference overflows

    def labels(self, most: int) -> Ticks:
        """At most so many places along the axis, and what stands there."""
        if self.ticks is not None:
            every = math.ceil(len(self.ticks) / max(most, 1))
            return self.ticks[::every]
        places = log_places(self.low, self.high, most) if self.log else round_places(self.low, self.high, most)
        if self.whole:
            places = sorted({float(round(place)) for place in places if self.low <= round(place) <= self.high})
        return tuple(zip(places, texts(places, self.percent), strict=True))


@dataclass(frozen=True)
class Line:
    x: Sequence[Number]
    y: Sequence[Number]
    name: str
    colour: str
    width: float = 2.5
    dash: str = ""
    steps: bool = False
    """Level from one point to the next, then up or down."""
    opacity: float = 1.0
    marks: bool = False
    """Small dots at the points."""


@dataclass(frozen=True)
class Area:
    """A filled polygon."""

    x: Sequence[float]
    y: Sequence[float]
    name: str
    colour: str


@dataclass(frozen=True)
class Points:
    x: Sequence[Number]
    y: Sequence[Number]
    name: str
    colour: str
    symbol: Symbol = "circle"
    size: float = 4.0
    """Half the height, in pixels."""
    opacity: Sequence[float] = ()
    labels: Sequence[str] = ()
    """What is shown at the pointer."""
    across: Bars = None
    along: Bars = None
    """Error bars along x, and along y."""
    outlined: bool = False
    """With a light edge, for coloured ground."""


@dataclass(frozen=True)
class Rods:
    """Horizontal bars from 0."""

    y: Sequence[float]
    length: Sequence[float]
    name: str
    colour: str


@dataclass(frozen=True)
class Texts:
    x: Sequence[float]
    y: Sequence[float]
    texts: Sequence[str]
    anchor: Literal["start", "middle", "end"] = "start"
    rise: float = 0.0
    """Pixels above the place."""
    quiet: bool = False


@dataclass(frozen=True, eq=False)
class Surface:
    """Values over a grid, (len(y), len(x)), as colours."""

    x: Sequence[float]
    y: Sequence[float]
    z: Array
    name: str
    reverse: bool = False
    """The smallest values are the brightest."""
    cells: tuple[bool, bool] = (False, False)
    """Whether x and y are a few values, with nothing between them."""
    title: str = ""
    """What the colours stand for, beside their scale."""
    spare: Array | None = None
    """What the tightest constraint has to spare: below 0 the ground is hatched."""


Layer = Line | Area | Points | Rods | Texts | Surface


@dataclass(frozen=True, eq=False)
class Chart:
    """Layers from back to front."""

    layers: Sequence[Layer]
    x: Axis
    y: Axis
    height: float = 230.0
    """Pixels of the plot itself, at a width of the whole picture of `width`."""
    width: float = 460.0
    legend: bool = True
    note: str = ""
    """A word in a corner of the picture."""
    quiet: frozenset[str] = field(default_factory=frozenset)
    """Layers that are not in the legend."""

    def layer(self, name: str) -> Layer:
        """The first layer of that name."""
        return next(layer for layer in self.layers if not isinstance(layer, Texts) and layer.name == name)

    @property
    def names(self) -> list[str]:
        return [layer.name for layer in self.layers if not isinstance(layer, Texts) and layer.name]


def fitted(values: Sequence[Number] | Array, *, zero: bool = False, margin: float = 0.06) -> tuple[float, float]:
    """A range that holds all finite values, with some room."""
    finite = [float(value) for value in values if value is not None and math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = margin * (high / 2 - low / 2) * 2 or margin * max(abs(high), 1e-12)
    return low - room * (not zero or low < 0.0), high + room


def round_places(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten from low to high, at most `most` of them and two if possible."""
    span = high - low
    if not (span > 0 and math.isfinite(span)):
        return [low]
    power = 10.0 ** math.floor(math.log10(span / max(most, 1)))
    for step in (factor * power for factor in (1, 2, 5, 10, 20, 50)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            return [step * i for i in range(first, last + 1)]
    return [low]


def log_places(low: float, high: float, most: int = 7) -> list[float]:
    """Round numbers from low to high for a log axis: 1, 2, 5 times the powers of ten if they are few, else powers."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits, step in (((1, 2, 5), 1), ((1,), 1), ((1,), max(1, math.ceil((last - first) / max(most - 1, 1))))):
        places = [float(f"{digit}e{power}") for power in range(first, last + 1, step) for digit in digits]
        inside = [place for place in places if low * (1 - 1e-9) <= place <= high * (1 + 1e-9)]
        if len(inside) <= most:
            break
    if len(inside) >= 2:
        return inside[:: math.ceil(len(inside) / most)]
    return [float(f"{place:.2g}") for place in np.geomspace(low, high, max(2, min(3, most)))]


def texts(places: Sequence[float], percent: bool = False) -> list[str]:
    """Numbers on an axis, with as many decimals as it takes to tell them apart."""
    if percent:
        return [f"{100 * place:.0f} %" for place in places]
    size = max((abs(place) for place in places), default=0.0)
    gaps = [b - a for a, b in pairwise(places) if b > a]
    step = min(gaps, default=size)
    if not size:
        return ["0"] * len(places)
    if size >= 1e6 or size < 1e-3 or step < size * 1e-6:
        for digits in range(3, 17):
            found = [f"{place:.{digits}g}" if abs(place) > size * 1e-9 else "0" for place in places]
            if len(set(found)) == len(set(places)):
                break
        return found
    if step and max(gaps, default=0.0) > 1.5 * step:  # a log axis
        return [f"{place:.6g}" for place in places]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9)) if step else 0
    if any(abs(place - round(place, decimals)) > 1e-9 * size for place in places):
        decimals += 1
    return [f"{place + 0.0:.{decimals}f}" for place in places]


def thinned(items: Sequence[Any], most: int = MOST_POINTS) -> list[Any]:
    """At most `most` of them, evenly spaced, the first and the last always among them."""
    if len(items) <= most:
        return list(items)
    return [items[int(i)] for i in np.linspace(0, len(items) - 1, most)]
