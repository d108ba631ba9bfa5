"""Complete tables of small scikit-learn models, trained once: every setting of a grid, on three splits of the data.

    python -m uhebo_experiments.problems.trained        (a few minutes; writes `trained.npz` beside this file)

A table has the score of a model on held-out data for every setting, once for each of `REPEATS` random splits of the
data. Its value is the mean over the splits; an observation is the score of one of them, so that it has the noise which
tuning on one split has. Tables for choosing and for reporting have no data set in common, and none of the former is in
`uhebo_experiments.problems.learning`, on which libraries are compared.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from uhebo.types import Array

FILE = Path(__file__).with_name("trained.npz")
REPEATS, ROWS, HELD_OUT = 3, 240, 0.4
"""Splits, rows of a data set at most, and the share of them that is held out."""
Purpose = Literal["tuning", "reporting"]
Axes = Mapping[str, Sequence[Any]]
"""Parameter -> its values; those of text are categories, the others are in order."""
DATA: dict[Purpose, tuple[str, ...]] = {
    "tuning": ("breast_cancer", "wine", "moons", "blobs", "friedman1", "friedman2"),
    "reporting": ("digits", "diabetes", "circles", "classes", "friedman3", "linear"),
}
REGRESSION = ("diabetes", "friedman1", "friedman2", "friedman3", "linear")
POWERS = tuple(10.0**k for k in np.arange(-3.0, 3.5, 0.75))


@dataclass(frozen=True)
class Table:
    """Scores (larger is better) of a model on a data set: one axis per parameter, and one for the splits."""

    name: str
    axes: Axes
    scores: Array


def models(regression: bool) -> dict[str, tuple[Axes, Callable[..., Any]]]:
    """Name -> grid and what makes the model."""
    from sklearn import ensemble, linear_model, neighbors, svm, tree

    kind = "Regressor" if regression else "Classifier"
    support = svm.SVR if regression else svm.SVC
    criteria = ("squared_error", "friedman_mse") if regression else ("gini", "entropy")
    linear: Any = linear_model.ElasticNet if regression else linear_model.SGDClassifier
    return {
        "support-vectors": (
            {"kernel": ("rbf", "poly", "sigmoid"), "C": POWERS, "gamma": POWERS[:7], "coef0": (0.0, 1.0)},
            lambda **p: support(max_iter=1500, **p),
        ),
        "neighbours": (
            {"n": (1, 2, 3, 4, 6, 8, 12, 16, 24, 32), "weights": ("uniform", "distance"), "p": (1.0, 1.5, 2.0, 4.0),
             "scaler": ("standard", "none", "range")},
            lambda n, weights, p: getattr(neighbors, f"KNeighbors{kind}")(n, weights=weights, p=p),
        ),
        "tree": (
            {"criterion": criteria, "depth": (1, 2, 3, 4, 5, 7, 10, 14), "leaf": (1, 2, 4, 7, 12, 20, 35),
             "features": (0.2, 0.4, 0.7, 1.0)},
            lambda criterion, depth, leaf, features: getattr(tree, f"DecisionTree{kind}")(
                criterion=criterion, max_depth=depth, min_samples_leaf=leaf, max_features=features, random_state=0),
        ),
        "forest": (
            {"trees": (3, 6, 12), "depth": (1, 2, 4, 8), "leaf": (1, 3, 8, 20), "features": (0.2, 0.5, 1.0),
             "kind": ("forest", "extra")},
            lambda trees, depth, leaf, features, kind_: getattr(
                ensemble, ("ExtraTrees" if kind_ == "extra" else "RandomForest") + kind)(
                trees, max_depth=depth, min_samples_leaf=leaf, max_features=features, random_state=0),
        ),
        "linear": (
            {"alpha": POWERS, "l1_ratio": (0.0, 0.1, 0.3, 0.6, 1.0), "iterations": (3, 10, 30, 100),
             "scaler": ("standard", "none")},
            lambda alpha, l1_ratio, iterations: linear(
                alpha=alpha, l1_ratio=l1_ratio, max_iter=iterations, random_state=0,
                **({} if regression else {"penalty": "elasticnet", "tol": None})),
        ),
    }  # fmt: skip


def data_set(name: str) -> tuple[Array, Array]:
    """At most `ROWS` rows of it, inputs and targets."""
    from sklearn import datasets

    made: dict[str, Callable[[], tuple[Array, Array]]] = {
        "moons": lambda: datasets.make_moons(ROWS, noise=0.35, random_state=1),
        "circles": lambda: datasets.make_circles(ROWS, noise=0.2, factor=0.5, random_state=1),
        "blobs": lambda: datasets.make_blobs(ROWS, 6, centers=5, cluster_std=5.0, random_state=1)[:2],
        "classes": lambda: datasets.make_classification(ROWS, 15, n_informative=4, flip_y=0.1, random_state=1),
        "friedman1": lambda: datasets.make_friedman1(ROWS, 8, noise=1.0, random_state=1),
        "friedman2": lambda: datasets.make_friedman2(ROWS, noise=100.0, random_state=1),
        "friedman3": lambda: datasets.make_friedman3(ROWS, noise=0.1, random_state=1),
        "linear": lambda: datasets.make_regression(ROWS, 20, n_informative=5, noise=30.0, random_state=1),
    }
    X, y = made[name]() if name in made else getattr(datasets, f"load_{name}")(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:ROWS]
    return X[rows], y[rows]


def trained(data: str, model: str) -> Table:
    """Train the model under every setting, on every split."""
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    axes, make = models(data in REGRESSION)[model]
    X, y = data_set(data)
    scores = np.empty([*map(len, axes.values()), REPEATS])
    scalers = {"standard": StandardScaler, "range": MinMaxScaler, "none": lambda: "passthrough"}
    for repeat in range(REPEATS):
        parts = train_test_split(X, y, test_size=HELD_OUT, random_state=repeat)
        for index in itertools.product(*(range(len(values)) for values in axes.values())):
            settings = {name: values[i] for (name, values), i in zip(axes.items(), index, strict=True)}
            scaler = scalers[settings.pop("scaler", "standard")]()
            if "kind" in settings:
                settings["kind_"] = settings.pop("kind")
            fitted = make_pipeline(scaler, make(**settings)).fit(parts[0], parts[2])
            # A regression may be arbitrarily bad; beyond this it is the same failure.
            scores[(*index, repeat)] = max(fitted.score(parts[1], parts[3]), -1.0)
    return Table(f"{model}-{data}", axes, scores)


@cache
def tables(purpose: Purpose) -> tuple[Table, ...]:
    """The tables of one purpose, in a fixed order; those on which nothing depends on the setting are left out."""
    found = []
    with np.load(FILE) as stored:
        for data in DATA[purpose]:
            for model, (axes, _) in models(data in REGRESSION).items():
                scores = stored[f"{model}-{data}"].astype(np.float64)
                if np.ptp(scores.mean(axis=-1)) > 0.02:
                    found.append(Table(f"{model}-{data}", axes, scores))
    return tuple(found)


def main() -> None:
    scores = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # limits on iterations are part of the problems
        for data in (*DATA["tuning"], *DATA["reporting"]):
            for model in models(data in REGRESSION):
                scores[f"{model}-{data}"] = trained(data, model).scores.astype(np.float32)
                print(f"{model}-{data}: {scores[f'{model}-{data}'].size} fits", flush=True)
    np.savez_compressed(FILE, allow_pickle=False, **scores)


if __name__ == "__main__":
    main()
