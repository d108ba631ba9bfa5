"""One belief for each study: whoever speaks of the surrogate holds the theta and the predictions of the one that
suggests, and what is said in the user's units is what the model says in its own."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

import uhebo
from tests.conftest import require
from uhebo import UHESampler
from uhebo.belief import Belief, Units, condense
from uhebo.belief.mixture import mixture_quantile, mixture_scores
from uhebo.cli import main
from uhebo.diagnosis import diagnose
from uhebo.errors import InvalidInputError
from uhebo.gp import KERNELS, Data, Posterior, Theta
from uhebo.gp.posterior import sample_paths
from uhebo.methods import Method, Model, Proposal, Step
from uhebo.optuna_.believe import believe, model_of
from uhebo.optuna_.sampler_settings import SETTINGS_ATTRIBUTE
from uhebo.optuna_.trial_log import ATTRIBUTE
from uhebo.types import Array

UNIT: dict[str, BaseDistribution] = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}
MIXED: dict[str, BaseDistribution] = {
    "lr": FloatDistribution(1e-5, 1e-1, log=True),
    "depth": IntDistribution(2, 12),
    "kind": CategoricalDistribution(["a", "b", "c"]),
}


def branin(x: float, y: float) -> float:
    u, v = 15 * x - 5, 15 * y
    bowl = (v - 5.1 / (4 * math.pi**2) * u * u + 5 / math.pi * u - 6) ** 2
    return bowl + 10 * (1 - 1 / (8 * math.pi)) * math.cos(u) + 10


def mixed(lr: float, depth: int, kind: str) -> float:
    return (math.log10(lr) + 2.5) ** 2 + 0.1 * (depth - 5) ** 2 + "abc".index(kind)


def run(sampler: optuna.samplers.BaseSampler, trials: int = 22, **options: Any) -> optuna.Study:
    study = optuna.create_study(sampler=sampler, **options)
    for _ in range(trials):
        trial = study.ask(UNIT)
        study.tell(trial, branin(**trial.params))
    return study


def next_theta(study: optuna.Study, space: dict[str, BaseDistribution] = UNIT) -> list[float]:
    """What the next suggestion records of its fit."""
    for _ in range(4):
        trial = study.ask(space)
        tags = study.trials[trial.number].system_attrs[ATTRIBUTE]
        if "theta" in tags:
            return [float(value) for value in tags["theta"]]
        study.tell(trial, state=optuna.trial.TrialState.FAIL)  # a random point: the one after it has a model
    raise AssertionError("no suggestion by a model")


def check_one_belief(study: optuna.Study, space: dict[str, BaseDistribution] = UNIT) -> Belief:
    """Diagnosis, report and Result hold the theta and the predictions of `believe`."""
    belief = believe(study)
    found = diagnose(study, hmc=False)
    points = [trial.params for trial in study.trials[:5]]
    result = uhebo.Result(study)
    assert found.belief is not None
    assert found.hyperparameters is not None
    for other in (found.belief, result.belief, result.surrogate):
        np.testing.assert_array_equal(other.theta.to_log(), belief.theta.to_log())
        np.testing.assert_array_equal(other.predict(points), belief.predict(points))
    own = np.mean([theta.to_log() for theta in belief.objective.fit.thetas], axis=0)
    np.testing.assert_allclose([item.model for item in found.hyperparameters.lengthscales], np.exp(own[:-2]))
    require("plotly", "pip install 'uhebo[plot]'")
    line = next(trace for trace in result.plot()["slice_1"].data if trace.name and trace.name.startswith("median"))
    name = found.importance[0].name
    best = {**study.best_params, name: line.x[0]}
    along = space[name]
    if isinstance(along, FloatDistribution) and not along.log:
        assert line.y[0] == pytest.approx(belief.quantiles(best, (0.5,))[0])
    return belief


@pytest.mark.usefixtures("short_chains", "rough_importances")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("method", ["auto", "uhe", "hmc"])
def test_sampler_diagnosis_report_and_result_hold_one_theta(kernel: Any, method: str) -> None:
    study = run(UHESampler(method=method, kernel=kernel, seed=1))
    belief = check_one_belief(study)
    assert belief.model.kernel.name == kernel
    assert belief.model.estimator == {"auto": "map", "uhe": "consistent", "hmc": "hmc"}[method]
    if "theta" not in study.trials[-1].system_attrs[ATTRIBUTE]:
        return  # its pair is not decided yet
    recorded = next_theta(study)
    if len(study.trials) == 23:  # the very next one was by the model
        np.testing.assert_allclose(recorded, belief.theta.to_log(), atol=1e-4)


@pytest.mark.parametrize("method", ["auto", "map", "consistent-only"])
def test_the_next_suggestion_uses_the_theta_of_the_belief(method: str) -> None:
    study = run(UHESampler(method=method, seed=3), 15)
    log_theta = believe(study).theta.to_log()
    np.testing.assert_allclose(next_theta(study), log_theta, atol=1e-4)


def test_a_study_of_another_sampler_is_read_by_the_defaults_model_and_that_is_said() -> None:
    study = run(optuna.samplers.TPESampler(seed=0))
    belief = check_one_belief(study)
    assert belief.model == uhebo.METHODS["auto"].model
    assert "not suggested by uhebo" in diagnose(study, hmc=False).model
    by_chance = run(UHESampler(method="random", seed=0))
    assert believe(by_chance).model == uhebo.METHODS["auto"].model
    assert "default, auto, because its method, random, uses no model" in diagnose(by_chance, hmc=False).model
    own = run(UHESampler(seed=0))
    assert diagnose(own, hmc=False).model == "This is about the model that suggests: that of the method auto."


def test_whoever_loads_the_study_gets_the_model_of_the_sampler_that_made_it(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    sampler = UHESampler(method="map", kernel="se", prior="dim-scaled", seed=5, deterministic=True)
    study = run(sampler, storage=storage, study_name="s")
    loaded = optuna.load_study(study_name="s", storage=storage)
    assert not isinstance(loaded.sampler, UHESampler)
    theirs, ours = believe(loaded), believe(study)
    assert (theirs.model.kernel.name, theirs.prior.name, theirs.model.noise) == ("se", "dim-scaled", "none")
    np.testing.assert_array_equal(theirs.theta.to_log(), ours.theta.to_log())
    kept = json.loads(json.dumps(loaded.user_attrs[SETTINGS_ATTRIBUTE]))
    assert UHESampler(**kept).arguments == sampler.arguments


@pytest.mark.parametrize("kept", [{"method": "gone"}, {"method": "map", "kernel": "odd"}, {"method": "map", "x": 1}, 7])
def test_settings_that_cannot_be_used_are_not(kept: object) -> None:
    study = run(optuna.samplers.RandomSampler(seed=0), 12)
    study.set_user_attr(SETTINGS_ATTRIBUTE, kept)
    assert model_of(study).borrowed is not None
    assert believe(study).model == uhebo.METHODS["auto"].model


def test_a_method_of_ones_own_brings_its_model() -> None:
    def strategy(step: Step) -> Proposal:
        return step.model("map")

    model = Model(estimator="map", prior="dim-scaled", warped=True)
    study = run(UHESampler(method=Method(strategy, model, "log-ei"), seed=0), 12)
    belief = believe(study)
    assert (belief.prior.name, belief.model.warped) == ("dim-scaled", True)
    np.testing.assert_allclose(next_theta(study), belief.theta.to_log(), atol=1e-4)


def test_branin_example_of_the_field_report_has_one_lengthscale() -> None:
    """Branin, 30 trials: the suggestions used other lengthscales than the diagnosis judged and the report drew."""
    study = run(UHESampler(seed=0), 30)
    found = diagnose(study, hmc=False)
    assert found.belief is not None
    assert found.hyperparameters is not None
    recorded = np.exp(next_theta(study)[:2])
    np.testing.assert_allclose([item.model for item in found.hyperparameters.lengthscales], recorded, rtol=1e-3)
    np.testing.assert_allclose([item.map for item in found.hyperparameters.lengthscales], recorded, rtol=1e-3)
    np.testing.assert_allclose(sorted(item.lengthscale for item in found.importance), sorted(recorded), rtol=1e-3)


def test_mixed_spaces_and_failed_trials() -> None:
    study = optuna.create_study(sampler=UHESampler(seed=0), direction="maximize")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna calls it experimental
        study.set_metric_names(["score"])
    for number in range(24):
        trial = study.ask(MIXED)
        value = -mixed(**trial.params)
        study.tell(trial, None if number == 3 else value, state=optuna.trial.TrialState.FAIL if number == 3 else None)
    belief = check_one_belief(study, MIXED)
    assert belief.left_out == {"no value": 1}
    assert belief.outcomes[0].outcome.name == "score"
    assert 3 not in belief.numbers
    low, middle, high = belief.quantiles(study.best_params)
    assert low <= middle <= high
    mean, deviation = belief.predict(study.best_params)
    assert abs(mean - study.best_value) < 5 * deviation + 0.5


def test_misuse_is_an_error_that_says_what_was_expected() -> None:
    belief = believe(run(UHESampler(seed=0), 10))
    with pytest.raises(InvalidInputError, match="parameter 'y' is 'a', expected a number"):
        belief.predict([0.5, "a"])
    with pytest.raises(InvalidInputError, match="levels"):
        belief.quantiles({"x": 0.5, "y": 0.5}, (0.0, 0.5))
    with pytest.raises(InvalidInputError, match="run trials first"):
        believe(optuna.create_study())


# ---------------------------------------------------------------------------------------------------------------- units


def units_of(values: Array, sign: float, warped: bool) -> tuple[Units, Data]:
    return Units.of(Data.of(np.linspace(0, 1, len(values))[:, None], sign * values), sign, warped)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("warped", [False, True])
def test_told_values_come_back_and_order_is_kept(sign: float, warped: bool) -> None:
    values = np.exp(np.random.default_rng(0).standard_normal(40) * 1.5)
    units, data = units_of(values, sign, warped)
    np.testing.assert_allclose(units.told(data.y), values, rtol=1e-9)
    far = units.told(np.linspace(-9, 9, 200))
    assert (np.diff(far) * sign > 0).all()
    assert np.isfinite(far).all()


@pytest.mark.parametrize(
    "shape", [np.exp, lambda z: -np.exp(z), np.cbrt, lambda z: z], ids=["right", "left", "odd", "no"]
)
def test_moments_agree_with_integration(shape: Callable[[Array], Array]) -> None:
    units, _ = units_of(shape(np.random.default_rng(1).standard_normal(50)), -1.0, warped=True)
    for mean, deviation in ((0.0, 0.3), (1.0, 0.1), (-0.5, 0.8)):

        def moment(power: int, mean: float = mean, deviation: float = deviation) -> float:
            def inside(z: float) -> float:
                return float(units.told(mean + deviation * z)) ** power * float(norm.pdf(z))

            return float(quad(inside, -9, 9, limit=400, points=np.linspace(-4, 4, 9))[0])

        found = units.moments(np.array([mean]), np.array([deviation]))
        assert found[0][0] == pytest.approx(moment(1), rel=2e-3, abs=1e-4)
        assert found[1][0] == pytest.approx(math.sqrt(moment(2) - moment(1) ** 2), rel=3e-2)


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(0.01, 3)), min_size=1, max_size=4), st.floats(0.02, 0.98))
def test_quantiles_of_mixtures_agree_with_a_root_finder(parts: list[tuple[float, float]], level: float) -> None:
    means, deviations = (np.array(column)[:, None] for column in zip(*parts, strict=True))

    def excess(x: float) -> float:
        return float(norm.cdf(x, means, deviations).mean() - level)

    expected = brentq(excess, -30, 30)
    found = mixture_quantile(means, deviations, level)
    assert found[0] == pytest.approx(expected, abs=1e-6)
    score = mixture_scores(found, means, deviations)[0]
    assert norm.cdf(score) == pytest.approx(level, abs=1e-6)


# ---------------------------------------------------------------------------------------------------------------- paths


@pytest.mark.parametrize("kernel", KERNELS)
def test_paths_have_the_moments_of_the_posterior(kernel: str) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random((12, 2)), rng.integers(0, 3, 12)]).astype(np.float64)
    domain = uhebo.space.SearchSpace.of(
        {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1), "k": CategoricalDistribution([0, 1, 2])}
    ).domain
    data = Data.of(X, np.sin(5 * X[:, 0]) + X[:, 1] * X[:, 2], domain)
    posterior = Posterior.of(data, Theta.of([0.4, 0.6, 1.2], 1.3, 0.02), KERNELS[kernel])
    rows = np.column_stack([rng.random((30, 2)), rng.integers(0, 3, 30)]).astype(np.float64)
    drawn = np.concatenate([sample_paths(posterior, np.random.default_rng(seed), 50)(rows) for seed in range(60)])
    mean, variance = posterior.predict(rows)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.08)
    np.testing.assert_allclose(drawn.var(axis=0), variance, atol=0.1, rtol=0.15)


def test_the_shell_judges_the_model_of_the_method_that_was_chosen(tmp_path: Path) -> None:
    """Before any suggestion too, when all there is was told."""
    place, results = tmp_path / "lab.db", tmp_path / "results.csv"
    rows = np.random.default_rng(0).random((12, 2))
    results.write_text("x,y,value\n" + "\n".join(f"{x},{y},{branin(x, y)}" for x, y in rows))
    for args in (
        ["create", "--param", "x=0.0:1.0", "--param", "y=0.0:1.0", "--method", "map"],
        ["tell", "--csv", str(results)],
    ):
        with pytest.raises(SystemExit) as ended:
            main([args[0], str(place), *args[1:]])
        assert not ended.value.code
    study = optuna.load_study(study_name=None, storage=f"sqlite:///{place}")
    assert model_of(study).borrowed is None
    assert believe(study).prior.name == "paper"


@pytest.fixture
def long_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of more than 60 trials counts as long."""
    for name, size in (("MOST", 60), ("BEST", 12), ("LATEST", 6), ("SAMPLED", 20)):
        monkeypatch.setattr(condense, name, size)
    monkeypatch.setattr(condense, "NEIGHBOURS", 8)


def test_the_sample_of_a_long_log_has_the_best_and_latest_and_changes_little() -> None:
    y = np.random.default_rng(0).standard_normal(3000)
    assert condense.condensed_rows(y[: condense.MOST]) is None
    rows, later = condense.condensed_rows(y[:2999]), condense.condensed_rows(y)
    assert rows is not None
    assert later is not None
    assert len(rows) == len(set(rows)) == condense.BEST + condense.LATEST + condense.SAMPLED - overlap(y[:2999])
    assert set(np.argsort(-y[:2999])[: condense.BEST]) <= set(rows)
    assert set(range(2999 - condense.LATEST, 2999)) <= set(rows)
    assert len(set(rows) ^ set(later)) <= 4
    assert (np.diff(rows) > 0).all()


def overlap(y: Array) -> int:
    """How many of the best are among the latest."""
    return len(set(np.argsort(-y)[: condense.BEST]) & set(range(len(y) - condense.LATEST, len(y))))


def long_study(n: int, **options: Any) -> optuna.Study:
    rng = np.random.default_rng(0)
    study = optuna.create_study(direction="maximize", sampler=UHESampler(seed=0, n_startup_trials=10, **options))
    space: dict[str, BaseDistribution] = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}
    for x, y in rng.random((n, 2)).tolist():
        value = -((x - 0.3) ** 2) - (y - 0.6) ** 2
        study.add_trial(optuna.create_trial(params={"x": x, "y": y}, distributions=space, value=value))
    return study


def step_of(study: optuna.Study) -> Step:
    sampler = study.sampler
    assert isinstance(sampler, UHESampler)
    return sampler.step(study, len(study.trials), sampler.search_space(study))


@pytest.mark.usefixtures("long_logs")
def test_a_suggestion_in_a_long_log_has_some_of_it_and_everything_else_all() -> None:
    study = long_study(100)
    step = step_of(study)
    assert len(step.fit("map").posterior.data) < 40
    assert len(step.believe().posterior.data) == 100
    assert len(believe(study).posterior.data) == 100
    assert len(step_of(long_study(60)).fit("map").posterior.data) == 60
    assert len(step_of(long_study(100, exact=True)).fit("map").posterior.data) == 100


@pytest.mark.usefixtures("long_logs")
def test_what_the_first_look_does_not_know_the_second_one_does() -> None:
    step = step_of(long_study(100))
    fit, kept = step.fit("map"), step.kept
    assert kept is not None
    unknown = np.setdiff1d(np.arange(100), kept)[:4]
    points = step.data.X[unknown]
    first, pending = fit.posterior, np.array([[0.9, 0.9]])
    grown = first.grow(pending, np.zeros(1))
    (second,) = condense.second_look((grown,), step.data, len(kept), points)
    assert (second.predict(points)[1] < 0.2 * first.predict(points)[1]).all()
    whole = Posterior.of(step.data.with_values(pending, np.zeros(1)), fit.theta, fit.kernel)
    np.testing.assert_allclose(second.predict(points)[0], whole.predict(points)[0], atol=0.02)
    assert second.data.X[-1].tolist() == [0.9, 0.9]
    # Also where as many points are pending as were left out.
    crowded = first.grow(np.random.default_rng(1).random((70, 2)), np.full(70, 9.0))
    assert step._incumbent((crowded,)) == pytest.approx(crowded.smoothed[: len(kept)].max())
    assert second.predict(pending)[1][0] < 0.2 * first.predict(pending)[1][0]


@pytest.mark.usefixtures("long_logs")
@pytest.mark.parametrize("method", ["auto", "map", "uhe", "hp-gp-ts", "pe-gp-ucb"])
def test_searches_in_long_logs_go_on_and_find_what_short_ones_find(method: str) -> None:
    constrained = {"constraints_func": lambda trial: trial.params["x"] - 0.25} if method == "auto" else {}
    study = long_study(100, method=method, **constrained)
    space: dict[str, BaseDistribution] = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}
    for _ in range(12):
        waiting = [study.ask(space) for _ in range(2)]
        for trial in waiting:
            study.tell(trial, -((trial.params["x"] - 0.3) ** 2) - (trial.params["y"] - 0.6) ** 2)
    found = [trial for trial in study.trials[100:] if method != "auto" or trial.params["x"] <= 0.25]
    assert max(trial.value or -1.0 for trial in found) > -0.004
