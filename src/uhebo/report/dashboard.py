"""optuna-dashboard on this machine, with our diagnosis as the note of each study and our pictures beside it.

The dashboard has no authentication: whoever reaches its port can read and delete every study. So it listens on
loopback, answers only requests addressed to loopback (a page in a browser cannot reach it under another name), and
listens elsewhere only when told to in so many words.
"""

import logging
from pathlib import Path

import optuna
from optuna.storages import BaseStorage
from optuna.study import Study

from uhebo.optuna_.corrected import CorrectedStorage
from uhebo.report.fronts import views_of
from uhebo.report.plots import figures
from uhebo.report.serve import Serving, is_loopback, listen
from uhebo.report.text import ReportError, clean, optional, rendered
from uhebo.storage.places import open_storage

logger = logging.getLogger("uhebo")

MOST_STUDIES = 10
"""Studies that get a note and pictures at one start: the latest ones, each takes a moment."""
CARD = 430
"""Pixels: the height of a card in the dashboard, which cuts off what is taller."""
NOTE_HEADING = "# Diagnosis by uhebo"
"""What comes before this line in a note is the user's and stays."""
NO_AUTHENTICATION = "the dashboard has no authentication: whoever reaches it can read, change and delete every study"


def start_dashboard(
    storage: str | Path | BaseStorage,
    host: str = "127.0.0.1",
    port: int = 8080,
    *,
    study_name: str | None = None,
    allow_remote: bool = False,
    block: bool = True,
) -> Serving:
    """Store diagnosis and pictures in the studies, then serve them until stopped.

    Args:
        storage: a storage, its URL, or a SQLite or journal file.
        host: address to listen on; other than loopback needs `allow_remote=True`.
        port: port to listen on; 0 takes a free one (`Serving.url` says which).
        study_name: the study that gets a note and pictures; default the latest ten.
        allow_remote: listen where other machines can reach it, although there is no authentication.
        block: return when it is stopped; False returns at once, with the server in a thread.
    """
    local = is_loopback(host)
    if not local and not allow_remote:
        raise ReportError(
            f"host {clean(host)!r} can be reached from other machines, and {NO_AUTHENTICATION}; "
            "use 127.0.0.1 with an SSH tunnel, or allow it explicitly (allow_remote=True, --allow-remote in the shell)"
        )
    if not local:
        logger.warning("listening on %s: %s", clean(host), NO_AUTHENTICATION)
    served = optional("optuna_dashboard", "dashboard")
    opened = open_storage(storage)
    annotate(opened, study_name)
    app = served.wsgi(CorrectedStorage(opened))
    running = listen(app, host, port, "dashboard")
    logger.info("dashboard at %s", running.url)
    if block:
        try:
            running.wait()
        except KeyboardInterrupt:
            running.stop()
    return running


def annotate(storage: BaseStorage, study_name: str | None = None) -> list[str]:
    """Write note and pictures into the study of that name, or the latest ones; names of those that have them now.

    What cannot be written (a read-only file, five objectives) is said in the log and does not stop the dashboard.
    """
    names = [study.study_name for study in storage.get_all_studies()]
    if study_name is not None and study_name not in names:
        raise ReportError(f"there is no study {clean(study_name)!r} in this storage; it has {[*map(clean, names)]}")
    chosen = [study_name] if study_name is not None else names[-MOST_STUDIES:]
    written = []
    for name in chosen:
        try:
            annotate_study(optuna.load_study(study_name=name, storage=storage))
            written.append(name)
        except Exception as error:  # a dashboard without our part is better than none
            logger.warning("study %r has no diagnosis in the dashboard: %s", clean(name), clean(error, 300))
    return written


def annotate_study(study: Study) -> None:
    """Our diagnosis into the study's note, behind what the user wrote there, and our pictures as its own plots."""
    served = optional("optuna_dashboard", "dashboard")
    views = views_of(study, hmc=True)
    old = served.get_note(study) or ""
    kept = old.partition(NOTE_HEADING)[0].rstrip()
    note = "\n\n".join(filter(None, (kept, NOTE_HEADING, rendered("note.md.j2", views=views))))
    if note != old:
        served.save_note(study, note)
    each = {view.target: view.diagnosis for view in views}
    for key, figure in figures(study, each).items():
        figure.update_layout(height=CARD)
        served.save_plotly_graph_object(study, figure, graph_object_id=f"uhebo-{key}")
