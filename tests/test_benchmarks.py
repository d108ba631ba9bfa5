"""How the benchmarks measure, where that is easily got wrong, and that the tables of the pages follow from records."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, get_args
from unittest.mock import patch

import numpy as np
import optuna
import pytest
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import uhebo
from tests.conftest import require
from tests.pages import ROOT
from uhebo.acquire.functions import log_ei
from uhebo.estimate import fit
from uhebo.gp import Data, Posterior, Theta
from uhebo.methods import Step
from uhebo.methods.auto import RECIPE
from uhebo.optuna_.trial_log import ATTRIBUTE
from uhebo.space import SearchSpace
from uhebo.types import Array
from uhebo_experiments.benchmarks import (
    candidate_models,
    choose,
    compare,
    fit_readings,
    many_parameters,
    suggest,
    tuning,
)
from uhebo_experiments.benchmarks.candidate_models import ManyByEvidence, NoiseByEvidence, WideStarts, wide_starts
from uhebo_experiments.benchmarks.candidates import AGAIN, CANDIDATES, DEFAULT, log_noisy_ei, own_priors
from uhebo_experiments.benchmarks.common import sections
from uhebo_experiments.benchmarks.tuning import Difference, Run, main, scores
from uhebo_experiments.benchmarks.verdicts import check, report, studies
from uhebo_experiments.problems.generated import FAMILIES, STREAMS, generated
from uhebo_experiments.problems.sets import REPORTING
from uhebo_experiments.problems.trained import DATA, HELD_OUT, Purpose, data_set, tables
from uhebo_experiments.table import CLOCK, RUNS, Table

TUNING = ROOT / "results" / "tuning"
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)
VERDICTS = ROOT / "results" / "verdicts.md"


def test_a_suggestion_is_a_mean_without_the_cold_one_and_on_one_thread_from_the_first_library_on() -> None:
    torch = require("torch", "pip install torch==2.13.0")
    before = torch.get_num_threads()
    threads: list[int] = []

    def library(X: Array, y: Array, asked: int) -> list[float]:
        assert X.shape == (len(y), 6)
        threads.append(torch.get_num_threads())
        return [100.0, *([1.0] * (asked - 2)), 5.0]  # the cold one, those between two fits, one with a fit

    try:
        torch.set_num_threads(2)
        records = suggest.measured({suggest.DEFAULT: library, "other": library}, 20, 0)
    finally:
        torch.set_num_threads(before)
    assert threads == [1, 1]
    assert records == [
        {"library": suggest.DEFAULT, "seconds": (7 + 5) / 8},
        {"library": "other", "seconds": (5 + 5) / 6},
    ]


def test_ours_is_asked_often_enough_to_fit() -> None:
    """Theta is kept for up to six suggestions with 1,000 observations, pending ones or not."""
    assert {suggest.repeats(name, 1000) for name in suggest.OURS} == {15}
    assert {suggest.repeats(name, 1000) for name in suggest.PEERS} == {3}


def test_ratios_are_to_the_fastest_peer_of_the_same_run() -> None:
    seconds: suggest.Seconds = {name: {20: [1.0, 2.0]} for name in suggest.OURS}
    fast, *slow = suggest.PEERS
    seconds |= {fast: {20: [10.0, 30.0]}, **{name: {20: [12.0, 24.0]} for name in slow}}
    assert suggest.ratio_rows(seconds)[0] == [suggest.DEFAULT, "11.0× (10.0 to 12.0)"]
    assert suggest.pending_row(seconds) == ["20 pending / none", "1.00"]
    runs = [({"points": 500, "run": run}, [{"seconds": each}]) for run, each in enumerate(([2.0, 1.0, 1.0], [3.0] * 3))]
    assert suggest.long_rows(runs) == [["500", "2.17", "2.5", "3", "2"]]


def test_the_committed_tables_follow_from_the_committed_records() -> None:
    results = ROOT / "results"
    runs, peaks = Table(results / "reproduction" / RUNS), Table(results / "peaks" / RUNS)
    timed = choose.read_runs(Table(results / "reproduction" / CLOCK))
    made = {
        "methods.md": sections(choose.tables(choose.read_runs(runs), timed)),
        "peers.md": sections(compare.tables(runs, peaks, results / "peers-earlier.csv")),
    }
    committed = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "tables").iterdir()}
    assert made == committed


def test_fits_of_readings_are_ratios_to_map_on_the_same_points() -> None:
    small = {"map": [1.0, 2.0, 1.0], "observed": [1.0, 3.0, 3.0], "distinct": [0.5, 1.0, 0.5], "drawn": [2.0, 4.0, 2.0]}
    large = {name: [4.0 * s for s in taken] for name, taken in small.items()}
    assert fit_readings.rows({100: small, 200: large}) == [
        ["100", "1000.0", "1.50×", "0.50×", "2.00×", ""],
        ["200", "4000.0", "1.50×", "0.50×", "2.00×", "2.00"],
    ]


# Priors for many parameters


def test_the_page_of_many_parameters_follows_from_its_records() -> None:
    folder = ROOT / "results" / "many_parameters"
    page, table = (folder / "many_parameters.md").read_text(encoding="utf-8"), Table(folder / RUNS)
    seeds = int(page.partition("seeds 0-")[2].split()[0]) + 1
    names = [(prior, name) for name in many_parameters.PROBLEMS for prior in many_parameters.PRIORS]
    cells = [many_parameters.Run(*name, seed) for seed in range(seeds) for name in names]
    results = {cell: records for cell in cells if (records := table.records(cell)) is not None}
    assert len(results) == len(cells)
    assert many_parameters.tables(results, seeds) in page


# Verdicts and importances against the truth


def test_verdicts_are_right_and_intervals_hold_the_truth() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    known = studies(2)
    checked = [check(item, index // 5) for index, item in enumerate(known)]
    assert [item.known.name for item in checked if not item.right] == []
    held = [value for item in checked if item.truth for value in item.covered]
    assert np.mean(held) >= 0.8
    rows = report(checked).splitlines()
    assert f"| all | 10 of 10 | {sum(held)} of {len(held)}" in "\n".join(rows)
    # The committed page has the same studies first: same verdicts, and the same truth to two digits.
    committed = VERDICTS.read_text(encoding="utf-8").splitlines()
    for row in rows[-len(known) :]:
        name = row.partition(" (")[0]
        assert any(line.startswith(name) for line in committed), row


def test_the_committed_page_keeps_the_promise() -> None:
    right, held = re.findall(r"^\| all \| 30 of (\d+) \| .*\((\d+)%\) \|$", VERDICTS.read_text(encoding="utf-8"), re.M)[
        0
    ]
    assert int(right) == 30
    assert int(held) >= 80


# Candidates for the default on problems drawn at random


@pytest.mark.parametrize("index", range(len(FAMILIES)))
def test_no_uniform_point_is_above_the_optimum_and_values_are_those_of_the_seed(index: int) -> None:
    case = generated("tuning", index)
    assert case.family == FAMILIES[index % len(FAMILIES)]
    assert 1 <= len(case.space) <= 30
    assert 20 <= case.trials <= 200
    space = SearchSpace.of(case.space)
    points = [space.decode(row) for row in space.snap(space.domain.uniform(np.random.default_rng(1), 60))]
    values = [case.value(point) for point in points]
    assert max(values) <= case.optimum + 1e-9
    generated.cache_clear()
    again = generated("tuning", index)
    assert [again.value(point) for point in points] == values
    told = [case.observe(point, np.random.default_rng(0)) for point in points]
    assert (told != values) == case.noisy


def test_problems_to_choose_on_and_to_report_on_never_meet() -> None:
    """No seed of a random number, no data set and no problem is both."""
    assert len(set(STREAMS.values())) == len(PURPOSES)
    assert all(value >= 0 for value in STREAMS.values())
    assert not set(DATA["tuning"]) & set(DATA["reporting"])
    compared = {part for name in REPORTING for part in name.split("-")}
    assert not set(DATA["tuning"]) & compared
    states = {
        p: {str(np.random.SeedSequence([STREAMS[p], i]).generate_state(4)) for i in range(3000)} for p in PURPOSES
    }
    assert len(states["tuning"]) == len(states["reporting"]) == 3000
    assert not states["tuning"] & states["reporting"]
    for index in range(len(FAMILIES)):
        ours, others = (generated(purpose, index) for purpose in PURPOSES)
        assert (ours.reference, ours.space) != (others.reference, others.space)


def test_a_table_has_the_scores_that_the_models_have() -> None:
    known = {table.name: table for table in tables("tuning")}
    table = known["neighbours-wine"]
    X, y = data_set("wine")
    parts = train_test_split(X, y, test_size=HELD_OUT, random_state=2)
    model = make_pipeline(MinMaxScaler(), KNeighborsClassifier(8, weights="distance", p=1.5)).fit(parts[0], parts[2])
    at = tuple(
        table.axes[name].index(value) for name, value in zip(table.axes, (8, "distance", 1.5, "range"), strict=True)
    )
    assert table.scores[(*at, 2)] == pytest.approx(model.score(parts[1], parts[3]), abs=1e-6)


def test_the_figures_of_a_comparison_are_those_of_a_hand() -> None:
    default = np.array([0.0, -1.0, -2.0, -3.0, 0.5])
    ours = np.array([-0.5, -1.0, -2.5, -3.5, 0.0])
    found = Difference.of(ours, default)
    assert found.rank[0] == pytest.approx(1.1)
    assert found.log_regret == pytest.approx((-0.4, np.std([0.5, 0, 0.5, 0.5, 0.5], ddof=1) / np.sqrt(5)))
    assert found.worst[0] == pytest.approx(0.1 - 0.5 / 5)
    assert found.verdict == "better"
    assert Difference.of(default, ours).verdict == "worse"
    assert Difference.of(default, default).verdict == ""


def test_regret_is_counted_from_the_best_that_anybody_found() -> None:
    exact = {"optimum": 1.0, "reference": 0.5, "noisy": False}
    results = {
        Run("a", "tuning", 0): [{"best": 0.5, "used": 0.1, **exact}],
        Run("b", "tuning", 0): [{"best": 1.5, "used": 0.2, **exact}],
        Run("a", "tuning", 1): [{"best": 0.5, "used": 0.1, **exact, "noisy": True}],
        Run("b", "tuning", 1): [{"best": 0.9, "used": 0.2, **exact, "noisy": True}],
    }
    found = scores(results, ["a", "b"], [0, 1], Run("a", "tuning", 0))
    np.testing.assert_allclose(10**found, [[2.0, 1.8], [1e-3, 1.6]])


def test_the_command_compares_goes_on_and_says_its_power(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = ["never explores", "--problems", "2", "--jobs", "1", "--out", str(tmp_path)]
    main(wanted)
    assert "| never explores | 1." in capsys.readouterr().out
    monkeypatch.setattr(tuning, "generated", lambda *_: pytest.fail("it ran again what is there"))
    main(wanted)
    monkeypatch.undo()
    main([*wanted, "--power"])
    said = capsys.readouterr().out
    assert "Seen four times out of five (5 %, two-sided): a rank that differs from 1.5 by" in said
    main(["auto", *wanted[1:], "--workers", "4"])
    main(["--page", "--problems", "2", "--out", str(tmp_path)])
    assert "4 trials at once. The default against itself with one at a time, 2 problems: log regret" in (
        tmp_path / "tuning.md"
    ).read_text("utf-8")
    assert (tmp_path / "tuning.md").read_text("utf-8").count("never explores") == 2
    with pytest.raises(SystemExit):
        main(["no such thing"])
    main(["--list"])
    assert capsys.readouterr().out.splitlines()[-len(CANDIDATES) :] == list(CANDIDATES)


def test_with_workers_so_many_are_under_way() -> None:
    case = generated("tuning", 3)
    study = optuna.create_study(direction="maximize", sampler=uhebo.UHESampler(method="random", seed=0))
    values = tuning.drive(study, case, np.random.default_rng(0), 4)
    assert len(values) == case.trials == len(study.trials)
    ended = [trial.datetime_complete for trial in sorted(study.trials, key=lambda trial: trial.number)]
    assert ended != sorted(ended)  # type: ignore[type-var]


@own_priors()
def test_every_candidate_is_another_way_of_the_default_and_proposes() -> None:
    assert next(iter(CANDIDATES)) == DEFAULT
    assert CANDIDATES[DEFAULT].recipe is RECIPE
    assert CANDIDATES[AGAIN].shift
    space = {"x": uhebo.Float(0, 1), "k": uhebo.Int(0, 5)}
    for name, candidate in CANDIDATES.items():
        study = optuna.create_study(sampler=uhebo.UHESampler(method=candidate.propose, seed=0, n_startup_trials=4))
        for _ in range(11):
            trial = study.ask(space)
            study.tell(trial, (trial.params["x"] - 0.3) ** 2 + trial.params["k"])
        assert study.trials[-1].system_attrs[ATTRIBUTE]["role"] in ("model", "random"), name


def test_the_middle_is_in_the_middle_of_every_range() -> None:
    space = {"x": uhebo.Float(1e-4, 1.0, log=True), "k": uhebo.Int(0, 10), "c": uhebo.Categorical(["a", "b"])}
    found = tuning.middle_of(space, 0)
    assert (found["x"], found["k"]) == (pytest.approx(1e-2), 5)
    assert found["c"] in ("a", "b")


def told(space: dict[str, Any], value: Callable[[dict[str, Any]], float], trials: int, **given: Any) -> Step:
    """A step of the default after so many random points."""
    study = optuna.create_study(sampler=uhebo.UHESampler(seed=0, n_startup_trials=0, space=space))
    rows = np.random.default_rng(0).random((trials, len(space)))
    searched = SearchSpace.of(space)
    for row in rows:
        params = searched.decode(searched.snap(row))
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, value=value(params)))
    sampler = uhebo.UHESampler(seed=0, n_startup_trials=0, space=space, **given)
    return sampler.step(study, trials, searched).under(RECIPE.model, RECIPE.acquisition)


Kind = TypeVar("Kind", bound=Step)


def of(kind: type[Kind], step: Step) -> Kind:
    return kind(step.history, step.settings, step.slot, step.method_model, step.method_acquisition)


@own_priors()
def test_noise_is_chosen_by_evidence() -> None:
    space = {"x": uhebo.Float(0, 1)}
    rng = np.random.default_rng(1)
    exact = of(NoiseByEvidence, told(space, lambda p: float(np.sin(3 * p["x"])), 25))
    noisy = of(NoiseByEvidence, told(space, lambda p: float(np.sin(3 * p["x"]) + rng.standard_normal()), 25))
    assert (exact.model_used.prior, noisy.model_used.prior) == ("auto", "open")


@own_priors()
def test_the_prior_above_ten_parameters_is_chosen_by_evidence() -> None:
    few = of(ManyByEvidence, told({"x": uhebo.Float(0, 1)}, lambda p: p["x"], 6))
    assert few.model_used.prior == "auto"
    space = {f"x{i:02d}": uhebo.Float(0, 1) for i in range(12)}
    one = of(ManyByEvidence, told(space, lambda p: float(np.sin(9 * p["x00"])), 60))
    shared, precise = (one.evidence(replace(RECIPE.model, prior=name)) for name in ("shared-scale", "precise"))
    assert shared > precise, "all but one have the same lengthscale"
    assert one.model_used.prior == "shared-scale"


def test_starts_grow_with_the_root_of_the_number_of_parameters() -> None:
    for dimension, factor in ((2, 1.0), (4, 1.0), (16, 2.0)):
        wide, narrow = (starts(dimension, 3, np.random.default_rng(0)) for starts in (wide_starts, fit.fresh_starts))
        np.testing.assert_allclose(wide[:, :dimension] - narrow[:, :dimension], np.log(factor))
        np.testing.assert_array_equal(wide[:, dimension:], narrow[:, dimension:])
    space = {f"x{i:02d}": uhebo.Float(0, 1) for i in range(16)}
    step = told(space, lambda p: p["x00"], 20)
    with patch.object(candidate_models, "wide_starts", wraps=wide_starts) as begun:
        of(WideStarts, step).fit("map")
    assert begun.called
    assert fit.fresh_starts is candidate_models.NARROW


def test_noisy_improvement_is_the_mean_of_improvements() -> None:
    mean, deviation = np.array([0.0, 0.4, -2.0]), np.array([1.0, 0.1, 0.5])
    bests = np.array([-0.5, 0.2, 0.9])
    value, by_mean, by_deviation = log_noisy_ei(bests)(mean, deviation)
    plain = np.mean([np.exp(log_ei(float(best))(mean, deviation)[0]) for best in bests], axis=0)
    np.testing.assert_allclose(np.exp(value), plain)
    for slopes, moved in ((by_mean, (1e-6, 0.0)), (by_deviation, (0.0, 1e-6))):
        up = log_noisy_ei(bests)(mean + moved[0], deviation + moved[1])[0]
        down = log_noisy_ei(bests)(mean - moved[0], deviation - moved[1])[0]
        np.testing.assert_allclose(slopes, (up - down) / 2e-6, rtol=1e-5)


def test_whitened_values_are_one_step_ahead_errors() -> None:
    """What the gate reads off a posterior: (L⁻¹ y)_i L_ii is the error of the i-th value as those before predict it."""
    rng = np.random.default_rng(0)
    X = rng.random((12, 2))
    data = Data.of(X, np.sin(5 * X[:, 0]) + X[:, 1])
    theta = Theta.of([0.4, 0.7], 1.2, 0.03)
    posterior = Posterior.of(data, theta)
    for i in (3, 11):
        mean, variance = Posterior.of(data.subset(np.arange(i)), theta).predict(X[[i]])
        assert posterior.whitened[i] * posterior.factor[i, i] == pytest.approx(data.y[i] - mean[0])
        assert posterior.factor[i, i] ** 2 == pytest.approx(variance[0] + theta.s2)


@pytest.mark.skipif(not (TUNING / RUNS).exists(), reason="no records yet")
def test_the_committed_page_follows_from_the_committed_records(tmp_path: Path) -> None:
    (tmp_path / RUNS).write_bytes((TUNING / RUNS).read_bytes())
    main(["--page", "--out", str(tmp_path)])
    assert (tmp_path / "tuning.md").read_text("utf-8") == (TUNING / "tuning.md").read_text("utf-8")
    assert {run["purpose"] for run, _ in Table(TUNING / RUNS)} == {"tuning"}
