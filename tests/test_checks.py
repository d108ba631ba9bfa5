"""Argument checks: NumPy's numbers pass, bools do not, and the message says what was given and what was expected.

The table of first mistakes has what people write who have not read the documentation, and the line they get.
"""
# ruff: noqa: E501  (one mistake per line, with its whole message)
# mypy: disable-error-code="call-arg, arg-type, attr-defined, call-overload, list-item, func-returns-value"

from __future__ import annotations

import inspect
import math
import re
import subprocess
import sys
import typing
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import optuna
import pytest
from scipy import stats

import uhebo
from tests.conftest import require
from tests.waiting import LIMIT_S
from uhebo import Categorical, Float, Int, UHERegressor, UHESampler, UHESearchCV, When
from uhebo.api import OptimizeOptions
from uhebo.checks import choice, integer, number, optional_integer
from uhebo.errors import InvalidInputError
from uhebo.estimate import ESTIMATORS, EstimatorName
from uhebo.gp.kernels import KERNELS as KERNELS_BY_NAME
from uhebo.gp.kernels import KernelName
from uhebo.gp.priors import PRIORS, PriorName
from uhebo.methods import MethodName
from uhebo.optuna_.sampler_settings import ModelOptions, SamplerOptions


def test_accepted_values_come_back_in_plain_python_types() -> None:
    assert type(integer("n", np.int64(3), 1)) is int
    assert type(number("x", np.float32(0.5), 0.0, 1.0)) is float
    assert type(number("x", 1)) is float
    assert integer("n", -5) == -5
    assert optional_integer("n", None, 1) is None
    assert optional_integer("n", 2, 1) == 2
    assert choice("kernel", "se", {"se": 1, "matern52": 2}) == "se"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: integer("n_trials", "x", 1), "n_trials is 'x'; expected an integer >= 1"),
        (lambda: integer("n_trials", True, 1), "n_trials is True; expected an integer >= 1"),
        (lambda: integer("n_trials", np.True_, 1), "expected an integer >= 1"),
        (lambda: integer("n_trials", 2.0, 1), "n_trials is 2.0; expected an integer >= 1"),
        (
            lambda: integer("n_jobs", 0, 1, also=", or -1 for all"),
            "n_jobs is 0; expected an integer >= 1, or -1 for all",
        ),
        (lambda: integer("p", 0.5, also="; use Float"), "p is 0.5; expected an integer; use Float"),
        (lambda: optional_integer("seed", -1, 0), "seed is -1; expected an integer >= 0, or None"),
        (lambda: number("x", math.nan), "x is nan; expected a finite number"),
        (lambda: number("x", 10**400), "expected a finite number"),
        (lambda: number("x", "1"), "x is '1'; expected a finite number"),
        (lambda: number("x", 0.0, above=0.0, most=1.0), "x is 0.0; expected a finite number > 0 and <= 1"),
        (lambda: number("x", -1, 0, also=", or 'theory'"), "x is -1; expected a finite number >= 0, or 'theory'"),
        (
            lambda: choice("kernel", "rbf", ("se",), also=", or a Kernel"),
            "unknown kernel 'rbf'; did you mean 'se'? Or choose one of se, or a Kernel",
        ),
    ],
)
def test_refused_values_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert message in str(caught.value)


# First mistakes

SPACE: dict[str, Any] = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
METHODS = ", ".join(uhebo.METHODS)
KERNELS = "choose one of matern52, matern32, se, or pass a Kernel"
A_PARAMETER = "expected (low, high), a list of choices, Float, Int or Categorical"


def bowl(x: float, y: float) -> float:
    return (x - 0.3) ** 2 + y


async def waits(x: float, y: float) -> float:
    return bowl(x, y)


def run(*args: Any, **options: Any) -> Any:
    return uhebo.minimize(*(args or (bowl, SPACE, 5)), **options)


@cache
def result() -> Any:
    return uhebo.minimize(bowl, SPACE, 4, seed=0)


@cache
def front() -> Any:
    return uhebo.optimize(lambda x: (x, 1 - x), {"x": (0.0, 1.0)}, 3, seed=0, directions=["minimize", "minimize"])


def predict(params: Any) -> Any:
    return result().belief.predict(params)


def search_pipeline(**options: Any) -> Any:
    made = require("sklearn.pipeline", "pip install 'uhebo[sklearn]'").make_pipeline
    return search(made(require("sklearn.svm", "").SVC()), **options)


def search(estimator: Any = None, **options: Any) -> Any:
    svm = estimator or require("sklearn.svm", "pip install 'uhebo[sklearn]'").SVC()
    given: dict[str, Any] = {"space": {"C": (0.1, 1.0)}, "n_iter": 2, "cv": 2} | options
    return UHESearchCV(svm, **given).fit(np.arange(16.0).reshape(8, 2), [0, 1] * 4)


MISTAKES: list[tuple[Callable[[], Any], str]] = [
    # The call
    (lambda: run(bowl, SPACE, n_iter=5), "minimize has no option 'n_iter'; did you mean n_trials?"),
    (lambda: uhebo.maximize(bowl, SPACE, max_evals=5), "maximize has no option 'max_evals'; did you mean n_trials?"),
    (lambda: run(bowl, SPACE, 10, 0), "minimize takes only fn, space, n_trials by position; write the rest by name, such as seed=…"),
    (lambda: run(SPACE, bowl), "fn and space are exchanged; the function comes first, then the space"),
    (lambda: run(bowl(0, 0), SPACE), "fn is 0.09; expected a function called with one keyword argument per parameter"),
    (lambda: run(bowl, SPACE, "10"), "n_trials is '10'; expected an integer >= 1"),
    (lambda: run(direction="maximize"), "minimize has no option 'direction'; call uhebo.minimize or uhebo.maximize, or give it to the study"),
    (lambda: run(aquisition="ucb"), "minimize has no option 'aquisition'; did you mean acquisition?"),
    (lambda: run(random_state=0), "minimize has no option 'random_state'; did you mean seed?"),
    (lambda: run(verbose=1), "minimize has no option 'verbose'; did you mean progress?"),
    (lambda: run(seed=np.random.RandomState), "seed is <class 'numpy.random.mtrand.RandomState'>; expected an integer >= 0, or None"),
    (lambda: run(timeout="10"), "timeout is '10'; expected a finite number > 0 of seconds, or None"),
    (lambda: run(timeout=-1), "timeout is -1; expected a finite number > 0 of seconds, or None"),
    (lambda: run(deterministic="yes"), "deterministic is 'yes'; expected True or False"),
    (lambda: run(kernel="rbf"), f"unknown kernel 'rbf'; did you mean 'se'? Or {KERNELS}"),
    (lambda: run(acquisition="EI"), "unknown acquisition 'EI'; did you mean 'log-ei'? Or choose one of ucb, log-ei, pi, thompson"),
    (lambda: run(method="UHE"), f"unknown method 'UHE'; did you mean 'uhe'? Or choose one of {METHODS}, or pass a function"),
    (lambda: run(catch="ValueError"), "catch is 'ValueError'; expected a class of exceptions such as ValueError, or a tuple of them"),
    (lambda: run(callbacks=print), "callbacks is <built-in function print>; expected a list of functions (study, trial)"),
    (lambda: run(callbacks=[uhebo.StopWhenSettled]), "callbacks has the class StopWhenSettled; make one of it: StopWhenSettled()"),
    (lambda: run(initial=require("pandas", "pip install pandas").DataFrame({"x": [0.5]})), "initial is a data frame; expected a list of points: initial=frame.to_dict('records')"),
    (lambda: run(subject_to={"x": "< 0.5"}), "subject_to is {'x': '< 0.5'}; expected rules such as ['a + b <= 1']"),
    (lambda: run(n_jobs=0), "n_jobs is 0; expected an integer >= 1, or -1 for one per processor"),
    (lambda: run(n_parallel=4), "n_parallel is for an executor, and none was given; leave it out, or give one"),
    (lambda: run(initial={"x": 0.5, "y": 0.5}), "initial is {'x': 0.5, 'y': 0.5}; expected a list of points such as [{'x': 0.5}]"),
    (lambda: run(study_name=3), "study_name is 3; expected a name such as 'first', or None"),
    (lambda: run(params=SPACE), "minimize has no option 'params'; did you mean space?"),
    (lambda: run(n_init=5), "minimize has no option 'n_init'; did you mean n_startup_trials?"),
    (lambda: run(n_initial_samples=5), "minimize has no option 'n_initial_samples'; did you mean n_startup_trials?"),
    (lambda: run(kappa=2.0), "minimize has no option 'kappa'; did you mean beta?"),
    (lambda: run(xi=0.01), "minimize has no option 'xi'; leave it out: acquisition='log-ei' and 'pi' have no margin to set"),
    (lambda: run(noise=0.1), "minimize has no option 'noise'; leave it out: noise is estimated; deterministic=True says that there is none, uhebo.tell_noise what is known"),
    (lambda: run(batch_size=4), "minimize has no option 'batch_size'; did you mean n_parallel?"),
    (lambda: run(args=(1,)), "minimize has no option 'args'; give a function that has them: functools.partial(fn, …)"),
    (lambda: run(sampler=optuna.samplers.TPESampler()), "minimize has no option 'sampler'; choose a method by name, such as method='uhe'; other samplers are for optuna.create_study(sampler=…)"),
    (lambda: run(early_stopping=5), "minimize has no option 'early_stopping'; callbacks=[uhebo.StopWhenSettled()] ends a run early"),
    (lambda: run(storage=":memory:"), "the study file is ':memory:'; to keep nothing leave storage out, else give such as lab.db"),
    (lambda: run(storage="study.csv"), "the study file is 'study.csv', and a study is a SQLite file; name it study.db"),
    (lambda: run(storage="postgres://me@host/name"), "postgres://me@host/name: there is no database called 'postgres'; expected a URL such as postgresql+psycopg://user:…@host/name, or a file such as lab.db"),
    (lambda: run(reference_point=[1.0, 1.0]), "reference_point has 2 numbers, and this study has one objective: leave it out"),
    (lambda: run(constraints=bowl, constraints_func=bowl), "constraints and constraints_func are both given; drop constraints_func"),
    # The function and its space
    (lambda: run(bowl, {"x": (0.0, 1.0), "Y": (0.0, 1.0)}), "fn needs 'y', and the space has 'x', 'Y'; rename 'Y' to 'y'"),
    (lambda: run(lambda p: p["x"], SPACE), "fn needs 'p', and the space has 'x', 'y'; parameters come by name: write def fn(x, y), or def fn(**p)"),
    (lambda: run(bowl, SPACE | {"z": (0, 9)}), "the space has 'z', and fn takes 'x', 'y'; rename it, or add it to the function"),
    (lambda: run(lambda params: params["x"], SPACE), "fn needs 'params', and the space has 'x', 'y'; parameters come by name: write def fn(x, y), or def fn(**params)"),
    (lambda: run(lambda p: p["x"], {"x": (0.0, 1.0)}), "fn needs 'p', and the space has 'x'; parameters come by name: write def fn(x), or def fn(**p)"),
    (lambda: run(lambda x, n_iters: x + n_iters, {"x": (0.0, 1.0), "n_iter": (1, 9)}), "fn needs 'n_iters', and the space has 'x', 'n_iter'; rename 'n_iter' to 'n_iters'"),
    (lambda: run(lambda trial: trial, SPACE), "fn takes the trial alone, as Optuna's objectives do; write def fn(x, y), or give it to study.optimize with UHESampler"),
    (lambda: run(lambda: 0.0, {}), "the space has no parameter; expected at least one, such as {'x': (0.0, 1.0)}"),
    (lambda: run(waits, SPACE), "fn is an async function; await it in a plain one: return asyncio.run(fn(…))"),
    (lambda: run(lambda x, y: waits(x, y), SPACE), "fn returned <coroutine object waits> in trial 0, expected a number; await it, or in a plain function return asyncio.run(…) of it"),
    (lambda: run(bowl, [(0.0, 1.0)]), "the space is [(0.0, 1.0)], expected a dict such as {'x': (0.0, 1.0)}"),
    (lambda: run(lambda **_: None, SPACE), "fn returned None in trial 0, expected a number; end it with a return statement"),
    (lambda: run(lambda **_: (1.0, 2.0), SPACE), "fn returned (1.0, 2.0) in trial 0, expected a number; for several objectives call uhebo.optimize"),
    (lambda: run(lambda **_: {"loss": 0.5, "accuracy": 0.9}, SPACE), "fn returned {'loss': 0.5, 'accuracy': 0.9} in trial 0, expected a number; return one entry of it, such as d[\"loss\"]; for several objectives call uhebo.optimize"),
    (lambda: run(lambda **_: {"loss": 0.5, "status": "ok"}, SPACE), "fn returned {'loss': 0.5, 'status': 'ok'} in trial 0, expected a number; return one entry of it, such as d[\"loss\"]"),
    (lambda: run(lambda **_: (0.5,), SPACE), "fn returned (0.5,) in trial 0, expected a number; return float(…) of its only element"),
    (lambda: run(lambda **_: np.array([0.5]), SPACE), "fn returned array([0.5]) in trial 0, expected a number; return float(…) of its only element"),
    (lambda: run(lambda **_: np.array([0.5, 0.7]), SPACE), "fn returned array([0.5, 0.7]) in trial 0, expected a number; return one number, such as float(….mean()); for several objectives call uhebo.optimize"),
    (lambda: run(lambda **_: "0.5", SPACE), "fn returned '0.5' in trial 0, expected a number; return float(…) of it"),
    (lambda: run(lambda **_: "good", SPACE), "fn returned 'good' in trial 0, expected a number; that is text: return the number itself"),
    (lambda: run(lambda **_: bowl, SPACE), "fn returned <function bowl> in trial 0, expected a number; that is a function: call it"),
    (lambda: run(lambda **_: 1j, SPACE), "fn returned 1j in trial 0, expected a number; return abs(…) of it, or its real part"),
    (lambda: run(constraints=lambda x, y: x * y >= 0), "the constraints of trial 0 are True; expected a number at most 0 where the limit is kept, such as 0.25 - x*y; a rule on the parameters is subject_to=['x * y >= 0.25']; the trial's value is kept, it tells nothing of the constraints"),
    (lambda: run(constraints=lambda x, y: [1.0, x * y < 0]), "the constraints of trial 0 are [1.0, False]; expected a number at most 0 where the limit is kept, such as 0.25 - x*y; a rule on the parameters is subject_to=['x * y >= 0.25']; the trial's value is kept, it tells nothing of the constraints"),
    (lambda: run(bowl, SPACE | {"x": ("a", "b")}), f"parameter 'x': got ('a', 'b'), {A_PARAMETER}; for choices write a list, ['a', 'b']"),
    (lambda: run(bowl, SPACE | {"x": (0.0, 1.0, 0.1)}), f"parameter 'x': got (0.0, 1.0, 0.1), {A_PARAMETER}; write Float(0.0, 1.0, step=0.1)"),
    (lambda: run(bowl, SPACE | {"x": {"low": 0, "high": 1}}), f"parameter 'x': got {{'low': 0, 'high': 1}}, {A_PARAMETER}; write Float(0, 1)"),
    (lambda: run(bowl, SPACE | {"x": 0.5}), f"parameter 'x': got 0.5, {A_PARAMETER}; to keep it fixed write [0.5]"),
    (lambda: run(bowl, SPACE | {"x": bool}), f"parameter 'x': got <class 'bool'>, {A_PARAMETER}; write [False, True]"),
    (lambda: run(bowl, SPACE | {"x": float}), f"parameter 'x': got <class 'float'>, {A_PARAMETER}; write its range, such as (0.0, 1.0)"),
    (lambda: run(bowl, SPACE | {"x": {"type": "float", "bounds": [0.0, 1.0]}}), f"parameter 'x': got {{'type': 'float', 'bounds': [0.0, 1.0]}}, {A_PARAMETER}; write (0.0, 1.0)"),
    (lambda: Float(0, 1, 0.1), "Float takes only low, high by position; write the rest by name, such as log=…"),
    (lambda: Float(0, 1, log=True), "low=0.0 with log=True, expected low > 0; raise it or drop the log"),
    (lambda: Int(0.5, 3), "low is 0.5; expected an integer; use Float for other numbers, Categorical for the rest"),
    (lambda: Categorical("adam", "sgd"), "Categorical takes only choices by position; put the values into one list"),
    (lambda: Categorical(["a", "b"], ordered=True), "Categorical has no option 'ordered'; it has none, only choices"),
    (lambda: Categorical(values=["a", "b"]), "Categorical has no option 'values'; did you mean choices?"),
    (lambda: Float(min=0, max=1), "Float has no option 'min'; did you mean low?"),
    (lambda: When((0, 1), "m == 'a'"), "When takes a condition and then a parameter; they are exchanged: write When(\"m == 'a'\", (0, 1))"),
    (lambda: When({"m": "a"}, (0, 1)), "When takes a condition, such as \"kind == 'a'\", and then a parameter; got {'m': 'a'}"),
    (lambda: run(bowl, {"m": ["a", "b"], "x": When("m = 'a'", (0.0, 1.0)), "y": (0.0, 1.0)}), "the rule \"m = 'a'\" cannot be read: write == in place of = (character 3)"),
    (lambda: run(subject_to="x < 0.5 && y < 0.5"), "the rule 'x < 0.5 && y < 0.5' cannot be read: write and in place of && (character 9)"),
    (lambda: run(subject_to="(x < 0.5) & (y < 0.5)"), "the rule '(x < 0.5) & (y < 0.5)' cannot be used: write and in place of & (character 1)"),
    (lambda: Categorical("adam"), "choices are 'adam', expected a list such as ['adam', 'sgd']"),
    # Several objectives
    (lambda: uhebo.optimize(bowl, SPACE, 5, direction=["minimize"] * 2), "optimize has no option 'direction'; did you mean directions?"),
    (lambda: uhebo.optimize(bowl, SPACE, 5, directions=["minimize"]), "directions has 1 objective; expected 2 to 4; minimize and maximize take one"),
    (lambda: uhebo.optimize(bowl, SPACE, 5, directions=["max", "min"]), "directions is ['max', 'min']; did you mean 'maximize' for 'value_0'? did you mean 'minimize' for 'value_1'? Otherwise expected {'yield': 'maximize', 'cost': 'minimize'}, or a list of directions"),
    (lambda: uhebo.optimize(bowl, SPACE, 5, directions=["minimize"] * 5), "directions has 5 objectives; expected 2 to 4; combine some of them into one value, or use optuna.samplers.NSGAIIISampler"),
    (lambda: uhebo.optimize(bowl, SPACE, 5, directions=["minimize"] * 2, pruner=optuna.pruners.NopPruner()), "optimize has no option 'pruner'; Optuna's pruners are for one objective; raise optuna.TrialPruned to give a trial up"),
    (lambda: uhebo.optimize(bowl, SPACE, 5, directions=["minimize"] * 2, callbacks=[uhebo.StopWhenSettled()]), "StopWhenSettled is for one objective, and this study has 2; result.hypervolume shows whether the front still grows, and a callback of your own may call study.stop()"),
    (lambda: UHESampler(reference_point={"a": 0, "b": 1}), "reference_point is {'a': 0, 'b': 1}; a sampler takes numbers in the order of the objectives: [0, 1] if that is it (uhebo.optimize takes them by name)"),
    (lambda: front().best_trial, "ParetoResult has no attribute 'best_trial'; did you mean result.pareto or result.pick(weights)?"),
    (lambda: front().pick(by="model"), "unknown by 'model'; choose one of measured, expected"),
    (lambda: uhebo.UHERegressor(alpha=0.1), "UHERegressor has no option 'alpha'; noise is estimated; UHERegressor().fit(X, y, noise=…) takes the standard deviation of each target"),
    (lambda: uhebo.UHERegressor().fit([[0.0]], [1.0], sample_weight=[1.0]), "fit has no option 'sample_weight'; noise=… takes the standard deviation of each target: a weight of 4 is half of it"),
    (lambda: front().pick("value_0"), "weights is 'value_0'; expected such as {'value_0': 2.0}"),
    (lambda: front().pick(within=(0, 1)), "within is (0, 1); expected such as {'value_0': (0.0, 1.0)}"),
    (lambda: front().best_params, "there is no single best trial: the study has 2 objectives; result.pareto is its front, and result.pick(weights) chooses from it"),
    (lambda: front().belief.predict({"x": 0.5}), "there are several objectives ('value_0', 'value_1'); ask for one: belief.only(name).predict(…)"),
    # The sampler
    (lambda: UHESampler("uhe"), "UHESampler takes no arguments by position; write them by name, such as method=…"),
    (lambda: UHESampler(n_iter=60), "UHESampler has no option 'n_iter'; did you mean n_trials?"),
    (lambda: UHESampler(prior="wide"), "unknown prior 'wide'; choose one of paper, paper-scale, paper-ev, flat, dim-scaled, precise, shared-scale, auto, or pass a Prior"),
    # What was found
    (lambda: result().best_score, "Result has no attribute 'best_score'; did you mean best_value?"),
    (lambda: result().x, "Result has no attribute 'x'; did you mean best_params?"),
    (lambda: result().predict({"x": 0.5}), "Result has no attribute 'predict'; did you mean result.belief.predict?"),
    (lambda: result().best_trial, "Result has no attribute 'best_trial'; did you mean result.study.best_trial?"),
    (lambda: result().plot("x"), "plot takes no arguments by position; leave them out"),
    (lambda: result().plot(kind="x"), "plot has no option 'kind'; it has none"),
    (lambda: result().belief.predict(x=0.5, y=0.5), "predict has no option 'x'; did you mean params?"),
    (lambda: result().belief.predict(0.5, 0.5), "predict takes only params by position; put the values into one list"),
    (lambda: uhebo.extend(result(), {"x": (0.0, 2.0)}), "study is a Result; expected an Optuna study, such as result.study or uhebo.load('study.db').study"),
    (lambda: uhebo.extend(result().study, x=(0.0, 2.0)), "extend has no option 'x'; its options are had, reason, units"),
    (lambda: predict({"x": 0.5}), "parameter 'y' is missing, expected a number from 0.0 to 1.0; correct it, or leave the point out"),
    (lambda: predict({"x": 0.5, "y": 0.5, "z": 1}), "there is no parameter 'z'; the parameters are x, y"),
    (lambda: predict({"x": 0.5, "Y": 0.5}), "there is no parameter 'Y'; did you mean 'y'? The parameters are x, y"),
    (lambda: predict([0.5]), "a point has 1 values; expected one for each of belief.names, in that order: x, y"),
    (lambda: predict(0.5), "params is 0.5; expected {name: value}, a list of these, a data frame, or an array with a column for each of belief.names"),
    (lambda: result().report("report.pdf"), "path is 'report.pdf'; the report is HTML: name it report.html"),
    (lambda: uhebo.diagnose(result()), "study is a Result; expected an Optuna study, such as result.study or uhebo.load('study.db').study"),
    (lambda: uhebo.load(3), "storage is 3; expected a file, a database URL, an Optuna storage or an Optuna study"),
    (lambda: uhebo.load("none.db"), "there is no file none.db; make a study with: uhebo create none.db …"),
    (lambda: (Path("lab.db").touch(), uhebo.load("lab")), "there is no file lab; did you mean lab.db? Or make a study with: uhebo create lab …"),
    (lambda: uhebo.tune, "module 'uhebo' has no attribute 'tune'; did you mean uhebo.minimize?"),
    (lambda: uhebo.fmin, "module 'uhebo' has no attribute 'fmin'; did you mean uhebo.minimize?"),
    (lambda: uhebo.minimise, "module 'uhebo' has no attribute 'minimise'; did you mean uhebo.minimize?"),
    (lambda: uhebo.Integer, "module 'uhebo' has no attribute 'Integer'; did you mean uhebo.Int?"),
    # scikit-learn
    (lambda: search(n_trials=5), "UHESearchCV has no option 'n_trials'; did you mean n_iter?"),
    (lambda: search(seed=0), "UHESearchCV has no option 'seed'; did you mean random_state?"),
    (lambda: search(space={"c": (0.1, 1.0)}), "SVC has no parameter 'c'; did you mean 'C'?"),
    (lambda: search_pipeline(space={"C": (0.1, 1.0)}), "Pipeline has no parameter 'C'; did you mean 'svc__C'?"),
    (lambda: search(space={"C": stats.loguniform}), "parameter 'C': loguniform is a distribution without its numbers; write loguniform(low, high)"),
    (lambda: search(space={"C": stats.uniform}), "parameter 'C': uniform is a distribution without its numbers; write uniform(low, high - low)"),
    (lambda: search(space={"C": stats.norm}), "parameter 'C': norm is a distribution without its numbers; write norm(…)"),
    (lambda: UHESearchCV(None, {}).diagnose(), "there is nothing to diagnose yet; call fit first"),
    (lambda: UHESearchCV(None, {}).report(), "there is nothing to report yet; call fit first"),
    (lambda: search(param_distributions={}), "space and param_distributions are both given; drop one"),
    (lambda: search(space=None, param_distributions={"C": (0.1, 9)}), "parameter 'C': (0.1, 9) is two choices in scikit-learn and a range in uhebo; write [0.1, 9] for the choices, or uhebo.Float(0.1, 9) for the range"),
    (lambda: search(sampler_options={"seed": 0}), "sampler_options has 'seed'; give random_state of UHESearchCV instead"),
    (lambda: search(sampler_options={"kernl": "se"}), "sampler_options: UHESampler has no option 'kernl'; did you mean kernel?"),
    (lambda: UHERegressor("map"), "UHERegressor takes no arguments by position; write them by name, such as estimator=…"),
    (lambda: UHERegressor(kernel="RBF").fit([[0.0], [1.0]], [0.0, 1.0]), f"unknown kernel 'RBF'; did you mean 'se'? Or {KERNELS}"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[message.split(";")[0] for _, message in MISTAKES])
def test_first_mistakes(
    mistake: Callable[[], Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, which says what to do, and nothing is left behind: no file, and no study either."""
    result(), front()
    made: list[Any] = []
    create = optuna.create_study

    def create_study(**given: Any) -> Any:
        made.append(given)
        return create(**given)

    monkeypatch.setattr(optuna, "create_study", create_study)
    monkeypatch.chdir(tmp_path)
    with pytest.raises((InvalidInputError, AttributeError)) as caught:
        mistake()
    assert re.sub(r" at 0x[0-9a-f]+", "", str(caught.value)) == message
    assert [path for path in tmp_path.iterdir() if path.stat().st_size] == []
    assert len(made) == message.startswith(("fn returned", "the constraints of trial"))


def test_numbers_of_numpy_are_numbers() -> None:
    found = run(bowl, SPACE, np.int64(2), seed=np.uint8(0), timeout=np.float32(60), n_jobs=np.int8(1))
    assert len(found.study.trials) == 2


def test_points_to_predict_may_come_in_any_form() -> None:
    """All forms of the same two points, one of them by itself, in a space with a choice and a constant."""
    pandas = require("pandas", "pip install pandas")
    space: dict[str, Any] = {"n": Int(1, 100, log=True), "kind": ["a", "b"], "fixed": (3, 3)}
    belief = uhebo.minimize(lambda n, kind, fixed: n + fixed * (kind == "b"), space, 6, seed=0, method="map").surrogate
    points = [{"n": 10, "kind": "a", "fixed": 3}, {"n": 50, "kind": "b", "fixed": 3}]
    frame = pandas.DataFrame(points)
    assert belief.names == ("kind", "n")
    rows = [["a", 10], ("b", 50)]
    mean, deviation = belief.predict(points)
    for given in (
        points,
        tuple(points),
        frame,
        frame[["kind", "n"]],
        rows,
        np.array(rows, dtype=object),
        [r[:2] for r in rows],
    ):
        np.testing.assert_array_equal(belief.predict(given), (mean, deviation))
    for single in (points[0], frame.iloc[0], rows[0], np.array(rows[0], dtype=object)):
        assert belief.predict(single) == (mean[0], deviation[0])
    assert belief.predict([])[0].shape == (0,)
    with pytest.raises(InvalidInputError, match="points of several kinds"):
        belief.predict([points[0], rows[1]])
    with pytest.raises(InvalidInputError, match="there is no parameter 'number'"):
        belief.predict(frame.assign(number=0))


# Types

CALLS = """
import uhebo
from uhebo import UHERegressor, UHESampler, UHESearchCV
from uhebo.gp import KERNELS

def f(x: float) -> float:
    return x

def two(x: float) -> tuple[float, float]:
    return x, -x

S = {"x": (0.0, 1.0)}
uhebo.minimize(f, S, 5, aquisition="ucb")  # refused: "aquisition"
uhebo.minimize(f, S, 5, kernel="rbf")  # refused: "kernel"
uhebo.minimize(f, S, 5, acquisition="ei")  # refused: "acquisition"
uhebo.minimize(f, S, 5, prior="wide")  # refused: "prior"
uhebo.minimize(f, S, "5")  # refused: Argument 3
uhebo.minimize(f, S, 5, when_exhausted="go on")  # refused: "when_exhausted"
uhebo.maximize(f, S, 5, n_iter=3)  # refused: "n_iter"
uhebo.optimize(two, S, 5, directions=["up", "down"])  # refused: List item
uhebo.optimize(two, S, 5, directions=["minimize"] * 2, colour=1)  # refused: "colour"
uhebo.work(f, S, 5, storage="a.db", study_name="a", kernl="se")  # refused: "kernl"
UHESampler(acquisition="ei")  # refused: "acquisition"
UHESampler("uhe")  # refused: Too many positional
UHESampler(n_iter=3)  # refused: "n_iter"
UHERegressor(kernel="rbf")  # refused: "kernel"
UHESearchCV(f, S, n_trials=3)  # refused: "n_trials"
uhebo.Float(0, 1, log="yes")  # refused: "log"
uhebo.minimize(f, S).best_score  # refused: "best_score"
uhebo.minimize(f, S, 5, seed=0, acquisition="log-ei", method="uhe", kernel="se", prior="flat", deterministic=True)
uhebo.minimize(f, S, 5, method="registered by me", kernel=KERNELS["registered by me"])
uhebo.optimize(two, S, 5, directions={"a": "minimize", "b": "maximize"}, n_jobs=2, reference_point=(1, 1), timeout=1)
UHERegressor(estimator="registered by me", kernel="matern32")
reveal_type(uhebo.minimize(f, S).history)
"""
SKIPPED = "optuna, numpy, scipy, sqlalchemy, typer, rich, sklearn, plotly, jinja2, markupsafe, psycopg, threadpoolctl"


def test_a_type_checker_refuses_misspelt_options_and_knows_the_names(tmp_path: Path) -> None:
    """Libraries are left out, and pandas is a stand-in: it takes seconds then, and what is ours is all there."""
    require("mypy", "pip install 'uhebo[dev]'")
    stubs, config, calls = tmp_path / "stubs", tmp_path / "mypy.ini", tmp_path / "calls.py"
    (stubs / "pandas").mkdir(parents=True)
    (stubs / "pandas" / "__init__.pyi").write_text("class DataFrame: ...\n", encoding="utf-8")
    modules = ",".join(f"mypy-{name}.*" for name in SKIPPED.split(", "))
    source = Path(uhebo.__file__).parents[1]
    config.write_text(
        f"[mypy]\nstrict = true\nmypy_path = {source}:{stubs}\nfollow_imports = silent\nwarn_unused_configs = false\n"
        f"[{modules}]\nfollow_imports = skip\nignore_missing_imports = true\n",
        encoding="utf-8",
    )
    calls.write_text(CALLS, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", str(tmp_path / "cache")]
    out = subprocess.run([*command, str(calls)], capture_output=True, text=True, timeout=LIMIT_S).stdout
    errors = dict(re.findall(r"^.*?calls\.py:(\d+): error: (.*)$", out, re.M))
    lines = enumerate(CALLS.splitlines(), start=1)
    expected = {str(number): line.partition("# refused: ")[2] for number, line in lines if "# refused: " in line}
    assert errors.keys() == expected.keys(), out
    assert [number for number in expected if expected[number] not in errors[number]] == []
    assert 'Revealed type is "pandas.DataFrame"' in out


def test_the_names_that_types_have_are_those_of_the_tables() -> None:
    assert list(get_args(KernelName)) == list(KERNELS_BY_NAME)
    assert list(get_args(PriorName)) == list(PRIORS)
    assert list(get_args(MethodName)) == list(uhebo.METHODS)
    estimators = list(get_args(EstimatorName))
    assert estimators == list(ESTIMATORS)[: len(estimators)]  # others may have been registered
    sampler, one, several, shared = (
        set(inspect.signature(each).parameters) for each in (UHESampler, uhebo.minimize, uhebo.optimize, uhebo.work)
    )
    known = set(ModelOptions.__annotations__)
    assert known | one >= sampler - {"reference_point"}
    assert known <= sampler
    assert known & one == set()
    options = set(typing.get_type_hints(OptimizeOptions))
    assert options | several == sampler | one | {"directions"}
    assert set(typing.get_type_hints(SamplerOptions)) | shared >= sampler
