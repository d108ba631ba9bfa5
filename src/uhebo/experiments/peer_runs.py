"""One harness for every library: the same initial design, budget, noise and clock; one file a run."""

from __future__ import annotations

import importlib.metadata
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from uhebo._version import __version__
from uhebo.experiments import problem
from uhebo.experiments.cells import Record
from uhebo.experiments.peers import PACKAGES, Peer, make_peer
from uhebo.experiments.problems import Problem
from uhebo.experiments.relaxed import Params, Relaxed
from uhebo.experiments.runner import NOISE_STREAM
from uhebo.experiments.sets import FIDELITIES
from uhebo.sampler import INITIAL_PER_DIMENSION
from uhebo.threads import single_threaded

MANY_POINTS = 1000
"""From here on suggestions are timed on one set of points."""


@dataclass(frozen=True)
class PeerCell:
    """A library on a problem at a seed."""

    library: str
    problem: str
    seed: int
    budget: int

    @property
    def file(self) -> Path:
        return Path(self.problem) / self.library / f"T{self.budget}-seed{self.seed:03d}.jsonl.gz"


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
    def file(self) -> Path:
        return Path("clock") / self.library / f"n{self.points:05d}.jsonl.gz"


def initial_design(case: Problem, seed: int) -> list[Params]:
    """3d uniform points that depend on the seed alone, told to every library."""
    relaxed = Relaxed(case.space)
    rows = np.random.default_rng([seed, 0]).random((INITIAL_PER_DIMENSION * case.dimension, relaxed.width))
    return [relaxed.decode(row) for row in rows]


@single_threaded
def run_peer(cell: PeerCell) -> list[Record]:
    """One record an evaluation: the noise-free best so far, and CPU seconds of ask + tell.

    Not the points: there are thousands of runs, and points would be most of their size.
    """
    case = problem(cell.problem, seed=cell.seed, fidelity=FIDELITIES.get(cell.problem))
    trials = INITIAL_PER_DIMENSION * case.dimension + cell.budget
    records = drive(make_peer(cell.library, case.space, cell.seed, trials), case, cell.seed, trials)
    name = PACKAGES[cell.library.partition("-")[0]]
    records[0]["version"] = __version__ if name == "uhebo" else importlib.metadata.version(name)
    return records


def drive(peer: Peer, case: Problem, seed: int, trials: int) -> list[Record]:
    """So many trials of one optimiser, the initial design included."""
    noise = np.random.default_rng([seed, NOISE_STREAM])
    design = initial_design(case, seed)
    records: list[Record] = []
    best = float("-inf")
    for i in range(trials):
        start = time.process_time()
        params = design[i] if i < len(design) else peer.ask()
        seconds = time.process_time() - start
        true = case(**params)
        value = true + case.noise * float(noise.standard_normal())
        start = time.process_time()
        peer.tell(params, value)
        seconds += time.process_time() - start
        best = max(best, true)
        records.append({"t": max(0, i + 1 - len(design)), "best": best, "seconds": round(seconds, 6)})
    return records


@single_threaded
def run_clock(cell: ClockCell) -> list[Record]:
    """Median CPU seconds of ask + tell on Hartmann6 with n random points told, three in a row on each set of points."""
    case = problem("hartmann6")
    relaxed = Relaxed(case.space)
    took = []
    for seed in range(cell.designs):
        peer = make_peer(cell.library, case.space, seed)
        for row in np.random.default_rng(seed).random((cell.points, relaxed.width)):
            params = relaxed.decode(row)
            peer.tell(params, case(**params))
        for _ in range(3):
            start = time.process_time()
            params = peer.ask()
            peer.tell(params, case(**params))
            took.append(time.process_time() - start)
    return [{"n": cell.points, "seconds": statistics.median(took), "each": took}]
