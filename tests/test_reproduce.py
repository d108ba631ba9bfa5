"""The reproduction: verdicts follow their rule, figures and page come out of the records, and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from tests.browser import chromium
from tests.strategies import SHORT_HMC
from uhebo.cli.app import app
from uhebo.errors import InvalidInputError
from uhebo.estimate import ESTIMATORS
from uhebo.types import Array
from uhebo_experiments.cells import Cell
from uhebo_experiments.paired import compare
from uhebo_experiments.reproduce import plan
from uhebo_experiments.reproduce.claims import (
    comparable,
    compared,
    judge,
    judge_most,
    rate_claim,
    surrogate_claim,
    time_claim,
)
from uhebo_experiments.reproduce.curves import Curves, curves
from uhebo_experiments.reproduce.reproduction import TARGETS, Reproduction, columns, sized
from uhebo_experiments.reproduce.summary import write_summary
from uhebo_experiments.table import CLOCK, RUNS

SEEDS = 20
TINY = (plan.MAIN, "drawn", "raw-units")


def sample(mean: float, spread: float = 0.1, seed: int = 0) -> Array:
    return np.asarray(mean + spread * np.random.default_rng(seed).standard_normal(SEEDS))


@pytest.mark.parametrize("digits", [0, 1, 9])
def test_p_values_of_few_seeds_are_scipys_with_and_without_ties(digits: int) -> None:
    rng = np.random.default_rng(digits)
    for seeds in (2, 6, 10):
        difference = np.round(rng.normal(0.6, 1.0, seeds), digits)
        assert compare(np.zeros(seeds), difference).p == stats.wilcoxon(difference).pvalue


def test_a_comparison_agrees_with_scipy() -> None:
    ours, theirs = sample(1.0), sample(1.1, seed=1)
    effect = compare(ours, theirs)
    assert effect.mean == pytest.approx(np.mean(theirs - ours))
    assert effect.p == stats.wilcoxon(theirs - ours).pvalue
    reference = stats.bootstrap(
        (theirs - ours,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(1)
    ).confidence_interval
    assert (effect.low, effect.high) == pytest.approx((reference.low, reference.high), abs=0.01)
    assert effect.outcome == "better"
    assert compare(theirs, ours).outcome == "worse"
    assert compare(ours, ours).outcome == "undecided"
    assert compare(ours[:5], theirs[:5] + 10.0).outcome == "undecided"  # too few seeds for any conclusion


def as_curves(final: dict[tuple[str, str], Array], start: float = 10.0) -> dict[tuple[str, str], Curves]:
    """Curves that begin with the regret `start` and end with the values given."""
    return {
        key: Curves(tuple(range(len(values))), np.column_stack([np.full(len(values), start), values]), 0.0 * values)
        for key, values in final.items()
    }


def test_comparable_has_a_tolerance_of_one_percent_of_the_first_regret() -> None:
    values = {("h1", "uhe"): sample(0.08, 0.01), ("h1", "map"): sample(1e-4, 1e-5)}
    assert compare(*values.values()).outcome == "worse"
    assert judge("C0", "", comparable(as_curves(values, start=10.0), ["h1"], ["map"])).verdict == "reproduced"
    assert judge("C0", "", comparable(as_curves(values, start=5.0), ["h1"], ["map"])).verdict == "not reproduced"


def test_interval_and_rank_test_must_agree() -> None:
    """Two runs of ours in twenty stick: the mean is worse, the ranks are better."""
    ours, theirs = sample(1.0, 0.01), sample(1.2, 0.01, seed=1)
    ours[:2] = 9.0
    effect = compare(ours, theirs)
    assert effect.p < 0.05
    assert effect.mean < 0.0
    assert effect.outcome == "undecided"
    shifted = compare(np.zeros(SEEDS), np.r_[np.full(4, 3.0), np.full(10, -0.1), np.full(6, 0.09)])
    assert shifted.low > 0.0
    assert shifted.p > 0.05
    assert shifted.outcome == "undecided"


@pytest.mark.parametrize(
    ("rival", "needed", "verdict"),
    [
        (2.0, "better", "reproduced"),
        (1.0, "better", "undecided"),
        (0.5, "better", "not reproduced"),
        (1.0, "not worse", "reproduced"),
        (0.5, "not worse", "not reproduced"),
    ],
)
def test_verdicts_follow_the_rule(rival: float, needed: str, verdict: str) -> None:
    values = {("h1", "uhe"): sample(1.0), ("h1", "map"): sample(rival, seed=3)}
    if needed == "better":
        claim = judge("C0", "a claim", compared(values, ["h1"], ["map"]))
    else:
        claim = judge("C0", "a claim", comparable(as_curves(values), ["h1"], ["map"]))
    assert claim.verdict == verdict
    if verdict != "reproduced":
        assert "map on h1" in claim.reason


def test_c5_needs_all_three_orders() -> None:
    levels = {"random": 1.0, "uhe": 2.0, "portfolio": 3.0, **dict.fromkeys(plan.METHODS[1:5], 4.0)}
    errors = {(p, m): sample(level, seed=7) for p in plan.SYNTHETIC for m, level in levels.items()}
    assert surrogate_claim(errors).verdict == "reproduced"
    errors["h1", "uhe"] = sample(6.0)
    claim = surrogate_claim(errors)
    assert claim.verdict == "not reproduced"
    assert "UHE-BO is lowest of the rest: not reproduced" in claim.reason


def test_c7_is_about_ratios_of_time() -> None:
    seconds = {("h1", "uhe"): sample(2.0), ("h1", "map"): sample(1.8), ("h1", "hmc"): sample(30.0)}
    claim = time_claim(seconds, ["h1"])
    assert claim.verdict == "reproduced"
    assert "UHE-BO takes 1.1" in claim.reason
    assert time_claim({**seconds, ("h1", "hmc"): sample(4.0)}, ["h1"]).verdict == "not reproduced"
    assert time_claim({**seconds, ("h1", "map"): sample(0.7)}, ["h1"]).verdict == "not reproduced"


@pytest.mark.parametrize(("power", "verdict"), [(-0.5, "reproduced"), (-0.8, "reproduced"), (-0.1, "not reproduced")])
def test_c8_is_about_the_slope(power: float, verdict: str) -> None:
    sizes = (10, 20, 40, 80)
    noise = np.random.default_rng(0).uniform(0.9, 1.1, (SEEDS, len(sizes)))
    errors = noise * np.array(sizes, dtype=float) ** power
    errors[:, :2] = 50.0  # what small samples do is not asked
    claim = rate_claim(sizes, errors, dimension=2)
    assert claim.verdict == verdict
    found = re.search(r"n\^(-\d\.\d+)", claim.reason)
    assert found is not None
    assert float(found[1]) == pytest.approx(power, abs=0.1)
    assert ("n^-0.25, is not reached" in claim.reason) == (power > -0.25)


def test_c8_is_open_where_the_interval_reaches_both_the_rate_and_no_fall_at_all() -> None:
    sizes = (10, 20, 40, 80)
    errors = np.exp(2.0 * np.random.default_rng(1).standard_normal((8, len(sizes))))
    claim = rate_claim(sizes, errors * np.array(sizes, dtype=float) ** -0.3, dimension=2)
    assert claim.verdict == "undecided"


@pytest.mark.parametrize(
    ("better", "worse", "verdict"),
    [(5, 1, "reproduced"), (1, 4, "not reproduced"), (2, 3, "undecided"), (4, 0, "undecided")],
)
def test_c2_is_about_more_than_half(better: int, worse: int, verdict: str) -> None:
    """Of eight comparisons; the others show nothing."""
    levels = [2.0] * better + [0.5] * worse + [1.0] * (8 - better - worse)
    values = {("h1", "uhe"): sample(1.0)} | {("h1", str(i)): sample(level) for i, level in enumerate(levels)}
    claim = judge_most("C2", "", compared(values, ["h1"], [str(i) for i in range(8)]))
    assert claim.verdict == verdict, claim.reason


def test_regret_is_against_the_optimum_or_the_best_that_was_seen() -> None:
    def records(values: list[float]) -> list[dict[str, float]]:
        best = np.maximum.accumulate(values)
        return [
            {"t": max(0, i - 1), "value": v, "incumbent": float(b), "seconds": 0.5}
            for i, (v, b) in enumerate(zip(values, best, strict=True))
        ]

    first, second = Cell("rf-wilt", "uhe", 0, 2, 64), Cell("rf-wilt", "map", 0, 2, 64)
    results = {first: records([0.5, 0.6, 0.9, 0.7]), second: records([0.5, 0.4, 0.4, 0.8])}
    found = curves(results, results)
    np.testing.assert_allclose(found["rf-wilt", "uhe"].regret, [[0.3, 0.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(found["rf-wilt", "map"].regret, [[0.4, 0.4, 0.1]], atol=1e-12)
    assert found["rf-wilt", "map"].seconds == pytest.approx([1.0])
    branin = {Cell("branin", "map", 0, 2): records([-3.0, -2.0, -1.0, -1.5])}
    assert curves(branin, branin)["branin", "map"].final == pytest.approx([1.0 - 0.39788735772973816])


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory, data_sets: Path) -> Reproduction:
    """All seven figures and eight claims at the smallest size there is."""
    scale = replace(
        plan.QUICK,
        seeds=1,
        synthetic_budget=2,
        real_budget=1,
        long_budget=8,
        long_seeds=1,
        fidelities=(("lr-vehicle", 3), ("xgboost-australian", 3), ("rf-wilt", 2)),
        checkpoints=(1, 2),
        thinning=25,
        path_sizes=(6, 8),
        path_seeds=1,
        variants=("prior: flat",),
    )
    patch = pytest.MonkeyPatch()
    patch.setenv("UHEBO_DATA", str(data_sets))
    patch.setitem(ESTIMATORS, "hmc", SHORT_HMC)
    reproduction = Reproduction(tmp_path_factory.mktemp("paper"), scale, jobs=1, progress=False, readings=TINY)
    write_summary(reproduction, {name: reproduction.draw(name) for name in TARGETS[:7]}, "uhebo reproduce all")
    patch.undo()
    return reproduction


def test_the_page_has_seven_figures_and_eight_verdicts(tiny: Reproduction) -> None:
    text = (tiny.folder / "reproduction.md").read_text()
    assert [claim.name for claim in tiny.claims] == [f"C{i}" for i in range(1, 9)]
    verdicts = text.partition("## Figures")[0]
    own = f"undecided under `{plan.MAIN}`"
    assert len(re.findall(rf"^\| C\d \|.*\| {own} \|", verdicts, re.M)) == 8  # one seed concludes nothing
    matrix = verdicts.partition("## Claims by reading of the paper")[2]
    assert f"| claim | `{plan.MAIN}` | `drawn` | `raw-units` |" in matrix
    assert "| C1 | undecided | undecided | undecided |" in matrix
    assert "| C8 | undecided | undecided | – |" in matrix
    for i in range(1, 8):
        assert f"![Figure {i}](figures/fig{i}.png)" in text
        assert (tiny.folder / f"figures/fig{i}.png").read_bytes()[:4] == b"\x89PNG"
        assert (tiny.folder / f"figures/fig{i}.pdf").read_bytes()[:4] == b"%PDF"


@pytest.mark.usefixtures("records_only")
def test_a_second_call_computes_nothing(tiny: Reproduction) -> None:
    again = Reproduction(tiny.folder, tiny.scale, jobs=1, progress=False, readings=TINY)
    assert again.claims == tiny.claims
    assert again.draw("fig6").exists()


@pytest.mark.usefixtures("records_only")
def test_the_committed_page_follows_from_the_committed_records(tmp_path: Path) -> None:
    """Every number and verdict of the full run, worked out again; only the line with date and versions may differ."""
    results = Path(__file__).parents[1] / "results" / "reproduction"
    for name in (RUNS, CLOCK, "surrogate-error.jsonl.gz", "theta-error.jsonl.gz"):
        (tmp_path / name).symlink_to(results / name)
    drawn = {name: results / "figures" / f"{name}.png" for name in TARGETS[:7]}
    made = Reproduction(tmp_path, plan.FULL, jobs=1, progress=False, readings=columns())
    write_summary(made, drawn, "uhebo reproduce all")
    again, committed = (
        (folder / "reproduction.md").read_text(encoding="utf-8").partition("## Verdicts")[2]
        for folder in (tmp_path, results)
    )
    assert again == committed


@pytest.mark.browser
def test_the_page_opens_in_a_browser(tiny: Reproduction, tmp_path: Path) -> None:
    with chromium(tmp_path) as driver:
        driver.get((tiny.folder / "reproduction.html").as_uri())
        images = driver.find_elements("css selector", "figure img")
        assert len(images) == 7
        assert all(driver.execute_script("return arguments[0].naturalWidth > 100", image) for image in images)
        assert len(driver.find_elements("css selector", "td.undecided")) >= 8
        assert driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")


def test_older_records_are_those_of_drawn() -> None:
    assert plan.cell("h1", "uhe", 0, 100, column="drawn") == Cell("h1", "uhe", 0, 100, None, (("exact", True),))
    assert plan.cell("h1", "map", 0, 100, column="observed") == Cell("h1", "map", 0, 100)
    distinct = plan.cell("h1", "uhe", 0, 100, column="distinct")
    assert distinct.options == (("exact", True), ("reading", "distinct"))
    assert plan.cell("h1", "a-gp-ucb", 0, 100, column="raw-units").method == "a-gp-ucb/raw"


def test_readings_are_checked(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="unknown reading 'x'; choose one of observed, distinct, drawn, arm-2-"):
        Reproduction(tmp_path, readings=("drawn", "x"))
    with pytest.raises(InvalidInputError, match="the first reading, that of the figures, is raw-units"):
        Reproduction(tmp_path, readings=("raw-units",))


def test_scales_can_be_changed() -> None:
    scale = sized(seeds=3, budget=30)
    assert (scale.seeds, scale.synthetic_budget, scale.real_budget, scale.long_budget) == (3, 30, 30, 150)
    assert scale.checkpoints == (5, 10, 20, 30)
    with pytest.raises(InvalidInputError, match="--seeds is 0"):
        sized(seeds=0)
    with pytest.raises(InvalidInputError, match="--budget is 1"):
        sized(budget=1)


def test_unknown_targets_are_refused() -> None:
    result = CliRunner().invoke(app, ["reproduce", "fig9"])
    assert result.exit_code != 0
    assert "unknown target 'fig9'" in str(result.exception)
