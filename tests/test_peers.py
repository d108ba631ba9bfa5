"""The comparison with other libraries: every adapter runs, all get one design, and the tables are what they say."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.optimize import minimize

from tests.conftest import require
from uhebo.errors import InvalidInputError
from uhebo_experiments import problem, problem_names
from uhebo_experiments.cells import Cell
from uhebo_experiments.peers.libraries import OTHERS, PEERS, make_peer
from uhebo_experiments.peers.ranking import OURS, Board, clock_rows, holm, part_rows, rank_rows, regret_rows
from uhebo_experiments.peers.relaxed import Params, Relaxed, Space
from uhebo_experiments.peers.report import MODULES, compare_peers, installed, positive_sizes
from uhebo_experiments.peers.runs import ClockCell, PeerCell, initial_design, run_clock, run_peer
from uhebo_experiments.problems.classics import FAMILIES
from uhebo_experiments.problems.learning import DIVERGED, _scored
from uhebo_experiments.problems.sets import REPORTING, SETS, TUNING, problem_set
from uhebo_experiments.runner import run_cell
from uhebo_experiments.table import RUNS, Record, Table

MIXED: dict[str, BaseDistribution] = {
    "rate": FloatDistribution(1e-4, 1.0, log=True),
    "depth": IntDistribution(1, 50, log=True),
    "leaf": IntDistribution(1, 20),
    "kind": CategoricalDistribution(["a", "b", "c"]),
}


def mixed_value(rate: float, depth: int, leaf: int, kind: str) -> float:
    return -((math.log10(rate) + 2) ** 2) - 0.1 * (depth - 7) ** 2 / 50 - 0.01 * leaf + (kind == "b")


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.filterwarnings("ignore")
def test_every_library_takes_a_mixed_space(name: str) -> None:
    """Told points it did not ask for, then asked and told: parameters of the right types, inside their ranges."""
    if name in MODULES:
        require(MODULES[name], "pip install 'uhebo-experiments[peers]'")
    peer = make_peer(name, MIXED, 0)
    relaxed = Relaxed(MIXED)
    for row in np.random.default_rng(0).random((8, relaxed.width)):
        params = relaxed.decode(row)
        peer.tell(params, mixed_value(**params))
    for _ in range(2):
        params = peer.ask()
        assert set(params) == set(MIXED)
        for key, distribution in MIXED.items():
            assert distribution._contains(distribution.to_internal_repr(params[key]))
        assert isinstance(params["depth"], int)
        peer.tell(params, mixed_value(**params))


def test_relaxed_spaces_round_trip() -> None:
    relaxed = Relaxed(MIXED)
    for row in np.random.default_rng(1).random((50, relaxed.width)):
        params = relaxed.decode(row)
        again = relaxed.decode(relaxed.encode(params))
        assert again.pop("rate") == pytest.approx(params.pop("rate"))
        assert again == params


def test_all_libraries_get_one_design_and_one_noise() -> None:
    cells = [PeerCell(name, "camel~0.1", 3, 2) for name in ("random", "optuna-tpe")]
    first, second = (run_peer(cell) for cell in cells)
    assert [r["t"] for r in first] == [0] * 6 + [1, 2]
    values = [problem("camel")(**params) for params in initial_design(problem("camel"), 3)]
    for records in (first, second):
        assert [r["best"] for r in records[:6]] == list(np.maximum.accumulate(values))  # without the noise


class Breaking:
    """A library that fails at its third suggestion."""

    def __init__(self, space: Space, seed: int) -> None:
        self._random, self._asked = make_peer("random", space, seed), 0

    def ask(self) -> Params:
        self._asked += 1
        if self._asked == 3:
            raise ZeroDivisionError("deep inside")
        return self._random.ask()

    def tell(self, params: Params, value: float) -> None:
        pass


def test_an_error_of_a_library_ends_its_run_and_not_the_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OTHERS, "optuna-tpe", Breaking)
    records = run_peer(PeerCell("optuna-tpe", "camel", 0, 6))
    assert [r["t"] for r in records] == [0] * 6 + [1, 2, 3, 4, 5, 6]
    assert len({r["best"] for r in records[8:]}) == 1
    assert records[-1]["error"] == "ZeroDivisionError: deep inside"
    monkeypatch.setitem(SETS, "one", ("camel",))
    options = {"seeds": 1, "budget": 6, "sizes": (), "jobs": 1, "folder": tmp_path, "progress": False}
    page = compare_peers("one", (OURS, "optuna-tpe"), **options)  # type: ignore[arg-type]
    said = "`optuna-tpe` ended early on camel (seed 0): ZeroDivisionError: deep inside"
    assert said in page.with_suffix(".md").read_text()
    monkeypatch.setattr("uhebo.optuna_.sampler.UHESampler._propose", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):  # an error of ours is not for a footnote
        run_peer(PeerCell("uhebo", "camel", 0, 1))


class Talking(Breaking):
    def ask(self) -> Params:
        return self._random.ask()

    def tell(self, params: Params, value: float) -> None:
        print("a point is not unique", params, value)
        warnings.warn("deprecated", FutureWarning, stacklevel=1)


def test_what_a_library_says_is_kept_off_the_screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setitem(OTHERS, "optuna-tpe", Talking)
    run_peer(PeerCell("optuna-tpe", "camel", 0, 1))
    run_clock(ClockCell("optuna-tpe", 5))
    assert capsys.readouterr().out == ""
    assert not recwarn


def test_seconds_are_taken_at_a_size() -> None:
    (record,) = run_clock(ClockCell("optuna-tpe", 12))
    assert record["n"] == 12
    each = np.array(record["each"])
    assert each.shape == (4, 5)
    assert record["first"] == pytest.approx(each[:, 0].mean())
    assert record["seconds"] == pytest.approx(each[:, 1:].mean())


def test_a_slow_library_is_asked_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uhebo_experiments.peers.runs.ENOUGH_S", 0.0)
    (record,) = run_clock(ClockCell("random", 12))
    assert np.array(record["each"]).shape == (4, 3)
    (ours,) = run_clock(ClockCell("uhebo", 20))
    assert np.array(ours["each"]).shape == (4, 5)


def fabricated(
    levels: dict[str, float], problems: tuple[str, ...] = ("camel", "branin")
) -> dict[PeerCell, list[Record]]:
    results = {}
    for where in problems:
        top = problem(where).optimum
        assert top is not None
        for name, level in levels.items():
            for seed in range(10):
                jitter = 10.0 ** np.random.default_rng([seed, len(name)]).normal(0, 0.1)
                final = top - level * jitter
                records = [{"t": 0, "best": top - 5.0}, {"t": 1, "best": final}]
                results[PeerCell(name, where, seed, 1)] = records
    return results


def test_the_board_ranks_and_counts() -> None:
    board = Board.of(fabricated({"uhebo": 1e-3, "optuna-gp": 1e-2, "random": 1.0, "smac3": 1e-3}))
    ranks = board.mean_rank()
    assert ranks["random"][0] == 4.0
    assert ranks["optuna-gp"][0] == 3.0
    assert ranks["uhebo"][0] + ranks["smac3"][0] == pytest.approx(3.0)
    assert board.record("random") == (2, 0, 0)
    assert board.record("optuna-gp") == (2, 0, 0)
    assert board.record("smac3") == (0, 2, 0)
    assert board.log_regret("camel", "optuna-gp")[0] == pytest.approx(-2.0, abs=0.15)
    head, rows = regret_rows(board)
    assert head[-1] == "random"
    assert [row[0] for row in rows] == ["camel", "branin"]
    assert all(row[-1].endswith(" +") for row in rows)
    assert not any(row[head.index("smac3")].endswith((" +", " -")) for row in rows)
    assert [row[0] for row in rank_rows(board)[1]] == head[1:]
    assert rank_rows(board)[1][-1] == ["random", "4.00 ± 0.00", "4.00", *rank_rows(board)[1][-1][3:6], "2 / 0 / 0"]
    assert [row[3:] for row in rank_rows(board)[1] if row[0] == OURS] == [["–"] * 4]
    worse = Board.of(fabricated({"uhebo": 1e-1, "optuna-gp": 1e-3}))
    assert worse.record("optuna-gp") == (0, 0, 2)
    assert all(row[1].endswith(" -") for row in regret_rows(worse)[1])
    without_ours = Board.of(fabricated({"optuna-gp": 1e-2, "random": 1.0}))
    assert [row[3:] for row in rank_rows(without_ours)[1]] == [["–"] * 4] * 2
    assert regret_rows(without_ours)[1][0][-1][-1].isdigit()


def test_p_values_are_corrected_as_holm_does() -> None:
    """By hand: 3 · 0.01, 2 · 0.03, and then not less than that."""
    assert holm({"b": 0.03, "c": 0.04, "a": 0.01}) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06})
    assert holm({"a": 0.4, "b": 0.9}) == pytest.approx({"a": 0.8, "b": 0.9})
    assert holm({}) == {}


def test_entries_of_ours_are_no_rivals_to_correct_for() -> None:
    board = Board.of(fabricated({"uhebo": 1e-3, "uhebo-map": 1e-2, "random": 1.0}))
    corrected = {row[0]: (row[4], row[5]) for row in rank_rows(board)[1]}
    assert corrected["uhebo-map"][1] == "–"
    assert corrected["random"][0] == corrected["random"][1]  # one rival, nothing to correct


def test_ranks_on_parts_of_a_set() -> None:
    levels = {"uhebo": 1e-3, "random": 1.0}
    head, rows = part_rows(Board.of(fabricated(levels, ("camel", "branin", "camel~0.1"))))
    assert head == ["library", "functions (2)", "noisy functions (1)"]
    assert [row[:2] for row in rows] == [["uhebo", "1.00 ± 0.00"], ["random", "2.00 ± 0.00"]]


def test_more_methods_of_ours_move_nobodys_rank() -> None:
    levels = {"uhebo": 1e-3, "optuna-gp": 1e-2, "random": 1.0}
    alone = Board.of(fabricated(levels)).mean_rank()
    board = Board.of(fabricated({"uhebo-map": 1e-1, **levels, "uhebo-uhe": 1e-5}))
    assert {name: rank for name, rank in board.mean_rank().items() if name in alone} == alone
    assert board.mean_rank()["uhebo-uhe"][0] == 1.0
    assert board.mean_rank()["uhebo-map"][0] == 2.0
    assert board.behind("random")[:2] == (2.0, 0.0)
    ours_only = Board.of(fabricated({"uhebo": 1e-3, "uhebo-map": 1e-1})).mean_rank()
    assert (ours_only["uhebo"][0], ours_only["uhebo-map"][0]) == (1.0, 2.0)


def test_the_best_score_seen_is_not_endlessly_good() -> None:
    """Where the optimum is not known a run that has the best value counts with half the smallest gap of the others."""
    scores = {"uhebo": [0.9, 0.9, 0.88], "random": [0.89, 0.85, 0.9]}
    results = {
        PeerCell(name, "svc-digits", seed, 1): [{"t": 0, "best": 0.8}, {"t": 1, "best": score}]
        for name, row in scores.items()
        for seed, score in enumerate(row)
    }
    regret = Board.of(results).regret["svc-digits", "uhebo"]
    assert regret[:, -1] == pytest.approx([0.005, 0.005, 0.02])
    assert regret[:, 0] == pytest.approx([0.1, 0.1, 0.1])


def test_a_library_that_has_become_slow_is_timed_no_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SETS, "one", ("camel",))
    monkeypatch.setattr("uhebo_experiments.peers.report.SLOW_S", 0.0)
    page = compare_peers(
        "one", (OURS, "random"), seeds=1, budget=1, sizes=(5, 6), jobs=1, folder=tmp_path, progress=False
    )
    assert {cell["points"] for cell, _ in Table(tmp_path / "clock.jsonl.gz")} == {5}
    assert "n = 6" not in page.with_suffix(".md").read_text()


def test_the_clock_says_how_much_faster_than_the_fastest_gaussian_process() -> None:
    seconds = {("uhebo", 20): 0.01, ("optuna-gp", 20): 0.2, ("smac3", 20): 0.1, ("random", 20): 1e-5,
               ("uhebo", 50): 0.02, ("random", 50): 1e-5}  # fmt: skip
    clock = {ClockCell(*key): [{"seconds": took, "first": 2 * took}] for key, took in seconds.items()}
    header, rows = clock_rows(clock, ("uhebo", "optuna-gp", "smac3", "random"))
    assert header == ["library", "n = 20", "n = 50"]
    assert rows[-1] == ["fastest other GP / uhebo", "10.0×", "–"]
    _, rows = clock_rows(clock, ("uhebo", "optuna-gp"), "first")
    assert rows[0] == ["uhebo", "0.02", "0.04"]


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_who_is_told_of_noise_and_of_the_budget() -> None:
    def sampler(name: str, **given: bool) -> Any:
        peer = make_peer(name, MIXED, 0, 9, **given)
        for row in np.random.default_rng(0).random((3, Relaxed(MIXED).width)):
            peer.tell(Relaxed(MIXED).decode(row), float(row[0]))
        peer.ask()
        return peer._study.sampler  # type: ignore[attr-defined]

    assert sampler("uhebo")._n_trials == 9
    assert sampler("uhebo-open")._n_trials is None
    require("torch", "pip install 'uhebo-experiments[peers]'")
    assert sampler("optuna-gp-det")._deterministic
    assert not sampler("optuna-gp-det", noisy=True)._deterministic
    assert not sampler("optuna-gp")._deterministic


@pytest.mark.usefixtures("records_only")
def test_the_committed_page_follows_from_the_committed_records(tmp_path: Path) -> None:
    """Every table of the comparison on `reporting`, worked out again."""
    results = Path(__file__).parents[1] / "results" / "peers"
    if not (results / "peers.md").exists():
        pytest.skip("the comparison is not complete: uhebo bench peers --set reporting --out results/peers")
    for name in (RUNS, "clock.jsonl.gz"):
        (tmp_path / name).symlink_to(results / name)
    sizes = (20, 50, 100, 200, 500, 1000, 2000)
    compare_peers("reporting", PEERS, seeds=10, budget=50, sizes=sizes, jobs=1, folder=tmp_path, progress=False)
    again, committed = (
        (folder / "peers.md").read_text(encoding="utf-8").partition("## Mean rank")[2] for folder in (tmp_path, results)
    )
    assert again == committed


def test_the_two_sets_have_nothing_in_common() -> None:
    def family(name: str) -> str:
        """Also not by a function in another dimension or with noise."""
        base = name.partition("~")[0]
        return base.rpartition("-")[0] if base.rpartition("-")[2][:-1].isdigit() else base

    assert not {family(name) for name in TUNING} & {family(name) for name in REPORTING}
    with pytest.raises(InvalidInputError, match="unknown set 'all'"):
        problem_set("all")


@pytest.mark.parametrize(
    "name",
    [*(n for n in FAMILIES if FAMILIES[n].dimension), *(f"{n}-3d" for n in FAMILIES if not FAMILIES[n].dimension)],
)
def test_classics_reach_their_maximum_and_nothing_beats_it(name: str) -> None:
    case = problem(name)
    assert case.rows is not None
    assert case.optimum is not None
    for point in case.maximisers:
        assert case(**point) == pytest.approx(case.optimum, abs=1e-6)
    low, high = case.bounds
    assert case.rows(low + np.random.default_rng(0).random((20_000, len(low))) * (high - low)).max() <= case.optimum
    rows, start = case.rows, list(case.maximisers[0].values())
    climbed = minimize(lambda x: -rows(x[None])[0], start, bounds=list(zip(low, high, strict=True)))
    assert -climbed.fun <= case.optimum + 1e-6


def test_noise_is_a_share_of_the_range_and_the_value_stays_clean() -> None:
    case, noisy = problem("hartmann6"), problem("hartmann6~0.1")
    assert noisy.noise == pytest.approx(0.29, abs=0.05)
    point = dict.fromkeys(case.space, 0.3)
    assert noisy(**point) == case(**point)
    records = run_cell(Cell("camel~0.1", "random", 0, 4))
    assert all(r["value"] != r["true"] for r in records)
    assert records[-1]["incumbent"] == max(r["true"] for r in records)
    with pytest.raises(InvalidInputError, match="its range is not known"):
        problem("svc-digits~0.1")
    with pytest.raises(InvalidInputError, match="expected a share"):
        problem("camel~much")


def test_training_that_diverges_has_a_value() -> None:
    require("sklearn", "pip install uhebo-experiments")
    from sklearn.linear_model import Ridge

    class Diverging(Ridge):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> Any:
            return super().fit(X, y * np.inf)

    assert _scored("diabetes", Diverging)(alpha=1.0) == DIVERGED
    with_model = _scored("diabetes", Ridge)(alpha=1.0)
    assert 0.4 < with_model < 0.6


@pytest.mark.parametrize("name", ["svc-digits", "boosting-diabetes", "mlp-diabetes"])
def test_learning_problems_are_deterministic(name: str) -> None:
    require("sklearn", "pip install uhebo-experiments")
    case = problem(name)
    assert name in problem_names()
    relaxed = Relaxed(case.space)
    params = relaxed.decode(np.full(relaxed.width, 0.3))
    assert case(**params) == problem(name)(**params)
    assert -1.0 < case(**params) <= 1.0


def test_a_comparison_from_start_to_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SETS, "two", ("camel", "branin"))
    options = {"seeds": 2, "budget": 2, "sizes": (5,), "jobs": 1, "folder": tmp_path, "progress": False}
    page = compare_peers("two", (OURS, "random"), **options)  # type: ignore[arg-type]
    text = page.with_suffix(".md").read_text()
    assert "| uhebo |" in text
    assert "| random |" in text
    assert (tmp_path / "peers.png").exists()
    with pytest.raises(InvalidInputError, match="unknown library 'skynet'"):
        compare_peers("two", ("skynet",), **options)  # type: ignore[arg-type]
    assert OURS in installed()
    assert positive_sizes("20, 50") == (20, 50)
    for bad in ("a,b", "0"):
        with pytest.raises(InvalidInputError, match="--sizes"):
            positive_sizes(bad)
