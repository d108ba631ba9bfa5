"""Evaluations that fail or are punished, and more parameters than trials can cover."""

from __future__ import annotations

from functools import partial

from uhebo.space import Float
from uhebo_experiments.problems.practical import FAILED, Evaluation, Params, Practical

EDGE, FAILING_FROM = 0.8, 0.7
START = 10
"""Trials before the counted ones of the failing region: every library has left its start-up design by then."""
COUNTED = 15
SQUARE = {"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}
GOLDEN = 0.6180339887498949


def bowl(p: Params, penalty: float | None) -> Evaluation:
    """(x - 0.3)² + (y - 0.6)²; beyond x = 0.8 the penalty, or a failure."""
    if p["x"] > EDGE:
        return FAILED if penalty is None else Evaluation(penalty)
    return Evaluation((p["x"] - 0.3) ** 2 + (p["y"] - 0.6) ** 2)


def failing(p: Params) -> Evaluation:
    """(x - 0.9)² + (y - 0.4)², which fails beyond x = 0.7: the best point is at the edge."""
    return FAILED if p["x"] > FAILING_FROM else Evaluation((p["x"] - 0.9) ** 2 + (p["y"] - 0.4) ** 2)


def additive(p: Params) -> Evaluation:
    """Σ (x_i - c_i)² / i, where c_i = 0.2 + 0.6 frac(golden ratio · i): parameters matter less and less."""
    return Evaluation(sum((p[name] - centre(i)) ** 2 / i for i, name in enumerate(p, 1)))


def centre(i: int) -> float:
    return 0.2 + 0.6 * (GOLDEN * i % 1.0)


def _additive(dimension: int) -> Practical:
    names = [f"x{i:02d}" for i in range(1, dimension + 1)]
    best = {name: centre(i) for i, name in enumerate(names, 1)}
    about = f"an additive function of {dimension} parameters"
    return Practical(f"additive-{dimension}d", {n: Float(0.0, 1.0) for n in names}, additive, 0.0, best, about)


PENALTIES: dict[str, float | None] = {"raise": None, "1e3": 1e3, "1e6": 1e6, "1e12": 1e12}
"""What is returned in the bad part of the bowl; None: nothing, the evaluation fails."""
BOWLS = {
    f"bowl-{text}": Practical(
        f"bowl-{text}",
        SQUARE,
        partial(bowl, penalty=penalty),
        0.0,
        {"x": 0.3, "y": 0.6},
        "a bowl, a fifth of which " + ("fails" if penalty is None else f"returns {text}"),
        trials=40,
    )
    for text, penalty in PENALTIES.items()
}
FAILING = {
    "failing": Practical(
        "failing",
        SQUARE,
        failing,
        0.04,
        {"x": 0.7, "y": 0.4},
        "a bowl that fails where it is lowest",
        trials=START + COUNTED,
    )
}
MANY = {f"additive-{d}d": _additive(d) for d in (20, 30)}
