"""The experiment runner: whole files, continuation after any interruption, and the same records on a cluster."""

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
from uhebo_experiments.cells import Cell, Record, read_cell, read_lines, write_cell
from uhebo_experiments.runner import run, run_cell

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
    return content(run(CELLS, tmp_path_factory.mktemp("cells"), jobs=1, progress=False))


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


def test_files_are_read_by_pandas(tmp_path: Path) -> None:
    cell = CELLS[0]
    path = write_cell(tmp_path, cell, run_cell(cell))
    frame = pd.read_json(path, lines=True)
    assert frame["incumbent"].dropna().is_monotonic_increasing
    assert len(frame) == 12 + 2


@pytest.mark.parametrize("damage", ["cut", "no end", "garbage", "empty", "other cell"])
def test_row_40_a_damaged_file_is_computed_again(
    tmp_path: Path, damage: str, undisturbed: dict[Cell, list[Record]]
) -> None:
    cell, other = CELLS[0], CELLS[1]
    results = run([cell, other], tmp_path, jobs=1, progress=False)
    path = tmp_path / cell.file
    whole = path.read_bytes()
    lines = gzip.decompress(whole).splitlines(keepends=True)
    path.write_bytes(
        {
            "cut": whole[: len(whole) // 2],
            "no end": gzip.compress(b"".join(lines[:-1])),
            "garbage": b"not gzip at all",
            "empty": b"",
            "other cell": (tmp_path / other.file).read_bytes(),
        }[damage]
    )
    assert read_cell(tmp_path, cell) is None
    kept = (tmp_path / other.file).stat().st_mtime_ns
    again = run([cell, other], tmp_path, jobs=1, progress=False)
    assert content(again) == content(results) == {c: undisturbed[c] for c in (cell, other)}
    assert (tmp_path / other.file).stat().st_mtime_ns == kept
    assert read_lines(path) is not None


RUN_ALL = f"""
import sys
from pathlib import Path
from uhebo_experiments.cells import Cell
from uhebo_experiments.runner import run
run({CELLS!r}, Path(sys.argv[1]), jobs=2, progress=False)
"""


def test_kill_9_three_times_then_continue(tmp_path: Path, undisturbed: dict[Cell, list[Record]]) -> None:
    """Killed at random moments after a further cell is done, a run goes on from what is on disk, to the same table."""
    rng = np.random.default_rng(0)
    root = Path(__file__).parents[1]

    def done() -> int:
        return len(list(tmp_path.rglob("*.jsonl.gz")))

    for _ in range(3):
        before = done()
        process = subprocess.Popen(
            [sys.executable, "-c", RUN_ALL, str(tmp_path)], cwd=root, start_new_session=True, stderr=subprocess.DEVNULL
        )
        while done() == before and process.poll() is None:
            time.sleep(0.01)
        time.sleep(float(rng.uniform(0.0, 0.1)))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    files = list(tmp_path.rglob("*.jsonl.gz"))
    assert len(files) > 2
    assert all(read_lines(path) is not None for path in files)
    assert content(run(CELLS, tmp_path, jobs=1, progress=False)) == undisturbed


def test_processes_and_a_dask_cluster_give_the_same_records(
    tmp_path: Path, undisturbed: dict[Cell, list[Record]]
) -> None:
    assert content(run(CELLS, tmp_path / "processes", jobs=2, progress=False)) == undisturbed
    distributed = require("distributed", "pip install 'dask[distributed]'")
    joblib: Any = require("joblib", "pip install 'uhebo[experiments]'")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        assert content(run(CELLS, tmp_path / "dask", progress=False)) == undisturbed


def test_progress_says_how_many_are_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(CELLS[:2], tmp_path, jobs=1, progress=True)
    assert "2/2" in capsys.readouterr().out
