"""One harness for every library: the same initial design, budget, noise and clock; one line per run."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import statistics
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from uhebo.errors import UheboError
from uhebo.methods.start_up import PER_PARAMETER
from uhebo.numerics.threads import single_threaded
from uhebo_experiments.peers.libraries import OUR_METHODS, PACKAGES, Peer, make_peer
from uhebo_experiments.peers.relaxed import Params, Relaxed
from uhebo_experiments.problems import problem
from uhebo_experiments.problems.sets import FIDELITIES
from uhebo_experiments.problems.synthetic import Problem
from uhebo_experiments.revision import revision
from uhebo_experiments.runner import NOISE_STREAM
from uhebo_experiments.table import Record

MANY_POINTS = 1000
"""From here on suggestions are timed on one set of points, and more of them in a row: ours fits its hyperparameters
at two of six trials with 1,000 points and at two of fourteen with 2,000."""
LONGEST_ERROR = 200
ENOUGH_S = 10.0
"""CPU seconds after which a set of points is left, once three suggestions have been timed on it; not by ours, which
would be read off between two fits."""


@dataclass(frozen=True)
class PeerCell:
    """A library on a problem at a seed."""

    library: str
    problem: str
    seed: int
    budget: int


@dataclass(frozen=True)
class ClockCell:
    """CPU seconds of ask + tell with n points told already."""

    library: str
    points: int

    @property
    def designs(self) -> int:
        """Sets of points: a suggestion may take ten times as long on one as on another (bayesian-optimization does),
        less so where there are many points, and there it would take long."""
        return 4 if self.points < MANY_POINTS else 1

    @property
    def asked(self) -> int:
        """Suggestions in a row on a set of points, at most."""
        return 5 if self.points < MANY_POINTS else 15


def initial_design(case: Problem, seed: int) -> list[Params]:
    """3d uniform points that depend on the seed alone, told to every library."""
    relaxed = Relaxed(case.space)
    rows = np.random.default_rng([seed, 0]).random((PER_PARAMETER * case.dimension, relaxed.width))
    return [relaxed.decode(row) for row in rows]


@contextlib.contextmanager
def muted() -> Iterator[None]:
    """Without what other libraries print and warn of (each repeated point, say): thousands of runs would bury the
    progress bar in it."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


@single_threaded
@muted()
def run_peer(cell: PeerCell) -> list[Record]:
    """One record per evaluation: the noise-free best so far, and CPU seconds of ask + tell.

    Not the points: there are thousands of runs, and points would be most of their size.
    """
    case = problem(cell.problem, seed=cell.seed, fidelity=FIDELITIES.get(cell.problem))
    trials = PER_PARAMETER * case.dimension + cell.budget
    peer = make_peer(cell.library, case.space, cell.seed, trials, noisy=case.noise > 0.0)
    records = drive(peer, case, cell.seed, trials, tolerant=cell.library not in OUR_METHODS)
    name = PACKAGES[cell.library.partition("-")[0]]
    records[0]["version"] = revision() if name == "uhebo" else importlib.metadata.version(name)
    return records


def drive(peer: Peer, case: Problem, seed: int, trials: int, *, tolerant: bool = False) -> list[Record]:
    """So many trials of one optimiser, the initial design included.

    With `tolerant` an error in an optimiser ends its search but not the comparison: the best value stays what it is,
    and the last record says what happened.
    """
    noise = np.random.default_rng([seed, NOISE_STREAM])
    design = initial_design(case, seed)
    records: list[Record] = []
    best = float("-inf")
    ended: Exception | None = None
    for i in range(trials):
        record: Record = {"t": max(0, i + 1 - len(design)), "best": best}
        records.append(record)
        if ended is not None:
            continue
        start = time.process_time()
        try:
            params = design[i] if i < len(design) else peer.ask()
        except Exception as error:
            ended = _tolerated(error, tolerant)
            continue
        asked = time.process_time() - start
        true = case(**params)
        record["best"] = best = max(best, true)
        value = true + case.noise * float(noise.standard_normal())
        start = time.process_time()
        try:
            peer.tell(params, value)
        except Exception as error:
            ended = _tolerated(error, tolerant)
        record["seconds"] = round(asked + time.process_time() - start, 6)
    if ended is not None:
        records[-1]["error"] = f"{type(ended).__name__}: {ended}"[:LONGEST_ERROR]
    return records


def _tolerated(error: Exception, tolerant: bool) -> Exception:
    """The error, unless it is one of ours (a package that is not installed, say)."""
    if not tolerant or isinstance(error, UheboError):
        raise error
    return error


@single_threaded
@muted()
def run_clock(cell: ClockCell) -> list[Record]:
    """CPU seconds of ask + tell on Hartmann6 with n random points told, several in a row on each set of points.

    `seconds` is the mean of all but the first of each set: whoever fits rarely must not be read off between two fits.
    `first` is the mean of the first ones, which know nothing of a fit before.
    """
    case = problem("hartmann6")
    relaxed = Relaxed(case.space)
    took: list[list[float]] = []
    for seed in range(cell.designs):
        peer = make_peer(cell.library, case.space, seed)
        for row in np.random.default_rng(seed).random((cell.points, relaxed.width)):
            params = relaxed.decode(row)
            peer.tell(params, case(**params))
        each: list[float] = []
        while len(each) < 3 or (len(each) < cell.asked and (sum(each) < ENOUGH_S or cell.library in OUR_METHODS)):
            start = time.process_time()
            params = peer.ask()
            peer.tell(params, case(**params))
            each.append(time.process_time() - start)
        took.append(each)
    later, first = statistics.mean(s for each in took for s in each[1:]), statistics.mean(each[0] for each in took)
    return [{"n": cell.points, "seconds": later, "first": first, "each": took}]
