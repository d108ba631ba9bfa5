"""Several objectives: settings that have no effect there, and the reference point by name."""

from pathlib import Path
from typing import Any

import optuna
import pytest

import uhebo
from uhebo import UHESampler
from uhebo.errors import InvalidInputError
from uhebo.methods import Method, Step
from uhebo.pareto_result import ParetoResult

SPACE = {"x": (0.0, 1.0)}
DIRECTIONS: dict[str, Any] = {"yield": "maximize", "cost": "minimize"}


def both(x: float) -> dict[str, float]:
    return {"cost": x, "yield": 1 - (1 - x) ** 2}


def ask(**options: Any) -> None:
    study = optuna.create_study(directions=["minimize"] * 2, sampler=UHESampler(seed=0, **options))
    study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})


@pytest.mark.parametrize("method", ["auto", "random"])
@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        (
            "acquisition",
            "ucb",
            "acquisition='ucb' is for one objective, and this study has 2: .* give reference_point=",
        ),
        ("beta", 9.0, "beta=9.0 is for one objective, .* leave it out"),
        ("beta", "theory", "beta='theory' is for one objective"),
        ("reward_clip", "none", "reward_clip='none' is for one objective, .* bandit"),
    ],
)
def test_settings_without_effect_are_refused(method: str, name: str, given: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ask(method=method, **{name: given})
    with pytest.raises(InvalidInputError, match=message):
        uhebo.optimize(both, SPACE, 3, directions=DIRECTIONS, method=method, **{name: given})
    UHESampler(method=method, **{name: given})  # it may be for one objective


def test_a_method_of_the_users_own_may_look_at_any_setting() -> None:
    ask(method=Method(Step.random, several=True), acquisition="ucb", beta=2.0, n_startup_trials=0)


@pytest.mark.parametrize("setting", ["prior", "kernel", "deterministic", "reading", "reference_point", "penalties"])
def test_other_settings_have_an_effect(setting: str) -> None:
    """On a log where the search is stuck, so that the second opinion is asked for, and that has penalties."""
    other: dict[str, Any] = {
        "prior": "paper",
        "kernel": "se",
        "deterministic": True,
        "reading": "observed",
        "reference_point": (0.4, 0.4),
        "penalties": "keep",
    }

    def suggested(**options: Any) -> list[float]:
        study = optuna.create_study(directions=["minimize"] * 2)
        distributions: dict[str, Any] = {name: optuna.distributions.FloatDistribution(0, 1) for name in "xy"}
        for i in range(15):
            x, y = (0.5 + 0.618 * i) % 1, (0.5 + 0.755 * i) % 1
            values = [1e6, 1e6] if x > 0.8 else [x + y, 2 - x + y] if i > 6 else [x + y - 1, 1 - x + y]
            params = {"x": x, "y": y}
            study.add_trial(optuna.create_trial(params=params, values=values, distributions=distributions))
        study.sampler = UHESampler(seed=0, **options)
        trials = [study.ask(distributions) for _ in range(4)]
        moves = {trial.system_attrs["uhebo:step"].get("move") for trial in study.get_trials()[15:]}
        assert "opinion" in moves or "penalties" in options
        return [trial.params["x"] for trial in trials]

    assert suggested() != suggested(**{setting: other[setting]})


@pytest.mark.parametrize("given", [{"yield": 0.2, "cost": 0.8}, {"cost": 0.8, "yield": 0.2}, (0.2, 0.8)])
def test_a_reference_point_by_name(given: Any, tmp_path: Path) -> None:
    result = uhebo.optimize(both, SPACE, 3, directions=DIRECTIONS, seed=0, reference_point=given)
    assert result.reference_point == {"yield": 0.2, "cost": 0.8}
    place: dict[str, Any] = {"storage": str(tmp_path / "two.db"), "study_name": "two"}
    uhebo.work(both, SPACE, 2, directions=DIRECTIONS, seed=0, reference_point=given, **place)
    stored = uhebo.load(place["storage"])
    assert isinstance(stored, ParetoResult)
    assert stored.reference_point == {"yield": 0.2, "cost": 0.8}


def test_objectives_without_names_have_numbers() -> None:
    given = {"value_1": 0.8, "value_0": 0.2}
    result = uhebo.optimize(
        lambda x: (1 - x, x), SPACE, 3, directions=["maximize", "minimize"], seed=0, reference_point=given
    )
    assert result.reference_point == {"value_0": 0.2, "value_1": 0.8}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"yield": 0.2}, "reference_point lacks 'cost'; expected a number for each of 'yield', 'cost'"),
        ({"yeld": 0.2, "cost": 1}, "reference_point lacks 'yield' and has 'yeld', which is no objective; expected"),
        ({"yield": 0.2, "cost": 1, "price": 2}, "reference_point has 'price', which is no objective"),
        ({}, "reference_point lacks 'yield', 'cost'"),
        ({"yield": "much", "cost": 1}, r"reference_point\['yield'\] is 'much'"),
        ({"yield": float("nan"), "cost": 1}, r"reference_point\['yield'\] is nan"),
    ],
)
def test_a_bad_reference_point_by_name(given: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        uhebo.optimize(both, SPACE, 3, directions=DIRECTIONS, reference_point=given)


def test_a_sampler_does_not_know_names() -> None:
    with pytest.raises(InvalidInputError, match=r"takes numbers in the order of the objectives: \[0.2, 0.8\]"):
        UHESampler(reference_point={"yield": 0.2, "cost": 0.8})  # type: ignore[arg-type]
