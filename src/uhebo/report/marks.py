"""Marks, colours, widths of text and heat maps for SVG."""

import base64
import math
import struct
import unicodedata
import zlib
from collections.abc import Sequence

import numpy as np

from uhebo.report import theme
from uhebo.report.chart import Points, Surface
from uhebo.types import Array

SIZE = 12.0
"""Pixels of the letters."""
BANDS = 16
"""Colours of a surface: their edges show its shape, as contour lines do."""
PIXELS = 200


def text_width(text: str, size: float = SIZE) -> float:
    """Pixels that a text takes, in a wide font."""
    return size * sum(map(_wide, text))


def _wide(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    if letter in "iljtfrI.,:;|'!() -[]":
        return 0.42
    if letter in "mwMW%@…—":
        return 0.98
    return 0.7 if letter.isupper() else 0.64


def paint(colour: str) -> str:
    """A colour, or the variable of the page's style that has it."""
    return colour if colour.startswith("#") else f"var(--{colour})"


def mark_ink(layer: Points) -> tuple[str, str, float]:
    """Fill, stroke and its width."""
    colour = paint(layer.colour)
    if layer.symbol == "star":
        return colour, theme.BEST_EDGE, 1.0
    if layer.symbol in ("cross", "dash"):
        return "none", colour, 2.0
    if layer.outlined:
        return colour, "#ffffff", 1.2
    return (colour, colour, 0.0) if layer.symbol == "circle" else ("var(--paper)", colour, 1.6)


def mark_shape(symbol: str, x: float, y: float, r: float) -> str:
    """Tag and attributes of a mark."""
    if symbol in ("circle", "circle-open"):
        return f'circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}"'
    if symbol == "square":
        return f'rect x="{x - r + 0.5:.1f}" y="{y - r + 0.5:.1f}" width="{2 * r - 1:.1f}" height="{2 * r - 1:.1f}"'
    if symbol == "star":
        turns = (math.pi * i / 5 for i in range(10))
        tips = (
            (x + (r if i % 2 == 0 else 0.42 * r) * math.sin(turn), y - (r if i % 2 == 0 else 0.42 * r) * math.cos(turn))
            for i, turn in enumerate(turns)
        )
        return f'path d="M{"L".join(f"{a:.1f} {b:.1f}" for a, b in tips)}Z"'
    corners = {
        "cross": "m{r} {r}l-{d} -{d}m{d} 0l-{d} {d}", "dash": "m{r} 0h-{d}",
        "diamond": "m0 -{r}l{r} {r}l-{r} {r}l-{r} -{r}z", "triangle": "m-{r} -{h}h{d}l-{r} {d}z",
    }[symbol]  # fmt: skip
    drawn = corners.format(r=f"{r:.1f}", d=f"{2 * r:.1f}", h=f"{0.7 * r:.1f}")
    return f'path d="M{x:.1f} {y:.1f}{drawn}"'


def heat_map(layer: Surface) -> str:
    """A surface as a PNG in a data URI."""
    return png_uri(colours(layer))


def edges(places: Sequence[float], cells: bool) -> tuple[float, float]:
    """Where the pixels of a row or a column begin and end; those of a few values are centred on them."""
    if not cells or len(places) < 2:
        return (places[0], places[-1]) if not cells else (places[0] - 0.5, places[0] + 0.5)
    return places[0] - (places[1] - places[0]) / 2, places[-1] + (places[-1] - places[-2]) / 2


def _stretched(z: Array, cells: tuple[bool, bool]) -> Array:
    """The grid in pixels: straight lines between its values, steps where there is nothing between them."""
    for axis, steps in ((1, cells[0]), (0, cells[1])):
        count = z.shape[axis]
        at = np.linspace(0, count - 1, PIXELS) if not steps else (np.arange(PIXELS) * count / PIXELS).astype(int)
        low = np.minimum(np.floor(at).astype(int), count - 1)
        part = np.expand_dims(at - low, 1 - axis)
        z = np.take(z, low, axis) * (1 - part) + np.take(z, np.minimum(low + 1, count - 1), axis) * part
    return z


def colours(layer: Surface) -> Array:
    """Red, green and blue of each pixel, the first row on top."""
    z = _stretched(np.asarray(layer.z, dtype=np.float64), layer.cells)
    span = float(np.ptp(z))
    share = (z - z.min()) / span if span > 0 else np.full(z.shape, 0.5)
    share = (np.minimum(np.floor(share * BANDS), BANDS - 1) + 0.5) / BANDS
    if layer.reverse:
        share = 1.0 - share
    stops = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in theme.SCALE], dtype=np.float64)
    at = np.linspace(0.0, 1.0, len(stops))
    pixels = np.stack([np.interp(share, at, stops[:, channel]) for channel in range(3)], axis=-1)
    if layer.spare is not None:
        missed = _stretched(np.asarray(layer.spare, dtype=np.float64), layer.cells) < 0.0
        rows, columns = np.indices(missed.shape)
        pixels[missed & ((rows + columns) % 8 < 3)] = [int(theme.INFEASIBLE[i : i + 2], 16) for i in (1, 3, 5)]
    return np.asarray(np.rint(pixels[::-1]).astype(np.uint8))


def png_uri(pixels: Array) -> str:
    """Pixels, (height, width, 3), as a PNG in a data URI."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\x00" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows, 9)), chunk(b"IEND", b""))
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode("ascii")
