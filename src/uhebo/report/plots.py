"""Pictures of a study: `pictures(study)`, each with a sentence, and `figures(study)`, the same as Plotly figures."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from optuna.study import Study

from uhebo.diagnosis import Diagnosis, lengthscale_history
from uhebo.diagnosis.words import count
from uhebo.optuna_.trial_log import read_history
from uhebo.report import theme
from uhebo.report.chart import Axis, Chart, Layer, Line, Points, Texts, fitted, thinned
from uhebo.report.fronts import several_pictures, views_of
from uhebo.report.model_plots import calibration, importance, maps, slices
from uhebo.report.text import in_figure, shown
from uhebo.report.theme import Picture
from uhebo.report.view import StudyView

GROUPS = 12
"""Groups of lines, each of one colour."""
MOST_AXES = 10
MOST_LINES = 1000
MOST_PARAMETERS = 6
REFITS = 10
"""Fits of an estimator that the study did not use, spread over its trials, for comparison."""
LARGEST_REFIT = 300
FEWEST = 4
"""Finished trials from which on a history is worth drawing."""
MOST_FITS = 300
PENDING = (0.05, 0.5, 0.95)
"""Levels of the interval in which the value of an experiment under way is expected, and of the middle in it."""


Diagnosed = Diagnosis | Mapping[str, Diagnosis] | None
"""What `uhebo.diagnose` gave; of several objectives by name, as `ParetoResult.diagnose` gives it."""


def figures(study: Study, diagnosis: Diagnosed = None, optimum: float | None = None) -> dict[str, Any]:
    """Every picture that can be made of the study as a `plotly.graph_objects.Figure`, by name; none where no trial has
    finished.

    `diagnosis` is what `uhebo.diagnosis.diagnose(study)` gave; made here where it is not given.
    `optimum`, where the best possible value is known, adds the regret.
    """
    from uhebo.report.plotly_ import plotly_figure

    return {picture.key: plotly_figure(picture) for picture in pictures(study, diagnosis, optimum)}


def pictures(study: Study, diagnosis: Diagnosed = None, optimum: float | None = None) -> list[Picture]:
    """Every picture, with a sentence for each."""
    return pictures_of(views_of(study, diagnosis), optimum)


def pictures_of(views: Sequence[StudyView], optimum: float | None = None) -> list[Picture]:
    """Of one view for each objective."""
    view = views[0]
    if not view.finished:
        return []
    if view.several:
        return several_pictures(views)
    made = [*convergence(view), *([] if optimum is None or view.best is None else regret(view, optimum))]
    for draw in (importance, slices, calibration, maps, parallel_coordinates, lengthscales, arm_weights):
        made.extend(draw(view))
    return made


def convergence(view: StudyView) -> Iterator[Picture]:
    """Every value by who proposed it, the best so far, and what is expected of experiments under way."""
    trials = thinned(view.finished)
    numbers, values = [t.number for t in trials], [view.value(t) for t in trials]
    layers: list[Layer] = []
    sentence = f"{count(len(view.finished), 'finished trial')} in the order they were started; "
    if view.best is None:
        sentence += "none of them is feasible yet."
    else:
        layers.append(Line(*_steps(view), "best so far", theme.GOOD, steps=True))
        which = "feasible one so far" if view.constraints else "so far"
        sentence += f"the best {which} is {shown(view.value(view.best))}, since trial {view.best.number}."
    layers += view.marks(trials, numbers, values)
    layers += _expected(view)
    if view.infeasible:
        sentence += f" Triangles are the {len(view.infeasible)} that do not keep the constraints."
    if view.pending:
        drawn, there = len(view.pending), view.under_way
        which = f"{there}" if drawn == there else f"{drawn} of the {there}"
        sentence += f" Squares: {which} under way, where the model expects them."
    (low, high), far = _robust_range(view, layers)
    note = f"{far} far out, beyond the axis" if far else ""
    last = max([numbers[-1], *view.pending])
    chart = Chart(layers, _trial_axis(last), Axis(low, high, goal(view)), note=note)
    yield Picture("convergence", "Progress", sentence, chart, "first")


def goal(view: StudyView) -> str:
    """The objective's name, and which way is better."""
    return f"{view.label} ({'larger' if view.maximise else 'smaller'} is better)"


def _expected(view: StudyView) -> list[Points]:
    """Experiments under way, where the model expects them."""
    belief = view.diagnosis.belief
    if belief is None or not view.pending:
        return []
    low, middle, high = belief.quantiles(list(view.pending.values()), PENDING)
    labels = [f"trial {n}: expected {a:.4g} to {b:.4g}" for n, a, b in zip(view.pending, low, high, strict=True)]
    bars = theme.ends(low, high)
    numbers = list(view.pending)
    return [theme.role_points("pending", "under way", numbers, middle.tolist(), labels=labels, along=bars)]


def _trial_axis(last: int, first: int = 0) -> Axis:
    return Axis(first - 0.02 * max(last - first, 1), max(last, first + 1) * 1.02, "trial", whole=True)


def _robust_range(view: StudyView, layers: Sequence[Layer]) -> tuple[tuple[float, float], int]:
    """Where a few bad values are far out, the axis shows the others; the good end is always in sight. And how many."""
    values = view.values
    low, quarter, three, high = (float(q) for q in np.quantile(values, [0.0, 0.25, 0.75, 1.0]))
    reach = 6.0 * (three - quarter)
    bounds = (max(low, quarter - reach), high) if view.maximise else (low, min(high, three + reach))
    if len(values) >= 10 and reach > 0 and high - low > 3.0 * (bounds[1] - bounds[0]):
        return fitted(bounds), int(np.sum((values < bounds[0]) | (values > bounds[1])))
    expected = [layer.along for layer in layers if isinstance(layer, Points) and layer.along]
    bars = [end for sides in expected for side in sides for end in side]
    middle, half = (low + high) / 2, 0.75 * (high - low)
    return fitted([*values.tolist(), *(min(max(end, middle - half), middle + half) for end in bars)]), 0


def _steps(view: StudyView) -> tuple[list[int], list[float]]:
    """Best feasible so far, from the first feasible trial on: at every improvement and at the end."""
    first = int(view.feasible.argmax())
    values = np.where(view.feasible, view.values, -np.inf if view.maximise else np.inf)[first:]
    best = (np.maximum if view.maximise else np.minimum).accumulate(values)
    kept = [0, *(np.flatnonzero(best[1:] != best[:-1]) + 1).tolist(), len(best) - 1]
    return [view.finished[first + i].number for i in kept], best[kept].tolist()


def regret(view: StudyView, optimum: float) -> Iterator[Picture]:
    """Distance of the best so far from the known optimum, on a log axis."""
    x, best = _steps(view)
    gaps = [max(optimum - value if view.maximise else value - optimum, 0.0) for value in best]
    floor = 1e-12 * max(1.0, abs(optimum))
    drawn = [max(gap, floor) for gap in gaps]
    low, high = min(drawn), max(drawn)
    axis = Axis(low / 1.3, high * 1.3, "regret of the best so far", log=True)
    line = Line(x, drawn, "regret", theme.GOOD, steps=True)
    chart = Chart([line], _trial_axis(view.finished[-1].number), axis, legend=False)
    sentence = f"Distance of the best value so far from the known optimum {shown(optimum)}; it ends at {gaps[-1]:.3g}."
    yield Picture("regret", "Regret", sentence, chart, "first")


def parallel_coordinates(view: StudyView) -> Iterator[Picture]:
    """One line per trial down across the value and all parameters, coloured by the rank of its value."""
    names = (view.ranked or view.space.names)[:MOST_AXES]
    trials = thinned(view.modelled, MOST_LINES)
    if not names or len(trials) < 2:
        return
    values = np.array([view.value(t) for t in trials], dtype=np.float64)
    low, span = float(values.min()), float(np.ptp(values))
    columns = [(values - low) / span if span > 0 else np.full(len(values), 0.5)]
    ends = [(f"{low:.3g}", f"{low + span:.3g}")]
    for axis in (view.axes[name] for name in names):
        there = [axis.name in t.params for t in trials]
        positions = iter(axis.positions([t.params[axis.name] for t in trials if axis.name in t.params]))
        columns.append(np.array([axis.unit(next(positions)) if has else np.nan for has in there]))
        ends.append(axis.end_texts())
    table = np.round(np.column_stack(columns), 4)
    feasible = np.array([t.number not in view.infeasible for t in trials])
    rank = np.lexsort((values if view.maximise else -values, feasible)).argsort()
    depths: list[float | None] = [*(-float(i) for i in range(table.shape[1])), None]
    layers: list[Layer] = []
    for group, rows in enumerate(table[rank * GROUPS // len(trials) == i] for i in range(GROUPS)):
        share = (group / (GROUPS - 1)) ** 3
        # A parameter that a trial has not is passed over.
        x: list[float | None] = [None if v is None or v != v else v for row in rows.tolist() for v in (*row, None)]
        if len(rows):
            best = group == GROUPS - 1
            name, colour = ("best trials" if best else "", theme.BEST_LINE if best else theme.WORST_LINE)
            width, opacity = 1.0 + 1.2 * share, 0.25 + 0.65 * share
            layers.append(Line(x, depths * len(rows), name, colour, width=width, opacity=opacity))
    labels = [view.label, *(view.axes[name].title for name in names)]
    down = [-float(i) for i in range(len(labels))]
    for i in down:
        layers.insert(0, Line([0.0, 1.0], [i, i], "", "quiet", width=1.0))
    layers.append(Texts([0.0] * len(labels), down, [first for first, _ in ends], rise=-13.0, quiet=True))
    layers.append(Texts([1.0] * len(labels), down, [last for _, last in ends], "end", rise=-13.0, quiet=True))
    layers.append(Texts([0.5] * len(labels), down, labels, "middle", rise=-13.0))
    axes = Axis(0.0, 1.0, hidden=True), Axis(down[-1] - 0.5, 0.1, hidden=True)
    chart = Chart(layers, *axes, height=46.0 * len(labels))
    sentence = (
        f"One line for each of {len(trials)} trials down across the value and {len(names)} parameters, most important "
        "first; the golden lines are the best trials."
    )
    yield Picture("parallel", "All trials at once", sentence, chart, "more")


def lengthscales(view: StudyView) -> Iterator[Picture]:
    """One picture per parameter: lengthscale at each fit, the consistent estimate against MAP."""
    if not view.ranked or len(view.modelled) < FEWEST:
        return
    every = math.ceil(min(len(view.modelled), LARGEST_REFIT) / REFITS)
    history = lengthscale_history(view.study, max(every, 2))
    if not history.by_estimator:
        return
    called = {name: theme.ESTIMATOR_NAMES.get(name, in_figure(name)) for name in sorted(history.by_estimator)}
    for rank, name in enumerate(view.ranked[:MOST_PARAMETERS], 1):
        column, seen, layers, numbers = history.names.index(name), [], [], []
        for estimator, label in called.items():
            label += ", fitted afterwards" if estimator in history.fitted else ""
            fits = thinned(history.by_estimator[estimator], MOST_FITS)
            lengths = [math.exp(log_theta[column]) for _, log_theta in fits]
            seen += lengths
            numbers += [number for number, _ in fits]
            colour, dash = theme.ESTIMATOR_COLOURS.get(estimator, theme.NEUTRAL), theme.ESTIMATOR_DASHES.get(estimator)
            x = [number for number, _ in fits]
            layers.append(Line(x, lengths, label, colour, width=2.0, dash=dash or "", marks=True))
        # At least one decade, so that a steady lengthscale looks steady.
        logs = [math.log10(length) for length in seen]
        middle, half = (min(logs) + max(logs)) / 2, 1.1 * max(max(logs) - min(logs), 1.0) / 2
        axis = Axis(10 ** (middle - half), 10 ** (middle + half), "lengthscale / range", log=True)
        chart = Chart(layers, _trial_axis(max(numbers), min(numbers)), axis, height=150.0)
        sentence = (
            f"Lengthscale of {shown(name)} in units of its range at every fit, by {' and '.join(called.values())}: "
            "long means that the parameter hardly matters, and estimates that stay apart mean that the data do not "
            "settle the matter."
        )
        yield Picture(f"lengthscales_{rank}", f"Lengthscale of {shown(name)} over time", sentence, chart, "more")


def arm_weights(view: StudyView) -> Iterator[Picture]:
    """Probability of the arm with random points at every trial, which arm was drawn, and the share of random points.

    The probabilities are those the trials wrote down when they were drawn: a replay would need the budget the sampler
    was given, which is not in the study.
    """
    history = read_history(view.study, view.space, 0)
    ours = [t for t in history.trials if t.tags.get("role") in ("random", "model")]
    drawn = [trial for trial in ours if "arm" in trial.tags]
    if not drawn:
        return
    weights = [t.tags["p"] if t.tags["arm"] == 0 else 1.0 - t.tags["p"] for t in drawn]
    probability, colour = "probability of the random arm", theme.ROLE_COLOURS["random"]
    layers: list[Layer] = [Line([t.number for t in drawn], weights, probability, colour, steps=True)]
    for arm, role in enumerate(("random", "model")):
        chosen = [(t.number, w) for t, w in zip(drawn, weights, strict=True) if t.tags["arm"] == arm]
        if chosen:
            x, y = zip(*thinned(chosen), strict=True)
            layers.append(theme.role_points(role, f"{role} arm drawn", x, y))
    random = np.cumsum([t.tags["role"] == "random" for t in ours]) / np.arange(1, len(ours) + 1)
    shares = thinned(list(zip((t.number for t in ours), np.round(random, 4).tolist(), strict=True)))
    x, y = zip(*shares, strict=True)
    layers.append(Line(x, y, "share of random points", theme.NEUTRAL, width=2.0, dash="2 3"))
    axis = Axis(-0.02, 1.02, "probability, share", percent=True)
    chart = Chart(layers, _trial_axis(ours[-1].number, ours[0].number), axis, height=180.0)
    sentence = (
        f"Probability with which the bandit draws the arm that includes random points: {weights[0]:.0%} at first, "
        f"{weights[-1]:.0%} at the last of {len(drawn)} trials; {shares[-1][1]:.0%} of the points were random."
    )
    yield Picture("arms", "Random or model over time", sentence, chart, "more")
