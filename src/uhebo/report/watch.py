"""A page that follows a study: the report, made again whenever a trial comes or is corrected, on this machine only.

The report is made in one thread, while somebody looks. A value can be told from the page by whoever has the key, which
is in the address that `uhebo watch` prints, and nowhere else.
"""

import hashlib
import json
import logging
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from optuna.study import Study
from optuna.trial import TrialState

from uhebo.errors import InvalidInputError, UheboError
from uhebo.optuna_.changes import skip
from uhebo.optuna_.corrections import changes_of
from uhebo.optuna_.fronts import objective_names
from uhebo.report.html import Live, Waiting, page_of, page_values
from uhebo.report.serve import Serving, Wsgi, listen
from uhebo.report.text import clean
from uhebo.storage.explain import explain

logger = logging.getLogger("uhebo")

EVERY_S = 1.0
"""Seconds between two looks at the study."""
IDLE_S = 20.0
"""Seconds without a request after which nobody is taken to look."""
FIRST_S = 300.0
"""Seconds that the first request may wait for the first page."""
MOST_BYTES = 10_000
"""Length of what may be told at once."""
MOST_WAITING = 30
WITHOUT = "if there is no value, press “It failed”, or “Was not run” if nobody made the experiment"
SHELL_ONLY = re.compile(r"--\w|\buhebo \w|in a sheet")
"""Options, commands and sheets."""

Tell = Callable[[int, Sequence[str] | None], str]
"""Stores what was measured in a trial, one text for each quantity, or None where it failed; what was stored, in
words."""


@dataclass
class Watch:
    """The latest page of a study, kept up to date by `follow`."""

    load: Callable[[], Study]
    """The study as it is now, corrections applied."""
    place: str
    """What the shell calls it."""
    tell: Tell | None = None
    measured: Sequence[str] = ()
    """What is told of a trial; default the objectives."""
    key: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    pages: dict[bool, str] = field(default_factory=dict)
    """With the key, and without."""
    version: str = ""
    behind: bool = True
    asked: float = 0.0
    made: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def follow(self) -> None:
        """Look at the study again and again, and make the page anew when it has changed."""
        while not self.ended.wait(EVERY_S if self.made.is_set() else 0.0):
            if self.made.is_set() and time.monotonic() - self.asked > IDLE_S:
                continue
            try:
                self.refresh()
            except Exception as error:  # a database that is busy, half a correction: the last page stays
                logger.warning("the page could not be renewed: %s", clean(error, 300))
                if not self.made.is_set():
                    self.pages = dict.fromkeys(
                        (True, False), f"<p>{clean(type(error).__name__)}: see the terminal.</p>"
                    )
                    self.made.set()

    def refresh(self) -> None:
        study = self.load()
        version = state_of(study)
        self.behind = version != self.version
        if not self.behind:
            return
        values = page_values(study, place=self.place)
        trials = study.get_trials(deepcopy=False, states=(TrialState.RUNNING, TrialState.WAITING))
        waiting = tuple(Waiting(trial.number, trial.params) for trial in trials if trial.params)[:MOST_WAITING]
        names = tuple(self.measured or objective_names(study))
        for keyed in (True, False):
            key = self.key if keyed and self.tell is not None else None
            self.pages[keyed] = page_of(values, Live(version, names, key, waiting))
        self.version, self.behind = version, False
        self.made.set()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """The pages as a WSGI application."""
        self.asked = time.monotonic()
        method, path = environ.get("REQUEST_METHOD"), environ.get("PATH_INFO", "/")
        status, kind, body = "404 Not Found", "text/plain", "there is no such page"
        if method == "GET" and path == "/":
            self.made.wait(FIRST_S)
            given = parse_qs(environ.get("QUERY_STRING", "")).get("key", [""])[0]
            status, kind, body = "200 OK", "text/html", self.pages.get(self._is_key(given), "")
        elif method == "GET" and path == "/state":
            status, kind = "200 OK", "application/json"
            body = json.dumps({"version": self.version, "behind": self.behind})
        elif method == "POST" and path == "/tell":
            status, body = self._told(environ)
        data = body.encode()
        headers = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(data)), **SAFE}
        start_response(status, list(headers.items()))
        return [data]

    def _is_key(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self.key.encode())

    def _told(self, environ: dict[str, Any]) -> tuple[str, str]:
        """Status, and what to say."""
        length = str(environ.get("CONTENT_LENGTH") or "0")
        if not length.isdigit() or int(length) > MOST_BYTES:
            return "413 Content Too Large", "that is too much"
        sent = parse_qs(environ["wsgi.input"].read(int(length)).decode("utf-8", "replace"), keep_blank_values=True)
        if self.tell is None or not self._is_key(sent.get("key", [""])[0]):
            return "403 Forbidden", "not stored: open the address that uhebo watch printed, which has a key in it"
        number = sent.get("number", [""])[0]
        if not (number.isascii() and number.isdigit()):
            return "400 Bad Request", "not stored: there is no trial number"
        texts = [sent.get(f"value-{i}", [""])[0].strip() for i in range(len(sent)) if f"value-{i}" in sent]
        what = sent.get("what", [""])[0]
        if what not in ("failed", "skipped") and not all(texts):
            return "400 Bad Request", f"not stored: a value is missing; {WITHOUT}"
        try:
            if what == "skipped":
                return "200 OK", self._skip(int(number))
            return "200 OK", clean(self.tell(int(number), None if what == "failed" else texts))
        except UheboError as error:
            return "400 Bad Request", f"not stored: {in_page(clean(error))}"
        except Exception as error:  # a database that is gone or busy
            return "503 Service Unavailable", f"not stored: {clean(explain(error))}"

    def _skip(self, number: int) -> str:
        """A trial that was not run, as `uhebo.skip` has it."""
        study = self.load()
        if number not in (trial.number for trial in study.get_trials(deepcopy=False)):
            raise InvalidInputError(f"there is no trial {number}")
        made = skip(study, number)
        return f"trial {number} was skipped already" if made is None else f"trial {number}: stored as not run"


def in_page(error: str) -> str:
    """An error of the shell without the hints that only the shell can follow, and with those of the page."""
    kept = [part for part in error.split("; ") if not SHELL_ONLY.search(part)]
    return "; ".join([*kept, WITHOUT] if "expected a number" in error or "not a number" in error else kept)


SAFE = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer"}  # fmt: skip


def state_of(study: Study) -> str:
    """What the page depends on, in a few letters."""
    trials = study.get_trials(deepcopy=False)
    told = [(t.number, t.state.name, t.values, len(t.params), sorted(t.user_attrs.items(), key=str)) for t in trials]
    changed = [len(changes_of(study)), sorted(map(str, study.user_attrs))]
    return hashlib.sha256(repr([told, changed]).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Watching:
    """A running page."""

    serving: Serving
    watch: Watch

    @property
    def url(self) -> str:
        """With the key, where values can be told."""
        return self.serving.url + (f"?key={self.watch.key}" if self.watch.tell is not None else "")

    def wait(self) -> None:
        self.serving.wait()

    def stop(self) -> None:
        self.watch.ended.set()
        self.serving.stop()


def start_watch(watch: Watch, port: int = 8081) -> Watching:
    """Serve a page that follows a study, on this machine; port 0 takes a free one."""
    app: Wsgi = watch
    serving = listen(app, "127.0.0.1", port, "watch")
    threading.Thread(target=watch.follow, name="uhebo-watch-follow", daemon=True).start()
    return Watching(serving, watch)
