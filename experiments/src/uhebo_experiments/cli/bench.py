"""`uhebo bench`: uhebo beside other libraries, and its methods beside each other, on one harness each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from uhebo.cli.output import say
from uhebo.errors import InvalidInputError

BENCHES = ("peers", "real-problems", "pareto", "hyperparameters")


def bench(
    what: Annotated[
        str,
        typer.Argument(
            metavar="|".join(BENCHES),
            help="peers: other libraries on plain problems; real-problems: under constraints, failures, branches; "
            "pareto: with several objectives; hyperparameters: our methods where the prior is right and where it "
            "misleads.",
        ),
    ] = "peers",
    problems: Annotated[str, typer.Option("--set", help="Of peers, the problems: tuning or reporting.")] = "reporting",
    libraries: Annotated[
        str | None,
        typer.Option(help="Names, separated by commas; default all installed. Of hyperparameters, methods."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Runs of each on each problem; default 10 for peers, else 20.")
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Of peers and hyperparameters, iterations after 3d uniform points; default 50 and 40.",
        ),
    ] = None,
    sizes: Annotated[str, typer.Option(help="Of peers, numbers of points at which suggestions are timed.")] = (
        "20,50,100,200,500,1000,2000"
    ),
    page: Annotated[
        bool, typer.Option("--page", help="Run nothing, write the page from the records in the folder; not for peers.")
    ] = False,
    jobs: Annotated[int, typer.Option(help="Processes; -1: one per core.")] = -1,
    out: Annotated[Path | None, typer.Option(help="Folder for records, figure and tables; default: the name.")] = None,
) -> None:
    """Compare uhebo with Optuna, BoTorch, SMAC3 and others, or its methods with each other: ranks, regret, seconds.

    Every finished run is on disk at once; stop with Ctrl-C and give the same command to go on.

    \b
    Example:
      $ uhebo bench peers --set tuning --libraries uhebo,random --seeds 1 --budget 1 --sizes 20
    """
    if what not in BENCHES:
        raise InvalidInputError(f"unknown comparison {what!r}; choose {', '.join(BENCHES[:-1])} or {BENCHES[-1]}")
    if jobs == 0 or jobs < -1:
        raise InvalidInputError(f"--jobs is {jobs}; expected a number of processes, or -1 for one per core")
    if page and what == "peers":
        raise InvalidInputError("--page is not for peers: the command on its page runs nothing twice")
    folder = Path(what.replace("-", "_")) if out is None else out
    named = None if libraries is None else tuple(name.strip() for name in libraries.split(","))
    written = (
        _peers(folder, problems, named, seeds or 10, budget or 50, sizes, jobs)
        if what == "peers"
        else _from_records(what, folder)
        if page
        else _others(what, folder, named, seeds or 20, budget, jobs)
    )
    say(f"wrote {written}")


def _peers(
    folder: Path, problems: str, named: Sequence[str] | None, seeds: int, budget: int, sizes: str, jobs: int
) -> Path:
    from uhebo_experiments.peers.libraries import PEERS
    from uhebo_experiments.peers.report import compare_peers, installed, positive_sizes

    chosen = installed() if named is None else tuple(named)
    missing = [name for name in PEERS if name not in chosen]
    if named is None and missing:
        say(f"left out, because not installed (pip install 'uhebo-experiments[peers]'): {', '.join(missing)}")
    return compare_peers(
        problems, chosen, seeds=seeds, budget=budget, sizes=positive_sizes(sizes), jobs=jobs, folder=folder
    )


def _others(what: str, folder: Path, named: Sequence[str] | None, seeds: int, budget: int | None, jobs: int) -> Path:
    if what == "real-problems":
        from uhebo_experiments.benchmarks.real_problems import compare_real

        return compare_real(folder, seeds=seeds, entries=named, jobs=jobs)
    if what == "pareto":
        from uhebo_experiments.benchmarks.pareto import compare_pareto

        return compare_pareto(folder, seeds=seeds, entries=named, jobs=jobs)
    from uhebo_experiments.arena import BUDGET, compete

    return compete(folder, seeds=seeds, methods=named, budget=budget or BUDGET, jobs=jobs)


def _from_records(what: str, folder: Path) -> Path:
    from uhebo_experiments import arena
    from uhebo_experiments.benchmarks import pareto, real_problems

    return {"real-problems": real_problems.write, "pareto": pareto.write, "hyperparameters": arena.write}[what](folder)
