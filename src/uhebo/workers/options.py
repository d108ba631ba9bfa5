"""What can be set about a worker, and what it says of itself at its end."""

from dataclasses import dataclass
from pathlib import Path

from optuna.study import Study

from uhebo.checks import integer, number
from uhebo.errors import InvalidInputError
from uhebo.space import SearchSpace


@dataclass(frozen=True)
class Options:
    """How a worker behaves; every one has a default.

    Args:
        heartbeat: seconds between two renewals of a worker's lease.
        grace: seconds without one after which this worker is to be taken for dead, and its trial queued again.
        retries: how many times a trial whose worker died is tried again before it counts as failed.
        patience: seconds for which calls to a database that does not answer are retried.
        timeout, memory: seconds and megabytes that one evaluation may take.
        own_process: evaluate in a process of its own, as is done anyway where there is a limit: the worker then answers
            a signal within 5 seconds whatever the objective does, and what the objective started ends with it.
        max_failure_rate: the worker ends with an error when more than this share of its last 20 trials (of 5 at
            least) failed.
        spool: folder for results on their way to the database.
        log: file to which every event is appended as a line of JSON.
    """

    heartbeat: float = 10.0
    grace: float = 60.0
    retries: int = 3
    patience: float = 3600.0
    timeout: float | None = None
    memory: float | None = None
    own_process: bool = False
    max_failure_rate: float = 0.8
    spool: Path | None = None
    log: Path | None = None

    def __post_init__(self) -> None:
        for name in ("heartbeat", "grace", "patience"):
            number(name, getattr(self, name), above=0, also=" of seconds")
        if self.grace < 2 * self.heartbeat:
            raise InvalidInputError(
                f"grace is {self.grace:g} s and heartbeat {self.heartbeat:g} s; a grace of at least two heartbeats is "
                "needed, or live workers would be taken for dead"
            )
        integer("retries", self.retries, 0)
        number("max_failure_rate", self.max_failure_rate, above=0, most=1)


@dataclass(frozen=True)
class Job:
    """What is worked on: a study with its sampler, its parameters, and how many trials it may have in all."""

    study: Study
    space: SearchSpace
    budget: int


@dataclass(frozen=True)
class Worked:
    """What one worker did."""

    worker: str
    stored: int
    failed: int
    signal: int | None = None
    """The signal that ended it, if one did; otherwise the budget was used up, or the space was."""
    exhausted: bool = False
    """It ended because all points of the space were tried: see `when_exhausted` of `UHESampler`."""
