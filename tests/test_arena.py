"""The arena: its numbers follow from records, labels cover nothing, a method of one's own gets a verdict."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.shell import Shell
from uhebo.errors import InvalidInputError
from uhebo.methods import METHODS
from uhebo_experiments import arena
from uhebo_experiments.arena import Board, figure, page, runs, verdict
from uhebo_experiments.arena.board import SIDES, Side, rows, time_aim
from uhebo_experiments.arena.runs import Bout, counted, run_bout
from uhebo_experiments.problems import problem
from uhebo_experiments.problems.sets import TUNING
from uhebo_experiments.table import CLOCK, RUNS, Record, Table

RESULTS = Path(__file__).parents[1] / "results" / "hyperparameters"
Runs = list[tuple[Record, list[Record]]]


def fabricated(levels: dict[str, tuple[float, float]], seeds: int = 8) -> Runs:
    """Runs whose regret falls from 2 to a level where the prior is right, and to another where it misleads."""
    found: Runs = []
    for method, level in levels.items():
        for end, names in zip(level, SIDES.values(), strict=True):
            for name in names:
                for seed in range(seeds):
                    regret = [2.0, 1.0, 2.0 * end * (1.0 + 0.01 * seed)]
                    found.append(({"method": method, "problem": name, "seed": seed}, [{"regret": regret}]))
    return found


def test_regret_is_a_share_of_what_the_initial_design_leaves() -> None:
    levels = {"map": (0.02, 0.5), "uhe": (0.05, 0.1), "hmc": (0.02, 0.5), "random": (0.4, 0.6)}
    paces: Runs = [
        ({"method": "uhe"}, [{"seconds": 3.0, "baseline": 2.0}]),
        ({"method": "hmc"}, [{"seconds": 40.0, "baseline": 1.0}]),
    ]
    board = Board.of(fabricated(levels), paces)
    by_hand = np.mean([0.05 * (1.0 + 0.01 * seed) for seed in range(8)])
    assert board.sample("uhe", "right").mean() == pytest.approx(by_hand)
    assert board.complete() == ("uhe", "map", "hmc", "random")  # best first
    assert [board.against("uhe", side) for side in SIDES] == ["worse", "better"]
    assert board.against("hmc", "right") == "undecided"
    said = verdict(board, "uhe")
    assert "right it leaves 5.2 % of the regret of the initial design against 2.1 % of MAP's: worse" in said
    assert said.endswith("A suggestion takes 1.5 times as long as MAP's.")
    assert rows(board)[1][0] == ["`uhe`", "0.052 [0.051, 0.053]", "worse", "0.1 [0.1, 0.11]", "better", "1.5"]
    assert time_aim(board)[1][0][1:] == ["1.5 times at most (`uhe`)", "yes"]  # HMC may take its time


def test_a_seed_that_is_not_complete_does_not_count() -> None:
    found = fabricated({"map": (0.1, 0.2), "ra": (0.1, 0.2)})
    dropped = next(i for i, (cell, _) in enumerate(found) if (cell["method"], cell["seed"]) == ("ra", 3))
    board = Board.of(found[:dropped] + found[dropped + 1 :])
    assert board.seeds("ra", "right") == (0, 1, 2, 4, 5, 6, 7)
    assert verdict(Board.of(found[:8]), "map").endswith("not run on all problems of both sides.")


def test_labels_cover_neither_each_other_nor_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All methods in one crowd."""
    rng = np.random.default_rng(1)
    board = Board.of(fabricated({m: (0.05 * rng.uniform(0.8, 1.2), 0.3 * rng.uniform(0.8, 1.2)) for m in METHODS}))
    monkeypatch.setattr(figure, "save", lambda made, *_: made)
    made: Any = figure.draw(board, tmp_path)
    made.canvas.draw()
    (axis,) = made.axes
    boxes = {text.get_text(): text.get_window_extent() for text in axis.texts}
    assert set(boxes) == set(METHODS)
    for name, box in boxes.items():
        assert [other for other, two in boxes.items() if other != name and box.overlaps(two)] == []


def test_a_bout_is_the_regret_of_the_best_point_after_each_iteration() -> None:
    (record,) = run_bout(Bout("random", "gp-2d-0.05x1", 1, 5))
    assert len(record["regret"]) == 6
    assert record["regret"] == sorted(record["regret"], reverse=True)
    optimum = problem("gp-2d-0.05x1", seed=1).optimum
    assert optimum is not None
    assert 0.0 < record["regret"][-1] < optimum + 5.0


def test_time_is_that_of_suggestions_by_a_model() -> None:
    assert counted([9.0, 2.0, 4.0], [0.1, 0.1]) == 3.0  # without the cold one and those at random
    assert counted([], [0.1, 0.3]) == 0.2


def test_the_arena_from_end_to_end(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped and started again it runs nothing twice; the shell's command writes the same page."""
    monkeypatch.setattr(runs, "TIMED_AT", 12)
    monkeypatch.setattr(page, "PACES", 1)
    written = arena.compete(tmp_path, seeds=1, methods=("map", "ra"), budget=1, jobs=1, progress=False)
    with pytest.raises(InvalidInputError, match="unknown problem 'branin'; the arena has gp-2d"):
        arena.compete(tmp_path, problems=("branin",))
    text = written.with_suffix(".md").read_text(encoding="utf-8")
    assert "| `ra` | " in text
    assert "1 seeds, T = 1 iterations" in text
    for name in ("hyperparameters.png", "hyperparameters.pdf", RUNS):
        assert (tmp_path / name).stat().st_size > 0
    monkeypatch.setattr("uhebo_experiments.runner._computed", lambda *_: pytest.fail("run twice"))
    monkeypatch.setattr(page, "draw", lambda _, folder: folder / "hyperparameters.png")
    options = ("--libraries", "map,ra", "--seeds", "1", "--budget", "1", "--jobs", "1", "--out", str(tmp_path))
    shell("bench", "hyperparameters", *options)
    assert written.with_suffix(".md").read_text(encoding="utf-8") == text
    assert "unknown method 'bayes'; choose among auto" in shell.refuses(
        "bench", "hyperparameters", "--libraries", "bayes"
    )


def test_the_committed_page_follows_from_the_committed_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (RUNS, CLOCK, "hyperparameters.png"):
        shutil.copy(RESULTS / name, tmp_path)
    monkeypatch.setattr(page, "draw", lambda _, folder: folder / "hyperparameters.png")
    text = page.write(tmp_path).with_suffix(".md").read_text(encoding="utf-8")
    assert text == (RESULTS / "hyperparameters.md").read_text(encoding="utf-8")


def test_shares_on_the_page_by_plain_arithmetic() -> None:
    """The first number of each side, worked out without the code of the page."""
    text = (RESULTS / "hyperparameters.md").read_text(encoding="utf-8")
    curves = [(run["method"], run["problem"], records[0]["regret"]) for run, records in Table(RESULTS / RUNS)]
    for method in ("auto", "uhe", "map", "lb-gp-ucb"):
        line = next(line for line in text.splitlines() if line.startswith(f"| `{method}` | "))
        for column, names in zip((1, 3), SIDES.values(), strict=True):
            shares = []
            for name in names:
                ends = [curve[-1] for who, where, curve in curves if (who, where) == (method, name)]
                assert len(ends) == 20
                shares.append(np.mean(ends) / np.mean([curve[0] for _, where, curve in curves if where == name]))
            assert line.strip("| ").split(" | ")[column].split(" ")[0] == f"{np.mean(shares):.2g}"


def test_the_five_sentences_say_what_the_records_say() -> None:
    board = arena.read_board(RESULTS)
    text = (RESULTS.parents[1] / "docs" / "choose.md").read_text(encoding="utf-8")
    part = text.partition("## Where the prior is right, and where it misleads")[2].partition("<div")[0]
    said = [" ".join(item.split()) for item in re.split(r"^\d\. ", part, flags=re.MULTILINE)[1:]]
    assert len(said) == 5

    def left(method: str, side: Side) -> str:
        return f"{100.0 * board.sample(method, side).mean():.2g} %"

    def judged(side: Side, outcome: str) -> set[str]:
        return {method for method in board.complete() if method != "map" and board.against(method, side) == outcome}

    worse, beaten_by = said[0], said[1]
    assert judged("right", "better") == set()
    assert set(re.findall("`(.*?)`", worse)) | {"random"} == judged("right", "worse")
    assert "random points are worse" in worse
    better = dict(re.findall(r"`([\w-]+)` \((.*?)\)", beaten_by))
    assert set(better) == judged("misleading", "better")
    assert better == {method: left(method, "misleading") for method in better}
    assert f"leaves {left('map', 'misleading')} of the initial regret" in beaten_by
    assert f"{('no', 'one', 'two', 'three', 'four')[len(better)]} method" in beaten_by
    assert f"{left('uhe', 'misleading')} there (its lead over MAP is undecided)" in said[2]
    assert board.against("uhe", "misleading") == "undecided"
    assert f"{left('uhe', 'right')} where the prior is right, the same as MAP" in said[2]
    assert left("uhe", "right") == left("map", "right")
    assert f"leave {left('hmc', 'misleading')} and {left('fb-log-ei', 'misleading')}, at about" in said[3]
    times = float(re.findall(r"at about (\d+) times", said[3])[0])
    assert [board.times[name] for name in ("hmc", "fb-log-ei")] == pytest.approx([times, times], rel=0.1)
    named = set(re.findall("`(.*?)`", said[4])) - {"auto"}
    assert named == set(TUNING) & {*arena.RIGHT, *arena.MISLEADING}
