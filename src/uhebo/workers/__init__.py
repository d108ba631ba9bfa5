"""Workers: many processes, on one machine or many, that take the trials of one study until its budget is used up.

Promised: an objective is evaluated at least once per trial, and a result that a worker has acknowledged is in the
database. Not promised: exactly one evaluation per trial (a worker taken for dead may have been slow).
"""

from uhebo.workers.loop import run
from uhebo.workers.one_call import work
from uhebo.workers.options import Job, Options, Worked

__all__ = ["Job", "Options", "Worked", "run", "work"]
