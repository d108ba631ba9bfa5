"""The report: one HTML file that needs nothing else, neither a server nor a network.

Order: best parameters, diagnosis, pictures, trials. All text of the study is escaped; should some slip through, the
content policy of the page still runs no script but the two whose hashes it names.
"""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import datetime, timezone
from importlib import resources
from pathlib import Path
from typing import Any

from optuna.study import Study

from uhebo._version import __version__
from uhebo.diagnosis import Diagnosis, diagnose
from uhebo.report import theme
from uhebo.report.files import optional, write_atomically
from uhebo.report.plots import Picture, pictures
from uhebo.report.table import MOST_COLUMNS, TrialTable
from uhebo.report.text import in_figure, in_html, safe_file_name
from uhebo.report.view import StudyView

UNNAMED = "no-name-"
"""How Optuna begins the name of a study that was given none."""
WIDEST = 62
"""Characters across a table that fits half the page."""
TONES = {"trust": "trust", "caution": "caution", "do not trust": "distrust"}


def write_report(
    study: Study,
    path: str | Path,
    *,
    diagnosis: Diagnosis | None = None,
    title: str | None = None,
    optimum: float | None = None,
) -> Path:
    """Write the report of a study and return where it is.

    Args:
        study: any single-objective Optuna study, by our sampler or another.
        path: the file, or a folder: then the file is named after the study.
        diagnosis: what `uhebo.diagnosis.diagnose(study)` gave; made here where it is not given.
        title: heading of the page; default the study's name.
        optimum: the best possible value, where it is known: adds a picture of the regret.
    """
    target = Path(path)
    if target.is_dir():
        target = target / safe_file_name(f"{study.study_name}-report")
    write_atomically(target, report_html(study, diagnosis=diagnosis, title=title, optimum=optimum))
    return target


def report_html(
    study: Study, *, diagnosis: Diagnosis | None = None, title: str | None = None, optimum: float | None = None
) -> str:
    """The page as text; the arguments are those of `write_report`."""
    plotly_script = _plotly_script()
    view = StudyView.of(study, diagnose(study) if diagnosis is None else diagnosis)
    drawn = pictures(study, view.diagnosis, optimum)
    table = TrialTable(view)
    named = "Optimisation report" if study.study_name.startswith(UNNAMED) else f"Study {study.study_name}"
    heading = named if title is None else title
    script = _resource("page.js")
    body = "\n".join(
        [
            '<a class="skip" href="#main">Skip to the results</a>',
            _header(view, table, heading),
            '<main id="main">',
            _best(view),
            _diagnosis(view.diagnosis),
            _pictures(drawn),
            _trials(view, table),
            "</main>",
            f'<footer class="quiet"><p>Made by uhebo {in_html(__version__)} on '
            f"{datetime.now(timezone.utc):%Y-%m-%d at %H:%M} UTC. This page contacts no other computer.</p></footer>",
        ]
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(plotly_script, script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{in_html(heading)}</title>
<link rel="icon" href="data:,">
<style>
{_resource("page.css")}</style>
</head>
<body>
{body}
<script type="application/json" id="figures">{_figures_json(study, drawn)}</script>
<script>{plotly_script}</script>
<script>{script}</script>
</body>
</html>
"""


def _policy(*scripts: str) -> str:
    """Nothing may be loaded and only these scripts may run; Plotly sets styles, and makes PNG files from blobs."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii") for text in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _plotly_script() -> str:
    """plotly.js, which must not contain what would end its own script element."""
    return str(optional("plotly.offline", "plot").get_plotlyjs()).replace("</script", "<\\/script")


def _resource(name: str) -> str:
    return (resources.files("uhebo.report") / name).read_text(encoding="utf-8")


def _figures_json(study: Study, drawn: list[Picture]) -> str:
    """The figures, their common templates once; nothing in it can end the script element it stands in."""
    figures = []
    for picture in drawn:
        figure = json.loads(picture.figure.to_json())
        figure["layout"].pop("template", None)
        file = safe_file_name(f"{study.study_name}-{picture.key}", "")
        figures.append({"key": picture.key, "title": in_figure(picture.title, 80), "file": file, "figure": figure})
    book = {"templates": {mode: theme.template(mode) for mode in ("light", "dark")}, "figures": figures}
    text = json.dumps(book, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _header(view: StudyView, table: TrialTable, heading: str) -> str:
    states = [trial.state.name.lower() for trial in table.trials]
    counts = ", ".join(f"{states.count(state)} {_state(state)}" for state in dict.fromkeys(states))
    goal = "maximise" if view.maximise else "minimise"
    sections = (("best", "Best"), ("diagnosis", "Diagnosis"), ("pictures", "Pictures"), ("trials", "Trials"))
    links = "".join(f'<li><a href="#{key}">{name}</a></li>' for key, name in sections)
    notes = "".join(
        f"<tr><th scope='row'>{in_html(name)}</th><td>{in_html(value)}</td></tr>"
        for name, value in sorted(view.study.user_attrs.items())
    )
    noted = f'<details><summary>Notes of the study</summary><div class="scroll"><table>{notes}</table></div></details>'
    return (
        f"<header><h1>{in_html(heading)}</h1><p>To {goal} <em>{in_html(view.target)}</em>: "
        f"{len(table.trials)} trials{f' ({counts})' if counts else ''}.</p>{noted if notes else ''}"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav></header>'
    )


def _state(state: str) -> str:
    return {"complete": "finished", "fail": "failed"}.get(state, state)


def _best(view: StudyView) -> str:
    if view.best is None:
        inside = "<p>No trial has finished with a value yet: run some trials, or tell the values of those you ran.</p>"
    else:
        rows = "".join(
            f'<tr><th scope="row">{in_html(name)}</th><td>{_value(value)}</td></tr>'
            for name, value in view.best.params.items()
        )
        inside = (
            f'<div class="best"><div><div class="number">{_value(view.best.value)}</div>'
            f'<div class="quiet">{"largest" if view.maximise else "smallest"} {in_html(view.target)}, '
            f"trial {view.best.number}</div></div>"
            f'<div class="scroll"><table><thead><tr><th scope="col">parameter</th><th scope="col">best value</th></tr>'
            f"</thead><tbody>{rows}</tbody></table></div></div>"
        )
    return f'<section aria-labelledby="best"><h2 id="best">Best parameters</h2>{inside}</section>'


def _value(value: Any) -> str:
    """A float in six digits with all of them in the tooltip; anything else as it is."""
    if isinstance(value, float):
        return f'<span title="{in_html(repr(value))}">{in_html(value)}</span>'
    return in_html(value)


def _diagnosis(diagnosis: Diagnosis) -> str:
    tone = TONES.get(diagnosis.verdict, "caution")
    reasons = "".join(f"<li>{in_html(reason)}</li>" for reason in diagnosis.reasons)
    parts = [
        f'<section aria-labelledby="diagnosis"><h2 id="diagnosis">Can the surrogate be trusted?</h2>'
        f'<div class="verdict {tone}"><p><strong class="badge">{in_html(diagnosis.verdict.capitalize())}</strong> '
        f"{in_html(diagnosis.headline)}</p>",
        f"<ul>{reasons}</ul>" if reasons else "",
        f'<p><strong>Next:</strong> {in_html(diagnosis.next_action)}</p></div><div class="evidence">',
    ]
    for section in diagnosis.sections():
        table = _table(section.columns, section.rows, section.title) if section.rows else ""
        widths = [
            min(max(map(len, map(str, column))), 40) for column in zip(section.columns, *section.rows, strict=True)
        ]
        wide = ' class="wide"' if sum(widths) + 3 * len(widths) > WIDEST else ""
        text = f"<h3>{in_html(section.title)}</h3><p>{in_html(section.sentence)}</p>"
        parts.append(f"<div{wide}>{text}{table}</div>")
    return "".join([*parts, "</div></section>"])


def _table(columns: Any, rows: Any, label: str) -> str:
    head = "".join(f'<th scope="col">{in_html(column)}</th>' for column in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{in_html(label)}"><table><thead><tr>{head}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>"
    )


def _cell(text: Any) -> str:
    """Short text stays on one line."""
    short = ' class="short"' if len(str(text)) <= 24 else ""
    return f"<td{short}>{in_html(text)}</td>"


def _pictures(drawn: list[Picture]) -> str:
    inside = "".join(
        f'<figure class="{"wide" if p.wide else "half"}"><h3>{in_html(p.title)}</h3>'
        f"<figcaption>{in_html(p.sentence)}</figcaption>"
        f'<div class="plot" id="{p.key}" role="img" aria-label="{in_html(p.sentence)}"></div>'
        f'<button type="button" id="save-{p.key}" aria-label="Save as PNG: {in_html(p.title)}" hidden>Save as PNG'
        "</button></figure>"
        for p in drawn
    )
    none = "<p>There is nothing to draw until a trial has finished.</p>"
    script = "<noscript><p>The pictures need JavaScript; every number is in the tables.</p></noscript>"
    return (
        '<section aria-labelledby="pictures"><h2 id="pictures">Pictures</h2>'
        f'{script if drawn else none}<div class="figures">{inside}</div></section>'
    )


def _side(cell: Any) -> str:
    """Numbers to the right."""
    return ' class="num"' if isinstance(cell, (int, float)) and not isinstance(cell, bool) else ""


def _trials(view: StudyView, table: TrialTable) -> str:
    columns = table.columns[:MOST_COLUMNS]
    rows = [table.row(trial)[: len(columns)] for trial in table.shown]
    first = [next((row[i] for row in rows if row[i] != ""), "") for i in range(len(columns))]
    head = "".join(f'<th scope="col"{_side(at)}>{in_html(name)}</th>' for name, at in zip(columns, first, strict=True))
    best = view.best.number if view.best is not None else None
    body = []
    for trial, row in zip(table.shown, rows, strict=True):
        cells = "".join(f"<td{_side(cell)}>{_value(cell)}</td>" for cell in row)
        body.append(f'<tr class="top">{cells}</tr>' if trial.number == best else f"<tr>{cells}</tr>")
    file = safe_file_name(view.study.study_name, ".csv")
    note = f"The {len(table.shown)} best of {len(table.trials)} are shown; " if len(body) < len(table.trials) else ""
    if len(columns) < len(table.columns):
        note += f"the first {len(columns)} of {len(table.columns)} columns are shown; "
    said = f'<p class="quiet">{note}the file has all.</p>' if note else ""
    return (
        f'<section aria-labelledby="trials"><h2 id="trials">Trials</h2>'
        f'<p><a class="button" id="csv" download="{in_html(file)}" href="{table.csv_link()}">Download all '
        f"{len(table.trials)} trials as CSV</a></p>{said}"
        f'<div class="scroll tall" role="region" tabindex="0" aria-label="Table of trials"><table><thead><tr>{head}'
        f"</tr></thead><tbody>{''.join(body)}</tbody></table></div></section>"
    )
