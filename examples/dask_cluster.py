"""Dask: evaluations on the workers of a cluster, suggestions here as results arrive.

    python examples/dask_cluster.py [--trials 20]

Here the cluster is two processes on this machine; for a real one, `Client("tcp://scheduler:8786")`, or
`executor="dask://scheduler:8786"` and no client at all. Needs pip install 'uhebo[dask]'.
"""

from __future__ import annotations

import argparse

from dask.distributed import Client, LocalCluster

import uhebo


def loss(x: float, y: float) -> float:
    """Stands in for a training run."""
    return (1.0 - x) ** 2 + 10.0 * (y - x**2) ** 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    options = parser.parse_args()
    space = {"x": (-2.0, 2.0), "y": (-2.0, 2.0)}
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        result = uhebo.minimize(loss, space, options.trials, seed=0, executor=client.get_executor(), n_parallel=2)
    print(result)


if __name__ == "__main__":
    main()
