"""Average regret of `uhe` on sample paths of a known GP: does it fall with T?

    python -m uhebo_experiments.benchmarks.regret [--seeds 10] [--budget 100] [--out docs/figures]

Each seed has its own sample path of a Matérn-5/2 GP on the unit square (lengthscale 0.2, variance 1), observed with
noise of deviation 0.05. Regret is that of the points evaluated after the initial design, without noise, against the
path's maximum. Prints R_T/T and writes a figure.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import optuna

import uhebo
from uhebo.types import Array
from uhebo_experiments.benchmarks.common import heading, table
from uhebo_experiments.problems import problem

LENGTHSCALE, NOISE, INITIAL = 0.2, 0.05, 6


def average_regret(method: str, seed: int, budget: int) -> Array:
    """R_t / t for t = 1 .. budget."""
    path = problem(f"gp-2d-{LENGTHSCALE}", seed=seed)
    noise = np.random.default_rng([seed, 12])
    true: list[float] = []

    def observe(**point: float) -> float:
        true.append(path(**point))
        return true[-1] + NOISE * float(noise.standard_normal())

    uhebo.maximize(observe, path.space, INITIAL + budget, seed=seed, method=method, n_startup_trials=INITIAL)
    assert path.optimum is not None
    regret = path.optimum - np.array(true[INITIAL:])
    return np.asarray(np.cumsum(regret) / np.arange(1, budget + 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("docs/figures"))
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    methods = ("uhe", "map", "random")
    curves = {m: np.array([average_regret(m, s, options.budget) for s in range(options.seeds)]) for m in methods}
    marks = [t for t in (25, 50, 100, 200, 400) if t <= options.budget]
    print(heading(f"R_T/T on GP sample paths, mean ± s.e. of seeds 0-{options.seeds - 1}", ("optuna",)))
    error = {m: curve.std(axis=0, ddof=1) / np.sqrt(options.seeds) for m, curve in curves.items()}
    rows = [[m, *(f"{curves[m].mean(axis=0)[t - 1]:.3f} ± {error[m][t - 1]:.3f}" for t in marks)] for m in methods]
    print(table(["method", *(f"T = {t}" for t in marks)], rows))
    print(f"figure: {draw(curves, error, options.out)}")


def draw(curves: dict[str, Array], error: dict[str, Array], folder: Path) -> Path:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    colours = {"uhe": "#0072B2", "map": "#E69F00", "random": "#666666"}  # Okabe & Ito
    labels = {"uhe": "UHE-BO", "map": "MAP", "random": "random"}
    figure, axes = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
    for method, curve in curves.items():
        t, mean = np.arange(1, curve.shape[1] + 1), curve.mean(axis=0)
        axes.plot(t, mean, color=colours[method], label=labels[method], lw=1.8)
        axes.fill_between(t, mean - error[method], mean + error[method], color=colours[method], alpha=0.2, lw=0)
    seeds = len(next(iter(curves.values())))
    axes.set(
        xlabel="iterations T after the initial design", ylabel="average regret  $R_T/T$", xlim=(1, None), ylim=(0, None)
    )
    axes.set_title(f"GP sample paths in 2-D, mean ± 1 s.e. of {seeds} seeds", fontsize=10)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "average-regret.png"
    figure.savefig(target, dpi=200)
    return target


if __name__ == "__main__":
    main()
