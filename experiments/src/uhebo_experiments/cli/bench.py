"""`uhebo bench`: uhebo beside other libraries, on one harness."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uhebo.cli.output import say


def bench(
    what: Annotated[
        str,
        typer.Argument(
            metavar="peers|real-problems",
            help="peers: other libraries on plain problems; real-problems: under constraints, failures, branches.",
        ),
    ] = "peers",
    problems: Annotated[str, typer.Option("--set", help="Of peers, the problems: tuning or reporting.")] = "reporting",
    libraries: Annotated[str | None, typer.Option(help="Names, separated by commas; default all installed.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each library on each problem.")] = 10,
    budget: Annotated[int, typer.Option(min=1, help="Of peers, iterations after 3d uniform points.")] = 50,
    sizes: Annotated[str, typer.Option(help="Of peers, numbers of points at which suggestions are timed.")] = (
        "20,50,100,200,500,1000,2000"
    ),
    jobs: Annotated[int, typer.Option(help="Processes; -1: one per core.")] = -1,
    out: Annotated[Path | None, typer.Option(help="Folder for records, figure and tables; default: the name.")] = None,
) -> None:
    """Compare uhebo with Optuna, BoTorch, SMAC3 and others: ranks, regret, seconds.

    Every finished run is on disk at once; stop with Ctrl-C and give the same command to go on.

    \b
    Example:
      $ uhebo bench peers --set tuning --libraries uhebo,random --seeds 1 --budget 1 --sizes 20
    """
    from uhebo.errors import InvalidInputError
    from uhebo_experiments.peers.libraries import PEERS
    from uhebo_experiments.peers.report import compare_peers, installed, positive_sizes

    if what not in ("peers", "real-problems"):
        raise InvalidInputError(f"unknown comparison {what!r}; choose peers or real-problems")
    if jobs == 0 or jobs < -1:
        raise InvalidInputError(f"--jobs is {jobs}; expected a number of processes, or -1 for one per core")
    folder = Path(what.replace("-", "_")) if out is None else out
    named = None if libraries is None else tuple(name.strip() for name in libraries.split(","))
    if what == "real-problems":
        from uhebo_experiments.benchmarks.real_problems import compare_real

        say(f"wrote {compare_real(folder, seeds=seeds, entries=named, jobs=jobs)}")
        return
    chosen = installed() if named is None else named
    missing = [name for name in PEERS if name not in chosen]
    if named is None and missing:
        say(f"left out, because not installed (pip install 'uhebo-experiments[peers]'): {', '.join(missing)}")
    page = compare_peers(
        problems, chosen, seeds=seeds, budget=budget, sizes=positive_sizes(sizes), jobs=jobs, folder=folder
    )
    say(f"wrote {page}")
