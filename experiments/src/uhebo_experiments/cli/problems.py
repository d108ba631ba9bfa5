"""`uhebo problems`: the test problems by name."""

from __future__ import annotations

from uhebo.cli import options
from uhebo.cli.output import write_json, write_table


def problems(as_json: options.AsJson = False) -> None:
    """List the test problems by name: the paper's, classics, sample paths, and models to be tuned.

    The paper's on real data read it from the folder named by UHEBO_DATA, else from OpenML.

    \b
    Example:
      $ uhebo problems
    """
    from uhebo_experiments.problems import problem, problem_names
    from uhebo_experiments.problems.classics import FAMILIES

    found = [problem(name) for name in problem_names()]
    if as_json:
        write_json({p.name: {"dimension": p.dimension, "optimum": p.optimum, "about": p.about} for p in found})
        return
    rows = [(p.name, str(p.dimension), "" if p.optimum is None else f"{p.optimum:.6g}", p.about) for p in found]
    rows += [(f"{name}-<d>d", "d", "", family.about) for name, family in FAMILIES.items() if not family.dimension]
    rows.append(
        ("gp-<d>d-<lengthscale>", "d", "", "sample path of a Matérn-5/2 GP with that lengthscale, e.g. gp-2d-0.2")
    )
    write_table(("problem", "dimension", "largest value", "what it is"), rows)
