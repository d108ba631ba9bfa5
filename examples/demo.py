"""The main job in a minute: tune a real model, watch it go, get a report and a straight answer about the surrogate.

    make demo

A support-vector classifier on scikit-learn's breast-cancer data: two parameters on log scales, one choice.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import uhebo

X, Y = load_breast_cancer(return_X_y=True)


def accuracy(C: float, gamma: float, kernel: str) -> float:
    """Mean accuracy over five folds."""
    model = make_pipeline(StandardScaler(), SVC(C=C, gamma=gamma, kernel=kernel))
    return float(cross_val_score(model, X, Y, cv=5).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--out", type=Path, default=Path("out"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    space = {
        "C": uhebo.Float(1e-3, 1e3, log=True),
        "gamma": uhebo.Float(1e-5, 1e1, log=True),
        "kernel": ["rbf", "sigmoid"],
    }
    result = uhebo.maximize(accuracy, space, n_trials=options.trials, seed=0, progress=True)
    print(result)
    print()
    print(result.diagnose())
    print(f"\nReport: {result.report(options.out / 'report.html').resolve()}")


if __name__ == "__main__":
    main()
