"""Ray Tune: our sampler inside Ray's own OptunaSearch, on a local cluster of two workers.

    python examples/ray_tune.py [--trials 20] [--folder ray_results]

Needs pip install 'uhebo[ray]'.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import Any

import ray
from ray import tune
from ray.tune.search.optuna import OptunaSearch

import uhebo


def train(config: dict[str, Any]) -> None:
    """Stands in for a training run: best at lr = 1e-3 with 64 units."""
    import math

    from ray import tune  # in the worker

    tune.report({"loss": (math.log10(config["lr"]) + 3) ** 2 + ((config["units"] - 64) / 40) ** 2})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--folder", type=Path, default=Path("ray_results"))
    options = parser.parse_args()
    ray.init(num_cpus=2, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    search = OptunaSearch(metric="loss", mode="min", sampler=uhebo.UHESampler(n_trials=options.trials, seed=0))
    tuner = tune.Tuner(
        train,
        param_space={"lr": tune.loguniform(1e-6, 1.0), "units": tune.randint(8, 257)},
        tune_config=tune.TuneConfig(
            search_alg=search,
            num_samples=options.trials,
            max_concurrent_trials=2,
            reuse_actors=True,  # otherwise every trial starts a process of its own
        ),
        run_config=tune.RunConfig(storage_path=str(options.folder.resolve()), verbose=0),
    )
    results = tuner.fit()
    best = results.get_best_result("loss", "min")
    print(f"{len(results)} trials, {results.num_errors} errors")
    print(f"best loss {best.metrics['loss']:.4g} at {best.config}")
    ray.shutdown()


if __name__ == "__main__":
    main()
