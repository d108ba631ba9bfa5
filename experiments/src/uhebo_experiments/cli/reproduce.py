"""`uhebo reproduce`: the paper's figures and claims by one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uhebo.cli.output import say


def reproduce(
    target: Annotated[str, typer.Argument(metavar="[fig1 … fig7|claims|all]", help="What to make.")] = "all",
    seeds: Annotated[int | None, typer.Option(help="Runs of each method on each problem (20).")] = None,
    budget: Annotated[
        int | None, typer.Option(help="Iterations after the initial design, synthetic problems (100).")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes; -1: one per core.")] = -1,
    quick: Annotated[bool, typer.Option("--quick", help="A small version of everything, in minutes.")] = False,
    readings: Annotated[
        str | None,
        typer.Option(
            help="Readings of the paper, separated by commas, the first for the figures; default all of the matrix."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for records, figures and the page.")] = Path("reproduction"),
) -> None:
    """Check the paper: run what is missing, draw the figures, judge the claims.

    Every finished run is on disk at once; stop with Ctrl-C and give the same command to go on. The real problems read
    their data from the folder in UHEBO_DATA, else from OpenML.

    \b
    Example:
      $ uhebo reproduce fig1 --quick --out paper
    """
    from uhebo.errors import InvalidInputError
    from uhebo_experiments.reproduce.reproduction import TARGETS, Reproduction, columns, sized
    from uhebo_experiments.reproduce.summary import write_summary

    if target not in TARGETS:
        raise InvalidInputError(f"unknown target {target!r}; choose one of {', '.join(TARGETS)}")
    if jobs == 0 or jobs < -1:
        raise InvalidInputError(f"--jobs is {jobs}; expected a number of processes, or -1 for one per core")
    chosen = columns() if readings is None else tuple(name.strip() for name in readings.split(","))
    reproduction = Reproduction(out, sized(quick=quick, seeds=seeds, budget=budget), jobs, readings=chosen)
    if target not in ("claims", "all"):
        say(f"wrote {reproduction.draw(target)} and its PDF")
        return
    drawn = {name: reproduction.draw(name) for name in TARGETS[:7]} if target == "all" else {}
    options = "".join(
        f" --{name} {value}"
        for name, value in (("seeds", seeds), ("budget", budget), ("readings", readings))
        if value is not None
    )
    command = f"uhebo reproduce {target}{options}{' --quick' if quick else ''} --out {out}"
    page = write_summary(reproduction, drawn, command)
    for claim in reproduction.claims:
        typer.echo(f"{claim.name}  {claim.verdict + ' under ' + reproduction.main.column:<30} {claim.text}")
    say(f"wrote {page}")
