"""One call: make a function small, and ask whether the answer can be believed.

python examples/one_call.py [--trials 40]
"""

from __future__ import annotations

import argparse
import math

import uhebo


def loss(lr: float, layers: int, activation: str) -> float:
    """Stands in for a training run: best at lr = 1e-3 with four layers."""
    penalty = {"relu": 0.0, "tanh": 0.3}[activation]
    return (math.log10(lr) + 3) ** 2 + 0.2 * (layers - 4) ** 2 + penalty


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=40)
    options = parser.parse_args()
    space = {"lr": uhebo.Float(1e-6, 1.0, log=True), "layers": (1, 12), "activation": ["relu", "tanh"]}
    result = uhebo.minimize(loss, space, n_trials=options.trials, seed=0)
    print(result)
    mean, deviation = result.surrogate.predict(result.best_params)
    print(f"\nThe surrogate expects {mean:.3g} ± {deviation:.2g} there.\n")
    print(result.diagnose())


if __name__ == "__main__":
    main()
