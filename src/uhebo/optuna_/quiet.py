"""Optuna's own log lines, kept back while uhebo runs it: for a while and in all threads."""

from __future__ import annotations

from functools import partial

import optuna

from uhebo.numerics.threads import ProcessWide, Undo


def _show_only(level: int) -> Undo:
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(verbosity, level))
    return partial(optuna.logging.set_verbosity, verbosity)


QUIET = ProcessWide(partial(_show_only, optuna.logging.WARNING))
"""No line per trial: it would tear a progress bar to pieces, and the result has the history."""
SILENT = ProcessWide(partial(_show_only, optuna.logging.ERROR))
"""None of its warnings either: they are for programmers, and a worker retries the errors it warns of."""
