"""The report: one HTML file that needs nothing else, neither a server nor a network.

Order: best parameters, diagnosis, pictures, trials (`page.html.j2`). All text of the study is escaped; should some slip
through, the content policy of the page still runs no script but the two whose hashes it names.
"""

import base64
import hashlib
import json
from collections import Counter
from datetime import datetime, timezone
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from optuna.study import Study

from uhebo._version import __version__
from uhebo.diagnosis import Diagnosis, Section
from uhebo.diagnosis.tradeoffs import in_words
from uhebo.errors import InvalidInputError
from uhebo.optuna_.constraints import constraints_of
from uhebo.optuna_.endings import state_name
from uhebo.optuna_.fronts import objective_names
from uhebo.report import theme
from uhebo.report.fronts import front_table, views_of
from uhebo.report.plots import Diagnosed, pictures_of
from uhebo.report.text import in_csv, in_figure, optional, rendered, safe_file_name, write_atomically
from uhebo.report.theme import Picture
from uhebo.report.view import StudyView, role_of

UNNAMED = "no-name-"
"""Start of the name that Optuna gives to a study without one."""
OURS = "uhebo:"
"""Start of the names of attributes that uhebo keeps in a study for itself."""
WIDEST = 62
"""Maximum characters across a table that fits half the page."""
MOST_ROWS = 500
"""Maximum rows in the page; the CSV has all."""
MOST_COLUMNS = 60
"""Maximum parameters and attributes in the page; the CSV has all."""
TONES = {"trust": "trust", "do not trust": "distrust"}
OTHER_KINDS = (".pdf", ".png", ".jpg", ".svg", ".md", ".txt", ".csv", ".json", ".docx", ".xlsx")
"""Endings of files that a report is not."""
STATES = {"complete": "finished", "fail": "failed"}


def write_report(
    study: Study,
    path: str | Path,
    *,
    diagnosis: Diagnosed = None,
    title: str | None = None,
    optimum: float | None = None,
) -> Path:
    """Write the report of a study and return where it is.

    Args:
        study: any Optuna study of up to four objectives, by our sampler or another.
        path: the file, or a folder: then the file is named after the study.
        diagnosis: what `uhebo.diagnose(study)` gave; made here where it is not given. Of several objectives, by name.
        title: heading of the page; default the study's name.
        optimum: the best possible value of one objective, where it is known: adds a picture of the regret.
    """
    if not isinstance(path, (str, Path)):
        raise InvalidInputError(f"path is {path!r}; expected a file such as 'report.html', or a folder")
    target = Path(path)
    if target.suffix.lower() in OTHER_KINDS:
        raise InvalidInputError(
            f"path is {str(path)!r}; the report is HTML: name it {target.with_suffix('.html').name}"
        )
    if target.is_dir():
        target = target / safe_file_name(f"{study.study_name}-report")
    write_atomically(target, report_html(study, diagnosis=diagnosis, title=title, optimum=optimum))
    return target


def report_html(
    study: Study, *, diagnosis: Diagnosed = None, title: str | None = None, optimum: float | None = None
) -> str:
    """The page as text; the arguments are those of `write_report`."""
    # What would end plotly.js's own script element must not be in it.
    plotly = str(optional("plotly.offline", "plot").get_plotlyjs()).replace("</script", "<\\/script")
    as_it_is = optional("markupsafe", "plot").Markup
    views = views_of(study, diagnosis, hmc=True)
    view, drawn = views[0], pictures_of(views, optimum)
    columns, rows = _table(view)
    front_columns, front = front_table(views) if view.several else ([], [])
    best = _best_rows(view, rows)
    named = "Optimisation report" if study.study_name.startswith(UNNAMED) else f"Study {study.study_name}"
    style, script = (
        (resources.files("uhebo.report") / name).read_text(encoding="utf-8") for name in ("page.css", "page.js")
    )
    examples = [next((row[i] for row in best if row[i] != ""), "") for i in range(len(columns))]
    return rendered(
        "page.html.j2",
        heading=named if title is None else title,
        view=view,
        views=views,
        front_columns=front_columns,
        front=front,
        trade_offs=in_words(view.study) if view.several else [],
        top=[row[0] for row in front] if view.several else [view.best.number] if view.best else [],
        rows=rows,
        best=best,
        columns=columns,
        shown=list(zip(columns, examples, strict=True))[:MOST_COLUMNS],
        states=Counter(STATES.get(row[1], row[1]) for row in rows),
        notes=sorted((name, value) for name, value in study.user_attrs.items() if not name.startswith(OURS)),
        verdicts=[_verdict(each) for each in views],
        pictures=drawn,
        book=_book(study, drawn),
        csv=as_it_is(_csv_link([columns, *rows])),
        csv_name=safe_file_name(study.study_name, ".csv"),
        policy=as_it_is(_policy(plotly, script)),
        style=as_it_is(style),
        plotly=as_it_is(plotly),
        script=as_it_is(script),
        version=__version__,
        now=f"{datetime.now(timezone.utc):%Y-%m-%d at %H:%M}",
    )


def _verdict(view: StudyView) -> tuple[StudyView, Diagnosis, str, list[tuple[Section, bool]]]:
    """Of one objective: the view, its diagnosis, the tone of the verdict, and the evidence with how wide it is."""
    found = view.diagnosis
    sections = [(section, _is_wide(section)) for section in found.sections()]
    return view, found, TONES.get(found.verdict, "caution"), sections


def _is_wide(section: Section) -> bool:
    columns = zip(section.columns, *section.rows, strict=True)
    return sum(3 + min(max(map(len, column)), 40) for column in columns) > WIDEST


def _policy(*scripts: str) -> str:
    """Nothing may be loaded and only these scripts may run; Plotly sets styles, and makes PNG files from blobs."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii") for text in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _book(study: Study, drawn: list[Picture]) -> dict[str, Any]:
    """The figures for the page's script, their common templates once."""
    figures = []
    for picture in drawn:
        figure = json.loads(picture.figure.to_json())
        figure["layout"].pop("template", None)
        file = safe_file_name(f"{study.study_name}-{picture.key}", "")
        figures.append({"key": picture.key, "title": in_figure(picture.title, 80), "file": file, "figure": figure})
    return {"templates": {mode: theme.template(mode) for mode in ("light", "dark")}, "figures": figures}


def _table(view: StudyView) -> tuple[list[str], list[list[Any]]]:
    """Column names, parameters and attributes in the order of first sight, and one row per trial, by number.

    A cell is empty text where the trial has nothing, which None (a choice, say) is not.
    """
    trials = sorted(view.study.get_trials(deepcopy=False), key=lambda trial: trial.number)
    parameters = list(dict.fromkeys(name for trial in trials for name in trial.params))
    attributes = list(dict.fromkeys(name for trial in trials for name in trial.user_attrs))
    limits = list(dict.fromkeys(name for trial in trials for name in constraints_of(trial)))
    names, rows = objective_names(view.study), []
    for trial in trials:
        told = [trial.number, state_name(trial), *(trial.values or [""] * len(names))]
        if limits:
            found = constraints_of(trial)
            verdict = "yes" if all(value <= 0.0 for value in found.values()) else "no"
            told += [verdict if found else "", *(found.get(name, "") for name in limits)]
        told += [trial.params.get(name, "") for name in parameters]
        rows.append([*told, role_of(trial), *(trial.user_attrs.get(name, "") for name in attributes)])
    constrained = ["feasible", *(f"constraint {name}" for name in limits)] if limits else []
    return ["trial", "state", *names, *constrained, *parameters, "proposed by", *attributes], rows


def _best_rows(view: StudyView, rows: list[list[Any]]) -> list[list[Any]]:
    """All rows, or where they are too many, those of the best trials."""
    if len(rows) <= MOST_ROWS:
        return rows
    by_number = {row[0]: row for row in rows}
    if view.several:
        return [by_number[trial.number] for trial in view.leaders[:MOST_ROWS]]
    order = np.lexsort((-view.values if view.maximise else view.values, ~view.feasible))[:MOST_ROWS]
    return [by_number[view.finished[i].number] for i in order]


def _csv_link(lines: list[list[Any]]) -> str:
    """The CSV as a data URI, with the mark by which spreadsheets know UTF-8."""
    text = "".join(",".join(map(in_csv, line)) + "\r\n" for line in lines)
    return "data:text/csv;charset=utf-8;base64," + base64.b64encode(text.encode("utf-8-sig")).decode("ascii")
