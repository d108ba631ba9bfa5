"""bayesmark's tuning problems on the data that come with scikit-learn, written anew: models × data × metrics.

The protocol (Turner and others, https://github.com/uber/bayesmark): a fifth of the data is set aside; the value is the
loss in five-fold cross-validation on the rest, of a model without a fixed random state, so that it is noisy; 16 batches
of 8 points; the score of a run is its best value between the best known (100) and the median of random points (0).

    a task's loss of a run   (best value - best) / (median - best), clipped to [-1, 1]
    score                    100 (1 - mean over tasks of the mean over runs)

Differences: the Boston data are not in scikit-learn any more, which leaves 90 of 108 tasks; probabilities of a support
vector machine come from `CalibratedClassifierCV`; `normalize` of Lasso and Ridge, and one-against-rest of logistic
regression, are pipelines that scikit-learn names in their place; a fit that fails or diverges has the worst value in
`WORST`, where bayesmark has infinity. Parameters on a logit scale are asked for as logits.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from scipy.special import expit, logit

from uhebo.space import Categorical, Float, Int
from uhebo.types import Array, Rng
from uhebo_experiments.problems.neutral_task import Params, Task

FOLDS, SET_ASIDE, SPLIT_SEED = 5, 0.2, 0
BATCHES, BATCH = 16, 8
DATA = {"breast": "load_breast_cancer", "diabetes": "load_diabetes", "digits": "load_digits", "iris": "load_iris",
        "wine": "load_wine"}  # fmt: skip
REGRESSION = ("diabetes",)
SCORERS = {"acc": "accuracy", "nll": "neg_log_loss", "mae": "neg_mean_absolute_error", "mse": "neg_mean_squared_error"}
WORST = {"acc": 0.0, "nll": 35.0, "mae": 1e3, "mse": 1e5}
"""The largest loss told of each metric."""
REMEMBERED = 4096
"""Losses that are kept: models that draw no random numbers are asked for the same settings again and again."""
LOGIT = "logit "
"""How the name of a parameter begins that is asked for on the logit scale."""


def _log(low: float, high: float) -> BaseDistribution:
    return Float(low, high, log=True)


def _logit(low: float, high: float) -> BaseDistribution:
    return Float(float(logit(low)), float(logit(high)))


_TREE = {
    "max_depth": Int(1, 15), f"{LOGIT}min_samples_split": _logit(0.01, 0.99),
    f"{LOGIT}min_samples_leaf": _logit(0.01, 0.49), f"{LOGIT}min_weight_fraction_leaf": _logit(0.01, 0.49),
    f"{LOGIT}max_features": _logit(0.01, 0.99), "min_impurity_decrease": Float(0.0, 0.5),
}  # fmt: skip
_NETWORK = {
    "hidden_layer_sizes": Int(50, 200), "alpha": _log(1e-5, 1e1), "batch_size": Int(10, 250),
    "learning_rate_init": _log(1e-5, 1e-1), "tol": _log(1e-5, 1e-1), f"{LOGIT}validation_fraction": _logit(0.1, 0.9),
}  # fmt: skip
_ONE_OR_OTHER = Categorical([False, True])
SPACES: dict[str, dict[str, BaseDistribution]] = {
    "kNN": {"n_neighbors": Int(1, 25), "p": Int(1, 4)},
    "SVM": {"C": _log(1.0, 1e3), "gamma": _log(1e-4, 1e-3), "tol": _log(1e-5, 1e-1)},
    "DT": _TREE,
    "RF": _TREE,
    "MLP-adam": _NETWORK | {f"{LOGIT}beta_1": _logit(0.5, 0.99), f"{LOGIT}beta_2": _logit(0.9, 1.0 - 1e-6),
                            "epsilon": _log(1e-9, 1e-6)},
    "MLP-sgd": _NETWORK | {f"{LOGIT}power_t": _logit(0.1, 0.9), f"{LOGIT}momentum": _logit(0.001, 0.999)},
    "ada": {"n_estimators": Int(10, 100), "learning_rate": _log(1e-4, 1e1)},
    "lasso": {"C": _log(1e-2, 1e2), "intercept_scaling": _log(1e-2, 1e2)},
    "linear": {"C": _log(1e-2, 1e2), "intercept_scaling": _log(1e-2, 1e2)},
}  # fmt: skip
"""Model -> its parameters; for regression the last two have others."""
_LINEAR = {"alpha": _log(1e-2, 1e2), "fit_intercept": _ONE_OR_OTHER, "normalize": _ONE_OR_OTHER,
           "max_iter": Int(10, 5000, log=True)}  # fmt: skip
REGRESSION_SPACES: dict[str, dict[str, BaseDistribution]] = {
    "lasso": _LINEAR | {"tol": _log(1e-5, 1e-1), "positive": _ONE_OR_OTHER},
    "linear": _LINEAR | {"tol": _log(1e-4, 1e-1)},
}


def metrics(data: str) -> tuple[str, str]:
    return ("mae", "mse") if data in REGRESSION else ("acc", "nll")


TASKS = tuple(f"{model} {data} {metric}" for model in SPACES for data in DATA for metric in metrics(data))
"""All of them, in words: model, data, metric."""
TUNED_ON = ("breast", "wine")
"""Data of tables of trained models on which candidates for the default are compared (`trained`): tasks on them are part
of the protocol, and of no other comparison."""
IN_TURN = tuple(f"{model} {data} {metrics(data)[(i + j) % 2]}" for i, model in enumerate(SPACES)
                for j, data in enumerate(DATA) if data not in TUNED_ON)  # fmt: skip
"""Each model on each of the other data, with one of two metrics in turn: what is run at several budgets."""


def is_fresh(name: str) -> bool:
    """Whether a task has data on which nothing was chosen."""
    return name.split()[1] not in TUNED_ON


@cache
def known(data: str) -> tuple[Array, Array]:
    """What is not set aside of the data."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split

    X, y = getattr(datasets, DATA[data])(return_X_y=True)
    kept = train_test_split(X, y, test_size=SET_ASIDE, random_state=SPLIT_SEED, shuffle=True)
    return kept[0], kept[2]


def space_of(model: str, data: str) -> dict[str, BaseDistribution]:
    return REGRESSION_SPACES.get(model, SPACES[model]) if data in REGRESSION else SPACES[model]


def settings(params: Params) -> dict[str, Any]:
    """Parameters as the model takes them."""
    return {
        name.removeprefix(LOGIT): float(expit(value)) if name.startswith(LOGIT) else value
        for name, value in params.items()
    }


def estimator(model: str, data: str, metric: str, given: Mapping[str, Any], state: int) -> Any:
    """The model that these settings make."""
    from sklearn import ensemble, linear_model, neighbors, neural_network, svm, tree
    from sklearn.calibration import CalibratedClassifierCV

    regression = data in REGRESSION
    kind = "Regressor" if regression else "Classifier"
    if model == "kNN":
        return getattr(neighbors, f"KNeighbors{kind}")(**given)
    if model == "SVM":
        made = svm.SVR(**given) if regression else svm.SVC(**given)
        return CalibratedClassifierCV(made, ensemble=False) if metric == "nll" else made
    if model == "DT":
        return getattr(tree, f"DecisionTree{kind}")(random_state=state, **given)
    if model == "RF":
        return getattr(ensemble, f"RandomForest{kind}")(n_estimators=10, random_state=state, **given)
    if model == "ada":
        return getattr(ensemble, f"AdaBoost{kind}")(random_state=state, **given)
    if model.startswith("MLP"):
        fixed: dict[str, Any] = {"solver": model.partition("-")[2], "early_stopping": True, "random_state": state}
        if model == "MLP-sgd":
            fixed |= {"learning_rate": "invscaling", "nesterovs_momentum": True}
            fixed |= {"activation": "tanh"} if regression else {}
        return getattr(neural_network, f"MLP{kind}")(**fixed, **given)
    if regression:
        return _penalised(
            getattr(linear_model, "Lasso" if model == "lasso" else "Ridge"), dict(given), len(known(data)[1])
        )
    return _logistic(model, given, state)


def _penalised(make: Any, given: dict[str, Any], count: int) -> Any:
    """Lasso or Ridge; with `normalize` the columns have length 1, which is a scaler and another penalty."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if not given.pop("normalize"):
        return make(**given)
    fitted = count * (FOLDS - 1) / FOLDS
    factor = fitted if make.__name__ == "Ridge" else math.sqrt(fitted)
    return make_pipeline(StandardScaler(), make(**(given | {"alpha": factor * given["alpha"]})))


def _logistic(model: str, given: Mapping[str, Any], state: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    penalty: dict[str, Any] = {"penalty": "l1" if model == "lasso" else "l2"}
    if inspect.signature(LogisticRegression).parameters["penalty"].default == "deprecated":
        penalty = {"l1_ratio": float(model == "lasso")}
    return OneVsRestClassifier(LogisticRegression(solver="liblinear", random_state=state, **penalty, **given))


def task(name: str, _: int = 0) -> Task:
    """A task by name; the seed changes nothing, for the data and their folds are always the same."""
    model, data = name.split()[:2]

    def evaluate(params: Params, noise: Rng) -> tuple[float, float]:
        state = int(noise.integers(2**31))
        value = loss(name, tuple(sorted(settings(params).items())), 0 if model in EXACT else state)
        return value, value

    return Task(name, "models", space_of(model, data), evaluate, None, noisy=model not in EXACT)


@lru_cache(maxsize=REMEMBERED)
def loss(name: str, given: tuple[tuple[str, Any], ...], state: int) -> float:
    """Of a task's model with these settings and random state: the mean over the folds."""
    from sklearn.model_selection import cross_val_score

    model, data, metric = name.split()
    X, y = known(data)
    made = estimator(model, data, metric, dict(given), state)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # strange parameters are what optimisers try
        try:
            scores = cross_val_score(made, X, y, scoring=SCORERS[metric], cv=FOLDS, error_score="raise")
        except ValueError:  # what scikit-learn raises on values that are not finite, and on parts that are too small
            return WORST[metric]
    found = -float(np.mean(scores))
    return min(found, WORST[metric]) if math.isfinite(found) else WORST[metric]


EXACT = ("kNN", "linear", "lasso")
"""Models that draw no random numbers (and fit to the last digit that matters)."""


def run_loss(best_value: float, best: float, median: float) -> float:
    """The loss of a run: 0 where it found the best known value, 1 where no better one than the median random point."""
    if median <= best:  # nothing was better than the median
        return float(best_value > best)
    return float(np.clip((best_value - best) / (median - best), -1.0, 1.0))


def score(losses: Mapping[str, Sequence[float]]) -> float:
    """100 (1 - mean over tasks of the mean over their runs); losses of runs by task."""
    return 100.0 * (1.0 - float(np.mean([np.mean(of_task) for of_task in losses.values()])))
