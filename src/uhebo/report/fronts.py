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
from uhebo.diagnosis.tradeoffs import in_words
from uhebo.gp.posterior import sample_paths
from uhebo.optuna_.constraints import feasible_trials
from uhebo.optuna_.fronts import front_trials, hypervolumes, objective_names, oriented, reference_point
from uhebo.report import theme
from uhebo.report.surrogate_plots import EVEN, calibration, contour, importance, slices
from uhebo.report.text import in_figure, shown
from uhebo.report.theme import Picture
from uhebo.report.view import StudyView, role_marks, thinned
from uhebo.types import Array, Rng

LEVELS = (0.05, 0.5, 0.95)
"""Levels of the interval around a trial of the front, and of the middle in it."""
DRAWS, POINTS, GRID = 48, 1500, 60
"""Functions drawn from each model, points at which they are compared, and places at which their fronts are read off."""
AROUND = 0.1
"""Standard deviation, as a share of each range, of the points that are placed around the front."""
FEW = 4
"""Slices drawn for each objective."""
FRONT = {**theme.BEST, "symbol": "circle", "size": 10}
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
        drawn = [*importance(view), *_first(slices(view)), *contour(view), *calibration(view)]
        for picture in drawn:
            title = f"{shown(view.target)}: {picture.title[0].lower()}{picture.title[1:]}"
            made.append(replace(picture, key=f"objective_{index}_{picture.key}", title=title))
    return made


def _first(pictures: Iterator[Picture]) -> list[Picture]:
    return [picture for picture, _ in zip(pictures, range(FEW), strict=False)]


def front_pictures(views: Sequence[StudyView]) -> Iterator[Picture]:
    """Two objectives: one picture with the front as a line; more: each pair of them."""
    study = views[0].study
    front = [trial for trial in front_trials(study) if np.isfinite(trial.values).all()]
    intervals = [_intervals(view, front) for view in views]
    alone, on_front = len(views) == 2, {trial.number for trial in front}
    for i, j in combinations(range(len(views)), 2):
        across, up = views[i], views[j]
        others = [trial for trial in thinned(across.finished) if trial.number not in on_front]
        x, y = ([view.value(trial) for trial in others] for view in (across, up))
        hover = "trial %{customdata}<br>%{x:.6g}, %{y:.6g}"
        faint = [DOMINATED] * len(others)
        band = _band(across, up, front) if alone else []
        traces = [*band, *role_marks(others, x, y, hover, infeasible=across.infeasible, opacity=faint)]
        if front:
            traces += _front(across, up, front, (intervals[i], intervals[j]), line=alone)
        figure = theme.figure(
            traces, height=480 if alone else 380, xaxis={"title": {"text": _title(across)}}, yaxis_title=_title(up)
        )
        if not front:
            sentence = "No trial is on the front yet: none is feasible with a value for each objective."
        else:
            sentence = _sentence(across, up, front, intervals[i] is not None, bool(band))
        if alone:
            sentence = " ".join([sentence, *in_words(study)])
        names = f"{shown(across.target)} and {shown(up.target)}"
        title = "The front" if alone else f"The front in {names}"
        yield Picture("front" if alone else f"front_{i}_{j}", title, sentence, figure, wide=alone)


def _title(view: StudyView) -> str:
    return f"{in_figure(view.target)} ({'larger' if view.maximise else 'smaller'} is better)"


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
        text += " Bars are what the models take for possible at these trials, noise left out, in 90 % of cases."
    if band:
        text += " The shaded band is where they expect the best that can be reached, likewise."
    return text


def _intervals(view: StudyView, front: Sequence[FrozenTrial]) -> Array | None:
    """Low, middle and high of the objective at the trials of the front, (3, k); None without a model."""
    belief = view.diagnosis.belief
    known = set(view.rows)
    if belief is None or not front or any(trial.number not in known for trial in front):
        return None
    return belief.quantiles([trial.params for trial in front], LEVELS)


def _front(
    across: StudyView, up: StudyView, front: Sequence[FrozenTrial], believed: Sequence[Array | None], *, line: bool
) -> list[Any]:
    """Markers at what was measured, what the models take for possible there, and the edge of what was reached."""
    x, y = (np.array([view.value(trial) for trial in front]) for view in (across, up))
    numbers = [trial.number for trial in front]
    traces = []
    if line:
        order = np.argsort(x)
        shape = "vh" if across.maximise else "hv"
        traces.append(theme.line(x[order].tolist(), y[order].tolist(), "reached", theme.GOOD, shape=shape))
    wide, high = believed
    if wide is not None and high is not None:
        style = {"color": theme.BEST_LINE, "thickness": 1.5}
        bars = {"error_x": theme.bars(wide[1], wide[0], wide[2], **style)}
        bars["error_y"] = theme.bars(high[1], high[0], high[2], **style)
        marker = {"symbol": "cross-thin-open", "size": 8, "color": theme.BEST_LINE}
        hover = "the models at trial %{customdata}<br>%{x:.6g}, %{y:.6g}"
        where = (wide[1].tolist(), high[1].tolist())
        traces.append(theme.marks(*where, "possible there", marker, hover, customdata=numbers, **bars))
    hover = "trial %{customdata}, on the front<br>%{x:.6g}, %{y:.6g}"
    return [*traces, theme.marks(x.tolist(), y.tolist(), "front", FRONT, hover, customdata=numbers)]


def _band(across: StudyView, up: StudyView, front: Sequence[FrozenTrial]) -> list[Any]:
    """Where the front of functions drawn from the two models lies, level by level of the first objective."""
    found = _attained(across, up, front)
    if found is None:
        return []
    grid, low, high = (values.tolist() for values in found)
    edge = {"color": theme.MODEL, "width": 1}
    outline = ([*grid, *grid[::-1]], [*high, *low[::-1]])
    name = "front by the models"
    return [theme.trace(*outline, name, mode="lines", fill="toself", fillcolor=theme.BAND, line=edge)]


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
    trace = theme.line(x, y, "hypervolume", theme.GOOD, "trial %{x}<br>%{y:.6g}", shape="hv")
    axis = {"title": {"text": "trial"}, "tickformat": "d", "rangemode": "tozero"}
    title = {"title": {"text": "hypervolume"}, "rangemode": "tozero"}
    figure = theme.figure([trace], height=300, xaxis=axis, yaxis=title, showlegend=False)
    names = objective_names(view.study)
    at = ", ".join(f"{shown(name)} {shown(value)}" for name, value in zip(names, reference.tolist(), strict=True))
    sentence = (
        f"Volume between the front and a reference point ({at}), which grows whenever a trial enlarges the front: "
        f"last at trial {trials[grown[-1]].number}, to {shown(float(volumes[-1]))}."
    )
    yield Picture("hypervolume", "Hypervolume", sentence, figure)


def _range(low: float, high: float) -> str:
    """Two numbers with as many decimals as it takes to tell them apart."""
    decimals = 6 if high <= low else min(max(0, 1 - math.floor(math.log10(high - low))), 6)
    return (
        f"{low:.{decimals}f} to {high:.{decimals}f}" if max(abs(low), abs(high)) < 1e6 else f"{low:.6g} to {high:.6g}"
    )


def front_table(views: Sequence[StudyView]) -> tuple[list[str], list[list[Any]]]:
    """The front for the page, the best of the first objective first: what was measured, what the models take for
    possible, parameters."""
    study = views[0].study
    front = front_trials(study)
    if not front:
        return [], []
    order = np.argsort(-oriented(study, front)[:, 0], kind="stable")
    front = [front[int(i)] for i in order]
    names = list(dict.fromkeys(name for trial in front for name in trial.params))
    columns, intervals = ["trial"], [_intervals(view, front) for view in views]
    for view, found in zip(views, intervals, strict=True):
        columns += [view.target, *(["possible"] if found is not None else [])]
    rows = []
    for at, trial in enumerate(front):
        row: list[Any] = [trial.number]
        for view, found in zip(views, intervals, strict=True):
            row.append(view.value(trial))
            if found is not None:
                row.append(_range(float(found[0, at]), float(found[2, at])))
        rows.append([*row, *(trial.params.get(name, "") for name in names)])
    return [*columns, *names], rows
