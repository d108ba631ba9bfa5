"""Suggestions are what they were: each method, on logs that an earlier version wrote, proposes the points it wrote.

`data/suggestions.json.gz` has whole logs (parameters, values, tags). Each is followed trial by trial: the sampler sees
the log up to a trial, and must come to that trial's point. So a difference is one of this version, not of an earlier
difference that grew. The logs were written when the consistent loss had one reading, `drawn`.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import create_trial

from uhebo import UHESampler
from uhebo.estimate import Reading

LOGS: list[dict[str, Any]] = json.loads(
    gzip.decompress(Path(__file__).with_name("data").joinpath("suggestions.json.gz").read_bytes())
)
SPACES: dict[str, dict[str, BaseDistribution]] = {
    "smooth": {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)},
    "mixed": {
        "lr": FloatDistribution(1e-5, 1e-1, log=True),
        "depth": IntDistribution(2, 12),
        "kind": CategoricalDistribution(["a", "b", "c"]),
        "x": FloatDistribution(0, 2),
    },
}
SEED = 3


def name(log: dict[str, Any]) -> str:
    return "-".join([log["method"], log["problem"], *map(str, log["options"].values())])


@pytest.mark.parametrize("log", LOGS, ids=name)
def test_suggestions_are_those_of_the_recorded_logs(log: dict[str, Any]) -> None:
    space, trials = SPACES[log["problem"]], log["trials"]
    reading: Reading | None = None if log["method"] == "auto" else "drawn"
    sampler = UHESampler(method=log["method"], seed=SEED, n_trials=len(trials), reading=reading, **log["options"])
    study = optuna.create_study(sampler=sampler)
    for trial in trials:
        number = study.ask(space)
        for key, value in trial["params"].items():
            expected = value if isinstance(value, str) else pytest.approx(value, rel=1e-5, abs=1e-5)
            assert number.params[key] == expected, f"trial {number.number}"
        study = grown(study, trial, space)


def grown(study: optuna.Study, trial: dict[str, Any], space: dict[str, BaseDistribution]) -> optuna.Study:
    """A study with the finished trials of `study` and the recorded one."""
    following = optuna.create_study(sampler=study.sampler)
    following.add_trials([t for t in study.trials if t.state.is_finished()])
    tags = {} if trial["tags"] is None else {"uhebo:step": trial["tags"]}
    following.add_trial(
        create_trial(params=trial["params"], distributions=space, value=trial["value"], system_attrs=tags)
    )
    return following
