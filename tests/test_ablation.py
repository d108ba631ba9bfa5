"""What each ingredient of `auto` is worth: the variant that the recipe has no field for, and the committed tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import optuna
import pytest

from uhebo import UHESampler
from uhebo.acquire.functions import surface
from uhebo.methods import Proposal, Step
from uhebo.methods.auto import RECIPE, auto
from uhebo_experiments.benchmarks.ablation import (
    BEST_SEEN,
    HALF_A_STEP,
    LOST,
    VARIANTS,
    WHOLE,
    Run,
    by_observed_values,
    final_regret,
    mark,
    run,
)
from uhebo_experiments.peers.ranking import FLOOR
from uhebo_experiments.problems.sets import REPORTING, TUNING
from uhebo_experiments.runner import compute
from uhebo_experiments.table import RUNS, Table

RESULTS = Path(__file__).parents[1] / "results"


def test_the_variant_improves_on_the_best_observed_value_and_the_recipe_on_a_smoother_one() -> None:
    """With noise the two differ; LogEI is handed the one of its variant."""
    seen: dict[str, float] = {}

    def both(at: Step) -> Proposal:
        for name, method in (("observed", by_observed_values), ("smoothed", auto)):
            with mock.patch("uhebo.methods.step.surface", wraps=surface) as made:
                proposal = method(at, RECIPE)
            seen[name] = made.call_args.kwargs["best"]
        seen["largest"] = float(at.history.modelled(warped=True)[1].y.max())
        return proposal

    rng = np.random.default_rng(0)
    space: dict[str, Any] = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    study = optuna.create_study(direction="maximize", sampler=UHESampler(method=both, seed=0))
    for x in rng.random(15):
        value = float(np.sin(6 * x) + rng.standard_normal())
        study.add_trial(optuna.create_trial(params={"x": x}, distributions=space, value=value))
    study.ask(space)
    assert seen["observed"] == seen["largest"]
    assert seen["smoothed"] < seen["observed"] - 0.1


def committed(folder: Path) -> dict[tuple[str, str], str]:
    """(variant, problem) -> what the committed tables say."""
    said = {}
    for part in (folder / "ablation.md").read_text(encoding="utf-8").split("\n\n")[2:]:
        (_, *names), _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines())
        said.update({(variant, name): text for variant, *row in rows for name, text in zip(names, row, strict=True)})
    return said


def test_what_was_lost_is_looked_at_apart_from_what_was_chosen_on() -> None:
    assert set(LOST["lost"]) < set(REPORTING)


@pytest.mark.usefixtures("records_only")
@pytest.mark.parametrize(("folder", "problems"), [("ablation", TUNING), ("ablation-lost", LOST["lost"])])
def test_the_committed_tables_follow_from_the_committed_records(folder: str, problems: tuple[str, ...]) -> None:
    said = committed(RESULTS / folder)
    assert set(said) == {(variant, name) for variant in VARIANTS for name in problems}
    # Not the sample paths: the search for their optima would take a minute.
    names = [name for name in problems if not name.startswith("gp-")]
    cells = [Run(variant, name, seed, 50) for seed in range(10) for name in names for variant in VARIANTS]
    results = compute(cells, Table(RESULTS / folder / RUNS), run, jobs=1, progress=False)
    for name in names:
        whole = final_regret(results, WHOLE, name)
        for variant in VARIANTS:
            logs = final_regret(results, variant, name)
            assert said[variant, name] == f"{logs.mean():.2f}{mark(logs, whole)}"


def test_the_best_score_of_rf_wilt_is_the_one_of_the_comparison() -> None:
    """What the regret of its variants is measured against, read off the committed runs."""
    runs = [records for cell, records in Table(RESULTS / "peers" / RUNS) if cell["problem"] == "rf-wilt"]
    scores = np.array([record["best"] for records in runs for record in records])
    assert len(runs) == 140
    assert scores.max() == BEST_SEEN
    gaps = BEST_SEEN - scores
    assert 0.5 * gaps[gaps > FLOOR].min() == pytest.approx(HALF_A_STEP)
