"""Failures are a region, a skip is not, and a penalty is a failure of a kind."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import TrialState, create_trial

import uhebo
from tests.searches import go_on, searched
from uhebo import METHODS, Float, UHESampler
from uhebo.acquire.functions import log_success
from uhebo.acquire.limits import log_success_chance, success, weights
from uhebo.belief.failures import FAILURE as FAILING_OUTCOME
from uhebo.belief.failures import LABELS, classifier, is_region, nearest_to_the_edge
from uhebo.belief.history import History, Outcome, Trial
from uhebo.errors import InvalidInputError
from uhebo.optuna_.believe import believe, model_of
from uhebo.optuna_.endings import DIED, FAILURE, SKIPPED
from uhebo.optuna_.trial_log import ATTRIBUTE
from uhebo.space import SearchSpace

SPACE: dict[str, BaseDistribution] = {"x": Float(0, 1), "y": Float(0, 1)}


def edge(x: float, y: float) -> float:
    """Fails beyond x = 0.7, where it would be the lowest; 0 at the best point, (0.7, 0.4)."""
    if x > 0.7:
        raise ValueError("out of range")
    return (x - 0.9) ** 2 + (y - 0.4) ** 2 - 0.04


def flaky(x: float, y: float) -> float:
    """Fails at 30 % of all points, wherever they are."""
    if (7919 * x + 104729 * y) % 1 < 0.3:
        raise ValueError("once more")
    return (x - 0.4) ** 2 + (y - 0.6) ** 2


def failed_of(study: Study, role: str = "model") -> list[bool]:
    return [t.state == TrialState.FAIL for t in study.trials if t.system_attrs[ATTRIBUTE]["role"] == role]


# Regions


def test_a_region_that_fails_is_left_and_its_edge_is_found() -> None:
    """Without a model of it 9 to 12 of 15 failed. With labels as values, 1 and -1, the edge was found to 4e-3."""
    found = [searched(edge, 25, seed) for seed in range(4)]
    assert statistics.mean(sum(failed_of(study)[:15]) for study in found) <= 4
    assert statistics.median(study.best_value for study in found) < 1e-3
    belief = believe(found[0])
    assert belief.failure({"x": 0.95, "y": 0.4}) > 0.6 > 0.2 > belief.failure({"x": 0.4, "y": 0.4})


def test_failures_at_random_do_not_stop_the_search() -> None:
    study = searched(flaky, 40)
    assert study.best_value < 1e-6
    belief = believe(study)
    assert len(belief.outcomes) == 1  # no region
    assert belief.failure({"x": 0.1, "y": 0.1}) == pytest.approx(np.mean([t.value is None for t in study.trials]))


def test_where_all_have_failed_the_search_goes_elsewhere() -> None:
    study = searched(lambda _, y: edge(0.9, y), 18)
    points = np.array([list(trial.params.values()) for trial in study.trials])
    apart = [np.linalg.norm(points[:number] - points[number], axis=1).min() for number in range(12, 18)]
    assert {t.system_attrs[ATTRIBUTE]["role"] for t in study.trials[12:]} == {"model"}
    assert np.mean(apart) > 0.2  # random points are nearer to one of so many


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.usefixtures("short_chains")
def test_every_method_leaves_a_region_that_fails(method: str) -> None:
    study = searched(edge, 22, 1, method=method)
    failed = failed_of(study)
    assert sum(failed) <= max(1, len(failed) / 2)


@pytest.mark.parametrize("acquisition", ["ucb", "pi", "thompson"])
def test_every_acquisition_leaves_a_region_that_fails(acquisition: str) -> None:
    failed = failed_of(searched(edge, 22, 1, acquisition=acquisition))
    assert sum(failed) <= len(failed) / 2


def test_failures_and_constraints_together() -> None:
    study = optuna.create_study(sampler=UHESampler(seed=0, constraints_func=lambda t: 0.5 - t.params["y"]))
    go_on(study, edge, 36)
    best = uhebo.Result(study)
    assert best.best_value == pytest.approx(0.01, abs=2e-2)
    assert best.best_params["y"] >= 0.5
    assert [found.outcome.role for found in believe(study).outcomes] == ["objective", "constraint", "failure"]


# The classifier


def labelled(points: Any, failed: Any, dimension: int = 2) -> History:
    space = SearchSpace.of({f"x{i}": Float(0, 1) for i in range(dimension)})
    trials = [
        Trial(i, np.array(x), None if bad else 0.0, "failed" if bad else "finished")
        for i, (x, bad) in enumerate(zip(points, failed, strict=True))
    ]
    return History(space, tuple(trials), 0, (Outcome(), FAILING_OUTCOME))


def chance(points: Any, failed: Any, rows: Any) -> Any:
    """Of success at rows, by what is known of the points."""
    _, fit = classifier(labelled(points, failed).observed(1))
    return np.exp(log_success_chance(fit.posterior, np.array(rows)))


def test_an_edge_is_known_between_the_trials_along_it() -> None:
    """So a search does not have to feel its way along it, whatever its direction."""
    points = np.random.default_rng(1).random((30, 2))
    near = [[0.6, 0.4], [0.75, 0.55], [0.4, 0.2], [0.3, 0.1]]
    success = chance(points, points[:, 0] - points[:, 1] > 0.3, near)
    assert (success > 0.8).all()
    beyond = [[0.9, 0.4], [0.95, 0.55], [0.6, 0.1], [0.7, 0.2]]
    assert (chance(points, points[:, 0] - points[:, 1] > 0.3, beyond) < 0.2).all()


def test_a_parameter_that_does_not_matter_is_recognised() -> None:
    points = np.random.default_rng(1).random((30, 3))
    _, fit = classifier(labelled(points, points[:, 1] > 0.6, 3).observed(1))
    assert 3 * fit.theta.ell[1] < min(fit.theta.ell[[0, 2]])


def test_between_a_success_and_a_failure_all_chances_are_met() -> None:
    points = np.concatenate([[[0.5, 0.5], [0.52, 0.5]], np.random.default_rng(2).random((20, 2))])
    found = chance(points, points[:, 0] > 0.51, [[x, 0.5] for x in np.linspace(0.5, 0.52, 9)])
    assert (np.diff(found) < 0).all()
    assert found[0] > 0.7
    assert found[4] == pytest.approx(0.5, abs=0.2)
    assert found[-1] < 0.3


def test_far_from_all_trials_the_chance_is_the_share() -> None:
    failures, rows = [[0.0, 0.0], [0.01, 0.0], [0.0, 0.02], [0.01, 0.01]], [[1.0, 1.0], [0.01, 0.01]]
    found = chance(failures, [True] * 4, rows)
    assert found[0] == pytest.approx(0.5, abs=0.1)
    assert found[1] < 0.1
    found = chance([*failures, [0.2, 0.1]], [True] * 4 + [False], rows)
    assert found[0] == pytest.approx(2 / 7, abs=0.1)


def test_labels_that_follow_the_place_are_a_region_and_others_are_not() -> None:
    rng = np.random.default_rng(1)
    points = rng.random((40, 2))
    assert is_region(labelled(points, points[:, 0] > 0.7).observed(1))
    assert not is_region(labelled(points, rng.random(40) < 0.3).observed(1))
    assert is_region(labelled(points[:4], [True] * 4).observed(1))


def test_of_many_labels_those_at_the_edge_are_kept() -> None:
    points = np.random.default_rng(1).random((500, 2))
    labels = labelled(points, points[:, 0] > 0.7).observed(1)
    signs, distance = np.sign(labels.y + labels.location), np.abs(points[:, 0] - 0.7)
    kept = nearest_to_the_edge(points, signs, labels.domain, 100)
    assert len(set(kept)) == 100
    assert (np.diff(kept) > 0).all()
    assert set(np.argsort(distance)[:20]) <= set(kept)
    assert distance[kept].max() > 0.6
    _, fit = classifier(labels)
    assert len(fit.data) == LABELS


def test_the_gradient_of_the_chance() -> None:
    points = np.random.default_rng(1).random((15, 2))
    _, fit = classifier(labelled(points, points.sum(axis=1) > 1.1).observed(1))
    target = weights((success(fit.posterior),))[0]
    X = np.random.default_rng(2).random((40, 2))
    value, gradient = target.with_gradient(X)
    np.testing.assert_allclose(value, target(X))
    for column in range(2):
        step = 1e-6 * np.eye(2)[column]
        difference = (target(X + step) - target(X - step)) / 2e-6
        np.testing.assert_allclose(gradient[:, column], difference, rtol=1e-3, atol=1e-3)


def test_less_than_a_fair_chance_is_next_to_out_of_the_question() -> None:
    values = log_success(0.0, 0.0, math.log(0.8))(np.array([40.0, 0.9, 0.8, -1.0]), np.ones(4))[0]
    assert values[0] == 0.0
    assert (np.diff(values) < 0).all()
    assert values[1] > -1.0
    assert values[3] < -100.0


# What is no failure


def reading(study: Study) -> tuple[list[str], int]:
    """States, and how many points the next suggestion keeps away from."""
    step = model_of(study).step
    return [trial.state for trial in step.history.trials], len(step.limits) + len(step.pending.points)


@pytest.mark.parametrize(
    "attrs", [{SKIPPED: True}, {FAILURE: "interrupted by signal 15"}, {FAILURE: f"3 {DIED}"}], ids=str
)
def test_a_trial_that_was_given_up_repels_nothing(attrs: dict[str, Any]) -> None:
    study = searched(lambda x, y: x + y, 8)
    bad = create_trial(state=TrialState.FAIL, params={"x": 0.1, "y": 0.1}, distributions=SPACE, user_attrs=attrs)
    study.add_trial(bad)
    assert reading(study) == (["finished"] * 8 + ["abandoned"], 0)
    study.add_trial(create_trial(state=TrialState.FAIL, params={"x": 0.2, "y": 0.1}, distributions=SPACE))
    assert reading(study)[1] == 1


def test_a_trial_that_is_tried_again_was_lost_with_its_worker() -> None:
    study = searched(lambda x, y: x + y, 8)
    lost = create_trial(state=TrialState.FAIL, params={"x": 0.1, "y": 0.1}, distributions=SPACE)
    study.add_trial(lost)
    again = create_trial(state=TrialState.WAITING, system_attrs={"failed_trial": 8, "retry_history": [8]})
    study.add_trial(again)  # as Optuna's callback for stale trials does
    assert reading(study) == (["finished"] * 8 + ["abandoned"], 0)


def test_skip() -> None:
    study = searched(lambda x, y: x + y, 8)
    under_way, told = study.ask(SPACE), study.ask(SPACE)
    study.enqueue_trial({"x": 0.5, "y": 0.5})
    study.tell(told, state=TrialState.FAIL)
    assert reading(study)[0][8:] == ["running", "failed"]
    for number in (under_way.number, told.number, 10):
        uhebo.skip(study, number, "the bottle was empty")
    uhebo.skip(study, told.number)
    assert reading(study) == (["finished"] * 8 + ["abandoned"] * 3, 0)
    assert study.trials[8].user_attrs[SKIPPED] == "the bottle was empty"
    with pytest.raises(InvalidInputError, match="trial 3 is finished, with the value"):
        uhebo.skip(study, 3)
    with pytest.raises(InvalidInputError, match="there is no trial 99"):
        uhebo.skip(study, 99)


def test_ctrl_c_repels_nothing() -> None:
    calls = []

    def fn(x: float, y: float) -> float:
        calls.append(x)
        if len(calls) == 9:
            raise KeyboardInterrupt
        return x + y

    result = uhebo.minimize(fn, SPACE, 12, seed=0, progress=False)
    assert result.interrupted
    assert reading(result.study) == (["finished"] * 8 + ["abandoned"], 0)
