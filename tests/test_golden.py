"""Suggestions are what they were: each method, on logs that an earlier version wrote, proposes the points it wrote.

`data/suggestions.json.gz` has whole logs (parameters, values, tags). Each is followed trial by trial: the sampler sees
the log up to a trial, and must come to that trial's point. So a difference is one of this version, not of an earlier
difference that grew. The logs were written when the consistent loss had one reading, `drawn`; those of `auto` again for
its initial design. There is none of `hmc`: a chain of 200 leaps magnifies the last bit, in which processors differ.

    python -m tests.test_golden auto     # makes the logs of a method anew, after a change that is meant; others stay
"""

from __future__ import annotations

import gzip
import json
import math
import sys
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import create_trial

from uhebo import UHESampler
from uhebo.estimate import Reading

FILE = Path(__file__).with_name("data") / "suggestions.json.gz"
LOGS: list[dict[str, Any]] = json.loads(gzip.decompress(FILE.read_bytes()))
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
    study = optuna.create_study(sampler=sampler_of(log))
    for trial in trials:
        number = study.ask(space)
        for key, value in trial["params"].items():
            # A chain carries on what another processor rounds differently.
            apart = 1e-3 if log["method"] == "hmc" else 1e-5
            expected = value if isinstance(value, str) else pytest.approx(value, rel=apart, abs=apart)
            assert number.params[key] == expected, f"trial {number.number}"
        study = grown(study, trial, space)


def sampler_of(log: dict[str, Any]) -> UHESampler:
    reading: Reading | None = None if log["method"] == "auto" else "drawn"
    trials = len(log["trials"])
    return UHESampler(method=log["method"], seed=SEED, n_trials=trials, reading=reading, **log["options"])


def grown(study: optuna.Study, trial: dict[str, Any], space: dict[str, BaseDistribution]) -> optuna.Study:
    """A study with the finished trials of `study` and the recorded one."""
    following = optuna.create_study(sampler=study.sampler)
    following.add_trials([t for t in study.trials if t.state.is_finished()])
    tags = {} if trial["tags"] is None else {"uhebo:step": trial["tags"]}
    following.add_trial(
        create_trial(params=trial["params"], distributions=space, value=trial["value"], system_attrs=tags)
    )
    return following


def value_of(params: dict[str, Any]) -> float:
    """Branin on the unit square, or a bowl with a step between kinds."""
    if "kind" not in params:
        a, b = 15 * params["x"] - 5, 15 * params["y"]
        valley = b - 5.1 / (4 * math.pi**2) * a**2 + 5 / math.pi * a - 6
        return float(valley**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(a) + 10)
    rate, depth = math.log10(params["lr"]) + 3, (params["depth"] - 6) / 5
    return float(rate**2 + depth**2 + (params["x"] - 1.2) ** 2 + 0.5 * "bca".index(params["kind"]))


def recorded(log: dict[str, Any]) -> dict[str, Any]:
    """The log of the same method, problem and options by this version."""
    study = optuna.create_study(sampler=sampler_of(log))
    for _ in log["trials"]:
        trial = study.ask(SPACES[log["problem"]])
        study.tell(trial, value_of(trial.params))
    trials = [{"params": t.params, "value": t.value, "tags": t.system_attrs.get("uhebo:step")} for t in study.trials]
    return {**log, "trials": trials}


if __name__ == "__main__":
    made = [recorded(log) if log["method"] in sys.argv[1:] else log for log in LOGS]
    FILE.write_bytes(gzip.compress(json.dumps(made).encode(), mtime=0))
