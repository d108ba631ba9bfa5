"""The diagnosis: six made-up studies get the right verdict, and every figure agrees with an independent computation."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import optuna
import pytest
from numpy.typing import NDArray
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from tests.conftest import require
from uhebo import UHESampler
from uhebo.diagnosis import Diagnosis, Section, diagnose, lengthscale_history
from uhebo.diagnosis.prospects import chance_of_improvement
from uhebo.diagnosis.words import say_search
from uhebo.errors import InvalidInputError
from uhebo.gp import Data, Posterior, Theta

Array = NDArray[np.float64]
Rng = np.random.Generator
SEEDS = range(3)
NAMES = "abcdefgh"
PLAIN = UHESampler(method="map", prior="dim-scaled", seed=0)
"""A model whose values are not warped, so that other libraries can be asked for the same figures."""


def made(
    X: Array,
    y: Array,
    direction: Literal["minimize", "maximize"] = "maximize",
    tags: list[dict[str, Any]] | None = None,
) -> optuna.Study:
    """A study with these points of the unit cube, added by hand."""
    study = optuna.create_study(direction=direction)
    names = NAMES[: X.shape[1]]
    for i, (row, value) in enumerate(zip(X, y, strict=True)):
        study.add_trial(
            create_trial(
                params=dict(zip(names, row.tolist(), strict=True)),
                distributions={name: FloatDistribution(0.0, 1.0) for name in names},
                value=float(value),
                system_attrs={"uhebo:step": tags[i]} if tags else {},
            )
        )
    return study


def noise_drowns_signal(rng: Rng) -> tuple[Array, Array]:
    X = rng.random((40, 2))
    return X, 0.1 * np.sin(3 * X[:, 0]) + rng.standard_normal(40)


def fast_wiggle_in_one_part(rng: Rng) -> tuple[Array, Array]:
    X = rng.random((40, 1))
    return X, X[:, 0] + np.where(X[:, 0] > 0.6, np.sin(60 * X[:, 0]), 0.0)


def step(rng: Rng) -> tuple[Array, Array]:
    X = rng.random((40, 2))
    return X, 0.3 * X[:, 0] + 0.3 * X[:, 1] + (X[:, 0] > 0.6)


def clustered(rng: Rng) -> tuple[Array, Array]:
    X = np.concatenate([0.7 + 0.02 * rng.random((25, 2)), rng.random((5, 2))])
    return X, np.sin(3 * X[:, 0]) - (X[:, 1] - 0.4) ** 2


def constant(rng: Rng) -> tuple[Array, Array]:
    return rng.random((20, 2)), np.full(20, 3.25)


def healthy_smooth(rng: Rng) -> tuple[Array, Array]:
    X = rng.random((40, 2))
    return X, np.sin(5 * X[:, 0]) + np.cos(4 * X[:, 1])


NOISE = 0.15


def healthy_noisy(rng: Rng) -> tuple[Array, Array]:
    X = rng.random((50, 2))
    return X, np.sin(3 * X[:, 0]) - (X[:, 1] - 0.4) ** 2 + NOISE * rng.standard_normal(50)


MADE_UP: list[tuple[Callable[[Rng], tuple[Array, Array]], str, tuple[str, ...]]] = [
    (noise_drowns_signal, "noise-dominates", ("do not trust",)),
    (fast_wiggle_in_one_part, "misspecified", ("caution", "do not trust")),
    (step, "misspecified", ("caution", "do not trust")),
    (clustered, "clustered", ("caution", "do not trust")),
    (constant, "constant", ("do not trust",)),
    (healthy_smooth, "healthy-smooth", ("trust",)),
    (healthy_noisy, "healthy-noisy", ("trust",)),
]


@pytest.mark.parametrize(("make", "kind", "verdicts"), MADE_UP, ids=[row[0].__name__ for row in MADE_UP])
def test_the_made_up_studies_get_the_right_verdict(
    make: Callable[[Rng], tuple[Array, Array]], kind: str, verdicts: tuple[str, ...]
) -> None:
    for seed in SEEDS:
        study = made(*make(np.random.default_rng(seed)))
        found = diagnose(study, hmc=seed == 0)  # HMC gives intervals, and no verdict hangs on them
        assert (found.kind, found.verdict in verdicts) == (kind, True), f"seed {seed}: {found}"
        check_form(found)
        if kind == "healthy-noisy":
            assert "noise" in found.headline
        if kind == "noise-dominates":
            assert "noise" in found.headline
            assert "Repeat the best point 3 times" in found.next_action
        if kind == "clustered":
            assert "random points" in found.next_action


JARGON = (
    "posterior|prior|hyperparameter|lengthscale|kernel|likelihood|leave-one-out|LOO|MAP|HMC|ARD|Sobol|GP|Gaussian|"
    "acquisition|covariance|Thompson|stationary|heterosc|misspecif|R²|calibrat|nats|jitter|epsilon|sigma|EXP3"
)


def check_form(found: Diagnosis) -> None:
    """Plain words in the verdict, plain text in the sections, plain values in the dictionary."""
    for text in (found.headline, *found.reasons, found.next_action):
        assert not re.search(JARGON, text), text
        assert text == text.strip()
        assert text.endswith((".", ")"))
        assert "nan" not in text.split()
    if "surrogate" in found.headline:
        assert "surrogate (the model fitted to your trials)" in found.headline
    for section in found.sections():
        assert isinstance(section, Section)
        assert all(len(row) == len(section.columns) for row in section.rows)
        assert all(isinstance(cell, str) and cell for row in (section.columns, *section.rows) for cell in row)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["verdict"] == found.verdict
    printed = str(found)
    assert found.headline.split()[-1] in printed
    assert max(map(len, printed.splitlines())) <= 120


def test_leave_one_out_agrees_with_refits_by_scikit_learn() -> None:
    gaussian_process = require("sklearn.gaussian_process", "pip install scikit-learn")
    kernels = require("sklearn.gaussian_process.kernels", "pip install scikit-learn")
    X, y = healthy_noisy(np.random.default_rng(3))
    study = made(X, y, "minimize")
    study.sampler = PLAIN
    found = diagnose(study, hmc=False)
    calibration, believed = found.calibration, found.hyperparameters
    assert calibration is not None
    assert believed is not None
    location, scale = y.mean(), y.std()
    ell = [item.model for item in believed.lengthscales]
    kernel = kernels.ConstantKernel(believed.signal.model**2) * kernels.Matern(ell, nu=2.5)
    mean, deviation = np.empty(len(y)), np.empty(len(y))
    s2 = believed.noise.model**2
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        model = gaussian_process.GaussianProcessRegressor(kernel, alpha=s2, optimizer=None)
        model.fit(X[others], (y[others] - location) / scale)
        m, s = model.predict(X[[i]], return_std=True)
        mean[i], deviation[i] = location + scale * m[0], scale * math.sqrt(s[0] ** 2 + s2)
    np.testing.assert_allclose(calibration.y, y, rtol=1e-12)
    np.testing.assert_allclose(calibration.loo_mean, mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(calibration.loo_sd, deviation, rtol=1e-6)
    z = (y - mean) / deviation
    np.testing.assert_allclose(calibration.residuals, z, rtol=1e-5, atol=1e-6)
    assert calibration.r2 == pytest.approx(1 - np.sum((y - mean) ** 2) / np.sum((y - y.mean()) ** 2), rel=1e-6)
    assert calibration.residual_sd == pytest.approx(math.sqrt(np.mean(z**2)), rel=1e-6)
    assert calibration.largest_residual_trial == int(np.argmax(np.abs(z)))
    for item, half_width in zip(calibration.coverage, (0.6744898, 1.2815516, 1.9599640), strict=True):
        assert item.inside == sum(abs(value) <= half_width for value in z)
        assert item.share == pytest.approx(item.inside / 50)
        chances = [math.comb(50, k) * item.level**k * (1 - item.level) ** (50 - k) for k in range(51)]
        total = np.cumsum(chances)
        assert item.band_low == pytest.approx(int(np.argmax(total >= 0.025)) / 50)
        assert item.band_high == pytest.approx(int(np.argmax(total >= 0.975)) / 50)
        assert not item.too_low


def test_parameters_that_matter_agree_with_the_analytic_indices() -> None:
    X = np.random.default_rng(0).random((40, 3))
    additive = diagnose(made(X, 3 * X[:, 0] + X[:, 1]), hmc=False).importance
    by_name = {item.name: item for item in additive}
    assert [item.name for item in additive[:2]] == ["a", "b"]
    for name, share in (("a", 0.9), ("b", 0.1), ("c", 0.0)):
        assert by_name[name].first_order == pytest.approx(share, abs=0.01)
        assert by_name[name].total == pytest.approx(share, abs=0.01)
    assert sum(item.relevance for item in additive) == pytest.approx(1.0)
    # f = a·b on the unit square: V = 7/144, the variance of E[f | a] = a/2 is 1/48.
    product = {item.name: item for item in diagnose(made(X, X[:, 0] * X[:, 1]), hmc=False).importance}
    for name in "ab":
        assert product[name].first_order == pytest.approx(3 / 7, abs=0.02)
        assert product[name].total == pytest.approx(4 / 7, abs=0.02)


def test_noise_agrees_with_the_truth_and_with_repeats() -> None:
    for seed in SEEDS:
        found = diagnose(made(*healthy_noisy(np.random.default_rng(seed))), hmc=seed < 2).noise
        assert found is not None
        assert found.deviation == pytest.approx(NOISE, rel=0.35)
        if found.low is not None and found.high is not None:
            assert 0.5 * NOISE < found.low < found.deviation * 1.2
            assert found.low < NOISE < found.high < 2 * NOISE
    X, y = healthy_noisy(np.random.default_rng(0))
    again = np.concatenate([X, X[:3], X[:3]]), np.concatenate([y, y[:3] + 0.2, y[:3] - 0.1])
    study = made(*again)
    noise = diagnose(study, hmc=False).noise
    assert noise is not None
    assert noise.repeats == 6
    assert noise.measured == pytest.approx(np.std([0.0, 0.2, -0.1], ddof=1))
    assert noise.value_range == pytest.approx(np.ptp(again[1]))
    assert noise.share_of_range == pytest.approx(noise.deviation / np.ptp(again[1]))


def test_hyperparameters_stand_side_by_side() -> None:
    study = made(*healthy_smooth(np.random.default_rng(0)))
    study.sampler = PLAIN
    believed = diagnose(study).hyperparameters
    assert believed is not None
    assert [item.name for item in believed.estimates] == ["a", "b", "signal", "noise"]
    for item in believed.estimates:
        assert item.apart == pytest.approx(max(item.map / item.consistent, item.consistent / item.map))
        assert item.hmc_low is not None
        assert item.hmc_high is not None
        assert 0.0 < item.hmc_low < item.hmc_high
    assert all((item.hmc_low or 0.0) <= item.map <= (item.hmc_high or 0.0) for item in believed.lengthscales)
    assert believed.acceptance is not None
    assert 0.4 < believed.acceptance < 1.0


def matern52(a: Array, b: Array, ell: Array) -> Array:
    r = np.sqrt((((a[:, None] - b[None]) / ell) ** 2).sum(axis=-1))
    return np.asarray((1 + math.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-math.sqrt(5) * r))


def test_chance_of_improvement_agrees_with_brute_force() -> None:
    rng = np.random.default_rng(0)
    X, points = rng.random((8, 2)), rng.random((40, 2))
    data = Data.of(X, np.sin(6 * X[:, 0]) + X[:, 1])
    ell, v, s2 = np.array([0.4, 0.6]), 1.2, 0.01
    posterior = Posterior.of(data, Theta.of(ell, v, s2))
    for incumbent, epsilon in ((X[int(np.argmax(data.y))], 0.05), (X[int(np.argmax(data.y))], 0.8), (X[0], 0.3)):
        rows = np.concatenate([incumbent[None], points])
        inverse = np.linalg.inv(v * matern52(X, X, ell) + s2 * np.eye(8))
        cross = v * matern52(X, rows, ell)
        mean = cross.T @ inverse @ data.y
        covariance = v * matern52(rows, rows, ell) - cross.T @ inverse @ cross
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        brute, hits, rounds = np.random.default_rng(1), 0, 4000
        for _ in range(rounds):
            truth = mean + root @ brute.standard_normal(len(rows))
            picks = [int(np.argmax(mean + root @ brute.standard_normal(len(rows)))) for _ in range(10)]
            hits += max(truth[pick] for pick in picks) - truth[0] > epsilon
        chance = chance_of_improvement([posterior], incumbent, points, epsilon, np.random.default_rng(2), draws=8000)
        assert chance == pytest.approx(hits / rounds, abs=0.03)


def test_stagnation_and_epsilon_are_in_the_units_of_the_value() -> None:
    X = np.random.default_rng(0).random((30, 2))
    y = 1000.0 * (X**2).sum(axis=1)
    found = diagnose(made(X, y, "minimize"), hmc=False).prospects
    assert found is not None
    best = int(np.argmin(y))
    assert (found.best_number, found.since_improvement) == (best, 29 - best)
    assert found.best_value == pytest.approx(y[best])
    assert found.epsilon == pytest.approx(0.01 * float(np.subtract(*np.quantile(y, (0.75, 0.25)))))
    nothing_left = diagnose(made(X, y, "minimize"), hmc=False, epsilon=1000.0).prospects
    much_left = diagnose(made(X, -y, "minimize"), hmc=False, epsilon=1.0).prospects  # the corner was not tried
    assert nothing_left is not None
    assert much_left is not None
    assert nothing_left.epsilon == pytest.approx(1000.0)
    assert nothing_left.chance == pytest.approx(0.0, abs=0.01)
    assert much_left.chance == pytest.approx(1.0, abs=0.01)


def test_tags_give_random_share_arms_trouble_and_history() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((14, 2))
    X[10], X[11], X[12, 1] = X[4], X[3], 1.0
    model = {"role": "model", "estimator": "consistent", "theta": [-1.0, -2.0, 0.0, -6.0]}
    tags: list[dict[str, Any]] = [{"role": "initial", "t": 0} for _ in range(6)]
    tags += [{"role": "random", "t": 1, "arm": 0, "p": 0.5}, {**model, "t": 2, "arm": 0, "p": 0.5}]
    tags += [{**model, "t": 3, "arm": 1, "p": 0.6}, {**model, "t": 4, "arm": 1, "p": 0.6, "jitter": 1e-9}]
    tags += [{**model, "t": 5, "arm": 1, "p": 0.7}, {**model, "t": 6, "arm": 1, "p": 0.7, "converged": False}]
    tags += [{**model, "t": 7, "arm": 0, "p": 0.2}, {}]
    tags[8] = {**tags[8], "fallback": "moderate theta"}
    X[13] = X[0]  # added by the user: a repeat on purpose
    study = made(X, X.sum(axis=1), tags=tags)
    search = diagnose(study, hmc=False).search
    assert search.roles == {"initial": 6, "random": 1, "model": 6, "other": 1}
    assert search.random_share == pytest.approx(1 / 7)
    assert [t for t, _ in search.arm_weights] == [1, 3, 5, 7]
    np.testing.assert_allclose(
        [pair for _, pair in search.arm_weights], [(0.5, 0.5), (0.4, 0.6), (0.3, 0.7), (0.2, 0.8)]
    )
    assert search.repeated_numbers == (10, 11)
    assert search.boundary == (("b", "upper", 1),)
    assert search.boundary_share == pytest.approx(1 / 6)
    assert (search.jittered, search.fallbacks, search.unconverged) == (1, {"moderate theta": 1}, 1)
    (why,) = [line for line in say_search(search) if line.startswith("Moderate theta: ")]
    assert "Cholesky factor; remove repeated points" in why
    recorded = lengthscale_history(study)
    assert recorded.names == ("a", "b")
    assert [number for number, _ in recorded.by_estimator["consistent"]] == [7, 8, 9, 10, 11, 12]
    assert recorded.by_estimator["consistent"][0][1] == (-1.0, -2.0, 0.0, -6.0)
    assert set(recorded.by_estimator) == {"consistent"}
    fitted = lengthscale_history(study, every=7)
    assert [number for number, _ in fitted.by_estimator["map"]] == [6, 13]
    assert fitted.by_estimator["consistent"] == recorded.by_estimator["consistent"]


def test_a_study_of_our_own_sampler() -> None:
    study = optuna.create_study(sampler=UHESampler(method="uhe", n_trials=30, seed=0, kernel="matern32"))
    study.optimize(lambda t: (t.suggest_float("x", -5, 5) - 1) ** 2 + t.suggest_int("k", 1, 20), n_trials=30)
    found = diagnose(study)
    tags = [trial.system_attrs["uhebo:step"] for trial in study.trials]
    assert found.search.roles == {role: sum(t["role"] == role for t in tags) for role in {t["role"] for t in tags}}
    assert [t for t, _ in found.search.arm_weights] == [t["t"] for t in tags if t["t"] % 2 == 1]
    assert found.hyperparameters is not None
    assert found.hyperparameters.kernel == "matern32"
    assert any(section.title == "Random or model over time" for section in found.sections())
    assert found.search.best_at_bound == (() if study.best_params["k"] > 1 else (("k", "lower"),))
    check_form(found)


def of_trials(objective: Callable[[optuna.Trial], float], count: int = 20) -> optuna.Study:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=count, catch=(ArithmeticError,))
    return study


def shifted(value: Callable[[Array], Array], count: int = 30) -> optuna.Study:
    X = np.random.default_rng(0).random((count, 2))
    return made(X, value(X.sum(axis=1)))


def with_value(place: int, value: float) -> Callable[[Array], Array]:
    return lambda y: np.where(np.arange(len(y)) == place, value, y)


def every_second(trial: optuna.Trial) -> float:
    return trial.suggest_float("a" if trial.number % 2 else "b", 0.0, 1.0)


def categories(trial: optuna.Trial) -> float:
    return {"u": 1.0, "v": 2.0, "w": 5.0}[trial.suggest_categorical("c", ["u", "v", "w"])]


ODD: dict[str, tuple[Callable[[], optuna.Study], set[str]]] = {
    "no trial": (optuna.create_study, {"too-few"}),
    "all failed": (lambda: of_trials(lambda _: 1 / 0), {"too-few"}),
    "three": (lambda: of_trials(lambda trial: trial.suggest_float("x", 0, 1), 3), {"too-few"}),
    "five": (lambda: of_trials(lambda trial: trial.suggest_float("x", 0, 1), 5), {"too-few", "healthy-smooth"}),
    "random five": (lambda: shifted(lambda y: np.random.default_rng(1).random(len(y)), 5), {"too-few"}),
    "one parameter": (lambda: of_trials(lambda trial: trial.suggest_float("x", 0, 1) ** 2), {"healthy-smooth"}),
    "categorical only": (lambda: of_trials(categories), {"healthy-smooth"}),
    "by turns": (lambda: of_trials(every_second), {"healthy-smooth"}),
    "no parameter": (lambda: of_trials(lambda trial: float(trial.number)), {"no-parameters"}),
    "one x": (lambda: made(np.full((40, 2), 0.4), np.random.default_rng(0).random(40)), {"clustered"}),
    "one x, one y": (lambda: made(np.full((40, 2), 0.4), np.ones(40)), {"constant"}),
    "an outlier": (lambda: shifted(with_value(7, 1e6)), {"outlier"}),
    "huge": (lambda: shifted(lambda y: 1e300 * y), {"healthy-smooth"}),
    "tiny": (lambda: shifted(lambda y: 1e-300 * y), {"healthy-smooth"}),
    "all infinite": (lambda: shifted(lambda y: y + math.inf), {"too-few"}),
    "one infinite": (lambda: shifted(with_value(3, -math.inf)), {"healthy-smooth", "misspecified", "weak"}),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_studies_get_a_clear_verdict(name: str) -> None:
    build, kinds = ODD[name]
    found = diagnose(build(), hmc=name in ("five", "one x"))
    assert found.kind in kinds
    check_form(found)
    if name == "an outlier":
        assert "trial 7" in found.next_action
    if name == "all failed":
        assert found.trials.failed == 20
        assert "fail" in found.next_action
    if name == "by turns":
        assert found.names == ("a", "b")
        assert found.conditional == {}  # nothing in the trials explains which of the two they have
    if name == "one infinite":
        assert any("1 infinite value" in reason for reason in found.reasons)


def test_mixed_parameters_running_and_out_of_range_trials() -> None:
    study = optuna.create_study()
    rng = np.random.default_rng(0)
    distributions = {
        "lr": FloatDistribution(1e-5, 1e-1, log=True),
        "depth": IntDistribution(2, 12),
        "kind": CategoricalDistribution(["x", "y"]),
    }
    for i in range(30):
        lr, depth, kind = 10 ** rng.uniform(-5, -1), int(rng.integers(2, 13)), "xy"[rng.integers(2)]
        params: dict[str, Any] = {"lr": lr, "depth": depth, "kind": kind}
        value = (math.log10(lr) + 3) ** 2 + 0.1 * depth + (kind == "y")
        study.add_trial(create_trial(params=params, distributions=distributions, value=value))
        if i % 10 == 0:
            study.add_trial(create_trial(params=params, distributions=distributions, state=TrialState.FAIL))
    wide = {**distributions, "depth": IntDistribution(2, 99)}
    study.add_trial(create_trial(params={"lr": 0.01, "depth": 50, "kind": "x"}, distributions=wide, value=5.0))
    first = study.trials[0]
    study.add_trial(create_trial(params=first.params, distributions=distributions, value=first.value))
    study.ask()
    found = diagnose(study, hmc=False)
    assert found.verdict == "trust"
    assert (found.trials.total, found.trials.finished, found.trials.failed, found.trials.running) == (36, 32, 3, 1)
    assert found.trials.usable == 31
    check_form(found)


def test_same_seed_same_diagnosis_and_hmc_changes_nothing_else() -> None:
    study = made(*healthy_noisy(np.random.default_rng(0)))
    first, second, without = diagnose(study), diagnose(study), diagnose(study, hmc=False)
    assert first.to_dict() == second.to_dict()
    assert (first.kind, first.verdict) == (without.kind, without.verdict)
    assert first.importance == without.importance
    assert first.regions == without.regions
    assert without.hyperparameters is not None
    assert without.hyperparameters.noise.hmc_low is None


def test_direction_changes_the_signs_and_nothing_else() -> None:
    X, y = healthy_noisy(np.random.default_rng(1))
    up, down = diagnose(made(X, y), hmc=False), diagnose(made(X, -y, "minimize"), hmc=False)
    assert up.calibration is not None
    assert down.calibration is not None
    np.testing.assert_allclose(up.calibration.loo_mean, -down.calibration.loo_mean)
    np.testing.assert_allclose(up.calibration.residuals, -down.calibration.residuals)
    assert (up.kind, up.noise, up.importance) == (down.kind, down.noise, down.importance)


def test_names_are_plain_text_in_every_section() -> None:
    name = "<b>η</b>; DROP TABLE 🧪"
    study = of_trials(lambda trial: trial.suggest_float(name, 0, 1) ** 2, 12)
    found = diagnose(study, hmc=False)
    assert any(name in cell for section in found.sections() for row in section.rows for cell in row)
    check_form(found)


def test_bad_arguments_are_refused_by_name() -> None:
    with pytest.raises(InvalidInputError, match="name one objective"):
        diagnose(optuna.create_study(directions=["minimize", "maximize"]))
    for epsilon in (-1.0, math.nan, math.inf, "a"):
        with pytest.raises(InvalidInputError, match="epsilon"):
            diagnose(optuna.create_study(), epsilon=epsilon)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="seed"):
        diagnose(optuna.create_study(), seed=-1)
    with pytest.raises(InvalidInputError, match="every"):
        lengthscale_history(optuna.create_study(), every=0)


def test_no_warning_escapes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        diagnose(made(*healthy_smooth(np.random.default_rng(0))), hmc=False)
