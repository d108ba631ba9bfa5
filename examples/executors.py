"""Evaluations on processes, Dask, Ray, MPI or SLURM; suggestions here, as results arrive.

    python examples/executors.py --on processes|dask|ray|mpi|slurm [--trials 20] [--kill]

    processes   two processes of this machine
    dask        two workers here; of a cluster: executor="dask://scheduler:8786". pip install 'uhebo[dask]'
    ray         Ray started here; a cluster after `ray.init(address="auto")`. pip install 'uhebo[ray]'
    mpi         mpiexec -n 1 python examples/executors.py --on mpi. pip install mpi4py, and an MPI such as mpich
    slurm       submitit: jobs of SLURM where there is one, else of this machine. pip install submitit

`--kill` kills the process of one evaluation, as when memory runs out: it is evaluated again, and the study ends with
its budget all the same. (Not with MPI, which ends the whole job when one of its processes dies.)
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import uhebo

SPACE = {"x": (-2.0, 2.0), "y": (-2.0, 2.0)}


def loss(x: float, y: float, killed: Path | None = None) -> float:
    """Stands in for a training run."""
    if killed is not None and not killed.exists() and x > 0.0:
        killed.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return (1.0 - x) ** 2 + 10.0 * (y - x**2) ** 2


@contextmanager
def executor(kind: str, folder: Path) -> Iterator[Any]:
    if kind == "processes":
        yield "processes:2"
    elif kind == "dask":
        from dask.distributed import Client, LocalCluster

        local = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        with local as cluster, Client(cluster) as client:
            yield client.get_executor(pure=False)
    elif kind == "ray":
        import ray

        from uhebo.integrations.ray_executor import RayExecutor

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield RayExecutor(max_retries=0)
        ray.shutdown()
    elif kind == "mpi":
        from mpi4py.futures import MPIPoolExecutor

        with MPIPoolExecutor(2) as pool:
            yield pool
    else:
        import submitit

        jobs = submitit.AutoExecutor(folder)
        jobs.update_parameters(timeout_min=10)
        yield jobs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", choices=("processes", "dask", "ray", "mpi", "slurm"), default="processes")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--kill", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, executor(options.on, Path(folder)) as where:
        fn = partial(loss, killed=Path(folder) / "killed") if options.kill else loss
        result = uhebo.minimize(fn, SPACE, options.trials, seed=0, executor=where, n_parallel=2)
        print(f"a process was killed: {(Path(folder) / 'killed').exists()}")
    print(result)


if __name__ == "__main__":
    main()
