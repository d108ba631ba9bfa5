"""The claim protocol: two workers must not take the same point.

A point counts as taken once it is stored, and two workers may come to the same one before either has stored it. So
each first writes a claim on its point into its own trial, and only then looks at the trials of the others: of two with
the same point, at least one sees the other.

    a rival has stored the point             it is taken: propose another
    a rival has stored a part of the point   parameters are stored one by one: poll until the rest is there
    a rival claims the point                 the higher trial number withdraws its claim, the lower polls until it has;
                                             it gives way too if the rival never does, having looked before the claim
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from uhebo.belief.history import History
from uhebo.optuna_.trial_log import ATTRIBUTE

MAX_PROPOSALS = 6
"""Proposals per suggestion, each but the first because another worker took the point meanwhile; the last one stands."""
MAX_POLLS, POLL_S = 25, 0.02
"""Maximum polls, and seconds between polls, while two workers claim the same point."""


def claim_of(params: Mapping[str, Any]) -> str:
    """A point in few characters: equal points have equal claims."""
    return hashlib.sha256(json.dumps(params, sort_keys=True, default=str).encode()).hexdigest()[:16]


def is_won(
    study: Study, trial: FrozenTrial, history: History, params: Mapping[str, Any], withdraw: Callable[[], None] | None
) -> bool:
    """Whether the trial may take this point.

    Args:
        history: the log the point was proposed from, and so without the points that came after it.
        withdraw: takes this trial's own claim back; None if it has made none.
    """
    withdrawn = False
    for _ in range(MAX_POLLS):
        rivals = _rivals(study, trial, history, params)
        if not rivals:
            return not withdrawn
        if any(params.keys() <= rival.params.keys() for rival in rivals):
            return False
        if withdraw is not None and not withdrawn and min(rival.number for rival in rivals) < trial.number:
            withdraw()
            withdrawn = True
        time.sleep(POLL_S)
    return False


def _rivals(study: Study, trial: FrozenTrial, history: History, params: Mapping[str, Any]) -> list[FrozenTrial]:
    """Trials without a point in `history` that by now have stored this one, or a part of it, or claim it."""
    settled = {t.number for t in history.trials if t.x is not None or t.state != "running"} | {trial.number}
    claim = claim_of(params)

    def is_rival(other: FrozenTrial) -> bool:
        if other.params:
            return all(params.get(name, value) == value for name, value in other.params.items())
        tags = other.system_attrs.get(ATTRIBUTE)
        return other.state == TrialState.RUNNING and isinstance(tags, Mapping) and tags.get("claim") == claim

    return [t for t in study.get_trials(deepcopy=False) if t.number not in settled and is_rival(t)]
