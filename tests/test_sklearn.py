"""`UHESearchCV` and `UHERegressor`: scikit-learn's own checks, and what people rely on beyond them."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import optuna
import pytest
from optuna.trial import TrialState
from scipy.stats import beta, expon, loguniform, poisson, randint, reciprocal, uniform
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_regressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RandomizedSearchCV,
    ShuffleSplit,
    cross_val_score,
)  # fmt: skip
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import uhebo
from tests.conftest import require
from uhebo.errors import InvalidInputError, UheboWarning
from uhebo.estimate import READINGS, Reading, consistent_estimate
from uhebo.gp import Data
from uhebo.integrations.candidates import add_failed
from uhebo.integrations.regressor import UHERegressor
from uhebo.integrations.search_cv import UHESearchCV
from uhebo.space import SearchSpace

IRIS_X, IRIS_Y = load_iris(return_X_y=True)
SVM_SPACE = {"C": uhebo.Float(1e-2, 1e3, log=True), "gamma": uhebo.Float(1e-4, 1e1, log=True)}


def small(estimator: Any, space: Any, **options: Any) -> UHESearchCV:
    settings: dict[str, Any] = {"n_iter": 3, "cv": 2, "error_score": "raise", "random_state": 0}
    return UHESearchCV(estimator, space, **(settings | options))


def expected_failures(estimator: Any) -> dict[str, str]:
    if isinstance(estimator, UHESearchCV) and is_regressor(estimator):
        # scikit-learn's own GridSearchCV and RandomizedSearchCV are excused from it too.
        return {"check_supervised_y_2d": "y of one column goes to Ridge as it is, and Ridge takes it without a warning"}
    return {}


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")  # scikit-learn, of y = inf
@parametrize_with_checks(
    [
        UHERegressor(),
        small(Ridge(), {"alpha": (0.1, 1.0)}),
        small(Pipeline([("pca", PCA()), ("clf", LogisticRegression())]), {"clf__C": [0.1, 1.0]}, n_iter=2),
    ],
    expected_failed_checks=expected_failures,
)
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def hand_written(seed: int, n_iter: int, **options: Any) -> optuna.Study:
    def objective(trial: optuna.Trial) -> float:
        C = trial.suggest_float("C", 1e-2, 1e3, log=True)
        gamma = trial.suggest_float("gamma", 1e-4, 1e1, log=True)
        return float(cross_val_score(SVC(C=C, gamma=gamma), IRIS_X, IRIS_Y, cv=3).mean())

    sampler = uhebo.UHESampler(n_trials=n_iter, seed=seed, **options)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=n_iter)
    return study


@pytest.mark.parametrize(("seed", "options"), [(0, {}), (3, {"method": "map"})], ids=["default", "map"])
def test_same_seed_same_search_as_a_study_by_hand(seed: int, options: dict[str, Any]) -> None:
    study = hand_written(seed, 14, **options)
    search = UHESearchCV(SVC(), SVM_SPACE, n_iter=14, cv=3, random_state=seed, **options).fit(IRIS_X, IRIS_Y)
    assert search.best_params_ == study.best_params
    assert search.best_score_ == pytest.approx(study.best_value)
    assert search.cv_results_["params"] == [trial.params for trial in study.trials]
    other = UHESearchCV(SVC(), SVM_SPACE, n_iter=3, cv=3, random_state=seed + 1).fit(IRIS_X, IRIS_Y)
    assert other.cv_results_["params"][0] != search.cv_results_["params"][0]


def test_attributes_are_those_of_grid_search() -> None:
    space = {"C": [0.1, 1.0, 10.0], "kernel": ["rbf", "linear"]}
    search = UHESearchCV(SVC(), space, n_iter=6, cv=4, return_train_score=True, random_state=0).fit(IRIS_X, IRIS_Y)
    grid = GridSearchCV(SVC(), space, cv=4, return_train_score=True).fit(IRIS_X, IRIS_Y)
    assert set(grid.cv_results_) == set(search.cv_results_)
    assert {name for name in vars(grid) if name.endswith("_")} <= set(vars(search))
    assert search.n_splits_ == 4
    assert len(search.cv_results_["params"]) == len(search.study_.trials) == 6
    assert [trial.value for trial in search.study_.trials] == pytest.approx(list(search.cv_results_["mean_test_score"]))
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    assert search.best_estimator_.get_params()["C"] == search.best_params_["C"]
    assert search.score(IRIS_X, IRIS_Y) == search.best_estimator_.score(IRIS_X, IRIS_Y)
    assert "6 trials" in str(search.diagnose())
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(IRIS_X), search.predict(IRIS_X))


def test_it_optimises() -> None:
    """Better than its own initial design, on a score that has one peak."""

    class Peak(ClassifierMixin, BaseEstimator):
        def __init__(self, a: float = 0.0, b: float = 0.0) -> None:
            self.a, self.b = a, b

        def fit(self, X: Any, y: Any) -> Any:  # noqa: ARG002
            self.classes_ = np.unique(y)
            return self

        def score(self, X: Any, y: Any) -> float:  # noqa: ARG002
            return -((self.a - 0.3) ** 2) - (self.b - 0.8) ** 2

    search = UHESearchCV(Peak(), {"a": (0.0, 1.0), "b": (0.0, 1.0)}, n_iter=25, cv=2, random_state=0)
    scores = search.fit(IRIS_X, IRIS_Y).cv_results_["mean_test_score"]
    assert scores.max() > -1e-3 > scores[:6].max()


def test_pipeline_clone_and_set_params() -> None:
    model = make_pipeline(StandardScaler(), SVC())
    search = UHESearchCV(model, {f"svc__{k}": d for k, d in SVM_SPACE.items()}, n_iter=5, cv=3, random_state=0)
    copy = clone(search).set_params(n_iter=4, estimator__svc__kernel="sigmoid")
    copy.fit(IRIS_X, IRIS_Y)
    assert len(copy.cv_results_["params"]) == 4
    assert copy.best_estimator_["svc"].kernel == "sigmoid"
    assert model["svc"].kernel == "rbf"
    # A search is an estimator: it can be scored by cross-validation itself.
    assert cross_val_score(search, IRIS_X, IRIS_Y, cv=2).min() > 0.8


def test_a_whole_step_can_be_searched_for() -> None:
    pipe = Pipeline([("reduce", PCA()), ("svc", SVC())])
    space = {"reduce": ["passthrough", None], "svc__C": (0.1, 10.0)}
    search = UHESearchCV(pipe, space, n_iter=4, cv=2, random_state=0).fit(IRIS_X, IRIS_Y)
    assert search.best_estimator_["reduce"] in ("passthrough", None)


def test_several_metrics() -> None:
    search = UHESearchCV(
        SVC(), SVM_SPACE, n_iter=5, cv=3, scoring=["accuracy", "f1_macro"], refit="f1_macro", random_state=0
    ).fit(IRIS_X, IRIS_Y)
    assert search.multimetric_
    told = [trial.value for trial in search.study_.trials]
    assert told == pytest.approx(list(search.cv_results_["mean_test_f1_macro"]))
    assert search.best_index_ == search.cv_results_["rank_test_f1_macro"].argmin()


def both(estimator: Any, X: Any, y: Any) -> dict[str, float]:
    return {"hits": float(estimator.score(X, y)), "size": -float(estimator.C)}


@pytest.mark.parametrize("refit", [True, False, lambda _: 0], ids=["true", "false", "function"])
@pytest.mark.parametrize("scoring", [["accuracy", "f1_macro"], both], ids=["list", "function"])
def test_several_metrics_need_the_name_of_one(refit: Any, scoring: Any) -> None:
    search = UHESearchCV(SVC(), SVM_SPACE, n_iter=2, cv=2, scoring=scoring, refit=refit)
    with pytest.raises(ValueError, match="refit"):
        search.fit(IRIS_X, IRIS_Y)


def test_a_function_of_several_metrics_and_a_function_that_chooses() -> None:
    search = UHESearchCV(SVC(), SVM_SPACE, n_iter=4, cv=2, scoring=both, refit="size", random_state=0)
    search.fit(IRIS_X, IRIS_Y)
    assert search.best_params_["C"] == min(params["C"] for params in search.cv_results_["params"])
    chosen = UHESearchCV(SVC(), SVM_SPACE, n_iter=4, cv=2, refit=lambda _: 2, random_state=0).fit(IRIS_X, IRIS_Y)
    assert chosen.best_index_ == 2


class Fragile(SVC):
    """Refuses large C: with `always`, in every fold; else in those whose first label differs from the data's."""

    def __init__(self, C: float = 1.0, always: bool = True) -> None:
        super().__init__(C=C)
        self.always = always

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if self.C > 10.0 and (self.always or len(y) == 75):
            raise ArithmeticError("C is too large")
        return super().fit(X, y, sample_weight)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
@pytest.mark.parametrize("scoring", [None, ["accuracy", "f1_macro"], both], ids=["one", "several", "function"])
@pytest.mark.parametrize("always", [True, False], ids=["every fold", "one fold"])
def test_a_failed_candidate_is_a_failed_trial(always: bool, scoring: Any) -> None:
    folds = [(np.arange(0, 150, 2), np.arange(1, 150, 2)), (np.arange(1, 147, 2), np.arange(0, 150, 2))]
    refit: Any = {None: True, both: "hits"}.get(scoring, "accuracy") if not isinstance(scoring, list) else "accuracy"
    search = UHESearchCV(
        Fragile(always=always), {"C": (0.1, 20.0)}, n_iter=8, cv=folds, scoring=scoring, refit=refit, random_state=1
    )
    with pytest.warns(FitFailedWarning, match="C is too large"):
        search.fit(IRIS_X, IRIS_Y)
    large = [params["C"] > 10.0 for params in search.cv_results_["params"]]
    assert any(large)
    assert [trial.state == TrialState.FAIL for trial in search.study_.trials] == large
    assert [trial.params for trial in search.study_.trials] == search.cv_results_["params"]
    metric = "score" if scoring is None else refit
    means, ranks = search.cv_results_[f"mean_test_{metric}"], search.cv_results_[f"rank_test_{metric}"]
    assert np.isnan(means).tolist() == large
    assert (ranks[large] == 8 - sum(large) + 1).all()
    assert ranks.dtype == np.int32
    assert search.best_params_["C"] <= 10.0
    assert {len(column) for column in search.cv_results_.values()} == {8}
    np.testing.assert_array_equal(search.cv_results_["param_C"], [p["C"] for p in search.cv_results_["params"]])


def test_the_table_with_failures_is_the_one_scikit_learn_would_make() -> None:
    """The rows put in against those of a grid, which scikit-learn fills in itself because some fits succeed."""
    values = [20.0, 1.0, 15.0, 5.0]
    with pytest.warns((FitFailedWarning, UserWarning)):
        grid = GridSearchCV(Fragile(), {"C": values}, cv=2, return_train_score=True).fit(IRIS_X, IRIS_Y)
    expected = grid.cv_results_
    kept = [1, 3]
    results: dict[str, Any] = {
        name: [column[i] for i in kept] if name == "params" else column[kept] for name, column in expected.items()
    }
    add_failed(results, {0: {"C": 20.0}, 2: {"C": 15.0}}, np.nan)
    assert results["params"] == expected["params"]
    for name in expected:
        if name != "params" and "time" not in name:
            np.testing.assert_array_equal(results[name], expected[name], err_msg=name)
            assert results[name].dtype == expected[name].dtype
        if name.startswith("param_"):
            np.testing.assert_array_equal(results[name].mask, expected[name].mask)
            assert results[name].mask.shape == expected[name].mask.shape


@pytest.mark.filterwarnings("ignore:every fit failed", "ignore:Choices for a categorical distribution")
@pytest.mark.parametrize(
    ("name", "choices", "bad"),
    [
        ("max_features", ["auto", 0.5, 1.0], "auto"),
        ("min_samples_split", [2, 3, None], None),
        ("max_features", [1, 2, 7.5], 7.5),
        ("max_depth", [1, 2, (1, 2)], (1, 2)),
    ],
    ids=["string among floats", "None among integers", "float among integers", "tuple among integers"],
)
def test_a_failing_choice_may_have_another_type_than_those_that_work(name: str, choices: list[Any], bad: Any) -> None:
    search = UHESearchCV(DecisionTreeClassifier(random_state=0), {name: choices}, n_iter=8, cv=3, random_state=0)
    with pytest.warns(UheboWarning, match="the search ends after"):
        search.fit(IRIS_X, IRIS_Y)
    params = [candidate[name] for candidate in search.cv_results_["params"]]
    assert bad in params
    assert search.best_params_[name] != bad
    column = search.cv_results_[f"param_{name}"]
    assert list(column.data) == params
    assert column.dtype == (np.float64 if bad == 7.5 else object)
    assert set(params) == set(choices)
    assert not column.mask.any()
    assert {len(each) for each in search.cv_results_.values()} == {len(params)}


def test_error_score_as_a_number_and_raised() -> None:
    options: dict[str, Any] = {"n_iter": 6, "cv": 2, "random_state": 1}
    number = UHESearchCV(Fragile(), {"C": (0.1, 20.0)}, error_score=-1.0, **options)
    with pytest.warns(FitFailedWarning):
        number.fit(IRIS_X, IRIS_Y)
    assert min(number.cv_results_["mean_test_score"]) == -1.0
    assert [t.value for t in number.study_.trials] == pytest.approx(list(number.cv_results_["mean_test_score"]))
    raising = UHESearchCV(Fragile(), {"C": (0.1, 20.0)}, error_score="raise", **options)
    with pytest.raises(ArithmeticError, match="too large"):
        raising.fit(IRIS_X, IRIS_Y)
    assert raising.study_.trials[-1].state == TrialState.FAIL


def test_nothing_but_failures_is_an_error() -> None:
    search = UHESearchCV(Fragile(), {"C": (11.0, 20.0)}, n_iter=3, cv=2, random_state=0)
    with pytest.warns(FitFailedWarning), pytest.raises(ValueError, match="fits failed"):
        search.fit(IRIS_X, IRIS_Y)
    assert [trial.state for trial in search.study_.trials] == [TrialState.FAIL] * 3


def test_every_candidate_is_scored_on_the_same_folds() -> None:
    """A constant model scores the same with any parameters, unless the folds change under it."""
    search = UHESearchCV(
        Ridge(), {"alpha": uhebo.Float(1e8, 1e9)}, n_iter=4, cv=ShuffleSplit(3, test_size=0.3), random_state=0
    ).fit(*load_diabetes(return_X_y=True))
    assert np.ptp(search.cv_results_["split0_test_score"]) < 1e-4
    assert np.ptp([search.cv_results_[f"split{i}_test_score"][0] for i in range(3)]) > 1e-4


def test_batches_and_workers() -> None:
    search = UHESearchCV(SVC(), SVM_SPACE, n_iter=9, batch_size=4, n_jobs=2, cv=2, random_state=0).fit(IRIS_X, IRIS_Y)
    params = search.cv_results_["params"]
    assert len(params) == 9
    assert len({tuple(p.values()) for p in params}) == 9


class Noted(SVC):
    """Leaves the number of the process that fits it."""

    def __init__(self, folder: str = "", C: float = 1.0, gamma: float = 1.0) -> None:
        super().__init__(C=C, gamma=gamma)
        self.folder = folder

    def fit(self, X: Any, y: Any) -> Any:
        (Path(self.folder) / str(os.getpid())).touch()
        return super().fit(X, y)


@pytest.mark.parametrize("backend", ["threading", "loky", "dask"])
def test_the_backend_of_joblib_fits_the_folds(backend: str, tmp_path: Path) -> None:
    """`parallel_config` says where the fits run; the candidates and their scores are the same everywhere."""
    space = {"C": uhebo.Float(0.01, 100.0, log=True), "gamma": uhebo.Float(0.001, 10.0, log=True)}
    options: dict[str, Any] = {"n_iter": 5, "cv": 2, "random_state": 0, "refit": False}
    alone = UHESearchCV(SVC(), space, **options).fit(IRIS_X, IRIS_Y)
    with ExitStack() as stack:
        if backend == "dask":
            distributed = require("distributed", "pip install 'uhebo[dask]'")
            local: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
            stack.enter_context(distributed.Client(stack.enter_context(distributed.LocalCluster(**local))))
        stack.enter_context(joblib.parallel_config(backend=backend))
        found = UHESearchCV(Noted(str(tmp_path)), space, n_jobs=2, **options).fit(IRIS_X, IRIS_Y)
    assert found.cv_results_["params"] == alone.cv_results_["params"]
    assert np.array_equal(found.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])
    here = str(os.getpid()) in [path.name for path in tmp_path.iterdir()]
    assert here == (backend == "threading")


def same_candidates(search: UHESearchCV, **options: Any) -> GridSearchCV:
    """The oracle: scikit-learn's own search, of the candidates that ours tried."""
    grid = [{name: [value] for name, value in params.items()} for params in search.cv_results_["params"]]
    names = ("scoring", "refit", "cv", "verbose", "return_train_score")
    return GridSearchCV(search.estimator, grid, **{name: getattr(search, name) for name in names} | options)


def test_weights_groups_and_several_metrics_as_in_scikit_learn() -> None:
    """Whatever is routed reaches fits, scorers and the splitter, and the whole table is the same."""
    weights, groups = np.where(IRIS_Y == 2, 0.2, 1.0), np.arange(150) % 5
    with config_context(enable_metadata_routing=True):
        model = (
            LogisticRegression(max_iter=1000).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        )
        scorers = {
            name: get_scorer(name).set_score_request(sample_weight=True) for name in ("accuracy", "neg_log_loss")
        }
        search = UHESearchCV(
            model, param_distributions={"C": loguniform(0.01, 10.0), "class_weight": [None, "balanced"]}, n_iter=3,
            cv=GroupKFold(3), scoring=scorers, refit="neg_log_loss", return_train_score=True, random_state=0,
        )  # fmt: skip
        given: dict[str, Any] = {"sample_weight": weights, "groups": groups}
        search.fit(IRIS_X, IRIS_Y, **given)
        oracle = same_candidates(search).fit(IRIS_X, IRIS_Y, **given)
        unweighted = same_candidates(search).fit(IRIS_X, IRIS_Y, groups=groups)
        unasked = UHESearchCV(LogisticRegression(), {"C": [1.0]}, n_iter=1, cv=3)
        with pytest.raises(Exception, match="sample_weight"):
            unasked.fit(IRIS_X, IRIS_Y, sample_weight=weights)
    assert set(search.cv_results_) == set(oracle.cv_results_)
    for name in oracle.cv_results_:
        if "time" not in name:
            np.testing.assert_array_equal(search.cv_results_[name], oracle.cv_results_[name], err_msg=name)
    assert search.best_index_ == oracle.best_index_
    np.testing.assert_allclose(search.predict_proba(IRIS_X), oracle.predict_proba(IRIS_X))
    assert (search.cv_results_["mean_test_accuracy"] != unweighted.cv_results_["mean_test_accuracy"]).any()


@pytest.mark.parametrize("verbose", [0, 1, 2, 3])
def test_as_talkative_as_scikit_learn(verbose: int, capsys: pytest.CaptureFixture[str]) -> None:
    search = UHESearchCV(SVC(), SVM_SPACE, n_iter=3, cv=2, random_state=0, verbose=verbose).fit(IRIS_X, IRIS_Y)
    printed = capsys.readouterr().out
    same_candidates(search).fit(IRIS_X, IRIS_Y)
    expected = capsys.readouterr().out
    assert re.sub(r"\d+\.\ds", "", printed) == re.sub(r"\d+\.\ds", "", expected)
    assert len(printed.splitlines()) == (0, 1, 7, 7)[verbose]
    assert search.verbose == verbose


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (uniform(2, 3), uhebo.Float(2.0, 5.0)),
        (uniform(loc=-1, scale=0.5), uhebo.Float(-1.0, -0.5)),
        (loguniform(1e-3, 1e2), uhebo.Float(1e-3, 1e2, log=True)),
        (reciprocal(1, 8, scale=2), uhebo.Float(2.0, 16.0, log=True)),
        (randint(1, 10), uhebo.Int(1, 9)),
        (randint(0, 3, loc=5), uhebo.Int(5, 7)),
        (range(2, 12, 3), uhebo.Int(2, 11, step=3)),
        (np.arange(10, 50, 10), uhebo.Int(10, 40, step=10)),
        (np.array([0.1, 1.0, 10.0]), uhebo.Categorical([0.1, 1.0, 10.0])),
        (np.array(["a", "b"]), uhebo.Categorical(["a", "b"])),
        (np.array([1, 2, 5]), uhebo.Categorical([1, 2, 5])),
    ],
)
def test_ranges_of_other_libraries_are_exact(given: Any, expected: Any) -> None:
    """Not only the ends: at every quantile the value that SciPy has there."""
    space = SearchSpace.of({"x": given})
    assert space.distributions["x"] == expected
    if hasattr(given, "ppf"):
        for u in np.linspace(0.05, 0.95, 7):
            assert space.decode([u])["x"] == pytest.approx(given.ppf(u), rel=1e-9)


def test_any_distribution_with_quantiles_is_searched_as_in_randomized_search() -> None:
    distributions = {
        "C": expon(scale=10.0), "gamma": loguniform(0.1, 1.0, loc=1.0), "coef0": beta(2, 3), "degree": poisson(3, loc=1)
    }  # fmt: skip
    options: dict[str, Any] = {"n_iter": 6, "cv": 2, "random_state": 0}
    search = UHESearchCV(SVC(kernel="sigmoid"), param_distributions=distributions, **options).fit(IRIS_X, IRIS_Y)
    oracle = RandomizedSearchCV(SVC(kernel="sigmoid"), distributions, **options).fit(IRIS_X, IRIS_Y)
    assert set(search.cv_results_) == set(oracle.cv_results_)
    assert search.best_params_.keys() == oracle.best_params_.keys()
    assert {n: type(v) for n, v in search.best_params_.items()} == {
        "C": float,
        "gamma": float,
        "coef0": float,
        "degree": int,
    }
    for trial, params in zip(search.study_.trials, search.cv_results_["params"], strict=True):
        assert list(params) == list(distributions)
        assert trial.user_attrs | params == trial.user_attrs  # a reader of the study finds the values too
        for name, distribution in distributions.items():
            assert params[name] == distribution.ppf(trial.params[f"quantile({name})"])
    recommended = search.recommended_.params
    assert recommended in search.cv_results_["params"]
    assert recommended.keys() == search.best_params_.keys()


class Drawn:
    def rvs(self, random_state: Any = None) -> float:  # noqa: ARG002
        return 1.0

    def __repr__(self) -> str:
        return "Drawn()"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"C": Drawn()}, "parameter 'C': Drawn.. has rvs and no ppf, and a search needs its quantiles"),
        ([{"C": [1.0]}, {"gamma": [1.0]}], "param_distributions is .*; expected one dict.*uhebo.When"),
        (None, "space and param_distributions are both missing"),
        ({"c": expon()}, "SVC has no parameter 'c'; did you mean 'C'[?]"),
    ],
)
def test_distributions_that_cannot_be_searched_are_refused(given: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        UHESearchCV(SVC(), param_distributions=given, n_iter=2, cv=2).fit(IRIS_X, IRIS_Y)


def test_a_report_of_a_search(tmp_path: Path) -> None:
    storage = tmp_path / "search.db"  # as in the shell
    search = UHESearchCV(SVC(), SVM_SPACE, n_iter=3, cv=2, random_state=0, storage=storage)
    with pytest.raises(NotFittedError, match="nothing to report yet; call fit first"):
        search.report(tmp_path / "report.html")
    search.fit(IRIS_X, IRIS_Y)
    assert f"{search.best_score_:.6g}" in search.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert uhebo.load(storage).best_value == pytest.approx(search.best_score_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"space": {"svc__C": (0.1, 1.0)}}, r"SVC has no parameter 'svc__C'; expected one of .*gamma"),
        ({"space": {"C": (1.0, 0.1)}}, "'C': low=1.0 is above"),
        ({"n_iter": 0}, "n_iter is 0"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"method": "no such"}, "unknown method"),
        ({"sampler_options": {"colour": 1}}, "sampler_options: .*colour"),
        ({"sampler_options": {"seed": 1}}, "sampler_options has 'seed'; give random_state"),
    ],
)
def test_misuse_is_a_typed_error(options: dict[str, Any], message: str) -> None:
    settings: dict[str, Any] = {"space": SVM_SPACE, "n_iter": 2, "cv": 2}
    search = UHESearchCV(SVC(), **(settings | options))
    with pytest.raises(InvalidInputError, match=message):
        search.fit(IRIS_X, IRIS_Y)


def test_diagnose_before_fit() -> None:
    with pytest.raises(NotFittedError, match="fit first"):
        UHESearchCV(SVC(), SVM_SPACE).diagnose()


def test_random_state_may_be_a_generator_and_trials_may_be_stored(tmp_path: Any) -> None:
    storage = f"sqlite:///{tmp_path / 'search.db'}"
    search = UHESearchCV(SVC(), SVM_SPACE, n_iter=2, cv=2, random_state=np.random.RandomState(5), storage=storage)
    search.fit(IRIS_X, IRIS_Y)
    assert len(optuna.load_study(study_name=None, storage=storage).trials) == 2


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
@pytest.mark.parametrize("choices", [[PCA(1), PCA(2)], [("passthrough",), ("drop",)]], ids=["estimators", "tuples"])
def test_choices_that_a_storage_can_not_hold_are_refused_before_the_first_fit(choices: Any, tmp_path: Any) -> None:
    pipe = Pipeline([("reduce", PCA()), ("svc", SVC())])
    storage = f"sqlite:///{tmp_path / 'search.db'}"
    search = UHESearchCV(pipe, {"reduce": choices}, n_iter=2, cv=2, random_state=0, storage=storage)
    with pytest.raises(InvalidInputError, match=r"'reduce': the choice .* which a storage cannot hold"):
        search.fit(IRIS_X, IRIS_Y)
    assert optuna.get_all_study_names(storage) == []
    if isinstance(choices[0], PCA):
        kept = search.set_params(storage=None).fit(IRIS_X, IRIS_Y)
        assert kept.best_params_["reduce"].n_components in (1, 2)


def test_scikit_learn_is_loaded_when_used_and_not_before() -> None:
    code = "import sys, uhebo; assert 'sklearn' not in sys.modules; uhebo.UHESearchCV; assert 'sklearn' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["UHESearchCV", "UHERegressor"])
def test_without_scikit_learn_the_error_says_what_to_do(name: str) -> None:
    code = (
        f"import sys, uhebo; sys.modules['sklearn'] = None\ntry:\n    uhebo.{name}\n"
        "except uhebo.errors.MissingExtraError as error:\n    assert 'uhebo[sklearn]' in str(error)\n"
        "else:\n    raise SystemExit('imported')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# The regressor


def wave(n: int = 40, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.uniform([-3.0, 100.0], [3.0, 500.0], (n, 2))
    return X, 50.0 + 10.0 * np.sin(X[:, 0]) + 0.01 * X[:, 1] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("estimator", ["map", "mle", "consistent", "hmc"])
def test_it_learns_a_function_in_its_own_units(estimator: str) -> None:
    X, y = wave(60)
    model = UHERegressor(estimator=estimator, random_state=0).fit(X, y)
    new_X, new_y = wave(200, seed=1)
    mean, deviation = model.predict(new_X, return_std=True)
    assert model.score(new_X, new_y) > 0.95
    assert (deviation > 0).all()
    total = np.sqrt(deviation**2 + model.noise_variance_)
    assert 0.6 < np.mean(np.abs(mean - new_y) < 2 * total) <= 1.0
    mean_again, covariance = model.predict(new_X, return_cov=True)
    np.testing.assert_allclose(mean_again, mean)
    np.testing.assert_allclose(np.diag(covariance), deviation**2, rtol=1e-6, atol=1e-8)


def test_it_agrees_with_scikit_learn_at_its_own_hyperparameters() -> None:
    X, y = wave()
    model = UHERegressor(random_state=0).fit(X, y)
    kernel = ConstantKernel(model.signal_variance_) * Matern(model.lengthscales_, nu=2.5)
    oracle = GaussianProcessRegressor(kernel + WhiteKernel(model.noise_variance_), alpha=0, optimizer=None)
    oracle.fit(X, y - y.mean())
    new_X, _ = wave(30, seed=1)
    mean, deviation = model.predict(new_X, return_std=True)
    expected, noisy = oracle.predict(new_X, return_std=True)
    np.testing.assert_allclose(mean, expected + y.mean(), rtol=1e-6)
    np.testing.assert_allclose(deviation**2, noisy**2 - model.noise_variance_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("estimator", ["map", "hmc"])
def test_samples_have_the_moments_of_the_prediction(estimator: str) -> None:
    X, y = wave(15)
    model = UHERegressor(estimator=estimator, random_state=0).fit(X, y)
    points, _ = wave(5, seed=2)
    drawn = model.sample_y(points, 20_000, random_state=1)
    mean, covariance = model.predict(points, return_cov=True)
    assert drawn.shape == (5, 20_000)
    scale = np.sqrt(np.diag(covariance).max())
    np.testing.assert_allclose(drawn.mean(axis=1), mean, atol=0.04 * scale)
    np.testing.assert_allclose(np.cov(drawn), covariance, atol=0.06 * scale**2)


def test_regressor_is_repeatable_and_says_what_is_wrong() -> None:
    X, y = wave()
    first, second = (UHERegressor(random_state=3, estimator="consistent").fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    with pytest.raises(InvalidInputError, match="unknown estimator 'ml'"):
        UHERegressor(estimator="ml").fit(X, y)
    with pytest.raises(InvalidInputError, match="unknown kernel"):
        UHERegressor(kernel="rbf").fit(X, y)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="unknown prior"):
        UHERegressor(prior="wide").fit(X, y)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="both"):
        first.predict(X, return_std=True, return_cov=True)
    with pytest.raises(NotFittedError):
        UHERegressor().predict(X)


@pytest.mark.parametrize("reading", READINGS)
def test_a_regressor_reads_the_loss_as_it_is_told(reading: Reading) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((25, 2))
    y = np.sin(4 * X[:, 0]) + X[:, 1] + 0.05 * rng.standard_normal(25)
    model = UHERegressor(estimator="consistent", reading=reading, random_state=3).fit(X, y)
    data = Data.of((X - X.min(axis=0)) / np.ptp(X, axis=0), y)
    drawn = np.random.default_rng(np.random.RandomState(3).randint(2**31 - 1))
    fit = consistent_estimate(data, prior=model.prior, rng=drawn, reading=reading)
    np.testing.assert_allclose(model.fit_.theta.ell, fit.theta.ell, rtol=1e-6)
    assert clone(model).reading == reading


@pytest.mark.parametrize("reading", ["x", None, 3])
def test_a_regressor_refuses_other_readings(reading: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"reading.*one of observed, distinct, drawn"):
        UHERegressor(reading=reading).fit(np.eye(3), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("size", [1e-160, 1e160, 1e300])
def test_targets_of_any_size_are_learnt(size: float) -> None:
    X, y = wave(20)
    mean, deviation = UHERegressor(random_state=0).fit(X, y).predict(X, return_std=True)
    model = UHERegressor(random_state=0).fit(X, y * size)
    scaled_mean, scaled_deviation = model.predict(X, return_std=True)
    np.testing.assert_allclose(scaled_mean / size, mean, rtol=1e-6)
    np.testing.assert_allclose(scaled_deviation / size, deviation, rtol=1e-6)
    np.testing.assert_allclose(model.sample_y(X, 200).mean(axis=1) / size, mean, atol=1.0)
    if size > 1.0:
        assert model.signal_variance_ == np.inf
        with pytest.raises(InvalidInputError, match="beyond the range of doubles; use return_std"):
            model.predict(X, return_cov=True)


def test_no_samples_is_a_typed_error() -> None:
    X, y = wave(10)
    with pytest.raises(InvalidInputError, match="n_samples is 0"):
        UHERegressor(random_state=0).fit(X, y).sample_y(X, 0)


def test_regressor_in_a_search() -> None:
    X, y = wave()
    search = UHESearchCV(
        UHERegressor(random_state=0), {"kernel": ["matern52", "se"]}, n_iter=3, cv=KFold(2), random_state=0
    ).fit(X, y)
    assert search.best_score_ > 0.8


def test_the_search_recommends_a_candidate_by_the_model() -> None:
    search = small(SVC(), SVM_SPACE, n_iter=8)
    with pytest.raises(AttributeError, match="call fit first"):
        _ = search.recommended_
    found = search.fit(IRIS_X, IRIS_Y).recommended_
    assert found.params in [trial.params for trial in search.study_.trials]
    assert found.interval[0] <= found.mean <= found.interval[1]
