"""How every picture looks: one colour and one symbol for each role and each estimator, in light and in dark.

The colours are from Okabe and Ito (2008), which colour-blind readers can tell apart, darkened where needed so that
each has a contrast of at least 3:1 with the light and with the dark background. Symbols and dashes carry the same
distinction without colour.
"""

from dataclasses import dataclass
from typing import Any, Literal

from uhebo.report.chart import Bars, Chart, Number, Points, Symbol

ROLE_NAMES = {
    "initial": "start-up", "random": "exploration", "model": "model's choice", "repeat": "repeat",
    "other": "your own experiments",
}  # fmt: skip
"""Who proposed a trial, in the reader's words."""
UNTAGGED = "trials"
"""All of them, where none is known to be uhebo's: another sampler's, say."""
ROLE_COLOURS = {
    "initial": "#7f7f7f", "random": "#d55e00", "model": "#0077bb", "repeat": "#009e73", "other": "#aa6fa0"
}  # fmt: skip
ROLE_SYMBOLS: dict[str, Symbol] = {
    "initial": "circle-open", "random": "cross", "model": "circle", "repeat": "circle-open", "other": "diamond"
}  # fmt: skip

ESTIMATOR_COLOURS = {"consistent": "#009e73", "map": "#cc6b97", "mle": "#d55e00", "hmc": "#0077bb"}
ESTIMATOR_DASHES = {"consistent": "", "map": "2 3", "mle": "7 4", "hmc": "7 3 2 3"}
ESTIMATOR_NAMES = {"consistent": "consistent", "map": "MAP", "mle": "MLE", "hmc": "HMC"}

MODEL = "#0077bb"
INFEASIBLE = "#cc3d3d"
"""Colour of trials that do not keep the constraints, whoever proposed them, and of where they are likely missed."""
PENDING = "#b8730a"
"""Colour of experiments under way."""
GOOD, BAD, NEUTRAL = "#009e73", "#d55e00", "#7f7f7f"
BEST, BEST_EDGE = "#e69f00", "#5c4000"
WORST_LINE, BEST_LINE = "#8f8f8f", "#c98500"
SCALE = (
    "#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838",
)  # fmt: skip
"""Cividis (Nuñez, Anderton and Renslow, 2018): even in lightness and the same to colour-blind readers."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"
INK = {
    "light": {"ink": "#1f2328", "quiet": "#57606a", "line": "#dfe3e8", "paper": "#ffffff"},
    "dark": {"ink": "#e6e8eb", "quiet": "#a3abb5", "line": "#3a3f47", "paper": "#15181c"},
}
"""Colours that follow light and dark, as variables of the page's style have them."""

Part = Literal["first", "shape", "more"]


@dataclass(frozen=True)
class Picture:
    """A chart, what to call it, and a sentence that says what it shows to those who cannot see it."""

    key: str
    title: str
    sentence: str
    chart: Chart
    part: Part = "shape"
    """Where it belongs: on the first screen, among slices and maps, or folded away."""


def star(x: Number, y: Number, name: str, label: str) -> Points:
    """The mark of the best trial."""
    return Points([x], [y], name, BEST, "star", 8.0, labels=[label], outlined=True)


def role_points(role: str, name: str, x: Any, y: Any, **options: Any) -> Points:
    """Trials of one role; `infeasible` and `pending` are roles too."""
    if role == "infeasible":
        return Points(x, y, name, INFEASIBLE, "triangle", 4.5, **options)
    if role == "pending":
        return Points(x, y, name, PENDING, "square", 4.5, **options)
    return Points(x, y, name, ROLE_COLOURS[role], ROLE_SYMBOLS[role], **options)


def ends(low: Any, high: Any) -> Bars:
    """Error bars from low to high."""
    return low.tolist(), high.tolist()
