"""How the figures of the reproduction look: one colour and one dash for each method, everywhere; PNG and PDF."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Okabe & Ito (2008), which colour-blind readers can tell apart; the dashes say the same without colour.
LOOK: dict[str, tuple[str, str, Any]] = {
    "uhe": ("UHE-BO", "#0072B2", "-"),
    "map": ("MAP", "#E69F00", "--"),
    "hmc": ("MCMC", "#D55E00", "-."),
    "a-gp-ucb": ("A-GP-UCB", "#009E73", (0, (4, 1, 1, 1, 1, 1))),
    "wang-de-freitas": ("Wang & de Freitas", "#CC79A7", (0, (6, 2))),
    "portfolio": ("Portfolio", "#56B4E9", (0, (3, 1))),
    "random": ("Random", "#666666", ":"),
    "ra": ("RA-BO", "#009E73", "--"),
    "random-exp3": ("Random+EXP3", "#CC79A7", "-."),
    "mle": ("MLE", "#882255", ":"),
    "consistent": ("consistent, drawn", "#0072B2", "-"),
    "thinned": ("consistent, distinct", "#56B4E9", (0, (3, 1))),
    "observed": ("consistent, observed", "#009E73", (0, (4, 1, 1, 1))),
}
"""Method or estimator -> its name in print, colour, dashes."""
TITLES = {
    "branin": "Branin",
    "hartmann3": "Hartmann3",
    "deceptive": "Deceptive",
    "h1": "h1",
    "lr-vehicle": "LR, Vehicle",
    "xgboost-australian": "XGBoost, Australian",
    "xgboost-kc1": "XGBoost, KC1",
    "rf-wilt": "Forest, Wilt",
}
PARAMETERS: dict[str, Any] = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
}


@contextmanager
def pyplot() -> Iterator[Any]:
    """Matplotlib in the style of all figures, without a screen; the user's own settings are left as they were."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    def figure(width: float, height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Any, Any]:
        """A figure without pyplot's global state, and its axes."""
        made = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(made)
        return made, made.subplots(rows, columns, squeeze=False, **options)

    with mpl.rc_context(PARAMETERS):
        yield figure


def save(figure: Any, folder: Path, name: str) -> Path:
    """Write `name`.png and `name`.pdf; without dates in them, so that the same figure gives the same file."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None})
    figure.savefig(folder / f"{name}.png", metadata={"Software": None})
    return folder / f"{name}.png"


def png_inches(path: Path) -> float:
    """Width of a saved figure in print: the first field of a PNG's header is its width in pixels."""
    return float(int.from_bytes(path.read_bytes()[16:20], "big") / PARAMETERS["savefig.dpi"])
