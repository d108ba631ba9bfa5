"""The neutral report: problems have the minima they claim, scores are those worked out by hand, libraries take them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution

from tests.conftest import require
from tests.pages import ROOT
from uhebo.errors import InvalidInputError, UheboError
from uhebo.space import Categorical, Float, Int
from uhebo_experiments.benchmarks import neutral as report
from uhebo_experiments.benchmarks.neutral_aims import AIMS, aim_rows
from uhebo_experiments.benchmarks.neutral_board import (
    Group,
    against_ours,
    board,
    common,
    lost_rows,
    pooled_rows,
    random_rows,
    score_rows,
    seconds_rows,
    shared_by_most,
)
from uhebo_experiments.benchmarks.neutral_runs import (
    FAMILIES,
    PROTOCOL,
    Reference,
    Run,
    plan,
    problems_of,
    reached,
    read_early,
    run,
)
from uhebo_experiments.peers.neutral import LIBRARIES, PLANNERS, grids, make_library, takes
from uhebo_experiments.peers.ranking import Board, rank_rows
from uhebo_experiments.peers.relaxed import Relaxed
from uhebo_experiments.peers.setting import Setting
from uhebo_experiments.problems import bayesmark, coco
from uhebo_experiments.problems.neutral import CLASSICS, SHIFT_STREAM, classic, neutral
from uhebo_experiments.problems.sets import REPORTING, TUNING
from uhebo_experiments.problems.trained import DATA
from uhebo_experiments.table import RUNS, Record, Table

COCO = "pip install 'uhebo-experiments[neutral]'"
RNG = np.random.default_rng(0)


def test_nothing_of_it_was_used_before() -> None:
    """Not by name, and not by function under another one."""
    before = {name.partition("~")[0].rpartition("-")[0] or name for name in (*TUNING, *REPORTING)}
    assert not before & {name.rpartition("-")[0] for names in CLASSICS.values() for name in names}


@pytest.mark.parametrize(("family", "name"), [(f, n) for f, names in CLASSICS.items() for n in names])
def test_a_classic_has_its_minimum_where_the_seed_moved_it(family: str, name: str) -> None:
    case = CLASSICS[family][name]
    for seed in (0, 1):
        task = classic(family, name, seed)
        shift = (
            0.3
            * (case.high - case.low)
            * (2.0 * np.random.default_rng([SHIFT_STREAM, seed, *name.encode()]).random(case.dimension) - 1.0)
        )
        at = shift
        if name.startswith("qing"):
            at = shift / 3.0 + np.sqrt(np.arange(1.0, case.dimension + 1.0))
        assert task.evaluate(dict(zip(task.space, at, strict=True)), RNG)[1] == pytest.approx(case.optimum, abs=1e-9)
        relaxed = Relaxed(task.space)
        for row in RNG.random((50, relaxed.width)):
            told, true = task.evaluate(relaxed.decode(row), RNG)
            assert true >= case.optimum - 1e-12
            assert (told != true) == task.noisy == (family == "noisy")
    if not name.startswith("qing"):
        assert all(d.low <= value <= d.high for d, value in zip(task.space.values(), at, strict=True))  # type: ignore[attr-defined]


def test_noise_is_the_share_of_the_median_height() -> None:
    task, case = classic("noisy", "alpine-4d", 3), CLASSICS["noisy"]["alpine-4d"]
    relaxed = Relaxed(task.space)
    pairs = np.array([task.evaluate(relaxed.decode(row), RNG) for row in RNG.random((3000, relaxed.width))])
    assert np.std(pairs[:, 0] - pairs[:, 1]) == pytest.approx(case.noise * np.median(pairs[:, 1]), rel=0.1)


def test_coco_gives_the_noiseless_value_of_every_noisy_function() -> None:
    """Under normal noise e^N the mean of log(told - optimum) is that of the value without noise."""
    require("cocoex", COCO)
    assert len(coco.NOISY) == 27
    for first in coco.BASES:
        name = next(name for name in coco.NOISY if name.startswith(f"f{first}-"))
        task = coco.noisy(name, 4)
        assert task.optimum is not None
        params = Relaxed(task.space).decode(np.full(len(task.space), 0.37))
        pairs = np.array([task.evaluate(params, RNG) for _ in range(4000)]) - task.optimum
        assert np.exp(np.log(pairs[:, 0]).mean()) == pytest.approx(pairs[0, 1], rel=0.1)
        assert len(set(pairs[:, 1])) == 1


def test_coco_reaches_the_smallest_value_of_every_mixed_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the best point as COCO itself writes it into a file; and nowhere below."""
    cocoex = require("cocoex", COCO)
    monkeypatch.chdir(tmp_path)
    assert len(coco.MIXINT) == 24
    for seed in (0, 6):
        for name in coco.MIXINT:
            task = coco.mixint(name, seed)
            function, dimension = int(name[1:].partition("-")[0]), len(task.space)
            suite = cocoex.Suite("bbob-mixint", "", f"dimensions:{dimension} instance_indices:{seed + 1}")
            suite.get_problem_by_function_dimension_instance(function, dimension, seed + 1)._best_parameter("print")
            best = np.loadtxt("._bbob_problem_best_parameter.txt")
            assert task.optimum is not None
            value = task.evaluate(dict(zip(task.space, best, strict=True)), RNG)[0]
            assert value == pytest.approx(task.optimum, abs=1e-6)
            relaxed = Relaxed(task.space)
            rows = RNG.random((20, relaxed.width))
            assert all(task.evaluate(relaxed.decode(row), RNG)[0] >= task.optimum - 1e-9 for row in rows)


@pytest.mark.parametrize("module", ["cocoex", "hebo.design_space.design_space", "ax.api.client"])
def test_what_is_not_installed_says_what_to_install(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    of = Setting(FLAT, False, False, 8, 1, 0)
    use: Callable[[], Any] = partial(coco.noisy, "f101-3d", 0)
    if module != "cocoex":
        use = partial(make_library, module.partition(".")[0], of)
    with pytest.raises(UheboError, match=r"is not installed .*pip install"):
        use()


def test_bayesmark_has_ninety_tasks() -> None:
    assert len(bayesmark.TASKS) == 90
    assert len(bayesmark.IN_TURN) == 27
    assert all(map(bayesmark.is_fresh, bayesmark.IN_TURN))
    loaders = {load.removeprefix("load_"): data for data, load in bayesmark.DATA.items()}
    assert {loaders[name] for name in DATA["tuning"] if name in loaders} == set(bayesmark.TUNED_ON)
    assert set(bayesmark.IN_TURN) < set(bayesmark.TASKS)
    halves = [name.rpartition(" ")[2] for name in bayesmark.IN_TURN]
    assert [halves.count(metric) for metric in ("acc", "nll", "mae", "mse")] == [9, 9, 4, 5]


@pytest.mark.parametrize("data", ["iris", "diabetes"])
@pytest.mark.parametrize("model", bayesmark.SPACES)
def test_every_model_has_a_loss(model: str, data: str) -> None:
    for metric in bayesmark.metrics(data):
        task = bayesmark.task(f"{model} {data} {metric}")
        relaxed = Relaxed(task.space)
        loss, again = task.evaluate(relaxed.decode(np.full(relaxed.width, 0.6)), np.random.default_rng(0))
        assert loss == again <= bayesmark.WORST[metric]
        assert loss < 0.0 or metric != "acc"


def test_what_cannot_be_fitted_has_the_worst_loss() -> None:
    task = bayesmark.task("SVM iris acc")
    assert task.evaluate({"C": -1.0, "gamma": 1e-3, "tol": 1e-3}, RNG) == (0.0, 0.0)


def test_parameters_on_the_logit_scale_are_shares() -> None:
    assert bayesmark.settings({"logit momentum": 0.0, "alpha": 0.1}) == {"momentum": 0.5, "alpha": 0.1}
    share: Any = bayesmark.SPACES["DT"]["logit max_features"]
    assert bayesmark.settings({"logit a": share.low})["a"] == pytest.approx(0.01)
    assert bayesmark.settings({"logit a": share.high})["a"] == pytest.approx(0.99)


def test_scores_by_hand() -> None:
    """Best 2, median 6: 2 is no loss, 4 half of it, 9 counts as 1 and so does -9 as -1."""
    assert [bayesmark.run_loss(value, 2.0, 2.0) for value in (2.0, 4.0)] == [0.0, 1.0]
    assert [bayesmark.run_loss(value, 2.0, 6.0) for value in (2.0, 4.0, 9.0, -9.0)] == [0.0, 0.5, 1.0, -1.0]
    assert bayesmark.score({"a": [0.0, 0.5], "b": [1.0]}) == pytest.approx(100.0 * (1.0 - 0.625))
    names = problems_of(PROTOCOL)
    results = {Run("hebo", PROTOCOL, name, seed, 128): record(4.0 - 2.0 * seed) for name in names for seed in (0, 1)}
    references = {Reference(name): {"best": 2.0, "median": 6.0} for name in names}
    assert score_rows(results, references, names)[1] == [["hebo", "75.00 ± 0.00", "75.00", "2", "90"]]


def record(*gaps: float) -> Record:
    """A run whose best value changed at the trials 1, 11, 21, …"""
    changes = [[1 + 10 * i, gap] for i, gap in enumerate(gaps)]
    return {"best": changes, "told": changes, "seconds": 0.0, "version": "1"}


def test_a_long_run_read_early_is_the_shorter_one_where_nobody_told_its_length() -> None:
    runs = {Run(name, "many", "alpine-30d", 0, 150): record(5.0, 4.0, 3.0, 2.0) for name in ("uhebo", "hebo")}
    runs[Run("uhebo", "many", "alpine-30d", 0, 30)] = record(9.0)
    runs[Run("hebo", PROTOCOL, bayesmark.TASKS[0], 0, 128)] = record(1.0)
    found = read_early(runs)
    assert found.items() >= runs.items()
    (early,) = found.keys() - runs.keys()
    assert early == Run("hebo", "many", "alpine-30d", 0, 30)
    assert found[early]["best"] == found[early]["told"] == [[1, 5.0], [11, 4.0], [21, 3.0]]


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.filterwarnings("ignore")
def test_only_who_plans_looks_at_the_number_of_trials(name: str) -> None:
    if name in NEEDED:
        require(NEEDED[name], "see uhebo_experiments.benchmarks.neutral")
    looked = []

    class Watched(Setting):
        def __getattribute__(self, field: str) -> Any:
            looked.append(field)
            return super().__getattribute__(field)

    library = make_library(name, Watched(FLAT, False, False, 150, 1, 3))
    for _ in range(7):  # past most random starts
        points = library.ask(1)
        library.tell(points, [float(sum(points[0].values()))])
    assert ("trials" in looked) == (name in PLANNERS)


def test_where_the_best_value_changed() -> None:
    found = reached([5.0, 3.0, 4.0, 1.0], [7.0, 8.0, 6.5, 9.0], 6.0)
    assert found == {"best": [[1, 1.0], [3, 0.5]], "told": [[1, 1.0], [2, 2.0], [4, 3.0]]}
    assert reached([2.0], [2.0], None)["best"] == [[1, 2.0]]


def fabricated(seeds: int = 7) -> dict[Run, Record]:
    """Ours better than random on all of `many` but the first problem, where it is behind at the end."""
    found = {}
    for seed in range(seeds):
        for i, name in enumerate(problems_of("many")):
            ours = record(5.0 + seed, 1.0 + seed, 0.5 if i else 4.0)
            found[Run("uhebo", "many", name, seed, 60)] = ours
            found[Run("random", "many", name, seed, 60)] = record(6.0 + seed, 2.0 + seed, 1.5)
            if seed < 2:
                found[Run("hebo", "many", name, seed, 60)] = record(9.0)
    return found


def test_ranks_losses_and_random_points_by_hand() -> None:
    results = fabricated()
    assert common(results, "many", 60) == (["uhebo", "hebo", "random"], [0, 1])
    assert common(results, "many", 60, slow=False) == (["uhebo", "random"], list(range(7)))
    end = board(results, [Group("many", 60, 60)], {}, slow=False)
    assert end is not None
    assert end.mean_rank()["uhebo"][0] == pytest.approx((2.0 + 7.0) / 8.0)
    early = board(results, [Group("many", 60, 20)], {}, slow=False)
    assert early is not None
    assert early.mean_rank()["uhebo"][0] == 1.0
    assert early.regret["many alpine-30d", "random"][:, 0].tolist() == [2.0 + s for s in range(7)]
    taken = {cell: {**found, "seconds": len(cell.library) + cell.seed} for cell, found in results.items()}
    assert seconds_rows(taken, 60)[1] == [["hebo", "4.5"], ["uhebo", "8"], ["random", "9"]]
    once = {cell: found for cell, found in taken.items() if cell.library != "hebo" or cell.problem == "zakharov-20d"}
    assert seconds_rows(once, 60)[1] == [["uhebo", "8"], ["random", "9"]]
    rows = lost_rows([end], lambda _: "20")[1]
    assert rows == [["many zakharov-20d", "20", "4", "1.5", "random", "2.67", "random"]]
    assert random_rows({"many": end})[1][0][4:] == ["not worse", "zakharov-20d"]
    few = board(fabricated(2), [Group("many", 60, 60)], {})
    assert few is not None
    assert lost_rows([few], lambda _: "20")[1] == [row[:-1] for row in lost_rows([few, end], lambda _: "20")[1][:1]]
    assert pooled_rows(end)[0] == rank_rows(end)[0]
    assert pooled_rows(few)[0] == rank_rows(few)[0][:-1]


def test_what_was_to_be_reached_by_hand() -> None:
    """Ours is ahead of random on 7 problems of 8 at the end (p = 0.07), and on all before."""
    head, rows = aim_rows(fabricated(), {}, ["many"], 60, (20, 60))
    assert head == ["aim", "2 entries, 8 problems: many", "3 entries, 8 problems: many"]
    assert [row[:2] for row in rows] == [
        [AIMS[0], "yes: 1.12; random 1.88"],
        [AIMS[1], "yes: 1.12; random 1.88"],
        [AIMS[2], "yes: of all but random"],
        [AIMS[3], "yes: after 20, 60"],
        [AIMS[4], "yes: better or level"],
    ]
    turned = {"random": "uhebo", "uhebo": "random"}
    worse = {replace(cell, library=turned[cell.library]): found for cell, found in fabricated().items()
             if cell.library in turned and cell.problem != "zakharov-20d"}  # fmt: skip
    worse |= {replace(cell, problem="zakharov-20d"): found for cell, found in worse.items()}
    rows = aim_rows(worse, {}, ["many"], 60, (20, 60))[1]
    assert [row[1] for row in rows[:2]] == ["no: 2.00; random 1.00"] * 2
    assert rows[4][1] == "no: worse on many"


def test_families_that_most_libraries_share() -> None:
    """HEBO has some seeds of `many`, and SMAC3 all of `bbob-mixint`, where there are more problems."""
    results = fabricated()
    assert shared_by_most(results, ["many"], 60) == ("many",)
    for cell, found in fabricated().items():
        if cell.library != "hebo" and cell.problem == "alpine-30d":
            for name in problems_of("bbob-mixint"):
                results[replace(cell, family="bbob-mixint", problem=name)] = found
    assert shared_by_most(results, ["many", "bbob-mixint"], 60) == ("many",)
    assert shared_by_most(results, ["bbob-mixint"], 60) == ()  # all have as many seeds as ours
    results |= {replace(cell, library="smac3"): found for cell, found in results.items()
                if (cell.library, cell.family) == ("uhebo", "bbob-mixint")}  # fmt: skip
    assert shared_by_most(results, ["many", "bbob-mixint"], 60) == ("bbob-mixint",)


def test_without_an_optimum_regret_is_above_the_best_value_known() -> None:
    names = problems_of("models")
    results = {
        Run(library, "models", name, 0, 30): record(value)
        for name in names
        for library, value in (("uhebo", -0.9), ("random", -0.7))
    }
    end = board(results, [Group("models", 30, 30)], {names[0]: -1.0})
    assert end is not None
    assert end.regret[f"models {names[0]}", "uhebo"][0, 0] == pytest.approx(0.1)
    assert end.regret[f"models {names[1]}", "uhebo"][0, 0] == pytest.approx(0.1)  # half of what is between them
    assert end.regret[f"models {names[1]}", "random"][0, 0] == pytest.approx(0.2)


def test_the_page_is_written_from_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(tmp_path / RUNS)
    for cell, found in fabricated().items():
        table.add(cell, [found | ({"error": "ValueError: deep inside"} if cell.library == "hebo" else {})])
    table.add(Run("random", PROTOCOL, "kNN iris acc", 0, 128), [record(-0.6)])
    Table(tmp_path / report.REFERENCES).add(Reference("kNN iris acc"), [{"best": -1.0, "median": -0.5}])
    report.main(["--page", "--out", str(tmp_path)])
    assert "wrote" in capsys.readouterr().out
    text = (tmp_path / "neutral.md").read_text()
    assert "| many, after 20 (7 seeds) | 1.00 | 2.00 + |" in text
    assert "Without a score, for want of a reference (`--reference`): 89 of 90 tasks." in text
    assert "| many, after 60 (2 seeds) | " in text  # once more, with the slow one
    assert "`hebo` ended early on many in 16 runs: ValueError: deep inside" in text
    assert "| many zakharov-20d | 20 | 4 | 1.5 | random | 2.67 | random |" in text


def test_runs_are_kept_and_planned_seed_by_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--families", "noisy", "--libraries", "optuna-tpe,random", "--budgets", "6", "--seeds", "1"]
    report.main([*options, "--list"])
    assert "noisy: 16 runs, 96 trials, budgets (6,)" in capsys.readouterr().out
    report.main([*options, "--jobs", "1", "--out", str(tmp_path)])
    runs = list(Table(tmp_path / RUNS))
    assert len(runs) == 16
    assert "there is nothing to compare" in (tmp_path / "neutral.md").read_text()
    report.main([*options, "--jobs", "1", "--out", str(tmp_path)])
    assert list(Table(tmp_path / RUNS)) == runs
    seeds = [cell.seed for cell in plan(2, ["random"], ["many", "noisy"], [30])]
    assert seeds == [0] * 16 + [1] * 16


@pytest.mark.parametrize(
    ("wrong", "words"), [({"libraries": ["hibo"]}, "unknown library 'hibo'"), ({"families": ["fog"]}, "unknown family")]
)
def test_wrong_names_are_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        plan(1, **wrong)
    with pytest.raises(InvalidInputError, match="unknown problem"):
        neutral("many", "levy-20d", 0)


def test_an_error_of_a_library_ends_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    class Breaking:
        def __init__(self, of: Setting) -> None:
            self._random = LIBRARIES["random"](of)

        def ask(self, count: int) -> Any:
            return self._random.ask(count)

        def tell(self, points: Any, values: Any) -> None:  # noqa: ARG002
            raise ZeroDivisionError("deep inside")

    monkeypatch.setitem(LIBRARIES, "hebo", Breaking)
    monkeypatch.setattr("uhebo_experiments.benchmarks.neutral_runs.PACKAGES", {"hebo": "numpy"})
    (found,) = run(Run("hebo", "noisy", "alpine-4d", 0, 5))
    assert found["error"] == "ZeroDivisionError: deep inside"
    assert [trial for trial, _ in found["best"]] == [1]


FLAT = {"x": Float(0.0, 1.0), "y": Float(-5.0, 10.0)}
MIXED = {
    "rate": Float(1e-4, 1.0, log=True),
    "logit share": Float(-3.0, 3.0),
    "leaf": Int(1, 15),
    "width": Int(10, 5000, log=True),
    "fit": Categorical([False, True]),
}
NEEDED = {"optuna-gp": "torch", "optuna-cma": "cmaes", "botorch": "botorch", "smac3": "smac", "bayes-opt": "bayes_opt",
          "scikit-optimize": "skopt", "hebo": "hebo", "ax": "ax"}  # fmt: skip


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.filterwarnings("ignore")
def test_every_library_takes_a_mixed_space_in_batches(name: str) -> None:
    """Two batches of four; CMA-ES has numbers alone, bayesian-optimization one point at a time."""
    if name in NEEDED:
        require(NEEDED[name], "see uhebo_experiments.benchmarks.neutral")
    batch = 1 if name == "bayes-opt" else 4
    flat = name == "optuna-cma"
    of = Setting(FLAT if flat else MIXED, name != "botorch", not flat, 8, batch, 3)
    assert takes(name, of)
    library = make_library(name, of)
    for _ in range(8 // batch):
        points = library.ask(batch)
        assert len(points) == batch
        for params in points:
            assert set(params) == set(of.space)
            for key, distribution in of.space.items():
                assert distribution._contains(distribution.to_internal_repr(params[key]))
        library.tell(points, [float(sum(map(float, params.values()))) for params in points])


def test_who_is_not_meant_for_a_task_is_left_out() -> None:
    assert not takes("optuna-cma", Setting(MIXED, True, True, 8, 1, 0))
    assert not takes("bayes-opt", Setting(FLAT, True, True, 8, 4, 0))
    assert all(takes(name, Setting(FLAT, True, False, 8, 1, 0)) for name in LIBRARIES)
    planned = {cell.library for cell in plan(1, ["random", "optuna-cma"], ["models"], [30])}
    assert planned == {"random"}
    assert set(FAMILIES) == {"bbob-noisy", "bbob-mixint", "models", "many", "noisy", PROTOCOL}


def test_grids_of_integers_and_choices() -> None:
    found = grids({"leaf": Int(1, 3), "width": Int(10, 5000), "x": Float(0.0, 1.0), "k": CategoricalDistribution("ab")})
    assert set(found) == {0, 3, 4}
    assert found[0] == pytest.approx([0.0, 0.5, 1.0])
    relaxed = Relaxed({"leaf": Int(1, 3)})
    assert [relaxed.decode(np.array([value]))["leaf"] for value in found[0]] == [1, 2, 3]
    assert found[3] == found[4] == [0.0, 1.0]


PRINTED = {"Ax": "ax", "BoTorch": "botorch", "`GPSampler`": "optuna-gp", "TPE": "optuna-tpe", "SMAC3": "smac3",
           "random points": "random", "random\n  points": "random"}  # fmt: skip


def named(text: str) -> set[str]:
    return {name for printed, name in PRINTED.items() if printed in text}


def test_the_page_says_what_the_records_say() -> None:
    """Who is behind ours, who is level, who is ahead early, and on how many functions by a hundred times."""
    text = (ROOT / "docs" / "neutral-report.md").read_text(encoding="utf-8")
    results, _ = report.read_runs(ROOT / "results" / "neutral")
    families = [name for name in FAMILIES if name != PROTOCOL]
    functions = [name for name in families if name not in ("models", "many")]

    def of(names: list[str], budget: int, at: int, *, slow: bool = True) -> Board:
        seen = board(results, [Group(name, budget, at) for name in names], {}, slow=slow)
        assert seen is not None
        return seen

    def judged(seen: Board) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {"behind": set(), "level": set(), "ahead": set()}
        for name, (mean, p) in against_ours(seen).items():
            found["level" if p >= 0.05 else "behind" if mean > 0.0 else "ahead"].add(name)
        return found

    shared, every = of(functions, 60, 60), of(families, 60, 60, slow=False)
    told = text[text.index("**59 functions, five") : text.index("**All 94")].partition("best mean rank")[2]
    behind, _, level = told.partition("level with")
    assert (len(shared.problems), len(shared.libraries)) == (59, 7)
    assert min(shared.mean_rank().items(), key=lambda item: item[1])[0] == "uhebo"
    assert judged(shared) == {"behind": named(behind), "level": named(level), "ahead": set()}
    told = text[text.index("**All 94") : text.index("**It loses early")]
    assert len(every.problems) == 94
    assert judged(every) == {"behind": named(told), "level": set(), "ahead": set()}
    for budget, at, ahead in ((60, 20, {"ax"}), (30, 30, {"ax"}), (60, 40, set()), (60, 60, set())):
        noisy = of(["bbob-noisy"], budget, at)
        assert judged(noisy)["ahead"] == ahead
        assert noisy.mean_rank()["ax"] < noisy.mean_rank()["uhebo"]
    thirty = of(functions, 30, 30)
    assert judged(thirty)["ahead"] == set()
    assert thirty.mean_rank()["ax"] < thirty.mean_rank()["uhebo"]
    verdicts = random_rows({name: of([name], 60, 60, slow=False) for name in families})[1]
    assert {row[4] for row in verdicts} == {"not worse"}
    assert sum(float(row[5]) > 100.0 for row in lost_rows([of(["bbob-mixint"], 60, 60)], str)[1]) == 3
    seconds = {row[0]: row[1:] for row in seconds_rows(results, 60)[1]}
    ratios = [float(a) / float(b) for a, b in zip(seconds["ax"], seconds["uhebo"], strict=True) if a != "–"]
    assert 30 <= min(ratios) <= max(ratios) <= 60
