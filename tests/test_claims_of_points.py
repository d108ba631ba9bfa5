"""Two workers that come to the same point: what is stored in part counts, and is waited for."""

from __future__ import annotations

import threading

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution

from uhebo import UHESampler
from uhebo.methods import Proposal, Step


def test_a_point_that_another_worker_has_stored_in_part_is_waited_for() -> None:
    """Storage takes parameters one by one: half a point is not free, and no reason to propose it again at once."""
    choices = CategoricalDistribution([0, 1])
    space: dict[str, BaseDistribution] = {"a": choices, "b": choices}
    proposed: list[int] = []

    def method(step: Step) -> Proposal:
        """A random free point; when the first is proposed, another worker has begun to store the same one."""
        proposal = step.random()
        proposed.append(step.history.space.decode(proposal.x)["b"])
        if len(proposed) == 1:
            storage.set_trial_param(rival._trial_id, "a", 1, choices)
            rest = (rival._trial_id, "b", proposed[0], choices)
            threading.Timer(0.05, storage.set_trial_param, rest).start()
        return proposal

    study = optuna.create_study(sampler=UHESampler(method=method, deterministic=True, n_startup_trials=1, seed=0))
    for b in (0, 1):
        study.add_trial(optuna.create_trial(params={"a": 0, "b": b}, distributions=space, value=0.0))
    storage, rival = study._storage, study.ask()
    mine = study.ask(space)  # free are (1, 0) and (1, 1)
    assert proposed == [proposed[0], 1 - proposed[0]]
    assert mine.params == {"a": 1, "b": proposed[1]}
