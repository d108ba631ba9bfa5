"""What the shell keeps in the study itself: the space and the sampler's settings, so that any later command goes on."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from optuna.distributions import BaseDistribution, distribution_to_json, json_to_distribution
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from uhebo.errors import InvalidInputError
from uhebo.methods.auto import RECIPE
from uhebo.methods.step import PAPER_ACQUISITION
from uhebo.optuna_.sampler import INITIAL_PER_DIMENSION, UHESampler
from uhebo.optuna_.trial_log import warn_once
from uhebo.space import SearchSpace, as_distributions

ATTRIBUTE = "uhebo:shell"
"""The study's user attribute: {"space": {name: distribution}, "sampler": {argument of UHESampler: value}}."""
SAMPLER_SETTINGS = ("method", "seed", "n_trials", "n_startup_trials", "acquisition", "deterministic")


@dataclass(frozen=True)
class Kept:
    """Space and sampler settings of a study."""

    space: dict[str, BaseDistribution]
    sampler: dict[str, Any]


class ShellSampler(UHESampler):
    """`UHESampler` that knows which trial it is busy with, so that one cut short can be marked as failed."""

    busy: int | None = None

    def rest(self) -> None:
        self.busy = None

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:  # noqa: ARG002
        self.busy = trial.number


def sampler_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that were given, checked; a seed is drawn where there is none, so that it can be kept."""
    settings = {key: given[key] for key in SAMPLER_SETTINGS if given.get(key) is not None}
    settings.setdefault("seed", secrets.randbits(32))
    ShellSampler(**settings)
    return settings


def keep(study: Study, kept: Kept) -> None:
    space = {name: json.loads(distribution_to_json(distribution)) for name, distribution in kept.space.items()}
    study.set_user_attr(ATTRIBUTE, {"space": space, "sampler": kept.sampler})


def made_elsewhere(study: Study) -> bool:
    """Whether a study has no settings of the shell's: it was made by Optuna, or by `uhebo.minimize`."""
    return ATTRIBUTE not in study.user_attrs


def effective(kept: Kept) -> dict[str, Any]:
    """The settings, with what the sampler does where one was left out."""
    paper = kept.sampler.get("method", "auto") != "auto"
    return {
        "method": "auto",
        "n_startup_trials": INITIAL_PER_DIMENSION * SearchSpace.of(kept.space).domain.dimension,
        "acquisition": PAPER_ACQUISITION if paper else RECIPE.acquisition,
        "deterministic": False,
        **kept.sampler,
    }


def kept_in(study: Study) -> Kept:
    """What `keep` stored; for a study made elsewhere, the parameters of its finished trials and the default method."""
    stored = study.user_attrs.get(ATTRIBUTE)
    if stored is None:
        return Kept(_space_of_trials(study), {"seed": 0})
    try:
        space = {name: json_to_distribution(json.dumps(given)) for name, given in stored["space"].items()}
        sampler = {key: stored["sampler"][key] for key in SAMPLER_SETTINGS if key in stored["sampler"]}
        return Kept(as_distributions(space), sampler)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InvalidInputError(
            f"the settings kept in study {study.study_name!r} can not be read ({error}); make a new study and tell "
            "it the results (uhebo history --csv prints them)"
        ) from error


def _space_of_trials(study: Study) -> dict[str, BaseDistribution]:
    """The latest finished trial's parameters; a trial that crashed may have had only some of them."""
    trials = [trial for trial in study.get_trials(deepcopy=False) if trial.distributions]
    if not trials:
        raise InvalidInputError(f"study {study.study_name!r} has no search space; make a new one with uhebo create")
    finished = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    if not finished:
        return as_distributions(max(trials, key=lambda trial: (len(trial.distributions), trial.number)).distributions)
    latest = max(finished, key=lambda trial: trial.number)
    _say_where_trials_disagree(study, finished, latest)
    return as_distributions(latest.distributions)


def _say_where_trials_disagree(study: Study, finished: Sequence[FrozenTrial], latest: FrozenTrial) -> None:
    other = [trial for trial in finished if trial.distributions != latest.distributions]
    if other:
        warn_once(
            study,
            "other ranges",
            f"{len(other)} of {len(finished)} finished trials have other parameters or ranges than trial "
            f"{latest.number}, the latest; going on with its: {', '.join(latest.distributions)}",
        )


def with_sampler(study: Study, *, n_trials: int | None = None) -> Kept:
    """Give the study the sampler it was made with; `n_trials` raises the budget that was planned."""
    kept = kept_in(study)
    settings = dict(kept.sampler)
    if n_trials is not None and "n_trials" in settings:
        settings["n_trials"] = max(settings["n_trials"], n_trials)
    study.sampler = ShellSampler(**settings)
    return kept


def ask(study: Study, space: dict[str, BaseDistribution]) -> Trial:
    """`study.ask`; a trial cut short before it has its parameters (Ctrl-C, a full disk) is marked as failed."""
    sampler = study.sampler
    assert isinstance(sampler, ShellSampler)
    sampler.rest()
    try:
        return study.ask(space)
    except BaseException:
        if sampler.busy is not None:
            with suppress(Exception):
                study.tell(sampler.busy, state=TrialState.FAIL, skip_if_finished=True)
        raise
