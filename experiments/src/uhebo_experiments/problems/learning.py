"""Tuning problems on the data sets that come with scikit-learn: nothing to download, mixed spaces, cross-validated.

The value is the mean score over folds (accuracy, or R² for regression), deterministic for given parameters. A fold on
which training diverges has a score too: here it is optimisers that are compared, not how they take NaN.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from uhebo.space import Categorical, Float, Int
from uhebo_experiments.problems.synthetic import Problem

FOLDS = 3
SEED = 1
DIVERGED = -1.0
"""Score of a fold without a model: its weights or predictions are beyond doubles."""


def _scored(data: str, make: Callable[..., Any]) -> Callable[..., float]:
    """Parameters -> mean cross-validation score of the model they make."""

    @cache
    def score(items: tuple[tuple[str, Any], ...]) -> float:
        from sklearn import clone, datasets
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.model_selection import KFold, StratifiedKFold
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        X, y = getattr(datasets, f"load_{data}")(return_X_y=True)
        folds = (KFold if data == "diabetes" else StratifiedKFold)(FOLDS, shuffle=True, random_state=SEED)
        model = make_pipeline(StandardScaler(), make(**dict(items)))
        scores = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the limit on iterations is part of the problem
            for train, test in folds.split(X, y):
                try:
                    scores.append(clone(model).fit(X[train], y[train]).score(X[test], y[test]))
                except ValueError:  # what scikit-learn raises on values that are not finite
                    scores.append(DIVERGED)
        return float(np.mean(scores))

    return lambda **params: score(tuple(sorted(params.items())))


@cache
def svc_digits() -> Problem:
    """Support vector machine on the digits: kernel (a category), penalty, width, degree."""

    def make(kernel: str, C: float, gamma: float, degree: int) -> Any:
        from sklearn.svm import SVC

        return SVC(kernel=kernel, C=C, gamma=gamma, degree=degree, max_iter=2000, random_state=SEED)

    space = {
        "kernel": Categorical(["rbf", "poly", "sigmoid"]),
        "C": Float(1e-3, 1e3, log=True),
        "gamma": Float(1e-5, 1.0, log=True),
        "degree": Int(1, 5),
    }
    about = "support vector machine on digits: kernel, penalty, width, degree"
    return Problem("svc-digits", space, _scored("digits", make), about=about)


@cache
def boosting_diabetes() -> Problem:
    """Gradient boosting on the diabetes data: loss (a category), rate, depth, leaf, subsample, trees."""

    def make(loss: str, **params: Any) -> Any:
        from sklearn.ensemble import GradientBoostingRegressor

        return GradientBoostingRegressor(loss=loss, random_state=SEED, **params)

    space = {
        "loss": Categorical(["squared_error", "absolute_error", "huber"]),
        "learning_rate": Float(1e-3, 1.0, log=True),
        "n_estimators": Int(5, 50, log=True),
        "max_depth": Int(1, 8),
        "min_samples_leaf": Int(1, 40, log=True),
        "subsample": Float(0.3, 1.0),
    }
    about = "gradient boosting on diabetes: loss, rate, trees, depth, leaves, share of rows"
    return Problem("boosting-diabetes", space, _scored("diabetes", make), about=about)


@cache
def mlp_diabetes() -> Problem:
    """A small neural network on the diabetes data: activation (a category), width, penalty, rate, momentum."""

    def make(activation: str, width: int, alpha: float, rate: float, momentum: float) -> Any:
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.neural_network import MLPRegressor
        from sklearn.preprocessing import StandardScaler

        network = MLPRegressor(
            hidden_layer_sizes=(width,),
            activation=activation,
            solver="sgd",
            alpha=alpha,
            learning_rate_init=rate,
            momentum=momentum,
            max_iter=40,
            random_state=SEED,
        )
        return TransformedTargetRegressor(network, transformer=StandardScaler())

    space = {
        "activation": Categorical(["relu", "tanh", "logistic"]),
        "width": Int(2, 64, log=True),
        "alpha": Float(1e-6, 10.0, log=True),
        "rate": Float(1e-4, 0.1, log=True),
        "momentum": Float(0.0, 0.99),
    }
    about = "neural network on diabetes: activation, width, penalty, rate, momentum"
    return Problem("mlp-diabetes", space, _scored("diabetes", make), about=about)


LEARNING: dict[str, Callable[[], Problem]] = {
    "svc-digits": svc_digits,
    "boosting-diabetes": boosting_diabetes,
    "mlp-diabetes": mlp_diabetes,
}
"""Name -> problem."""
