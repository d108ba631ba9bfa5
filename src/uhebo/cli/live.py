"""The live line of `uhebo worker`: how far the study has come over all workers, on one line of a terminal."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from optuna.study import Study
from rich.console import Console
from rich.live import Live
from rich.text import Text

from uhebo.cli.bounds import leader
from uhebo.cli.look import duration, rate_in_words
from uhebo.cli.records import RUNNING, counted
from uhebo.optuna_.corrections import trials_of
from uhebo.optuna_.gaps import database_of, storage_of
from uhebo.optuna_.lease import progress

LOOK_S = 2.0
"""Seconds between two looks at the study."""


def line_of(study: Study, budget: int) -> str:
    """Done, running, failed, best, time left, rate; the end is cut where a terminal is narrow."""
    trials = trials_of(study)
    states, at_work = counted(trials), progress(trials, budget)
    ended = sum(trial.state.is_finished() for trial in trials)
    parts = [f"{ended} of {budget} done", f"{states.get(RUNNING, 0)} running"]
    parts += [f"{states['failed']} failed"] if "failed" in states else []
    parts += [found] if (found := leader(study).removeprefix("; ")) else []
    parts += [f"{duration(at_work.left_s)} left"] if at_work.left_s else []
    parts += [rate_in_words(60 * at_work.rate, short=True)] if at_work.rate else []
    return ", ".join(parts)


class LiveLine:
    """Refreshed in place, on standard error, from the moment it is given a study."""

    def __init__(self) -> None:
        self._process, self._end = os.getpid(), threading.Event()
        self._thread: threading.Thread | None = None
        self._live = Live(Text(""), console=Console(stderr=True), auto_refresh=False, transient=True)

    def follow(self, study: Study, budget: int) -> None:
        """Begin; in the process that has the terminal only, and once."""
        if self._thread is None and os.getpid() == self._process:
            self._thread = threading.Thread(target=self._run, args=(study, budget), name="uhebo-live", daemon=True)
            self._live.start()
            self._thread.start()

    def end(self) -> None:
        self._end.set()
        if self._thread is not None:
            self._thread.join(timeout=LOOK_S)
            self._live.stop()

    def _run(self, study: Study, budget: int) -> None:
        while not self._end.is_set():
            with suppress(Exception):  # a database that is away is the worker's to wait for
                self._live.update(Text(line_of(study, budget), overflow="ellipsis", no_wrap=True), refresh=True)
                database_of(storage_of(study)).remove_session()
            self._end.wait(LOOK_S)


@contextmanager
def live_line(quiet: bool) -> Iterator[LiveLine | None]:
    """One on a terminal; None where nobody looks, or wants to."""
    line = LiveLine() if sys.stderr.isatty() and not quiet else None
    try:
        yield line
    finally:
        if line is not None:
            line.end()
