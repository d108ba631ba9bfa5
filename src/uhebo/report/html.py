"""The report: one HTML file that needs nothing else, neither a server nor a network.

Order: verdict and next step, what to use, progress and importances; slices and maps; evidence and tables, folded
(`page.html.j2`). All text of the study is escaped; should some slip through, the content policy of the page still runs
no script but the one whose hash it names.
"""

import base64
import hashlib
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib import resources
from pathlib import Path
from typing import Any

from optuna.study import Study

from uhebo._version import __version__
from uhebo.diagnosis import Diagnosis, Section
from uhebo.diagnosis.tradeoffs import in_words
from uhebo.errors import InvalidInputError
from uhebo.report import theme
from uhebo.report.fronts import front_table, views_of
from uhebo.report.plots import Diagnosed, pictures_of
from uhebo.report.summary import Choice, choices, most_urgent, next_commands
from uhebo.report.svg import legend_items, svg, svg_file
from uhebo.report.table import MOST_COLUMNS, OURS, best_rows, table_of
from uhebo.report.text import breakable, in_csv, optional, rendered, safe_file_name, shown, write_atomically
from uhebo.report.theme import Picture
from uhebo.report.view import StudyView

UNNAMED = "no-name-"
"""Start of the name that Optuna gives to a study without one."""
WIDEST = 62
"""Maximum characters across a table that fits half the page."""
TONES = {"trust": "trust", "do not trust": "distrust"}
OTHER_KINDS = (".pdf", ".png", ".jpg", ".svg", ".md", ".txt", ".csv", ".json", ".docx", ".xlsx")
"""Endings of files that a report is not."""
UNDER_WAY = ("waiting", "running", "queued")
"""States of trials without a value yet, which are counted as one."""
MOST_BRIEF = 7
"""Parameters above which one page has room for the recommended point only."""
PNG_SCALE = 3
"""Pixels of a PNG per pixel of the picture."""


@dataclass(frozen=True)
class Judged:
    """The verdict on the model of one objective, and the evidence, each table with whether it needs a whole row."""

    view: StudyView
    sections: tuple[tuple[Section, bool], ...]

    @property
    def diagnosis(self) -> Diagnosis:
        return self.view.diagnosis

    @property
    def tone(self) -> str:
        return TONES.get(self.diagnosis.verdict, "caution")


@dataclass(frozen=True)
class Waiting:
    """An experiment under way."""

    number: int
    params: dict[str, Any]


@dataclass(frozen=True)
class Live:
    """What a page that follows a study has besides: its version, what waits for a value, and the key to tell one."""

    version: str
    measured: tuple[str, ...]
    key: str | None = None
    waiting: tuple[Waiting, ...] = ()


def write_report(
    study: Study,
    path: str | Path,
    *,
    diagnosis: Diagnosed = None,
    title: str | None = None,
    optimum: float | None = None,
    place: str | None = None,
    brief: bool = False,
) -> Path:
    """Write the report of a study and return where it is.

    Args:
        study: any Optuna study of up to four objectives, by our sampler or another.
        path: the file, or a folder: then the file is named after the study.
        diagnosis: what `uhebo.diagnose(study)` gave; made here where it is not given. Of several objectives, by name.
        title: heading of the page; default the study's name.
        optimum: the best possible value of one objective, where it is known: adds a picture of the regret.
        place: how the shell calls the study (`lab.db`), for the commands to paste; without it they are Python.
        brief: one page: verdict, what to use, what to do next, the most important pictures.
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
    page = report_html(study, diagnosis=diagnosis, title=title, optimum=optimum, place=place, brief=brief)
    write_atomically(target, page)
    return target


def report_html(study: Study, **options: Any) -> str:
    """The page as text; the options are those of `write_report`."""
    return page_of(page_values(study, **options))


def page_of(values: dict[str, Any], live: Live | None = None) -> str:
    """The page of what `page_values` gave."""
    as_it_is = optional("markupsafe", "plot").Markup
    return rendered("page.html.j2", **values, live=live, policy=as_it_is(_policy(values["script"], live is not None)))


def page_values(
    study: Study,
    *,
    diagnosis: Diagnosed = None,
    title: str | None = None,
    optimum: float | None = None,
    place: str | None = None,
    brief: bool = False,
) -> dict[str, Any]:
    """What the template is filled with: all that takes time. The arguments are those of `write_report`."""
    as_it_is = optional("markupsafe", "plot").Markup
    views = views_of(study, diagnosis, hmc=True)
    view, drawn = views[0], pictures_of(views, optimum)
    table = table_of(view)
    front_columns, front = front_table(views) if view.several else ([], [])
    points = _shortened(choices(views, place)) if brief else choices(views, place)
    best = best_rows(view, table.page_rows)
    named = "Optimisation report" if study.study_name.startswith(UNNAMED) else f"Study {study.study_name}"
    style, script = (
        (resources.files("uhebo.report") / name).read_text(encoding="utf-8") for name in ("page.css", "page.js")
    )
    examples = [next((row[i] for row in best if row[i] != ""), "") for i in range(len(table.page))]
    commands, if_right = next_commands(views, place)
    judged = [Judged(each, tuple((part, _is_wide(part)) for part in each.diagnosis.sections())) for each in views]
    file = safe_file_name(study.study_name, "")
    return {
        "heading": named if title is None else title,
        "view": view,
        "views": views,
        "brief": brief,
        "choices": points,
        "commands": commands,
        "if_right": if_right,
        "front_columns": front_columns,
        "front": front,
        "trade_offs": [*in_words(view.study), *_lucky(view)] if view.several and front else [],
        "top": [row[0] for row in front] if view.several else [view.best.number] if view.best else [],
        "table": table,
        "best": best,
        "shown": [(as_it_is(breakable(c.title)), each) for c, each in zip(table.page, examples, strict=True)][
            :MOST_COLUMNS
        ],
        "states": Counter("under way" if row[1] in UNDER_WAY else row[1] for row in table.page_rows),
        "notes": sorted((name, value) for name, value in study.user_attrs.items() if not name.startswith(OURS)),
        "verdicts": judged,
        "urgent": judged[views.index(most_urgent(views))],
        "reasons": [(each.target, each.diagnosis.reasons) for each in views if each.diagnosis.reasons],
        "pictures": drawn,
        "drawn": {
            picture.key: as_it_is(svg(picture.chart, key=picture.key, legend=not _shares_legend(picture)))
            for picture in drawn
        },
        "legend": [
            (as_it_is(mark), name)
            for mark, name in legend_items([picture.chart for picture in drawn if _shares_legend(picture)])
        ],
        "names": {name: as_it_is(breakable(view.with_unit(name))) for each in points for name in each.params},
        "csv": as_it_is(_csv_link([table.names, *table.rows])),
        "csv_name": f"{file}.csv",
        "style": as_it_is(style),
        "script": as_it_is(script),
        "light": {"colours": theme.INK["light"], "font": theme.FONT, "file": file},
        "version": __version__,
        "now": f"{datetime.now(timezone.utc):%Y-%m-%d at %H:%M}",
    }


def write_figures(
    study: Study, folder: str | Path, *, diagnosis: Diagnosed = None, optimum: float | None = None
) -> list[Path]:
    """Write every picture as SVG and as PNG, with its title, in light colours; where they are.

    `folder` is made if it is not there. The other arguments are those of `write_report`.
    """
    resvg = optional("resvg_py", "plot")
    target, written = Path(folder), []
    for picture in pictures_of(views_of(study, diagnosis, hmc=False), optimum):
        text = svg_file(picture.chart, shown(picture.title))
        for path, data in (
            (target / f"{picture.key}.svg", text.encode()),
            (target / f"{picture.key}.png", bytes(resvg.svg_to_bytes(svg_string=text, zoom=PNG_SCALE))),
        ):
            write_atomically(path, data)
            written.append(path)
    return written


def _lucky(view: StudyView) -> list[str]:
    """What noise may have put on the front."""
    return [] if view.opinions is None else view.opinions.lucky_in_words()


def _shortened(found: list[Choice]) -> list[Choice]:
    """What fits one page."""
    return found[:1] if any(len(choice.params) > MOST_BRIEF for choice in found) else found


def _shares_legend(picture: Picture) -> bool:
    """Slices and maps have the same marks: on the page they are explained once."""
    return (picture.part == "shape" and "slice" in picture.key) or "map" in picture.key


def _is_wide(section: Section) -> bool:
    columns = zip(section.columns, *section.rows, strict=True)
    return sum(3 + min(max(map(len, column)), 40) for column in columns) > WIDEST


def _policy(script: str, live: bool) -> str:
    """Nothing may be loaded and only this script may run; pictures are saved by way of data and blobs."""
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    own = "'self'" if live else "'none'"
    return (
        f"default-src 'none'; script-src 'sha256-{allowed}'; style-src 'unsafe-inline'; img-src data: blob:; "
        f"connect-src {own}; base-uri 'none'; form-action {own}"
    )


def _csv_link(lines: list[list[Any]]) -> str:
    """The CSV as a data URI, with the mark by which spreadsheets know UTF-8."""
    text = "".join(",".join(map(in_csv, line)) + "\r\n" for line in lines)
    return "data:text/csv;charset=utf-8;base64," + base64.b64encode(text.encode("utf-8-sig")).decode("ascii")
