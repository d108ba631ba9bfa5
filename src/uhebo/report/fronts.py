"""Pictures of several objectives: the front and how sure the models are of it, the hypervolume, and each objective."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from uhebo.diagnosis import Diagnosis, diagnose, diagnose_each
from uhebo.gp.posterior import sample_paths
from uhebo.optuna_.constraints import feasible_trials
from uhebo.optuna_.fronts import front_trials, hypervolumes, objective_names, oriented, reference_point
from uhebo.report import theme
from uhebo.report.chart import Area, Axis, Chart, Layer, Line, Points, fitted, thinned
from uhebo.report.model_plots import EVEN, calibration, importance, maps, slices
from uhebo.report.text import from_to, shown
from uhebo.report.theme import Picture
from uhebo.report.view import StudyView
from uhebo.types import Array, Rng

LEVELS = (0.05, 0.5, 0.95)
"""Levels of the interval around a trial of the front, and of the middle in it."""
DRAWS, POINTS, GRID = 48, 1500, 60
"""Functions drawn from each model, points at which they are compared, and places at which their fronts are read off."""
AROUND = 0.1
"""Standard deviation, as a share of each range, of the points that are placed around the front."""
FEW = 4
"""Slices drawn for each objective."""
DOMINATED = 0.55
"""Opacity of trials that another one beats in every objective."""


def views_of(
    study: Study, diagnosis: Diagnosis | Mapping[str, Diagnosis] | None = None, *, hmc: bool = False
) -> list[StudyView]:
    """One view for each objective, with its diagnosis: `diagnosis` by name where there are several objectives."""
    names = objective_names(study)
    if len(names) == 1:
        given = next(iter(diagnosis.values())) if isinstance(diagnosis, Mapping) else diagnosis
        return [StudyView.of(study, diagnose(study, hmc=hmc) if given is None else given)]
    each = diagnosis if isinstance(diagnosis, Mapping) else diagnose_each(study, hmc=hmc)
    return [StudyView.of(study, each[name], index) for index, name in enumerate(names)]


def several_pictures(views: Sequence[StudyView]) -> list[Picture]:
    """The front, the hypervolume, and what the model of each objective believes."""
    made = [*front_pictures(views), *hypervolume_picture(views[0])]
    for index, view in enumerate(views):
        drawn = [*importance(view), *_first(slices(view)), *calibration(view), *maps(view)]
        for picture in drawn:
            title = f"{shown(view.target)}: {picture.title[0].lower()}{picture.title[1:]}"
            part: theme.Part = "shape" if picture.part == "first" else picture.part
            made.append(replace(picture, key=f"objective_{index}_{picture.key}", title=title, part=part))
    return made


def _first(pictures: Iterator[Picture]) -> list[Picture]:
    return [picture for picture, _ in zip(pictures, range(FEW), strict=False)]


def front_pictures(views: Sequence[StudyView]) -> Iterator[Picture]:
    """Two objectives: one picture with the front as a line; more: each pair of them."""
    study = views[0].study
    front = [trial for trial in front_trials(study) if np.isfinite(trial.values).all()]
    intervals = _intervals(views, front)
    alone, on_front = len(views) == 2, {trial.number for trial in front}
    for i, j in combinations(range(len(views)), 2):
        across, up = views[i], views[j]
        others = [trial for trial in thinned(across.finished) if trial.number not in on_front]
        x, y = ([view.value(trial) for trial in others] for view in (across, up))
        faint = [DOMINATED] * len(others)
        band = _band(across, up, front) if alone else []
        layers: list[Layer] = [*band, *across.marks(others, x, y, opacity=faint)]
        if front:
            layers += _front(across, up, front, (intervals[i], intervals[j]), line=alone)
        layers += _expected(across, up)
        axes = [Axis(*_range_of(view, layers, side), _title(view)) for side, view in enumerate((across, up))]
        chart = Chart(layers, axes[0], axes[1], height=300.0 if alone else 230.0)
        if not front:
            sentence = "No trial is on the front yet: none is feasible with a value for each objective."
        else:
            sentence = _sentence(across, up, front, intervals[i] is not None, bool(band))
        names = f"{shown(across.target)} and {shown(up.target)}"
        title = "The front" if alone else f"The front in {names}"
        yield Picture("front" if alone else f"front_{i}_{j}", title, sentence, chart, "first")


def _expected(across: StudyView, up: StudyView) -> list[Layer]:
    """Experiments under way, where the models expect them."""
    beliefs = across.diagnosis.belief, up.diagnosis.belief
    if beliefs[0] is None or beliefs[1] is None or not across.pending:
        return []
    places = list(across.pending.values())
    (_, x, _), (_, y, _) = (belief.quantiles(places, LEVELS) for belief in beliefs if belief is not None)
    labels = [f"trial {number}, under way" for number in across.pending]
    return [theme.role_points("pending", "under way", x.tolist(), y.tolist(), labels=labels)]


def _range_of(view: StudyView, layers: Sequence[Layer], side: int) -> tuple[float, float]:
    """What was measured and what is expected, but not more than the measured range beyond it."""
    low, high = float(view.values.min()), float(view.values.max())
    reach = (high - low) or math.inf
    seen: list[float] = [low, high]
    for layer in layers:
        if isinstance(layer, (Points, Area)):
            seen += [value for value in (layer.x, layer.y)[side] if value is not None]
        bars = (layer.across, layer.along)[side] if isinstance(layer, Points) else None
        seen += [end for each in bars or () for end in each]
    return fitted([min(max(value, low - reach), high + reach) for value in seen])


def _title(view: StudyView) -> str:
    return f"{view.label} ({'larger' if view.maximise else 'smaller'} is better)"


def _sentence(across: StudyView, up: StudyView, front: Sequence[FrozenTrial], sure: bool, band: bool) -> str:
    spans = []
    for view in (across, up):
        values = [view.value(trial) for trial in front]
        spans.append(f"{shown(view.target)} from {shown(min(values))} to {shown(max(values))}")
    text = (
        f"{len(front)} of {len(across.finished)} finished trials are on the front, where no other one is better in "
        f"every objective: {' and '.join(spans)}."
    )
    if sure:
        text += (
            " Bars: expected there without noise, in 90 % of cases, by a second opinion that allows for more noise "
            "than the models."
        )
    if band:
        text += " Band: where the models expect the best that can be reached."
    return text


def _intervals(views: Sequence[StudyView], front: Sequence[FrozenTrial]) -> list[Array | None]:
    """Of each objective low, middle and high at the trials of the front by the second opinion, (3, k); None without a
    model."""
    opinions, known = views[0].opinions, set(views[0].rows)
    if opinions is None or not front or any(trial.number not in known for trial in front):
        return [None] * len(views)
    expected = np.array([list(opinions.predicted(trial.params).values()) for trial in front])
    return [expected[:, index, [1, 0, 2]].T for index in range(len(views))]


def _front(
    across: StudyView, up: StudyView, front: Sequence[FrozenTrial], believed: Sequence[Array | None], *, line: bool
) -> list[Layer]:
    """Markers at what was measured, what is expected there, and the edge of what was reached."""
    x, y = (np.array([view.value(trial) for trial in front]) for view in (across, up))
    layers: list[Layer] = []
    if line:
        order = np.argsort(x)
        xs, ys = x[order].tolist(), y[order].tolist()
        if across.maximise:  # what is reached goes down before it goes on
            xs, ys = xs[::-1], ys[::-1]
        layers.append(Line(xs, ys, "reached", theme.GOOD, steps=True))
    wide, high = believed
    if wide is not None and high is not None:
        at, sides = (wide[1].tolist(), high[1].tolist()), (theme.ends(wide[0], wide[2]), theme.ends(high[0], high[2]))
        name = "expected there"
        layers.append(Points(*at, name, theme.BEST_LINE, "dash", 0.0, across=sides[0], along=sides[1]))
    labels = [f"trial {trial.number}, on the front: {a:.5g}, {b:.5g}" for trial, a, b in zip(front, x, y, strict=True)]
    layers.append(Points(x.tolist(), y.tolist(), "front", theme.BEST, "circle", 5.0, labels=labels, outlined=True))
    return layers


def _band(across: StudyView, up: StudyView, front: Sequence[FrozenTrial]) -> list[Layer]:
    """Where the front of functions drawn from the two models lies, level by level of the first objective."""
    found = _attained(across, up, front)
    if found is None:
        return []
    grid, low, high = (values.tolist() for values in found)
    return [Area([*grid, *grid[::-1]], [*high, *low[::-1]], "front by the models", theme.MODEL)]


def _attained(across: StudyView, up: StudyView, front: Sequence[FrozenTrial]) -> tuple[Array, Array, Array] | None:
    """The best of the second objective that goes with at least so much of the first, for values of the first along the
    front: low and high over functions drawn from both models. None without models, or with too short a front.

    The functions are compared at points all over the space and around the trials of the front; points that likely miss
    a constraint are left out.
    """
    views = (across, up)
    beliefs = [view.diagnosis.belief for view in views]
    rows = np.array([across.rows[trial.number] for trial in front if trial.number in across.rows])
    if None in beliefs or len(rows) < 2:
        return None
    rng = np.random.default_rng(0)
    points = _compared(across, rows, rng)
    told = []
    for belief, view in zip(beliefs, views, strict=True):
        assert belief is not None
        drawn = belief.objective.units.told(sample_paths(belief.objective.posterior, rng, DRAWS)(points))
        told.append(drawn if view.maximise else -drawn)
    values = oriented(across.study, front)[:, across.objective]
    grid = np.linspace(values.min(), values.max(), GRID)
    best = np.array([np.where(told[0] >= level, told[1], -np.inf).max(axis=1) for level in grid])
    reached = np.isfinite(best).all(axis=1)
    if reached.sum() < 2:
        return None
    low, high = np.quantile(best[reached], [LEVELS[0], LEVELS[-1]], axis=1)
    signs = [1.0 if view.maximise else -1.0 for view in views]
    return signs[0] * grid[reached], signs[1] * low, signs[1] * high


def _compared(view: StudyView, rows: Array, rng: Rng) -> Array:
    """Points of the space at which functions are compared: the front's own rows first."""
    space, belief = view.space, view.diagnosis.belief
    near = rows[rng.integers(len(rows), size=POINTS)] + AROUND * rng.standard_normal((POINTS, rows.shape[1]))
    others = space.settled(space.snap(np.concatenate([near, space.domain.uniform(rng, POINTS)])))
    others = others[space.allowed(others)]
    if belief is not None and belief.constraints and len(others):
        others = others[belief.feasibility([space.decode(row) for row in others]) >= EVEN]
    return np.concatenate([rows, others])


def hypervolume_picture(view: StudyView) -> Iterator[Picture]:
    """Volume between the reference point and the front, trial by trial."""
    trials, volumes = feasible_trials(view.study), hypervolumes(view.study)
    reference = reference_point(view.study)
    if len(trials) < 2 or reference is None or not np.isfinite(volumes).all() or volumes[-1] <= 0.0:
        return
    grown = [0, *(np.flatnonzero(np.diff(volumes) > 0.0) + 1).tolist()]
    kept = list(dict.fromkeys([*grown, len(volumes) - 1]))
    x, y = [trials[i].number for i in kept], [float(volumes[i]) for i in kept]
    line = Line(x, y, "hypervolume", theme.GOOD, steps=True)
    axes = Axis(0.0, max(x[-1], 1) * 1.02, "trial", whole=True), Axis(*fitted(y, zero=True), "hypervolume")
    chart = Chart([line], *axes, height=190.0, legend=False)
    names = objective_names(view.study)
    at = ", ".join(f"{shown(name)} {shown(value)}" for name, value in zip(names, reference.tolist(), strict=True))
    sentence = (
        f"Volume between the front and a reference point ({at}), which grows whenever a trial enlarges the front: "
        f"last at trial {trials[grown[-1]].number}, to {shown(float(volumes[-1]))}."
    )
    yield Picture("hypervolume", "Progress: hypervolume", sentence, chart, "first")


def front_table(views: Sequence[StudyView]) -> tuple[list[str], list[list[Any]]]:
    """The front for the page, the best of the first objective first: what was measured, what is expected there,
    parameters."""
    study = views[0].study
    front = front_trials(study)
    if not front:
        return [], []
    order = np.argsort(-oriented(study, front)[:, 0], kind="stable")
    front = [front[int(i)] for i in order]
    names = list(dict.fromkeys(name for trial in front for name in trial.params))
    columns, intervals = ["trial"], _intervals(views, front)
    for view, found in zip(views, intervals, strict=True):
        columns += [view.with_unit(view.target), *(["expected"] if found is not None else [])]
    rows = []
    for at, trial in enumerate(front):
        row: list[Any] = [trial.number]
        for view, found in zip(views, intervals, strict=True):
            row.append(view.value(trial))
            if found is not None:
                row.append(from_to(float(found[0, at]), float(found[2, at])))
        rows.append([*row, *(trial.params.get(name, "") for name in names)])
    return [*columns, *map(views[0].with_unit, names)], rows
