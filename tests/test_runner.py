"""The experiment runner: whole tables, continuation after any interruption, and the same records on a cluster."""

from __future__ import annotations

import contextlib
import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.conftest import require
from uhebo_experiments.cells import Cell
from uhebo_experiments.runner import run, run_cell
from uhebo_experiments.table import RUNS, Record, Table

CELLS = [
    Cell(problem, method, seed, 6)
    for problem in ("branin", "deceptive")
    for method in ("uhe", "map")
    for seed in (0, 1)
]


def content(results: dict[Cell, list[Record]]) -> dict[Cell, list[Record]]:
    """Records without what differs from run to run."""
    return {cell: [{k: v for k, v in r.items() if k != "seconds"} for r in rs] for cell, rs in results.items()}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[Cell, list[Record]]:
    return content(run(CELLS, Table(tmp_path_factory.mktemp("cells") / RUNS), jobs=1, progress=False))


def test_a_cell_records_what_happened() -> None:
    records = run_cell(Cell("branin", "uhe", 3, 10, options=(("prior", "dim-scaled"),)))
    assert [r["number"] for r in records] == list(range(16))
    assert [r["t"] for r in records] == [0] * 6 + list(range(1, 11))
    assert {r["role"] for r in records[:6]} == {"initial"}
    np.testing.assert_allclose([r["incumbent"] for r in records], np.maximum.accumulate([r["value"] for r in records]))
    assert all(len(r["theta"]) == 4 for r in records if r["role"] == "model")
    assert all("arm" in r and 0 < r["p"] < 1 for r in records[6:])
    assert all(r["seconds"] >= 0 for r in records)


def test_methods_share_the_initial_design_of_a_seed(undisturbed: dict[Cell, list[Record]]) -> None:
    designs = {cell: [r["params"] for r in rs[:6]] for cell, rs in undisturbed.items() if cell.problem == "branin"}
    assert designs[Cell("branin", "uhe", 0, 6)] == designs[Cell("branin", "map", 0, 6)]
    assert designs[Cell("branin", "uhe", 0, 6)] != designs[Cell("branin", "uhe", 1, 6)]


def test_a_table_is_read_by_pandas_and_has_versions_and_date(tmp_path: Path) -> None:
    table = Table(tmp_path / RUNS)
    run(CELLS[:2], table, jobs=1, progress=False)
    frame = pd.read_json(table.path, lines=True)
    assert list(frame["seed"]) == [0, 1]
    assert {"numpy", "optuna", "uhebo"} < frame["versions"][0].keys()
    trials = pd.json_normalize(frame.explode("records")["records"])
    assert len(trials) == 2 * 12
    assert trials["incumbent"][:12].is_monotonic_increasing
    assert list(tmp_path.iterdir()) == [table.path]


def test_the_same_runs_give_the_same_bytes_however_they_came(tmp_path: Path) -> None:
    at_once, one_by_one = Table(tmp_path / "a.jsonl.gz"), Table(tmp_path / "b.jsonl.gz")
    for cell in CELLS:
        at_once.add(cell, [{"t": cell.seed}])
    for cell in reversed(CELLS):
        one_by_one.add(cell, [{"t": cell.seed}])
        one_by_one.pack()
    at_once.pack()
    assert at_once.path.read_bytes() == one_by_one.path.read_bytes()
    at_once.add(CELLS[0], [{"t": -1}])  # run again: the later one counts
    assert Table(at_once.path).records(CELLS[0]) == [{"t": -1}]
    at_once.pack()
    assert Table(at_once.path).records(CELLS[0]) == [{"t": -1}]


@pytest.mark.parametrize("damage", ["cut", "cut line", "garbage", "empty", "no table"])
def test_row_40_what_is_damaged_is_computed_again(
    tmp_path: Path, damage: str, undisturbed: dict[Cell, list[Record]], caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / RUNS
    results = run(CELLS[:2], Table(path), jobs=1, progress=False)
    whole = path.read_bytes()
    first, second = gzip.decompress(whole).splitlines(keepends=True)
    damaged = {
        "cut": whole[: len(whole) // 2],
        "cut line": gzip.compress(first + second[: len(second) // 2]),
        "garbage": b"not gzip at all",
        "empty": b"",
    }
    path.unlink()
    if damage in damaged:
        path.write_bytes(damaged[damage])
    read = Table(path)
    assert read.records(CELLS[1]) is None
    assert read.header(CELLS[1]) is None
    assert (read.records(CELLS[0]) == results[CELLS[0]]) == (damage == "cut line")
    assert ("is damaged" in caplog.text) == (damage in ("cut", "garbage"))
    again = run(CELLS[:2], Table(path), jobs=1, progress=False)
    assert content(again) == content(results) == {cell: undisturbed[cell] for cell in CELLS[:2]}
    assert Table(path).records(CELLS[1]) == again[CELLS[1]]


@pytest.mark.parametrize("kept", [0, 1, 40, -2])
def test_a_line_of_the_journal_that_was_cut_short_spoils_no_other(tmp_path: Path, kept: int) -> None:
    """As a killed process or a full disk leaves it: at any byte."""
    table, journal = Table(tmp_path / RUNS), tmp_path / RUNS.removesuffix(".gz")
    table.add(CELLS[0], [{"t": 0}])
    table.add(CELLS[1], [{"t": 1}])
    first, second = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(first + second[:kept])
    table = Table(table.path)
    assert table.records(CELLS[1]) is None
    table.add(CELLS[2], [{"t": 2}])
    for again in (Table(table.path), table):
        assert [again.records(cell) for cell in CELLS[:3]] == [[{"t": 0}], None, [{"t": 2}]]
        again.pack()
    assert not journal.exists()


ADD = """
import sys
from uhebo_experiments.cells import Cell
from uhebo_experiments.table import Table
table = Table(sys.argv[1])
for seed in range(int(sys.argv[2]), 200, 4):
    table.add(Cell("branin", "map", seed, 1), [{"t": seed}] * 50)
    if seed % 5 == 0:
        table.pack()
table.pack()
"""


def test_several_processes_write_and_pack_one_table(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ADD, str(tmp_path / RUNS)]
    started = [subprocess.Popen([*command, str(i)]) for i in range(4)]
    assert [process.wait(timeout=120) for process in started] == [0] * 4
    assert {cell["seed"]: records for cell, records in Table(tmp_path / RUNS)} == {
        seed: [{"t": seed}] * 50 for seed in range(200)
    }
    assert [path.name for path in tmp_path.iterdir()] == [RUNS]


def test_a_table_is_named_as_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"ends in \.jsonl\.gz"):
        Table(tmp_path / "cells")


RUN_ALL = f"""
import sys
from uhebo_experiments.cells import Cell
from uhebo_experiments.runner import run
from uhebo_experiments.table import Table
run({CELLS!r}, Table(sys.argv[1]), jobs=2, progress=False)
"""


def test_kill_9_three_times_then_continue(tmp_path: Path, undisturbed: dict[Cell, list[Record]]) -> None:
    """Killed at random moments after a further cell is done, a run goes on from what is on disk, to the same table."""
    rng = np.random.default_rng(0)
    root = Path(__file__).parents[1]

    def done() -> int:
        return len(list(Table(tmp_path / RUNS)))

    for _ in range(3):
        before = done()
        process = subprocess.Popen(
            [sys.executable, "-c", RUN_ALL, str(tmp_path / RUNS)],
            cwd=root,
            start_new_session=True,
            stderr=subprocess.DEVNULL,
        )
        while done() == before and process.poll() is None:
            time.sleep(0.01)
        time.sleep(float(rng.uniform(0.0, 0.1)))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert done() > 2
    assert content(run(CELLS, Table(tmp_path / RUNS), jobs=1, progress=False)) == undisturbed


def test_processes_and_a_dask_cluster_give_the_same_records(
    tmp_path: Path, undisturbed: dict[Cell, list[Record]]
) -> None:
    assert content(run(CELLS, Table(tmp_path / "processes" / RUNS), jobs=2, progress=False)) == undisturbed
    distributed = require("distributed", "pip install 'dask[distributed]'")
    joblib: Any = require("joblib", "pip install uhebo-experiments")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        assert content(run(CELLS, Table(tmp_path / "dask" / RUNS), progress=False)) == undisturbed


def test_progress_says_how_many_are_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(CELLS[:2], Table(tmp_path / RUNS), jobs=1, progress=True)
    assert "2/2" in capsys.readouterr().out
