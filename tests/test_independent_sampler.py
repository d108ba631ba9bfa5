"""`independent_sampler`: for parameters that the model does not cover, and for nothing else."""

from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler

from uhebo import UHESampler


class Noted(RandomSampler):
    """Random, and remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__(seed=0)
        self.asked: list[tuple[int, str]] = []
        self.told: list[int] = []

    def sample_independent(
        self,
        study: optuna.Study,
        trial: optuna.trial.FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        self.asked.append((trial.number, param_name))
        return super().sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: optuna.Study, trial: optuna.trial.FrozenTrial, *rest: Any) -> None:
        self.told.append(trial.number)
        super().after_trial(study, trial, *rest)


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", 0.0, 1.0)
    return x + (trial.suggest_float(f"only in {trial.number}", 0.0, 1.0) if trial.number % 4 == 3 else 0.0)


@pytest.mark.parametrize("method", ["auto", "map"])
def test_it_is_asked_for_what_the_model_does_not_cover(method: str) -> None:
    other = Noted()
    study = optuna.create_study(sampler=UHESampler(method=method, seed=0, independent_sampler=other))
    study.optimize(objective, n_trials=8)
    assert other.asked == [(3, "only in 3"), (7, "only in 7")]
    assert other.told == list(range(8))
    plain = optuna.create_study(sampler=UHESampler(method=method, seed=0))
    plain.optimize(objective, n_trials=8)
    assert [t.params["x"] for t in plain.trials][:3] == [t.params["x"] for t in study.trials][:3]


def test_samplers_fork_together() -> None:
    class Counted(Noted):
        reseeded = 0

        def reseed_rng(self) -> None:
            self.reseeded += 1

    other: BaseSampler = Counted()
    UHESampler(independent_sampler=other).reseed_rng()
    assert isinstance(other, Counted)
    assert other.reseeded == 1
