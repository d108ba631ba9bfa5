"""Several objectives under noise: the front with the noise left out, and readings that are on it by luck."""

from typing import Any

import numpy as np
import optuna
import pytest

import uhebo
from uhebo import Float, UHESampler
from uhebo.diagnosis.expected import Opinions
from uhebo.optuna_.fronts import front_trials
from uhebo.pareto_result import ParetoResult

DIRECTIONS: dict[str, Any] = {"yield": "maximize", "cost": "minimize"}


@pytest.fixture(scope="module")
def noisy() -> ParetoResult:
    """Two readings of three points each, then a search; deviations of the noise are 0.1."""
    rng = np.random.default_rng(1)

    def measured(x: float, y: float) -> dict[str, float]:
        true = noise_free(x, y)
        return {name: value + 0.1 * float(rng.standard_normal()) for name, value in true.items()}

    space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    repeated = [{"x": x, "y": 0.5} for x in (0.0, 0.3, 0.6)]
    return uhebo.optimize(measured, space, 26, directions=DIRECTIONS, initial=repeated * 2, seed=0)


def noise_free(x: float, y: float) -> dict[str, float]:
    return {"yield": 1.0 - (x - 0.3) ** 2 - (y - 0.5) ** 2, "cost": x + y}


def test_what_is_recommended_leaves_the_noise_out(noisy: ParetoResult) -> None:
    held, wide = [], []
    for pick in noisy.recommended:
        true = noise_free(**pick.params)
        assert pick.numbers[0] == pick.number
        for name, (mean, low, high) in pick.predicted.items():
            assert low < mean < high
            held.append(low <= true[name] <= high)
            wide.append(high - low)
    assert np.mean(held) >= 0.7, held
    assert min(wide) > 0.02, "the noise has a deviation of 0.1"


def test_replicates_are_one_point(noisy: ParetoResult) -> None:
    places = [pick.params for pick in noisy.recommended]
    assert all(places.count(place) == 1 for place in places)
    twice = [pick for pick in noisy.recommended if len(pick.numbers) > 1]
    for pick in twice:
        told = [noisy.study.trials[number].values[0] for number in pick.numbers]
        assert pick.values["yield"] == pytest.approx(np.mean(told))


def test_a_pick_by_what_is_expected(noisy: ParetoResult) -> None:
    found = noisy.pick({"yield": 1.0}, by="expected")
    assert found.numbers in [pick.numbers for pick in noisy.recommended]
    assert found.predicted["yield"][0] == max(pick.predicted["yield"][0] for pick in noisy.recommended)
    low = min(pick.predicted["cost"][0] for pick in noisy.recommended)
    bounded = noisy.pick({"yield": 1.0}, within={"cost": (None, low + 0.2)}, by="expected")
    assert bounded.predicted["cost"][0] <= low + 0.2


def test_a_lucky_reading_is_named() -> None:
    """Where one of ten readings of a steep line is far off, it is on the front by luck."""
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=UHESampler(seed=0))
    rng = np.random.default_rng(0)
    for i, x in enumerate([*np.linspace(0, 1, 12), 0.5, 0.5, 0.5]):
        values = (rng.normal([-((x - 0.9) ** 2), (x - 0.9) ** 2], 0.05) + (0.3, -0.3) * np.array(i == 12)).tolist()
        study.add_trial(
            optuna.trial.create_trial(params={"x": float(x)}, distributions={"x": Float(0, 1)}, values=values)
        )
    opinions = Opinions.of(study)
    assert 12 in [trial.number for trial in front_trials(study)]
    assert opinions.lucky() == [12]
    assert "Noise may have put trial 12 on the front" in opinions.lucky_in_words()[0]


def test_exact_values_are_not_taken_for_luck() -> None:
    result = uhebo.optimize(noise_free, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 20, directions=DIRECTIONS, seed=0)
    assert Opinions.of(result.study).lucky() == []
