"""Records of initial designs: what the page says follows from them."""

from pathlib import Path

import numpy as np
import pytest

from uhebo.space import SearchSpace
from uhebo_experiments.benchmarks.designs import GROUPS, VARIANTS, case_of, cell_of, design_of
from uhebo_experiments.benchmarks.many_parameters import PRIORS, PROBLEMS, Run, tables
from uhebo_experiments.table import RUNS, Table

FOLDER = Path(__file__).parents[1] / "results" / "designs"


def test_every_run_of_the_page_is_there() -> None:
    table = Table(FOLDER / RUNS)
    names = sum(GROUPS.values(), ())
    cells = [cell_of(variant, name, seed) for seed in (0, 19) for name in names for variant in VARIANTS]
    assert all(len(table.records(cell) or ()) == cell.trials for cell in cells)
    page = (FOLDER / "designs.md").read_text(encoding="utf-8")
    assert all(f"| {design}: {rule} |" in page for design, rule in VARIANTS)


@pytest.mark.parametrize("name", ["branin", "mixed-8d", "bowl-20d"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_runs_begin_with_the_design(variant: tuple[str, str], name: str) -> None:
    cell = cell_of(variant, name, 3)
    case = case_of(name, 3)
    space = SearchSpace.of(case.space)
    values = [case(**space.decode(row)) for row in design_of(space, cell)]
    records = Table(FOLDER / RUNS).records(cell)
    assert records is not None
    assert [record["best"] for record in records[: cell.points]] == pytest.approx(np.maximum.accumulate(values))


def test_the_page_of_many_parameters_follows_from_its_records() -> None:
    folder = FOLDER.parent / "many_parameters"
    page, table = (folder / "many_parameters.md").read_text(encoding="utf-8"), Table(folder / RUNS)
    seeds = int(page.partition("seeds 0-")[2].split()[0]) + 1
    cells = [Run(prior, name, seed) for seed in range(seeds) for name in PROBLEMS for prior in PRIORS]
    results = {cell: records for cell in cells if (records := table.records(cell)) is not None}
    assert len(results) == len(cells)
    assert tables(results, seeds) in page
