"""The paper's machine-learning problems: validation accuracy of a model as a function of its hyperparameters.

Data come from the folder named by the environment variable UHEBO_DATA (CSV files, `target` last), else from OpenML by
data id through scikit-learn. 2/3 train, 1/3 validation, stratified, seed 1; categorical columns one-hot, numeric ones
standardised, both fitted on the training part only.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from uhebo.errors import UheboError
from uhebo.space import Float, Int
from uhebo_experiments.problems.synthetic import Problem

DATA_FOLDER = "UHEBO_DATA"
OPENML_IDS = {"vehicle": 54, "wilt": 40983, "australian": 40981, "kc1": 1067}
AUSTRALIAN_CATEGORICAL = ("A1", "A4", "A5", "A6", "A8", "A9", "A11", "A12")
"""Columns of the Australian credit data that are codes, not quantities (its UCI description)."""
SPLIT_SEED = 1


@dataclass(frozen=True)
class Split:
    """A data set, split and preprocessed."""

    train_X: Any
    train_y: Any
    test_X: Any
    test_y: Any


def load(name: str) -> tuple[Any, Any]:
    """Features (a data frame) and classes (0 .. k-1) of a data set."""
    import pandas as pd
    from sklearn.datasets import fetch_openml

    folder = os.environ.get(DATA_FOLDER)
    if folder:
        for path in (Path(folder) / f"{name}.csv", Path(folder) / f"{name}.csv.gz"):
            if path.is_file():
                frame = pd.read_csv(path)
                return frame.drop(columns="target"), frame["target"].astype("category").cat.codes
    try:
        bunch = fetch_openml(data_id=OPENML_IDS[name], as_frame=True)
    except Exception as error:
        where = f"{folder} has no {name}.csv" if folder else f"{DATA_FOLDER} is not set"
        raise UheboError(
            f"the data set {name!r} is not at hand: {where}, and OpenML (data id {OPENML_IDS[name]}) did not answer "
            f"({type(error).__name__}). Set {DATA_FOLDER} to a folder with {name}.csv, or try again with a network"
        ) from error
    return bunch.data, bunch.target.astype("category").cat.codes


@cache
def split(name: str) -> Split:
    """The train and validation parts of a data set; read and prepared once per process."""
    from sklearn.compose import make_column_transformer
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    X, y = load(name)
    codes = [c for c in X.columns if c in AUSTRALIAN_CATEGORICAL] if name == "australian" else []
    codes += [c for c in X.columns if c not in codes and str(X[c].dtype) in ("category", "object")]
    numeric = [c for c in X.columns if c not in codes]
    train_X, test_X, train_y, test_y = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=SPLIT_SEED)
    prepare = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), codes), (StandardScaler(), numeric)
    )
    return Split(prepare.fit_transform(train_X), train_y.to_numpy(), prepare.transform(test_X), test_y.to_numpy())


def _accuracy(data: str, make: Callable[..., Any]) -> Callable[..., float]:
    @cache
    def score(items: tuple[tuple[str, Any], ...]) -> float:
        parts = split(data)
        model = make(**dict(items)).fit(parts.train_X, parts.train_y)
        return float(model.score(parts.test_X, parts.test_y))

    def function(**params: Any) -> float:
        # Methods at one seed share their initial design: a process that runs several of them trains each model once.
        return score(tuple(sorted(params.items())))

    return function


@cache
def lr_vehicle(iterations: int = 1000) -> Problem:
    """Logistic regression by stochastic gradient descent on Vehicle: regularisation and first learning rate."""

    def make(alpha: float, eta0: float) -> Any:
        from sklearn.linear_model import SGDClassifier

        # tol=None: the paper's 1000 iterations are run, not stopped early. The shuffle is fixed, so f is deterministic.
        return SGDClassifier(
            loss="log_loss",
            learning_rate="adaptive",
            alpha=alpha,
            eta0=eta0,
            max_iter=iterations,
            tol=None,
            random_state=SPLIT_SEED,
        )

    space = {"alpha": Float(1e-5, 1.0, log=True), "eta0": Float(1e-5, 1.0, log=True)}
    return Problem(
        "lr-vehicle",
        space,
        _accuracy("vehicle", make),
        fidelity=iterations,
        about="logistic regression by SGD on Vehicle: penalty, rate",
    )


@cache
def xgboost_on(data: str, trees: int = 2000) -> Problem:
    """XGBoost: learning rate, depth, column share and L2 penalty."""

    def make(**params: Any) -> Any:
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=trees, n_jobs=1, random_state=SPLIT_SEED, **params)

    space = {
        "learning_rate": Float(2.0**-10, 1.0, log=True),
        "max_depth": Int(1, 50, log=True),
        "colsample_bytree": Float(0.1, 1.0),
        "reg_lambda": Float(2.0**-10, 2.0**10, log=True),
    }
    return Problem(
        f"xgboost-{data}",
        space,
        _accuracy(data, make),
        fidelity=trees,
        about=f"XGBoost on {data}: rate, depth, columns, penalty",
    )


@cache
def rf_wilt(trees: int = 512) -> Problem:
    """Random forest on Wilt: depth, split and leaf sizes, and the exponent of the number of features."""

    def make(max_depth: int, min_samples_split: int, max_features: float, min_samples_leaf: int) -> Any:
        from sklearn.ensemble import RandomForestClassifier

        count = split("wilt").train_X.shape[1]
        return RandomForestClassifier(
            n_estimators=trees,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            max_features=max(1, round(count**max_features)),
            min_samples_leaf=min_samples_leaf,
            n_jobs=1,
            random_state=SPLIT_SEED,
        )

    space = {
        "max_depth": Int(1, 50, log=True),
        "min_samples_split": Int(2, 128, log=True),
        "max_features": Float(0.0, 1.0),
        "min_samples_leaf": Int(1, 20),
    }
    return Problem(
        "rf-wilt",
        space,
        _accuracy("wilt", make),
        fidelity=trees,
        about="random forest on Wilt: depth, splits, features, leaves",
    )
