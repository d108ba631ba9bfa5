"""Four problems with parameters that are there in one branch only."""

from __future__ import annotations

import math
import warnings
from functools import cache
from typing import Any

import numpy as np

from uhebo.space import Categorical, Float, Int
from uhebo_experiments.problems.practical import Condition, Evaluation, Params, Practical

CENTRES = {"a": (0.25, 0.7, 0.15), "b": (0.6, 0.35, 0.0), "c": (0.8, 0.8, 0.08)}
"""Branch -> where its bowl is, and the value at its bottom."""
FOLDS = 3
SEED = 1
BEST_SEEN = 0.5130965
"""Of `pipeline`, in a search of 2,560 Sobol points over its branches, polished by Nelder-Mead and by random steps."""


def branches(p: Params) -> Evaluation:
    """Three bowls, each with two parameters of its own."""
    kind = p["kind"]
    x, y, bottom = CENTRES[kind]
    u, v = p[f"x_{kind}"] - x, p[f"y_{kind}"] - y
    return Evaluation(bottom + 4.0 * (u * u + v * v + u * v))


def nested(p: Params) -> Evaluation:
    """A network's layers: the second width is there with two layers, the third with three, all of them with `deep`."""
    if p["kind"] == "linear":
        return Evaluation(0.4 + 0.05 * (math.log10(p["penalty"]) + 2.0) ** 2)
    rate = 0.1 * (math.log10(p["rate"]) + 2.5) ** 2
    target = (0.9, 0.5, 0.2)
    missed = sum((p[f"width_{i + 1}"] - target[i]) ** 2 for i in range(p["layers"]))
    return Evaluation({1: 0.3, 2: 0.0, 3: 0.1}[p["layers"]] + rate + 2.0 * missed)


def shared(p: Params) -> Evaluation:
    """Learning rate and decay in both branches; a depth in one, units and dropout in the other."""
    common = 0.15 * (math.log10(p["rate"]) + 2.0) ** 2 + (p["decay"] - 0.3) ** 2
    if p["kind"] == "tree":
        return Evaluation(0.1 + common + 0.02 * (p["depth"] - 6) ** 2)
    units = 0.2 * (math.log2(p["units"]) - 6.0) ** 2
    return Evaluation(common + units + 1.5 * (p["dropout"] - 0.25) ** 2)


@cache
def _squared_error(items: tuple[tuple[str, Any], ...]) -> float:
    """1 - R² of a model on scikit-learn's diabetes data, mean over folds."""
    from sklearn import clone, datasets
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import KFold
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    p = dict(items)
    model = p.pop("model")
    made = {
        "svm": lambda: SVR(C=p["C"], gamma=p["gamma"], max_iter=5000),
        "neighbours": lambda: KNeighborsRegressor(p["k"], weights=p["weights"], p=p["power"]),
        "forest": lambda: RandomForestRegressor(
            10, max_depth=p["depth"], max_features=p["features"], min_samples_leaf=p["leaf"], random_state=SEED
        ),
    }[model]()
    X, y = datasets.load_diabetes(return_X_y=True)
    y = (y - y.mean()) / y.std()
    pipeline = make_pipeline(StandardScaler(), made)
    losses = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the limit on iterations is part of the problem
        for train, test in KFold(FOLDS, shuffle=True, random_state=SEED).split(X):
            losses.append(1.0 - clone(pipeline).fit(X[train], y[train]).score(X[test], y[test]))
    return float(np.mean(losses))


def pipeline(p: Params) -> Evaluation:
    """Cross-validated error of a support vector machine, neighbours or a small forest, each with its own parameters."""
    return Evaluation(_squared_error(tuple(sorted(p.items()))))


CONDITIONAL = {
    case.name: case
    for case in (
        Practical(
            "branches",
            {
                "kind": Categorical(["a", "b", "c"]),
                **{f"{axis}_{kind}": Float(0.0, 1.0) for kind in CENTRES for axis in "xy"},
            },
            branches,
            0.0,
            {"kind": "b", "x_b": 0.6, "y_b": 0.35},
            "three branches, two parameters each",
            {f"{axis}_{kind}": Condition("kind", (kind,)) for kind in CENTRES for axis in "xy"},
        ),
        Practical(
            "nested",
            {
                "kind": Categorical(["linear", "deep"]),
                "penalty": Float(1e-5, 1.0, log=True),
                "rate": Float(1e-5, 1.0, log=True),
                "layers": Int(1, 3),
                **{f"width_{i}": Float(0.0, 1.0) for i in (1, 2, 3)},
            },
            nested,
            0.0,
            {"kind": "deep", "rate": 10.0**-2.5, "layers": 2, "width_1": 0.9, "width_2": 0.5},
            "a branch within a branch",
            {
                "penalty": Condition("kind", ("linear",)),
                "rate": Condition("kind", ("deep",)),
                "layers": Condition("kind", ("deep",)),
                "width_1": Condition("kind", ("deep",)),
                "width_2": Condition("layers", (2, 3)),
                "width_3": Condition("layers", (3,)),
            },
        ),
        Practical(
            "shared",
            {
                "rate": Float(1e-4, 1.0, log=True),
                "decay": Float(0.0, 1.0),
                "kind": Categorical(["tree", "net"]),
                "depth": Int(1, 12),
                "units": Int(8, 256, log=True),
                "dropout": Float(0.0, 0.9),
            },
            shared,
            0.0,
            {"rate": 1e-2, "decay": 0.3, "kind": "net", "units": 64, "dropout": 0.25},
            "two shared parameters, an integer in each branch",
            {
                "depth": Condition("kind", ("tree",)),
                "units": Condition("kind", ("net",)),
                "dropout": Condition("kind", ("net",)),
            },
        ),
        Practical(
            "pipeline",
            {
                "model": Categorical(["svm", "neighbours", "forest"]),
                "C": Float(1e-2, 1e2, log=True),
                "gamma": Float(1e-4, 1.0, log=True),
                "k": Int(1, 60, log=True),
                "weights": Categorical(["uniform", "distance"]),
                "power": Float(1.0, 3.0),
                "depth": Int(1, 12),
                "features": Float(0.1, 1.0),
                "leaf": Int(1, 30),
            },
            pipeline,
            BEST_SEEN,
            {"model": "svm", "C": 0.47312362097, "gamma": 0.01123029255},
            "model and its parameters on scikit-learn's diabetes data",
            {
                "C": Condition("model", ("svm",)),
                "gamma": Condition("model", ("svm",)),
                "k": Condition("model", ("neighbours",)),
                "weights": Condition("model", ("neighbours",)),
                "power": Condition("model", ("neighbours",)),
                "depth": Condition("model", ("forest",)),
                "features": Condition("model", ("forest",)),
                "leaf": Condition("model", ("forest",)),
            },
        ),
    )
}
"""Name -> problem."""
